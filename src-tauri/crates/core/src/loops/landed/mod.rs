//! The proof of every merge of a watched pull request, whoever merged it (engine.md 4.7).
//!
//! The observer notes each merge in the transaction that sees it; here each is proven once. A process that
//! dies in between proves it again, and a proof that cannot be made is tried again with bounded patience.

mod prove;
mod record;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use steward_rules::engine::landed;
use steward_rules::guard;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub use record::unfreeze;

use super::Ctx;
use crate::store::landings::{self, LandingRow};
use crate::store::{Durability, StoreError};

/// The longest sleep before a waiting proof's time is compared with the clock again.
const LOOK: Duration = Duration::from_secs(20);
/// Repositories that are fetched and proven at once.
const AT_ONCE: usize = 2;

/// Proves what is merged, until stopped. With nothing to prove there is no timer: a topic wakes it.
pub(super) async fn run(
    ctx: Ctx,
    stop: CancellationToken,
    mut topics: watch::Receiver<i64>,
    note: impl Fn(Result<(), StoreError>),
) {
    loop {
        let next = match pass(&ctx, &stop).await {
            Ok(next) => {
                note(Ok(()));
                next
            }
            Err(error) => {
                note(Err(error));
                Some(ctx.clock.now() + chrono::Duration::seconds(5))
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            changed = topics.changed() => if changed.is_err() { return },
            () = until(&ctx, next) => {}
        }
    }
}

async fn until(ctx: &Ctx, next: Option<DateTime<Utc>>) {
    match next {
        None => std::future::pending().await,
        Some(at) => {
            let left = (at - ctx.clock.now()).to_std().unwrap_or_default();
            tokio::time::sleep(left.clamp(Duration::from_millis(20), LOOK)).await;
        }
    }
}

/// Proves everything that is due; when the next is.
pub async fn pass(ctx: &Ctx, stop: &CancellationToken) -> Result<Option<DateTime<Utc>>, StoreError> {
    let due = |row: &LandingRow, now| guard::is_due_within(row.retry_at, now, landed::LONGEST_WAIT);
    let mut places: BTreeMap<i64, Vec<LandingRow>> = BTreeMap::new();
    for row in watched(ctx).await?.into_iter().filter(|row| due(row, ctx.clock.now())) {
        places.entry(row.repository.0).or_default().push(row);
    }
    if places.is_empty() {
        return Ok(watched(ctx).await?.iter().filter_map(|row| row.retry_at).min());
    }
    let (room, mut work) = (Arc::new(Semaphore::new(AT_ONCE)), JoinSet::new());
    for rows in places.into_values() {
        let (ctx, stop, room) = (ctx.clone(), stop.clone(), Arc::clone(&room));
        work.spawn(async move {
            let _held = room.acquire_owned().await.map_err(|_| StoreError::Stopped)?;
            for row in rows {
                if stop.is_cancelled() {
                    break;
                }
                let proof = prove::one(&ctx, &row, &stop).await?;
                // What was cut short says nothing.
                if stop.is_cancelled() {
                    break;
                }
                super::failpoint::reach("landed_read");
                let now = ctx.clock.now();
                ctx.store
                    .write(Durability::Full, move |tx| {
                        record::keep(tx, &row, proof, now)?;
                        super::failpoint::reach("landed_keeping");
                        Ok::<_, StoreError>(())
                    })
                    .await?;
                super::failpoint::reach("landed_kept");
            }
            Ok::<_, StoreError>(())
        });
    }
    while let Some(ended) = work.join_next().await {
        ended.map_err(|error| StoreError::Value(format!("a defect of Steward: {error}")))??;
    }
    if stop.is_cancelled() {
        return Ok(None);
    }
    // What came to be due meanwhile has no time yet.
    let now = ctx.clock.now();
    Ok(watched(ctx).await?.iter().map(|row| row.retry_at.unwrap_or(now)).min())
}

/// What waits in the repositories of the config file.
async fn watched(ctx: &Ctx) -> Result<Vec<LandingRow>, StoreError> {
    let mut waiting = ctx.store.read(landings::waiting).await?;
    if !waiting.is_empty() {
        let config = ctx.config.current();
        waiting.retain(|row| config.config.repository(&row.name).is_some());
    }
    Ok(waiting)
}
