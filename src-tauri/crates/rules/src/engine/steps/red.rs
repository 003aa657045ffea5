//! What is red, flagged or behind, and what is done about it (engine.md 4.5, steps 5 to 8).

use chrono::{DateTime, Utc};

use super::{Halt, of_check, of_run, shown};
use crate::checks::Health;
use crate::engine::checks::Seen;
use crate::engine::decision::{Decision, Fix, Listed, Missing, WaitFor};
use crate::engine::facts::Run;
use crate::engine::merge::{Case, Whole};
use crate::engine::policy::SweepBy;
use crate::engine::retry::{self, NextVerdict};
use crate::engine::verdict_label::{self, HeadVerdict};
use crate::engine::{hold, ladder};

pub(super) fn required_checks(case: &Case<'_>) -> Option<Halt> {
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

pub(super) fn verdict_given(case: &Case<'_>) -> Option<Halt> {
    let read = case.read.as_ref().ok()?;
    let verdict = read.verdict.as_ref()?;
    let HeadVerdict::Failed(run) = verdict.of_head else { return None };
    let tried = case.memory.verdict_retries.get(&case.pr.head.sha);
    let ended = run.ended_at.or(run.check.started_at);
    let last_end = ended.into_iter().chain(tried.map(|tried| tried.last_at)).max().unwrap_or(case.now);
    let tries = tried.map_or(0, |tried| tried.count);
    let Some(id) = run.workflow_run.filter(|id| !case.memory.dead_runs.contains(id)) else {
        return Some(Halt::list(Listed::NoVerdictRun).with([of_run(run)]));
    };
    let halt = match retry::next_verdict(verdict.policy, tries, last_end) {
        NextVerdict::Scheduled { n, at } | NextVerdict::Daily { n, at } if at <= case.now => {
            Halt::new(Decision::RetryVerify { run: id, n })
        }
        NextVerdict::Scheduled { n, at } => Halt::wait(WaitFor::VerdictRetry { n }, Some(at)),
        NextVerdict::Daily { at, .. } => Halt::list(Listed::NoVerdict { tries, next_at: at }),
    };
    Some(halt.with([of_run(run)]))
}

pub(super) fn unflagged(case: &Case<'_>) -> Option<Halt> {
    let read = case.read.as_ref().ok()?;
    let verdict = read.verdict.as_ref()?;
    let HeadVerdict::Given(runs) = &verdict.of_head else { return None };
    let gap =
        verdict_label::unbound(case.pr, case.policy, verdict.policy, runs, read.labels, verdict.labelled)?;
    if gap != verdict_label::Unbound::FlagPresent {
        return None;
    }
    let halt = match case.pr.flag.get() {
        Err(_) => Halt::wait(WaitFor::Incomplete(vec![Missing::FlagFindings]), None),
        Ok(findings) if ladder::is_elsewhere(case.pr, findings) => Halt::list(Listed::FlagElsewhere),
        Ok(_) => fix(case, Fix::Flag),
    };
    let label = shown("label", verdict.policy.flag_label.as_str(), Some(case.pr.labels_read_at));
    Some(halt.with([label]).with(runs.iter().map(|run| of_run(run))))
}

pub(super) fn up_to_date(case: &Case<'_>) -> Option<Halt> {
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
    task(case, read, None)
}

fn fix(case: &Case<'_>, what: Fix) -> Halt {
    match case.read.as_ref() {
        Ok(read) => task(case, read, Some(what)),
        Err(missing) => Halt::wait(WaitFor::Incomplete(missing.clone()), None),
    }
}

/// A fix or rebase, unless nothing may be pushed, the next attempt is not due, or a merge of this tick
/// moves its branch.
fn task(case: &Case<'_>, read: &Whole<'_>, what: Option<Fix>) -> Halt {
    if case.policy.validate.is_none() {
        return Halt::list(Listed::NoValidator);
    }
    let Some(place) = ladder::place(case.pr, case.policy) else { return Halt::list(Listed::NoBranch) };
    let attempts = &case.memory.attempts;
    let is_refused = || {
        let refused = case.memory.refused_rebase.as_ref();
        refused.is_some_and(|(head, base)| *head == case.pr.head.sha && *base == case.pr.base.sha)
    };
    // A rebase by the driver is no attempt of an agent, and the base may move at any time.
    let is_attempt = what.is_some() || is_refused();
    let until = attempts.waits_until(&case.policy.retry, case.now).filter(|_| is_attempt);
    if let Some(at) = until {
        return Halt::wait(WaitFor::Backoff { failures: attempts.spent, what }, Some(at));
    }
    if hold::defers(&case.memory.merging, ladder::is_swept(read.labels, case.policy)) {
        return Halt::wait(WaitFor::NextTick, None);
    }
    Halt::new(match what {
        Some(what) => Decision::Fix { what, place },
        None => Decision::Rebase(place),
    })
}
