//! Who may start a review, and when: each condition in its order, each with its own refusal.

use chrono::{DateTime, Duration, Utc};

use super::{Breaker, EndReason, ReviewState, Spend, SpendCaps, Trigger};
use crate::ids::{ReviewId, Sha, ShaError, TaskId};
use crate::reading::{Reading, Why};
use crate::review::settings::{ReviewSettings, Switch};
use crate::review::verdict::StaleReason;
use crate::wording;

/// The window that the hour cap counts.
const HOUR: Duration = Duration::minutes(60);

/// Reviews that a head may get by itself: one, and an ended one repeated once.
const AUTOMATIC_PER_HEAD: usize = 2;

/// Whether `seats/reviewer.yaml` is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeatFile {
    Present,
    Missing,
    /// It is there and does not fit; the reason is one line.
    Invalid(String),
}

/// Who asks. The runtime itself asks only for automatic reviews.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    Person,
    Runtime,
    /// The mark that told: a variable of the environment, a rostered pane, no terminal.
    Agent {
        mark: String,
    },
}

/// The task that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartTask {
    pub id: TaskId,
    pub head: Option<Sha>,
}

/// The commit that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShaAsked {
    /// The task's head.
    Head,
    /// `--sha`, as typed, and whether git reaches it.
    Typed { text: String, reachable: Reading<bool> },
}

/// An earlier review of the same task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastReview {
    pub id: ReviewId,
    pub state: ReviewState,
    pub reason: Option<EndReason>,
    pub stale: Option<StaleReason>,
    pub sha: Sha,
    pub contract: Option<u32>,
    pub ci_fingerprint: String,
}

impl PastReview {
    /// True while it keeps its task's place. A held one that went stale publishes nothing any more.
    fn is_open(&self) -> bool {
        self.state.is_open() && !(self.state == ReviewState::Held && self.stale.is_some())
    }

    /// True when it said all there is to say of its key. A hold that went stale never did.
    fn is_said(&self) -> bool {
        self.state.seat_finished() && (self.state == ReviewState::Published || self.stale.is_none())
    }
}

/// What decides whether a review may start.
#[derive(Debug, Clone, PartialEq)]
pub struct StartFacts {
    pub trigger: Trigger,
    pub seat: SeatFile,
    pub caller: Caller,
    pub asked: TaskId,
    pub task: Option<StartTask>,
    pub sha: ShaAsked,
    /// Every earlier review of the task.
    pub past: Vec<PastReview>,
    pub contract: Option<u32>,
    pub ci_fingerprint: String,
    /// When reviews of all tasks were started; those of the last hour suffice.
    pub started: Vec<DateTime<Utc>>,
    pub spend: Spend,
    pub caps: SpendCaps,
    pub breaker: Breaker,
    /// The person's pause over everything, with its why.
    pub paused: Option<String>,
}

/// Why a review does not start.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    Disabled,
    /// The `review:` block has an error, so that it counts as switched off.
    Misconfigured,
    NoSeat,
    InvalidSeat {
        why: String,
    },
    NotAPerson {
        mark: String,
    },
    NoTask {
        task: TaskId,
    },
    NoCommit {
        task: TaskId,
    },
    BadSha {
        error: ShaError,
    },
    Unreachable {
        sha: Sha,
    },
    /// The task's head is another commit by now.
    NotTheHead {
        sha: Sha,
        head: Sha,
    },
    /// Whether the commit is reachable could not be found out.
    Unread {
        why: Why,
    },
    Open {
        review: ReviewId,
    },
    Identical {
        review: ReviewId,
    },
    TaskCap {
        cap: u32,
    },
    HourCap {
        cap: u32,
        next: DateTime<Utc>,
    },
    DayCap {
        spent: f64,
        cap: f64,
    },
    MonthCap {
        spent: f64,
        cap: f64,
    },
    /// The person paused everything.
    Paused {
        why: String,
    },
    /// Too many crashes in a row; automatic reviews wait for a manual one.
    Tripped {
        consecutive: u32,
    },
    OnePerHead {
        review: ReviewId,
    },
}

impl Refusal {
    /// The code of the refusal, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Misconfigured => "misconfigured",
            Self::NoSeat => "no_seat",
            Self::InvalidSeat { .. } => "invalid_seat",
            Self::NotAPerson { .. } => "not_a_person",
            Self::NoTask { .. } => "not_found",
            Self::NoCommit { .. } => "no_commit",
            Self::BadSha { .. } => "bad_sha",
            Self::Unreachable { .. } => "unreachable",
            Self::NotTheHead { .. } => "not_the_head",
            Self::Unread { .. } => "unread",
            Self::Open { .. } => "open_review",
            Self::Identical { .. } => "identical",
            Self::TaskCap { .. } => "task_cap",
            Self::HourCap { .. } => "hour_cap",
            Self::DayCap { .. } => "day_cap",
            Self::MonthCap { .. } => "month_cap",
            Self::Paused { .. } => "paused",
            Self::Tripped { .. } => "breaker",
            Self::OnePerHead { .. } => "one_per_head",
        }
    }

    /// The exit code of a command that is refused: 2 for wrong use, else 1.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::BadSha { .. } => 2,
            Self::Disabled
            | Self::Misconfigured
            | Self::NoSeat
            | Self::InvalidSeat { .. }
            | Self::NotAPerson { .. }
            | Self::NoTask { .. }
            | Self::NoCommit { .. }
            | Self::Unreachable { .. }
            | Self::NotTheHead { .. }
            | Self::Unread { .. }
            | Self::Open { .. }
            | Self::Identical { .. }
            | Self::TaskCap { .. }
            | Self::HourCap { .. }
            | Self::DayCap { .. }
            | Self::MonthCap { .. }
            | Self::Paused { .. }
            | Self::Tripped { .. }
            | Self::OnePerHead { .. } => 1,
        }
    }

    pub fn message(&self) -> String {
        wording::review::refusal(self)
    }

    /// The next step for the person.
    pub fn hint(&self) -> String {
        wording::review::refusal_hint(self)
    }
}

