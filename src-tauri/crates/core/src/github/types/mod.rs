//! GitHub's answers as Steward reads them: lenient where GitHub may grow, strict where a fact is judged.
//!
//! Words of GitHub's open lists (states, conclusions, events) stay text, so that a new one fails
//! nothing. Text that people wrote is `Untrusted`. Fields nobody judges are left out.

mod action;
mod check;
mod issue;
mod made;
mod protection;
mod pull;
mod repo;
mod review;
mod user;

pub use action::{Job, Jobs, WorkflowRun, WorkflowRuns};
pub use check::{App, CheckRun, CheckRuns, CheckSuite, Status};
pub use issue::{Comment, Event, Issue, IssueLabel, IssuePull, Label, Source};
pub use made::{Landed, Opened, RunAttempt};
pub use protection::{Protection, RequiredChecks, RequiredContext, Rule, RuleParameters};
pub use pull::{ChangedFile, Pull, PullEnd, PullRepo};
pub use repo::{
    Branch, BranchTip, Commit, CommitAuthor, CommitObject, Comparison, CreatedBy, Permissions, Repo, Tree,
    TreeEntry,
};
pub use review::{Permission, Review};
pub use user::{TokenUser, User};

use serde::{Deserialize, Deserializer};

/// `null` and an absent field are the default of a list or text.
pub(in crate::github) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
