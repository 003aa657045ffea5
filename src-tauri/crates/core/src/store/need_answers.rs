//! The owner's answers, how far each has come, and the right to carry one.

use chrono::{DateTime, Utc};
use rusqlite::{Row, named_params};
use serde::{Deserialize, Serialize};
use steward_rules::ids::{AnswerId, NeedId};
use steward_rules::questions::delivery::{Stage, Way};

use super::sql::{self, At};
use super::{ReadTx, StoreError, WriteTx, needs};

/// The answer to a permission prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Press {
    /// Once, never for good.
    Allow,
    Deny,
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerRow {
    pub id: AnswerId,
    pub need: NeedId,
    /// The owner's own words.
    pub words: String,
    pub press: Option<Press>,
    pub way: Way,
    pub stage: Stage,
    pub why: Option<String>,
    pub answered_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

const COLUMNS: &str = "id, need, words, press, way, stage, why, answered_at, updated_at";

/// Keeps an answer; one that Steward carries itself gets its one claim.
pub fn insert(
    tx: &WriteTx<'_>,
    need: NeedId,
    words: &str,
    press: Option<Press>,
    way: Way,
) -> Result<AnswerId, StoreError> {
    let id = tx.insert(
        "INSERT INTO need_answers (need, words, press, way, stage, answered_at, updated_at)
         VALUES (:need, :words, :press, :way, :stage, :now, :now)",
        named_params! {
            ":need": need.0, ":words": words, ":press": press.as_ref().map(sql::to_word).transpose()?,
            ":way": sql::to_word(&way)?, ":stage": Stage::Queued.as_str(), ":now": At(tx.now()),
        },
    )?;
    if is_carried(way) {
        put_claim(tx, AnswerId(id))?;
    }
    needs::topic(tx, need)?;
    Ok(AnswerId(id))
}

/// True when an answer to this question came back for a reason that begins so.
pub fn came_back(tx: &ReadTx<'_>, need: NeedId, why: &str) -> Result<bool, StoreError> {
    tx.query_row(
        "SELECT EXISTS (SELECT 1 FROM need_answers
         WHERE need = :need AND stage = 'returned' AND substr(why, 1, length(:why)) = :why) AS found",
        named_params! { ":need": need.0, ":why": why },
        |row| row.get("found"),
    )
}

fn is_carried(way: Way) -> bool {
    match way {
        Way::Thrum | Way::Type | Way::Key => true,
        Way::Fetch | Way::Nowhere => false,
    }
}

fn put_claim(tx: &WriteTx<'_>, id: AnswerId) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO need_claims (answer, at) VALUES (:answer, :now) ON CONFLICT (answer) DO NOTHING",
        named_params! { ":answer": id.0, ":now": At(tx.now()) },
    )?;
    Ok(())
}

/// Takes the right to carry an answer: true for exactly one caller.
pub fn claim(tx: &WriteTx<'_>, id: AnswerId) -> Result<bool, StoreError> {
    let taken =
        tx.execute("DELETE FROM need_claims WHERE answer = :answer", named_params! { ":answer": id.0 })? == 1;
    if taken {
        set_stage(tx, id, Stage::Carrying, None)?;
    }
    Ok(taken)
}

/// Moves an answer on. Back in the queue it may be carried once more.
pub fn set_stage(tx: &WriteTx<'_>, id: AnswerId, stage: Stage, why: Option<&str>) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE need_answers SET stage = :stage, why = :why, updated_at = :now WHERE id = :id",
        named_params! { ":stage": stage.as_str(), ":why": why, ":now": At(tx.now()), ":id": id.0 },
    )?;
    let Some(answer) = get(tx, id)? else { return Ok(()) };
    if stage == Stage::Queued && is_carried(answer.way) {
        put_claim(tx, id)?;
    }
    needs::topic(tx, answer.need)
}

/// Sends an answer another way than it was meant to go.
pub fn set_way(tx: &WriteTx<'_>, id: AnswerId, way: Way) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE need_answers SET way = :way WHERE id = :id",
        named_params! { ":way": sql::to_word(&way)?, ":id": id.0 },
    )?;
    set_stage(tx, id, Stage::Queued, None)
}

/// Takes an answer back that nobody has begun to carry or fetched, as if it was never given; false when it is
/// on its way or there.
pub fn take_back(tx: &WriteTx<'_>, answer: &AnswerRow) -> Result<bool, StoreError> {
    let id = named_params! { ":id": answer.id.0 };
    if is_carried(answer.way) && tx.execute("DELETE FROM need_claims WHERE answer = :id", id)? == 0 {
        return Ok(false);
    }
    let gone = tx.execute("DELETE FROM need_answers WHERE id = :id AND stage = 'queued'", id)?;
    needs::topic(tx, answer.need)?;
    Ok(gone == 1)
}

/// One answer.
pub fn get(tx: &ReadTx<'_>, id: AnswerId) -> Result<Option<AnswerRow>, StoreError> {
    tx.query_opt(
        &format!("SELECT {COLUMNS} FROM need_answers WHERE id = :id"),
        named_params! { ":id": id.0 },
        read,
    )
}

/// The newest answer to a question.
pub fn newest(tx: &ReadTx<'_>, need: NeedId) -> Result<Option<AnswerRow>, StoreError> {
    tx.query_opt(
        &format!("SELECT {COLUMNS} FROM need_answers WHERE need = :need ORDER BY id DESC LIMIT 1"),
        named_params! { ":need": need.0 },
        read,
    )
}

/// The answers that wait for somebody to carry them, oldest first.
pub fn claimable(tx: &ReadTx<'_>) -> Result<Vec<AnswerRow>, StoreError> {
    tx.query_all(
        &format!(
            "SELECT {COLUMNS} FROM need_answers WHERE id IN (SELECT answer FROM need_claims) ORDER BY id"
        ),
        [],
        read,
    )
}

/// The answers that were being carried.
pub fn under_way(tx: &ReadTx<'_>) -> Result<Vec<AnswerRow>, StoreError> {
    tx.query_all(
        &format!("SELECT {COLUMNS} FROM need_answers WHERE stage IN ('carrying', 'typed', 'submitted')"),
        [],
        read,
    )
}

fn read(row: &Row<'_>) -> rusqlite::Result<AnswerRow> {
    Ok(AnswerRow {
        id: AnswerId(row.get("id")?),
        need: NeedId(row.get("need")?),
        words: row.get("words")?,
        press: sql::word_opt(row, "press")?,
        way: sql::word(row, "way")?,
        stage: sql::word(row, "stage")?,
        why: row.get("why")?,
        answered_at: sql::time(row, "answered_at")?,
        updated_at: sql::time(row, "updated_at")?,
    })
}
