//! Findings and their life from review to review.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashSet;

use super::submission::{EarlierAnswer, EarlierState, SubmittedFinding};
use super::verdict::Verdict;
use crate::ids::ReviewId;
use crate::untrusted::Untrusted;

/// A finding of Steward's own: it lowers the cap to CHANGES without failing a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnFinding {
    pub title: String,
    pub file: String,
    pub line: u32,
    pub why: String,
    pub check: String,
}

/// Who made a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum Origin {
    Seat,
    Steward,
}

/// Where a finding stands in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum FindingState {
    New,
    Open,
    Fixed,
    Answered,
}

impl FindingState {
    /// True when it still asks for something.
    pub fn is_pending(self) -> bool {
        match self {
            Self::New | Self::Open => true,
            Self::Fixed | Self::Answered => false,
        }
    }
}

/// What the person said of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum Mark {
    Answered,
    WontFix,
}

/// A mark on one finding; it holds while the cited lines stay as they were then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingMark {
    pub finding: String,
    pub mark: Mark,
    pub cited: String,
}

/// One line around a finding, at the head. Text as git has it; escaped where it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExcerptLine {
    pub number: u32,
    pub text: String,
    pub cited: bool,
    pub added: bool,
}

/// One finding of one review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Stable over the reviews of a task.
    pub id: String,
    pub origin: Origin,
    pub state: FindingState,
    /// The review that first had it.
    pub since: ReviewId,
    pub title: Untrusted,
    pub file: String,
    pub line: u32,
    pub why: Untrusted,
    pub check: Untrusted,
    pub severity: Option<Untrusted>,
    /// Hash of the cited lines at the head; see [`cited_hash`].
    pub cited: String,
    pub excerpt: Vec<ExcerptLine>,
}

/// A finding of this review, before its life is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreshFinding {
    pub origin: Origin,
    pub title: Untrusted,
    pub file: String,
    pub line: u32,
    pub why: Untrusted,
    pub check: Untrusted,
    pub severity: Option<Untrusted>,
    /// The cited line at the head, as it is there; empty when it has none.
    pub content: String,
    pub excerpt: Vec<ExcerptLine>,
}

impl FreshFinding {
    /// A finding of Steward's own, with what it cites.
    pub fn own(own: &OwnFinding, content: String, excerpt: Vec<ExcerptLine>) -> Self {
        Self {
            origin: Origin::Steward,
            title: Untrusted::new(own.title.as_str()),
            file: own.file.clone(),
            line: own.line,
            why: Untrusted::new(own.why.as_str()),
            check: Untrusted::new(own.check.as_str()),
            severity: None,
            content,
            excerpt,
        }
    }

    /// A finding as the seat submitted it, with what it cites.
    pub fn submitted(finding: &SubmittedFinding, content: String, excerpt: Vec<ExcerptLine>) -> Self {
        Self {
            origin: Origin::Seat,
            title: finding.title.clone(),
            file: finding.file.clone(),
            line: finding.line,
            why: finding.why.clone(),
            check: finding.check.clone(),
            severity: finding.severity.clone(),
            content,
            excerpt,
        }
    }
}

/// The id of a finding: from its file, the cited content and the reason. It survives a moved line,
/// other indentation and other spacing of the reason.
pub fn stable_id(file: &str, content: &str, why: &str) -> String {
    let mut hash = Sha256::new();
    for part in [file.to_owned(), squeezed(content), squeezed(why).to_lowercase()] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hex::encode(&hash.finalize()[..8])
}

/// Hash of cited content, to tell whether it changed; spacing at the ends does not count.
pub fn cited_hash(content: &str) -> String {
    hex::encode(&Sha256::digest(content.trim())[..16])
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What the next review is told of the task's findings.
pub struct Life<'a> {
    /// The review that is being finished.
    pub review: ReviewId,
    /// The findings of the task's last finished review.
    pub earlier: &'a [Finding],
    pub answers: &'a [EarlierAnswer],
    pub marks: &'a [FindingMark],
    /// Whether the lines an earlier finding cites are gone from its file at the head. Unread lines
    /// count as unchanged, so that nothing is believed fixed unseen.
    pub lines_changed: &'a dyn Fn(&Finding) -> bool,
    /// The result of the finding's own check, when it is one of the repository's configured checks.
    pub check_passes: &'a dyn Fn(&Finding) -> Option<bool>,
}

/// Gives this review's findings their states, and carries the earlier ones on. Each id comes once:
/// the fresh ones in their order, then the earlier ones that were not found again.
pub fn carry(life: &Life<'_>, fresh: Vec<FreshFinding>) -> Vec<Finding> {
    let mut out: Vec<Finding> = Vec::new();
    let mut seen = HashSet::new();
    for one in fresh {
        let id = stable_id(&one.file, &one.content, one.why.as_data());
        if !seen.insert(id.clone()) {
            continue;
        }
        let before = life.earlier.iter().find(|earlier| earlier.id == id);
        let cited = cited_hash(&one.content);
        let marked = life.marks.iter().any(|mark| mark.finding == id && mark.cited == cited);
        let state = match (marked, before) {
            (true, _) => FindingState::Answered,
            (false, Some(before)) if before.state != FindingState::Fixed => FindingState::Open,
            // Fixed before and found again: it is new once more.
            (false, Some(_) | None) => FindingState::New,
        };
        let since = match (state, before) {
            (FindingState::New, _) | (_, None) => life.review,
            (FindingState::Open | FindingState::Fixed | FindingState::Answered, Some(before)) => before.since,
        };
        out.push(Finding {
            id,
            origin: one.origin,
            state,
            since,
            title: one.title,
            file: one.file,
            line: one.line,
            why: one.why,
            check: one.check,
            severity: one.severity,
            cited,
            excerpt: one.excerpt,
        });
    }
    for earlier in life.earlier {
        // What was fixed then is told once.
        if earlier.state == FindingState::Fixed || !seen.insert(earlier.id.clone()) {
            continue;
        }
        out.push(Finding { state: state_now(life, earlier), ..earlier.clone() });
    }
    out
}

/// The state of an earlier finding that was not found again.
fn state_now(life: &Life<'_>, earlier: &Finding) -> FindingState {
    let changed = (life.lines_changed)(earlier);
    let marked = life.marks.iter().any(|mark| mark.finding == earlier.id && mark.cited == earlier.cited);
    if marked && !changed {
        return FindingState::Answered;
    }
    match earlier.origin {
        // Steward looked at the whole change again and found it no more.
        Origin::Steward => return FindingState::Fixed,
        Origin::Seat => {}
    }
    let said = life.answers.iter().find(|answer| answer.finding_id == earlier.id).map(|answer| answer.state);
    match said {
        Some(EarlierState::Fixed) if changed || (life.check_passes)(earlier) == Some(true) => {
            FindingState::Fixed
        }
        // Only the person settles a finding, and silence settles none.
        Some(EarlierState::Fixed | EarlierState::Open | EarlierState::Answered) | None => FindingState::Open,
    }
}

/// The seat's verdict with its findings counted: ACCEPTED with one that still asks for something is
/// CHANGES. Steward's own findings lower the cap instead.
pub fn counted(verdict: Verdict, findings: &[Finding]) -> Verdict {
    let pending = findings.iter().any(|finding| finding.origin == Origin::Seat && finding.state.is_pending());
    match verdict {
        Verdict::Accepted if pending => Verdict::Changes,
        Verdict::Accepted | Verdict::Changes | Verdict::Blocked => verdict,
    }
}
