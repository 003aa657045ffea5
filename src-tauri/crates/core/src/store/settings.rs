//! Small values of this installation: the pause, counters, marks. Never a secret.

use super::{ReadTx, StoreError, WriteTx};

/// The value of a key.
pub fn get(tx: &ReadTx<'_>, key: &str) -> Result<Option<String>, StoreError> {
    tx.query_opt(
        "SELECT value FROM settings WHERE key = :key",
        rusqlite::named_params! { ":key": key },
        |row| row.get("value"),
    )
}

/// Keeps a value under a key.
pub fn set(tx: &WriteTx<'_>, key: &str, value: &str) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO settings (key, value) VALUES (:key, :value)
         ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        rusqlite::named_params! { ":key": key, ":value": value },
    )?;
    Ok(())
}

/// Forgets a key; true when there was one.
pub fn remove(tx: &WriteTx<'_>, key: &str) -> Result<bool, StoreError> {
    Ok(tx.execute("DELETE FROM settings WHERE key = :key", rusqlite::named_params! { ":key": key })? > 0)
}
