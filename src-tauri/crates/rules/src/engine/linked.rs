//! Which issues a pull request says it closes, by the keywords GitHub itself acts on (engine.md 4.6 and 10).

use std::sync::LazyLock;

use regex::Regex;

use crate::ids::RepoName;

/// More of them are not followed.
pub const MOST: usize = 20;

static CLOSES: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?i)\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+(?:([\w.-]+/[\w.-]+)?#(\d+)|GH-(\d+)|https?://[^\s/]+/([\w.-]+/[\w.-]+)/issues/(\d+))";
    Regex::new(pattern).expect("BUG: the pattern is fixed")
});

/// The issues of this repository that a text closes, each once, lowest first. A keyword inside code means
/// nothing, to GitHub as to us.
pub fn closes(body: &str, of: &RepoName) -> Vec<i64> {
    let text = without_code(body);
    let mut found: Vec<i64> = CLOSES
        .captures_iter(&text)
        .filter(|found| {
            let named = found.get(1).or(found.get(4)).map(|name| RepoName::parse(name.as_str()));
            named.is_none_or(|named| named.as_ref() == Some(of))
        })
        .filter_map(|found| {
            let number = found.get(2).or(found.get(3)).or(found.get(5))?;
            number.as_str().parse().ok().filter(|number| *number > 0)
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Without fenced blocks, code spans and comments of HTML.
fn without_code(body: &str) -> String {
    let mut text = String::with_capacity(body.len());
    let mut fence: Option<(char, usize)> = None;
    for line in body.lines() {
        let bare = line.trim_start();
        let mark = bare.chars().next().filter(|c| matches!(c, '`' | '~'));
        let long = mark.map_or(0, |mark| bare.chars().take_while(|c| *c == mark).count());
        match (fence, mark) {
            (Some((open, length)), Some(mark)) if mark == open && long >= length => fence = None,
            (Some(_), _) => {}
            (None, Some(mark)) if long >= 3 => fence = Some((mark, long)),
            (None, _) => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    spans(&without_comments(&text))
}

fn without_comments(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find("<!--") {
        out.push_str(&rest[..at]);
        rest = rest[at..].find("-->").map_or("", |end| &rest[at + end + 3..]);
    }
    out.push_str(rest);
    out
}

/// Drops what stands between two runs of backticks of one length.
fn spans(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('`') {
        let long = rest[at..].bytes().take_while(|byte| *byte == b'`').count();
        out.push_str(&rest[..at]);
        let inside = &rest[at + long..];
        match close(inside, long) {
            Some(end) => rest = &inside[end + long..],
            None => {
                out.push_str(&rest[at..at + long]);
                rest = inside;
            }
        }
    }
    out.push_str(rest);
    out
}

fn close(text: &str, long: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(next) = text[at..].find('`') {
        let from = at + next;
        let run = text[from..].bytes().take_while(|byte| *byte == b'`').count();
        if run == long {
            return Some(from);
        }
        at = from + run;
    }
    None
}
