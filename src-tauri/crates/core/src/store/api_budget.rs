//! How much may still be asked of each host, and until when nothing is asked.

use chrono::{DateTime, Utc};
use rusqlite::{Row, named_params};
use serde::{Deserialize, Serialize};

use super::sql::{self, At};
use super::{ReadTx, StoreError, WriteTx};

/// Which limit stopped the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The hourly quota is used up.
    Primary,
    /// Too much at once; GitHub does not say beforehand when.
    Secondary,
}

/// A stretch of time in which nothing is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    pub limit: Limit,
    pub since: DateTime<Utc>,
    pub until: DateTime<Utc>,
}

/// One row: the quota of an account for one resource, or with an empty account and resource a pause
/// of the whole host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetRow {
    pub host: String,
    pub account: String,
    pub resource: String,
    pub quota: Option<u32>,
    pub remaining: Option<u32>,
    pub reset_at: Option<DateTime<Utc>>,
    pub pause: Option<Pause>,
    pub seen_at: DateTime<Utc>,
}

/// Writes one row in place of the one before.
pub fn put(tx: &WriteTx<'_>, row: &BudgetRow) -> Result<(), StoreError> {
    let limit = row.pause.map(|pause| sql::to_word(&pause.limit)).transpose()?;
    tx.execute(
        "INSERT INTO api_budget
             (host, account, resource, quota, remaining, reset_at, paused_at, paused_until, pause, seen_at)
         VALUES (:host, :account, :resource, :quota, :remaining, :reset_at, :paused_at, :paused_until, :pause, :seen_at)
         ON CONFLICT (host, account, resource) DO UPDATE SET
             quota = excluded.quota, remaining = excluded.remaining, reset_at = excluded.reset_at,
             paused_at = excluded.paused_at, paused_until = excluded.paused_until, pause = excluded.pause,
             seen_at = excluded.seen_at",
        named_params! {
            ":host": row.host, ":account": row.account, ":resource": row.resource, ":quota": row.quota,
            ":remaining": row.remaining, ":reset_at": row.reset_at.map(At),
            ":paused_at": row.pause.map(|pause| At(pause.since)),
            ":paused_until": row.pause.map(|pause| At(pause.until)), ":pause": limit, ":seen_at": At(row.seen_at),
        },
    )?;
    Ok(())
}

/// Every row of one host.
pub fn of_host(tx: &ReadTx<'_>, host: &str) -> Result<Vec<BudgetRow>, StoreError> {
    tx.query_all(
        "SELECT host, account, resource, quota, remaining, reset_at, paused_at, paused_until, pause, seen_at
         FROM api_budget WHERE host = :host ORDER BY account, resource",
        named_params! { ":host": host },
        read,
    )
}

/// Every row, for the foot of the window and `steward budget`.
pub fn all(tx: &ReadTx<'_>) -> Result<Vec<BudgetRow>, StoreError> {
    tx.query_all(
        "SELECT host, account, resource, quota, remaining, reset_at, paused_at, paused_until, pause, seen_at
         FROM api_budget ORDER BY host, account, resource",
        [],
        read,
    )
}

fn read(row: &Row<'_>) -> rusqlite::Result<BudgetRow> {
    let pause = match (
        sql::word_opt::<Limit>(row, "pause")?,
        sql::time_opt(row, "paused_at")?,
        sql::time_opt(row, "paused_until")?,
    ) {
        (Some(limit), Some(since), Some(until)) => Some(Pause { limit, since, until }),
        _ => None,
    };
    Ok(BudgetRow {
        host: row.get("host")?,
        account: row.get("account")?,
        resource: row.get("resource")?,
        quota: row.get("quota")?,
        remaining: row.get("remaining")?,
        reset_at: sql::time_opt(row, "reset_at")?,
        pause,
        seen_at: sql::time(row, "seen_at")?,
    })
}
