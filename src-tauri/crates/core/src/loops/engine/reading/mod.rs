//! Reads what the engine judges: one pull request or issue whole, the log of a job, a repository's practice.
//!
//! Everything is read fresh. A part that cannot be read is `Unread` or a list that is cut, never a default;
//! what would fail every part (no account, a token that is not accepted, a limit, no way out) is the error of
//! the whole (engine.md 2).

mod issue;
mod logs;
mod people;
mod practice;
mod pull;
mod runs;
mod said;
mod tree;

use chrono::{DateTime, Utc};
use steward_rules::engine::facts::{Account, Listing};
use steward_rules::engine::policy::Policy;
use steward_rules::ids::RepoName;
use steward_rules::reading::{Reading, Why};

pub use issue::issue;
pub use logs::job_log;
pub(super) use people::seat;
pub use practice::{Past, Seen, default_branch, each_merged, merged, practice};
pub use pull::pull;
pub use said::{issue_text, verdict_comment};

use crate::github::types::User;
use crate::github::{GitHubError, NetworkFault};
use crate::loops::accounts::NoAccount;
use crate::store::StoreError;
use crate::store::repositories::RepositoryId;

/// A watched repository, and the policy in force by which it is read: a policy says which labels, jobs and
/// files matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub host: String,
    pub repo: RepoName,
    pub repository_id: RepositoryId,
    pub policy: Policy,
}

/// Why nothing was read.
#[derive(Debug, thiserror::Error)]
pub enum ReadFault {
    #[error(transparent)]
    NoAccount(#[from] NoAccount),
    #[error(transparent)]
    GitHub(#[from] GitHubError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("a defect of Steward: {0}")]
    Defect(String),
}

impl ReadFault {
    /// One word for the kind of failure; it never changes.
    pub fn slug(&self) -> &'static str {
        match self {
            Self::NoAccount(NoAccount::NotConfigured(_) | NoAccount::SignedOut { .. }) => "signed_out",
            Self::NoAccount(NoAccount::Keyring(_)) => "keyring",
            Self::NoAccount(NoAccount::Network(_)) => "network_settings",
            Self::NoAccount(NoAccount::Open(_)) => "unread",
            Self::GitHub(error) => error.slug(),
            Self::Store(_) => "store",
            Self::Defect(_) => "defect",
        }
    }

    /// Until when a limit of GitHub holds.
    pub fn limited_until(&self) -> Option<DateTime<Utc>> {
        match self {
            Self::GitHub(GitHubError::RateLimited { until } | GitHubError::SecondaryLimited { until }) => {
                Some(*until)
            }
            Self::GitHub(_) | Self::NoAccount(_) | Self::Store(_) | Self::Defect(_) => None,
        }
    }

    /// True when the token or what it may do must be mended first: a fault of the configuration.
    pub fn is_config(&self) -> bool {
        match self {
            Self::NoAccount(_) | Self::GitHub(GitHubError::Auth | GitHubError::Forbidden { .. }) => true,
            Self::GitHub(_) | Self::Store(_) | Self::Defect(_) => false,
        }
    }
}

/// True for a fault that every other part of the reading meets too.
fn is_of_all(error: &GitHubError) -> bool {
    match error {
        GitHubError::Auth
        | GitHubError::RateLimited { .. }
        | GitHubError::SecondaryLimited { .. }
        | GitHubError::Tls(_)
        | GitHubError::CaptivePortal
        | GitHubError::Network(
            NetworkFault::Name(_)
            | NetworkFault::Connect(_)
            | NetworkFault::Proxy(_)
            | NetworkFault::ProxyPassword(_)
            | NetworkFault::ProxyKind(_),
        ) => true,
        GitHubError::Network(NetworkFault::Lost)
        | GitHubError::Forbidden { .. }
        | GitHubError::NotFound
        | GitHubError::Moved { .. }
        | GitHubError::Gone
        | GitHubError::Replaced
        | GitHubError::Validation { .. }
        | GitHubError::Conflict { .. }
        | GitHubError::Server { .. }
        | GitHubError::Timeout(_)
        | GitHubError::Truncated(_)
        | GitHubError::Malformed(_)
        | GitHubError::TooLarge(_) => false,
    }
}

/// One part of a reading: its value, or why it is not there; the fault of all of them ends the whole.
fn part<T>(answer: Result<T, GitHubError>) -> Result<Result<T, Why>, ReadFault> {
    match answer {
        Ok(value) => Ok(Ok(value)),
        Err(error) if is_of_all(&error) => Err(ReadFault::GitHub(error)),
        Err(error) => Ok(Err(error.why())),
    }
}

/// The same as a fact.
fn fact<T>(answer: Result<T, GitHubError>) -> Result<Reading<T>, ReadFault> {
    part(answer).map(Reading::from)
}

/// A list that was read to its end, or one of nothing that is cut.
fn listing<T>(answer: Result<Vec<T>, Why>) -> Listing<T> {
    match answer {
        Ok(items) => Listing::whole(items),
        Err(_) => Listing::cut([]),
    }
}

/// An account; a deleted one is GitHub's stand-in for all of them.
fn account(user: Option<&User>) -> Account {
    match user {
        Some(user) => Account { id: user.id, login: user.login.clone(), is_bot: user.kind == "Bot" },
        None => Account { id: 10_137, login: "ghost".to_owned(), is_bot: false },
    }
}
