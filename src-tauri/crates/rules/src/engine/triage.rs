//! What becomes of an issue, and what must hold before a decision about it is acted on (engine.md 10).

use std::collections::BTreeSet;

use chrono::{DateTime, Duration, Utc};
use serde::{Deserialize, Serialize};

use super::facts::{Account, Listing};
use super::policy::{IssuePolicy, Policy, has_label, label_matches, same_label};
use super::retry::Attempts;
use crate::ids::PullNumber;
use crate::reading::Reading;
use crate::untrusted::Untrusted;

/// An issue as one tick read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssueObs {
    pub number: i64,
    /// GitHub lists pull requests among the issues.
    pub is_pull: bool,
    pub is_open: bool,
    pub reporter: Account,
    pub created_at: DateTime<Utc>,
    pub labels: Reading<Vec<String>>,
    pub comments: Listing<Comment>,
    /// Edits of the issue's own text.
    pub edits: Listing<Edit>,
    /// Open pull requests that refer to it: by a closing keyword, by their branch, by a cross-reference.
    pub open_pulls: Listing<PullNumber>,
}

/// A comment on an issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    pub by: Account,
    /// Whether it holds Steward's marker. In a comment of anybody else that says nothing.
    pub has_marker: bool,
    /// Whether its marker is the one by which Steward answers an issue.
    #[serde(default)]
    pub is_answer: bool,
    pub at: DateTime<Utc>,
}

/// An edit of an issue's text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    pub by: Account,
    pub at: DateTime<Utc>,
}

/// The issue a branch of the intake or of Steward is about: `intake/issue-9`, `steward/issue-9`.
pub fn issue_of_branch(branch: &str) -> Option<i64> {
    let number = branch.strip_prefix("intake/issue-").or_else(|| branch.strip_prefix("steward/issue-"))?;
    let is_number =
        !number.is_empty() && !number.starts_with('0') && number.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| number.parse().ok())?
}

/// What is remembered of an issue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IssueMemory {
    pub attempts: Attempts,
    /// When the last question was asked.
    pub asked_at: Option<DateTime<Utc>>,
    pub declined_at: Option<DateTime<Utc>>,
}

/// Who Steward is on the forge, and which issue is its report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Own {
    /// Account id; usually the maintainer's own.
    pub account: u64,
    pub report: Option<i64>,
}

/// The one next step of an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IssueStep {
    /// A pull request, the report, or closed.
    Skip,
    /// Out of scope: listed, and never commented on.
    ListOnly,
    /// Not read whole: nothing.
    Unreadable,
    WaitsForPull {
        pull: PullNumber,
    },
    WaitsForIntake {
        until: DateTime<Utc>,
    },
    /// Asked, and no person has answered.
    NeedsInfo,
    /// Declined, and nobody has said anything since.
    Declined,
    Backoff {
        until: DateTime<Utc>,
    },
    Triage,
}

/// Decides what becomes of an issue; first match wins.
pub fn step(
    issue: &IssueObs,
    memory: &IssueMemory,
    own: Own,
    policy: &Policy,
    now: DateTime<Utc>,
) -> IssueStep {
    if issue.is_pull || !issue.is_open || own.report == Some(issue.number) {
        return IssueStep::Skip;
    }
    let rules = &policy.issues;
    let Ok(labels) = issue.labels.get() else { return IssueStep::Unreadable };
    if !labels.iter().any(|label| rules.scope_labels.iter().any(|scope| label_matches(scope, label))) {
        return IssueStep::ListOnly;
    }
    if let Some(pull) = issue.open_pulls.items.iter().min() {
        return IssueStep::WaitsForPull { pull: *pull };
    }
    if !issue.open_pulls.complete || !issue.comments.complete || !issue.edits.complete {
        return IssueStep::Unreadable;
    }
    let own_at = || issue.comments.items.iter().filter(|one| is_own(one, own)).map(|one| one.at).max();
    // GitHub's clock tells whether a word came after ours: this machine's may be ahead or behind.
    let is_answer = |one: &&Comment| is_own(one, own) && one.is_answer;
    let answered_at = issue.comments.items.iter().filter(is_answer).map(|one| one.at).max();
    let since = |remembered: Option<DateTime<Utc>>| answered_at.or(remembered).or_else(own_at);
    let has = |wanted: &str| labels.iter().any(|label| same_label(label, wanted));
    if has(&rules.declined_label)
        && let Some(at) = since(memory.declined_at)
        && !is_commented_after(issue, own, at)
    {
        return IssueStep::Declined;
    }
    if has(&rules.need_info_label)
        && let Some(at) = since(memory.asked_at)
        && !spoke_after(issue, own, at)
    {
        return IssueStep::NeedsInfo;
    }
    let until = issue.created_at + Duration::minutes(i64::from(rules.intake_wait_minutes));
    if now < until && !intake_answered(issue, labels, rules) {
        return IssueStep::WaitsForIntake { until };
    }
    match memory.attempts.waits_until(&policy.retry, now) {
        Some(until) => IssueStep::Backoff { until },
        None => IssueStep::Triage,
    }
}

/// The intake answered by a label that says how it ended, or by a comment. (Its pull request would be
/// among those that refer to the issue.)
fn intake_answered(issue: &IssueObs, labels: &[String], rules: &IssuePolicy) -> bool {
    let is_intake = |by: &Account| by.is_bot && by.login.eq_ignore_ascii_case(&rules.intake_bot);
    has_label(labels, &rules.outcome_labels).is_some()
        || issue.comments.items.iter().any(|comment| is_intake(&comment.by))
}

/// A comment of Steward: of its account and with its marker. The account is usually the maintainer's own,
/// so what has no marker was written by the person.
fn is_own(comment: &Comment, own: Own) -> bool {
    comment.has_marker && comment.by.id == own.account
}

