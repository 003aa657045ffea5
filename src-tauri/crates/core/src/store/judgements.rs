//! What the watcher seat said of panes and of prompts: the last of each, small values among the settings.

use chrono::{DateTime, Utc};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use steward_rules::ids::NeedId;
use steward_rules::questions::watcher::Says;

use super::{ReadTx, StoreError, WriteTx, needs, settings};

/// What was said of one member's pane last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaneRow {
    /// Hash of what was judged.
    pub shown: String,
    pub says: Says,
    pub topic: Option<String>,
    /// The seat's own reason.
    pub why: Option<String>,
}

/// Advice about one prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdviceRow {
    /// Hash of the prompt.
    pub seen: String,
    pub says: Says,
    pub why: Option<String>,
}

fn pane_key(agent_key: &str) -> String {
    format!("pane-judged:{agent_key}")
}

fn advice_key(need: NeedId) -> String {
    format!("need-advice:{need}")
}

fn put<T: Serialize>(tx: &WriteTx<'_>, key: &str, value: &T) -> Result<(), StoreError> {
    let text = serde_json::to_string(value).map_err(|error| StoreError::Value(error.to_string()))?;
    settings::set(tx, key, &text)
}

/// What cannot be read was never said: it is judged again.
fn read<T: DeserializeOwned>(tx: &ReadTx<'_>, key: &str) -> Result<Option<T>, StoreError> {
    Ok(settings::get(tx, key)?.and_then(|text| serde_json::from_str(&text).ok()))
}

/// Keeps what was said of a member's pane.
pub fn put_pane(tx: &WriteTx<'_>, agent_key: &str, row: &PaneRow) -> Result<(), StoreError> {
    put(tx, &pane_key(agent_key), row)?;
    tx.topic("roster")
}

/// What was said of a member's pane last.
pub fn pane(tx: &ReadTx<'_>, agent_key: &str) -> Result<Option<PaneRow>, StoreError> {
    read(tx, &pane_key(agent_key))
}

/// Forgets a member that is on the roster no more.
pub fn forget_pane(tx: &WriteTx<'_>, agent_key: &str) -> Result<(), StoreError> {
    settings::remove(tx, &pane_key(agent_key)).map(drop)
}

/// Keeps advice about a question's prompt, with the time of this transaction.
pub fn put_advice(tx: &WriteTx<'_>, need: NeedId, row: &AdviceRow) -> Result<(), StoreError> {
    put(tx, &advice_key(need), &(row, tx.now()))?;
    needs::topic(tx, need)
}

/// The advice about a question's prompt, and when it was given.
pub fn advice(tx: &ReadTx<'_>, need: NeedId) -> Result<Option<(AdviceRow, DateTime<Utc>)>, StoreError> {
    read(tx, &advice_key(need))
}

/// Forgets the advice about a question that is open no more.
pub fn forget_advice(tx: &WriteTx<'_>, need: NeedId) -> Result<(), StoreError> {
    settings::remove(tx, &advice_key(need)).map(drop)
}
