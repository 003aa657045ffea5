//! What follows from a decision about a pull request: one effect wanted, one task queued, or one review.

use chrono::{DateTime, Duration, Utc};
use steward_rules::deed::Deed;
use steward_rules::engine::decision::{Decision, Fix, Place};
use steward_rules::engine::facts::PrObs;
use steward_rules::engine::{hold, ladder};
use steward_rules::ids::PullNumber;
use steward_rules::power::{EffectClass, Mode};
use steward_rules::reading::Reading;
use steward_rules::review::lifecycle::Caller;
use steward_rules::untrusted::Untrusted;

use super::judging::Judged;
use super::tick::Tick;
use super::{after, evidence, incidents, results};
use crate::loops::effects::{self as journal, Since, Wanted};
use crate::loops::failpoint;
use crate::loops::review::{self, Ask, StartError};
use crate::store::effects::{EffectRow, State};
use crate::store::engine_items;
use crate::store::engine_tasks::{self, NewTask, What};
use crate::store::reviews::Trigger;
use crate::store::{Durability, StoreError, effects, engine, tasks};

/// True for a decision by which something is done.
pub(super) fn acts(decision: &Decision) -> bool {
    match decision {
        Decision::ReviewCode { .. }
        | Decision::Rerun { .. }
        | Decision::RetryVerify { .. }
        | Decision::Rebase(_)
        | Decision::Fix { .. }
        | Decision::Merge(_) => true,
        Decision::Ignore(_)
        | Decision::ListOnly(_)
        | Decision::Wait(_)
        | Decision::Gone(_)
        | Decision::ConfigFault(_) => false,
    }
}

/// How long what GitHub, or the gate's last word, did not let through at this head rests before it is wanted
/// again: the end of an effect makes a tick due at once, and that one would meet the same no.
const RESTS: Duration = Duration::minutes(2);

/// True when what a decision calls for was asked for already, and is not over; or when it was refused, just now or
/// in a way that only a person mends.
pub(super) fn is_under_way(judged: &Judged, now: DateTime<Utc>) -> bool {
    let head = &judged.seen.head.sha;
    let stands = |row: &EffectRow| is_open(row) || is_parked(row, judged) || rests(row, judged, now);
    let rows = |class: EffectClass| {
        judged.journal.iter().filter(move |row| row.class == class && row.head.as_ref() == Some(head))
    };
    match &judged.decision {
        Decision::Merge(_) => {
            let refused = judged.stops.refused.as_ref();
            rows(EffectClass::Merge).any(stands)
                || refused.is_some_and(|refused| !was_tried(judged, Some(refused.at)))
        }
        Decision::Rerun { run_ids } => run_ids.iter().all(|id| {
            rows(EffectClass::RerunCheck)
                .any(|row| matches!(&row.deed, Some(Deed::Rerun { run, .. }) if run == id) && stands(row))
        }),
        Decision::RetryVerify { n, .. } => rows(EffectClass::RetryVerdict).any(|row| {
            matches!(&row.deed, Some(Deed::RetryVerdict { n: asked, .. }) if asked == n) && stands(row)
        }),
        Decision::Fix { .. } | Decision::Rebase(_) => {
            judged
                .tasks
                .iter()
                .any(|task| task.state != engine_tasks::State::Ended || task.id > judged.item.task_seen)
                || results::parked(judged).is_some()
                || after::is_superseded(judged)
        }
        // Whether a review may start is asked of the database alone.
        Decision::ReviewCode { .. } => true,
        Decision::Ignore(_)
        | Decision::ListOnly(_)
        | Decision::Wait(_)
        | Decision::Gone(_)
        | Decision::ConfigFault(_) => false,
    }
}

pub(super) fn is_open(row: &EffectRow) -> bool {
    !row.state.is_final()
}

/// An effect that failed for a fault of the configuration, or that the person turned down, is not wanted again
/// by itself (engine.md 18).
pub(super) fn is_parked(row: &EffectRow, judged: &Judged) -> bool {
    let is_fault = results::is_fault(row) && !judged.stops.is_mended(row.outcome_at);
    (is_fault || row.state == State::Dismissed) && !was_tried(judged, row.outcome_at)
}

/// True for an effect that was just told: not now (engine.md 4.6).
pub(super) fn rests(row: &EffectRow, judged: &Judged, now: DateTime<Utc>) -> bool {
    let is_no = match row.state {
        State::Obsolete => matches!(
            row.why.as_deref(),
            Some("next_tick" | "not_ready" | "not_found" | "head_moved" | "closed")
        ),
        State::Failed => row.why.as_deref() == Some("unprocessable"),
        State::Wanted
        | State::Suggested
        | State::Approved
        | State::Intended
        | State::Done
        | State::Dismissed => false,
    };
    // A time ahead comes from a clock that was set back.
    let is_fresh = row.outcome_at.is_some_and(|at| at <= now && now - at < RESTS);
    is_no && is_fresh && !was_tried(judged, row.outcome_at)
}

