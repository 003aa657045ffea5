//! What one tick observed of one pull request (engine.md 1 and 2).
//!
//! Everything is read fresh each tick. A list that was not read to its end is never the whole list, and a
//! fact that could not be read is [`Reading::Unread`].

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::entries::{EntryDiff, EntryKey};
use crate::diff::{Kind, RepoPath};
use crate::ids::{PullNumber, RepoName, Sha};
use crate::reading::Reading;
use crate::review::facts::{CheckRun, CommitStatus, PullState};
use crate::review::verdict::Verdict;

/// A list, and whether all its pages were read. A truncated page is never "the whole list".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing<T> {
    pub items: Vec<T>,
    pub complete: bool,
}

impl<T> Listing<T> {
    /// A list that was read to its end.
    pub fn whole(items: impl IntoIterator<Item = T>) -> Self {
        Self { items: items.into_iter().collect(), complete: true }
    }

    /// What was read before something went wrong.
    pub fn cut(items: impl IntoIterator<Item = T>) -> Self {
        Self { items: items.into_iter().collect(), complete: false }
    }
}

/// An open (or just ended) pull request as one tick read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrObs {
    pub number: PullNumber,
    pub state: PullState,
    pub draft: bool,
    pub author: Account,
    pub head: HeadRef,
    pub base: BaseRef,
    pub labels: Reading<Vec<String>>,
    /// When the labels were read, by the clock of who answered.
    pub labels_read_at: DateTime<Utc>,
    pub files: Listing<FileChange>,
    /// Symlinks and submodules in the trees of the head and of the merge base.
    pub links: Reading<Vec<RepoPath>>,
    /// The entries the change touches (section 8).
    pub entries: Reading<EntryDiff>,
    /// Check runs of the head; of each name at least the latest.
    pub check_runs: Listing<Run>,
    pub statuses: Listing<CommitStatus>,
    /// Every run of the verdict job, of this head and of other heads of the pull request.
    pub verdict_runs: Listing<Run>,
    pub compare: Reading<Compare>,
    /// Who put which label on, and when.
    pub labelled: Reading<Vec<Labelled>>,
    pub reviews: Listing<PersonReview>,
    /// The newest published review of the seat for this pull request.
    pub seat: Reading<Option<SeatReview>>,
    /// The issues it says it closes.
    pub linked_issues: Listing<LinkedIssue>,
    /// What the flag names, when the flag label is there.
    pub flag: Reading<Vec<FlagFinding>>,
    /// When the reading was finished.
    pub read_at: DateTime<Utc>,
}

/// Who did something. Compared by id: a login can be given up and taken by another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    pub id: u64,
    pub login: String,
    pub is_bot: bool,
}

/// Where the change stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadRef {
    pub sha: Sha,
    /// Name of the branch.
    pub branch: String,
    /// Id of the repository; `None` when it was deleted.
    pub repo: Option<u64>,
}

/// Where the change wants to go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseRef {
    pub name: RepoName,
    /// Id of the repository.
    pub repo: u64,
    pub branch: String,
    pub sha: Sha,
}

/// One changed file: both sides of a rename, and what stands there on both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    pub path: RepoPath,
    /// The path before a rename or copy.
    pub old_path: Option<RepoPath>,
    /// By the raw mode in the tree of the merge base.
    pub old_kind: Reading<Kind>,
    /// By the raw mode in the tree of the head.
    pub new_kind: Reading<Kind>,
}

/// A check run, and what the gate must know of it beyond its state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The commit it ran at.
    pub head: Sha,
    pub check: CheckRun,
    /// File name of the workflow; `None` for what no workflow's job reported.
    pub workflow: Option<String>,
    /// Id of the workflow run it belongs to; `None` for what another app made.
    pub workflow_run: Option<u64>,
    /// When it ended; `None` while it runs, or when GitHub did not say.
    pub ended_at: Option<DateTime<Utc>>,
}

/// How the head stands to the base branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compare {
    pub behind_by: u32,
    pub ahead_by: u32,
    pub merge_base: Sha,
}

/// One application of a label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Labelled {
    pub label: String,
    pub actor: Account,
    pub at: DateTime<Utc>,
}

/// A review on the forge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonReview {
    pub id: u64,
    pub by: Account,
    /// Whether its author may write in the repository.
    pub can_write: Reading<bool>,
    pub state: ReviewState,
    /// The commit it was given for; `None` when GitHub no longer knows.
    pub head: Option<Sha>,
    /// When it was submitted; `None` while it is pending.
    pub at: Option<DateTime<Utc>>,
}

/// What a review on the forge says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewState {
    /// Written, not submitted: visible to its author's token only.
    Pending,
    Commented,
    Approved,
    ChangesRequested,
    Dismissed,
}

/// A published review of the seat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatReview {
    pub head: Sha,
    pub verdict: Verdict,
    /// True once it no longer speaks of the pull request as it is (review.md 7).
    pub stale: bool,
}

/// An issue the pull request says it closes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkedIssue {
    pub number: i64,
    pub labels: Vec<String>,
}

/// What one finding of a flag is about. A finding that names nothing is about the whole change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlagFinding {
    pub entry: Option<EntryKey>,
    pub path: Option<RepoPath>,
}
