//! When something is tried again, and what counts as a try (engine.md 6). Jitter is passed in.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Duration, NaiveDate, Utc};
use serde::{Deserialize, Serialize};

use super::policy::{RetryPolicy, VerdictPolicy};
use crate::guard;

/// After the last scheduled try, one a day.
pub const DAILY: Duration = Duration::hours(24);
/// A workflow run older than that cannot be re-run.
pub const RERUN_WITHIN: Duration = Duration::days(30);
/// How long the result of a re-run may take to show before the old one counts again.
pub const RERUN_SHOWS_WITHIN: Duration = Duration::minutes(30);
/// How long the sweep may take to move a branch.
pub const SWEEP_WITHIN: Duration = Duration::minutes(30);
/// Own rebases without a merge after which a pull request is listed.
pub const REBASES_AT_MOST: u32 = 3;
/// Replies of 422 in a row after which a pull request is listed.
pub const UNPROCESSABLE_AT_MOST: u32 = 3;
/// Results without a verdict in a row that make the engine degraded.
pub const NO_VERDICTS: usize = 3;
/// Items with one and the same failure in one tick that are one incident.
pub const ONE_INCIDENT: usize = 3;
/// A delay grows by at most so much, so that many items do not come back at once.
const JITTER: f64 = 0.05;

/// How a task of an agent ended, or why it did not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskEnd {
    Pushed,
    /// Acted without a push: a comment, a label, a closed issue.
    Answered,
    NoChange,
    /// What it left did not pass verification: strayed, invalid, over the cap, a secret.
    Refused,
    /// Its answer could not be read, or a claim in it did not hold.
    BadAnswer,
    Timeout,
    TurnLimit,
    Crashed,
    /// A limit of the provider was hit; paused until the reset.
    UsageLimit,
    /// The automation that comes first started.
    Preempted,
    /// Switched off, or paused, while it ran.
    Killed,
    /// The branch moved meanwhile.
    LeaseRejected,
    /// The push was refused for good: a protected branch, a missing permission.
    PushRefused,
    BoundaryLost,
    ForgeFailed,
    PullClosed,
    /// It waited for a lock, memory, a cap or a limit.
    NotStarted,
}

impl TaskEnd {
    /// True when it counts as an attempt: the agent ran to an end of any kind.
    pub fn spends(self) -> bool {
        match self {
            Self::Pushed
            | Self::Answered
            | Self::NoChange
            | Self::Refused
            | Self::BadAnswer
            | Self::Timeout
            | Self::TurnLimit
            | Self::Crashed => true,
            Self::UsageLimit
            | Self::Preempted
            | Self::Killed
            | Self::LeaseRejected
            | Self::PushRefused
            | Self::BoundaryLost
            | Self::ForgeFailed
            | Self::PullClosed
            | Self::NotStarted => false,
        }
    }

    /// True when it is a fault of the configuration, which no further try mends.
    pub fn is_config_fault(self) -> bool {
        self == Self::PushRefused
    }
}

/// The attempts of one item. They never start again by themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempts {
    /// Attempts that were spent.
    pub spent: u32,
    pub next_at: Option<DateTime<Utc>>,
    /// Fingerprints of what the last one started from.
    #[serde(default)]
    pub prints: BTreeSet<String>,
    /// The UTC day on which something new last woke it.
    pub woken_on: Option<NaiveDate>,
}

impl Attempts {
    /// After a task ended. `jitter` is from 0 to 1.
    pub fn after(&self, end: TaskEnd, policy: &RetryPolicy, jitter: f64, ended_at: DateTime<Utc>) -> Self {
        if !end.spends() {
            return self.clone();
        }
        let spent = self.spent.saturating_add(1);
        let next_at = Some(ended_at + spread(backoff(policy, spent), jitter));
        Self { spent, next_at, ..self.clone() }
    }

    /// When new evidence or somebody else's push makes the next attempt due at once; at most once a UTC
    /// day. The count stays.
    pub fn wake(&self, news: &News, now: DateTime<Utc>) -> Self {
        let is_news = match news {
            News::Evidence(prints) => !prints.is_subset(&self.prints),
            News::ForeignPush | News::Word => true,
        };
        if !is_news || !self.may_wake(now) {
            return self.clone();
        }
        Self { next_at: Some(now), woken_on: Some(now.date_naive()), ..self.clone() }
    }

    /// Until when the next attempt waits, when it does. A time further ahead than the longest delay was reckoned
    /// by a clock that was ahead, and holds nothing back.
    pub fn waits_until(&self, policy: &RetryPolicy, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let longest = spread(longest(policy), 1.0);
        self.next_at.filter(|at| !guard::is_due_within(Some(*at), now, longest))
    }

