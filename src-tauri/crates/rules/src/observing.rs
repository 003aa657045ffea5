//! What the observer concludes from what it saw: nothing here asks GitHub or reads a clock.

use serde::{Deserialize, Serialize};

/// What the observer is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum ObserverState {
    /// No repository is watched, so there is nothing to look at.
    Off,
    /// A tick is under way.
    Looking,
    /// Between two ticks.
    Waiting,
    /// The network is not there; what is shown is the last that was seen.
    Offline,
    /// A limit holds; nothing is asked until `next_tick`.
    Limited,
    /// No token to look with.
    SignedOut,
    /// The last tick did not see everything; each repository says why.
    Incomplete,
}
