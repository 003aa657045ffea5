//! What the gates judge: plain snapshots of git, the forge and the task, each a fact or unread.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::diff::{Diff, RepoPath};
use crate::ids::{FrameId, PullNumber, Sha};
use crate::reading::Reading;
use crate::secret::SecretReport;
use crate::untrusted::Untrusted;

/// Everything the gates look at, about one head commit.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    pub head: Sha,
    pub branch: Option<String>,
    pub forge: Forge,
    /// The integration branch and how the head sits on it.
    pub base: Reading<BaseFacts>,
    /// `merge_base..head`, renames detected, attributes of the branch ignored.
    pub diff: Reading<Diff>,
    /// The commits of `merge_base..head`, oldest first.
    pub commits: Reading<Vec<CommitFacts>>,
    /// What the gates must know of trees beyond the changed files.
    pub tree: Reading<TreeFacts>,
    /// The scan over added lines, file names and messages of each commit, and strings of binaries.
    pub secrets: Reading<SecretReport>,
    /// The head on the remote. Asked of a forge, so its absence has a cause.
    pub pushed: Reading<Pushed>,
    pub checks: Reading<CheckFacts>,
    /// The pull request of this task; `Known(None)` when it has none.
    pub pull: Reading<Option<PullFacts>>,
    /// All other open pull requests of the repository.
    pub other_pulls: Reading<Vec<OtherPull>>,
    /// The newest contract version, if the task has any.
    pub contract: Option<Contract>,
    /// Every validator verdict of the task, oldest first.
    pub validator: Vec<ValidatorVerdict>,
    pub frames: Vec<Frame>,
    /// Every handoff of the task, oldest first.
    pub handoffs: Vec<Handoff>,
}

/// Where the facts that only GitHub can give would come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Forge {
    /// No GitHub remote, or `forge: none`: `ci`, `not_stacked` (its pull request half) and
    /// `pr_hygiene` do not apply.
    None,
    /// A GitHub remote, and nobody signed in to it.
    SignedOut,
    /// A GitHub remote that Steward reads.
    GitHub,
}

/// The integration branch, freshly fetched, and how the head sits on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseFacts {
    /// Name of the integration branch, e.g. `main`.
    pub branch: String,
    /// Its tip.
    pub tip: Sha,
    /// `merge-base(tip, head)`; the diff starts here.
    pub merge_base: Sha,
    /// The fork point recorded when the task was first seen, and whether the tip holds it.
    pub fork_point: Option<ForkPoint>,
    /// When the tip was read from where it lives.
    pub fetched_at: DateTime<Utc>,
    /// Where it was read: `fetched from origin`, `local branch`, `as last fetched by you`.
    pub source: BaseSource,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BaseSource {
    /// Steward fetched it from the remote just now.
    Fetched,
    /// A purely local repository: the branch itself.
    LocalBranch,
    /// The workspace's remote-tracking branch, as the person last fetched it.
    RemoteTracking,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkPoint {
    pub sha: Sha,
    pub is_ancestor_of_tip: bool,
}

/// One commit of the range.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitFacts {
    pub sha: Sha,
    pub parents: Vec<Sha>,
    pub subject: Untrusted,
    pub message: Untrusted,
    pub author: Untrusted,
    /// `git patch-id --stable`; `None` for merges and empty commits.
    pub patch_id: Option<String>,
    pub committed_at: DateTime<Utc>,
}

/// Facts about trees beyond the changed files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeFacts {
    /// True when the head's tree defines CI (`.github/workflows/*`, `.gitlab-ci.yml`, …).
    pub has_ci_definition: bool,
    /// The workspace roots of the head, each with its member folders.
    pub workspaces: Vec<WorkspaceRoot>,
    /// Paths of the head that touch no changed file but are asked for by a gate: for every path of a
    /// validator's mutation list, its blob at the head (`None`: absent).
    pub blobs_at_head: Vec<(RepoPath, Option<Sha>)>,
}

/// A manifest that has members: `package.json` with `workspaces`, `pnpm-workspace.yaml`,
/// `Cargo.toml` with `[workspace]`, `go.work`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceRoot {
    /// Folder of the root manifest, empty at the top.
    pub folder: RepoPath,
    /// The manifest's file name.
    pub manifest: String,
    /// Folders of its members that exist at the head, relative to the repository.
    pub members: Vec<RepoPath>,
}

