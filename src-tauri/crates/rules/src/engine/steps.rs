//! The steps of the merge gate, each a condition with what follows when it does not hold.

mod people;
mod red;

use chrono::{DateTime, Duration, Utc};

use super::checks::Seen;
use super::classify::Class;
use super::decision::{Decision, Ended, Fault, Listed, WaitFor};
use super::facts::Run;
use super::hold;
use super::merge::Case;
use super::policy::VerdictPolicy;
use super::retry;
use super::supersede::Overtaken;
use super::verdict_label::{self, HeadVerdict};
use crate::checks::Health;
use crate::review::facts::PullState;

/// One step of the order.
pub(super) struct Step {
    pub id: StepId,
    /// What follows when the condition does not hold; `None` when it does, or when an earlier step has
    /// halted since its facts are not known.
    pub judge: fn(&Case<'_>) -> Option<Halt>,
}

/// A condition of the gate, in the order of engine.md 4.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StepId {
    Open,
    Class,
    Policy,
    Whole,
    Stable,
    RequiredChecks,
    VerdictGiven,
    Unflagged,
    UpToDate,
    NothingPending,
    OtherChecks,
    People,
    Seat,
    LabelBound,
    NotHeld,
}

impl StepId {
    /// One word that never changes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Class => "class",
            Self::Policy => "policy",
            Self::Whole => "whole",
            Self::Stable => "stable",
            Self::RequiredChecks => "required_checks",
            Self::VerdictGiven => "verdict_given",
            Self::Unflagged => "unflagged",
            Self::UpToDate => "up_to_date",
            Self::NothingPending => "nothing_pending",
            Self::OtherChecks => "other_checks",
            Self::People => "people",
            Self::Seat => "seat",
            Self::LabelBound => "label_bound",
            Self::NotHeld => "not_held",
        }
    }
}

/// What follows from a condition that does not hold, and what shows it.
pub(super) struct Halt {
    pub decision: Decision,
    pub shown: Vec<Shown>,
}

/// One piece of evidence: what was seen, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    pub name: String,
    pub value: String,
    pub at: Option<DateTime<Utc>>,
}

impl Halt {
    fn new(decision: Decision) -> Self {
        Self { decision, shown: Vec::new() }
    }

    fn wait(reason: WaitFor, not_before: Option<DateTime<Utc>>) -> Self {
        Self::new(Decision::wait(reason, not_before))
    }

    fn list(listed: Listed) -> Self {
        Self::new(Decision::ListOnly(listed))
    }

    fn with(mut self, shown: impl IntoIterator<Item = Shown>) -> Self {
        self.shown.extend(shown);
        self
    }
}

fn shown(name: &str, value: impl Into<String>, at: Option<DateTime<Utc>>) -> Shown {
    Shown { name: name.to_owned(), value: value.into(), at }
}

/// The order. First match wins.
pub(super) const ORDER: [Step; 15] = [
    Step { id: StepId::Open, judge: open },
    Step { id: StepId::Class, judge: class },
    Step { id: StepId::Policy, judge: policy },
    Step { id: StepId::Whole, judge: whole },
    Step { id: StepId::Stable, judge: stable },
    Step { id: StepId::RequiredChecks, judge: red::required_checks },
    Step { id: StepId::VerdictGiven, judge: red::verdict_given },
    Step { id: StepId::Unflagged, judge: red::unflagged },
    Step { id: StepId::UpToDate, judge: red::up_to_date },
    Step { id: StepId::NothingPending, judge: nothing_pending },
    Step { id: StepId::OtherChecks, judge: other_checks },
    Step { id: StepId::People, judge: people::people },
    Step { id: StepId::Seat, judge: people::seat },
    Step { id: StepId::LabelBound, judge: label_bound },
    Step { id: StepId::NotHeld, judge: not_held },
];

fn open(case: &Case<'_>) -> Option<Halt> {
    let ended = match case.pr.state {
        PullState::Open => return overtaken(case),
        PullState::Merged => Ended::Merged,
        PullState::Closed => Ended::Closed,
    };
    Some(Halt::new(Decision::Gone(ended)))
}

