//! Takes one review from the queue to a verdict, a hold or an end.

use steward_rules::ids::ReviewId;
use steward_rules::review::lifecycle::{EndReason, Ending};

use super::announce::announce_end;
use super::stop::Stop;
use super::{breaker, digesting, folders, seating, settle};
use crate::loops::task::TaskError;
use crate::loops::{Ctx, failpoint};
use crate::store::reviews::ReviewState;
use crate::store::{Durability, StoreError, WriteTx, reviews, spending, steps};

/// Why a review could not be driven on; its row says what is true of it.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Task(#[from] TaskError),
}

/// How a run ended without a verdict.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ended {
    pub reason: EndReason,
    pub detail: String,
    /// What it cost until then, when a seat was started.
    pub usage: Option<crate::agent::Usage>,
}

impl Ended {
    pub fn crashed(detail: impl Into<String>) -> Self {
        Self { reason: EndReason::Crashed, detail: detail.into(), usage: None }
    }

    /// What a stop makes of a review.
    pub fn stopped(stop: &Stop) -> Option<Self> {
        stop.why().map(|why| Self { reason: why.reason(), detail: why.detail(), usage: None })
    }
}

/// Drives a review as far as it goes now. Called for one that is queued, or submitted before a restart.
pub async fn drive(ctx: &Ctx, id: ReviewId, stop: &Stop) -> Result<(), DriveError> {
    let Some(review) = ctx.store.read(move |tx| reviews::get(tx, id)).await? else { return Ok(()) };
    match review.state {
        ReviewState::Queued => {
            let begun = ctx
                .store
                .write(Durability::Full, move |tx| {
                    let begun = reviews::begin_digest(tx, id)?;
                    if begun {
                        steps::add(tx, id, "state", "digesting")?;
                    }
                    Ok::<_, StoreError>(begun)
                })
                .await?;
            failpoint::reach("digesting");
            if begun {
                let result = seat_it(ctx, id, stop).await;
                let home = ctx.home.clone();
                let _ = tokio::task::spawn_blocking(move || folders::clear(&home, id)).await;
                match result? {
                    Ok(()) => {}
                    Err(ended) => return end(ctx, id, ended).await,
                }
            }
        }
        ReviewState::Submitted | ReviewState::Held => {}
        ReviewState::Digesting | ReviewState::Running | ReviewState::Published | ReviewState::Ended => {
            return Ok(());
        }
    }
    settle::settle_until(ctx, id, stop.token()).await
}

/// Digest, seat and submission. The inner error ends the review.
async fn seat_it(ctx: &Ctx, id: ReviewId, stop: &Stop) -> Result<Result<(), Ended>, DriveError> {
    let digested = match digesting::digest(ctx, id, stop).await? {
        Ok(digested) => digested,
        Err(ended) => return Ok(Err(ended)),
    };
    failpoint::reach("digested");
    seating::run(ctx, id, digested, stop).await
}

/// Ends a review as BLOCKED, with what it cost, counted by the breaker.
pub(super) async fn end(ctx: &Ctx, id: ReviewId, ended: Ended) -> Result<(), DriveError> {
    ctx.store.write(Durability::Full, move |tx| end_in(tx, id, &ended)).await?;
    failpoint::reach("ended");
    Ok(())
}

/// Ends a review that no seat runs for.
pub(in crate::loops) async fn end_unstarted(
    ctx: &Ctx,
    id: ReviewId,
    why: super::stop::StopWhy,
) -> Result<(), StoreError> {
    let ended = Ended { reason: why.reason(), detail: why.detail(), usage: None };
    ctx.store.write(Durability::Full, move |tx| end_in(tx, id, &ended)).await
}

/// [`end`] inside a transaction; a review that is over already stays as it is.
pub(super) fn end_in(tx: &WriteTx<'_>, id: ReviewId, ended: &Ended) -> Result<(), StoreError> {
    if let Some(usage) = &ended.usage {
        record_usage(tx, id, usage)?;
    }
    if !reviews::end(tx, id, ended.reason, &ended.detail)? {
        return Ok(());
    }
    breaker::count(tx, Ending::Ended(ended.reason))?;
    announce_end(tx, id, ended.reason, &ended.detail)?;
    steps::add(tx, id, "state", &format!("ended: {}: {}", ended.reason.as_str(), ended.detail))?;
    tx.topic("tasks")
}

pub(super) fn record_usage(
    tx: &WriteTx<'_>,
    id: ReviewId,
    usage: &crate::agent::Usage,
) -> Result<(), StoreError> {
    let progress =
        reviews::Progress { phase: None, turns: usage.turns, tokens: usage.tokens, cost_usd: usage.usd };
    reviews::progress(tx, id, &progress)?;
    spending::record(tx, "reviewer", id, usage.usd, usage.tokens)
}
