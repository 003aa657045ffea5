//! How the observer stands, kept in the database for every process to see.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use steward_rules::observing::ObserverState;

use crate::store::{ReadTx, StoreError, WriteTx, settings, sql};

const STANDING: &str = "observer.standing";
const ASKED: &str = "observer.asked";

/// What the observer does and what its last tick came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    pub state: ObserverState,
    pub last_tick: Option<DateTime<Utc>>,
    pub next_tick: Option<DateTime<Utc>>,
    pub problem: Option<Problem>,
    pub requests: u32,
    pub points: u32,
}

impl Default for Standing {
    fn default() -> Self {
        Self {
            state: ObserverState::Off,
            last_tick: None,
            next_tick: None,
            problem: None,
            requests: 0,
            points: 0,
        }
    }
}

/// What keeps the observer from seeing everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    pub code: String,
    pub message: String,
    pub hint: String,
}

/// How the observer stood when it last said so. A row that cannot be read says nothing.
pub fn current(tx: &ReadTx<'_>) -> Result<Standing, StoreError> {
    let text = settings::get(tx, STANDING)?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
}

/// Says how the observer stands; windows hear of it when it is something else than before.
pub fn say(tx: &WriteTx<'_>, standing: &Standing) -> Result<(), StoreError> {
    if current(tx)? == *standing {
        return Ok(());
    }
    let text = serde_json::to_string(standing).map_err(|error| StoreError::Value(error.to_string()))?;
    settings::set(tx, STANDING, &text)?;
    tx.topic("status")
}

/// When somebody asked for a tick that has not begun yet.
pub fn asked(tx: &ReadTx<'_>) -> Result<Option<DateTime<Utc>>, StoreError> {
    Ok(settings::get(tx, ASKED)?.as_deref().and_then(sql::parse_utc))
}

/// Asks the runtime for a tick now; false when one was asked for already.
pub fn ask(tx: &WriteTx<'_>) -> Result<bool, StoreError> {
    if asked(tx)?.is_some() {
        return Ok(false);
    }
    settings::set(tx, ASKED, &sql::utc_text(tx.now()))?;
    tx.topic("observer")?;
    Ok(true)
}

/// Takes the wish for a tick; true when there was one.
pub fn take_wish(tx: &WriteTx<'_>) -> Result<bool, StoreError> {
    settings::remove(tx, ASKED)
}
