//! Money and tokens over all agents, by day and month (UTC).

use chrono::{DateTime, Datelike, TimeZone, Utc};
use rusqlite::named_params;
use steward_rules::ids::ReviewId;

use super::sql::At;
use super::{ReadTx, StoreError, WriteTx};

/// What was spent since a moment.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spent {
    pub usd: f64,
    pub tokens: u64,
    /// Runs whose agent reported no cost.
    pub unknown: u32,
}

/// Sets what one review's run has cost so far; called again as it grows.
pub fn record(
    tx: &WriteTx<'_>,
    role: &str,
    review: ReviewId,
    usd: Option<f64>,
    tokens: u64,
) -> Result<(), StoreError> {
    let changed = tx.execute(
        "UPDATE spending SET usd = :usd, tokens = :tokens WHERE review = :review AND role = :role",
        named_params! { ":usd": usd, ":tokens": tokens as i64, ":review": review.0, ":role": role },
    )?;
    if changed == 0 {
        tx.insert(
            "INSERT INTO spending (at, role, review, usd, tokens) VALUES (:at, :role, :review, :usd, :tokens)",
            named_params! {
                ":at": At(tx.now()), ":role": role, ":review": review.0, ":usd": usd, ":tokens": tokens as i64,
            },
        )?;
    }
    tx.topic("spending")
}

/// Notes that a run begins that belongs to no review; until [`set`] its cost counts as unknown.
pub fn begin(tx: &WriteTx<'_>, role: &str) -> Result<i64, StoreError> {
    let id = tx.insert(
        "INSERT INTO spending (at, role, usd, tokens) VALUES (:at, :role, NULL, 0)",
        named_params! { ":at": At(tx.now()), ":role": role },
    )?;
    tx.topic("spending")?;
    Ok(id)
}

/// Sets what a run that [`begin`] noted has cost so far; called again as it grows.
pub fn set(tx: &WriteTx<'_>, id: i64, usd: Option<f64>, tokens: u64) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE spending SET usd = :usd, tokens = :tokens WHERE id = :id",
        named_params! { ":usd": usd, ":tokens": tokens as i64, ":id": id },
    )?;
    tx.topic("spending")
}

/// How many runs of a role began since `from`.
pub fn runs_since(tx: &ReadTx<'_>, role: &str, from: DateTime<Utc>) -> Result<u32, StoreError> {
    tx.query_row(
        "SELECT count(*) AS runs FROM spending WHERE role = :role AND at >= :from",
        named_params! { ":role": role, ":from": At(from) },
        |row| row.get("runs"),
    )
}

/// What was spent since `from`.
pub fn since(tx: &ReadTx<'_>, from: DateTime<Utc>) -> Result<Spent, StoreError> {
    tx.query_row(
        "SELECT coalesce(sum(usd), 0.0) AS usd, coalesce(sum(tokens), 0) AS tokens,
                coalesce(sum(usd IS NULL), 0) AS unknown
         FROM spending WHERE at >= :from",
        named_params! { ":from": At(from) },
        |row| {
            Ok(Spent {
                usd: row.get("usd")?,
                tokens: row.get::<_, i64>("tokens")?.unsigned_abs(),
                unknown: row.get("unknown")?,
            })
        },
    )
}

/// What was spent today and this month, by the transaction's own clock.
pub fn today_and_month(tx: &ReadTx<'_>) -> Result<(Spent, Spent), StoreError> {
    let now = tx.now();
    let day = Utc.with_ymd_and_hms(now.year(), now.month(), now.day(), 0, 0, 0).earliest().unwrap_or(now);
    let month = Utc.with_ymd_and_hms(now.year(), now.month(), 1, 0, 0, 0).earliest().unwrap_or(now);
    Ok((since(tx, day)?, since(tx, month)?))
}
