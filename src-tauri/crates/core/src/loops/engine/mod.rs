//! The steward engine: reads open pull requests and issues, judges each by `rules::engine`, records, and takes
//! at most one next step of each (engine.md 1).
//!
//! Off means absent: without `engine.enabled` there is no timer and no row is read.

mod act;
mod after;
mod base;
pub mod content;
mod evidence;
mod incidents;
mod issue;
mod judging;
pub mod memory;
mod notices;
mod outcome;
mod place;
pub mod priority;
pub mod reading;
pub mod rebase;
mod results;
mod stops;
pub mod tasks;
mod tick;
pub mod upkeep;
pub mod validating;
pub mod verifying;

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use steward_rules::engine::hold::Round;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Ctx;
use super::effects::powers;
use super::observer::standing;
use crate::config::Config;
use crate::store::{Durability, ReadTx, StoreError, engine, engine_items, repositories};
use place::{Watched, watched};

/// The longest sleep before a due time is compared with the clock again: a laptop that slept has another time
/// than it thinks.
const LOOK: Duration = Duration::from_secs(20);
/// How long what failed rests.
const REST: chrono::Duration = chrono::Duration::seconds(5);
/// Repositories that are judged at once.
const AT_ONCE: usize = 2;
/// What may make a tick due.
const TOPICS: [&str; 4] = ["repositories", "effects", "engine_tasks", engine::CALLED];

/// What a runner of tasks asks of the engine.
pub(super) fn given() -> tasks::Given {
    tasks::Given::in_force(Arc::new(engine::parked))
}

/// True while the engine runs at all.
pub fn is_on(config: &Config) -> bool {
    config.engine.enabled && config.engine.disabled_by.is_none()
}

/// Judges what is due, until stopped. A topic, a due time or another config file wakes it.
pub(super) async fn run(
    ctx: Ctx,
    stop: CancellationToken,
    mut topics: watch::Receiver<i64>,
    note: impl Fn(Result<(), StoreError>),
) {
    let mut config = ctx.config.changes();
    let mut is_recovered = false;
    let mut told = 0;
    loop {
        let is_on = is_on(&ctx.config.current().config);
        let mut next = None;
        let mut has_another_file = false;
        if is_on {
            let under_way = stop.child_token();
            let turned = {
                let mut turning = std::pin::pin!(turn(&ctx, &under_way, &mut is_recovered, &mut told));
                loop {
                    tokio::select! {
                        done = &mut turning => break done,
                        changed = config.changed(), if !under_way.is_cancelled() => {
                            has_another_file = true;
                            // Switched off in the middle of a tick, it goes no step further.
                            if changed.is_err() || !self::is_on(&ctx.config.current().config) {
                                under_way.cancel();
                            }
                        }
                    }
                }
            };
            match turned {
                Ok(due) => {
                    note(Ok(()));
                    next = due;
                }
                Err(error) => {
                    note(Err(error));
                    next = Some(ctx.clock.now() + REST);
                }
            }
        } else {
            note(Ok(()));
        }
        if has_another_file {
            continue;
        }
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                changed = config.changed() => match changed {
                    Ok(()) => break,
                    Err(_) => return,
                },
                changed = topics.changed(), if is_on => {
                    if changed.is_err() {
                        return;
                    }
                    if concerns(&ctx, &mut told).await {
                        break;
                    }
                }
                () = until(&ctx, next), if is_on => break,
            }
        }
    }
}

async fn turn(
    ctx: &Ctx,
    stop: &CancellationToken,
    is_recovered: &mut bool,
    told: &mut i64,
) -> Result<Option<DateTime<Utc>>, StoreError> {
    if !*is_recovered {
        ctx.store.write(Durability::Full, engine::recover).await?;
        *is_recovered = true;
    }
    *told = ctx.store.last_topic().await?;
    pass(ctx, stop).await
}

