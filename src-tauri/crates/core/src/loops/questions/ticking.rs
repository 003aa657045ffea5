//! What the last tick of the watch came to, for every process to see.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use steward_rules::questions::escalation::Tick;

use crate::store::{ReadTx, StoreError, WriteTx, settings};

const KEY: &str = "questions.tick";

/// The last tick.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastTick {
    pub at: DateTime<Utc>,
    pub line: String,
    /// No member could be captured.
    pub resolution_fail: bool,
    pub capture_failed: usize,
    /// Those of them that are not absent on purpose.
    #[serde(default)]
    pub flagged: usize,
    /// Faults of the roster's files.
    pub faults: Vec<String>,
}

/// Keeps what a tick came to.
pub(super) fn keep_tick(
    tx: &WriteTx<'_>,
    tick: &Tick,
    flagged: usize,
    faults: &[String],
) -> Result<(), StoreError> {
    let (resolution_fail, capture_failed) = match tick {
        Tick::ResolutionFail => (true, 0),
        Tick::Counts { capture_failed, .. } => (false, *capture_failed),
    };
    let last = LastTick {
        at: tx.now(),
        line: tick.line(),
        resolution_fail,
        capture_failed,
        flagged,
        faults: faults.to_vec(),
    };
    let text = serde_json::to_string(&last).map_err(|error| StoreError::Value(error.to_string()))?;
    settings::set(tx, KEY, &text)?;
    tx.topic("roster")?;
    tx.topic("status")
}

/// The last tick, if there was one.
pub fn last_tick(tx: &ReadTx<'_>) -> Result<Option<LastTick>, StoreError> {
    Ok(settings::get(tx, KEY)?.and_then(|text| serde_json::from_str(&text).ok()))
}
