//! The comment that a review leaves on its pull request: our own few words, and everything that others
//! wrote as inert text in code blocks.
//!
//! Inside a code block GitHub links no name, issue, commit or address, and renders no HTML and no picture.
//! The block's fence is longer than any run of its own sign inside, so that nothing inside can end it.
//! Programs that read the raw text find no mention (`@` stands alone), no closing keyword before a reference
//! and no command at the begin of a line.

use std::sync::LazyLock;

use regex::Regex;

use crate::deed::{Deed, marker_of};
use crate::ids::Sha;
use crate::review::findings::Finding;
use crate::review::gate::{GateResult, GateState};
use crate::review::verdict::Verdict;
use crate::secret::{Engine, Options, Tier};
use crate::untrusted::Untrusted;
use crate::wording;

/// Longest text that is sent, in characters. GitHub takes 65,536.
pub const MOST: usize = 60_000;
/// Longest text of one part of a finding, in characters.
const PART_MOST: usize = 2_000;
/// Longest reason or detail of a gate, in characters.
const LINE_MOST: usize = 1_000;
/// Reasons for a lower verdict that are shown.
const LOWERED_MOST: usize = 5;
/// Longest summary, in characters.
const SUMMARY_MOST: usize = 4_000;
/// Longest title of a pull request, in characters.
const TITLE_MOST: usize = 200;
/// Lines of code blocks do not wrap on GitHub, so they are broken here.
const WIDTH: usize = 100;

/// What the comment is made of.
#[derive(Debug, Clone, Copy)]
pub struct CommentInput<'a> {
    pub head: &'a Sha,
    pub verdict: Verdict,
    pub summary: Option<&'a str>,
    /// Why the verdict is lower than the seat's, as sentences.
    pub lowered: &'a [String],
    pub gates: &'a [GateResult],
    pub findings: &'a [Finding],
}

/// A text that may be posted as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing(String);

impl Outgoing {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn into_string(self) -> String {
        self.0
    }
}

/// Why a text is not posted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it holds what looks like a secret ({family}), so it is not posted")]
pub struct HoldsSecret {
    pub family: String,
    /// The text without any secret the rules know, to be shown.
    pub redacted: String,
}

/// The first line of a comment about a head, by which our own is found again.
pub fn marker(head: &Sha) -> String {
    format!("<!-- steward:review head={head} -->")
}

/// True for a comment of our account that begins with this marker.
pub fn is_marked(marker: &str, account: &str, author: Option<&str>, body: &str) -> bool {
    author.is_some_and(|author| author.eq_ignore_ascii_case(account))
        && body.lines().next().is_some_and(|line| line.trim_end() == marker)
}

/// Makes the comment, or says which secret stands in it.
pub fn comment(input: &CommentInput<'_>) -> Result<Outgoing, HoldsSecret> {
    let text = compose(input);
    let mut raw = text.clone();
    // Broken lines would part a secret in two, so what they were made from is looked through as well.
    for part in parts(input) {
        raw.push('\n');
        raw.push_str(part);
    }
    let engine = Engine::shared();
    let hits = engine.scan_text(raw.as_bytes(), Options::default());
    match hits.into_iter().find(|hit| hit.tier == Tier::High) {
        None => Ok(Outgoing(text)),
        Some(hit) => Err(HoldsSecret {
            family: hit.rule.family.clone(),
            redacted: compose(&redacted(input, &mut Kept::default())),
        }),
    }
}

/// Every foreign text of it, as it came.
fn parts<'a>(input: &CommentInput<'a>) -> Vec<&'a str> {
    let mut all: Vec<&str> = input.summary.into_iter().collect();
    all.extend(input.lowered.iter().map(String::as_str));
    all.extend(input.gates.iter().map(|gate| gate.detail.as_str()));
    for finding in input.findings {
        all.extend([
            finding.title.as_data(),
            finding.file.as_str(),
            finding.why.as_data(),
            finding.check.as_data(),
        ]);
    }
    all
}

