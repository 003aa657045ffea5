//! One pass of a literal automaton over the text, then each rule where its keyword stood.

use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::Tier;
use super::rule::{Finder, Rule, RuleError};
use super::template::Template;
use super::{assign, decode, pem};

const RULES: &str = include_str!("rules.toml");

/// Whether encoded text is looked into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Decode {
    Off,
    /// One level of base64, hex and URL encoding.
    #[default]
    OneLevel,
}

/// How a text is scanned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    pub decode: Decode,
}

/// One hit in a text: where, by which rule, how sure. It never holds the secret.
#[derive(Debug, Clone)]
pub struct Hit<'e> {
    pub rule: &'e Rule,
    pub tier: Tier,
    /// First byte of the secret (of its encoded form, when it was decoded).
    pub start: usize,
    pub end: usize,
}

/// The rules, ready to scan.
#[derive(Debug)]
pub struct Engine {
    rules: Vec<Rule>,
    automaton: AhoCorasick,
    /// For each keyword: its text and the rules it brings into play.
    keywords: Vec<Keyword>,
}

#[derive(Debug)]
struct Keyword {
    text: String,
    rules: Vec<u16>,
}

/// Stretches of text that rules with a lead still have to search, one per rule.
type Pending = Vec<(u16, Range<usize>)>;

impl Engine {
    /// The engine with Steward's own rules.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Engine> = OnceLock::new();
        SHARED
            .get_or_init(|| Self::with_rules(RULES).expect("BUG: the rule file is valid; its test reads it"))
    }

    /// An engine with the rules of this text.
    pub fn with_rules(text: &str) -> Result<Self, RuleError> {
        let rules = Rule::read_all(text)?;
        let mut keywords: Vec<Keyword> = Vec::new();
        for (index, rule) in rules.iter().enumerate() {
            for word in &rule.keywords {
                // The automaton ignores case, so two spellings would be one pattern twice.
                match keywords.iter_mut().find(|known| known.text == *word) {
                    Some(known) => known.rules.push(index as u16),
                    None => keywords.push(Keyword { text: word.clone(), rules: vec![index as u16] }),
                }
            }
        }
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(keywords.iter().map(|word| word.text.as_bytes()))?;
        Ok(Self { rules, automaton, keywords })
    }

    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Every secret of the text, in order, none inside another.
    pub fn scan_text(&self, text: &[u8], options: Options) -> Vec<Hit<'_>> {
        let mut hits = Vec::new();
        self.pass(text, &mut hits);
        match options.decode {
            Decode::Off => {}
            Decode::OneLevel => {
                let mut inner = Vec::new();
                decode::each_decoded(text, |range, decoded| {
                    inner.clear();
                    self.pass(decoded, &mut inner);
                    // Decoded text is far from any assignment: only formats count there.
                    let high = inner.iter().filter(|hit| hit.tier == Tier::High);
                    hits.extend(high.map(|hit| Hit { start: range.start, end: range.end, ..hit.clone() }));
                });
            }
        }
        settle(hits)
    }

    /// The text with every secret replaced by the id of the rule that found it.
    pub fn redact(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for hit in self.scan_text(text.as_bytes(), Options::default()) {
            let (start, end) = (floor_boundary(text, hit.start), ceil_boundary(text, hit.end));
            if start < at {
                continue;
            }
            out.push_str(&text[at..start]);
            out.push_str("[redacted:");
            out.push_str(&hit.rule.id);
            out.push(']');
            at = end;
        }
        out.push_str(&text[at..]);
        out
    }

    fn pass<'e>(&'e self, text: &[u8], hits: &mut Vec<Hit<'e>>) {
        let mut pending: Pending = Vec::new();
        let mut reader = assign::Reader::default();
        let mut keys_until = 0;
        let mut webs_until = 0;
        for found in self.automaton.find_overlapping_iter(text) {
            let keyword = &self.keywords[found.pattern().as_usize()];
            for index in &keyword.rules {
                let rule = &self.rules[*index as usize];
                match &rule.finder {
                    Finder::Token(template) => {
                        if text[found.start()..found.end()] != *keyword.text.as_bytes() {
                            continue;
                        }
                        let lead = template.lead(&keyword.text).unwrap_or(0);
                        if lead == 0 && rule.lead(template) == 0 {
                            token_at(rule, template, text, found.start(), hits);
                        } else {
                            let end = (found.start() + template.longest()).min(text.len());
                            let window = found.start().saturating_sub(lead)..end;
                            wait(&mut pending, *index, window, |ready| {
                                self.search(*index, text, ready, hits)
                            });
                        }
                    }
                    Finder::Near { template, .. } => {
                        near(rule, template, text, found.start()..found.end(), &mut reader, hits);
                    }
                    Finder::PrivateKey if found.start() >= keys_until => {
                        if let Some(range) = pem::read(text, found.end()) {
                            keys_until = range.end;
                            hits.push(Hit { rule, tier: rule.tier, start: range.start, end: range.end });
                        }
                    }
                    Finder::PrivateKey => {}
                    Finder::Assignment => {
                        if let Some(given) = reader.read(text, found.end())
                            && assign::looks_secret(&text[given.value.clone()], given.quote)
                        {
                            hits.push(Hit {
                                rule,
                                tier: rule.tier,
                                start: given.value.start,
                                end: given.value.end,
                            });
                        }
                    }
                    Finder::WebToken if found.start() >= webs_until => {
                        let (token, end) = web_token(text, found.start());
                        webs_until = end;
                        if token && begins_word(text, found.start()) {
                            hits.push(Hit { rule, tier: rule.tier, start: found.start(), end });
                        }
                    }
                    Finder::WebToken => {}
                    Finder::Url => {
                        if let Some(range) = assign::url_password(text, found.end()) {
                            hits.push(Hit { rule, tier: rule.tier, start: range.start, end: range.end });
                        }
                    }
                }
            }
        }
        for (index, window) in pending {
            self.search(index, text, window, hits);
        }
    }

    /// Searches a stretch for a format whose keyword is not at its beginning.
    fn search<'e>(&'e self, index: u16, text: &[u8], window: Range<usize>, hits: &mut Vec<Hit<'e>>) {
        let rule = &self.rules[index as usize];
        let Finder::Token(template) = &rule.finder else { return };
        for found in rule.regex(template).find_iter(&text[window.clone()]) {
            let range = window.start + found.start()..window.start + found.end();
            if begins_word(text, range.start) {
                keep(rule, template, text, range, hits);
            }
        }
    }
}