/// One of Steward's own goes no further than the one that it was made for.
fn overtaken(case: &Case<'_>) -> Option<Halt> {
    let by = case.memory.overtaken?;
    let (halt, original) = match by {
        Overtaken::Ended { original } => (Halt::list(Listed::Overtaken { original }), original),
        Overtaken::Moved { original } | Overtaken::Unread { original } => {
            (Halt::wait(WaitFor::Overtaken(by), None), original)
        }
    };
    Some(halt.with([shown("made for", format!("#{original}"), Some(case.now))]))
}

fn class(case: &Case<'_>) -> Option<Halt> {
    let head = &case.pr.head.sha;
    let decision = match &case.class {
        Class::Data { .. } => return None,
        Class::OwnBot | Class::Draft => Decision::Ignore(case.class.clone()),
        Class::Code(_) if case.memory.reviewed_head.as_ref() == Some(head) => {
            Decision::ListOnly(Listed::Reviewed)
        }
        Class::Code(_) => Decision::ReviewCode { head: head.clone() },
        Class::Unreadable(_) | Class::Foreign(_) | Class::Oversize { .. } | Class::NeverMerge(_) => {
            Decision::ListOnly(Listed::Class(case.class.clone()))
        }
    };
    let at = Some(case.pr.read_at);
    Some(Halt::new(decision).with([shown("head", head.as_str(), at), shown("class", case.class.slug(), at)]))
}

fn policy(case: &Case<'_>) -> Option<Halt> {
    let fault = if case.policy.required_checks.is_empty() {
        Fault::NoRequiredChecks
    } else if case.policy.verdict.is_none() && !case.policy.require_seat_accepted {
        Fault::NoJudge
    } else {
        return None;
    };
    Some(Halt::new(Decision::ConfigFault(fault)))
}

fn whole(case: &Case<'_>) -> Option<Halt> {
    let missing = case.read.as_ref().err()?;
    let at = Some(case.pr.read_at);
    let parts = missing.iter().map(|part| shown("not read", part.name(), at));
    Some(Halt::wait(WaitFor::Incomplete(missing.clone()), None).with(parts))
}

fn stable(case: &Case<'_>) -> Option<Halt> {
    let seconds = case.policy.stable_secs;
    let needed = Duration::seconds(i64::from(seconds));
    let seen = case.memory.head.as_ref().filter(|seen| {
        seen.sha == case.pr.head.sha && seen.first_seen_at <= case.now && seen.last_seen_at <= case.now
    });
    // A head nobody remembers, or a clock that went back: the time starts now.
    let since = seen.map_or(case.now, |seen| seen.first_seen_at);
    let is_stable = seen.is_some() && case.now - since >= needed;
    (!is_stable).then(|| {
        Halt::wait(WaitFor::Stable { seconds }, Some(since + needed)).with([shown(
            "head first seen",
            case.pr.head.sha.as_str(),
            Some(since),
        )])
    })
}

fn nothing_pending(case: &Case<'_>) -> Option<Halt> {
    let read = case.read.as_ref().ok()?;
    let absent = read.checks.absent();
    if !absent.is_empty() {
        let names: Vec<String> = absent.into_iter().map(str::to_owned).collect();
        let at = Some(case.pr.read_at);
        let items: Vec<Shown> =
            names.iter().map(|name| shown("required, absent", name.as_str(), at)).collect();
        return Some(Halt::wait(WaitFor::Absent { names }, None).with(items));
    }
    let required = read.checks.required_in(Health::Waiting);
    if !required.is_empty() {
        return Some(running(&required));
    }
    match read.verdict.as_ref().map(|verdict| (&verdict.of_head, verdict.policy)) {
        Some((HeadVerdict::Absent, policy)) => return Some(no_verdict_run(case, policy)),
        Some((HeadVerdict::Pending(run), _)) => {
            return Some(Halt::wait(WaitFor::VerdictRunning, None).with([of_run(run)]));
        }
        Some((HeadVerdict::Failed(_) | HeadVerdict::Given(_), _)) | None => {}
    }
    let others = read.checks.others_in(Health::Waiting);
    (!others.is_empty()).then(|| running(&others))
}