/// Whether the remote branch holds the head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pushed {
    /// The remote ref is exactly the head.
    Yes,
    /// The remote branch stands elsewhere, or is absent (`None`).
    No { remote: Option<Sha> },
}

/// The checks and statuses at the head, as the forge lists them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckFacts {
    /// Every check run, of every attempt, in no order.
    pub runs: Vec<CheckRun>,
    /// Commit statuses, every one, in no order.
    pub statuses: Vec<CommitStatus>,
    /// When the head was first seen on the remote.
    pub head_seen_at: DateTime<Utc>,
    pub fetched_at: DateTime<Utc>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckRun {
    pub id: u64,
    pub name: String,
    /// Slug of the app that made it, e.g. `github-actions`.
    pub app: String,
    pub attempt: u32,
    pub started_at: Option<DateTime<Utc>>,
    pub state: CheckState,
    pub url: Option<String>,
}

/// `Ended` holds GitHub's conclusion word as it came, since its list is open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    Queued,
    InProgress,
    Ended(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitStatus {
    pub id: u64,
    pub context: String,
    /// Login of who set it.
    pub creator: String,
    /// `success`, `failure`, `error` or `pending`.
    pub state: String,
    pub created_at: DateTime<Utc>,
    pub url: Option<String>,
}

/// The pull request of the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullFacts {
    pub number: PullNumber,
    pub title: Untrusted,
    pub body: Untrusted,
    pub author: Untrusted,
    /// Name of the branch it wants to go to.
    pub base_branch: String,
    /// `pr.base.sha`, and whether the freshly fetched integration branch holds it.
    pub base_sha: Sha,
    pub base_is_ancestor_of_tip: Reading<bool>,
    pub head: Sha,
    pub draft: bool,
    pub state: PullState,
    pub fetched_at: DateTime<Utc>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PullState {
    Open,
    Merged,
    Closed,
}

/// Another open pull request: its commits, and their patch ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherPull {
    pub number: PullNumber,
    pub commits: Vec<Sha>,
    pub patch_ids: Vec<String>,
}

/// What was agreed before the code (review.md 1). The newest version is in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contract {
    pub version: u32,
    /// Globs of paths the work may touch.
    pub write_scope: Vec<String>,
    /// Commands whose success shows the work done.
    pub checks: Vec<String>,
    pub mutations: Mutations,
    pub created_at: DateTime<Utc>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mutations {
    Required,
    None,
}

/// What a validator said of one commit against one contract version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValidatorVerdict {
    pub contract_version: u32,
    pub sha: Sha,
    pub verdict: ValidatorOutcome,
    pub scope_violation: bool,
    pub mutations: Option<MutationRun>,
    pub at: DateTime<Utc>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValidatorOutcome {
    Pass,
    Fail,
    Running,
}

/// The commit the mutations ran at, and every file they touched with its blob afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MutationRun {
    pub sha: Sha,
    pub paths: Vec<MutatedPath>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MutatedPath {
    pub path: RepoPath,
    pub blob: Sha,
}

/// A screenshot attached to the task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    pub id: FrameId,
    /// The worktree's HEAD at the moment of attaching.
    pub sha: Sha,
    /// False when the worktree was dirty then.
    pub clean: bool,
    pub width: u32,
    pub theme: String,
    /// Device pixels per CSS pixel, 1 to 3.
    pub scale: u32,
    pub route: Option<Untrusted>,
    /// Pixel size of the image; `None` when it does not decode.
    pub pixels: Option<(u32, u32)>,
    /// Hash of the decoded pixels, so that a re-encoded copy counts as the same image.
    pub image_hash: String,
    pub attached_at: DateTime<Utc>,
}

/// What a Peer agent reported about its part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handoff {
    pub peer: Untrusted,
    pub status: PeerStatus,
    pub claims: PeerClaims,
    pub note: Untrusted,
    pub at: DateTime<Utc>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PeerStatus {
    Done,
    Running,
    Blocked,
    Failed,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerClaims {
    pub commits: Vec<ClaimedCommit>,
    pub files: Vec<RepoPath>,
    pub pull: Option<PullNumber>,
    /// Names of tests the Peer says it ran; shown, not judged.
    pub tests: Vec<Untrusted>,
}

/// A claimed commit, and its patch id when the object could be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimedCommit {
    /// As claimed: a full or abbreviated id.
    pub text: String,
    pub patch_id: Option<String>,
}
