//! What a task of an agent or of a rebase came to, and what of it goes out.
//!
//! A task is taken into account once: when what it made is pushed, refused or dropped. Whether that happened
//! stands in the journal, so that a process that died in between wants nothing twice.

use steward_rules::deed::Deed;
use steward_rules::engine::ladder;
use steward_rules::engine::retry::TaskEnd;
use steward_rules::ids::Sha;
use steward_rules::outgoing;
use steward_rules::power::EffectClass;
use steward_rules::untrusted::Untrusted;
use steward_rules::wording::items as say;

use super::act::{is_open, place, want};
use super::judging::Judged;
use super::tick::Tick;
use crate::github::any_fraction;
use crate::store::effects::{EffectRow, State};
use crate::store::engine_items;
use crate::store::engine_tasks::{self, TaskResult, TaskRow, What};
use crate::store::{Durability, StoreError};

/// How a push of ours stands.
pub(super) enum Push<'r> {
    /// Nothing is in the journal.
    None,
    Open,
    Done(&'r EffectRow),
    /// The branch moved meanwhile: the result is dropped, and nothing is spent.
    Moved,
    /// A person said no, or it cannot go out for a fault of the configuration.
    Refused(&'r EffectRow),
}

/// How the push of a branch to a commit stands in the journal.
pub(super) fn push_of<'r>(journal: &'r [EffectRow], branch: &str, to: &Sha) -> Push<'r> {
    let found = journal.iter().find(|row| {
        matches!(&row.deed, Some(Deed::Push { branch: its, to: end, .. }) if its == branch && end == to)
    });
    let Some(row) = found else { return Push::None };
    match row.state {
        _ if is_open(row) => Push::Open,
        State::Done => Push::Done(row),
        State::Obsolete => Push::Moved,
        State::Failed if matches!(row.why.as_deref(), Some("lease" | "moved" | "head_moved")) => Push::Moved,
        State::Failed
        | State::Dismissed
        | State::Wanted
        | State::Suggested
        | State::Approved
        | State::Intended => Push::Refused(row),
    }
}

/// True for an effect that a fault of the configuration stopped: no further try of an agent mends it
/// (engine.md 18).
pub(super) fn is_fault(row: &EffectRow) -> bool {
    row.state == State::Failed && row.why.as_deref() == Some("config_fault")
}

/// Takes the ended tasks of a pull request into its row, oldest first, up to one whose result is on its way.
pub(super) async fn of_pull(tick: &Tick<'_>, one: &mut Judged) -> Result<(), StoreError> {
    let seen = one.item.task_seen;
    let is_new = |task: &&TaskRow| task.state == engine_tasks::State::Ended && task.id > seen;
    let mut ended: Vec<TaskRow> = one.tasks.iter().filter(is_new).cloned().collect();
    ended.sort_by_key(|task| task.id);
    let before = one.item.clone();
    for task in ended {
        if !settle(tick, one, &task).await? {
            break;
        }
        one.item.task_seen = task.id;
    }
    if one.item == before {
        return Ok(());
    }
    one.item.stuck = one.item.attempts.is_stuck(&tick.place.policy.retry);
    let (id, item) = (tick.known.repository.id, one.item.clone());
    tick.ctx.store.write(Durability::Full, move |tx| engine_items::put(tx, id, &item)).await
}

/// One ended task; false while what it made is on its way.
async fn settle(tick: &Tick<'_>, one: &mut Judged, task: &TaskRow) -> Result<bool, StoreError> {
    let end = task.end.unwrap_or(TaskEnd::Crashed);
    let at = task.ended_at.unwrap_or(tick.now);
    let said = task.detail.as_deref().map(|detail| Untrusted::new(detail).one_line(300));
    match &task.result {
        Some(TaskResult::Push { branch, from, to, .. }) => {
            let class = class_of(one, task, branch);
            match push_of(&one.journal, branch, to) {
                Push::None => {
                    let deed = Deed::Push { branch: branch.clone(), from: from.clone(), to: to.clone() };
                    let line = format!("{} {}", word(task), place(tick, one));
                    let wanted = want(tick, one.pull.number, task.head.clone(), class, deed, line).await?;
                    // What the guard does not let out at all is dropped.
                    Ok(wanted.is_none())
                }
                Push::Open => Ok(false),
                Push::Moved => Ok(true),
                Push::Done(row) => {
                    let at = row.outcome_at.unwrap_or(at);
                    one.item.pushed_head = Some(to.clone());
                    if task.what == What::Rebase {
                        one.item.rebases += 1;
                    }
                    if is_agents(task) {
                        one.item.attempts = spent(tick, one, end, at);
                    }
                    one.item.last_action = Some((format!("{}: pushed", word(task)), at));
                    Ok(true)
                }
                // Another head is another change: what was made of the old one is of no use.
                Push::Refused(row) if is_fault(row) && task.head.as_ref() == Some(&one.seen.head.sha) => {
                    let is_tried = one.item.try_at.zip(row.outcome_at).is_some_and(|(tried, at)| tried > at);
                    if is_tried || one.stops.is_mended(row.outcome_at) {
                        let deed = Deed::Push { branch: branch.clone(), from: from.clone(), to: to.clone() };
                        let line = format!("{} {}", word(task), place(tick, one));
                        want(tick, one.pull.number, task.head.clone(), class, deed, line).await?;
                    }
                    Ok(false)
                }
                Push::Refused(row) => {
                    if !is_fault(row) && is_agents(task) {
                        one.item.attempts = spent(tick, one, end, row.outcome_at.unwrap_or(at));
                    }
                    Ok(true)
                }
            }
        }
        Some(TaskResult::Answer { .. }) | None => {
            if is_agents(task) {
                one.item.attempts = spent(tick, one, end, at);
                if end.spends() {
                    one.item.evidence = said.clone().or_else(|| one.item.evidence.clone());
                }
            }
            if task.what == What::Rebase && task.fault.is_none() && has_failed(end) {
                tell_failure(tick, one, task, said.as_deref().unwrap_or_default()).await?;
            }
            if let Some(said) = said {
                one.item.last_action = Some((format!("{}: {said}", word(task)), at));
            }
            Ok(true)
        }
    }
}

