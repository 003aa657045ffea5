//! Keeps the house in order: old rows, folders, pictures and logs go, a backup is made each day.

use chrono::{DateTime, Utc};

use crate::frames;
use crate::git::BareClone;
use crate::loops::Ctx;
use crate::loops::accounts::sign_in;
use crate::loops::engine;
use crate::loops::review::folders;
use crate::store::{
    Durability, StoreError, attached, engine_items, engine_tasks, heads_seen, issues, landings, needs,
    observations, pulls, retention, reviews,
};
use crate::telemetry;

pub(super) async fn run(ctx: &Ctx) -> Result<(), StoreError> {
    let keep = ctx.config.current().config.retention;
    let now = ctx.clock.now();
    let days = |days: u32| -> DateTime<Utc> { now - chrono::Duration::days(i64::from(days)) };
    let (done, pictures) = (days(keep.done_days), days(keep.frame_days));
    let heads = chrono::Duration::days(i64::from(keep.observation_days.max(30)));
    let observed = days(keep.observation_days);
    let files = ctx
        .store
        .write(Durability::Normal, move |tx| {
            retention::prune(tx, &keep)?;
            needs::prune(tx, done)?;
            heads_seen::prune(tx, heads)?;
            pulls::prune(tx, observed)?;
            issues::prune(tx, observed)?;
            landings::prune(tx, done)?;
            engine_items::prune(tx, done)?;
            engine_tasks::prune(tx, observed)?;
            observations::prune(tx, observed, u64::from(keep.observation_mb) * 1024 * 1024)?;
            attached::prune_frames(tx, pictures)
        })
        .await?;
    let gone = engine::upkeep::run(ctx).await?;
    tracing::debug!(gone, "refs of our clones that nobody needs any more");
    let running: Vec<_> = ctx.store.read(reviews::open).await?.into_iter().map(|(id, ..)| id).collect();
    let (home, seats) = (ctx.home.clone(), days(keep.seat_days));
    let (git, clones) = (ctx.git().ok(), ctx.home.clones());
    let swept = tokio::task::spawn_blocking(move || {
        if let Some(git) = git {
            BareClone::tidy_all(&git, &clones);
        }
        frames::forget(&home, &files);
        folders::sweep(&home, &running, Some(seats));
        if let Err(error) = telemetry::prune(home.logs(), now, keep.logs_days) {
            tracing::warn!(%error, "old logs are left over");
        }
    });
    let _ = swept.await;
    // It waits for the network, which nothing here does.
    let asking = ctx.clone();
    tokio::spawn(async move { sign_in::check_old(&asking).await });
    if let Some(made) = ctx.store.daily_backup().await? {
        tracing::info!(path = %made.display(), "backed up");
    }
    Ok(())
}
