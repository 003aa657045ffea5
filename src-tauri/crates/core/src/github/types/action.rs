//! Workflow runs and their jobs.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use steward_rules::ids::Sha;

use super::pull::PullRepo;
use crate::github::page::Listed;

/// A page of workflow runs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct WorkflowRuns {
    pub total_count: u64,
    pub workflow_runs: Vec<WorkflowRun>,
}

/// One run of a workflow, as its newest attempt stands.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct WorkflowRun {
    pub id: u64,
    /// Where its workflow lies, sometimes with `@` and the ref it was taken from.
    #[serde(default)]
    pub path: String,
    /// The suite that its check runs belong to.
    #[serde(default)]
    pub check_suite_id: Option<u64>,
    pub head_sha: Sha,
    #[serde(default)]
    pub head_branch: Option<String>,
    /// `None` when the fork was deleted.
    #[serde(default)]
    pub head_repository: Option<PullRepo>,
    pub event: String,
    /// `queued`, `in_progress`, `completed`, `waiting`, or a word to come.
    #[serde(default)]
    pub status: Option<String>,
    #[serde(default)]
    pub conclusion: Option<String>,
    #[serde(default = "first")]
    pub run_attempt: u32,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    #[serde(default)]
    pub run_started_at: Option<DateTime<Utc>>,
    #[serde(default)]
    pub html_url: Option<String>,
}

impl WorkflowRun {
    /// The name of the workflow's file.
    pub fn file(&self) -> &str {
        let path = self.path.split('@').next().unwrap_or_default();
        path.rsplit('/').next().unwrap_or(path)
    }
}

fn first() -> u32 {
    1
}

/// A page of jobs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Jobs {
    pub total_count: u64,
    pub jobs: Vec<Job>,
}

/// One job of one attempt. Its number is its check run's.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Job {
    pub id: u64,
    pub run_id: u64,
    #[serde(default = "first")]
    pub run_attempt: u32,
    pub name: String,
    pub head_sha: Sha,
    pub status: String,
    #[serde(default)]
    pub conclusion: Option<String>,
    #[serde(default)]
    pub started_at: Option<DateTime<Utc>>,
    #[serde(default)]
    pub completed_at: Option<DateTime<Utc>>,
    #[serde(default)]
    pub html_url: Option<String>,
}

impl Listed for WorkflowRun {
    fn key(&self) -> Option<String> {
        Some(self.id.to_string())
    }
}

impl Listed for Job {
    fn key(&self) -> Option<String> {
        Some(self.id.to_string())
    }
}
