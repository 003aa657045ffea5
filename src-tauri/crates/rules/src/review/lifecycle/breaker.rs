//! The breaker: three crashes or timeouts in a row pause automatic reviews.

use serde::{Deserialize, Serialize};

use super::{EndReason, Trigger};

/// Crashes and timeouts in a row that pause automatic reviews.
pub const PAUSES_AFTER: u32 = 3;

/// How many reviews in a row crashed or timed out. It persists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breaker {
    pub consecutive: u32,
}

/// How a review went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The seat submitted a valid verdict, whatever it says.
    Completed(Trigger),
    Ended(EndReason),
}

impl Breaker {
    pub fn is_open(self) -> bool {
        self.consecutive >= PAUSES_AFTER
    }

    /// The breaker after one more review. Once open, only a manual review that completes lifts it.
    pub fn after(self, ending: Ending) -> Self {
        match ending {
            Ending::Ended(EndReason::Crashed | EndReason::Timeout) => {
                Self { consecutive: self.consecutive.saturating_add(1) }
            }
            Ending::Ended(EndReason::Budget | EndReason::Cancelled | EndReason::ScopeViolation) => self,
            Ending::Completed(Trigger::Manual) => Self::default(),
            Ending::Completed(Trigger::Automatic) if self.is_open() => self,
            Ending::Completed(Trigger::Automatic) => Self::default(),
        }
    }
}
