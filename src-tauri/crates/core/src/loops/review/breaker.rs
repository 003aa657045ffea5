//! The breaker of automatic reviews, as it persists.

use steward_rules::review::lifecycle::{Breaker, Ending};

use crate::store::{ReadTx, StoreError, WriteTx, settings};

const KEY: &str = "review.breaker";

/// The breaker as it stands.
pub fn current(tx: &ReadTx<'_>) -> Result<Breaker, StoreError> {
    match settings::get(tx, KEY)? {
        None => Ok(Breaker::default()),
        Some(text) => serde_json::from_str(&text).map_err(|error| StoreError::Value(error.to_string())),
    }
}

/// Counts one more review.
pub(in crate::loops) fn count(tx: &WriteTx<'_>, ending: Ending) -> Result<Breaker, StoreError> {
    let before = current(tx)?;
    let after = before.after(ending);
    if after != before {
        let text = serde_json::to_string(&after).map_err(|error| StoreError::Value(error.to_string()))?;
        settings::set(tx, KEY, &text)?;
        tx.topic("status")?;
    }
    Ok(after)
}
