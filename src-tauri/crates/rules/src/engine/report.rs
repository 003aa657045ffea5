//! The report of a repository: the body of one issue, replaced only when what it says changed
//! (engine.md 16).

use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use regex::Regex;
use sha2::{Digest, Sha256};

use crate::outgoing::{MOST, block, cut_line};
use crate::secret::Engine;
use crate::wording::{self, engine as say};

/// The first line, by which our own report is known.
pub const MARKER: &str = "<!-- steward:report -->";
/// Longest line of an item, in characters.
const LINE_MOST: usize = 300;

/// What the report tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Why there is no boundary for agents, when there is none.
    pub no_boundary: Option<String>,
    /// Faults and warnings of the configuration, as sentences.
    pub warnings: Vec<String>,
    pub items: Vec<Item>,
    pub stuck: Vec<Stuck>,
}

/// A pull request or issue that is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub number: i64,
    /// Its class, in one word.
    pub class: String,
    /// What is decided of it, as a sentence. Times in it are no change of the report.
    pub state: String,
    pub attempts: u32,
    /// Not before then; shown, and no change of the report.
    pub next_at: Option<DateTime<Utc>>,
}

/// An item that failed so often that a person should look for the cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stuck {
    pub number: i64,
    pub failures: u32,
    /// The end of the last evidence, redacted.
    pub evidence: String,
}

/// The body of the issue. Everything that others wrote stands in code blocks, where nothing is a mention,
/// a link or a command.
pub fn body(report: &Report, at: DateTime<Utc>) -> String {
    let mut out = format!("{MARKER}\n{}", told(report, Times::Shown));
    out.push_str(&format!("\n{}\n", say::report_at(at)));
    out
}

/// What the report says, as one word to compare: the same at any time while nothing changed.
pub fn fingerprint(report: &Report) -> String {
    hex::encode(Sha256::digest(TIME.replace_all(&told(report, Times::Hidden), "").as_bytes()))
}

/// A date, with its time and zone where it has them, as our own sentences and the logs of others write it.
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    let pattern =
        r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?(?:UTC|Z|[+-]\d{2}:?\d{2}))?)?";
    Regex::new(pattern).expect("BUG: the pattern is fixed")
});

#[derive(Clone, Copy)]
enum Times {
    Shown,
    Hidden,
}

fn told(report: &Report, times: Times) -> String {
    let mut out = format!("### {}\n", say::report_title());
    if let Some(why) = &report.no_boundary {
        section(&mut out, &say::report_no_boundary(), vec![line(why)]);
    }
    let warnings = report.warnings.iter().map(|warning| line(warning));
    section(&mut out, &say::report_warnings(), warnings.collect());
    let mut stuck: Vec<&Stuck> = report.stuck.iter().collect();
    stuck.sort_by_key(|one| one.number);
    let stuck = stuck.into_iter().map(|one| {
        let last = one.evidence.trim_end().lines().last().unwrap_or_default();
        line(&say::report_stuck(one.number, one.failures, last))
    });
    section(&mut out, &say::report_stuck_title(), stuck.collect());
    let mut items: Vec<&Item> = report.items.iter().collect();
    items.sort_by_key(|item| item.number);
    let items = items.into_iter().map(|item| {
        let next_at = match times {
            Times::Shown => item.next_at,
            Times::Hidden => None,
        };
        line(&say::report_item(item, next_at))
    });
    section(&mut out, &say::report_items(), items.collect());
    out
}

/// One line of foreign text. It is redacted before it is cut and wrapped, which would part a secret in two.
fn line(text: &str) -> String {
    cut_line(&Engine::shared().redact(text), LINE_MOST)
}

/// A title and its lines, as many as there is room for; nothing where there are none.
fn section(out: &mut String, title: &str, lines: Vec<String>) {
    if lines.is_empty() {
        return;
    }
    out.push_str(&format!("\n{title}\n\n"));
    // Wrapped and bared lines are longer than they came.
    let room = MOST.saturating_sub(out.chars().count()) / 2;
    let (mut used, mut kept) = (0, Vec::new());
    let total = lines.len();
    for line in lines {
        used += line.chars().count() + 4;
        if used > room {
            break;
        }
        kept.push((None, line));
    }
    let more = total - kept.len();
    if !kept.is_empty() {
        block(out, &kept);
    }
    if more > 0 {
        out.push_str(&format!("\n{}\n", wording::count(more, "more line")));
    }
}
