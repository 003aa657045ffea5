//! The inbox: one entry per thing that wants the person, and every transition of it.

mod history;

use chrono::{DateTime, Utc};
use rusqlite::{Row, named_params};
use serde::{Deserialize, Serialize};
use steward_rules::ids::EntryId;

pub use history::{Act, Undone, Which, mark, refuse, settle, undo};

use super::sql::{self, At};
use super::{ReadTx, StoreError, WriteTx, tasks};

/// What an entry is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Review,
    Question,
    Approval,
    Ruling,
    Suggestion,
    Stuck,
    Incident,
}

/// Where an entry lies. `Gone` is not the person's doing: its thing no longer wants anybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryState {
    Open,
    Done,
    Snoozed,
    Gone,
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryRow {
    pub id: EntryId,
    pub kind: Kind,
    pub subject: String,
    pub target: String,
    pub title: String,
    pub source: String,
    pub chip: String,
    pub state: EntryState,
    pub read: bool,
    pub saved: bool,
    pub snooze_until: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// An entry to be put in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEntry {
    pub kind: Kind,
    /// `task:42`: activity of it brings the entry back.
    pub subject: String,
    /// `review/7`: what opens.
    pub target: String,
    pub title: String,
    pub source: String,
    pub chip: String,
}

/// Which entries a page shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shelf {
    Open,
    /// What is open beside [`questions`], which stand before it.
    Rest,
    Snoozed,
    Saved,
    Done,
}

impl Shelf {
    /// Which rows lie on it; the same words hold for the counters.
    fn rows(self) -> &'static str {
        match self {
            Self::Open => "state = 'open'",
            Self::Rest => "state = 'open' AND kind <> 'question'",
            Self::Snoozed => "state = 'snoozed'",
            Self::Saved => "saved = 1 AND state <> 'gone'",
            Self::Done => "state = 'done'",
        }
    }
}

/// How many entries of one kind a shelf holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    pub kind: Kind,
    pub saved: bool,
    pub total: u32,
    pub unread: u32,
}

/// How many entries lie open, and how many of them nobody read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub total: u32,
    pub unread: u32,
}

const COLUMNS: &str = "id, kind, subject, target, title, source, chip, state, read, saved, snooze_until, created_at, updated_at";

/// Puts an entry in, once per kind and target; an entry that is there gets the new words and comes
/// back unread when they differ, or when it was gone.
pub fn upsert(tx: &WriteTx<'_>, new: &NewEntry) -> Result<EntryId, StoreError> {
    let id = tx.query_row(
        "INSERT INTO inbox (kind, subject, target, title, source, chip, created_at, updated_at)
         VALUES (:kind, :subject, :target, :title, :source, :chip, :now, :now)
         ON CONFLICT (kind, target) DO UPDATE SET
            read = CASE WHEN title = excluded.title AND chip = excluded.chip AND state <> 'gone' THEN read ELSE 0 END,
            state = CASE WHEN title = excluded.title AND chip = excluded.chip AND state <> 'gone' THEN state ELSE 'open' END,
            updated_at = CASE WHEN title = excluded.title AND chip = excluded.chip AND state <> 'gone'
                         THEN updated_at ELSE excluded.updated_at END,
            subject = excluded.subject, title = excluded.title, source = excluded.source, chip = excluded.chip
         RETURNING id",
        named_params! {
            ":kind": sql::to_word(&new.kind)?, ":subject": new.subject, ":target": new.target, ":title": new.title,
            ":source": new.source, ":chip": new.chip, ":now": At(tx.now()),
        },
        |row| row.get("id"),
    )?;
    topic(tx, id)?;
    Ok(EntryId(id))
}

/// Takes away the entry of a target, since nobody is wanted any more; false when there was none.
pub fn withdraw(tx: &WriteTx<'_>, kind: Kind, target: &str) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE inbox SET state = 'gone', updated_at = :now
         WHERE kind = :kind AND target = :target AND state <> 'gone'",
        named_params! { ":kind": sql::to_word(&kind)?, ":target": target, ":now": At(tx.now()) },
    )?;
    if changed > 0 {
        tx.topic("inbox")?;
    }
    Ok(changed > 0)
}

