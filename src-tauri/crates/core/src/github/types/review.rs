//! Reviews by people, and what they may do.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use steward_rules::ids::Sha;

use super::user::User;
use crate::github::page::Listed;

/// A review of a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Review {
    pub id: u64,
    /// `None` for a deleted account.
    pub user: Option<User>,
    /// `APPROVED`, `CHANGES_REQUESTED`, `COMMENTED`, `DISMISSED`, `PENDING`, or a word to come.
    pub state: String,
    /// The commit it was given for; `None` when GitHub no longer knows.
    #[serde(default)]
    pub commit_id: Option<Sha>,
    /// `None` while it is pending.
    #[serde(default)]
    pub submitted_at: Option<DateTime<Utc>>,
}

/// What somebody may do in a repository.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Permission {
    /// `admin`, `write`, `read` or `none`.
    pub permission: String,
}

impl Permission {
    /// True with the right to push.
    pub fn can_write(&self) -> bool {
        matches!(self.permission.as_str(), "admin" | "write")
    }
}

impl Listed for Review {
    fn key(&self) -> Option<String> {
        Some(self.id.to_string())
    }
}
