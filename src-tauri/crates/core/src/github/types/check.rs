//! Check runs and commit statuses.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use steward_rules::ids::Sha;

use super::user::User;
use crate::github::page::Listed;

/// A page of check runs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CheckRuns {
    pub total_count: u64,
    pub check_runs: Vec<CheckRun>,
}

/// One attempt of one check.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CheckRun {
    pub id: u64,
    pub name: String,
    pub head_sha: Sha,
    /// `queued`, `in_progress`, `completed`, `waiting`, `requested`, `pending`, or a word to come.
    pub status: String,
    /// `success`, `failure` and so on, once it is completed.
    pub conclusion: Option<String>,
    #[serde(default)]
    pub started_at: Option<DateTime<Utc>>,
    #[serde(default)]
    pub completed_at: Option<DateTime<Utc>>,
    #[serde(default)]
    pub app: Option<App>,
    #[serde(default)]
    pub check_suite: Option<CheckSuite>,
    #[serde(default)]
    pub html_url: Option<String>,
    #[serde(default)]
    pub details_url: Option<String>,
}

/// Who made a check run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct App {
    pub id: u64,
    #[serde(default)]
    pub slug: Option<String>,
}

/// The runs of one app for one event; a re-run adds to it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CheckSuite {
    pub id: u64,
}

/// A commit status. Each change of one is an entry of its own.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Status {
    pub id: u64,
    pub state: String,
    pub context: String,
    #[serde(default)]
    pub creator: Option<User>,
    pub created_at: DateTime<Utc>,
    #[serde(default)]
    pub target_url: Option<String>,
}

impl Listed for CheckRun {
    fn key(&self) -> Option<String> {
        Some(self.id.to_string())
    }
}

impl Listed for Status {
    fn key(&self) -> Option<String> {
        Some(self.id.to_string())
    }
}
