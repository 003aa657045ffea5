//! The inbox: one entry per thing that wants the person, and every transition of it.

use chrono::{DateTime, Utc};
use rusqlite::{Row, named_params};
use serde::{Deserialize, Serialize};
use steward_rules::ids::EntryId;

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

/// What the person does to an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    Done,
    Reopen,
    Read,
    Unread,
    Save,
    Unsave,
    Snooze { until: DateTime<Utc> },
}

/// How many entries lie open, and how many of them nobody read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub total: u32,
    pub unread: u32,
}

/// What a transition moves: all of an entry that the person can change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Face {
    state: EntryState,
    read: bool,
    saved: bool,
    snooze_until: Option<String>,
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

/// Puts the entry of a target into Done for good, with a last word as its chip: what it asked for has
/// happened and is not undone here. False when there is no entry.
pub fn settle(tx: &WriteTx<'_>, kind: Kind, target: &str, chip: &str) -> Result<bool, StoreError> {
    let Some(entry) = of_target(tx, kind, target)? else { return Ok(false) };
    tx.execute(
        "UPDATE inbox SET state = 'done', read = 1, snooze_until = NULL, chip = :chip, updated_at = :now
         WHERE id = :id",
        named_params! { ":id": entry.id.0, ":chip": chip, ":now": At(tx.now()) },
    )?;
    tx.execute("UPDATE inbox_history SET undone = 1 WHERE entry = :id", named_params! { ":id": entry.id.0 })?;
    topic(tx, entry.id.0)?;
    Ok(true)
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
    let shelf = match shelf {
        Shelf::Open => "state = 'open'",
        Shelf::Rest => "state = 'open' AND kind <> 'question'",
        Shelf::Snoozed => "state = 'snoozed'",
        Shelf::Saved => "saved = 1 AND state <> 'gone'",
        Shelf::Done => "state = 'done'",
    };
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
            ":limit": limit,
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

/// The counters of a shelf's state.
pub fn counts(tx: &ReadTx<'_>, state: EntryState) -> Result<Counts, StoreError> {
    tx.query_row(
        "SELECT total, unread FROM inbox_counts WHERE state = :state",
        named_params! { ":state": sql::to_word(&state)? },
        |row| Ok(Counts { total: row.get("total")?, unread: row.get("unread")? }),
    )
}

/// Does to an entry what the person asks, and keeps the step for undo; `None` when it is not there.
pub fn mark(tx: &WriteTx<'_>, id: EntryId, act: Act) -> Result<Option<EntryRow>, StoreError> {
    let Some(entry) = get(tx, id)? else { return Ok(None) };
    let before = face(&entry);
    let mut after = before.clone();
    match act {
        Act::Done => {
            after.state = EntryState::Done;
            after.read = true;
            after.snooze_until = None;
        }
        Act::Reopen => {
            after.state = EntryState::Open;
            after.snooze_until = None;
        }
        Act::Read => after.read = true,
        Act::Unread => after.read = false,
        Act::Save => after.saved = true,
        Act::Unsave => after.saved = false,
        Act::Snooze { until } => {
            after.state = EntryState::Snoozed;
            after.snooze_until = Some(sql::utc_text(until));
        }
    }
    if after != before {
        put(tx, id, &after)?;
        tx.insert(
            "INSERT INTO inbox_history (entry, at, before, after) VALUES (:entry, :at, :before, :after)",
            named_params! {
                ":entry": id.0, ":at": At(tx.now()), ":before": sql::to_json(&before)?, ":after": sql::to_json(&after)?,
            },
        )?;
        topic(tx, id.0)?;
    }
    get(tx, id)
}

/// Takes back the newest transition that is not taken back yet, of one entry or of all; gives the
/// entry and what was undone.
pub fn undo(tx: &WriteTx<'_>, id: Option<EntryId>) -> Result<Option<(EntryRow, String)>, StoreError> {
    let newest = tx.query_opt(
        "SELECT h.id, h.entry, h.before, h.after FROM inbox_history h JOIN inbox i ON i.id = h.entry
         WHERE h.undone = 0 AND i.state <> 'gone' AND (:entry IS NULL OR h.entry = :entry)
         ORDER BY h.id DESC LIMIT 1",
        named_params! { ":entry": id.map(|id| id.0) },
        |row| {
            Ok((
                row.get::<_, i64>("id")?,
                EntryId(row.get("entry")?),
                sql::json::<Face>(row, "before")?,
                sql::json::<Face>(row, "after")?,
            ))
        },
    )?;
    let Some((step, entry, before, after)) = newest else { return Ok(None) };
    put(tx, entry, &before)?;
    tx.execute("UPDATE inbox_history SET undone = 1 WHERE id = :id", named_params! { ":id": step })?;
    topic(tx, entry.0)?;
    Ok(get(tx, entry)?.map(|row| (row, named(&before, &after).to_owned())))
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

/// What a transition did, in one word.
fn named(before: &Face, after: &Face) -> &'static str {
    if before.state != after.state {
        return match after.state {
            EntryState::Done => "done",
            EntryState::Open => "reopened",
            EntryState::Snoozed => "snoozed",
            EntryState::Gone => "gone",
        };
    }
    match (before.read != after.read, before.saved != after.saved) {
        (_, true) if after.saved => "saved",
        (_, true) => "unsaved",
        (true, false) if after.read => "read",
        (true, false) => "unread",
        (false, false) => "snoozed",
    }
}

fn face(entry: &EntryRow) -> Face {
    Face {
        state: entry.state,
        read: entry.read,
        saved: entry.saved,
        snooze_until: entry.snooze_until.map(sql::utc_text),
    }
}

fn put(tx: &WriteTx<'_>, id: EntryId, face: &Face) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE inbox SET state = :state, read = :read, saved = :saved, snooze_until = :until WHERE id = :id",
        named_params! {
            ":state": sql::to_word(&face.state)?, ":read": face.read, ":saved": face.saved,
            ":until": face.snooze_until, ":id": id.0,
        },
    )?;
    Ok(())
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
