//! A fact from outside, or why it could not be read.

use serde::{Deserialize, Serialize};

/// Why a fact is not known. Each cause leads to another next step for the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum Cause {
    /// Nobody is signed in to the host that knows it.
    SignedOut,
    /// The fetch of the base or head failed.
    FetchFailed,
    /// A call to the forge failed or was cut short.
    ForgeFailed,
    /// The integration branch is not there, or shares no history with the head.
    NoBase,
    /// Git could not read its own objects (missing, corrupt, shallow).
    GitFailed,
    /// The read is not made yet.
    NotReadYet,
    /// The answer was longer than Steward reads.
    TooLarge,
}

/// Why a fact is not known, with the words of whoever failed (already scrubbed, one line).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Why {
    pub cause: Cause,
    pub detail: String,
}

impl Why {
    pub fn new(cause: Cause, detail: impl Into<String>) -> Self {
        Self { cause, detail: detail.into() }
    }
}

/// A fact, or why it could not be read. It has no default and no `unwrap_or`: an instrument that
/// cannot be read is never a green reading (product.md, rule 2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "reading")]
pub enum Reading<T> {
    Known { value: T },
    Unread { why: Why },
}

impl<T> Reading<T> {
    pub fn known(value: T) -> Self {
        Self::Known { value }
    }

    pub fn unread(cause: Cause, detail: impl Into<String>) -> Self {
        Self::Unread { why: Why::new(cause, detail) }
    }

    /// The fact, or why it is missing; `?` in a gate ends it as undecided.
    pub fn get(&self) -> Result<&T, &Why> {
        match self {
            Self::Known { value } => Ok(value),
            Self::Unread { why } => Err(why),
        }
    }

    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Reading<U> {
        match self {
            Self::Known { value } => Reading::Known { value: f(value) },
            Self::Unread { why } => Reading::Unread { why },
        }
    }
}

impl<T> From<Result<T, Why>> for Reading<T> {
    fn from(result: Result<T, Why>) -> Self {
        match result {
            Ok(value) => Self::Known { value },
            Err(why) => Self::Unread { why },
        }
    }
}