/// True when a person other than Steward commented after that.
fn is_commented_after(issue: &IssueObs, own: Own, at: DateTime<Utc>) -> bool {
    issue.comments.items.iter().any(|one| one.at > at && !one.by.is_bot && !is_own(one, own))
}

/// True when a person commented, or the reporter edited the text, after that. Nothing of Steward or of a bot
/// counts.
pub fn spoke_after(issue: &IssueObs, own: Own, at: DateTime<Utc>) -> bool {
    let is_edited = |edit: &Edit| edit.at > at && edit.by.id == issue.reporter.id && !edit.by.is_bot;
    is_commented_after(issue, own, at) || issue.edits.items.iter().any(is_edited)
}

/// What the triager decided, as it was read from its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// What it left is verified by section 9.
    Change,
    AlreadyPresent {
        ids: Vec<String>,
        evidence: Untrusted,
    },
    Declined {
        reason: Untrusted,
        claims: Vec<Claim>,
    },
    NeedInfo {
        question: Untrusted,
    },
}

/// Something a reason claims of the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    pub id: String,
    pub is_present: bool,
}

/// Why an answer is not acted on. The attempt is spent, and the issue stays open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotProven {
    /// It names nothing.
    NoClaim,
    /// These are not in the tree.
    Missing {
        ids: Vec<String>,
    },
    /// These are named in a quote of the issue only.
    QuotedOnly {
        ids: Vec<String>,
    },
    /// The reason is empty.
    NoReason,
    /// The tree says otherwise.
    Contradicted {
        ids: Vec<String>,
    },
    /// Not exactly one question.
    Questions {
        number: usize,
    },
    AskedBefore,
    /// The tree could not be read: nothing is spent.
    Unread,
}

/// Checks an answer against the ids in the tree of the freshly fetched base, and against the questions
/// asked before.
pub fn prove(
    answer: &Answer,
    tree: &Reading<BTreeSet<String>>,
    asked: &[Untrusted],
) -> Result<(), NotProven> {
    match answer {
        Answer::Change => Ok(()),
        Answer::AlreadyPresent { ids, evidence } => already_present(ids, evidence, tree),
        Answer::Declined { reason, claims } => declined(reason, claims, tree),
        Answer::NeedInfo { question } => need_info(question, asked),
    }
}

fn already_present(
    ids: &[String],
    evidence: &Untrusted,
    tree: &Reading<BTreeSet<String>>,
) -> Result<(), NotProven> {
    let ids: BTreeSet<&String> = ids.iter().filter(|id| !id.trim().is_empty()).collect();
    if ids.is_empty() {
        return Err(NotProven::NoClaim);
    }
    let tree = tree.get().map_err(|_| NotProven::Unread)?;
    let missing: Vec<String> = ids.iter().filter(|id| !tree.contains(**id)).map(|id| (*id).clone()).collect();
    if !missing.is_empty() {
        return Err(NotProven::Missing { ids: missing });
    }
    let said = unquoted(evidence.as_data());
    let quoted: Vec<String> = ids.iter().filter(|id| !names(&said, id)).map(|id| (*id).clone()).collect();
    if quoted.is_empty() { Ok(()) } else { Err(NotProven::QuotedOnly { ids: quoted }) }
}

fn declined(reason: &Untrusted, claims: &[Claim], tree: &Reading<BTreeSet<String>>) -> Result<(), NotProven> {
    if !reason.as_data().chars().any(char::is_alphanumeric) {
        return Err(NotProven::NoReason);
    }
    if claims.is_empty() {
        return Ok(());
    }
    let tree = tree.get().map_err(|_| NotProven::Unread)?;
    let wrong: Vec<String> = claims
        .iter()
        .filter(|claim| tree.contains(&claim.id) != claim.is_present)
        .map(|claim| claim.id.clone())
        .collect();
    if wrong.is_empty() { Ok(()) } else { Err(NotProven::Contradicted { ids: wrong }) }
}

fn need_info(question: &Untrusted, asked: &[Untrusted]) -> Result<(), NotProven> {
    let text = question.as_data();
    // A run of marks is one, and one inside an address is none.
    let is_mark =
        |word: &&str| word.trim_end_matches([')', '"', '\'', '*', '_', '.', '!']).ends_with(['?', '？']);
    let number = text.split_whitespace().filter(is_mark).count();
    if number != 1 {
        return Err(NotProven::Questions { number });
    }
    let same = |before: &Untrusted| normal(before.as_data()) == normal(text);
    if asked.iter().any(same) { Err(NotProven::AskedBefore) } else { Ok(()) }
}

/// The words of a question, without case, marks and space.
fn normal(text: &str) -> Vec<String> {
    text.to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

fn unquoted(text: &str) -> String {
    text.lines().filter(|line| !line.trim_start().starts_with('>')).collect::<Vec<_>>().join("\n")
}

/// True when a text names an id as a whole word.
fn names(text: &str, id: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    text.match_indices(id)
        .any(|(at, _)| !text[..at].ends_with(is_word) && !text[at + id.len()..].starts_with(is_word))
}

/// One step of closing an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    Comment,
    Label,
    Close,
}

/// What of closing an issue is seen to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// Our comment for this decision is there.
    pub comment: bool,
    /// The label is there; `None` where the decision has none.
    pub label: Option<bool>,
    pub closed: bool,
}

/// The next step: comment, label, close, in this order, each only when it is not there yet. After a crash
/// the marker of the comment is found, and it is not said twice.
pub fn next_act(done: Done) -> Option<Act> {
    if !done.comment && !done.closed {
        return Some(Act::Comment);
    }
    if done.label == Some(false) {
        return Some(Act::Label);
    }
    (!done.closed).then_some(Act::Close)
}
