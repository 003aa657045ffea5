//! The two sections that a pull request's body must have.

use crate::review::policy::BodySections;

/// Whether a section is there, and whether it says anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    Absent,
    /// A heading with nothing beneath it.
    Empty,
    Filled,
}

/// The two sections of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sections {
    pub validated: Section,
    pub not_done: Section,
}

/// A bold line or a line with a colon that has more words than this is a sentence, no heading.
const MOST_WORDS: usize = 6;

/// Finds the *validated* and the *not done / not verified* section of a Markdown body. Fences and
/// comments are followed in one pass, so that neither can hide in the other.
pub fn sections(body: &str, more: &BodySections) -> Sections {
    let mut found = Sections { validated: Section::Absent, not_done: Section::Absent };
    let mut open: Option<(Topic, Level)> = None;
    for block in blocks(body) {
        let heading = match &block {
            Block::Heading { level, text } => Some((*level, topic(text, more))),
            Block::Pseudo { level, text } => match (topic(text, more), open, level) {
                (Some(topic), ..) => Some((*level, Some(topic))),
                // A bold line beneath a bold heading begins another part; beneath a real one it is text.
                (None, Some((_, Level::Bold | Level::Colon)), Level::Bold) => Some((*level, None)),
                (None, ..) => None,
            },
            Block::Text => None,
        };
        match heading {
            Some((level, topic)) => {
                let stays = topic.is_none() && open.is_some_and(|(_, of)| level > of);
                if !stays {
                    open = topic.map(|topic| (topic, level));
                }
                if let Some(topic) = topic {
                    let slot = found.slot(topic);
                    *slot = if *slot == Section::Filled { Section::Filled } else { Section::Empty };
                }
            }
            None => {
                if let Some((topic, _)) = open {
                    *found.slot(topic) = Section::Filled;
                }
            }
        }
    }
    found
}

