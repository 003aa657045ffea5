//! Notifications: written with what they announce, marked when the desktop took them.

use chrono::{DateTime, Utc};
use rusqlite::named_params;

use super::sql::{self, At};
use super::{ReadTx, StoreError, WriteTx};

/// One notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticeRow {
    /// `review:7`; a key is announced once for ever.
    pub key: String,
    /// What a click opens, e.g. `review/7`.
    pub target: String,
    pub title: String,
    pub body: String,
    pub created_at: DateTime<Utc>,
}

/// Writes a notification; false when its key was written before.
pub fn add(tx: &WriteTx<'_>, key: &str, target: &str, title: &str, body: &str) -> Result<bool, StoreError> {
    let added = tx.execute(
        "INSERT INTO notices (key, target, title, body, created_at) VALUES (:key, :target, :title, :body, :now)
         ON CONFLICT (key) DO NOTHING",
        named_params! { ":key": key, ":target": target, ":title": title, ":body": body, ":now": At(tx.now()) },
    )?;
    Ok(added == 1)
}

/// The notifications nobody showed yet, oldest first.
pub fn waiting(tx: &ReadTx<'_>, limit: u32) -> Result<Vec<NoticeRow>, StoreError> {
    tx.query_all(
        "SELECT key, target, title, body, created_at FROM notices WHERE shown_at IS NULL
         ORDER BY created_at LIMIT :limit",
        named_params! { ":limit": limit },
        |row| {
            Ok(NoticeRow {
                key: row.get("key")?,
                target: row.get("target")?,
                title: row.get("title")?,
                body: row.get("body")?,
                created_at: sql::time(row, "created_at")?,
            })
        },
    )
}

/// Marks a notification as taken; false when it was marked before.
pub fn shown(tx: &WriteTx<'_>, key: &str) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE notices SET shown_at = :now WHERE key = :key AND shown_at IS NULL",
        named_params! { ":key": key, ":now": At(tx.now()) },
    )?;
    Ok(changed == 1)
}

/// Takes back a notification nobody showed yet.
pub fn withdraw(tx: &WriteTx<'_>, key: &str) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE notices SET shown_at = :now WHERE key = :key AND shown_at IS NULL",
        named_params! { ":key": key, ":now": At(tx.now()) },
    )?;
    Ok(changed == 1)
}

/// Puts back a notification that could not be shown.
pub fn put_back(tx: &WriteTx<'_>, key: &str) -> Result<(), StoreError> {
    tx.execute("UPDATE notices SET shown_at = NULL WHERE key = :key", named_params! { ":key": key })?;
    Ok(())
}

/// How many notifications were ever written for a target.
pub fn count_for(tx: &ReadTx<'_>, target: &str) -> Result<u32, StoreError> {
    tx.query_row(
        "SELECT count(*) AS n FROM notices WHERE target = :target",
        named_params! { ":target": target },
        |row| row.get("n"),
    )
}
