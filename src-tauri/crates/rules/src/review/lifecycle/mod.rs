//! A review's life: its states, who may start one and when, and what ends it.

mod automatic;
mod breaker;
mod start;
mod usage;

pub use automatic::{AutomaticFacts, NotAutomatic, RunState, may_run_by_itself};
pub use breaker::{Breaker, Ending, PAUSES_AFTER};
pub use start::{
    Caller, PastReview, Refusal, SeatFile, ShaAsked, StartFacts, StartTask, may_start, next_slot,
};
pub use usage::{Limit, Spend, SpendCaps, Usage};

use chrono::Duration;
use serde::{Deserialize, Serialize};

use super::gate::{self, GateId, GateTable};
use super::settings::ReviewSettings;
use super::verdict::{StaleReason, Verdict};

/// How often the gates of a held review are computed again.
pub const HELD_AGAIN_EVERY: Duration = Duration::seconds(60);

/// Invalid submissions after which a review ends as crashed.
pub const INVALID_SUBMISSIONS: u32 = 3;

/// Where a review stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum ReviewState {
    Queued,
    Digesting,
    Running,
    Submitted,
    Held,
    Published,
    Ended,
}

impl ReviewState {
    pub const ALL: [Self; 7] = [
        Self::Queued,
        Self::Digesting,
        Self::Running,
        Self::Submitted,
        Self::Held,
        Self::Published,
        Self::Ended,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Digesting => "digesting",
            Self::Running => "running",
            Self::Submitted => "submitted",
            Self::Held => "held",
            Self::Published => "published",
            Self::Ended => "ended",
        }
    }

    /// True while a verdict may still come of it; held counts.
    pub fn is_open(self) -> bool {
        match self {
            Self::Queued | Self::Digesting | Self::Running | Self::Submitted | Self::Held => true,
            Self::Published | Self::Ended => false,
        }
    }

    /// True when the seat handed in a valid verdict.
    pub fn seat_finished(self) -> bool {
        match self {
            Self::Submitted | Self::Held | Self::Published => true,
            Self::Queued | Self::Digesting | Self::Running | Self::Ended => false,
        }
    }
}

/// Why a review ended without a verdict of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum EndReason {
    Timeout,
    Budget,
    Crashed,
    Cancelled,
    ScopeViolation,
}

impl EndReason {
    pub const ALL: [Self; 5] =
        [Self::Timeout, Self::Budget, Self::Crashed, Self::Cancelled, Self::ScopeViolation];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Budget => "budget",
            Self::Crashed => "crashed",
            Self::Cancelled => "cancelled",
            Self::ScopeViolation => "scope_violation",
        }
    }
}

/// Who asked for a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum Trigger {
    Manual,
    Automatic,
}

/// One step of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    Digest,
    Run,
    Submit,
    Hold,
    Publish,
    End(EndReason),
}

/// A step that the state does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a review that is {} cannot take the step {step:?}", state.as_str())]
pub struct IllegalStep {
    pub state: ReviewState,
    pub step: Step,
}

/// The state after a step. Nothing leaves `published` or `ended`, and a held review spends neither
/// minutes nor money, so that only a cancel ends it.
pub fn advance(state: ReviewState, step: Step) -> Result<ReviewState, IllegalStep> {
    use EndReason::{Budget, Cancelled, Crashed, ScopeViolation, Timeout};
    match (state, step) {
        (ReviewState::Queued, Step::Digest) => Ok(ReviewState::Digesting),
        (ReviewState::Digesting, Step::Run) => Ok(ReviewState::Running),
        (ReviewState::Running, Step::Submit) => Ok(ReviewState::Submitted),
        (ReviewState::Submitted, Step::Hold) => Ok(ReviewState::Held),
        (ReviewState::Submitted | ReviewState::Held, Step::Publish) => Ok(ReviewState::Published),
        (ReviewState::Running, Step::End(Timeout | Budget | Crashed | Cancelled | ScopeViolation))
        | (ReviewState::Digesting, Step::End(Timeout | Crashed | Cancelled))
        | (ReviewState::Queued, Step::End(Crashed | Cancelled))
        // The check afterwards may still find that the run was no success or left its bounds.
        | (ReviewState::Submitted, Step::End(Crashed | Cancelled | ScopeViolation))
        | (ReviewState::Held, Step::End(Cancelled)) => Ok(ReviewState::Ended),
        (
            ReviewState::Queued
            | ReviewState::Digesting
            | ReviewState::Running
            | ReviewState::Submitted
            | ReviewState::Held
            | ReviewState::Published
            | ReviewState::Ended,
            Step::Digest | Step::Run | Step::Submit | Step::Hold | Step::Publish | Step::End(_),
        ) => Err(IllegalStep { state, step }),
    }
}

/// What becomes of a review when the runtime starts again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterRestart {
    /// It is taken up where it stood; a digest is made again.
    GoesOn,
    /// Its seat died with the runtime.
    Crashed,
    /// It was over.
    Over,
}

pub fn after_restart(state: ReviewState) -> AfterRestart {
    match state {
        ReviewState::Queued | ReviewState::Digesting | ReviewState::Submitted | ReviewState::Held => {
            AfterRestart::GoesOn
        }
        ReviewState::Running => AfterRestart::Crashed,
        ReviewState::Published | ReviewState::Ended => AfterRestart::Over,
    }
}

/// What is done with a submitted or held review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// All gates are decided: publish under this cap.
    Publish { cap: Verdict },
    /// Wait for these gates.
    Hold { undecided: Vec<GateId> },
    /// Keep it unpublished: it no longer speaks of the task as it is.
    Stale { reason: StaleReason },
    /// Reviews were switched off meanwhile: it ends as cancelled.
    Cancel,
}

/// Decides over a submitted or held review from the newest gate table. Staleness is looked at first,
/// so that nothing is published about a head that moved.
pub fn settle(table: &GateTable, stale: Option<StaleReason>, settings: &ReviewSettings) -> Outcome {
    if let Some(reason) = stale {
        return Outcome::Stale { reason };
    }
    if !settings.is_on() {
        return Outcome::Cancel;
    }
    match gate::cap(table) {
        Some(cap) => Outcome::Publish { cap },
        None => Outcome::Hold { undecided: gate::undecided(table) },
    }
}
