//! Why a running task is to end, said once.

use std::sync::{Arc, OnceLock};

use steward_rules::engine::retry::TaskEnd;
use steward_rules::wording::task as say;
use tokio_util::sync::CancellationToken;

/// Why a task is ended from outside. None of these spends an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StopWhy {
    Preempted,
    Paused(String),
    SwitchedOff,
    SpendCap,
    /// Its pull request or issue is not open any more.
    Closed,
    /// Somebody pushed since: what is made of the old head is of no use.
    Moved,
    /// The runtime closes: the task starts anew with the next one.
    Closing,
}

impl StopWhy {
    /// How the task ends; `None` when it is put back.
    pub fn end(&self) -> Option<TaskEnd> {
        match self {
            Self::Preempted => Some(TaskEnd::Preempted),
            Self::Paused(_) | Self::SwitchedOff | Self::SpendCap => Some(TaskEnd::Killed),
            Self::Closed => Some(TaskEnd::PullClosed),
            Self::Moved => Some(TaskEnd::LeaseRejected),
            Self::Closing => None,
        }
    }

    pub fn detail(&self) -> String {
        match self {
            Self::Preempted => say::preempted().to_owned(),
            Self::Paused(why) => say::paused(why),
            Self::SwitchedOff => say::switched_off().to_owned(),
            Self::SpendCap => say::spend_cap().to_owned(),
            Self::Closed => say::closed().to_owned(),
            Self::Moved => say::moved().to_owned(),
            Self::Closing => say::restarted().to_owned(),
        }
    }
}

/// The sign to stop, with the first reason that was given.
#[derive(Debug, Clone, Default)]
pub(super) struct Stop {
    token: CancellationToken,
    why: Arc<OnceLock<StopWhy>>,
}

impl Stop {
    pub fn stop(&self, why: StopWhy) {
        let _first_one_counts = self.why.set(why);
        self.token.cancel();
    }

    /// Does this, unless the sign to stop comes before it is done: only for what may be dropped in its middle.
    pub async fn unless<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.token.cancelled() => None,
            done = work => Some(done),
        }
    }

    pub fn token(&self) -> &CancellationToken {
        &self.token
    }

    pub fn why(&self) -> Option<StopWhy> {
        self.why.get().cloned()
    }
}
