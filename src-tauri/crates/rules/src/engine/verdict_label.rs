//! Whether the verdict labels speak of this head (engine.md 4.3).
//!
//! A label alone says nothing: a force-push leaves it on the new head for minutes. And adding a label that
//! is there makes no event. So the pass label is bound to the run of the verdict job at exactly this head.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use super::checks;
use super::facts::{Labelled, PrObs, Run};
use super::policy::{Policy, VerdictPolicy, same_label};
use super::retry::VerdictResult;
use crate::checks::Health;
use crate::ids::Sha;
use crate::review::facts::CheckState;

/// The newest run of the verdict job at the head that was not skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeadVerdict<'a> {
    Absent,
    Pending(&'a Run),
    /// It gave no verdict: the colour says whether a verdict happened, not whether it was good.
    Failed(&'a Run),
    /// The run that gave it; all of them where GitHub does not say which is the newest.
    Given(Vec<&'a Run>),
}

impl<'a> HeadVerdict<'a> {
    pub fn run(&self) -> Option<&'a Run> {
        match self {
            Self::Absent => None,
            Self::Pending(run) | Self::Failed(run) => Some(run),
            Self::Given(runs) => runs.first().copied(),
        }
    }
}

/// Why the labels do not count for this head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unbound {
    /// GitHub does not say when the verdict run ended.
    EndUnknown,
    /// A run of another head is going on, or ended no earlier: it rewrites the labels.
    OtherHead {
        head: Sha,
        ended_at: Option<DateTime<Utc>>,
    },
    /// The labels were read before the verdict was there.
    ReadBefore {
        ended_at: DateTime<Utc>,
    },
    BothLabels,
    FlagPresent,
    PassAbsent,
    /// Somebody else put the pass label on after the verdict.
    PutOnBy {
        login: String,
        at: DateTime<Utc>,
    },
    /// The newest run of the job was skipped, and the policy does not list it as skippable.
    SkippedLast,
}

/// Finds the verdict run of the head. Label-triggered runs that did nothing are skipped ones of the same
/// name, so those do not count.
pub fn of_head<'a>(pr: &'a PrObs, policy: &'a Policy, verdict: &'a VerdictPolicy) -> HeadVerdict<'a> {
    let runs: Vec<&Run> = runs(pr, policy, verdict).filter(|run| run.head == pr.head.sha).collect();
    match checks::newest(&runs, false).and_then(|seen| Some((seen.health, seen.run?))) {
        None => HeadVerdict::Absent,
        Some((Health::Waiting, run)) => HeadVerdict::Pending(run),
        Some((Health::Failing, run)) => HeadVerdict::Failed(run),
        Some((Health::Well, _)) => HeadVerdict::Given(checks::maybe_newest(&runs)),
    }
}

/// The workflow run of the newest run of the verdict job at the head, a skipped one too: what can be run again
/// where none gave a verdict. `None` where there never was one, and where GitHub does not run it again.
pub fn rerunnable(pr: &PrObs, policy: &Policy, verdict: &VerdictPolicy, dead: &BTreeSet<u64>) -> Option<u64> {
    let all = pr.verdict_runs.items.iter().chain(&pr.check_runs.items);
    let runs: Vec<&Run> = all
        .filter(|run| run.head == pr.head.sha && run.workflow_run.is_some())
        .filter(|run| checks::is_verdict(run, policy, verdict))
        .collect();
    checks::maybe_newest(&runs).first()?.workflow_run.filter(|run| !dead.contains(run))
}

/// What the verdict job came to, at any head of a pull request: once for each run that ended. One that was
/// cancelled, or that skipped, came to nothing.
pub fn results(pr: &PrObs, policy: &Policy, verdict: &VerdictPolicy) -> Vec<VerdictResult> {
    let mut found = BTreeMap::new();
    for run in runs(pr, policy, verdict) {
        let CheckState::Ended(word) = &run.check.state else { continue };
        let Some(at) = run.ended_at.filter(|_| word != "cancelled") else { continue };
        found.insert(run.check.id, VerdictResult { at, given: word == "success" });
    }
    found.into_values().collect()
}