/// The targets of this kind that begin so and have an entry that is not gone.
pub fn targets(tx: &ReadTx<'_>, kind: Kind, prefix: &str) -> Result<Vec<String>, StoreError> {
    tx.query_all(
        "SELECT target FROM inbox
         WHERE kind = :kind AND state <> 'gone' AND substr(target, 1, length(:prefix)) = :prefix",
        named_params! { ":kind": sql::to_word(&kind)?, ":prefix": prefix },
        |row| row.get("target"),
    )
}

/// One entry.
pub fn get(tx: &ReadTx<'_>, id: EntryId) -> Result<Option<EntryRow>, StoreError> {
    tx.query_opt(
        &format!("SELECT {COLUMNS} FROM inbox WHERE id = :id AND state <> 'gone'"),
        named_params! { ":id": id.0 },
        read,
    )
}

/// The entry of a target, wherever it lies.
pub fn of_target(tx: &ReadTx<'_>, kind: Kind, target: &str) -> Result<Option<EntryRow>, StoreError> {
    tx.query_opt(
        &format!("SELECT {COLUMNS} FROM inbox WHERE kind = :kind AND target = :target"),
        named_params! { ":kind": sql::to_word(&kind)?, ":target": target },
        read,
    )
}

/// The targets of these kinds that begin so and whose entries are not gone.
pub fn open_targets(
    tx: &ReadTx<'_>,
    kinds: &[Kind],
    prefix: &str,
) -> Result<Vec<(Kind, String)>, StoreError> {
    tx.query_all(
        "SELECT kind, target FROM inbox
         WHERE kind IN (SELECT value FROM json_each(:kinds)) AND state <> 'gone'
           AND substr(target, 1, length(:prefix)) = :prefix
         ORDER BY target",
        named_params! { ":kinds": sql::to_json(&kinds)?, ":prefix": prefix },
        |row| Ok((sql::word(row, "kind")?, row.get("target")?)),
    )
}

/// One page, newest change first, from behind the entry `after`; a row more than `limit` says that
/// there is another page.
pub fn page(
    tx: &ReadTx<'_>,
    shelf: Shelf,
    query: Option<&str>,
    after: Option<EntryId>,
    limit: u32,
) -> Result<Vec<EntryRow>, StoreError> {
    let shelf = shelf.rows();
    let found = match query.filter(|text| !text.is_empty()) {
        Some(_) => "AND (title LIKE :pattern ESCAPE '\\' OR source LIKE :pattern ESCAPE '\\')",
        None => "AND :pattern IS NULL",
    };
    // A page goes on at a place in the order, so it costs the same wherever it stands.
    let start = match after {
        Some(_) => "AND (updated_at, id) < (SELECT updated_at, id FROM inbox WHERE id = :after)",
        None => "AND :after IS NULL",
    };
    tx.query_all(
        &format!(
            "SELECT {COLUMNS} FROM inbox WHERE {shelf} {found} {start}
             ORDER BY updated_at DESC, id DESC LIMIT :limit"
        ),
        named_params! {
            ":pattern": query.filter(|text| !text.is_empty()).map(tasks::like), ":after": after.map(|id| id.0),
            ":limit": limit.saturating_add(1),
        },
        read,
    )
}

/// The open questions, oldest first: they stand before everything else.
pub fn questions(tx: &ReadTx<'_>, query: Option<&str>, limit: u32) -> Result<Vec<EntryRow>, StoreError> {
    tx.query_all(
        &format!(
            "SELECT {COLUMNS} FROM inbox WHERE state = 'open' AND kind = 'question'
             AND (:pattern IS NULL OR title LIKE :pattern ESCAPE '\\' OR source LIKE :pattern ESCAPE '\\')
             ORDER BY created_at, id LIMIT :limit"
        ),
        named_params! { ":pattern": query.filter(|text| !text.is_empty()).map(tasks::like), ":limit": limit },
        read,
    )
}