/// True when one of the topics since then may make a tick due; what cannot be read may.
async fn concerns(ctx: &Ctx, told: &mut i64) -> bool {
    match ctx.store.topics_since(*told).await {
        Ok(topics) => {
            *told = topics.last;
            topics.gap || topics.names.iter().any(|name| TOPICS.contains(&name.as_str()))
        }
        Err(_) => true,
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

/// How a repository stands to its next tick.
#[derive(Default)]
struct Due {
    is_due: bool,
    /// GitHub is to be looked at sooner than by its interval.
    wants_look: bool,
    next: Option<DateTime<Utc>>,
}

/// Judges every repository that is due; when the next is.
pub async fn pass(ctx: &Ctx, stop: &CancellationToken) -> Result<Option<DateTime<Utc>>, StoreError> {
    let config = ctx.config();
    if !is_on(&config) {
        return Ok(None);
    }
    let places = places(ctx, &config).await?;
    let (room, mut work) = (Arc::new(Semaphore::new(AT_ONCE)), JoinSet::new());
    for place in &places {
        let due = due(ctx, place).await?;
        if due.wants_look {
            look_now(ctx, place).await?;
        }
        if !due.is_due {
            continue;
        }
        let (ctx, stop, config, place) = (ctx.clone(), stop.clone(), config.clone(), place.clone());
        let room = Arc::clone(&room);
        work.spawn(async move {
            let _held = room.acquire_owned().await.map_err(|_| StoreError::Stopped)?;
            tick::one(&ctx, &config, &place, &stop).await
        });
    }
    // What fails about one repository holds up no other.
    let mut failed = None;
    while let Some(ended) = work.join_next().await {
        let ended = ended.map_err(|error| StoreError::Value(format!("a defect of Steward: {error}")));
        if let Err(error) = ended.and_then(|done| done) {
            failed = Some(error);
        }
    }
    if let Some(error) = failed {
        return Err(error);
    }
    if stop.is_cancelled() {
        return Ok(None);
    }
    let mut next: Option<DateTime<Utc>> = None;
    for place in &places {
        let due = due(ctx, place).await?;
        // What came to be due in the meantime says so by a topic; whatever a tick leaves due waits a little.
        let at = if due.is_due { Some(ctx.clock.now() + REST) } else { due.next };
        next = next.into_iter().chain(at).min();
    }
    Ok(next)
}

/// The repositories with the policy that is in force.
async fn places(ctx: &Ctx, config: &Config) -> Result<Vec<Watched>, StoreError> {
    let config = config.clone();
    ctx.store.read(move |tx| watched(tx, &config)).await
}

async fn due(ctx: &Ctx, place: &Watched) -> Result<Due, StoreError> {
    let (config, place, now) = (ctx.config.current().config.clone(), place.clone(), ctx.clock.now());
    ctx.store.read(move |tx| stands(tx, &config, &place, now)).await
}

fn stands(tx: &ReadTx<'_>, config: &Config, place: &Watched, now: DateTime<Utc>) -> Result<Due, StoreError> {
    let Some(row) = repositories::find(tx, &place.host, &place.name)? else { return Ok(Due::default()) };
    if row.observed_at.is_none() {
        return Ok(Due::default());
    }
    let repo = engine::get(tx, row.id)?;
    let mode = powers::read(tx, config)?.in_force.of(&place.host, &place.name).mode();
    let due_at = engine_items::next_due(tx, row.id, repo.last_tick)?;
    let is_due = repo.last_tick.is_none()
        || row.observed_at != repo.observed_at
        || repo.policy != Some(stops::in_force(tx, config, place, mode)?)
        || due_at.is_some_and(|at| at <= now)
        || engine::round(tx, row.id)? == Round::Queued
        || engine_items::is_tried(tx, row.id, repo.last_tick)?
        || !engine::effects_since(tx, &place.host, &place.name, repo.last_tick)?.is_empty()
        || engine::has_task_ended(tx, row.id, repo.last_tick)?;
    let wants_look = repo.next_look.is_some_and(|at| at <= now);
    let next = due_at.into_iter().chain(repo.next_look).filter(|at| *at > now).min();
    Ok(Due { is_due, wants_look, next })
}

/// Asks the observer for a look, as a tick that merged wants the next one sooner.
async fn look_now(ctx: &Ctx, place: &Watched) -> Result<(), StoreError> {
    let (host, name) = (place.host.clone(), place.name.clone());
    ctx.store
        .write(Durability::Normal, move |tx| {
            let Some(row) = repositories::find(tx, &host, &name)? else { return Ok(()) };
            let repo = engine::get(tx, row.id)?;
            engine::put(tx, row.id, &engine::RepoRow { next_look: None, ..repo })?;
            standing::ask(tx).map(drop)
        })
        .await
}
