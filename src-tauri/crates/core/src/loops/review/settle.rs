//! The last phase: compute the gates again, then publish, hold, or keep unpublished.

use steward_rules::ids::{ReviewId, Sha, TaskId};
use steward_rules::reading::Reading;
use steward_rules::review::gate::{self, GateId, GateTable, ci_fingerprint};
use steward_rules::review::lifecycle::{EndReason, Outcome, ReviewState, settle as decide};
use steward_rules::review::verdict::{self, StaleFacts, StaleReason, Verdict};
use tokio_util::sync::CancellationToken;

use super::announce::{announce, turn_stale};
use super::drive::{DriveError, Ended, end_in};
use super::observe::observe;
use super::start;
use crate::config::Config;
use crate::loops::task::{self, TaskError};
use crate::loops::{Ctx, effects, failpoint};
use crate::store::reviews::ReviewRecord;
use crate::store::{Durability, ReadTx, StoreError, WriteTx, attached, gates, reviews, steps};

/// Computes the gates of a submitted or held review again and does what they allow.
pub async fn settle(ctx: &Ctx, id: ReviewId) -> Result<(), DriveError> {
    settle_until(ctx, id, &CancellationToken::new()).await
}

/// The same; when it is cancelled before the gates are computed, the review is held with what they said
/// before.
pub async fn settle_until(ctx: &Ctx, id: ReviewId, cancel: &CancellationToken) -> Result<(), DriveError> {
    let Some(review) = ctx.store.read(move |tx| reviews::get(tx, id)).await? else { return Ok(()) };
    match review.state {
        ReviewState::Submitted => {}
        ReviewState::Held if review.stale_reason.is_none() => {}
        ReviewState::Held
        | ReviewState::Queued
        | ReviewState::Digesting
        | ReviewState::Running
        | ReviewState::Published
        | ReviewState::Ended => return Ok(()),
    }
    let head = task::head_now(ctx, review.task).await?;
    let task = match task::get(ctx, review.task).await {
        Ok(task) => task,
        Err(TaskError::Store(error)) => return Err(error.into()),
        Err(_) => return Ok(()),
    };
    let judged = match observe(ctx, &task, &review.sha, cancel).await {
        Ok(observed) => Some(Judged {
            table: observed.judge(ctx.clock.now()),
            ci_fingerprint: ci_fingerprint(&observed.evidence),
        }),
        Err(TaskError::Store(error)) => return Err(error.into()),
        // The workspace cannot be opened now: what the gates said stands as undecided.
        Err(error) => {
            tracing::warn!(review = %id, %error, "the gates cannot be computed again");
            None
        }
    };
    let config = ctx.config();
    ctx.store.write(Durability::Full, move |tx| settle_in(tx, id, &head, judged.as_ref(), &config)).await?;
    failpoint::reach("settled");
    Ok(())
}

/// What the gates said, and of which checks.
struct Judged {
    table: GateTable,
    ci_fingerprint: String,
}

/// The one transaction that publishes, holds, or keeps a review unpublished.
fn settle_in(
    tx: &WriteTx<'_>,
    id: ReviewId,
    head: &Reading<Option<Sha>>,
    judged: Option<&Judged>,
    config: &Config,
) -> Result<(), StoreError> {
    let settings = &start::settings(config);
    let Some(review) = reviews::get(tx, id)? else { return Ok(()) };
    if !matches!(review.state, ReviewState::Submitted | ReviewState::Held) || review.cancel_asked {
        return Ok(());
    }
    let table = judged.map(|judged| &judged.table);
    if let Some(judged) = judged {
        gates::record(tx, id, &judged.table)?;
        // The checks it was judged by at last decide whether another review would be the same.
        reviews::record_ci(tx, id, &judged.ci_fingerprint)?;
    }
    let stale = stale_now(tx, &review, head)?;
    let outcome = match table {
        Some(table) => decide(table, stale, settings),
        None => match stale {
            Some(reason) => Outcome::Stale { reason },
            None if !settings.is_on() => Outcome::Cancel,
            None => Outcome::Hold { undecided: review.waits_for.clone() },
        },
    };
    match outcome {
        Outcome::Publish { cap } => match table {
            Some(table) => {
                publish(tx, &review, cap, table, head)?;
                effects::want_comment(tx, config, id)
            }
            None => Ok(()),
        },
        Outcome::Hold { undecided } => hold(tx, &review, &undecided),
        Outcome::Stale { reason } => {
            turn_stale(tx, &review, reason)?;
            if review.state == ReviewState::Submitted {
                reviews::hold(tx, id)?;
            }
            Ok(())
        }
        Outcome::Cancel => {
            let detail = super::stop::StopWhy::SwitchedOff.detail();
            end_in(tx, id, &Ended { reason: EndReason::Cancelled, detail, usage: None })
        }
    }
}

