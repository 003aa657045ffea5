//! What the observer concludes from what it saw: nothing here asks GitHub or reads a clock.

mod cadence;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

pub use cadence::{Outcome, Waited, is_due, overall, reserved, wait};

use crate::ids::Sha;

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

/// Where a pull request stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PullState {
    Open,
    Merged,
    Closed,
    /// GitHub has it no more: deleted, or moved to another repository.
    Gone,
}

/// Where an issue stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IssueState {
    Open,
    Closed,
    /// GitHub has it no more: deleted, or moved to another repository.
    Gone,
}

/// A pull request as the cheap look shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glimpse {
    pub head: Sha,
    pub base: Sha,
    pub state: PullState,
    pub draft: bool,
    pub labels: Vec<String>,
    /// All checks and statuses of the head in GitHub's one word. It moves without `updated_at`.
    pub rollup: Option<String>,
    pub mergeable: Option<String>,
    pub review_decision: Option<String>,
    /// By GitHub's clock.
    pub updated_at: DateTime<Utc>,
}

/// What a look at a known open pull request calls for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Nothing moved.
    Same,
    /// Only what the look itself shows has moved.
    Noted,
    /// Somebody did something to it: it is read in detail.
    Detail,
    /// The answer is older than what is known already; it says nothing.
    Older,
    /// GitHub did not show it. It is read directly before it may leave the list.
    Missing,
}

/// Judges a look at a pull request that is known as open.
pub fn look(known: &Glimpse, seen: Option<&Glimpse>) -> Look {
    let Some(seen) = seen else { return Look::Missing };
    if seen.updated_at < known.updated_at {
        return Look::Older;
    }
    let acted = seen.updated_at > known.updated_at || seen.head != known.head || seen.state != known.state;
    if acted {
        Look::Detail
    } else if seen == known {
        Look::Same
    } else {
        Look::Noted
    }
}

/// Whether a pull request that a list or a search shows as open has to be read in detail.
pub fn is_news(known: Option<&Glimpse>, listed_at: DateTime<Utc>) -> bool {
    known.is_none_or(|known| known.state != PullState::Open || listed_at > known.updated_at)
}

/// Whether those who judge a pull request are told: its head, state, base, draft mark, checks or anything
/// that people did to it has moved.
pub fn is_told(before: Option<&Glimpse>, after: &Glimpse) -> bool {
    before.is_none_or(|before| {
        before.head != after.head
            || before.base != after.base
            || before.state != after.state
            || before.draft != after.draft
            || before.rollup != after.rollup
            || before.updated_at != after.updated_at
    })
}

/// Those known as open that a list, proven whole, does not have. Each is read directly before it may leave.
pub fn unlisted(open: &[i64], listed: &[i64]) -> Vec<i64> {
    open.iter().filter(|number| !listed.contains(number)).copied().collect()
}

/// Lists are read again after this time even when every count is right: two misses can hide each other.
pub const LISTED_AGAIN: TimeDelta = TimeDelta::hours(24);
/// A search goes no further back; what changed in a longer time is found by reading the lists.
pub const SEARCH_BACK: TimeDelta = TimeDelta::hours(24);
/// GitHub's index lags behind: a search goes back this much more than to the last one.
pub const INDEX_LAG: TimeDelta = TimeDelta::minutes(15);

/// How far the lists of a repository are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// When both lists were last read to their ends, by our clock.
    pub listed_at: Option<DateTime<Utc>>,
    /// What changed before then is known, by GitHub's clock.
    pub searched_to: Option<DateTime<Utc>>,
    /// GitHub counted so many more open ones than its whole list had.
    pub extra_pulls: i64,
    pub extra_issues: i64,
}

/// Why the lists of a repository are read to their ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// They never were.
    First,
    /// The last search is too long ago.
    Behind,
    /// They are a day old. It can wait for its turn.
    Old,
}

/// Whether the lists of a repository have to be read, before anything is counted. `asked_at` is GitHub's
/// time, `now` ours.
pub fn listing(progress: &Progress, asked_at: DateTime<Utc>, now: DateTime<Utc>) -> Option<Listing> {
    let (Some(listed), Some(searched)) = (progress.listed_at, progress.searched_to) else {
        return Some(Listing::First);
    };
    if asked_at - searched > SEARCH_BACK {
        return Some(Listing::Behind);
    }
    // A clock that was set back makes nothing old.
    (now - listed >= LISTED_AGAIN).then_some(Listing::Old)
}

/// How many are open, by GitHub's count and by ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    pub theirs: i64,
    pub ours: i64,
}

impl Count {
    /// What GitHub counts beyond ours; less than nothing when we have more.
    pub fn extra(self) -> i64 {
        self.theirs - self.ours
    }
}

/// Whether GitHub's counts show that a search missed something. A difference that the last whole list left
/// is GitHub's own, such as what it hides from lists, and calls for nothing.
pub fn is_miscounted(progress: &Progress, pulls: Count, issues: Count) -> bool {
    pulls.extra() != progress.extra_pulls || issues.extra() != progress.extra_issues
}

/// From when on a search over several repositories looks, by GitHub's clock; `None` when none was searched.
pub fn search_from(searched_to: impl IntoIterator<Item = DateTime<Utc>>) -> Option<DateTime<Utc>> {
    searched_to.into_iter().min().map(|oldest| oldest - INDEX_LAG)
}
