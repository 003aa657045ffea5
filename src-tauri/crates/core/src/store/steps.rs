//! The steps of a review, for its progress and its history.

use chrono::{DateTime, Utc};
use rusqlite::named_params;
use steward_rules::ids::ReviewId;

use super::sql::{self, At};
use super::{ReadTx, StoreError, WriteTx};

/// More steps than this of one review are not kept; the newest replace the oldest.
const KEPT: i64 = 500;

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRow {
    pub at: DateTime<Utc>,
    /// `state`, `tool`, `note`, `error`.
    pub kind: String,
    /// Shown-safe already.
    pub text: String,
}

/// Adds a step.
pub fn add(tx: &WriteTx<'_>, review: ReviewId, kind: &str, text: &str) -> Result<(), StoreError> {
    let id = tx.insert(
        "INSERT INTO review_steps (review, at, kind, text) VALUES (:review, :at, :kind, :text)",
        named_params! { ":review": review.0, ":at": At(tx.now()), ":kind": kind, ":text": text },
    )?;
    tx.execute(
        "DELETE FROM review_steps WHERE review = :review AND id <=
           (SELECT id FROM review_steps WHERE review = :review AND id <= :id ORDER BY id DESC LIMIT 1 OFFSET :kept)",
        named_params! { ":review": review.0, ":id": id, ":kept": KEPT },
    )?;
    tx.topic(&format!("review:{review}"))
}

/// The newest steps of a review, oldest first.
pub fn of(tx: &ReadTx<'_>, review: ReviewId, limit: u32) -> Result<Vec<StepRow>, StoreError> {
    let mut rows = tx.query_all(
        "SELECT at, kind, text FROM review_steps WHERE review = :review ORDER BY id DESC LIMIT :limit",
        named_params! { ":review": review.0, ":limit": limit },
        |row| Ok(StepRow { at: sql::time(row, "at")?, kind: row.get("kind")?, text: row.get("text")? }),
    )?;
    rows.reverse();
    Ok(rows)
}
