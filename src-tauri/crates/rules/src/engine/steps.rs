//! The steps of the merge gate, each a condition with what follows when it does not hold.

use chrono::{DateTime, Duration, Utc};

use super::checks::Seen;
use super::classify::Class;
use super::decision::{Decision, Ended, Fault, Fix, Listed, Missing, SeatGap, WaitFor};
use super::facts::{PersonReview, ReviewState, Run};
use super::merge::{Case, Whole};
use super::policy::SweepBy;
use super::retry::{self, NextVerdict};
use super::verdict_label::{self, HeadVerdict};
use super::{hold, ladder};
use crate::checks::Health;
use crate::review::facts::PullState;
use crate::review::verdict::Verdict;

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
    Step { id: StepId::RequiredChecks, judge: required_checks },
    Step { id: StepId::VerdictGiven, judge: verdict_given },
    Step { id: StepId::Unflagged, judge: unflagged },
    Step { id: StepId::UpToDate, judge: up_to_date },
    Step { id: StepId::NothingPending, judge: nothing_pending },
    Step { id: StepId::OtherChecks, judge: other_checks },
    Step { id: StepId::People, judge: people },
    Step { id: StepId::Seat, judge: seat },
    Step { id: StepId::LabelBound, judge: label_bound },
    Step { id: StepId::NotHeld, judge: not_held },
];

fn open(case: &Case<'_>) -> Option<Halt> {
    let ended = match case.pr.state {
        PullState::Open => return None,
        PullState::Merged => Ended::Merged,
        PullState::Closed => Ended::Closed,
    };
    Some(Halt::new(Decision::Gone(ended)))
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

fn required_checks(case: &Case<'_>) -> Option<Halt> {
    let read = case.read.as_ref().ok()?;
    let failed = read.checks.required_in(Health::Failing);
    if failed.is_empty() {
        return None;
    }
    let halt = match behind(case, read) {
        Some(halt) => halt,
        None => rerun_or_fix(case, &failed),
    };
    Some(halt.with(failed.iter().map(|seen| of_check(seen))))
}

/// Re-runs what was not re-run at this head; what is red after that is fixed.
fn rerun_or_fix(case: &Case<'_>, failed: &[&Seen<'_>]) -> Halt {
    let (mut fresh, mut waiting, mut busy, mut red) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for seen in failed {
        let Some(run) = seen.run else { continue };
        let Some(id) = run.workflow_run.filter(|_| !is_too_old(run, case.now)) else {
            red.push(seen.name.to_owned());
            continue;
        };
        match case.memory.reruns.get(&(case.pr.head.sha.clone(), id)) {
            None if is_going_on(case, id) => busy.push(seen.name.to_owned()),
            None => fresh.push(id),
            Some(asked_at)
                if is_older(run, *asked_at) && case.now < *asked_at + retry::RERUN_SHOWS_WITHIN =>
            {
                waiting.push((seen.name.to_owned(), *asked_at + retry::RERUN_SHOWS_WITHIN));
            }
            Some(_) => red.push(seen.name.to_owned()),
        }
    }
    fresh.sort_unstable();
    fresh.dedup();
    if !fresh.is_empty() {
        return Halt::new(Decision::Rerun { run_ids: fresh });
    }
    if !busy.is_empty() {
        return Halt::wait(WaitFor::WorkflowEnd { names: busy }, None);
    }
    if !waiting.is_empty() {
        let until = waiting.iter().map(|(_, until)| *until).min();
        let names = waiting.into_iter().map(|(name, _)| name).collect();
        return Halt::wait(WaitFor::Rerun { names }, until);
    }
    let mut run_ids: Vec<u64> = failed.iter().filter_map(|seen| seen.run?.workflow_run).collect();
    run_ids.sort_unstable();
    run_ids.dedup();
    fix(case, Fix::Checks { names: red, run_ids })
}

/// GitHub re-runs no workflow run of long ago.
fn is_too_old(run: &Run, now: DateTime<Utc>) -> bool {
    let at = run.ended_at.or(run.check.started_at);
    at.is_some_and(|at| now - at > retry::RERUN_WITHIN)
}

/// True when what is shown of a run is from before the re-run was asked for.
fn is_older(run: &Run, asked_at: DateTime<Utc>) -> bool {
    run.ended_at.or(run.check.started_at).is_none_or(|at| at <= asked_at)
}

/// GitHub re-runs nothing while another job of the workflow run still runs.
fn is_going_on(case: &Case<'_>, workflow_run: u64) -> bool {
    let runs = case.pr.check_runs.items.iter().chain(&case.pr.verdict_runs.items);
    let mut of_it = runs.filter(|run| run.head == case.pr.head.sha && run.workflow_run == Some(workflow_run));
    of_it.any(|run| crate::checks::run_health(&run.check.state, true) == Health::Waiting)
}