/// Says whether a review may start, and of which commit; else the first condition that fails.
pub fn may_start(facts: &StartFacts, settings: &ReviewSettings, now: DateTime<Utc>) -> Result<Sha, Refusal> {
    match settings.switch {
        Switch::On => {}
        Switch::Off => return Err(Refusal::Disabled),
        Switch::Faulty => return Err(Refusal::Misconfigured),
    }
    match &facts.seat {
        SeatFile::Present => {}
        SeatFile::Missing => return Err(Refusal::NoSeat),
        SeatFile::Invalid(why) => return Err(Refusal::InvalidSeat { why: why.clone() }),
    }
    match (&facts.caller, facts.trigger) {
        (Caller::Person, Trigger::Manual | Trigger::Automatic) | (Caller::Runtime, Trigger::Automatic) => {}
        (Caller::Runtime, Trigger::Manual) => {
            return Err(Refusal::NotAPerson { mark: "the runtime itself".to_owned() });
        }
        (Caller::Agent { mark }, Trigger::Manual | Trigger::Automatic) => {
            return Err(Refusal::NotAPerson { mark: mark.clone() });
        }
    }
    let task = facts.task.as_ref().ok_or(Refusal::NoTask { task: facts.asked })?;
    let head = task.head.as_ref().ok_or(Refusal::NoCommit { task: task.id })?;
    let sha = commit(&facts.sha, head)?;
    if let Some(open) = facts.past.iter().find(|past| past.is_open()) {
        return Err(Refusal::Open { review: open.id });
    }
    let identical = facts.past.iter().filter(|past| past.is_said()).find(|past| {
        past.sha == sha && past.contract == facts.contract && past.ci_fingerprint == facts.ci_fingerprint
    });
    if let Some(identical) = identical {
        return Err(Refusal::Identical { review: identical.id });
    }
    if facts.past.len() >= settings.max_reviews_per_task as usize {
        return Err(Refusal::TaskCap { cap: settings.max_reviews_per_task });
    }
    if let Some(next) = next_slot(&facts.started, settings.max_reviews_per_hour, now) {
        return Err(Refusal::HourCap { cap: settings.max_reviews_per_hour, next });
    }
    facts.spend.within(&facts.caps)?;
    if let Some(why) = &facts.paused {
        return Err(Refusal::Paused { why: why.clone() });
    }
    match facts.trigger {
        Trigger::Manual => Ok(sha),
        Trigger::Automatic => {
            if facts.breaker.is_open() {
                return Err(Refusal::Tripped { consecutive: facts.breaker.consecutive });
            }
            one_per_head(&facts.past, &sha)?;
            Ok(sha)
        }
    }
}

fn commit(asked: &ShaAsked, head: &Sha) -> Result<Sha, Refusal> {
    match asked {
        ShaAsked::Head => Ok(head.clone()),
        ShaAsked::Typed { text, reachable } => {
            let sha = Sha::new(text).map_err(|error| Refusal::BadSha { error })?;
            match reachable.get() {
                // A verdict on another commit would be stale when it is made: nothing is paid for it.
                Ok(true) if sha != *head => Err(Refusal::NotTheHead { sha, head: head.clone() }),
                Ok(true) => Ok(sha),
                Ok(false) => Err(Refusal::Unreachable { sha }),
                Err(why) => Err(Refusal::Unread { why: why.clone() }),
            }
        }
    }
}

/// When the next review may start, if none may now. Counts the starts of the last 60 minutes; one
/// from exactly 60 minutes ago counts no more. A start that seems to lie ahead counts: the clock
/// was set back, and that opens no slot.
pub fn next_slot(started: &[DateTime<Utc>], cap: u32, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let mut counted: Vec<DateTime<Utc>> = started.iter().copied().filter(|at| now - *at < HOUR).collect();
    counted.sort_unstable_by(|a, b| b.cmp(a));
    let blocking = (cap as usize).checked_sub(1)?;
    counted.get(blocking).map(|at| *at + HOUR)
}

/// A head gets one automatic review. One that ended is repeated once, unless a person cancelled it.
fn one_per_head(past: &[PastReview], sha: &Sha) -> Result<(), Refusal> {
    let at_head: Vec<&PastReview> = past.iter().filter(|past| past.sha == *sha).collect();
    let settled = at_head
        .iter()
        .find(|past| past.state != ReviewState::Ended || past.reason == Some(EndReason::Cancelled))
        .or(at_head.get(AUTOMATIC_PER_HEAD - 1));
    match settled {
        Some(past) => Err(Refusal::OnePerHead { review: past.id }),
        None => Ok(()),
    }
}
