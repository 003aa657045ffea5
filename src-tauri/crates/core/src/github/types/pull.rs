//! Pull requests and their files.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use steward_rules::ids::Sha;
use steward_rules::untrusted::Untrusted;

use super::issue::Label;
use super::user::User;
use crate::github::page::Listed;

/// A pull request, of a list or read alone. Only read alone it says whether it merges and how long it is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Pull {
    pub id: u64,
    #[serde(default)]
    pub node_id: String,
    pub number: i64,
    /// `open`, `closed`, or a word to come.
    pub state: String,
    #[serde(default)]
    pub draft: bool,
    /// Set as soon as it is merged.
    #[serde(default)]
    pub merged_at: Option<DateTime<Utc>>,
    pub title: Untrusted,
    #[serde(default)]
    pub body: Option<Untrusted>,
    /// `None` for a deleted account.
    pub user: Option<User>,
    #[serde(default, deserialize_with = "super::or_default")]
    pub labels: Vec<Label>,
    pub head: PullEnd,
    pub base: PullEnd,
    #[serde(default)]
    pub created_at: Option<DateTime<Utc>>,
    #[serde(default)]
    pub updated_at: Option<DateTime<Utc>>,
    #[serde(default)]
    pub merge_commit_sha: Option<Sha>,
    /// `None` while GitHub has not found out.
    #[serde(default)]
    pub mergeable: Option<bool>,
    #[serde(default)]
    pub mergeable_state: Option<String>,
    #[serde(default)]
    pub commits: Option<u64>,
    #[serde(default)]
    pub changed_files: Option<u64>,
}

/// Where a pull request comes from or goes to.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PullEnd {
    #[serde(rename = "ref")]
    pub branch: String,
    pub sha: Sha,
    /// `None` when the fork was deleted.
    #[serde(default)]
    pub repo: Option<PullRepo>,
    #[serde(default)]
    pub user: Option<User>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PullRepo {
    pub id: u64,
    pub full_name: String,
}

/// One file of a pull request or comparison.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ChangedFile {
    #[serde(rename = "filename")]
    pub path: Untrusted,
    #[serde(default, rename = "previous_filename")]
    pub previous_path: Option<Untrusted>,
    /// `added`, `removed`, `modified`, `renamed`, `copied`, `changed`, `unchanged`, or a word to come.
    pub status: String,
    #[serde(default)]
    pub additions: u64,
    #[serde(default)]
    pub deletions: u64,
    /// The blob at the head; `None` where GitHub names none.
    #[serde(default, rename = "sha")]
    pub blob: Option<Sha>,
    /// Mode at the head, where the tree was read too.
    #[serde(skip)]
    pub mode: Option<String>,
    /// Mode at the merge base, where the tree was read too.
    #[serde(skip)]
    pub previous_mode: Option<String>,
}

impl Listed for Pull {
    fn key(&self) -> Option<String> {
        Some(self.id.to_string())
    }
}

impl Listed for ChangedFile {
    fn key(&self) -> Option<String> {
        Some(self.path.as_data().to_owned())
    }
}