fn running(seen: &[&Seen<'_>]) -> Halt {
    let names = seen.iter().map(|seen| seen.name.to_owned()).collect();
    Halt::wait(WaitFor::Running { names }, None).with(seen.iter().map(|seen| of_check(seen)))
}

/// A head without any verdict run waits; after some hours it is listed, and asked for once a day where there is
/// a run that can be run again: nothing is dispatched (engine.md 6).
fn no_verdict_run(case: &Case<'_>, policy: &VerdictPolicy) -> Halt {
    let since = case.memory.head.as_ref().map_or(case.now, |seen| seen.first_seen_at);
    let listed_at = since + Duration::hours(i64::from(policy.no_verdict_hours));
    let tried = case.memory.verdict_retries.get(&case.pr.head.sha);
    let last_end = tried.map_or(listed_at, |tried| tried.last_at.max(listed_at));
    let tries = tried.map_or(0, |tried| tried.count);
    let next_at = last_end + retry::DAILY;
    let halt = if case.now < listed_at {
        Halt::wait(WaitFor::VerdictAbsent, None)
    } else {
        match verdict_label::rerunnable(case.pr, case.policy, policy, &case.memory.dead_runs) {
            None => Halt::list(Listed::NoVerdictRun),
            Some(_) if case.now < next_at => Halt::list(Listed::NoVerdict { tries, next_at }),
            Some(run) => Halt::new(Decision::RetryVerify { run, n: tries.saturating_add(1) }),
        }
    };
    halt.with([shown("head first seen", case.pr.head.sha.as_str(), Some(since))])
}

fn other_checks(case: &Case<'_>) -> Option<Halt> {
    let read = case.read.as_ref().ok()?;
    let failed = read.checks.others_in(Health::Failing);
    (!failed.is_empty()).then(|| {
        let names = failed.iter().map(|seen| seen.name.to_owned()).collect();
        Halt::wait(WaitFor::OtherFailed { names }, None).with(failed.iter().map(|seen| of_check(seen)))
    })
}

fn label_bound(case: &Case<'_>) -> Option<Halt> {
    let read = case.read.as_ref().ok()?;
    let verdict = read.verdict.as_ref()?;
    let gap = match &verdict.of_head {
        HeadVerdict::Given(runs) => {
            verdict_label::unbound(case.pr, case.policy, verdict.policy, runs, read.labels, verdict.labelled)
        }
        // The steps before have halted on these.
        HeadVerdict::Absent | HeadVerdict::Pending(_) | HeadVerdict::Failed(_) => {
            return Some(Halt::wait(WaitFor::VerdictAbsent, None));
        }
    };
    let skipped = || {
        let is_required = case.policy.required_checks.contains(&verdict.policy.job);
        let is_well = read.checks.verdict.as_ref().is_some_and(|seen| seen.health == Health::Well);
        (is_required && !is_well).then_some(verdict_label::Unbound::SkippedLast)
    };
    let gap = gap.or_else(skipped)?;
    let labels = shown("labels", read.labels.join(", "), Some(case.pr.labels_read_at));
    let run = verdict.of_head.run();
    // Labels that are not bound for as long as a verdict may be missing want somebody, as that does.
    let first_seen = case.memory.head.as_ref().map_or(case.now, |seen| seen.first_seen_at);
    let since = run.and_then(|run| run.ended_at).map_or(first_seen, |at| at.max(first_seen));
    let halt = if case.now - since < Duration::hours(i64::from(verdict.policy.no_verdict_hours)) {
        Halt::wait(WaitFor::Unbound(gap), None)
    } else {
        Halt::list(Listed::Unbound(gap))
    };
    Some(halt.with([labels]).with(run.map(of_run)))
}

fn not_held(case: &Case<'_>) -> Option<Halt> {
    if case.memory.unprocessable >= retry::UNPROCESSABLE_AT_MOST {
        return Some(Halt::list(Listed::Unprocessable { times: case.memory.unprocessable }));
    }
    let held = hold::held(&case.memory.merging, case.now)?;
    let (pull, since, until) = match held {
        hold::Held::For { pull, until } => (pull, Some(until - hold::HOLD_AT_MOST), Some(until)),
        hold::Held::Running { pull } => (pull, None, None),
    };
    Some(Halt::wait(WaitFor::Held(held), until).with([shown("held for", format!("#{pull}"), since)]))
}

fn of_check(seen: &Seen<'_>) -> Shown {
    let at = seen.run.and_then(|run| run.ended_at.or(run.check.started_at));
    shown(seen.name, format!("{} ({})", seen.said, seen.by), at)
}

fn of_run(run: &Run) -> Shown {
    let word = crate::checks::state_word(&run.check.state);
    shown(&run.check.name, format!("{word} at {}", run.head.short()), run.ended_at.or(run.check.started_at))
}