/// Adds a window to those waiting, or hands out the earlier one of the rule when they do not touch.
fn wait(pending: &mut Pending, index: u16, window: Range<usize>, mut ready: impl FnMut(Range<usize>)) {
    let Some((_, waiting)) = pending.iter_mut().find(|(of, _)| *of == index) else {
        pending.push((index, window));
        return;
    };
    if window.start <= waiting.end {
        waiting.end = waiting.end.max(window.end);
    } else {
        ready(std::mem::replace(waiting, window));
    }
}

fn token_at<'e>(rule: &'e Rule, template: &Template, text: &[u8], start: usize, hits: &mut Vec<Hit<'e>>) {
    if !begins_word(text, start) {
        return;
    }
    let limit = (start + template.longest()).min(text.len());
    if !template.may_begin(&text[start..limit]) {
        return;
    }
    if let Some(found) = rule.regex(template).find(&text[start..limit]) {
        keep(rule, template, text, start..start + found.end(), hits);
    }
}

fn near<'e>(
    rule: &'e Rule,
    template: &Template,
    text: &[u8],
    name: Range<usize>,
    reader: &mut assign::Reader,
    hits: &mut Vec<Hit<'e>>,
) {
    if !begins_name(text, name.start) {
        return;
    }
    let Some(given) = reader.read(text, name.end) else { return };
    let value = &text[given.value.clone()];
    if !template.may_begin(value) || assign::names_a_digest(&text[name.end..given.name_end]) {
        return;
    }
    if let Some(found) = rule.regex(template).find(value) {
        let range = given.value.start..given.value.start + found.end();
        keep(rule, template, text, range, hits);
    }
}

