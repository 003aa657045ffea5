//! When the observer looks again.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use super::ObserverState;

/// The wait after the first failure; each further one is twice as long, up to the interval.
const FIRST_BACKOFF: TimeDelta = TimeDelta::seconds(15);
/// Of each hour's quota Steward uses so much, in percent; the rest is the person's.
const SHARE: u64 = 60;

/// What a tick over one account came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Everything was seen.
    Whole,
    /// Some repositories were not seen, and will not be any sooner.
    Incomplete,
    /// GitHub failed in a way that passes.
    Failed,
    /// GitHub cannot be reached.
    Offline,
    /// Nothing may be asked until then.
    Limited { until: DateTime<Utc> },
    /// There is no token, or it is not accepted.
    SignedOut,
}

impl Outcome {
    /// True when it counts as one more failure in a row.
    pub fn is_failure(self) -> bool {
        match self {
            Self::Failed | Self::Offline => true,
            Self::Whole | Self::Incomplete | Self::Limited { .. } | Self::SignedOut => false,
        }
    }

    fn state(self) -> ObserverState {
        match self {
            Self::Whole => ObserverState::Waiting,
            Self::Incomplete | Self::Failed => ObserverState::Incomplete,
            Self::Offline => ObserverState::Offline,
            Self::Limited { .. } => ObserverState::Limited,
            Self::SignedOut => ObserverState::SignedOut,
        }
    }
}

/// How long until the next tick. `failures` in a row count this one; `jitter` is from 0 to 1.
pub fn wait(
    outcome: Outcome,
    interval: Duration,
    failures: u32,
    jitter: f64,
    now: DateTime<Utc>,
) -> TimeDelta {
    let interval = TimeDelta::from_std(interval).unwrap_or(TimeDelta::hours(24));
    match outcome {
        Outcome::Whole | Outcome::Incomplete | Outcome::SignedOut => interval,
        Outcome::Limited { until } => (until - now).max(TimeDelta::seconds(1)),
        Outcome::Failed | Outcome::Offline => {
            let doubled = FIRST_BACKOFF * (1 << failures.saturating_sub(1).min(16));
            let whole = doubled.min(interval);
            // Between half and the whole of it, so that many clients do not come back at once.
            let part = 0.5 + jitter.clamp(0.0, 1.0) / 2.0;
            TimeDelta::milliseconds((whole.num_milliseconds() as f64 * part) as i64)
        }
    }
}

/// How much time went by since a tick, by two clocks that fail in different ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waited {
    /// By the wall clock, which goes on while the machine sleeps, and jumps.
    pub by_wall: TimeDelta,
    /// By a clock that never jumps, and stands still while the machine sleeps.
    pub steadily: Duration,
}

/// Whether the wait is over by either clock. However much time went by, one tick is due, not many.
pub fn is_due(waited: Waited, wait: TimeDelta) -> bool {
    waited.by_wall >= wait || TimeDelta::from_std(waited.steadily).is_ok_and(|passed| passed >= wait)
}

/// Until when an account is left alone since Steward's share of its hour is used, whoever used it.
pub fn reserved(
    remaining: u32,
    quota: u32,
    reset_at: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Option<DateTime<Utc>> {
    let left = u64::from(remaining) * 100;
    let kept = u64::from(quota) * (100 - SHARE);
    (left < kept && now < reset_at).then_some(reset_at)
}

/// How the observer stands when its accounts stand so: the worst is shown.
pub fn overall(outcomes: impl IntoIterator<Item = Outcome>) -> ObserverState {
    let weight = |state: &ObserverState| match state {
        ObserverState::Offline => 5,
        ObserverState::SignedOut => 4,
        ObserverState::Limited => 3,
        ObserverState::Incomplete => 2,
        ObserverState::Waiting => 1,
        ObserverState::Off | ObserverState::Looking => 0,
    };
    outcomes.into_iter().map(Outcome::state).max_by_key(weight).unwrap_or(ObserverState::Waiting)
}
