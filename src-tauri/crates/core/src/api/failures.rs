//! Errors of the floors below, as every client sees them.

use steward_rules::review::lifecycle::Refusal;

use super::error::{ApiError, ErrorCode};
use crate::config::edit::EditError;
use crate::git::GitError;
use crate::github::{GitHubError, OpenError};
use crate::keychain::{KeychainError, KeyringState};
use crate::loops::accounts::NoAccount;
use crate::loops::accounts::gh::GhError;
use crate::loops::accounts::sign_in::SignInError;
use crate::loops::review::StartError;
use crate::loops::task::TaskError;
use crate::store::StoreError;

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        let code = match &error {
            StoreError::ReadOnly(_) | StoreError::DiskFull => ErrorCode::ReadOnly,
            StoreError::Refused(_) | StoreError::Exists(_) | StoreError::InUse => ErrorCode::Refused,
            StoreError::Busy
            | StoreError::Corrupt(_)
            | StoreError::NotADatabase(_)
            | StoreError::Foreign(_)
            | StoreError::Value(_)
            | StoreError::Io { .. }
            | StoreError::Migration(..)
            | StoreError::Backup { .. }
            | StoreError::Stopped
            | StoreError::Sql(_) => ErrorCode::Store,
        };
        Self::new(code, error.to_string())
    }
}

impl From<GitError> for ApiError {
    fn from(error: GitError) -> Self {
        Self::new(ErrorCode::Git, error.to_string()).hint(error.hint())
    }
}

impl From<TaskError> for ApiError {
    fn from(error: TaskError) -> Self {
        match error {
            TaskError::Git(error) => error.into(),
            TaskError::Store(error) => error.into(),
            TaskError::NotFound(_) | TaskError::NoWorkspace(_) => {
                Self::new(ErrorCode::NotFound, error.to_string())
            }
            TaskError::Document(_) | TaskError::Frame(_) => {
                Self::new(ErrorCode::BadRequest, error.to_string())
            }
            TaskError::TwoWorkspaces(_) => Self::new(ErrorCode::Config, error.to_string()),
            TaskError::NoHead { .. } | TaskError::NotLocal(_) => {
                Self::new(ErrorCode::Refused, error.to_string())
            }
            TaskError::NoAccount(error) => error.into(),
            TaskError::GitHub { what, error } => {
                let failure: Self = error.into();
                let message = format!("{what}: {}", failure.message);
                Self { message, ..failure }
            }
            TaskError::Stopped => Self::new(ErrorCode::Internal, error.to_string()),
        }
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let code = match &refusal {
            Refusal::NoTask { .. } => ErrorCode::NotFound,
            Refusal::NotAPerson { .. } => ErrorCode::NotAPerson,
            Refusal::BadSha { .. } => ErrorCode::BadRequest,
            Refusal::Misconfigured => ErrorCode::Config,
            _ => ErrorCode::Refused,
        };
        Self::new(code, refusal.message()).hint(refusal.hint())
    }
}

impl From<StartError> for ApiError {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Refused(refusal) => (*refusal).into(),
            StartError::NoReview(_) => Self::new(ErrorCode::NotFound, error.to_string()),
            StartError::Over(_) => Self::new(ErrorCode::Refused, error.to_string()),
            StartError::Task(error) => error.into(),
            StartError::Store(error) => error.into(),
        }
    }
}

impl From<KeychainError> for ApiError {
    fn from(error: KeychainError) -> Self {
        let hint = error.state().as_ref().and_then(KeyringState::next_step);
        let failure = Self::new(ErrorCode::Keyring, error.to_string());
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

impl From<EditError> for ApiError {
    fn from(error: EditError) -> Self {
        Self::new(ErrorCode::Config, error.to_string()).hint("`steward config edit` opens the file")
    }
}

impl From<GitHubError> for ApiError {
    fn from(error: GitHubError) -> Self {
        let code = match &error {
            GitHubError::Auth => ErrorCode::SignedOut,
            GitHubError::NotFound | GitHubError::Gone | GitHubError::Replaced => ErrorCode::NotFound,
            GitHubError::Forbidden { .. }
            | GitHubError::Moved { .. }
            | GitHubError::Validation { .. }
            | GitHubError::Conflict { .. }
            | GitHubError::RateLimited { .. }
            | GitHubError::SecondaryLimited { .. }
            | GitHubError::Server { .. }
            | GitHubError::Network(_)
            | GitHubError::Tls(_)
            | GitHubError::Timeout(_)
            | GitHubError::Truncated(_)
            | GitHubError::Malformed(_)
            | GitHubError::TooLarge(_)
            | GitHubError::CaptivePortal => ErrorCode::GitHub,
        };
        Self::new(code, error.to_string()).hint(error.hint())
    }
}

impl From<OpenError> for ApiError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Host(error) => Self::new(ErrorCode::BadRequest, format!("host: {error}")),
            OpenError::Store(error) => error.into(),
            OpenError::GitHub(error) => error.into(),
        }
    }
}

impl From<NoAccount> for ApiError {
    fn from(error: NoAccount) -> Self {
        match error {
            NoAccount::NotConfigured(_) | NoAccount::SignedOut { .. } => {
                Self::new(ErrorCode::SignedOut, error.to_string()).hint("`steward auth login` signs in")
            }
            NoAccount::Network(_) => Self::new(ErrorCode::Config, error.to_string())
                .hint("correct `network` in the config file: `steward config edit`"),
            NoAccount::Keyring(error) => error.into(),
            NoAccount::Open(error) => error.into(),
        }
    }
}

impl From<SignInError> for ApiError {
    fn from(error: SignInError) -> Self {
        let message = error.to_string();
        match error {
            SignInError::Host(_) => Self::new(ErrorCode::BadRequest, format!("host: {message}")),
            SignInError::NotAToken => Self::new(ErrorCode::BadRequest, message)
                .hint("paste it alone: https://github.com/settings/tokens makes one"),
            SignInError::Shadowed => Self::new(ErrorCode::Refused, message)
                .hint("unset it to keep a token in the keyring, or sign in with it: `steward auth login`"),
            SignInError::NoneInEnvironment => Self::new(ErrorCode::BadRequest, message),
            SignInError::OtherHost(_) => {
                Self::new(ErrorCode::Refused, message).hint("keep the token of this host in the keyring")
            }
            SignInError::NotALogin(_) => Self::new(ErrorCode::GitHub, message),
            SignInError::Way(error) => error.into(),
            SignInError::Gh(error) => match error {
                GhError::NotInstalled => Self::new(ErrorCode::NotFound, message).hint(
                    "install GitHub's command line, or paste a token: `steward auth login --with-token`",
                ),
                GhError::NotSignedIn(_) => Self::new(ErrorCode::SignedOut, message),
                GhError::Slow | GhError::Io(_) => Self::new(ErrorCode::Internal, message)
                    .hint("run `gh auth status` to see what it waits for"),
            },
            SignInError::Keyring(error) => error.into(),
            SignInError::Open(error) => error.into(),
            SignInError::GitHub(GitHubError::Auth) => Self::new(ErrorCode::SignedOut, message)
                .hint("it is wrong, was revoked, has expired, or is of another host; nothing was kept"),
            SignInError::GitHub(error) => error.into(),
            SignInError::Config(error) => Self { message, ..Self::from(error) },
            SignInError::Store(error) => error.into(),
        }
    }
}
