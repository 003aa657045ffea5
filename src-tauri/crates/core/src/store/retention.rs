//! What is forgotten, and when. Spending, reviews and the audit chain are kept.

use chrono::Duration;
use rusqlite::named_params;

use super::sql::At;
use super::{StoreError, WriteTx, inbox, outbox};
use crate::config::Retention;

/// Topics older than this have reached every window.
const TOPIC_HOURS: i64 = 24;

/// How many rows were forgotten.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruned {
    pub steps: usize,
    pub topics: usize,
    pub entries: usize,
    pub notices: usize,
}

/// Forgets what is older than its key allows, as of the transaction's `now`.
pub fn prune(tx: &WriteTx<'_>, retention: &Retention) -> Result<Pruned, StoreError> {
    let days = |days: u32| At(tx.now() - Duration::days(days.into()));
    Ok(Pruned {
        steps: tx.execute(
            "DELETE FROM review_steps WHERE at < :before
             AND review IN (SELECT id FROM reviews WHERE state IN ('published', 'ended'))",
            named_params! { ":before": days(retention.observation_days) },
        )?,
        entries: inbox::prune(tx, tx.now() - Duration::days(retention.done_days.into()))?,
        notices: tx.execute(
            "DELETE FROM notices WHERE shown_at < :before",
            named_params! { ":before": days(retention.observation_days) },
        )?,
        topics: outbox::prune(tx, tx.now() - Duration::hours(TOPIC_HOURS))?,
    })
}
