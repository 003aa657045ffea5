//! The pause switch: kept in the database, so that it survives a restart and every process sees it.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::Ctx;
use crate::store::{Durability, ReadTx, StoreError, audit, settings};

const KEY: &str = "pause";
const MAX_WHY: usize = 500;

/// Why and since when everything rests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paused {
    pub why: String,
    pub since: DateTime<Utc>,
}

/// The pause in force, if any.
pub fn current(tx: &ReadTx<'_>) -> Result<Option<Paused>, StoreError> {
    let Some(text) = settings::get(tx, KEY)? else { return Ok(None) };
    // A pause that cannot be read is still a pause.
    Ok(Some(serde_json::from_str(&text).unwrap_or_else(|_| Paused { why: text, since: tx.now() })))
}

/// Stops every outward effect and every seat, until lifted. A second pause keeps the first one's time.
pub async fn pause(ctx: &Ctx, why: &str) -> Result<Paused, StoreError> {
    let why: String = why.chars().take(MAX_WHY).collect();
    ctx.store
        .write(Durability::Full, move |tx| {
            let since = current(tx)?.map_or(tx.now(), |pause| pause.since);
            let paused = Paused { why, since };
            let text =
                serde_json::to_string(&paused).map_err(|error| StoreError::Value(error.to_string()))?;
            settings::set(tx, KEY, &text)?;
            audit::append(tx, "person", "pause", "runtime", &paused.why)?;
            tx.topic("status")?;
            tx.topic("queue")?;
            Ok(paused)
        })
        .await
}

/// Lifts the pause; false when there was none.
pub async fn resume(ctx: &Ctx) -> Result<bool, StoreError> {
    ctx.store
        .write(Durability::Full, |tx| {
            let lifted = settings::remove(tx, KEY)?;
            if lifted {
                audit::append(tx, "person", "resume", "runtime", "")?;
                tx.topic("status")?;
                tx.topic("queue")?;
            }
            Ok(lifted)
        })
        .await
}
