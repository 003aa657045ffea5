//! What GitHub last said of an account's token: kept, so that it is shown without asking again.

use chrono::{DateTime, Duration, Utc};
use serde::{Deserialize, Serialize};
use steward_rules::github::scopes::Granted;

use crate::config::Account;
use crate::github::types::TokenUser;
use crate::store::inbox::{self, Kind, NewEntry};
use crate::store::{ReadTx, StoreError, WriteTx, settings};

/// How long before its end a token is warned about.
pub const WARNING: Duration = Duration::days(7);
/// Counts sign-ins and sign-outs, so that every process sees that its clients are old.
const TURN: &str = "accounts.turn";

/// What GitHub said, and when. Never the token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Standing {
    pub checked_at: DateTime<Utc>,
    /// The scopes of a classic token; `None` for a fine-grained one, which does not tell.
    pub scopes: Option<Vec<String>>,
    pub expires_at: Option<DateTime<Utc>>,
    pub fault: Option<TokenFault>,
}

/// Why a token that is there is of no use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenFault {
    /// GitHub does not accept it any more.
    Rejected,
    /// It is the token of another user.
    OtherUser(String),
}

/// How near the end of a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// It ends later than in a week, or never.
    Long,
    EndsSoon(DateTime<Utc>),
    Over(DateTime<Utc>),
}

impl Standing {
    /// What GitHub said of the token of `account`.
    pub fn of(account: &Account, user: &TokenUser, now: DateTime<Utc>) -> Self {
        let other = !user.user.login.eq_ignore_ascii_case(&account.login);
        Self {
            checked_at: now,
            scopes: user.scopes.clone(),
            expires_at: user.expires_at,
            fault: other.then(|| TokenFault::OtherUser(user.user.login.clone())),
        }
    }

    /// The scopes as the rules take them.
    pub fn granted(&self) -> Granted {
        self.scopes.clone().map_or(Granted::Untold, Granted::Scopes)
    }

    /// What the person should hear of it before it stops working: the sentence and its chip.
    fn warning(&self, account: &Account, now: DateTime<Utc>) -> Option<(String, &'static str)> {
        let of = format!("{} at {}", account.login, account.host);
        match (&self.fault, self.lifetime(now)) {
            (Some(TokenFault::Rejected), _) => {
                Some((format!("GitHub no longer accepts the token of {of}"), "SIGNED OUT"))
            }
            (Some(TokenFault::OtherUser(_)), _) => {
                Some((format!("The token of {of} belongs to another user"), "OTHER USER"))
            }
            (None, Lifetime::Over(end)) => {
                Some((format!("The token of {of} ended on {}", end.format("%Y-%m-%d")), "SIGNED OUT"))
            }
            (None, Lifetime::EndsSoon(end)) => {
                Some((format!("The token of {of} ends on {}", end.format("%Y-%m-%d")), "ENDS SOON"))
            }
            (None, Lifetime::Long) => None,
        }
    }

    pub fn lifetime(&self, now: DateTime<Utc>) -> Lifetime {
        match self.expires_at {
            Some(end) if end <= now => Lifetime::Over(end),
            Some(end) if end - now <= WARNING => Lifetime::EndsSoon(end),
            Some(_) | None => Lifetime::Long,
        }
    }
}

fn name(account: &Account) -> String {
    format!("{}@{}", account.login.to_ascii_lowercase(), account.host.to_ascii_lowercase())
}

fn key(account: &Account) -> String {
    format!("account:{}", name(account))
}

/// What its entry opens: the accounts, whichever of them is meant.
fn target(account: &Account) -> String {
    format!("settings/accounts?{}", name(account))
}

/// What is known of an account's token. A row that cannot be read is none: the next check writes it anew.
pub fn get(tx: &ReadTx<'_>, account: &Account) -> Result<Option<Standing>, StoreError> {
    Ok(settings::get(tx, &key(account))?.and_then(|text| serde_json::from_str(&text).ok()))
}

/// Keeps it; a token that ends soon, or is of no use, has an entry in the inbox as long as that holds.
pub fn put(tx: &WriteTx<'_>, account: &Account, standing: &Standing) -> Result<(), StoreError> {
    let text = serde_json::to_string(standing).map_err(|error| StoreError::Value(error.to_string()))?;
    settings::set(tx, &key(account), &text)?;
    match standing.warning(account, tx.now()) {
        Some((title, chip)) => {
            let new = NewEntry {
                kind: Kind::Incident,
                subject: key(account),
                target: target(account),
                title,
                source: "Sign in again with a new token".to_owned(),
                chip: chip.to_owned(),
            };
            inbox::upsert(tx, &new)?;
        }
        None => drop(inbox::withdraw(tx, Kind::Incident, &target(account))?),
    }
    tx.topic("accounts")
}

pub fn remove(tx: &WriteTx<'_>, account: &Account) -> Result<(), StoreError> {
    settings::remove(tx, &key(account))?;
    inbox::withdraw(tx, Kind::Incident, &target(account))?;
    tx.topic("accounts")
}

/// The count of sign-ins and sign-outs so far.
pub fn turn(tx: &ReadTx<'_>) -> Result<u64, StoreError> {
    Ok(settings::get(tx, TURN)?.and_then(|text| text.parse().ok()).unwrap_or_default())
}

/// Makes every client that is open an old one.
pub fn next_turn(tx: &WriteTx<'_>) -> Result<(), StoreError> {
    settings::set(tx, TURN, &(turn(tx)? + 1).to_string())
}
