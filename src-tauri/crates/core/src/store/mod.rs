//! The database: one file, one writer, many readers, one transaction per call (style.md 1.6).
//!
//! `rusqlite` is used nowhere else. A table module holds synchronous functions that take `&ReadTx` or
//! `&WriteTx` and compose inside one closure of [`Store::read`] or [`Store::write`].

pub mod api_budget;
pub mod attached;
pub mod audit;
pub mod backup;
pub mod doctor;
pub mod effects;
pub mod engine;
pub mod engine_items;
pub mod engine_tasks;
mod error;
pub mod findings;
pub mod gates;
pub mod heads_seen;
pub mod health;
pub mod http_cache;
pub mod inbox;
pub mod issues;
pub mod judgements;
pub mod landings;
pub mod migrate;
pub mod need_answers;
pub mod needs;
pub mod notices;
pub mod observations;
mod open;
pub mod outbox;
pub mod pulls;
pub mod repositories;
pub mod retention;
pub mod reviews;
pub mod roster;
pub mod settings;
pub mod spending;
pub mod sql;
pub mod steps;
pub mod tasks;
pub mod thrum;
mod tx;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use rusqlite::{Connection, TransactionBehavior};

pub use error::StoreError;
pub use open::OpenOptions;
pub use tx::{Durability, ReadTx, WriteTx};

use crate::clock::SharedClock;
use crate::home::Home;

/// Readers kept open between calls.
const READERS: usize = 4;

/// What may be done with the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    ReadWrite,
    /// Everything can be seen and nothing changed; why.
    ReadOnly(String),
}

/// The open database. Cheap to clone; every clone shares the one writer.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    home: Home,
    clock: SharedClock,
    options: OpenOptions,
    mode: RwLock<Mode>,
    /// Fair: writes happen in the order in which they were asked.
    writer: Arc<tokio::sync::Mutex<Option<Writer>>>,
    readers: Mutex<Vec<Connection>>,
    recovery: Option<health::Recovery>,
    _users: Option<open::FileLock>,
}

struct Writer {
    conn: Connection,
    durability: Durability,
}

impl Store {
    /// Opens the database of this home, making or migrating it as needed.
    pub fn open(home: &Home, clock: SharedClock) -> Result<Self, StoreError> {
        Self::open_with(home, clock, OpenOptions::default())
    }

    /// Opens with other options than the product's.
    pub fn open_with(home: &Home, clock: SharedClock, options: OpenOptions) -> Result<Self, StoreError> {
        let opened = open::open(home, &clock, &options)?;
        let writer = opened.writer.map(|conn| Writer { conn, durability: Durability::Normal });
        Ok(Self {
            inner: Arc::new(Inner {
                path: home.database(),
                home: home.clone(),
                clock,
                options,
                mode: RwLock::new(opened.mode),
                writer: Arc::new(tokio::sync::Mutex::new(writer)),
                readers: Mutex::new(Vec::new()),
                recovery: opened.recovery,
                _users: opened.users,
            }),
        })
    }

