//! Takes up what an earlier runtime left behind.

use steward_rules::ids::ReviewId;
use steward_rules::review::lifecycle::{AfterRestart, EndReason, Ending, ReviewState, after_restart};

use crate::loops::review::{announce_end, breaker, folders};
use crate::loops::{Ctx, engine};
use crate::store::{Durability, StoreError, WriteTx, reviews, steps};

/// Every unfinished review goes on, or is ended since its seat died; left-over folders go.
pub(super) async fn all(ctx: &Ctx) -> Result<(), StoreError> {
    ctx.store
        .write(Durability::Full, |tx| {
            for review in reviews::unfinished(tx)? {
                one(tx, review.id, review.state, "Steward ended while the seat ran")?;
            }
            Ok::<_, StoreError>(())
        })
        .await?;
    engine::tasks::recover(ctx).await?;
    let home = ctx.home.clone();
    let _ = tokio::task::spawn_blocking(move || folders::sweep(&home, &[], None)).await;
    Ok(())
}

/// One review that nobody drives any more.
pub(super) fn one(tx: &WriteTx<'_>, id: ReviewId, state: ReviewState, why: &str) -> Result<(), StoreError> {
    match after_restart(state) {
        AfterRestart::Over => Ok(()),
        AfterRestart::GoesOn => {
            if reviews::requeue(tx, id)? {
                steps::add(tx, id, "state", "queued again after a restart")?;
            }
            Ok(())
        }
        AfterRestart::Crashed => {
            if reviews::end(tx, id, EndReason::Crashed, why)? {
                breaker::count(tx, Ending::Ended(EndReason::Crashed))?;
                announce_end(tx, id, EndReason::Crashed, why)?;
                steps::add(tx, id, "state", &format!("ended: crashed: {why}"))?;
            }
            Ok(())
        }
    }
}
