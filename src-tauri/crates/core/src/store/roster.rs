//! Each member of the roster as it was last seen, and how often a condition was said.

use chrono::{DateTime, Utc};
use rusqlite::{Row, named_params};
use serde::{Deserialize, Serialize};

use super::sql::{self, At};
use super::{ReadTx, StoreError, WriteTx};

/// What a member is doing, as far as can be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberState {
    Working,
    Waiting,
    Idle,
    Error,
    Unwatchable,
    Unknown,
}

impl MemberState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Waiting => "waiting",
            Self::Idle => "idle",
            Self::Error => "error",
            Self::Unwatchable => "unwatchable",
            Self::Unknown => "unknown",
        }
    }
}

/// One member as it was last seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberRow {
    pub agent_key: String,
    pub agent: String,
    pub host: String,
    pub pane: Option<String>,
    pub state: MemberState,
    pub detail: String,
    /// Empty captures in a row.
    pub empty: u32,
    /// The pane's last activity when it was captured, in seconds since 1970.
    pub activity: Option<i64>,
    pub program: Option<String>,
    pub captured_at: Option<DateTime<Utc>>,
    pub since: DateTime<Utc>,
    pub seen_at: DateTime<Utc>,
}

const COLUMNS: &str =
    "agent_key, agent, host, pane, state, detail, empty, activity, program, captured_at, since, seen_at";

/// Keeps what was seen of a member.
pub fn put(tx: &WriteTx<'_>, member: &MemberRow) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO roster_states (agent_key, agent, host, pane, state, detail, empty, activity, program,
            captured_at, since, seen_at)
         VALUES (:key, :agent, :host, :pane, :state, :detail, :empty, :activity, :program, :captured, :since, :seen)
         ON CONFLICT (agent_key) DO UPDATE SET agent = excluded.agent, host = excluded.host, pane = excluded.pane,
            state = excluded.state, detail = excluded.detail, empty = excluded.empty,
            activity = excluded.activity, program = excluded.program, captured_at = excluded.captured_at,
            since = excluded.since, seen_at = excluded.seen_at",
        named_params! {
            ":key": member.agent_key, ":agent": member.agent, ":host": member.host, ":pane": member.pane,
            ":state": member.state.as_str(), ":detail": member.detail, ":empty": member.empty,
            ":activity": member.activity, ":program": member.program,
            ":captured": member.captured_at.map(At), ":since": At(member.since), ":seen": At(member.seen_at),
        },
    )?;
    Ok(())
}

/// Every member that was seen.
pub fn all(tx: &ReadTx<'_>) -> Result<Vec<MemberRow>, StoreError> {
    tx.query_all(&format!("SELECT {COLUMNS} FROM roster_states ORDER BY agent_key"), [], read)
}

/// Forgets a member that is on the roster no more.
pub fn forget(tx: &WriteTx<'_>, agent_key: &str) -> Result<(), StoreError> {
    tx.execute("DELETE FROM roster_states WHERE agent_key = :key", named_params! { ":key": agent_key })?;
    Ok(())
}

/// How often a condition was said.
pub fn said(tx: &ReadTx<'_>, key: &str) -> Result<u32, StoreError> {
    let count = tx.query_opt(
        "SELECT count FROM escalations WHERE key = :key",
        named_params! { ":key": key },
        |row| row.get("count"),
    )?;
    Ok(count.unwrap_or(0))
}

/// Notes that a condition is said once more, and gives how often that was, and since when.
pub fn say(tx: &WriteTx<'_>, key: &str) -> Result<(u32, DateTime<Utc>), StoreError> {
    tx.query_row(
        "INSERT INTO escalations (key, count, first_at, last_at) VALUES (:key, 1, :now, :now)
         ON CONFLICT (key) DO UPDATE SET count = count + 1, last_at = excluded.last_at
         RETURNING count, first_at",
        named_params! { ":key": key, ":now": At(tx.now()) },
        |row| Ok((row.get("count")?, sql::time(row, "first_at")?)),
    )
}

/// Begins anew: the condition was seen cleared. False when it was never said.
pub fn cleared(tx: &WriteTx<'_>, key: &str) -> Result<bool, StoreError> {
    Ok(tx.execute("DELETE FROM escalations WHERE key = :key", named_params! { ":key": key })? > 0)
}

fn read(row: &Row<'_>) -> rusqlite::Result<MemberRow> {
    Ok(MemberRow {
        agent_key: row.get("agent_key")?,
        agent: row.get("agent")?,
        host: row.get("host")?,
        pane: row.get("pane")?,
        state: sql::word(row, "state")?,
        detail: row.get("detail")?,
        empty: row.get("empty")?,
        activity: row.get("activity")?,
        program: row.get("program")?,
        captured_at: sql::time_opt(row, "captured_at")?,
        since: sql::time(row, "since")?,
        seen_at: sql::time(row, "seen_at")?,
    })
}
