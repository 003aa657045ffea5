//! Messages of thrum that were taken up, and those that were sent: intent first, outcome after.

use chrono::{DateTime, Utc};
use rusqlite::{Row, named_params};
use serde::{Deserialize, Serialize};
use steward_rules::ids::NeedId;

use super::sql::{self, At};
use super::{ReadTx, StoreError, WriteTx};

/// Where a message to be sent stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SentState {
    Intended,
    Sent,
    Failed,
}

/// A message that was sent, or is about to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentRow {
    /// `need:3:1`; a key is sent once for ever.
    pub key: String,
    pub need: Option<NeedId>,
    pub folder: String,
    pub recipient: String,
    pub content: String,
    pub state: SentState,
    pub message: Option<String>,
    pub why: Option<String>,
}

/// Notes that a message is taken up; false when it was before.
pub fn take(tx: &WriteTx<'_>, folder: &str, message: &str) -> Result<bool, StoreError> {
    let taken = tx.execute(
        "INSERT INTO thrum_taken (folder, message, at) VALUES (:folder, :message, :now)
         ON CONFLICT (folder, message) DO NOTHING",
        named_params! { ":folder": folder, ":message": message, ":now": At(tx.now()) },
    )?;
    Ok(taken == 1)
}

/// True when a message was taken up.
pub fn is_taken(tx: &ReadTx<'_>, folder: &str, message: &str) -> Result<bool, StoreError> {
    tx.query_row(
        "SELECT EXISTS (SELECT 1 FROM thrum_taken WHERE folder = :folder AND message = :message) AS taken",
        named_params! { ":folder": folder, ":message": message },
        |row| row.get("taken"),
    )
}

/// The messages of a folder that were taken up before this moment.
pub fn taken_before(tx: &ReadTx<'_>, folder: &str, before: DateTime<Utc>) -> Result<Vec<String>, StoreError> {
    tx.query_all(
        "SELECT message FROM thrum_taken WHERE folder = :folder AND at < :before",
        named_params! { ":folder": folder, ":before": At(before) },
        |row| row.get("message"),
    )
}

/// Forgets that messages were taken up.
pub fn forget(tx: &WriteTx<'_>, folder: &str, messages: &[String]) -> Result<(), StoreError> {
    for message in messages {
        tx.execute(
            "DELETE FROM thrum_taken WHERE folder = :folder AND message = :message",
            named_params! { ":folder": folder, ":message": message },
        )?;
    }
    Ok(())
}

/// Writes the intent to send; false when the key was written before.
pub fn intend(
    tx: &WriteTx<'_>,
    key: &str,
    need: NeedId,
    folder: &str,
    recipient: &str,
    content: &str,
) -> Result<bool, StoreError> {
    let written = tx.execute(
        "INSERT INTO thrum_sent (key, need, folder, recipient, content, state, intent_at)
         VALUES (:key, :need, :folder, :recipient, :content, 'intended', :now)
         ON CONFLICT (key) DO NOTHING",
        named_params! {
            ":key": key, ":need": need.0, ":folder": folder, ":recipient": recipient, ":content": content,
            ":now": At(tx.now()),
        },
    )?;
    Ok(written == 1)
}

/// Writes how a sending ended.
pub fn settle(
    tx: &WriteTx<'_>,
    key: &str,
    state: SentState,
    message: Option<&str>,
    why: Option<&str>,
) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE thrum_sent SET state = :state, message = :message, why = :why, outcome_at = :now WHERE key = :key",
        named_params! {
            ":state": sql::to_word(&state)?, ":message": message, ":why": why, ":now": At(tx.now()), ":key": key,
        },
    )?;
    Ok(())
}

/// The message of a key.
pub fn sent(tx: &ReadTx<'_>, key: &str) -> Result<Option<SentRow>, StoreError> {
    tx.query_opt(
        "SELECT key, need, folder, recipient, content, state, message, why FROM thrum_sent WHERE key = :key",
        named_params! { ":key": key },
        read,
    )
}

/// The question that a message of ours told.
pub fn told_by(tx: &ReadTx<'_>, folder: &str, message: &str) -> Result<Option<NeedId>, StoreError> {
    let need: Option<Option<i64>> = tx.query_opt(
        "SELECT need FROM thrum_sent WHERE folder = :folder AND message = :message",
        named_params! { ":folder": folder, ":message": message },
        |row| row.get("need"),
    )?;
    Ok(need.flatten().map(NeedId))
}

/// The messages whose outcome is not known.
pub fn unsettled(tx: &ReadTx<'_>) -> Result<Vec<SentRow>, StoreError> {
    tx.query_all(
        "SELECT key, need, folder, recipient, content, state, message, why FROM thrum_sent
         WHERE state = 'intended' ORDER BY intent_at",
        [],
        read,
    )
}

fn read(row: &Row<'_>) -> rusqlite::Result<SentRow> {
    Ok(SentRow {
        key: row.get("key")?,
        need: row.get::<_, Option<i64>>("need")?.map(NeedId),
        folder: row.get("folder")?,
        recipient: row.get("recipient")?,
        content: row.get("content")?,
        state: sql::word(row, "state")?,
        message: row.get("message")?,
        why: row.get("why")?,
    })
}