fn compose(input: &CommentInput<'_>) -> String {
    let mut out = format!("{}\n", marker(input.head));
    out.push_str(&format!("**Review: {}** at `{}`\n", input.verdict.as_str(), input.head));
    if let Some(summary) = input.summary.filter(|text| !text.trim().is_empty()) {
        out.push('\n');
        block(&mut out, &[(None, cut(summary, SUMMARY_MOST))]);
    }
    if !input.lowered.is_empty() {
        out.push_str("\nLowered by:\n\n");
        let all: Vec<_> =
            input.lowered.iter().take(LOWERED_MOST).map(|why| (None, cut_line(why, LINE_MOST))).collect();
        block(&mut out, &all);
    }
    let failed: Vec<&GateResult> = input.gates.iter().filter(|gate| gate.state == GateState::Fail).collect();
    if !failed.is_empty() {
        out.push_str("\n### Failed gates\n\n");
        let lines: Vec<_> =
            failed.iter().map(|gate| (Some(gate.id.as_str()), cut_line(&gate.detail, LINE_MOST))).collect();
        block(&mut out, &lines);
    }
    findings(&mut out, input);
    out
}

/// The findings that still ask for something, as many as there is room for.
fn findings(out: &mut String, input: &CommentInput<'_>) {
    let pending: Vec<&Finding> = input.findings.iter().filter(|finding| finding.state.is_pending()).collect();
    if pending.is_empty() {
        out.push_str("\nNo open findings.\n");
        return;
    }
    out.push_str("\n### Findings\n");
    let mut used = out.chars().count();
    for (at, finding) in pending.iter().enumerate() {
        let mut one = format!("\n**{}.** {}\n\n", at + 1, wording::review::finding_state(finding.state));
        block(
            &mut one,
            &[
                (Some("at"), format!("{}:{}", cut_line(&finding.file, 300), finding.line)),
                (Some("what"), cut_line(finding.title.as_data(), 300)),
                (Some("why"), cut(finding.why.as_data(), PART_MOST)),
                (Some("check"), cut(finding.check.as_data(), PART_MOST)),
            ],
        );
        let more = format!("\n{} not shown here.\n", wording::count(pending.len() - at, "more finding"));
        let length = one.chars().count();
        if used + length + more.chars().count() > MOST {
            out.push_str(&more);
            return;
        }
        used += length;
        out.push_str(&one);
    }
}

/// Texts that are kept while a redacted input borrows them.
#[derive(Default)]
struct Kept {
    summary: Option<String>,
    lowered: Vec<String>,
    gates: Vec<GateResult>,
    findings: Vec<Finding>,
}

fn redacted<'k>(input: &CommentInput<'k>, kept: &'k mut Kept) -> CommentInput<'k> {
    let clean = |text: &str| Engine::shared().redact(text);
    let clean_untrusted = |text: &Untrusted| Untrusted::new(clean(text.as_data()));
    kept.summary = input.summary.map(clean);
    kept.lowered = input.lowered.iter().map(|why| clean(why)).collect();
    kept.gates =
        input.gates.iter().map(|gate| GateResult { detail: clean(&gate.detail), ..gate.clone() }).collect();
    kept.findings = input
        .findings
        .iter()
        .map(|finding| Finding {
            title: clean_untrusted(&finding.title),
            file: clean(&finding.file),
            why: clean_untrusted(&finding.why),
            check: clean_untrusted(&finding.check),
            ..finding.clone()
        })
        .collect();
    CommentInput {
        summary: kept.summary.as_deref(),
        lowered: &kept.lowered,
        gates: &kept.gates,
        findings: &kept.findings,
        ..*input
    }
}

/// Why a deed is not let out as it is, and the deed as it may be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfit {
    pub why: Flaw,
    /// Without any secret the rules know.
    pub shown: Box<Deed>,
}

/// What is wrong with what would go out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    #[error("it holds what looks like a secret ({family}), so it is not posted")]
    Secret { family: String },
    #[error("it has no marker, so it could not be found again")]
    NoMarker,
    #[error("it is longer than {MOST} characters")]
    TooLong,
    #[error("it has no title, or nothing to do")]
    Empty,
}

impl Flaw {
    /// One word that never changes.
    pub fn slug(&self) -> &'static str {
        match self {
            Self::Secret { .. } => "secret",
            Self::NoMarker => "no_marker",
            Self::TooLong => "too_long",
            Self::Empty => "empty",
        }
    }
}