/// True when a person asked for a try after that.
fn was_tried(judged: &Judged, at: Option<DateTime<Utc>>) -> bool {
    judged.item.try_at.zip(at).is_some_and(|(tried, at)| tried > at)
}

/// Takes the next step of each pull request: merges first, since what they move is not touched in this tick.
pub(super) async fn pulls(tick: &mut Tick<'_>, judged: &mut [Judged]) -> Result<(), StoreError> {
    if tick.known.mode == Mode::Observe {
        return Ok(());
    }
    merges(tick, judged).await?;
    let held = incidents::held(tick, judged).await?;
    for (at, one) in judged.iter_mut().enumerate() {
        if tick.stop.is_cancelled() {
            return Ok(());
        }
        if held.contains(&at) {
            continue;
        }
        next(tick, one).await?;
    }
    Ok(())
}

/// Wants the merges. Where a head must hold its base, one merge makes every other head wait.
async fn merges(tick: &mut Tick<'_>, judged: &[Judged]) -> Result<(), StoreError> {
    if tick.known.is_frozen {
        return Ok(());
    }
    let is_merging = |one: &Judged| {
        one.journal.iter().any(|row| {
            row.class == EffectClass::Merge
                && matches!(row.state, State::Wanted | State::Approved | State::Intended)
        })
    };
    let mut one_is_on_its_way = judged.iter().any(is_merging);
    for one in judged {
        let Decision::Merge(ready) = &one.decision else { continue };
        let alone = tick.place.policy.require_up_to_date;
        if !one.is_fresh || is_under_way(one, tick.now) || (alone && one_is_on_its_way) {
            continue;
        }
        let deed = Deed::Merge { method: tick.place.policy.merge_method };
        let line = format!("Merge {}", place(tick, one));
        let id =
            want(tick, one.pull.number, Some(ready.sha().clone()), EffectClass::Merge, deed, line).await?;
        if goes_by_itself(tick, id).await? {
            one_is_on_its_way = true;
            tick.known.merging.merged_this_tick = true;
        }
    }
    Ok(())
}

/// True when a wanted effect needs nobody's yes.
async fn goes_by_itself(tick: &Tick<'_>, id: Option<i64>) -> Result<bool, StoreError> {
    let Some(id) = id else { return Ok(false) };
    let row = tick.ctx.store.read(move |tx| effects::get(tx, id)).await?;
    Ok(row.is_some_and(|row| row.state == State::Wanted))
}

/// `owner/name#12: title`, as a person reads it.
pub(super) fn place(tick: &Tick<'_>, one: &Judged) -> String {
    let title = Untrusted::new(one.pull.title.as_data()).one_line(120);
    format!("{}#{}: {title}", tick.place.name, one.pull.number)
}

/// Puts a wish into the journal; `None` when the guard lets nothing of it out.
pub(super) async fn want(
    tick: &Tick<'_>,
    number: PullNumber,
    head: Option<steward_rules::ids::Sha>,
    class: EffectClass,
    deed: Deed,
    line: String,
) -> Result<Option<i64>, StoreError> {
    let config = tick.config.clone();
    let wanted = Wanted {
        class,
        deed,
        host: tick.place.host.clone(),
        repo: tick.place.name.clone(),
        number: Some(number.0),
        head,
        line,
    };
    failpoint::reach("engine_wanting");
    let since =
        Since { tried_at: tick.known.tries.get(&number.0).copied(), mended_at: tick.known.stops.mended_at };
    let id = tick
        .ctx
        .store
        .write(Durability::Full, move |tx| journal::want_since(tx, &config, &wanted, since))
        .await?;
    failpoint::reach("engine_wanted");
    Ok(id)
}

/// The step of one pull request that is not a merge.
async fn next(tick: &mut Tick<'_>, one: &mut Judged) -> Result<(), StoreError> {
    let head = one.seen.head.sha.clone();
    match &one.decision {
        Decision::Rerun { .. } | Decision::RetryVerify { .. } if is_under_way(one, tick.now) => Ok(()),
        Decision::Rerun { run_ids } if one.is_fresh => {
            for run in run_ids.clone() {
                let deed = Deed::Rerun { run, attempt: attempt_of(&one.seen, run) };
                let line = format!("Re-run the failed jobs of {}", place(tick, one));
                want(tick, one.pull.number, Some(head.clone()), EffectClass::RerunCheck, deed, line).await?;
            }
            Ok(())
        }
        Decision::RetryVerify { run, n } if one.is_fresh => {
            let deed = Deed::RetryVerdict { run: *run, attempt: attempt_of(&one.seen, *run), n: *n };
            let line = format!("Ask for the verdict of {} again", place(tick, one));
            want(tick, one.pull.number, Some(head), EffectClass::RetryVerdict, deed, line).await.map(drop)
        }
        Decision::Fix { what, place } if one.is_fresh => {
            let (what, place) = (what.clone(), place.clone());
            task(tick, one, Some(&what), &place).await
        }
        Decision::Rebase(place) if one.is_fresh => {
            let place = place.clone();
            task(tick, one, None, &place).await
        }
        Decision::ReviewCode { .. } => review(tick, one).await,
        Decision::Wait(wait) if wait.reason == steward_rules::engine::decision::WaitFor::NextTick => {
            defer(tick, one);
            Ok(())
        }
        Decision::Rerun { .. }
        | Decision::RetryVerify { .. }
        | Decision::Fix { .. }
        | Decision::Rebase(_)
        | Decision::Wait(_)
        | Decision::Merge(_)
        | Decision::ListOnly(_)
        | Decision::Ignore(_)
        | Decision::Gone(_)
        | Decision::ConfigFault(_) => Ok(()),
    }
}

