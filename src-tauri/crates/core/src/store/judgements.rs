//! What the watcher seat said of panes and of prompts.

use chrono::{DateTime, Utc};
use rusqlite::{Row, named_params};
use steward_rules::ids::NeedId;
use steward_rules::questions::watcher::Says;

use super::sql::{self, At};
use super::{ReadTx, StoreError, WriteTx};

/// What was said of one member's pane last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaneRow {
    /// Hash of what was judged.
    pub shown: String,
    pub says: Says,
    pub topic: Option<String>,
    /// The seat's own reason.
    pub why: Option<String>,
}

/// Advice about one prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdviceRow {
    /// Hash of the prompt.
    pub seen: String,
    pub says: Says,
    pub why: Option<String>,
}

/// Keeps what was said of a member's pane.
pub fn put_pane(tx: &WriteTx<'_>, agent_key: &str, row: &PaneRow) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO pane_judgements (agent_key, shown, says, topic, why, at)
         VALUES (:key, :shown, :says, :topic, :why, :now)
         ON CONFLICT (agent_key) DO UPDATE SET shown = excluded.shown, says = excluded.says,
            topic = excluded.topic, why = excluded.why, at = excluded.at",
        named_params! {
            ":key": agent_key, ":shown": row.shown, ":says": row.says.as_str(), ":topic": row.topic,
            ":why": row.why, ":now": At(tx.now()),
        },
    )?;
    tx.topic("roster")
}

/// What was said of a member's pane last.
pub fn pane(tx: &ReadTx<'_>, agent_key: &str) -> Result<Option<PaneRow>, StoreError> {
    tx.query_opt(
        "SELECT shown, says, topic, why FROM pane_judgements WHERE agent_key = :key",
        named_params! { ":key": agent_key },
        |row: &Row<'_>| {
            Ok(PaneRow {
                shown: row.get("shown")?,
                says: sql::word(row, "says")?,
                topic: row.get("topic")?,
                why: row.get("why")?,
            })
        },
    )
}

/// Forgets a member that is on the roster no more.
pub fn forget_pane(tx: &WriteTx<'_>, agent_key: &str) -> Result<(), StoreError> {
    tx.execute("DELETE FROM pane_judgements WHERE agent_key = :key", named_params! { ":key": agent_key })?;
    Ok(())
}

/// Keeps advice about a question's prompt.
pub fn put_advice(tx: &WriteTx<'_>, need: NeedId, row: &AdviceRow) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO need_advice (need, seen, says, why, at) VALUES (:need, :seen, :says, :why, :now)
         ON CONFLICT (need) DO UPDATE SET seen = excluded.seen, says = excluded.says, why = excluded.why,
            at = excluded.at",
        named_params! {
            ":need": need.0, ":seen": row.seen, ":says": row.says.as_str(), ":why": row.why,
            ":now": At(tx.now()),
        },
    )?;
    super::needs::topic(tx, need)
}

/// The advice about a question's prompt, and when it was given.
pub fn advice(tx: &ReadTx<'_>, need: NeedId) -> Result<Option<(AdviceRow, DateTime<Utc>)>, StoreError> {
    tx.query_opt(
        "SELECT seen, says, why, at FROM need_advice WHERE need = :need",
        named_params! { ":need": need.0 },
        |row: &Row<'_>| {
            let advice =
                AdviceRow { seen: row.get("seen")?, says: sql::word(row, "says")?, why: row.get("why")? };
            Ok((advice, sql::time(row, "at")?))
        },
    )
}
