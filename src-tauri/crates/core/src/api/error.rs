//! The error every client sees: a code to branch on, a message to read, a hint to act on.

use serde::{Deserialize, Serialize};
use steward_rules::untrusted::Untrusted;

/// Longest message, in characters.
const MESSAGE: usize = 4_000;

/// Why a command did not work. Clients branch on `code`, never on text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ts_rs::TS, thiserror::Error)]
#[error("{message}")]
#[ts(export)]
pub struct ApiError {
    pub code: ErrorCode,
    pub message: String,
    /// The next step, when there is one.
    pub hint: Option<String>,
}

/// Stable words for the kinds of failure. A new one is added only when a client must act differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ts_rs::TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum ErrorCode {
    /// The thing asked for does not exist.
    NotFound,
    /// The call's values do not fit; the message names the field. Exit code 2.
    BadRequest,
    /// Only a person at a terminal or in the app may do this.
    NotAPerson,
    /// A start condition or limit refuses; the message says which and when it lifts.
    Refused,
    /// The config file has errors that switch this off.
    Config,
    /// The database cannot be written (newer version, read-only disk, full disk).
    ReadOnly,
    /// The database is busy, full or damaged.
    Store,
    /// Git could not do it.
    Git,
    /// No agent is installed, or it cannot be confined.
    Agent,
    /// The OS keyring is absent, locked or denied.
    Keyring,
    /// Nobody is signed in to GitHub there, or the token is not accepted any more.
    SignedOut,
    /// GitHub refuses, limits, or cannot be reached; the message says which.
    #[serde(rename = "github")]
    GitHub,
    /// Steward is paused.
    Paused,
    /// A defect of ours; the log has more.
    Internal,
}

impl ApiError {
    /// A message may repeat names and words of others: it is made inert here, once for all.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: Untrusted::new(message).escaped(MESSAGE), hint: None }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The command line's exit code for it: 2 for wrong use, else 1.
    pub fn exit_code(&self) -> u8 {
        match self.code {
            ErrorCode::BadRequest => 2,
            ErrorCode::NotFound
            | ErrorCode::NotAPerson
            | ErrorCode::Refused
            | ErrorCode::Config
            | ErrorCode::ReadOnly
            | ErrorCode::Store
            | ErrorCode::Git
            | ErrorCode::Agent
            | ErrorCode::Keyring
            | ErrorCode::SignedOut
            | ErrorCode::GitHub
            | ErrorCode::Paused
            | ErrorCode::Internal => 1,
        }
    }
}