fn verdict_given(case: &Case<'_>) -> Option<Halt> {
    let read = case.read.as_ref().ok()?;
    let verdict = read.verdict.as_ref()?;
    let HeadVerdict::Failed(run) = verdict.of_head else { return None };
    let tried = case.memory.verdict_retries.get(&case.pr.head.sha);
    let ended = run.ended_at.or(run.check.started_at);
    let last_end = ended.into_iter().chain(tried.map(|tried| tried.last_at)).max().unwrap_or(case.now);
    let tries = tried.map_or(0, |tried| tried.count);
    let halt = match retry::next_verdict(verdict.policy, tries, last_end) {
        NextVerdict::Scheduled { n, at } | NextVerdict::Daily { n, at } if at <= case.now => {
            Halt::new(Decision::RetryVerify { n })
        }
        NextVerdict::Scheduled { n, at } => Halt::wait(WaitFor::VerdictRetry { n }, Some(at)),
        NextVerdict::Daily { at, .. } => Halt::list(Listed::NoVerdict { tries, next_at: at }),
    };
    Some(halt.with([of_run(run)]))
}

fn unflagged(case: &Case<'_>) -> Option<Halt> {
    let read = case.read.as_ref().ok()?;
    let verdict = read.verdict.as_ref()?;
    let HeadVerdict::Given(run) = verdict.of_head else { return None };
    let gap =
        verdict_label::unbound(case.pr, case.policy, verdict.policy, run, read.labels, verdict.labelled)?;
    if gap != verdict_label::Unbound::FlagPresent {
        return None;
    }
    let halt = match case.pr.flag.get() {
        Err(_) => Halt::wait(WaitFor::Incomplete(vec![Missing::FlagFindings]), None),
        Ok(findings) if ladder::is_elsewhere(case.pr, findings) => Halt::list(Listed::FlagElsewhere),
        Ok(_) => fix(case, Fix::Flag),
    };
    let label = shown("label", verdict.policy.flag_label.as_str(), Some(case.pr.labels_read_at));
    Some(halt.with([label, of_run(run)]))
}

fn up_to_date(case: &Case<'_>) -> Option<Halt> {
    behind(case, case.read.as_ref().ok()?)
}

/// What becomes of a head that lacks commits of its base; `None` when it does not.
fn behind(case: &Case<'_>, read: &Whole<'_>) -> Option<Halt> {
    if read.behind_by == 0 {
        return None;
    }
    let since = case.memory.behind_since.filter(|since| *since <= case.now).unwrap_or(case.now);
    let until = since + retry::SWEEP_WITHIN;
    let is_swept =
        ladder::is_swept(read.labels, case.policy) && case.policy.push.sweep_by == SweepBy::Workflow;
    let halt = if is_swept && case.now < until {
        Halt::wait(WaitFor::Sweep { behind_by: read.behind_by }, Some(until))
    } else {
        rebase(case, read)
    };
    Some(halt.with([shown("commits behind", read.behind_by.to_string(), Some(case.pr.read_at))]))
}

fn rebase(case: &Case<'_>, read: &Whole<'_>) -> Halt {
    if case.memory.rebases >= retry::REBASES_AT_MOST {
        return Halt::list(Listed::Rebased { times: case.memory.rebases });
    }
    task(case, read, Decision::Rebase)
}

fn fix(case: &Case<'_>, what: Fix) -> Halt {
    match case.read.as_ref() {
        Ok(read) => task(case, read, |place| Decision::Fix { what, place }),
        Err(missing) => Halt::wait(WaitFor::Incomplete(missing.clone()), None),
    }
}

