//! Stopping a running review from outside, and why.

use std::sync::{Arc, Mutex, PoisonError};

use steward_rules::review::lifecycle::EndReason;
use tokio_util::sync::CancellationToken;

/// Why a review was stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopWhy {
    Person,
    Paused(String),
    SwitchedOff,
    /// A cap over all agents was reached while it ran.
    SpendCap,
    /// The process is closing.
    Closing,
}

impl StopWhy {
    pub fn reason(&self) -> EndReason {
        match self {
            Self::Person | Self::Paused(_) | Self::SwitchedOff | Self::Closing => EndReason::Cancelled,
            Self::SpendCap => EndReason::Budget,
        }
    }

    pub fn detail(&self) -> String {
        match self {
            Self::Person => "cancelled by the person".to_owned(),
            Self::Paused(why) => format!("Steward was paused: {why}"),
            Self::SwitchedOff => "reviews were switched off".to_owned(),
            Self::SpendCap => "the spend cap over all agents was reached".to_owned(),
            Self::Closing => "Steward was closed while it ran".to_owned(),
        }
    }
}

/// The handle by which one review is stopped. The first reason stays.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    token: CancellationToken,
    why: Arc<Mutex<Option<StopWhy>>>,
}

impl Stop {
    pub fn stop(&self, why: StopWhy) {
        self.why.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
        self.token.cancel();
    }

    pub fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Why it was stopped, if it was.
    pub fn why(&self) -> Option<StopWhy> {
        self.why.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
