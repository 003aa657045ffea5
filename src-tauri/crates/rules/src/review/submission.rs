//! What the seat hands in, and every rule it must keep.

use serde::{Deserialize, Serialize};
use std::collections::HashSet;

use super::verdict::Verdict;
use crate::ids::FrameId;
use crate::secret::Engine;
use crate::untrusted::Untrusted;

/// The arguments of `verdict_submit`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Submission {
    pub verdict: Verdict,
    #[serde(default = "nothing")]
    pub summary: Untrusted,
    #[serde(default)]
    pub findings: Vec<SubmittedFinding>,
    #[serde(default)]
    pub frames: Vec<FrameObservation>,
    #[serde(default)]
    pub earlier: Vec<EarlierAnswer>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SubmittedFinding {
    pub title: Untrusted,
    pub file: String,
    pub line: u32,
    pub why: Untrusted,
    pub check: Untrusted,
    #[serde(default)]
    pub severity: Option<Untrusted>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct FrameObservation {
    pub frame_id: FrameId,
    pub observation: Untrusted,
}

/// What the seat says of an earlier finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct EarlierAnswer {
    pub finding_id: String,
    pub state: EarlierState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EarlierState {
    Fixed,
    Open,
    Answered,
}

fn nothing() -> Untrusted {
    Untrusted::new("")
}

/// What a submission is held against.
pub struct SubmissionFacts<'a> {
    /// Lines of a file of the head tree, or of a file that the diff removes; `None` for any other.
    pub lines_of: &'a dyn Fn(&str) -> Option<u32>,
    /// Every frame of the task that the digest names.
    pub frames: &'a [FrameId],
    /// Ids of the earlier findings that are still to be answered.
    pub earlier: &'a [String],
    /// Ids of the earlier findings that the person marked.
    pub settled: &'a [String],
}

/// Why a submission is not taken, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{field}: {error}")]
pub struct FieldError {
    /// The field in the submission's own spelling, e.g. `findings[2].line`.
    pub field: String,
    pub error: String,
}

/// Size limits, in characters.
pub const SUMMARY_MOST: usize = 4000;
pub const TITLE_MOST: usize = 80;
pub const OBSERVATION_MOST: usize = 500;
pub const WHY_MOST: usize = 2000;
pub const CHECK_MOST: usize = 2000;
pub const SEVERITY_MOST: usize = 20;
pub const FILE_MOST: usize = 4096;
/// Findings of one submission.
pub const FINDINGS_MOST: usize = 50;

/// Checks a submission by every rule and gives it back as it is stored: ACCEPTED with findings
/// becomes CHANGES. The first fault names its field.
pub fn validate(submission: Submission, facts: &SubmissionFacts<'_>) -> Result<Submission, FieldError> {
    let mut submission = submission;
    at_most("summary", &submission.summary, SUMMARY_MOST)?;
    if submission.findings.len() > FINDINGS_MOST {
        let count = submission.findings.len();
        return fault("findings", format!("{count} findings, at most {FINDINGS_MOST} are taken"));
    }
    for (at, finding) in submission.findings.iter().enumerate() {
        check_finding(at, finding, facts)?;
    }
    check_frames(&submission.frames, facts.frames)?;
    check_earlier(&submission.earlier, facts)?;

    let still_open = submission
        .earlier
        .iter()
        .any(|answer| answer.state == EarlierState::Open && facts.earlier.contains(&answer.finding_id));
    let has_finding = !submission.findings.is_empty() || still_open;
    match submission.verdict {
        Verdict::Changes if !has_finding => {
            return fault("findings", "CHANGES needs at least one finding".to_owned());
        }
        Verdict::Blocked if is_blank(&submission.summary) => {
            return fault("summary", "BLOCKED needs a summary that says why".to_owned());
        }
        Verdict::Accepted if has_finding => submission.verdict = Verdict::Changes,
        Verdict::Accepted | Verdict::Changes | Verdict::Blocked => {}
    }
    Ok(submission)
}

fn check_finding(
    at: usize,
    finding: &SubmittedFinding,
    facts: &SubmissionFacts<'_>,
) -> Result<(), FieldError> {
    let field = |name: &str| format!("findings[{at}].{name}");
    filled(&field("title"), &finding.title, TITLE_MOST)?;
    filled(&field("why"), &finding.why, WHY_MOST)?;
    filled(&field("check"), &finding.check, CHECK_MOST)?;
    if let Some(severity) = &finding.severity {
        filled(&field("severity"), severity, SEVERITY_MOST)?;
    }
    let shown = shown(&finding.file, 200);
    let known =
        (finding.file.chars().count() <= FILE_MOST).then(|| (facts.lines_of)(&finding.file)).flatten();
    let Some(lines) = known else {
        return fault(&field("file"), format!("{shown} is neither in the head tree nor in the diff"));
    };
    // An empty file can be cited by its first line.
    let last = lines.max(1);
    if !(1..=last).contains(&finding.line) {
        let line = finding.line;
        return fault(&field("line"), format!("{shown} has lines 1 to {last}, {line} is none of them"));
    }
    Ok(())
}

fn check_frames(given: &[FrameObservation], frames: &[FrameId]) -> Result<(), FieldError> {
    let mut seen = HashSet::new();
    for (at, one) in given.iter().enumerate() {
        let id = one.frame_id;
        if !frames.contains(&id) {
            return fault(&format!("frames[{at}].frameId"), format!("the task has no frame {id}"));
        }
        if !seen.insert(id) {
            return fault(&format!("frames[{at}].frameId"), format!("frame {id} is observed twice"));
        }
        filled(&format!("frames[{at}].observation"), &one.observation, OBSERVATION_MOST)?;
    }
    match frames.iter().find(|id| !seen.contains(id)) {
        Some(id) => fault("frames", format!("frame {id} has no observation; every frame needs one")),
        None => Ok(()),
    }
}

fn check_earlier(given: &[EarlierAnswer], facts: &SubmissionFacts<'_>) -> Result<(), FieldError> {
    let mut seen = HashSet::new();
    for (at, answer) in given.iter().enumerate() {
        let id = &answer.finding_id;
        let shown = shown(id, 64);
        if !facts.earlier.contains(id) && !facts.settled.contains(id) {
            return fault(
                &format!("earlier[{at}].findingId"),
                format!("no earlier finding has the id {shown}"),
            );
        }
        if !seen.insert(id) {
            return fault(&format!("earlier[{at}].findingId"), format!("{shown} is answered twice"));
        }
    }
    Ok(())
}

/// True when a reader sees nothing: spaces and hidden characters do not fill a field.
fn is_blank(text: &Untrusted) -> bool {
    text.as_data().chars().all(|c| c.is_whitespace() || crate::untrusted::is_hidden(c))
}

fn filled(field: &str, text: &Untrusted, most: usize) -> Result<(), FieldError> {
    if is_blank(text) {
        return fault(field, "must not be empty".to_owned());
    }
    at_most(field, text, most)
}

fn at_most(field: &str, text: &Untrusted, most: usize) -> Result<(), FieldError> {
    let length = text.as_data().chars().count();
    if length > most {
        return fault(field, format!("{length} characters, at most {most} are taken"));
    }
    Ok(())
}

/// A seat's word in an error: on one line and without any secret.
fn shown(text: &str, limit: usize) -> String {
    Untrusted::new(Engine::shared().redact(text)).one_line(limit)
}

fn fault<T>(field: &str, error: String) -> Result<T, FieldError> {
    Err(FieldError { field: field.to_owned(), error })
}