impl Sections {
    fn slot(&mut self, topic: Topic) -> &mut Section {
        match topic {
            Topic::Validated => &mut self.validated,
            Topic::NotDone => &mut self.not_done,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Topic {
    Validated,
    NotDone,
}

/// How deep a heading stands: `#` to `######`, then bold lines, then lines ending in a colon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Real(u8),
    Bold,
    Colon,
}

enum Block {
    Heading {
        level: Level,
        text: String,
    },
    /// A line that is a heading only if it names one of the sections.
    Pseudo {
        level: Level,
        text: String,
    },
    /// Something a reader sees that is no heading.
    Text,
}

fn topic(heading: &str, more: &BodySections) -> Option<Topic> {
    let words = words(heading);
    let listed = |list: &[String]| list.iter().any(|entry| self::words(entry) == words);
    if listed(&more.not_done) {
        return Some(Topic::NotDone);
    }
    if listed(&more.validated) {
        return Some(Topic::Validated);
    }
    let has = |phrase: &[&str]| words.windows(phrase.len()).any(|part| part == phrase);
    let not_done =
        [&["not", "done"][..], &["not", "verified"], &["not", "yet", "done"], &["not", "yet", "verified"]];
    if not_done.iter().any(|phrase| has(phrase)) {
        return Some(Topic::NotDone);
    }
    let at = words.iter().position(|word| word == "validated")?;
    let denies = |word: &String| DENIALS.contains(&word.as_str()) || word.ends_with("n't");
    let denied = words[..at].iter().any(denies) || words.last().is_some_and(denies);
    (!denied).then_some(Topic::Validated)
}

/// Words that turn "validated" into its opposite or into a plan.
const DENIALS: [&str; 14] = [
    "not", "never", "no", "non", "nothing", "none", "without", "cannot", "unable", "be", "yet", "pending",
    "todo", "nor",
];

fn words(text: &str) -> Vec<String> {
    text.replace('’', "'")
        .to_lowercase()
        .split(|c: char| !c.is_alphanumeric() && c != '\'')
        .map(|word| word.trim_matches('\'').to_owned())
        .filter(|word| !word.is_empty())
        .collect()
}

/// Reads a body line by line: what is inside comments is dropped, fences are text.
fn blocks(body: &str) -> Vec<Block> {
    let mut out = Vec::new();
    let mut fence: Option<(char, usize)> = None;
    let mut comment = Comments::new(body);
    // The lines of the paragraph that an underline of `=` or `-` would turn into a heading, and the
    // place in `out` where they began.
    let mut paragraph: Vec<String> = Vec::new();
    let mut began = 0;
    for (start, raw) in lines(body) {
        if let Some((mark, length)) = fence {
            if closes_fence(raw, mark, length) {
                fence = None;
            } else if has_substance(raw) {
                out.push(Block::Text);
            }
            continue;
        }
        let (visible, was_comment) = comment.strip(start, raw);
        if visible.trim().is_empty() {
            // A line of nothing but comment ends no paragraph's meaning, but a blank one does.
            paragraph.clear();
            continue;
        }
        let (indent, text) = indented(&visible);
        if was_comment {
            paragraph.clear();
            push_text(&mut out, text);
            continue;
        }
        if indent > 3 {
            if paragraph.is_empty() {
                push_text(&mut out, text);
            } else {
                paragraph.push(text.to_owned());
            }
            continue;
        }
        if let Some(opened) = opens_fence(text) {
            fence = Some(opened);
            paragraph.clear();
            continue;
        }
        if let Some((level, heading)) = atx(text) {
            paragraph.clear();
            out.push(Block::Heading { level: Level::Real(level), text: heading.to_owned() });
            continue;
        }
        if let Some(level) = underline(text).filter(|_| !paragraph.is_empty()) {
            out.truncate(began);
            out.push(Block::Heading { level: Level::Real(level), text: paragraph.join(" ") });
            paragraph.clear();
            continue;
        }
        if is_rule(text) {
            paragraph.clear();
            continue;
        }
        if text.starts_with('>') {
            paragraph.clear();
            push_text(&mut out, text);
            continue;
        }
        let item = after_list_marker(text);
        if item.is_some() {
            paragraph.clear();
        } else {
            if paragraph.is_empty() {
                began = out.len();
            }
            paragraph.push(text.to_owned());
        }
        let line = item.unwrap_or(text);
        match pseudo_heading(line) {
            Some((level, heading)) => out.push(Block::Pseudo { level, text: heading.to_owned() }),
            None => push_text(&mut out, line),
        }
    }
    out
}

fn push_text(out: &mut Vec<Block>, text: &str) {
    if has_substance(text) {
        out.push(Block::Text);
    }
}

/// True when a reader sees more than bullets and rules.
fn has_substance(text: &str) -> bool {
    let text = text.trim_start();
    let text = text.strip_prefix(['-', '*', '+']).map_or(text, str::trim_start);
    let text = ["[ ]", "[x]", "[X]"].iter().find_map(|open| text.strip_prefix(open)).unwrap_or(text);
    text.chars().any(|c| {
        c.is_alphanumeric() || (!c.is_ascii() && !c.is_whitespace() && !crate::untrusted::is_hidden(c))
    })
}

/// The lines of a text with the byte each begins at, without their ends.
fn lines(body: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    body.split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        (start, line.trim_end_matches(['\n', '\r']))
    })
}

/// Columns of leading space, a tab reaching to the next multiple of four, and the rest.
fn indented(line: &str) -> (usize, &str) {
    let mut column = 0;
    for (at, c) in line.char_indices() {
        match c {
            ' ' => column += 1,
            '\t' => column += 4 - column % 4,
            _ => return (column, line[at..].trim_end()),
        }
    }
    (column, "")
}

fn opens_fence(text: &str) -> Option<(char, usize)> {
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = text.len() - text.trim_start_matches(mark).len();
    // A backtick in the info string makes it inline code.
    (length >= 3 && !(mark == '`' && text[length..].contains('`'))).then_some((mark, length))
}

fn closes_fence(line: &str, mark: char, length: usize) -> bool {
    let (indent, text) = indented(line);
    let rest = text.trim_start_matches(mark);
    indent <= 3 && text.len() - rest.len() >= length && rest.trim().is_empty()
}

fn atx(text: &str) -> Option<(u8, &str)> {
    let rest = text.trim_start_matches('#');
    let level = text.len() - rest.len();
    if !(1..=6).contains(&level) || !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
        return None;
    }
    Some((level as u8, rest.trim()))
}