/// Makes everything in a deed inert that others could have written: no mention, no closing keyword but the one
/// that stands alone in the first line of a pull request, no secret.
pub fn fit(deed: Deed) -> Result<Deed, Unfit> {
    let raw = words(&deed);
    let flaw = |why| Unfit { why, shown: Box::new(inert(redacted_deed(deed.clone()))) };
    let hits = Engine::shared().scan_text(raw.as_bytes(), Options::default());
    if let Some(hit) = hits.into_iter().find(|hit| hit.tier == Tier::High) {
        return Err(flaw(Flaw::Secret { family: hit.rule.family.clone() }));
    }
    if let Deed::Comment { body } = &deed
        && marker_of(body).is_none()
    {
        return Err(flaw(Flaw::NoMarker));
    }
    let is_empty = match &deed {
        Deed::OpenPull { title, .. } => title.trim().is_empty(),
        Deed::Label { add, remove } => {
            add.is_empty() && remove.is_empty()
                || add.iter().chain(remove).any(|label| label.trim().is_empty())
        }
        Deed::Report { body } => body.trim().is_empty(),
        Deed::Comment { .. }
        | Deed::Rerun { .. }
        | Deed::RetryVerdict { .. }
        | Deed::Merge { .. }
        | Deed::DeleteBranch { .. }
        | Deed::Close { .. }
        | Deed::Push { .. } => false,
    };
    if is_empty {
        return Err(flaw(Flaw::Empty));
    }
    let fit = inert(deed.clone());
    if fit.text().chars().count() > MOST {
        return Err(flaw(Flaw::TooLong));
    }
    Ok(fit)
}

/// Every word of a deed, to be looked through.
fn words(deed: &Deed) -> String {
    match deed {
        Deed::OpenPull { branch, title, body, labels, .. } => {
            format!("{branch}\n{title}\n{}\n{body}", labels.join("\n"))
        }
        Deed::Label { add, remove } => [add.join("\n"), remove.join("\n")].join("\n"),
        Deed::Push { branch, .. } | Deed::DeleteBranch { branch, .. } => branch.clone(),
        Deed::Comment { body } | Deed::Report { body } => body.clone(),
        Deed::Rerun { .. } | Deed::RetryVerdict { .. } | Deed::Merge { .. } | Deed::Close { .. } => {
            String::new()
        }
    }
}

fn redacted_deed(deed: Deed) -> Deed {
    let clean = |text: String| Engine::shared().redact(&text);
    let all = |list: Vec<String>| list.into_iter().map(clean).collect::<Vec<_>>();
    match deed {
        Deed::Comment { body } => Deed::Comment { body: clean(body) },
        Deed::Report { body } => Deed::Report { body: clean(body) },
        Deed::Label { add, remove } => Deed::Label { add: all(add), remove: all(remove) },
        Deed::OpenPull { branch, at, base, title, body, labels } => Deed::OpenPull {
            branch: clean(branch),
            at,
            base,
            title: clean(title),
            body: clean(body),
            labels: all(labels),
        },
        Deed::Push { branch, from, to } => Deed::Push { branch: clean(branch), from, to },
        Deed::DeleteBranch { branch, at } => Deed::DeleteBranch { branch: clean(branch), at },
        Deed::Rerun { .. } | Deed::RetryVerdict { .. } | Deed::Merge { .. } | Deed::Close { .. } => deed,
    }
}

fn inert(deed: Deed) -> Deed {
    match deed {
        Deed::Comment { body } => Deed::Comment { body: inert_text(&body) },
        Deed::Report { body } => Deed::Report { body: inert_text(&body) },
        Deed::OpenPull { branch, at, base, title, body, labels } => Deed::OpenPull {
            branch,
            at,
            base,
            title: cut_line(&title, TITLE_MOST),
            body: inert_text(&body),
            labels,
        },
        Deed::Rerun { .. }
        | Deed::RetryVerdict { .. }
        | Deed::Merge { .. }
        | Deed::DeleteBranch { .. }
        | Deed::Label { .. }
        | Deed::Close { .. }
        | Deed::Push { .. } => deed,
    }
}

/// A text without mentions and closing keywords. Its marker, or the first line by which a pull request closes
/// its issue, stays: neither can be anybody else's words, since those never come first.
fn inert_text(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    let closes = first.strip_prefix("Closes #").is_some_and(|n| n.parse::<u32>().is_ok());
    if marker_of(text).is_some() || closes {
        let rest = &text[first.len()..];
        return format!("{first}{}", unclosing(&alone(rest)));
    }
    unclosing(&alone(text))
}

/// The first line of something Steward says about a subject; `facts` tell one saying from another.
pub fn marker_for(what: &str, facts: &str) -> String {
    format!("<!-- steward:{what} {facts} -->")
}

