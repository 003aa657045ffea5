//! Topics that changed, so that every window of every process refetches what it shows.

use chrono::{DateTime, Utc};

use super::sql::At;
use super::{ReadTx, Store, StoreError, WriteTx};

/// What changed since a reader last asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topics {
    /// Ask from here next time.
    pub last: i64,
    /// Each topic once, in the order of its last change.
    pub names: Vec<String>,
    /// True when rows between were pruned: everything may have changed.
    pub gap: bool,
}

impl Store {
    /// The topics that changed after `id`.
    pub async fn topics_since(&self, id: i64) -> Result<Topics, StoreError> {
        self.read(move |tx| since(tx, id)).await
    }

    /// The newest topic's id; 0 before the first.
    pub async fn last_topic(&self) -> Result<i64, StoreError> {
        self.read(last).await
    }
}

/// The topics that changed after `id`.
pub fn since(tx: &ReadTx<'_>, id: i64) -> Result<Topics, StoreError> {
    let rows = tx.query_all(
        "SELECT topic, max(id) AS id FROM outbox WHERE id > :id GROUP BY topic ORDER BY max(id)",
        rusqlite::named_params! { ":id": id },
        |row| row.get::<_, String>("topic"),
    )?;
    let last = last(tx)?;
    let oldest: Option<i64> = tx.query_row("SELECT min(id) AS id FROM outbox", [], |row| row.get("id"))?;
    let gap = id > last || (id < last && oldest.is_none_or(|oldest| oldest > id + 1));
    Ok(Topics { last, names: rows, gap })
}

/// The newest topic's id, also when its row was pruned.
pub fn last(tx: &ReadTx<'_>) -> Result<i64, StoreError> {
    let last =
        tx.query_opt("SELECT seq FROM sqlite_sequence WHERE name = 'outbox'", [], |row| row.get("seq"))?;
    Ok(last.unwrap_or(0))
}

/// Forgets topics older than `before`.
pub fn prune(tx: &WriteTx<'_>, before: DateTime<Utc>) -> Result<usize, StoreError> {
    tx.execute("DELETE FROM outbox WHERE at < :before", rusqlite::named_params! { ":before": At(before) })
}
