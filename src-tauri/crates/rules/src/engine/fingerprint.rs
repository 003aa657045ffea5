//! By what a failure is known again: what it says, without what differs from run to run (engine.md 6).

use std::sync::LazyLock;

use regex::{Captures, Regex};
use sha2::{Digest, Sha256};

use super::facts::FlagFinding;

/// Of a longer line only its beginning is looked at.
const LINE_MOST: usize = 2000;

/// One word for a failure: the check, and the first line of its log that speaks of an error, normalised. Where
/// none does, the last line that says anything.
pub fn of_check(check: &str, log: &str) -> String {
    let mut lines = log.lines().filter(|line| !line.trim().is_empty());
    let said = lines.clone().find(|line| speaks_of_error(line)).or_else(|| lines.next_back());
    hash(&[check, &normal(said.unwrap_or_default())])
}

/// One word for what a flag names, in whatever order it does.
pub fn of_flag(findings: &[FlagFinding]) -> String {
    let mut names: Vec<String> = findings
        .iter()
        .map(|finding| {
            let entry = finding.entry.as_ref().map(|entry| format!("{} {}", entry.family, entry.id));
            let path = finding.path.as_ref().map(|path| path.shown());
            format!("{}\0{}", entry.unwrap_or_default(), path.unwrap_or_default())
        })
        .collect();
    names.sort_unstable();
    let mut parts = vec!["the flag"];
    parts.extend(names.iter().map(String::as_str));
    hash(&parts)
}

fn hash(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hex::encode(hash.finalize())
}

/// Colours and what else steers a terminal.
static ANSI: LazyLock<Regex> = LazyLock::new(|| {
    fixed(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])|[\x00-\x08\x0b-\x1f\x7f]")
});
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    fixed(
        r"(?xi) \d{4}[-/]\d{2}[-/]\d{2} (?:[t\x20]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?)? (?:z\b|\x20?(?:utc|gmt)\b|\x20?[+-]\d{2}:?\d{2}\b)?
        | \b(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\x20)?
          (?:\d{1,2}\x20(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*(?:\x20\d{4})?
            |(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\x20{1,2}\d{1,2}(?:,?\x20\d{4})?)\b
        | \b\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?(?:\x20?(?:am|pm|z|utc|gmt)\b)?",
    )
});
/// A folder says the same with its last slash as without.
static LAST_SLASH: LazyLock<Regex> = LazyLock::new(|| fixed(r#"[\\/]+($|[\s"'`()\[\]<>,;:])"#));
/// Of a path its last component says what it is; the folders before it differ by machine.
static FOLDERS: LazyLock<Regex> = LazyLock::new(|| {
    const NAME: &str = r#"[^\s\\/"'`()<>\[\]{},;=|:]+"#;
    fixed(&format!(
        r"(?:\b[A-Za-z][A-Za-z0-9+.\-]+://|\b[A-Za-z]:[\\/])(?:{NAME}(?::\d+)?[\\/]+)*|(?:{NAME}[\\/]+)+|[\\/]+"
    ))
});
static UUID: LazyLock<Regex> =
    LazyLock::new(|| fixed(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"));
/// The name of a file that is made for one run.
static TEMPORARY: LazyLock<Regex> = LazyLock::new(|| fixed(r"\btmp[._-]?[0-9A-Za-z_]{6,12}\b"));
static RUN: LazyLock<Regex> = LazyLock::new(|| fixed(r"[0-9A-Za-z]+"));
/// Numbers with the unit of time behind them; but those that say which error it is, which stay.
static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    fixed(
        r"(?x) (?P<stays> (?i:\b(?:code|status|http|signal|errno)\b[\x20:=]+)\d{1,4}\b | \b[A-Z]{1,5}\d{3,5}\b )
        | \d+(?:,\d{3}\b)*(?:\.\d+)* (?:\x20?(?:ns|µs|us|ms|s|m|h|secs?|seconds?|mins?|minutes?|hours?)\b)?",
    )
});
/// `0 errors`, `no failures`, `failed: 0`.
static NONE: LazyLock<Regex> = LazyLock::new(|| {
    fixed(r"(?i)\b(?:0|no)\s+(?:errors?|failed|failures?)\b|\b(?:errors?|failed|failures?)\s*[:=]\s*0\b")
});
static ERROR: LazyLock<Regex> = LazyLock::new(|| {
    fixed(
        r"(?x) (?:^|[^\w-])
        (?: (?i:errors?|fail(?:ed|ures?)?|panic(?:ked)?|fatal|exception|not\ ok) | \w*(?:Error|Exception) | ERR!)
        (?:$|[^\w-])",
    )
});

fn fixed(pattern: &str) -> Regex {
    Regex::new(pattern).expect("BUG: a pattern of this file does not compile")
}

/// True for a line that speaks of an error: by a word of its own, not by the name of a test or of a setting.
fn speaks_of_error(line: &str) -> bool {
    let line = ANSI.replace_all(start_of(line), "");
    ERROR.is_match(&NONE.replace_all(&line, ""))
}

/// A line without what differs from run to run: colours, times, folders, ids, durations and numbers.
pub fn normal(line: &str) -> String {
    let line = ANSI.replace_all(start_of(line), "");
    let line = TIME.replace_all(&line, "");
    let line = LAST_SLASH.replace_all(&line, "$1");
    let line = FOLDERS.replace_all(&line, "");
    let line = UUID.replace_all(&line, "#");
    let line = TEMPORARY.replace_all(&line, "tmp#");
    let line =
        RUN.replace_all(&line, |run: &Captures<'_>| if is_id(&run[0]) { "#" } else { &run[0] }.to_owned());
    let line = NUMBER.replace_all(&line, |number: &Captures<'_>| {
        number.name("stays").map_or("#", |stays| stays.as_str()).to_owned()
    });
    let words = line.split_whitespace().filter(|word| word.contains(char::is_alphanumeric));
    words.collect::<Vec<_>>().join(" ")
}

/// A hash, an address, or a long run of letters and digits.
fn is_id(run: &str) -> bool {
    let is_hex = |text: &str| text.bytes().all(|b| b.is_ascii_hexdigit());
    let digits = run.bytes().filter(u8::is_ascii_digit).count();
    (run.len() >= 7 && is_hex(run))
        || run.strip_prefix("0x").is_some_and(|rest| !rest.is_empty() && is_hex(rest))
        || (run.len() >= 16 && digits >= 2)
}

fn start_of(line: &str) -> &str {
    let mut end = line.len().min(LINE_MOST);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    &line[..end]
}