    /// True while news would make the next attempt due sooner.
    pub fn may_wake(&self, now: DateTime<Utc>) -> bool {
        self.woken_on != Some(now.date_naive()) && self.next_at.is_some_and(|at| at > now)
    }

    /// True once it failed so often that a person should look for the cause. It is tried on all the same.
    pub fn is_stuck(&self, policy: &RetryPolicy) -> bool {
        self.spent >= policy.stuck_after
    }
}

/// What may make a next attempt due at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// The fingerprints of what fails now: one that the last attempt did not start from is news.
    Evidence(BTreeSet<String>),
    /// Somebody other than Steward pushed.
    ForeignPush,
    /// A person said something on the issue.
    Word,
}

/// The delay after so many spent attempts.
pub fn backoff(policy: &RetryPolicy, spent: u32) -> Duration {
    let Some(last) = policy.backoff.len().checked_sub(1) else { return DAILY };
    match spent.checked_sub(1) {
        None => Duration::zero(),
        Some(index) => Duration::minutes(i64::from(policy.backoff[(index as usize).min(last)])),
    }
}

/// The longest of the delays.
fn longest(policy: &RetryPolicy) -> Duration {
    policy.backoff.iter().max().map_or(DAILY, |minutes| Duration::minutes(i64::from(*minutes)))
}

/// A delay made up to 5 % longer.
pub fn spread(delay: Duration, jitter: f64) -> Duration {
    let more = delay.num_milliseconds() as f64 * JITTER * jitter.clamp(0.0, 1.0);
    delay + Duration::milliseconds(more as i64)
}

/// The next try for a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextVerdict {
    /// The n-th, due then.
    Scheduled { n: u32, at: DateTime<Utc> },
    /// The schedule is used up: listed, and tried once a day.
    Daily { n: u32, at: DateTime<Utc> },
}

/// When the verdict is asked for again after `tried` times, counted from the end of the last try.
pub fn next_verdict(policy: &VerdictPolicy, tried: u32, last_end: DateTime<Utc>) -> NextVerdict {
    let n = tried.saturating_add(1);
    match policy.retry_minutes.get(tried as usize) {
        Some(minutes) => NextVerdict::Scheduled { n, at: last_end + Duration::minutes(i64::from(*minutes)) },
        None => NextVerdict::Daily { n, at: last_end + DAILY },
    }
}

/// True while the last so many results of the verdict job were all without a verdict, until one success
/// (engine.md 6). Results are counted, not pull requests: three tries of one count, since a job that fails three
/// times in a row gives no verdict to whoever comes next either. `given_at` is when a verdict was last given,
/// perhaps to a pull request that is over by now.
pub fn verdicts_degraded(results: &[VerdictResult], given_at: Option<DateTime<Utc>>) -> bool {
    let given = results.iter().filter(|result| result.given).map(|result| result.at);
    let last = given.chain(given_at).max();
    let since = |result: &&VerdictResult| !result.given && last.is_none_or(|last| result.at > last);
    results.iter().filter(since).count() >= NO_VERDICTS
}

/// What one run of the verdict job came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct VerdictResult {
    pub at: DateTime<Utc>,
    pub given: bool,
}

/// One failure of many items: diagnosed once, by its first, and the re-runs and fixes of the others are held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incident {
    pub print: String,
    pub first: i64,
    /// All of them, the first too.
    pub items: BTreeSet<i64>,
}

/// The failures that so many items share in one tick, and those that were an incident before and whose first is
/// not over: `begun` names that one by the print.
pub fn incidents(fingerprints: &[(i64, String)], begun: &BTreeMap<String, i64>) -> Vec<Incident> {
    let mut by_print: BTreeMap<&str, BTreeSet<i64>> = Default::default();
    for (item, print) in fingerprints {
        by_print.entry(print).or_default().insert(*item);
    }
    let incident = |(print, mut items): (&str, BTreeSet<i64>)| {
        let first = match begun.get(print) {
            Some(first) => {
                items.insert(*first);
                *first
            }
            None if items.len() >= ONE_INCIDENT => *items.first()?,
            None => return None,
        };
        Some(Incident { print: print.to_owned(), first, items })
    };
    by_print.into_iter().filter_map(incident).collect()
}

/// When agent work goes on after a usage limit: at the stated reset, or in an hour when none can be read.
pub fn limit_until(reset: Option<DateTime<Utc>>, now: DateTime<Utc>) -> DateTime<Utc> {
    reset.filter(|at| *at > now).unwrap_or(now + Duration::hours(1))
}
