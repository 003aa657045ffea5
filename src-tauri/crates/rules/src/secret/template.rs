//! The small format language of the rules: `ghp_{b62:30}{check}` reads as a pattern and writes
//! examples, so no example has to stand in the repository.
//!
//! `{class:n}` and `{class:n-m}` are runs, `{a|b}` is a choice of literals, `{check}` the rule's
//! checksum, `{uuid}` five groups of hex digits; everything else is literal.

use super::checksum::Checksum;
use super::plant::Dice;

/// A set of bytes with a name in the format language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Class {
    pub name: &'static str,
    /// The set in regex notation, without brackets.
    set: &'static str,
    /// The members, as the generator draws them.
    members: &'static str,
    table: &'static [bool; 256],
}

macro_rules! classes {
    ($($name:literal $set:literal $members:expr;)*) => {
        const CLASSES: &[Class] = &[$(Class {
            name: $name,
            set: $set,
            members: $members,
            table: {
                const TABLE: &[bool; 256] = &table($members);
                TABLE
            },
        }),*];
    };
}

const fn table(members: &str) -> [bool; 256] {
    let mut table = [false; 256];
    let mut at = 0;
    while at < members.len() {
        table[members.as_bytes()[at] as usize] = true;
        at += 1;
    }
    table
}

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

classes! {
    "d" "0-9" "0123456789";
    "hex" "0-9a-f" "0123456789abcdef";
    "HEX" "0-9A-F" "0123456789ABCDEF";
    "hexi" "0-9a-fA-F" "0123456789abcdefABCDEF";
    "a" "a-z" LOWER;
    "A" "A-Z" UPPER;
    "aA" "a-zA-Z" "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    "l" "a-z0-9" "abcdefghijklmnopqrstuvwxyz0123456789";
    "U" "A-Z0-9" "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    "b32" "A-Z2-7" "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    "b58" "1-9A-HJ-NP-Za-km-z" "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    "b62" "0-9A-Za-z" "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    "w" "0-9A-Za-z_" "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
    "lu" "a-z0-9_-" "0123456789-_abcdefghijklmnopqrstuvwxyz";
    "dash" "0-9A-Za-z-" "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-abcdefghijklmnopqrstuvwxyz";
    "b64" "0-9A-Za-z+/" "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ+/abcdefghijklmnopqrstuvwxyz";
    "b64u" "0-9A-Za-z_-" "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_abcdefghijklmnopqrstuvwxyz";
    "tilde" "0-9A-Za-z_.~-" "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ.~-_abcdefghijklmnopqrstuvwxyz";
    "bech" "02-9ac-hj-np-z" "023456789acdefghjklmnpqrstuvwxyz";
    "BECH" "02-9AC-HJ-NP-Z" "023456789ACDEFGHJKLMNPQRSTUVWXYZ";
    "dot" "0-9A-Za-z_.-" "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ._-abcdefghijklmnopqrstuvwxyz";
}

impl Class {
    fn named(name: &str) -> Option<Self> {
        CLASSES.iter().find(|class| class.name == name).copied()
    }

    pub fn size(self) -> usize {
        self.members.len()
    }

    fn holds(self, byte: u8) -> bool {
        self.table[byte as usize]
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Literal(String),
    Choice(Vec<String>),
    Run { class: Class, min: usize, max: usize },
    Check(Checksum),
}

/// How the generator bends a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bend {
    /// As the format says.
    Straight,
    /// The last fixed or shortest run is one character short.
    Short,
    /// The checksum has one digit wrong.
    WrongCheck,
    /// Every run is filled with one letter.
    Filler,
}

/// A format, parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    pub parts: Vec<Part>,
}

