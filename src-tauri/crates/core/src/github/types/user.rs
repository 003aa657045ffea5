//! People and bots.

use chrono::{DateTime, Utc};
use serde::Deserialize;

/// Who did something. Names change; the id does not.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct User {
    pub id: u64,
    pub login: String,
    /// `User`, `Bot`, `Organization`, or a word to come.
    #[serde(default, rename = "type")]
    pub kind: String,
}

/// Whose token it is, and what it may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenUser {
    pub user: User,
    /// The scopes of a classic token. `None` for a fine-grained one, which does not tell.
    pub scopes: Option<Vec<String>>,
    pub expires_at: Option<DateTime<Utc>>,
}
