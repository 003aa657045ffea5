//! Which issues a pull request says it closes, by the keywords GitHub itself acts on (engine.md 4.6 and 10).

use std::sync::LazyLock;

use regex::Regex;

use crate::ids::RepoName;

/// More of them are not followed.
pub const MOST: usize = 20;

/// What stood in code, in a comment or in a quote: nothing is closed across it.
const GAP: char = '\u{fffc}';

static CLOSES: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?i)\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\s*:?\s+(?:([\w.-]+/[\w.-]+)?#([1-9][0-9]*)|https?://([^\s/]+)/([\w.-]+/[\w.-]+)/issues/([1-9][0-9]*))\b";
    Regex::new(pattern).expect("BUG: the pattern is fixed")
});

/// The issues of this repository that a text closes, each once, lowest first. A keyword inside code, a comment
/// or a quote means nothing. `host` is where the repository is seen in a browser.
pub fn closes(body: &str, host: &str, of: &RepoName) -> Vec<i64> {
    let text = spans(&plain(body));
    let mut found: Vec<i64> = CLOSES
        .captures_iter(&text)
        .filter(|found| {
            let is_here = found.get(3).is_none_or(|its| its.as_str().eq_ignore_ascii_case(host));
            let named = found.get(1).or(found.get(4)).map(|name| RepoName::parse(name.as_str()));
            is_here && named.is_none_or(|named| named.as_ref() == Some(of))
        })
        .filter_map(|found| found.get(2).or(found.get(5))?.as_str().parse().ok())
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Without fenced blocks, comments of HTML and quotes, followed in one pass so that none can hide in another.
fn plain(body: &str) -> String {
    let mut text = String::with_capacity(body.len());
    let mut fence: Option<(char, usize)> = None;
    let (mut in_comment, mut in_quote) = (false, false);
    for line in body.lines() {
        let bare = line.trim_start();
        let mark = bare.chars().next().filter(|c| matches!(c, '`' | '~')).filter(|_| !in_comment);
        let long = mark.map_or(0, |mark| bare.chars().take_while(|c| *c == mark).count());
        let quoted = bare.strip_prefix('>').filter(|_| !in_comment && fence.is_none());
        match (fence, mark) {
            (Some((open, length)), Some(mark)) if mark == open && long >= length => fence = None,
            (Some(_), _) => continue,
            (None, Some(mark)) if long >= 3 => {
                (fence, in_quote) = (Some((mark, long)), false);
                text.push(GAP);
            }
            // A paragraph goes on in its quote until a line is empty.
            (None, _) if quoted.is_some() || in_quote && !bare.is_empty() => {
                in_quote = quoted.is_none_or(|rest| !rest.trim().is_empty());
                text.push(GAP);
            }
            (None, _) => {
                in_quote = false;
                without_comments(line, &mut in_comment, &mut text);
            }
        }
        text.push('\n');
    }
    text
}

/// Appends a line without what stands in comments; `in_comment` says whether one is open. A span of code begins
/// none.
fn without_comments(line: &str, in_comment: &mut bool, out: &mut String) {
    let mut rest = line;
    while !rest.is_empty() {
        if *in_comment {
            let Some(end) = rest.find("-->") else { return };
            (*in_comment, rest) = (false, &rest[end + 3..]);
            continue;
        }
        let Some(at) = rest.find(['`', '<']) else { break };
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        if let Some(inside) = from.strip_prefix("<!--") {
            out.push(GAP);
            (*in_comment, rest) = (true, inside);
            continue;
        }
        let long = from.bytes().take_while(|byte| *byte == b'`').count();
        let end = if long == 0 { 1 } else { close(&from[long..], long).map_or(long, |end| end + long * 2) };
        out.push_str(&from[..end]);
        rest = &from[end..];
    }
    out.push_str(rest);
}

/// Drops what stands between two runs of backticks of one length.
fn spans(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('`') {
        let long = rest[at..].bytes().take_while(|byte| *byte == b'`').count();
        out.push_str(&rest[..at]);
        let inside = &rest[at + long..];
        match close(inside, long) {
            Some(end) => {
                out.push(GAP);
                rest = &inside[end + long..];
            }
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