/// Reads `header.payload.signature` from its first letter: whether it is one, and up to where no
/// other can begin.
fn web_token(text: &[u8], start: usize) -> (bool, usize) {
    let mut at = start;
    for least in [16, 16, 20] {
        let run = text[at..].iter().position(|b| !b.is_ascii_alphanumeric() && !matches!(b, b'-' | b'_'));
        let end = run.map_or(text.len(), |len| at + len);
        let last = least == 20;
        if end - at < least
            || (!last && text.get(end) != Some(&b'.'))
            || (at != start && !last && !text[at..].starts_with(b"eyJ"))
        {
            return (false, if at == start { end } else { at });
        }
        if last {
            return (true, end);
        }
        at = end + 1;
    }
    (false, at)
}

fn keep<'e>(rule: &'e Rule, template: &Template, text: &[u8], range: Range<usize>, hits: &mut Vec<Hit<'e>>) {
    // Wide runs are open in the pattern: a longer word is no token either.
    if range.len() > template.longest() || text.get(range.end).is_some_and(|byte| template.continues(*byte)) {
        return;
    }
    if let Some(tier) = rule.weigh(template, &text[range.clone()]) {
        hits.push(Hit { rule, tier, start: range.start, end: range.end });
    }
}

/// Whether a word may begin here: nothing word-like in front, or an escape such as `\n`.
fn begins_word(text: &[u8], at: usize) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if at == 0 || !word(text[at]) || !word(text[at - 1]) {
        return true;
    }
    (at >= 2 && text[at - 2] == b'\\' && matches!(text[at - 1], b'n' | b't' | b'r')) || after_colour(text, at)
}

/// Whether a terminal's sequence such as `ESC [ 31 m` ends here, raw or as code and logs write it: its
/// last letter is no part of a word.
fn after_colour(text: &[u8], at: usize) -> bool {
    let Some((letter, before)) = text[..at].split_last() else { return false };
    let figures =
        before.iter().rev().take(16).take_while(|byte| matches!(byte, b'0'..=b'9' | b';' | b':')).count();
    let Some(opened) = before[..before.len() - figures].strip_suffix(b"[") else { return false };
    let written: [&[u8]; 6] = [b"\x1b", b"\\x1b", b"\\033", b"\\e", b"\\u001b", b"\\u{1b}"];
    letter.is_ascii_alphabetic() && written.iter().any(|escape| opened.ends_with(escape))
}

/// Whether a provider's name begins here: `global` is no `lob`, `myLobKey` is.
fn begins_name(text: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|at| text[at]) else { return true };
    !before.is_ascii_alphabetic() || (before.is_ascii_lowercase() && text[at].is_ascii_uppercase())
}

/// Keeps the surest and longest hit of each place.
fn settle(mut hits: Vec<Hit<'_>>) -> Vec<Hit<'_>> {
    if hits.len() < 2 {
        return hits;
    }
    hits.sort_by_key(|hit| {
        use std::cmp::Reverse;
        (Reverse(hit.tier), Reverse(hit.end - hit.start), Reverse(hit.rule.particular()), hit.start)
    });
    let mut kept: std::collections::BTreeMap<usize, Hit<'_>> = std::collections::BTreeMap::new();
    for hit in hits {
        let before = kept.range(..hit.end).next_back();
        if before.is_none_or(|(_, other)| other.end <= hit.start) {
            kept.insert(hit.start, hit);
        }
    }
    kept.into_values().collect()
}

fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn ceil_boundary(text: &str, at: usize) -> usize {
    (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// The first characters of a secret that may be shown: four, or fewer of a short one.
pub(super) fn shown_prefix(secret: &[u8]) -> String {
    let width = (secret.len() / 3).min(4);
    secret[..width].iter().map(|byte| if byte.is_ascii_graphic() { char::from(*byte) } else { '?' }).collect()
}