/// How many entries lie in a state.
pub fn counts(tx: &ReadTx<'_>, state: EntryState) -> Result<Counts, StoreError> {
    tx.query_row(
        "SELECT coalesce(sum(total), 0) AS total, coalesce(sum(unread), 0) AS unread
         FROM inbox_counts WHERE state = :state",
        named_params! { ":state": sql::to_word(&state)? },
        |row| Ok(Counts { total: row.get("total")?, unread: row.get("unread")? }),
    )
}

/// What a shelf holds of what a search finds, kind by kind. Without a search no row is read.
pub fn tally(tx: &ReadTx<'_>, shelf: Shelf, query: Option<&str>) -> Result<Vec<Tally>, StoreError> {
    let shelf = shelf.rows();
    let pattern = query.filter(|text| !text.is_empty()).map(tasks::like);
    let sql = match pattern {
        Some(_) => format!(
            "SELECT kind, saved, count(*) AS total, sum(1 - read) AS unread FROM inbox
             WHERE {shelf} AND (title LIKE :pattern ESCAPE '\\' OR source LIKE :pattern ESCAPE '\\')
             GROUP BY kind, saved"
        ),
        None => format!(
            "SELECT kind, saved, sum(total) AS total, sum(unread) AS unread FROM inbox_counts
             WHERE {shelf} AND :pattern IS NULL GROUP BY kind, saved HAVING sum(total) > 0"
        ),
    };
    tx.query_all(&sql, named_params! { ":pattern": pattern }, |row| {
        Ok(Tally {
            kind: sql::word(row, "kind")?,
            saved: row.get("saved")?,
            total: row.get("total")?,
            unread: row.get("unread")?,
        })
    })
}

/// Brings back the snoozed entries whose time has come.
pub fn wake(tx: &WriteTx<'_>) -> Result<usize, StoreError> {
    let changed = tx.execute(
        "UPDATE inbox SET state = 'open', read = 0, snooze_until = NULL, updated_at = :now
         WHERE state = 'snoozed' AND snooze_until <= :now",
        named_params! { ":now": At(tx.now()) },
    )?;
    if changed > 0 {
        tx.topic("inbox")?;
    }
    Ok(changed)
}

/// True when a snoozed entry's time has come.
pub fn wake_due(tx: &ReadTx<'_>) -> Result<bool, StoreError> {
    tx.query_row(
        "SELECT EXISTS (SELECT 1 FROM inbox WHERE state = 'snoozed' AND snooze_until <= :now) AS due",
        named_params! { ":now": At(tx.now()) },
        |row| row.get("due"),
    )
}

/// Forgets done and gone entries that are older than `before` and not saved.
pub fn prune(tx: &WriteTx<'_>, before: DateTime<Utc>) -> Result<usize, StoreError> {
    tx.execute(
        "DELETE FROM inbox WHERE state IN ('done', 'gone') AND saved = 0 AND updated_at < :before",
        named_params! { ":before": At(before) },
    )
}

fn topic(tx: &WriteTx<'_>, id: i64) -> Result<(), StoreError> {
    tx.topic("inbox")?;
    tx.topic(&format!("entry:{id}"))
}

fn read(row: &Row<'_>) -> rusqlite::Result<EntryRow> {
    Ok(EntryRow {
        id: EntryId(row.get("id")?),
        kind: sql::word(row, "kind")?,
        subject: row.get("subject")?,
        target: row.get("target")?,
        title: row.get("title")?,
        source: row.get("source")?,
        chip: row.get("chip")?,
        state: sql::word(row, "state")?,
        read: row.get("read")?,
        saved: row.get("saved")?,
        snooze_until: sql::time_opt(row, "snooze_until")?,
        created_at: sql::time(row, "created_at")?,
        updated_at: sql::time(row, "updated_at")?,
    })
}