    /// Whether anything can be written, and if not, why.
    pub fn mode(&self) -> Mode {
        self.inner.mode.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_mode(&self, mode: Mode) {
        *self.inner.mode.write().unwrap_or_else(PoisonError::into_inner) = mode;
    }

    /// Moves the journal into the file and gives its space back: at the end, and when idle.
    pub async fn tidy_journal(&self) -> Result<(), StoreError> {
        let mut writer = Arc::clone(&self.inner.writer).lock_owned().await;
        tokio::task::spawn_blocking(move || {
            let Some(writer) = writer.as_mut() else { return Ok(()) };
            // A reader that is in the way is no failure; the next time will do.
            writer.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
            Ok(writer.conn.execute_batch("PRAGMA optimize")?)
        })
        .await
        .unwrap_or(Err(StoreError::Stopped))
    }

    /// The clock this store stamps rows with.
    pub fn clock(&self) -> &SharedClock {
        &self.inner.clock
    }

    /// Runs `work` on one snapshot.
    pub async fn read<T, E, F>(&self, work: F) -> Result<T, E>
    where
        F: FnOnce(&ReadTx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let store = self.clone();
        tokio::task::spawn_blocking(move || store.read_blocking(work))
            .await
            .unwrap_or_else(|error| Err(resume(error).into()))
    }

    /// Runs `work` as one write, after every write asked for before it. All of it stands, or nothing;
    /// a caller who goes away changes neither.
    pub async fn write<T, E, F>(&self, durability: Durability, work: F) -> Result<T, E>
    where
        F: FnOnce(&WriteTx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let mut writer = Arc::clone(&self.inner.writer).lock_owned().await;
        let store = self.clone();
        tokio::task::spawn_blocking(move || store.run_write(writer.as_mut(), durability, work))
            .await
            .unwrap_or_else(|error| Err(resume(error).into()))
    }

    /// [`Store::read`] for a thread outside the async runtime.
    pub fn read_blocking<T, E, F>(&self, work: F) -> Result<T, E>
    where
        F: FnOnce(&ReadTx<'_>) -> Result<T, E>,
        E: From<StoreError>,
    {
        let mut conn = self.take_reader()?;
        let result = {
            let tx =
                conn.transaction_with_behavior(TransactionBehavior::Deferred).map_err(StoreError::from)?;
            work(&ReadTx { conn: &tx, now: self.inner.clock.now() })
        };
        self.give_back(conn);
        result
    }

    /// [`Store::write`] for a thread outside the async runtime; called inside it, it would block it.
    pub fn write_blocking<T, E, F>(&self, durability: Durability, work: F) -> Result<T, E>
    where
        F: FnOnce(&WriteTx<'_>) -> Result<T, E>,
        E: From<StoreError>,
    {
        let mut writer = self.inner.writer.blocking_lock();
        self.run_write(writer.as_mut(), durability, work)
    }

    fn run_write<T, E, F>(&self, writer: Option<&mut Writer>, durability: Durability, work: F) -> Result<T, E>
    where
        F: FnOnce(&WriteTx<'_>) -> Result<T, E>,
        E: From<StoreError>,
    {
        if let Mode::ReadOnly(why) = self.mode() {
            return Err(StoreError::ReadOnly(why).into());
        }
        let Some(writer) = writer else {
            return Err(StoreError::ReadOnly("it was opened for reading".to_owned()).into());
        };
        if writer.durability != durability {
            let word = match durability {
                Durability::Full => "full",
                Durability::Normal => "normal",
            };
            writer.conn.pragma_update(None, "synchronous", word).map_err(StoreError::from)?;
            writer.durability = durability;
        }
        // Immediate: a read that is raised to a write would fail at once instead of waiting its turn.
        let tx = writer
            .conn
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(StoreError::from)?;
        let value = work(&WriteTx { read: ReadTx { conn: &tx, now: self.inner.clock.now() } })?;
        tx.commit().map_err(StoreError::from)?;
        Ok(value)
    }

    fn take_reader(&self) -> Result<Connection, StoreError> {
        let kept = self.inner.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match kept {
            Some(conn) => Ok(conn),
            None => open::reader(&self.inner.path, &self.inner.options),
        }
    }

    fn give_back(&self, conn: Connection) {
        let mut readers = self.inner.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if readers.len() < READERS {
            readers.push(conn);
        }
    }
}

/// A panic of the work goes on in the caller; a runtime that is shutting down is an error.
fn resume(error: tokio::task::JoinError) -> StoreError {
    match error.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(_) => StoreError::Stopped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How SQLite goes about a query, step by step.
    fn plan(conn: &Connection, sql: &str) -> Vec<String> {
        let mut statement = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let steps = statement.query_map([], |row| row.get::<_, String>("detail")).unwrap();
        steps.collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn what_runs_at_every_topic_is_looked_up_in_its_index_however_long_the_table_has_grown() {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch(&migrate::schema_sql().unwrap()).unwrap();
        for (sql, index) in
            [(effects::to_do_sql(), "effects_open"), (effects::suggested_sql(), "effects_open")]
        {
            let steps = plan(&conn, &sql);
            assert!(steps.iter().any(|step| step.contains(&format!("INDEX {index} "))), "{sql}\n{steps:?}");
            assert!(!steps.iter().any(|step| step.starts_with("SCAN")), "{sql}\n{steps:?}");
        }
    }
}