/// From now on nothing merges until this one's task started (engine.md 14).
fn defer(tick: &mut Tick<'_>, one: &Judged) {
    let now = tick.ctx.clock.now();
    let merging = &mut tick.known.merging;
    merging.hold = Some(hold::deferred(merging.hold, one.pull.number, now));
}

/// Queues a fix or a rebase, unless a merge of this tick moves the branch.
async fn task(
    tick: &mut Tick<'_>,
    one: &mut Judged,
    what: Option<&Fix>,
    place: &Place,
) -> Result<(), StoreError> {
    if is_under_way(one, tick.now) {
        return Ok(());
    }
    let labels = one.seen.labels.get().map_or_else(|_| Vec::new(), Clone::clone);
    if hold::defers(&tick.known.merging, ladder::is_swept(&labels, &tick.place.policy)) {
        defer(tick, one);
        return Ok(());
    }
    let head = one.seen.head.sha.clone();
    let (branch, lease) = match place {
        Place::Own { branch } => (branch.clone(), Some(head.clone())),
        Place::Supersede { branch } => match after::tip(tick, branch).await {
            Reading::Known { value } => (branch.clone(), value),
            Reading::Unread { .. } => return Ok(()),
        },
    };
    let (what, evidence) = match what {
        None => (What::Rebase, Vec::new()),
        Some(Fix::Flag) => {
            one.item.attempts.prints = evidence::flag_print(&one.seen);
            (What::Fix { checks: Vec::new(), flag: true }, evidence::of_flag(tick, &one.seen).await)
        }
        Some(Fix::Checks { names, .. }) => {
            let logs = evidence::logs(tick, &one.seen, names).await;
            one.item.evidence = logs.iter().rev().find_map(|log| log.excerpt.clone());
            one.item.attempts.prints = evidence::prints(&logs);
            let pieces = evidence::of_checks(tick, &one.seen, &logs).await;
            (What::Fix { checks: names.clone(), flag: false }, pieces)
        }
    };
    let id = tick.known.repository.id;
    let new = NewTask {
        repository: id,
        kind: engine_tasks::ItemKind::Pr,
        number: one.pull.number.0,
        what,
        head: Some(head),
        base: tick.base_tip(&one.pull),
        branch,
        lease,
        evidence,
    };
    let item = one.item.clone();
    tick.ctx
        .store
        .write(Durability::Full, move |tx| {
            super::tasks::queue(tx, new)?;
            engine_items::put(tx, id, &item)?;
            tx.topic(engine::TOPIC)
        })
        .await
}

/// The newest attempt of a workflow run that was seen.
fn attempt_of(seen: &PrObs, run: u64) -> u64 {
    let all = seen.check_runs.items.iter().chain(&seen.verdict_runs.items);
    let attempts = all.filter(|one| one.workflow_run == Some(run)).map(|one| u64::from(one.check.attempt));
    attempts.max().unwrap_or(1)
}

/// Starts a review by the seat, when everything that caps reviews lets it start.
async fn review(tick: &mut Tick<'_>, one: &Judged) -> Result<(), StoreError> {
    let head = &one.seen.head.sha;
    let is_there = one
        .reviews
        .iter()
        .any(|past| past.sha == *head && (past.state.is_open() || past.state.seat_finished()));
    // What caps reviews caps the next one too.
    if is_there || tick.is_review_refused || !review::settings(tick.config).is_on() {
        return Ok(());
    }
    let (host, name, number) = (tick.place.host.clone(), tick.place.name.clone(), one.pull.number);
    let Some(task) = tick.ctx.store.read(move |tx| tasks::find_by_pull(tx, &host, &name, number)).await?
    else {
        return Ok(());
    };
    if task.head.as_ref() != Some(&one.seen.head.sha) {
        return Ok(());
    }
    let ask = Ask { task: task.id, sha: None, trigger: Trigger::Automatic, caller: Caller::Runtime };
    match review::start(tick.ctx, ask).await {
        Ok(review) => {
            tracing::info!(%number, %review, "a code change is reviewed");
            Ok(())
        }
        Err(StartError::Store(error)) => Err(error),
        Err(error) => {
            tracing::debug!(%number, %error, "no review of a code change");
            tick.is_review_refused = true;
            Ok(())
        }
    }
}
