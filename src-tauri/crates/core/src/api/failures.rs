//! Errors of the floors below, as every client sees them.

use steward_rules::review::lifecycle::Refusal;

use super::error::{ApiError, ErrorCode};
use crate::git::GitError;
use crate::keychain::{KeychainError, KeyringState};
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
