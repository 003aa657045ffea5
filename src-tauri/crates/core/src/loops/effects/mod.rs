//! Effects: what a review or a system wants done on GitHub, judged, journalled, sent once, and read back.

mod act;
mod decide;
mod gate;
mod lanes;
mod look;
pub mod powers;
mod send;
mod trace;
mod want;

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use steward_rules::guard::{Refusal, is_due};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub use decide::is_off;
use lanes::Lanes;
pub use send::{Progress, Sending};
pub use want::{
    Since, Wanted, dismiss, entry_target, is_observed, overtaken, restore, retire, turned_stale, want,
    want_comment, want_since,
};

use super::Ctx;
use crate::store::effects::{self, EffectRow, State, Why};
use crate::store::{Durability, StoreError};

/// The longest sleep before a waiting effect's time is compared with the clock again: a laptop that slept
/// has another time than it thinks.
const LOOK: Duration = Duration::from_secs(20);
/// How long what failed in this process rests.
const REST: chrono::Duration = chrono::Duration::seconds(5);
/// How long a command waits for a moment at which an effect may go on.
const PATIENCE: Duration = Duration::from_secs(90);

/// Sends what may go out, until stopped. With nothing to send there is no timer: a topic wakes it.
pub(super) async fn run(
    ctx: Ctx,
    stop: CancellationToken,
    mut topics: watch::Receiver<i64>,
    note: impl Fn(Result<(), StoreError>),
) {
    let mut config = ctx.config.changes();
    let mut fresh_config = true;
    let mut lanes = Lanes::default();
    // Whether something may be due that no lane has in hand.
    let mut owed = true;
    loop {
        let done = if owed { pass(&ctx, &stop, &mut lanes, fresh_config).await } else { Ok(()) };
        let next = match done {
            Ok(()) => next_due(&ctx, &lanes).await,
            Err(error) => Err(error),
        };
        let next = match next {
            Ok(next) => {
                (owed, fresh_config) = (false, false);
                if lanes.are_well() {
                    note(Ok(()));
                }
                next
            }
            Err(error) => {
                note(Err(error));
                // The store failed; what is due is due still.
                owed = true;
                Some(ctx.clock.now() + REST)
            }
        };
        tokio::select! {
            () = stop.cancelled() => break,
            changed = topics.changed() => {
                owed = true;
                if changed.is_err() {
                    break;
                }
            }
            changed = config.changed() => {
                (owed, fresh_config) = (true, true);
                if changed.is_err() {
                    break;
                }
            }
            Some(ended) = lanes.ended() => match ended {
                Ok(missed) => owed |= missed,
                Err(error) => note(Err(error)),
            },
            () = until(&ctx, next) => owed = true,
        }
    }
    lanes.finish().await;
}

/// Sleeps until a time of the clock, or at most a while; for ever when there is none.
async fn until(ctx: &Ctx, next: Option<DateTime<Utc>>) {
    match next {
        None => std::future::pending().await,
        Some(at) => {
            let left = (at - ctx.clock.now()).to_std().unwrap_or_default();
            tokio::time::sleep(left.clamp(Duration::from_millis(20), LOOK)).await;
        }
    }
}

/// Sets everything going that is due.
async fn pass(
    ctx: &Ctx,
    stop: &CancellationToken,
    lanes: &mut Lanes,
    fresh_config: bool,
) -> Result<(), StoreError> {
    if fresh_config {
        powers::settle(ctx).await?;
        withdraw_observed(ctx).await?;
    }
    let mut hosts: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for row in ctx.store.read(effects::to_do).await? {
        // A new file may have what this one waits for.
        if is_due(row.retry_at, ctx.clock.now()) || (fresh_config && waits_for_person(&row)) {
            hosts.entry(row.host).or_default().push(row.id);
        }
    }
    lanes.forget_failures_but(&hosts);
    for (host, ids) in hosts {
        lanes.drive(ctx, stop, host, ids);
    }
    Ok(())
}

/// When the next effect is due of those that no lane has in hand.
async fn next_due(ctx: &Ctx, lanes: &Lanes) -> Result<Option<DateTime<Utc>>, StoreError> {
    let waiting = ctx.store.read(effects::to_do).await?;
    let free = waiting.iter().filter(|row| lanes.are_free_for(&row.host));
    let again = (!lanes.are_well()).then(|| ctx.clock.now() + REST);
    Ok(free.filter_map(|row| row.retry_at).chain(again).min())
}

/// True for what somebody must mend: a token, a name, a permission.
fn waits_for_person(row: &EffectRow) -> bool {
    matches!(
        row.why.as_deref(),
        Some("signed_out" | "keyring" | "auth" | "forbidden" | "not_found" | "moved" | "account")
    )
}

/// Takes an effect as far as it goes now.
async fn drive(ctx: &Ctx, id: i64, stop: &CancellationToken) -> Result<(), StoreError> {
    let mut sending = Sending::until(id, stop);
    while sending.step(ctx).await? == Progress::More {
        if stop.is_cancelled() {
            return Ok(());
        }
    }
    Ok(())
}

/// Where nothing may go out any more, nothing waits for a yes.
async fn withdraw_observed(ctx: &Ctx) -> Result<(), StoreError> {
    let config = ctx.config();
    let rows = ctx.store.read(effects::suggested).await?;
    if rows.is_empty() {
        return Ok(());
    }
    ctx.store
        .write(Durability::Full, move |tx| {
            for row in rows {
                if is_observed(tx, &config, &row)? {
                    let refusal = Refusal::Observed;
                    let why = Why::new(refusal.slug(), refusal.message());
                    if effects::end(tx, row.id, State::Obsolete, &why)? {
                        retire(tx, row.id, None)?;
                    }
                }
            }
            Ok(())
        })
        .await
}

/// Sends one effect in this process, until it is over or waits; its row then. For a command that found
/// no runtime.
pub(super) async fn send_one(
    ctx: &Ctx,
    id: i64,
    stop: &CancellationToken,
) -> Result<Option<EffectRow>, StoreError> {
    loop {
        drive(ctx, id, stop).await?;
        let row = ctx.store.read(move |tx| effects::get(tx, id)).await?;
        let soon = row.as_ref().and_then(|row| row.retry_at.filter(|_| !row.state.is_final()));
        match soon.map(|at| (at - ctx.clock.now()).to_std().unwrap_or_default()) {
            // Pacing and a second look take seconds, and whoever waits at the terminal waits so long.
            Some(wait) if wait <= PATIENCE => tokio::time::sleep(wait).await,
            Some(_) | None => return Ok(row),
        }
    }
}
