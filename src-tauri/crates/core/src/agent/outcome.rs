//! How a run ended, and what is said while it runs.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::reads::ReadSpan;
use crate::sandbox::KillReport;

/// What the agent reported of its cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// `None`: cost unknown.
    pub usd: Option<f64>,
    pub tokens: u64,
    pub turns: u32,
}

/// Which clock ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeoutKind {
    Wall,
    Idle,
}

/// Which allowance was used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetKind {
    Usd,
    Tokens,
    Turns,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeatEnd {
    /// Exit 0, no error of its own, server connected, and this valid submission in the inbox.
    Submitted {
        submission: Vec<u8>,
    },
    Timeout {
        which: TimeoutKind,
    },
    Budget {
        which: BudgetKind,
    },
    Cancelled,
    ScopeViolation {
        detail: String,
    },
    /// The provider takes no more from this account until then; `None` when it named no time.
    Limited {
        until: Option<DateTime<Utc>>,
        detail: String,
    },
    /// `stderr` is scrubbed, escaped and short.
    Crashed {
        reason: String,
        stderr: String,
    },
}

/// A finished run.
#[derive(Debug, Clone, PartialEq)]
pub struct SeatOutcome {
    pub end: SeatEnd,
    pub usage: Usage,
    /// What the host saw it read.
    pub reads: Vec<ReadSpan>,
    /// Verified: nothing of the seat runs any more, or the survivors.
    pub kill: KillReport,
}

/// What happens while a seat runs. Names and paths come from an agent: untrusted.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    Started { pid: i32 },
    Ready { model: Option<String> },
    Tool { name: String, subject: Option<String> },
    Note { text: String },
    Usage(Usage),
    Retry { attempt: u32, of: u32, status: Option<u32> },
}
