//! Repositories, branches, commits and trees.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use steward_rules::ids::Sha;
use steward_rules::untrusted::Untrusted;

use super::protection::Protection;
use super::pull::ChangedFile;
use super::user::User;
use crate::github::page::Listed;

/// A repository.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Repo {
    pub id: u64,
    #[serde(default)]
    pub node_id: String,
    /// `owner/name` as it is now.
    pub full_name: String,
    #[serde(default)]
    pub private: bool,
    #[serde(default)]
    pub fork: bool,
    #[serde(default)]
    pub archived: bool,
    #[serde(default)]
    pub disabled: bool,
    pub default_branch: Option<String>,
    #[serde(default)]
    pub description: Option<Untrusted>,
    #[serde(default)]
    pub pushed_at: Option<DateTime<Utc>>,
    /// What the token's user may do there.
    #[serde(default)]
    pub permissions: Option<Permissions>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Permissions {
    pub admin: bool,
    pub maintain: bool,
    pub push: bool,
    pub triage: bool,
    pub pull: bool,
}

/// A branch and its tip.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Branch {
    pub name: String,
    pub commit: BranchTip,
    #[serde(default)]
    pub protected: bool,
    /// Shown of a branch that is read alone.
    #[serde(default)]
    pub protection: Option<Protection>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct BranchTip {
    pub sha: Sha,
}

/// A commit of a list or by its id.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Commit {
    pub sha: Sha,
    pub commit: CommitObject,
    /// The account behind the author's address, if GitHub knows one.
    #[serde(default)]
    pub author: Option<CreatedBy>,
    #[serde(default)]
    pub parents: Vec<BranchTip>,
}

/// An account, or GitHub's empty object for none.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum CreatedBy {
    User(User),
    Nobody {},
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CommitObject {
    pub message: Untrusted,
    #[serde(default)]
    pub author: Option<CommitAuthor>,
    #[serde(default)]
    pub committer: Option<CommitAuthor>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CommitAuthor {
    #[serde(default)]
    pub name: Option<Untrusted>,
    #[serde(default)]
    pub email: Option<Untrusted>,
    #[serde(default)]
    pub date: Option<DateTime<Utc>>,
}

/// How one commit stands to another.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Comparison {
    /// `ahead`, `behind`, `identical`, `diverged`, or a word to come.
    pub status: String,
    pub ahead_by: u64,
    pub behind_by: u64,
    pub total_commits: u64,
    pub merge_base_commit: BranchTip,
    /// At most 250 of them.
    #[serde(default)]
    pub commits: Vec<Commit>,
    /// At most 300 of them, with no word of more.
    #[serde(default)]
    pub files: Vec<ChangedFile>,
}

/// The entries of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Tree {
    pub sha: Sha,
    pub tree: Vec<TreeEntry>,
    pub truncated: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TreeEntry {
    pub path: Untrusted,
    /// `100644`, `100755`, `120000` (symlink), `160000` (gitlink), `040000`.
    pub mode: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub sha: Sha,
}

impl Listed for Repo {
    fn key(&self) -> Option<String> {
        Some(self.id.to_string())
    }
}

impl Listed for Branch {
    fn key(&self) -> Option<String> {
        Some(self.name.clone())
    }
}

impl Listed for Commit {
    fn key(&self) -> Option<String> {
        Some(self.sha.to_string())
    }
}