/// A fix or rebase, unless nothing may be pushed, the next attempt is not due, or a merge of this tick
/// moves its branch.
fn task(case: &Case<'_>, read: &Whole<'_>, decide: impl FnOnce(super::decision::Place) -> Decision) -> Halt {
    if case.policy.validate.is_none() {
        return Halt::list(Listed::NoValidator);
    }
    let Some(place) = ladder::place(case.pr, case.policy) else { return Halt::list(Listed::NoBranch) };
    let attempts = &case.memory.attempts;
    if let Some(at) = attempts.next_at.filter(|at| case.now < *at) {
        return Halt::wait(WaitFor::Backoff { failures: attempts.spent }, Some(at));
    }
    if hold::defers(&case.memory.merging, ladder::is_swept(read.labels, case.policy)) {
        return Halt::wait(WaitFor::NextTick, None);
    }
    Halt::new(decide(place))
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
        Some((HeadVerdict::Absent, policy)) => return Some(no_verdict_run(case, policy.no_verdict_hours)),
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

/// A head without any verdict run waits; after some hours it is listed and asked for once a day.
fn no_verdict_run(case: &Case<'_>, hours: u32) -> Halt {
    let since = case.memory.head.as_ref().map_or(case.now, |seen| seen.first_seen_at);
    let listed_at = since + Duration::hours(i64::from(hours));
    let tried = case.memory.verdict_retries.get(&case.pr.head.sha);
    let last_end = tried.map_or(listed_at, |tried| tried.last_at.max(listed_at));
    let tries = tried.map_or(0, |tried| tried.count);
    let next_at = last_end + retry::DAILY;
    let halt = if case.now < listed_at {
        Halt::wait(WaitFor::VerdictAbsent, None)
    } else if case.now < next_at {
        Halt::list(Listed::NoVerdict { tries, next_at })
    } else {
        Halt::new(Decision::RetryVerify { n: tries.saturating_add(1) })
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

fn people(case: &Case<'_>) -> Option<Halt> {
    let standing = standing(&case.pr.reviews.items);
    let mut by: Vec<(&str, Option<DateTime<Utc>>)> = standing
        .iter()
        .filter(|review| review.state == ReviewState::ChangesRequested)
        .map(|review| (review.by.login.as_str(), review.at))
        .collect();
    by.sort_unstable();
    if !by.is_empty() {
        let items: Vec<Shown> =
            by.iter().map(|(login, at)| shown("changes requested by", *login, *at)).collect();
        let by = by.into_iter().map(|(login, _)| login.to_owned()).collect();
        return Some(Halt::wait(WaitFor::ChangesRequested { by }, None).with(items));
    }
    let need = case.policy.required_approvals;
    let approves = |review: &&&PersonReview| {
        review.state == ReviewState::Approved
            && review.head.as_ref() == Some(&case.pr.head.sha)
            && review.can_write.get().is_ok_and(|can| *can)
            && review.by.id != case.pr.author.id
    };
    let have = u32::try_from(standing.iter().filter(approves).count()).unwrap_or(u32::MAX);
    let approved: Vec<Shown> = standing
        .iter()
        .filter(approves)
        .map(|review| shown("approved by", review.by.login.as_str(), review.at))
        .collect();
    (have < need).then(|| Halt::wait(WaitFor::Approvals { have, need }, None).with(approved))
}

/// The newest word of each person: comments say nothing, and what is not submitted is not said.
fn standing(reviews: &[PersonReview]) -> Vec<&PersonReview> {
    let mut newest: std::collections::BTreeMap<u64, &PersonReview> = Default::default();
    let says = |state: ReviewState| match state {
        ReviewState::Pending | ReviewState::Commented => false,
        ReviewState::Approved | ReviewState::ChangesRequested | ReviewState::Dismissed => true,
    };
    // Of two at one time a request counts, then a dismissal, then an approval.
    let age = |review: &PersonReview| {
        let weight = match review.state {
            ReviewState::ChangesRequested => 2,
            ReviewState::Dismissed => 1,
            ReviewState::Approved | ReviewState::Pending | ReviewState::Commented => 0,
        };
        (review.at, review.id, weight)
    };
    for review in reviews.iter().filter(|review| says(review.state) && !review.by.is_bot) {
        let kept = newest.entry(review.by.id).or_insert(review);
        if age(review) > age(kept) {
            *kept = review;
        }
    }
    newest.into_values().collect()
}

fn seat(case: &Case<'_>) -> Option<Halt> {
    if !case.policy.require_seat_accepted {
        return None;
    }
    let gap = match case.pr.seat.get() {
        Err(_) => return Some(Halt::wait(WaitFor::Incomplete(vec![Missing::SeatReview]), None)),
        Ok(None) => SeatGap::None,
        Ok(Some(review)) if review.head != case.pr.head.sha => SeatGap::OtherHead,
        Ok(Some(review)) if review.stale => SeatGap::Stale,
        Ok(Some(review)) if review.verdict != Verdict::Accepted => SeatGap::NotAccepted,
        Ok(Some(_)) => return None,
    };
    let at = Some(case.pr.read_at);
    let review = case.pr.seat.get().ok().and_then(Option::as_ref).map(|review| {
        shown("review of the seat", format!("{} at {}", review.verdict.as_str(), review.head.short()), at)
    });
    Some(Halt::wait(WaitFor::Seat(gap), None).with(review))
}

fn label_bound(case: &Case<'_>) -> Option<Halt> {
    let read = case.read.as_ref().ok()?;
    let verdict = read.verdict.as_ref()?;
    let gap = match verdict.of_head {
        HeadVerdict::Given(run) => {
            verdict_label::unbound(case.pr, case.policy, verdict.policy, run, read.labels, verdict.labelled)
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
    let run = verdict.of_head.run().map(of_run);
    Some(Halt::wait(WaitFor::Unbound(gap), None).with([labels]).with(run))
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