/// True when something was tried and did not come out.
fn has_failed(end: TaskEnd) -> bool {
    match end {
        TaskEnd::Refused | TaskEnd::BadAnswer | TaskEnd::Timeout | TaskEnd::TurnLimit | TaskEnd::Crashed => {
            true
        }
        TaskEnd::Pushed
        | TaskEnd::Answered
        | TaskEnd::NoChange
        | TaskEnd::UsageLimit
        | TaskEnd::Preempted
        | TaskEnd::Killed
        | TaskEnd::LeaseRejected
        | TaskEnd::PushRefused
        | TaskEnd::BoundaryLost
        | TaskEnd::ForgeFailed
        | TaskEnd::PullClosed
        | TaskEnd::NotStarted => false,
    }
}

/// A rebase that failed is a comment on its pull request (engine.md 7): one for each head, however often it is
/// tried on another base.
async fn tell_failure(tick: &Tick<'_>, one: &Judged, task: &TaskRow, said: &str) -> Result<(), StoreError> {
    let Some(head) = task.head.clone().filter(|head| *head == one.seen.head.sha) else { return Ok(()) };
    let (marker, own) =
        (outgoing::marker_for("rebase-failed", &format!("head={head}")), say::rebase_failed());
    // What the machine said may hold a secret all the same; then it is not said.
    let body = outgoing::say(&marker, &own, &[(None, said)]).unwrap_or_else(|_| format!("{marker}\n{own}\n"));
    let line = format!("Tell {} that its rebase failed", place(tick, one));
    want(tick, one.pull.number, Some(head), EffectClass::Rebase, Deed::Comment { body }, line).await?;
    Ok(())
}

/// True when an agent worked on it: what ends before one starts is no attempt (engine.md 6).
fn is_agents(task: &TaskRow) -> bool {
    task.agent_at.is_some()
}

/// The newest task over this head that ended by what no further try mends, until a person asks for one, or the
/// base is another one where that may mend it.
pub(super) fn parked(one: &Judged) -> Option<&TaskRow> {
    let stands = |task: &&TaskRow| {
        let is_tried = one.item.try_at.zip(task.ended_at).is_some_and(|(tried, at)| tried > at);
        let is_same_base = one.item.compare.as_ref().is_none_or(|known| known.base == task.base);
        task.head.as_ref() == Some(&one.seen.head.sha)
            && task.fault.is_some_and(|fault| is_same_base || !fault.is_of_base())
            && !is_tried
            && !one.stops.is_mended(task.ended_at)
    };
    one.tasks.iter().find(stands)
}

fn spent(
    tick: &Tick<'_>,
    one: &Judged,
    end: TaskEnd,
    at: chrono::DateTime<chrono::Utc>,
) -> steward_rules::engine::retry::Attempts {
    one.item.attempts.after(end, &tick.place.policy.retry, any_fraction(), at)
}

fn class_of(one: &Judged, task: &TaskRow, branch: &str) -> EffectClass {
    if branch == ladder::superseding(one.pull.number) {
        return EffectClass::Supersede;
    }
    match task.what {
        What::Fix { .. } | What::Triage { .. } => EffectClass::PushFix,
        What::Rebase => EffectClass::Rebase,
    }
}

fn word(task: &TaskRow) -> &'static str {
    match task.what {
        What::Fix { .. } => "Push a fix of",
        What::Rebase => "Push the rebase of",
        What::Triage { .. } => "Push a change for",
    }
}