/// Every run of the verdict job, of any head, that did not skip.
fn runs<'a>(pr: &'a PrObs, policy: &'a Policy, verdict: &'a VerdictPolicy) -> impl Iterator<Item = &'a Run> {
    let is_verdict = move |run: &&Run| {
        checks::is_verdict(run, policy, verdict) && run.check.state != CheckState::Ended("skipped".to_owned())
    };
    pr.verdict_runs.items.iter().chain(&pr.check_runs.items).filter(is_verdict)
}

/// Why the labels do not bind to the verdict `given` at this head; `None` when they bind to every run that
/// may be the newest.
pub fn unbound(
    pr: &PrObs,
    policy: &Policy,
    verdict: &VerdictPolicy,
    given: &[&Run],
    labels: &[String],
    labelled: &[Labelled],
) -> Option<Unbound> {
    let gaps = given.iter().filter_map(|run| unbound_of(pr, policy, verdict, run, labels, labelled));
    // A flag is acted on, so it is told only when nothing else is in doubt.
    gaps.min_by_key(|gap| *gap == Unbound::FlagPresent)
}

fn unbound_of(
    pr: &PrObs,
    policy: &Policy,
    verdict: &VerdictPolicy,
    given: &Run,
    labels: &[String],
    labelled: &[Labelled],
) -> Option<Unbound> {
    let Some(ended_at) = given.ended_at else { return Some(Unbound::EndUnknown) };
    if let Some(other) = late(pr, policy, verdict, ended_at) {
        return Some(other);
    }
    if pr.labels_read_at <= ended_at {
        return Some(Unbound::ReadBefore { ended_at });
    }
    let has = |wanted: &str| labels.iter().any(|label| same_label(label, wanted));
    match (has(&verdict.pass_label), has(&verdict.flag_label)) {
        (true, true) => return Some(Unbound::BothLabels),
        (false, true) => return Some(Unbound::FlagPresent),
        (false, false) => return Some(Unbound::PassAbsent),
        (true, false) => {}
    }
    if verdict.human_label_counts {
        return None;
    }
    put_on(verdict, labelled, ended_at)
}

/// The run of another head that rewrote the labels, or will. A second holds more than one event, so a run
/// that ended in the very second counts as later.
pub fn late(
    pr: &PrObs,
    policy: &Policy,
    verdict: &VerdictPolicy,
    ended_at: DateTime<Utc>,
) -> Option<Unbound> {
    let others = runs(pr, policy, verdict).filter(|run| run.head != pr.head.sha);
    let late = others.filter(|run| match &run.check.state {
        CheckState::Queued | CheckState::InProgress => true,
        CheckState::Ended(_) => run.ended_at.is_none_or(|at| at >= ended_at),
    });
    let end = |run: &&Run| match &run.check.state {
        CheckState::Queued | CheckState::InProgress => None,
        CheckState::Ended(_) => run.ended_at,
    };
    late.map(|run| (end(&run), &run.head))
        .min()
        .map(|(ended_at, head)| Unbound::OtherHead { head: head.clone(), ended_at })
}

fn put_on(verdict: &VerdictPolicy, labelled: &[Labelled], ended_at: DateTime<Utc>) -> Option<Unbound> {
    let is_actor = |login: &str| verdict.label_actors.iter().any(|actor| actor.eq_ignore_ascii_case(login));
    labelled
        .iter()
        .filter(|event| same_label(&event.label, &verdict.pass_label))
        .filter(|event| event.at >= ended_at && !is_actor(&event.actor.login))
        .map(|event| (event.at, &event.actor.login))
        .max()
        .map(|(at, login)| Unbound::PutOnBy { login: login.clone(), at })
}