impl Template {
    /// Reads a format; the message says what is wrong with it.
    pub fn parse(text: &str, checksum: Option<Checksum>) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            literal.push_str(&rest[..open]);
            let close = rest[open..].find('}').ok_or_else(|| format!("`{text}` has an open brace"))? + open;
            let inner = &rest[open + 1..close];
            rest = &rest[close + 1..];
            if !literal.is_empty() {
                parts.push(Part::Literal(std::mem::take(&mut literal)));
            }
            parts.extend(Self::part(inner, checksum).map_err(|why| format!("`{text}`: {why}"))?);
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(Part::Literal(literal));
        }
        Ok(Self { parts })
    }

    fn part(inner: &str, checksum: Option<Checksum>) -> Result<Vec<Part>, String> {
        if inner == "check" {
            let checksum = checksum.ok_or("`{check}` needs the rule's checksum")?;
            return Ok(vec![Part::Check(checksum)]);
        }
        if inner == "uuid" {
            let hex = Class::named("hexi").ok_or("no class `hexi`")?;
            let mut parts = Vec::new();
            for width in [8, 4, 4, 4, 12] {
                if !parts.is_empty() {
                    parts.push(Part::Literal("-".into()));
                }
                parts.push(Part::Run { class: hex, min: width, max: width });
            }
            return Ok(parts);
        }
        if let Some((name, width)) = inner.split_once(':')
            && let Some(class) = Class::named(name)
        {
            let (min, max) = width.split_once('-').unwrap_or((width, width));
            let number = |text: &str| text.parse().map_err(|_| format!("`{width}` is no width"));
            let (min, max) = (number(min)?, number(max)?);
            return Ok(vec![Part::Run { class, min, max }]);
        }
        if inner.contains('|') {
            return Ok(vec![Part::Choice(inner.split('|').map(str::to_owned).collect())]);
        }
        Err(format!("`{{{inner}}}` is no class, choice or checksum"))
    }

    /// The format as a regular expression without anchors.
    pub fn pattern(&self) -> String {
        let mut out = String::new();
        for part in &self.parts {
            match part {
                Part::Literal(text) => out.push_str(&regex::escape(text)),
                Part::Choice(texts) => {
                    let texts: Vec<String> = texts.iter().map(|text| regex::escape(text)).collect();
                    out.push_str(&format!("(?:{})", texts.join("|")));
                }
                Part::Run { class, min, max } if min == max => {
                    out.push_str(&format!("[{}]{{{min}}}", class.set));
                }
                // A wide run stays open: its copies would make compiling dear, and the engine cuts
                // the text at the format's longest anyway.
                Part::Run { class, min, max } if max - min > 16 => {
                    out.push_str(&format!("[{}]{{{min},}}", class.set));
                }
                Part::Run { class, min, max } => out.push_str(&format!("[{}]{{{min},{max}}}", class.set)),
                Part::Check(check) => out.push_str(&format!("[0-9A-Za-z]{{{}}}", check.width())),
            }
        }
        out
    }

    /// The longest text the format can have.
    pub fn longest(&self) -> usize {
        self.parts.iter().map(Part::longest).sum()
    }

    /// How far in front of `keyword` the format may begin; nothing when the keyword is not in it.
    pub fn lead(&self, keyword: &str) -> Option<usize> {
        let mut before = 0;
        for part in &self.parts {
            match part {
                Part::Literal(text) => {
                    if let Some(at) = text.find(keyword) {
                        return Some(before + at);
                    }
                }
                Part::Choice(texts) => {
                    if texts.iter().any(|text| text.starts_with(keyword)) {
                        return Some(before);
                    }
                }
                Part::Run { .. } | Part::Check(_) => {}
            }
            before += part.longest();
        }
        None
    }

    /// Whether the text may begin with this format: its fixed head and its first run are there.
    pub fn may_begin(&self, text: &[u8]) -> bool {
        let mut at = 0;
        for part in &self.parts {
            match part {
                Part::Literal(literal) if text[at..].starts_with(literal.as_bytes()) => at += literal.len(),
                Part::Literal(_) => return false,
                Part::Run { class, min, .. } => {
                    return text
                        .get(at..at + min)
                        .is_some_and(|run| run.iter().all(|byte| class.holds(*byte)));
                }
                Part::Choice(_) | Part::Check(_) => return true,
            }
        }
        true
    }

    /// How many bytes of fixed text stand in front of the first run.
    pub fn head(&self, token: &[u8]) -> usize {
        match self.parts.first() {
            Some(Part::Literal(text)) => text.len(),
            Some(Part::Choice(texts)) => {
                let long =
                    texts.iter().filter(|text| token.starts_with(text.as_bytes())).map(String::len).max();
                long.unwrap_or(0)
            }
            Some(Part::Run { .. } | Part::Check(_)) | None => 0,
        }
    }

    /// Whether a byte behind the token would make it a longer word of the same kind.
    pub fn continues(&self, byte: u8) -> bool {
        match self.parts.last() {
            Some(Part::Run { class, .. }) => class.holds(byte),
            Some(Part::Check(_)) => byte.is_ascii_alphanumeric() || byte == b'_',
            Some(Part::Literal(_) | Part::Choice(_)) | None => false,
        }
    }

    /// The class of the longest run.
    pub fn widest(&self) -> Option<Class> {
        let runs = self.parts.iter().filter_map(|part| match part {
            Part::Run { class, max, .. } => Some((*max, *class)),
            Part::Literal(_) | Part::Choice(_) | Part::Check(_) => None,
        });
        runs.max_by_key(|(max, _)| *max).map(|(_, class)| class)
    }

    /// The longest run of one character in the fixed text.
    pub fn own_run(&self) -> usize {
        let literals = self.parts.iter().filter_map(|part| match part {
            Part::Literal(text) => Some(super::placeholder::longest_run(text.as_bytes())),
            Part::Choice(_) | Part::Run { .. } | Part::Check(_) => None,
        });
        literals.max().unwrap_or(0)
    }

    /// How many characters are fixed.
    pub fn fixed(&self) -> usize {
        self.parts.iter().map(|part| if matches!(part, Part::Run { .. }) { 0 } else { part.longest() }).sum()
    }

    /// Writes one text of this format, bent as asked.
    pub fn write(&self, dice: &mut Dice, bend: Bend) -> String {
        let runs = self.parts.iter().filter(|part| matches!(part, Part::Run { .. })).count();
        let mut seen = 0;
        let mut out = String::new();
        for part in &self.parts {
            match part {
                Part::Literal(text) => out.push_str(text),
                Part::Choice(texts) => out.push_str(&texts[dice.below(texts.len())]),
                Part::Run { class, min, max } => {
                    seen += 1;
                    // Long open ranges would only make the corpus fat.
                    let top = (*max).min(min + 24);
                    let width = match bend {
                        Bend::Short if seen == runs => min.saturating_sub(1),
                        Bend::Straight | Bend::WrongCheck => min + dice.below(top - min + 1),
                        Bend::Short | Bend::Filler => *min,
                    };
                    match bend {
                        Bend::Filler => out.push_str(&filler(*class).repeat(width)),
                        Bend::Straight | Bend::Short | Bend::WrongCheck => {
                            out.push_str(&dice.text(class.members, width));
                        }
                    }
                }
                Part::Check(check) => {
                    let mut digits = check.of(out.as_bytes());
                    if bend == Bend::WrongCheck {
                        let last = digits.pop();
                        digits.push(if last == Some('0') { '1' } else { '0' });
                    }
                    out.push_str(&digits);
                }
            }
        }
        out
    }
}

impl Part {
    fn longest(&self) -> usize {
        match self {
            Self::Literal(text) => text.len(),
            Self::Choice(texts) => texts.iter().map(String::len).max().unwrap_or(0),
            Self::Run { max, .. } => *max,
            Self::Check(check) => check.width(),
        }
    }
}

fn filler(class: Class) -> &'static str {
    ["x", "X", "0"].into_iter().find(|text| class.members.contains(*text)).unwrap_or("a")
}
