//! What a person hears of a review: the inbox entry and the notification, and their end.

use steward_rules::ids::ReviewId;
use steward_rules::review::gate::{GateState, GateTable};
use steward_rules::review::lifecycle::{EndReason, ReviewState};
use steward_rules::review::verdict::{StaleReason, Verdict};
use steward_rules::untrusted::Untrusted;

use crate::loops::effects;
use crate::store::inbox::{self, Kind, NewEntry};
use crate::store::reviews::ReviewRecord;
use crate::store::tasks::TaskRow;
use crate::store::{StoreError, WriteTx, findings, notices, reviews, steps, tasks};

/// Under which a review's notification is written once for ever.
pub(super) fn notice_key(id: ReviewId) -> String {
    format!("review:{id}")
}

/// What an inbox entry or a notification of a review opens.
pub(super) fn target(id: ReviewId) -> String {
    format!("review/{id}")
}

/// The inbox entry and the notification of a verdict, in the transaction that publishes it.
pub(super) fn announce(
    tx: &WriteTx<'_>,
    review: &ReviewRecord,
    verdict: Verdict,
    table: &GateTable,
) -> Result<(), StoreError> {
    let task = tasks::get(tx, review.task)?;
    let from = source(task.as_ref());
    let title = enter(tx, review, verdict, &from)?;
    let pending = findings::of(tx, review.id)?.iter().filter(|finding| finding.state.is_pending()).count();
    let failed: Vec<&str> = table
        .results
        .iter()
        .filter(|result| result.state == GateState::Fail)
        .map(|result| result.id.as_str())
        .collect();
    let counts = match pending {
        0 => "no open findings".to_owned(),
        1 => "1 finding".to_owned(),
        count => format!("{count} findings"),
    };
    let mut body = if from.is_empty() { counts } else { format!("{from} · {counts}") };
    if !failed.is_empty() {
        body.push_str(&format!(" · failed: {}", failed.join(", ")));
    }
    let head = format!("{} · #{} {title}", verdict.as_str(), review.task);
    notices::add(tx, &notice_key(review.id), &target(review.id), &head, &body)?;
    tx.topic("notices")
}

/// The same for a review that ended without a verdict of the seat: it is BLOCKED, and the reason is
/// what the person must know. Whoever cancelled one knows already.
pub(in crate::loops) fn announce_end(
    tx: &WriteTx<'_>,
    id: ReviewId,
    reason: EndReason,
    detail: &str,
) -> Result<(), StoreError> {
    let Some(review) = reviews::get(tx, id)? else { return Ok(()) };
    if reason == EndReason::Cancelled || review.stale_reason.is_some() {
        return Ok(());
    }
    for older in reviews::fresh_of(tx, review.task)? {
        if older.id < id && older.state == ReviewState::Ended {
            turn_stale(tx, &older, StaleReason::NewerReview)?;
        }
    }
    let task = tasks::get(tx, review.task)?;
    let from = source(task.as_ref());
    let title = enter(tx, &review, Verdict::Blocked, &format!("{from} · {}", reason.as_str()))?;
    let head = format!("BLOCKED · #{} {title}", review.task);
    let detail = Untrusted::new(detail).one_line(200);
    notices::add(
        tx,
        &notice_key(id),
        &target(id),
        &head,
        &format!("{from} · {}: {detail}", reason.as_str()),
    )?;
    tx.topic("notices")
}

/// Puts the review into the inbox, and gives its title.
fn enter(
    tx: &WriteTx<'_>,
    review: &ReviewRecord,
    verdict: Verdict,
    source: &str,
) -> Result<String, StoreError> {
    let title = Untrusted::new(review.title.as_str()).one_line(120);
    let entry = NewEntry {
        kind: Kind::Review,
        subject: format!("task:{}", review.task),
        target: target(review.id),
        title: title.clone(),
        source: source.to_owned(),
        chip: verdict.as_str().to_owned(),
    };
    inbox::upsert(tx, &entry)?;
    Ok(title)
}

fn source(task: Option<&TaskRow>) -> String {
    let Some(task) = task else { return String::new() };
    let place = task.repository.as_deref().or(task.workspace.as_deref()).unwrap_or_default();
    match &task.branch {
        Some(branch) => Untrusted::new(format!("{place} · {branch}")).one_line(200),
        None => Untrusted::new(place).one_line(200),
    }
}

/// Turns a review stale, once: it leaves the inbox, and a notification nobody saw is not shown any more.
pub(super) fn turn_stale(
    tx: &WriteTx<'_>,
    review: &ReviewRecord,
    reason: StaleReason,
) -> Result<(), StoreError> {
    if !reviews::set_stale(tx, review.id, reason)? {
        return Ok(());
    }
    inbox::withdraw(tx, Kind::Review, &target(review.id))?;
    notices::withdraw(tx, &notice_key(review.id))?;
    effects::turned_stale(tx, review.id, reason)?;
    steps::add(tx, review.id, "state", &format!("stale: {}", reason.as_str()))?;
    tx.topic("tasks")
}