/// Words of Steward's own behind a marker, and below them what others wrote, as inert text in a code block.
pub fn say(marker: &str, own: &str, foreign: &[(Option<&str>, &str)]) -> Result<String, HoldsSecret> {
    composed(format!("{marker}\n{own}\n"), foreign)
}

/// The body of a pull request: the issue it closes, words of Steward's own, and what others wrote.
pub fn pull_body(
    closes: Option<i64>,
    own: &str,
    foreign: &[(Option<&str>, &str)],
) -> Result<String, HoldsSecret> {
    let first = closes.map(|number| format!("Closes #{number}\n\n")).unwrap_or_default();
    composed(format!("{first}{own}\n"), foreign)
}

fn composed(mut out: String, foreign: &[(Option<&str>, &str)]) -> Result<String, HoldsSecret> {
    // Wrapped lines would part a secret in two, so they are looked through as they came.
    for (_, text) in foreign {
        let hits = Engine::shared().scan_text(text.as_bytes(), Options::default());
        if let Some(hit) = hits.into_iter().find(|hit| hit.tier == Tier::High) {
            let redacted = Engine::shared().redact(text);
            return Err(HoldsSecret { family: hit.rule.family.clone(), redacted });
        }
    }
    let cut: Vec<_> = foreign.iter().map(|(name, text)| (*name, cut(text, SUMMARY_MOST))).collect();
    if !cut.is_empty() {
        out.push('\n');
        block(&mut out, &cut);
    }
    Ok(out)
}

/// A keyword that closes, and the issue it would close (GitHub's own list of both).
static CLOSING: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?i)\b(close[sd]?|fix(?:e[sd])?|resolve[sd]?)(\s*:?\s+)((?:[\w.-]+/[\w.-]+)?#\d|GH-\d|https?://\S+/(?:issues|pull)/\d)";
    Regex::new(pattern).expect("BUG: the pattern is fixed")
});

/// Parts every closing keyword from the reference behind it.
fn unclosing(text: &str) -> String {
    CLOSING.replace_all(text, "$1$2– $3").into_owned()
}

/// Foreign text without hidden signs, mentions and closing keywords, cut.
fn cut(text: &str, most: usize) -> String {
    let text = text.replace("\r\n", "\n");
    unclosing(&alone(&short(&Untrusted::new(text.trim_end()).escaped(most).replace('\t', "    "), most)))
}

/// The same on one line.
pub(crate) fn cut_line(text: &str, most: usize) -> String {
    unclosing(&alone(&short(&Untrusted::new(text.trim_end()).one_line(most), most)))
}

/// What was made visible is longer than it came, so it is cut again.
fn short(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Parts every `@` from what follows it, so that no program reads a name there.
fn alone(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        out.push(c);
        let at = matches!(c, '@' | '＠' | '﹫');
        if at && chars.peek().is_none_or(|next| !next.is_whitespace()) {
            out.push(' ');
        }
    }
    out
}

/// Appends texts as one code block, each behind its name or behind a bar: no line begins with foreign
/// text, since a program could obey a `/command` there.
pub(crate) fn block(out: &mut String, texts: &[(Option<&str>, String)]) {
    let longest = texts.iter().map(|(_, text)| longest_run(text)).max().unwrap_or(0);
    let width = texts.iter().filter_map(|(name, _)| name.map(|name| name.len() + 2)).max().unwrap_or(2);
    let fence = "`".repeat((longest + 1).max(3));
    out.push_str(&fence);
    out.push_str("text\n");
    for (name, text) in texts {
        let mut lead = name.map_or_else(|| "| ".to_owned(), |name| format!("{:<width$}", format!("{name}:")));
        for piece in text.split('\n').flat_map(wrapped) {
            out.push_str(&lead);
            out.push_str(piece);
            out.push('\n');
            lead = format!("{:>width$}", "| ");
        }
    }
    out.push_str(&fence);
    out.push('\n');
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// A line in pieces that fit the width, broken at spaces where there are any.
fn wrapped(line: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = line;
    loop {
        let Some((end, _)) = rest.char_indices().nth(WIDTH) else {
            pieces.push(rest);
            return pieces;
        };
        let at = rest[..end].rfind(' ').filter(|at| !rest[..*at].trim().is_empty());
        let (piece, next) = match at {
            Some(at) => (&rest[..at], &rest[at + 1..]),
            None => rest.split_at(end),
        };
        pieces.push(piece);
        rest = next;
    }
}
