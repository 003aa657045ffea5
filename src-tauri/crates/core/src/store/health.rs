//! Damage: how it is noticed, and the way back to the newest good copy.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;

use super::open::{beside, reader};
use super::{Durability, Mode, Store, StoreError, backup, settings};
use crate::home::Home;

/// Setting: `yes` while no runtime works, `no` while one does.
const CLEAN: &str = "clean_shutdown";
/// Setting: the last recovery, as JSON.
const RECOVERY: &str = "last_recovery";

/// How the last runtime ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastEnd {
    /// There was none.
    First,
    Clean,
    /// It was killed, or the machine went down.
    Unclean,
}

/// What was done about a damaged database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recovery {
    pub at: DateTime<Utc>,
    pub damage: String,
    /// Where the damaged file lies now.
    pub aside: Option<PathBuf>,
    /// The copy that took its place, and when it was made.
    pub backup: Option<(PathBuf, DateTime<Utc>)>,
}

impl Recovery {
    /// What was lost, in a sentence.
    pub fn message(&self) -> String {
        let aside = self
            .aside
            .as_ref()
            .map_or_else(String::new, |path| format!(" It was kept as {}.", path.display()));
        match &self.backup {
            Some((_, at)) => format!(
                "The database was damaged ({}). The copy of {} took its place; what was recorded after that is lost.{aside}",
                self.damage,
                at.format("%Y-%m-%d %H:%M UTC"),
            ),
            None => format!(
                "The database was damaged ({}) and no good copy was found, so an empty one was begun; tasks, reviews and the inbox are lost.{aside}",
                self.damage,
            ),
        }
    }
}

/// What the background check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuickCheck {
    Well,
    Damaged(String),
}

impl Store {
    /// What opening did about a damaged file, if it found one.
    pub fn recovery(&self) -> Option<&Recovery> {
        self.inner.recovery.as_ref()
    }

    /// Marks that a runtime works on the data, and says how the one before it ended.
    pub async fn begin_run(&self) -> Result<LastEnd, StoreError> {
        self.write(Durability::Full, |tx| {
            let before = settings::get(tx, CLEAN)?;
            settings::set(tx, CLEAN, "no")?;
            Ok(match before.as_deref() {
                None => LastEnd::First,
                Some("yes") => LastEnd::Clean,
                Some(_) => LastEnd::Unclean,
            })
        })
        .await
    }

    /// Marks that the runtime ended as it should.
    pub async fn end_run(&self) -> Result<(), StoreError> {
        self.write(Durability::Full, |tx| settings::set(tx, CLEAN, "yes")).await?;
        self.tidy_journal().await
    }

    /// Looks for damage beside the running work. When it finds some, nothing is written any more, and
    /// the next opening goes back to the newest good copy.
    pub fn check_in_background(&self) -> JoinHandle<Result<QuickCheck, StoreError>> {
        let store = self.clone();
        tokio::task::spawn_blocking(move || {
            let conn = reader(&store.inner.path, &store.inner.options)?;
            let Some(damage) = damage(&conn)? else { return Ok(QuickCheck::Well) };
            let mark = suspect(&store.inner.home);
            std::fs::write(&mark, &damage).map_err(StoreError::io("write", mark))?;
            store.set_mode(Mode::ReadOnly(format!(
                "it is damaged ({damage}); quit Steward and start it again to go back to the newest good copy"
            )));
            Ok(QuickCheck::Damaged(damage))
        })
    }
}

/// The first thing `quick_check` finds wrong.
fn damage(conn: &Connection) -> Result<Option<String>, StoreError> {
    let answer = conn.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    match answer {
        Ok(text) if text == "ok" => Ok(None),
        Ok(text) => Ok(Some(text.lines().collect::<Vec<_>>().join(" "))),
        Err(error) => match StoreError::from(error) {
            error if error.is_damage() => Ok(Some(error.cause())),
            error => Err(error),
        },
    }
}

/// A file that says: look at the whole database before using it.
fn suspect(home: &Home) -> PathBuf {
    beside(&home.database(), ".suspect")
}

/// What is wrong with a file that SQLite opens.
pub(super) fn hidden_damage(home: &Home, conn: &Connection) -> Result<Option<String>, StoreError> {
    let mark = suspect(home);
    if !mark.exists() {
        return Ok(None);
    }
    let found = damage(conn)?;
    if found.is_none() {
        std::fs::remove_file(&mark).map_err(StoreError::io("remove", mark))?;
    }
    Ok(found)
}

/// SQLite takes an empty file for a new database. Where copies are, it was one.
pub(super) fn is_emptied(home: &Home) -> Result<bool, StoreError> {
    let database = home.database();
    let empty = database.metadata().is_ok_and(|meta| meta.len() == 0);
    let journal = beside(&database, "-wal").metadata().is_ok_and(|meta| meta.len() > 0);
    Ok(empty && !journal && !backup::list(home)?.is_empty())
}

/// Goes back to the newest good copy. Call it only while holding both locks.
pub(super) fn recover(home: &Home, now: DateTime<Utc>, damage: String) -> Result<Recovery, StoreError> {
    let good = backup::newest_good(home)?;
    let aside = match &good {
        Some(copy) => backup::put_in_place(home, &copy.path, now, "damaged")?.aside,
        None => backup::move_aside(home, now, "damaged")?,
    };
    let _ = std::fs::remove_file(suspect(home));
    Ok(Recovery { at: now, damage, aside, backup: good.map(|copy| (copy.path, copy.at)) })
}

/// Keeps a recovery where the window and `steward doctor` find it.
pub(super) fn remember(conn: &Connection, recovery: &Recovery) -> Result<(), StoreError> {
    let text = serde_json::to_string(recovery).map_err(|error| StoreError::Value(error.to_string()))?;
    conn.execute(
        "INSERT INTO settings (key, value) VALUES (:key, :value)
         ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        rusqlite::named_params! { ":key": RECOVERY, ":value": text },
    )?;
    Ok(())
}

/// The last recovery of this installation.
pub fn last_recovery(tx: &super::ReadTx<'_>) -> Result<Option<Recovery>, StoreError> {
    Ok(settings::get(tx, RECOVERY)?.and_then(|text| serde_json::from_str(&text).ok()))
}