fn hold(tx: &WriteTx<'_>, review: &ReviewRecord, undecided: &[GateId]) -> Result<(), StoreError> {
    if reviews::hold(tx, review.id)? {
        let names: Vec<&str> = undecided.iter().map(|gate| gate.as_str()).collect();
        steps::add(tx, review.id, "state", &format!("held until decided: {}", names.join(", ")))?;
    }
    Ok(())
}

fn publish(
    tx: &WriteTx<'_>,
    review: &ReviewRecord,
    cap: Verdict,
    table: &GateTable,
    head: &Reading<Option<Sha>>,
) -> Result<(), StoreError> {
    let Some(said) = review.seat_verdict else {
        return Err(StoreError::Value("a submitted review has no verdict of its seat".to_owned()));
    };
    // What was not read lowers the seat's own word, before any gate does.
    let seat = if review.lowered_because.is_empty() { said } else { said.min(Verdict::Changes) };
    let last = verdict::finish(seat, cap);
    let mut because = review.lowered_because.clone();
    if last.lowered && !table.own_findings.is_empty() {
        because.push(format!("Steward itself has findings: {}", table.own_findings.len()));
    }
    let outcome = reviews::Outcome {
        verdict: last.verdict,
        cap,
        lowered_by: gate::lowered_by(seat, table),
        lowered_because: because,
    };
    if !reviews::publish(tx, review.id, &outcome)? {
        return Ok(());
    }
    steps::add(tx, review.id, "state", &format!("published: {}", last.verdict.as_str()))?;
    for older in reviews::fresh_of(tx, review.task)? {
        if older.id < review.id {
            let reason = stale_now(tx, &older, head)?.unwrap_or(StaleReason::NewerReview);
            turn_stale(tx, &older, reason)?;
        }
    }
    announce(tx, review, last.verdict, table)?;
    failpoint::reach("publishing");
    tx.topic("tasks")
}

/// Why this review is stale, from what the database knows and the head as it was just read.
pub(super) fn stale_now(
    tx: &ReadTx<'_>,
    review: &ReviewRecord,
    head: &Reading<Option<Sha>>,
) -> Result<Option<StaleReason>, StoreError> {
    let others: Vec<(ReviewId, ReviewState)> =
        reviews::past(tx, review.task)?.into_iter().map(|past| (past.id, past.state)).collect();
    let held_since = match review.state {
        ReviewState::Held => review.held_at,
        ReviewState::Queued
        | ReviewState::Digesting
        | ReviewState::Running
        | ReviewState::Submitted
        | ReviewState::Published
        | ReviewState::Ended => None,
    };
    let facts = StaleFacts {
        already: review.stale_reason,
        reviewed: &review.sha,
        head,
        reviewed_contract: review.contract_version,
        contract: attached::contract_version(tx, review.task)?,
        newer: verdict::newer_published(review.id, &others),
        held_since,
    };
    Ok(verdict::stale(&facts, tx.now()))
}

/// Looks whether the fresh reviews of a task are stale by now; true when one turned. GitHub is not asked:
/// what is known of a pull request's head is in its task.
pub async fn watch_stale(ctx: &Ctx, task: TaskId) -> Result<bool, DriveError> {
    let head = task::head_seen(ctx, task).await?;
    let turned = ctx
        .store
        .read({
            let head = head.clone();
            move |tx| {
                let mut turned = false;
                for review in reviews::fresh_of(tx, task)? {
                    turned |= stale_now(tx, &review, &head)?.is_some();
                }
                Ok::<_, StoreError>(turned)
            }
        })
        .await?;
    if !turned {
        return Ok(false);
    }
    ctx.store
        .write(Durability::Full, move |tx| {
            for review in reviews::fresh_of(tx, task)? {
                if let Some(reason) = stale_now(tx, &review, &head)? {
                    turn_stale(tx, &review, reason)?;
                }
            }
            Ok::<_, StoreError>(())
        })
        .await?;
    Ok(true)
}
