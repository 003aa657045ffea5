//! What GitHub answers to writes, and what is read to see whether they were done.

use serde::Deserialize;
use steward_rules::ids::Sha;

/// The answer to a merge.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Landed {
    pub sha: Sha,
}

/// A pull request that was opened.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Opened {
    pub number: i64,
    #[serde(default)]
    pub html_url: Option<String>,
}

/// How far a workflow run was run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RunAttempt {
    pub id: u64,
    pub head_sha: Sha,
    /// 1, and one more for each re-run.
    pub run_attempt: u64,
    #[serde(default)]
    pub html_url: Option<String>,
}
