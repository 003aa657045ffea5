//! The failures that many pull requests share (engine.md 6).

use std::collections::{BTreeMap, BTreeSet};

use steward_rules::checks::Health;
use steward_rules::engine::decision::{Decision, Fix, WaitFor};
use steward_rules::engine::facts::{PrObs, Run};
use steward_rules::engine::{fingerprint, retry};
use steward_rules::untrusted::Untrusted;

use super::judging::Judged;
use super::notices::{self, Incident};
use super::tick::Tick;
use super::{act, evidence};
use crate::store::StoreError;

/// The failures that many pull requests share: each is one incident, and only the first of its pull requests goes
/// on, which is its diagnosis. The others of its kind are held until that one is over. Gives those that are held.
pub(super) async fn held(tick: &mut Tick<'_>, judged: &[Judged]) -> Result<BTreeSet<usize>, StoreError> {
    let failing: Vec<(usize, Vec<String>)> =
        judged.iter().map(red).enumerate().filter(|(_, names)| !names.is_empty()).collect();
    let told = if failing.is_empty() { BTreeSet::new() } else { notices::incidents_told(tick).await? };
    let mut held = BTreeSet::new();
    if failing.len() < retry::ONE_INCIDENT && told.is_empty() {
        return Ok(held);
    }
    let (mut prints, mut said, mut begun) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    for (at, names) in &failing {
        for log in evidence::logs(tick, &judged[*at].seen, names).await {
            // Of what could not be read nobody knows that it is the same.
            let Some(excerpt) = log.excerpt else { continue };
            let print = fingerprint::of_check(&log.check, &excerpt);
            let last = excerpt.lines().last().unwrap_or_default();
            said.entry(print.clone())
                .or_insert_with(|| (log.check.clone(), Untrusted::new(last).one_line(200)));
            if act::is_under_way(&judged[*at], tick.now) {
                begun.entry(print.clone()).or_insert(*at as i64);
            }
            prints.push((*at as i64, print));
        }
    }
    for (print, (check, _)) in &said {
        // While its check runs again there is no log of it: that it is the one is known by the check.
        let goes_on = judged.iter().position(|one| goes_on(one, check, print));
        if let Some(at) = goes_on.filter(|_| told.contains(notices::short(print))) {
            begun.insert(print.clone(), at as i64);
        }
    }
    // One that acts, and was never told of, is no incident by itself: it takes as many as ever.
    begun.retain(|print, _| told.contains(notices::short(print)));
    for retry::Incident { print, first, items } in retry::incidents(&prints, &begun) {
        let numbers = items.iter().map(|at| judged[*at as usize].pull.number).collect();
        let (check, line) = said.remove(&print).unwrap_or_default();
        tick.incidents.push(Incident { print, check, line, numbers });
        held.extend(items.into_iter().filter(|at| *at != first).map(|at| at as usize));
    }
    Ok(held)
}

/// The red checks by which it is run again or fixed.
fn red(one: &Judged) -> Vec<String> {
    match &one.decision {
        Decision::Rerun { run_ids } => names_of(&one.seen, run_ids),
        Decision::Fix { what: Fix::Checks { names, .. }, .. } => names.clone(),
        Decision::Fix { .. }
        | Decision::ReviewCode { .. }
        | Decision::RetryVerify { .. }
        | Decision::Rebase(_)
        | Decision::Merge(_)
        | Decision::Ignore(_)
        | Decision::ListOnly(_)
        | Decision::Wait(_)
        | Decision::Gone(_)
        | Decision::ConfigFault(_) => Vec::new(),
    }
}

/// True for one that was run again for this check and has no result yet, or whose fix of this failure failed and
/// waits for its next turn.
fn goes_on(one: &Judged, check: &str, print: &str) -> bool {
    let Decision::Wait(wait) = &one.decision else { return false };
    let was_rerun = || one.memory.reruns.keys().any(|(head, _)| *head == one.seen.head.sha);
    match &wait.reason {
        WaitFor::Rerun { names } | WaitFor::Running { names } | WaitFor::WorkflowEnd { names } => {
            names.iter().any(|name| name == check) && was_rerun()
        }
        WaitFor::Backoff { what: Some(Fix::Checks { .. }), .. } => one.item.attempts.prints.contains(print),
        WaitFor::Backoff { .. }
        | WaitFor::Incomplete(_)
        | WaitFor::Stable { .. }
        | WaitFor::Sweep { .. }
        | WaitFor::VerdictRetry { .. }
        | WaitFor::VerdictRunning
        | WaitFor::VerdictAbsent
        | WaitFor::Absent { .. }
        | WaitFor::OtherFailed { .. }
        | WaitFor::ChangesRequested { .. }
        | WaitFor::Approvals { .. }
        | WaitFor::Seat(_)
        | WaitFor::Unbound(_)
        | WaitFor::Held(_)
        | WaitFor::Overtaken(_)
        | WaitFor::NextTick => false,
    }
}

/// The failed checks of these workflow runs.
fn names_of(seen: &PrObs, run_ids: &[u64]) -> Vec<String> {
    let of_run = |run: &&Run| {
        run.head == seen.head.sha
            && run.workflow_run.is_some_and(|id| run_ids.contains(&id))
            && steward_rules::checks::run_health(&run.check.state, true) == Health::Failing
    };
    let names: BTreeSet<String> =
        seen.check_runs.items.iter().filter(of_run).map(|run| run.check.name.clone()).collect();
    names.into_iter().collect()
}
