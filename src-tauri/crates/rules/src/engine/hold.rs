//! When nothing may merge although it is ready, and how often the engine looks (engine.md 14).

use chrono::{DateTime, Duration, Utc};
use serde::{Deserialize, Serialize};

use crate::ids::PullNumber;
use crate::reading::{Reading, Why};

/// How long a hold lasts at most.
pub const HOLD_AT_MOST: Duration = Duration::minutes(30);
/// Ticks that come sooner after a round that merged.
pub const FAST_TICKS: u32 = 4;
/// How far apart those are.
pub const FAST: Duration = Duration::minutes(3);

/// What holds merges in one repository at this moment of a tick.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Merging {
    /// A held task: nothing merges until it started.
    pub hold: Option<Hold>,
    /// Something merged in this tick.
    pub merged_this_tick: bool,
    /// A fix or rebase runs on a branch that a push to the base would move.
    pub running: Option<PullNumber>,
}

/// A fix or rebase that waited since the base was about to move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    pub pull: PullNumber,
    pub since: DateTime<Utc>,
}

/// Why nothing merges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// The task of that pull request must start first.
    For { pull: PullNumber, until: DateTime<Utc> },
    /// A task runs on its branch.
    Running { pull: PullNumber },
}

/// What became of a held task since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldTask {
    Waits,
    Started,
    /// Its pull request was merged or closed.
    Gone,
}

/// Why nothing merges now; `None` when a merge may go out.
pub fn held(merging: &Merging, now: DateTime<Utc>) -> Option<Held> {
    if let Some(pull) = merging.running {
        return Some(Held::Running { pull });
    }
    let hold = merging.hold.as_ref()?;
    let until = hold.since + HOLD_AT_MOST;
    (now < until).then_some(Held::For { pull: hold.pull, until })
}

/// True when a fix or rebase waits for the next tick: something merged in this one, and the push to the
/// base will move its branch.
pub fn defers(merging: &Merging, is_covered: bool) -> bool {
    merging.merged_this_tick && is_covered
}

/// The hold after a task was deferred. The first one stays.
pub fn deferred(hold: Option<Hold>, pull: PullNumber, now: DateTime<Utc>) -> Hold {
    hold.unwrap_or(Hold { pull, since: now })
}

/// What is left of a hold. One that lies ahead comes from a clock that was set back: it starts anew.
pub fn after(hold: Hold, task: HeldTask, now: DateTime<Utc>) -> Option<Hold> {
    match task {
        HeldTask::Started | HeldTask::Gone => None,
        HeldTask::Waits if hold.since > now => Some(Hold { since: now, ..hold }),
        HeldTask::Waits => (now < hold.since + HOLD_AT_MOST).then_some(hold),
    }
}

/// How long until the next tick, and how many fast ones are left after it.
pub fn cadence(interval: Duration, fast_left: u32, has_merged: bool) -> (Duration, u32) {
    let fast = if has_merged { FAST_TICKS } else { fast_left };
    match fast {
        0 => (interval, 0),
        left => (interval.min(FAST), left - 1),
    }
}

/// How the engine stands when a run is asked for by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Round {
    Idle,
    Queued,
    Active,
}

/// Whether a run asked for by hand is taken: it is never stacked.
pub fn takes_run(round: Round) -> bool {
    round == Round::Idle
}

/// What an agent task needs before it may start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// Why there is no boundary, when there is none.
    pub boundary: Reading<()>,
    /// Whether the other automation that comes first is busy.
    pub priority_busy: Reading<bool>,
    /// Whether the one heavy-tool lock is free.
    pub lock_free: bool,
    /// Memory that is available, in MB. Unread, nothing starts unless none is asked for.
    pub available_mb: Reading<u64>,
    /// Agent runs started this UTC day.
    pub started_today: u32,
    /// A limit of the agent's provider holds until then.
    pub limited_until: Option<DateTime<Utc>>,
    /// Items of the repository that wait on configuration faults.
    pub parked: u32,
}

/// Why no agent task starts now. None of these spends an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotNow {
    NoBoundary(Why),
    Priority,
    PriorityUnread(Why),
    Lock,
    Memory { available: u64, needed: u32 },
    MemoryUnread(Why),
    DayCap { cap: u32 },
    Limited { until: DateTime<Utc> },
    Parked { items: u32 },
}

/// Items on configuration faults beyond which no agent work starts in a repository.
pub const PARKED_AT_MOST: u32 = 3;

/// Says whether an agent task may start.
pub fn may_start(start: &Start, daily_runs: u32, min_mb: u32, now: DateTime<Utc>) -> Result<(), NotNow> {
    start.boundary.get().map_err(|why| NotNow::NoBoundary(why.clone()))?;
    match start.priority_busy.get() {
        Ok(false) => {}
        Ok(true) => return Err(NotNow::Priority),
        Err(why) => return Err(NotNow::PriorityUnread(why.clone())),
    }
    if start.parked > PARKED_AT_MOST {
        return Err(NotNow::Parked { items: start.parked });
    }
    if let Some(until) = start.limited_until.filter(|until| now < *until) {
        return Err(NotNow::Limited { until });
    }
    if daily_runs > 0 && start.started_today >= daily_runs {
        return Err(NotNow::DayCap { cap: daily_runs });
    }
    if !start.lock_free {
        return Err(NotNow::Lock);
    }
    match start.available_mb.get() {
        _ if min_mb == 0 => Ok(()),
        Ok(available) if *available < u64::from(min_mb) => {
            Err(NotNow::Memory { available: *available, needed: min_mb })
        }
        Ok(_) => Ok(()),
        Err(why) => Err(NotNow::MemoryUnread(why.clone())),
    }
}
