//! What a gate's own judgement is made of, before it carries the gate's name.

use super::{EvidenceItem, GateId, GateResult, GateState};
use crate::diff::{ChangedFile, RepoPath, Status};
use crate::reading::Why;
use crate::secret::Engine;
use crate::untrusted::Untrusted;
use crate::wording;

/// Evidence items kept of one gate; what is beyond is counted, not listed.
const MOST_EVIDENCE: usize = 100;

/// One gate's state, sentence and evidence.
pub(super) struct Answer {
    pub state: GateState,
    pub detail: String,
    pub evidence: Vec<EvidenceItem>,
}

impl Answer {
    pub fn pass(detail: String) -> Self {
        Self { state: GateState::Pass, detail, evidence: Vec::new() }
    }

    pub fn fail(detail: String) -> Self {
        Self { state: GateState::Fail, detail, evidence: Vec::new() }
    }

    pub fn undecided(detail: String) -> Self {
        Self { state: GateState::Undecided, detail, evidence: Vec::new() }
    }

    pub fn not_applicable(detail: String) -> Self {
        Self { state: GateState::NotApplicable, detail, evidence: Vec::new() }
    }

    pub fn with(mut self, evidence: Vec<EvidenceItem>) -> Self {
        self.evidence.extend(evidence);
        self
    }
}

/// Gives a judgement its gate's name; a fact that could not be read makes it undecided.
pub(super) fn result(id: GateId, judged: Result<Answer, &Why>) -> GateResult {
    let mut answer = judged.unwrap_or_else(|why| {
        Answer::undecided(wording::gate::unread(why)).with(vec![fact("cause", &why.detail)])
    });
    let beyond = answer.evidence.len().saturating_sub(MOST_EVIDENCE);
    if beyond > 0 {
        answer.evidence.truncate(MOST_EVIDENCE);
        answer.evidence.push(fact("not listed", &beyond.to_string()));
    }
    GateResult { id, state: answer.state, detail: answer.detail, evidence: answer.evidence }
}

/// A path, safe to show on one line.
pub(super) fn shown(path: &RepoPath) -> String {
    line(&path.shown(), 300)
}

/// Any text from outside, safe to show on one line and without any secret: a name can be one.
pub(super) fn line(text: &str, limit: usize) -> String {
    let near: String = text.chars().take(limit.saturating_mul(2)).collect();
    Untrusted::new(Engine::shared().redact(&near)).one_line(limit)
}

/// The first characters of a text from outside, without a mark that it goes on.
pub(super) fn first(text: &str, characters: usize) -> String {
    line(&text.chars().take(characters).collect::<String>(), characters)
}

pub(super) fn fact(name: &str, value: &str) -> EvidenceItem {
    EvidenceItem::Fact { name: name.to_owned(), value: line(value, 500) }
}

pub(super) fn file(path: &RepoPath, at: Option<u32>, note: impl Into<String>) -> EvidenceItem {
    EvidenceItem::File { path: shown(path), line: at, note: note.into() }
}

pub(super) fn commit(sha: &str, note: impl Into<String>) -> EvidenceItem {
    EvidenceItem::Commit { sha: line(sha, 64), note: note.into() }
}

/// The paths a change touches: both sides of a rename, and only the new one of a copy, whose source
/// stays as it was.
pub(super) fn touched(file: &ChangedFile) -> impl Iterator<Item = &RepoPath> {
    let old = match file.status {
        Status::Copied { .. } => None,
        Status::Added | Status::Deleted | Status::Modified | Status::Renamed { .. } | Status::TypeChanged => {
            file.old_path.as_ref()
        }
    };
    old.into_iter().chain(std::iter::once(&file.path))
}

/// True when the path at the head was not there before.
pub(super) fn is_new_path(file: &ChangedFile) -> bool {
    match file.status {
        Status::Added | Status::Renamed { .. } | Status::Copied { .. } => true,
        Status::Deleted | Status::Modified | Status::TypeChanged => false,
    }
}
