//! What the person did to entries, step by step, and how a step is taken back (desktop.md 2).

use chrono::{DateTime, Utc};
use rusqlite::named_params;
use serde::{Deserialize, Serialize};
use steward_rules::ids::EntryId;

use super::{EntryRow, EntryState, Kind, get, of_target, topic};
use crate::store::sql::{self, At};
use crate::store::{StoreError, WriteTx};

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

/// What a transition moves: all of an entry that the person can change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Face {
    state: EntryState,
    read: bool,
    saved: bool,
    snooze_until: Option<String>,
    /// The last word of a no to what the entry suggested: taking the step back takes the no back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    no: Option<String>,
}

/// Which step is taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// The newest of all that stands.
    Newest,
    /// The newest of this entry that stands.
    Of(EntryId),
    /// Exactly this one.
    Step(i64),
}

/// What became of taking a step back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undone {
    /// There is no such step, or none that stands.
    Nothing,
    /// A newer step moved the same and stands; what that was.
    Newer(&'static str),
    Back {
        entry: Box<EntryRow>,
        /// What was undone, in one word.
        what: &'static str,
        /// It was a no to what the entry suggests, which is the caller's to take back.
        was_no: bool,
    },
}

struct Step {
    id: i64,
    entry: EntryId,
    before: Face,
    after: Face,
}

/// Does to an entry what the person asks; the entry and the step that undoes it, which is `None` when nothing
/// changed. `None` when the entry is not there.
pub fn mark(tx: &WriteTx<'_>, id: EntryId, act: Act) -> Result<Option<(EntryRow, Option<i64>)>, StoreError> {
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
    let mut step = None;
    if after != before {
        put(tx, id, &after)?;
        step = Some(keep(tx, id, &before, &after)?);
        topic(tx, id.0)?;
    }
    Ok(get(tx, id)?.map(|row| (row, step)))
}

/// Puts the entry of a target into Done for good, with a last word as its chip: what it asked for has
/// happened and is not undone here. False when there is no entry.
pub fn settle(tx: &WriteTx<'_>, kind: Kind, target: &str, chip: &str) -> Result<bool, StoreError> {
    let Some(entry) = of_target(tx, kind, target)? else { return Ok(false) };
    end(tx, entry.id, chip)?;
    Ok(true)
}

/// The person said no to what an entry suggests: like [`settle`], but as a step that can be taken back. The
/// step; `None` when there is no entry.
pub fn refuse(tx: &WriteTx<'_>, kind: Kind, target: &str, chip: &str) -> Result<Option<i64>, StoreError> {
    let Some(entry) = of_target(tx, kind, target)? else { return Ok(None) };
    let before = face(&entry);
    let after = Face {
        state: EntryState::Done,
        read: true,
        snooze_until: None,
        no: Some(chip.to_owned()),
        ..before.clone()
    };
    end(tx, entry.id, chip)?;
    Ok(Some(keep(tx, entry.id, &before, &after)?))
}

/// Takes a step back: of what it moved, all that is still as it left it. The rest has changed since, and stays.
pub fn undo(tx: &WriteTx<'_>, which: Which) -> Result<Undone, StoreError> {
    let Some(step) = find(tx, which)? else { return Ok(Undone::Nothing) };
    if let Which::Step(_) = which {
        for newer in after(tx, &step)? {
            if newer.moves_what(&step) {
                return Ok(Undone::Newer(named(&newer.before, &newer.after)));
            }
        }
    }
    let Some(entry) = get(tx, step.entry)? else { return Ok(Undone::Nothing) };
    let mut now = face(&entry);
    if now.state == step.after.state {
        now.state = step.before.state;
        now.snooze_until.clone_from(&step.before.snooze_until);
    }
    if now.read == step.after.read {
        now.read = step.before.read;
    }
    if now.saved == step.after.saved {
        now.saved = step.before.saved;
    }
    put(tx, step.entry, &now)?;
    tx.execute("UPDATE inbox_history SET undone = 1 WHERE id = :id", named_params! { ":id": step.id })?;
    topic(tx, step.entry.0)?;
    Ok(get(tx, step.entry)?.map_or(Undone::Nothing, |entry| Undone::Back {
        entry: Box::new(entry),
        what: named(&step.before, &step.after),
        was_no: step.after.no.is_some(),
    }))
}

impl Step {
    /// True when it changed something that `older` had changed.
    fn moves_what(&self, older: &Self) -> bool {
        let (a, b) = (moved(&self.before, &self.after), moved(&older.before, &older.after));
        a.iter().zip(b).any(|(one, other)| *one && other)
    }
}

/// Place, reading and keeping: which of them a step moved.
fn moved(before: &Face, after: &Face) -> [bool; 3] {
    [
        before.state != after.state || before.snooze_until != after.snooze_until || after.no.is_some(),
        before.read != after.read,
        before.saved != after.saved,
    ]
}

fn find(tx: &WriteTx<'_>, which: Which) -> Result<Option<Step>, StoreError> {
    let (entry, step) = match which {
        Which::Newest => (None, None),
        Which::Of(entry) => (Some(entry.0), None),
        Which::Step(step) => (None, Some(step)),
    };
    tx.query_opt(
        "SELECT h.id, h.entry, h.before, h.after FROM inbox_history h JOIN inbox i ON i.id = h.entry
         WHERE h.undone = 0 AND i.state <> 'gone' AND (:entry IS NULL OR h.entry = :entry)
           AND (:step IS NULL OR h.id = :step)
         ORDER BY h.id DESC LIMIT 1",
        named_params! { ":entry": entry, ":step": step },
        read,
    )
}

/// The steps of the same entry that came after this one and stand, newest first.
fn after(tx: &WriteTx<'_>, step: &Step) -> Result<Vec<Step>, StoreError> {
    tx.query_all(
        "SELECT id, entry, before, after FROM inbox_history
         WHERE entry = :entry AND id > :id AND undone = 0 ORDER BY id DESC",
        named_params! { ":entry": step.entry.0, ":id": step.id },
        read,
    )
}

fn end(tx: &WriteTx<'_>, id: EntryId, chip: &str) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE inbox SET state = 'done', read = 1, snooze_until = NULL, chip = :chip, updated_at = :now
         WHERE id = :id",
        named_params! { ":id": id.0, ":chip": chip, ":now": At(tx.now()) },
    )?;
    tx.execute("UPDATE inbox_history SET undone = 1 WHERE entry = :id", named_params! { ":id": id.0 })?;
    topic(tx, id.0)
}

fn keep(tx: &WriteTx<'_>, id: EntryId, before: &Face, after: &Face) -> Result<i64, StoreError> {
    tx.query_row(
        "INSERT INTO inbox_history (entry, at, before, after) VALUES (:entry, :at, :before, :after) RETURNING id",
        named_params! {
            ":entry": id.0, ":at": At(tx.now()), ":before": sql::to_json(before)?, ":after": sql::to_json(after)?,
        },
        |row| row.get("id"),
    )
}

/// What a transition did, in one word.
fn named(before: &Face, after: &Face) -> &'static str {
    if after.no.is_some() {
        return "dismissed";
    }
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
        no: None,
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

fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Step> {
    Ok(Step {
        id: row.get("id")?,
        entry: EntryId(row.get("entry")?),
        before: sql::json::<Face>(row, "before")?,
        after: sql::json::<Face>(row, "after")?,
    })
}