fn underline(text: &str) -> Option<u8> {
    let text = text.trim_end();
    if text.is_empty() {
        None
    } else if text.bytes().all(|b| b == b'=') {
        Some(1)
    } else if text.bytes().all(|b| b == b'-') {
        Some(2)
    } else {
        None
    }
}

fn is_rule(text: &str) -> bool {
    let marks: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    marks.len() >= 3 && ["-", "*", "_"].iter().any(|mark| marks.replace(mark, "").is_empty())
}

fn after_list_marker(text: &str) -> Option<&str> {
    let rest = match text.strip_prefix(['-', '*', '+']) {
        Some(rest) => rest,
        None => {
            let digits = text.bytes().take_while(u8::is_ascii_digit).count();
            if !(1..=9).contains(&digits) {
                return None;
            }
            text[digits..].strip_prefix(['.', ')'])?
        }
    };
    rest.starts_with([' ', '\t']).then(|| rest.trim())
}

/// A line that is bold as a whole, or ends in a colon.
fn pseudo_heading(line: &str) -> Option<(Level, &str)> {
    let line = line.trim();
    let bare = line.strip_suffix(':').unwrap_or(line);
    let bold = ["**", "__"].iter().find_map(|mark| {
        let inner = bare.strip_prefix(mark)?.strip_suffix(mark)?;
        (!inner.is_empty() && !inner.contains(mark)).then_some(inner)
    });
    let (level, text) = match bold {
        Some(inner) => (Level::Bold, inner),
        None if line.ends_with(':') => (Level::Colon, bare),
        None => return None,
    };
    (1..=MOST_WORDS).contains(&words(text).len()).then_some((level, text))
}

/// Where HTML comments begin and end, over lines.
struct Comments<'b> {
    body: &'b str,
    inside: bool,
    /// No comment end is found before this byte: looked for once, not once per opener.
    none_before: usize,
}

impl<'b> Comments<'b> {
    fn new(body: &'b str) -> Self {
        Self { body, inside: false, none_before: 0 }
    }

    /// The part of a line outside comments, and whether the line began in or with one: Markdown then
    /// reads all of it as HTML, so that nothing on it is a heading.
    fn strip(&mut self, start: usize, line: &str) -> (String, bool) {
        let began = self.inside || indented(line).1.starts_with("<!--");
        let mut out = String::with_capacity(line.len());
        let mut rest = line;
        loop {
            if self.inside {
                match rest.find("-->") {
                    Some(end) => {
                        rest = &rest[end + 3..];
                        self.inside = false;
                    }
                    None => return (out, began),
                }
            }
            let Some(at) = rest.find(['`', '<']) else {
                out.push_str(rest);
                return (out, began);
            };
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            if rest.starts_with("<!--") {
                let here = start + (line.len() - rest.len());
                let opens_block = out.trim().is_empty() && indented(line).0 <= 3;
                // Its own dashes may be those of its end: `<!-->` is a whole comment.
                if opens_block || self.ends_in_paragraph(here + 2) {
                    self.inside = true;
                    rest = &rest[2..];
                } else {
                    out.push_str("<!--");
                    rest = &rest[4..];
                }
            } else if rest.starts_with('<') {
                out.push('<');
                rest = &rest[1..];
            } else {
                let ticks = rest.len() - rest.trim_start_matches('`').len();
                let taken = code_span(rest, ticks);
                out.push_str(&rest[..taken]);
                rest = &rest[taken..];
            }
        }
    }

    /// True when a comment opened at `from` ends before the next blank line. One that does not is
    /// plain text to Markdown, and hides nothing.
    fn ends_in_paragraph(&mut self, from: usize) -> bool {
        if from < self.none_before {
            return false;
        }
        let mut at = from;
        for line in self.body[from..].split_inclusive('\n') {
            if line.trim().is_empty() {
                break;
            }
            if line.contains("-->") {
                return true;
            }
            at += line.len();
        }
        self.none_before = at;
        false
    }
}

/// Length of the code span at the start of `rest`, or of the backticks alone when it never closes.
fn code_span(rest: &str, ticks: usize) -> usize {
    let mut at = ticks;
    while let Some(next) = rest[at..].find('`') {
        at += next;
        let run = rest[at..].len() - rest[at..].trim_start_matches('`').len();
        at += run;
        if run == ticks {
            return at;
        }
    }
    ticks
}
