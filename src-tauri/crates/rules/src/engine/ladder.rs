//! Where a fix goes, and what it starts from (engine.md 5).

use super::decision::Place;
use super::entries::{EntryDiff, EntryKey};
use super::facts::{FlagFinding, PrObs};
use super::policy::{FixScope, Policy, SweepBy, same_label};
use crate::deed::Branches;
use crate::diff::RepoPath;
use crate::globs::Globs;
use crate::ids::{PullNumber, Sha};
use crate::reading::Reading;
use crate::review::facts::PullState;
use crate::secret::Engine;

/// Lines of a failed job's log that go into the evidence.
pub const LOG_LINES: usize = 200;
/// And so many bytes at most.
pub const LOG_BYTES: usize = 20 * 1024;

/// Where Steward's change of a pull request goes; `None` when it may push nowhere.
pub fn place(pr: &PrObs, policy: &Policy) -> Option<Place> {
    let is_ours = pr.head.repo == Some(pr.base.repo);
    if is_ours && may_push(&pr.head.branch, policy) {
        return Some(Place::Own { branch: pr.head.branch.clone() });
    }
    let branch = superseding(pr.number);
    may_push(&branch, policy).then_some(Place::Supersede { branch })
}

/// The branch of the pull request that supersedes this one.
pub fn superseding(number: PullNumber) -> String {
    format!("steward/pr-{number}")
}

/// The pull request that the one on this branch supersedes.
pub fn superseded(branch: &str) -> Option<PullNumber> {
    branch.strip_prefix("steward/pr-")?.parse().ok().map(PullNumber)
}

/// True for a branch Steward may push to: one of the allowed globs, and never the base.
pub fn may_push(branch: &str, policy: &Policy) -> bool {
    Branches::from(policy).may_push(branch).is_ok()
}

/// True when the branch of a merged pull request may be deleted: one the policy names for it, that Steward
/// may push to, in the base repository, and that still ends at the head that merged (engine.md 4.6).
pub fn may_delete(pr: &PrObs, ends_at: &Reading<Option<Sha>>, merged: &Sha, policy: &Policy) -> bool {
    let branch = &pr.head.branch;
    let is_named = Globs::new(&policy.delete_branch_globs).matches(&RepoPath::from(branch.as_str()));
    let is_there = matches!(ends_at, Reading::Known { value: Some(sha) } if sha == merged);
    is_named
        && is_there
        && may_push(branch, policy)
        && pr.head.repo == Some(pr.base.repo)
        && pr.state == PullState::Merged
        && !pr.draft
}

/// True when a push to the base moves this branch: it has the sweep label, and somebody sweeps.
pub fn is_swept(labels: &[String], policy: &Policy) -> bool {
    policy.push.sweep_by != SweepBy::Nobody
        && policy
            .push
            .sweep_label
            .as_ref()
            .is_some_and(|wanted| labels.iter().any(|label| same_label(label, wanted)))
}

/// True when every finding names something, and none of it is touched by the change: such a fix is not
/// this pull request's to make.
pub fn is_elsewhere(pr: &PrObs, findings: &[FlagFinding]) -> bool {
    let Ok(entries) = pr.entries.get() else { return false };
    let is_touched = |finding: &FlagFinding| match (&finding.entry, &finding.path) {
        (None, None) => true,
        (Some(entry), _) => entries.touches(entry),
        (None, Some(path)) => {
            pr.files.items.iter().any(|file| file.path == *path || file.old_path.as_ref() == Some(path))
        }
    };
    !findings.is_empty() && !findings.iter().any(is_touched)
}

/// What a fix is given of a failed check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEvidence {
    pub check: String,
    /// The end of the log, redacted; `None` when it could not be read.
    pub excerpt: Option<String>,
    /// True when the log was longer.
    pub is_cut: bool,
}

/// The last lines of a log, redacted before they are cut so that no half of a secret is left, and then
/// bound in lines and bytes.
pub fn log_evidence(check: &str, log: Option<&str>) -> LogEvidence {
    let Some(log) = log else {
        return LogEvidence { check: check.to_owned(), excerpt: None, is_cut: false };
    };
    let lines: Vec<&str> = log.lines().collect();
    // A private key spans lines, so more than what is kept is looked at.
    let near = lines.len().saturating_sub(LOG_LINES * 2);
    let redacted = Engine::shared().redact(&lines[near..].join("\n"));
    let kept: Vec<&str> = redacted.lines().collect();
    let from = kept.len().saturating_sub(LOG_LINES);
    let mut excerpt = kept[from..].join("\n");
    let mut is_cut = lines.len() > LOG_LINES;
    if excerpt.len() > LOG_BYTES {
        let mut at = excerpt.len() - LOG_BYTES;
        while !excerpt.is_char_boundary(at) {
            at += 1;
        }
        excerpt.drain(..at);
        is_cut = true;
    }
    LogEvidence { check: check.to_owned(), excerpt: Some(excerpt), is_cut }
}

/// Why a change that an agent left is too large or out of its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TooMuch {
    /// More entries than one change of Steward may touch: that is a batch import.
    Entries { touched: usize, cap: u32 },
    /// A fix touched entries, or files of entries without a name, that the pull request does not.
    Beyond { entries: Vec<EntryKey> },
}

/// Holds a change of Steward's own against the cap and, for a fix, against what the pull request touches
/// (engine.md 9, 7).
pub fn own_size(change: &EntryDiff, of_pull: Option<&EntryDiff>, policy: &Policy) -> Result<(), TooMuch> {
    let touched = change.touched();
    if touched > policy.own_max_entries as usize {
        return Err(TooMuch::Entries { touched, cap: policy.own_max_entries });
    }
    if let (Some(pull), FixScope::PrEntries) = (of_pull, policy.fix_scope) {
        let entries = pull.beyond(change);
        if !entries.is_empty() {
            return Err(TooMuch::Beyond { entries });
        }
    }
    Ok(())
}
