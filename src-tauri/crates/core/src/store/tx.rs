//! Transactions: what a table module may do with the database while it holds one.

use std::ops::Deref;

use chrono::{DateTime, Utc};
use rusqlite::{CachedStatement, Connection, OptionalExtension, Params, Row};

use super::StoreError;
use super::sql::At;

/// How sure a commit is to survive a power cut (a killed process loses nothing with either).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Synced at commit: intents, outcomes, handled ids, decisions.
    Full,
    /// Synced at the next checkpoint: observations.
    Normal,
}

/// One snapshot of the database, for reading.
pub struct ReadTx<'c> {
    pub(super) conn: &'c Connection,
    pub(super) now: DateTime<Utc>,
}

/// The one open write of this process; it reads its own rows.
pub struct WriteTx<'c> {
    pub(super) read: ReadTx<'c>,
}

impl<'c> Deref for WriteTx<'c> {
    type Target = ReadTx<'c>;
    fn deref(&self) -> &ReadTx<'c> {
        &self.read
    }
}

impl ReadTx<'_> {
    /// The time at which this transaction began.
    pub fn now(&self) -> DateTime<Utc> {
        self.now
    }

    pub(in crate::store) fn prepare_cached(&self, sql: &str) -> rusqlite::Result<CachedStatement<'_>> {
        self.conn.prepare_cached(sql)
    }

    /// The first row; an error when there is none.
    pub(in crate::store) fn query_row<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        Ok(self.conn.prepare_cached(sql)?.query_row(params, read)?)
    }

    /// The first row, if there is one.
    pub(in crate::store) fn query_opt<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.conn.prepare_cached(sql)?.query_row(params, read).optional()?)
    }

    /// Every row.
    pub(in crate::store) fn query_all<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let mut statement = self.conn.prepare_cached(sql)?;
        let rows = statement.query_map(params, read)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}

impl WriteTx<'_> {
    /// Runs one statement and says how many rows it changed.
    pub(in crate::store) fn execute(&self, sql: &str, params: impl Params) -> Result<usize, StoreError> {
        Ok(self.conn.prepare_cached(sql)?.execute(params)?)
    }

    /// Runs one INSERT and gives the new row's id.
    pub(in crate::store) fn insert(&self, sql: &str, params: impl Params) -> Result<i64, StoreError> {
        self.execute(sql, params)?;
        Ok(self.conn.last_insert_rowid())
    }

    /// Says that what this topic names has changed; windows refetch it once the transaction stands.
    pub fn topic(&self, topic: &str) -> Result<(), StoreError> {
        self.execute(
            "INSERT INTO outbox (topic, at) VALUES (:topic, :at)",
            rusqlite::named_params! { ":topic": topic, ":at": At(self.now) },
        )?;
        Ok(())
    }
}
