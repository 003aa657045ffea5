//! The runtime: one per data folder, it picks up queued reviews, watches what may turn stale, and
//! keeps the house in order.

mod aside;
mod automatic;
mod heads;
mod notify;
mod queue;
mod recover;
mod upkeep;
mod watch;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use steward_rules::ids::ReviewId;
use steward_rules::review::lifecycle::ReviewState;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub use notify::{NoticeSink, Nowhere};

use super::observer::Observer;
use super::review::DriveError;
use super::{Ctx, effects, engine, landed, questions};
use crate::lock::{self, HolderKind, LockError, RuntimeLock};
use crate::store::effects::EffectRow;
use crate::store::reviews::ReviewRecord;
use crate::store::{Durability, Mode, ReadTx, StoreError, WriteTx, notices, reviews, settings, sql};

/// When the runtime last looked, for every process to see.
const TICK: &str = "runtime.tick";
/// How long a closing runtime waits for its seats.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often a waiting command looks at its review.
const LOOK: Duration = Duration::from_millis(150);

/// Why the runtime cannot be hosted here.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Drive(#[from] DriveError),
    #[error("there is no review {0}; `steward list` shows those there are")]
    NoReview(ReviewId),
    #[error("there is no effect {0}; `steward inbox` lists what waits for you")]
    NoEffect(i64),
}

/// A running runtime. Dropping it stops its loops without waiting; [`Runtime::stop`] waits.
pub struct Runtime {
    ctx: Ctx,
    stop: CancellationToken,
    loops: Vec<JoinHandle<()>>,
    trouble: Trouble,
    _lock: RuntimeLock,
}

/// Why the last tick of each loop did not do its work, where it did not.
#[derive(Clone, Default)]
pub(super) struct Trouble(Arc<Mutex<BTreeMap<&'static str, String>>>);

impl Trouble {
    /// Keeps what a tick of a loop came to.
    fn note(&self, which: &'static str, result: Result<(), StoreError>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match result {
            Ok(()) => drop(kept.remove(which)),
            Err(error) => {
                tracing::warn!(which, %error, "a tick did not do its work");
                kept.insert(which, error.to_string());
            }
        }
    }

    fn current(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).values().next().cloned()
    }
}

impl Runtime {
    /// Takes the data folder's lock, takes up what an earlier runtime left, and runs the loops.
    pub async fn start(ctx: Ctx, kind: HolderKind, sink: Arc<dyn NoticeSink>) -> Result<Self, RuntimeError> {
        let mut runtime = Self::take(ctx, kind).await?;
        let (queue, watch) = (runtime.trouble.clone(), runtime.trouble.clone());
        let queue = queue::Queue::new(runtime.ctx.clone(), runtime.stop.clone(), None, queue);
        let (seen, known, sent) = (queue.topics(), queue.topics(), queue.topics());
        let (heard, asked, merged) = (queue.topics(), queue.topics(), queue.topics());
        let (judged, worked) = (queue.topics(), queue.topics());
        runtime.loops.push(tokio::spawn(queue.run()));
        runtime.loops.push(tokio::spawn(notify::run(runtime.ctx.clone(), runtime.stop.clone(), sink, seen)));
        let watcher = watch::Watch::new(runtime.ctx.clone(), runtime.stop.clone(), watch, known);
        runtime.loops.push(tokio::spawn(watcher.run()));
        let noted = runtime.trouble.clone();
        let note = move |result| noted.note("effects", result);
        runtime.loops.push(tokio::spawn(effects::run(runtime.ctx.clone(), runtime.stop.clone(), sent, note)));
        let noted = runtime.trouble.clone();
        let note = move |result| noted.note("landed", result);
        runtime.loops.push(tokio::spawn(landed::run(
            runtime.ctx.clone(),
            runtime.stop.clone(),
            merged,
            note,
        )));
        let noted = runtime.trouble.clone();
        let note = move |result| noted.note("engine", result);
        runtime.loops.push(tokio::spawn(engine::run(
            runtime.ctx.clone(),
            runtime.stop.clone(),
            judged,
            note,
        )));
        let noted = runtime.trouble.clone();
        let note = move |result| noted.note("engine tasks", result);
        runtime.loops.push(tokio::spawn(engine::tasks::run(
            runtime.ctx.clone(),
            runtime.stop.clone(),
            worked,
            engine::given(),
            note,
        )));
        let observer = Observer::new(runtime.ctx.clone());
        let note = runtime.trouble.clone();
        let note = move |result| note.note("observer", result);
        runtime.loops.push(tokio::spawn(observer.run(runtime.stop.clone(), heard, note)));
        let trouble = runtime.trouble.clone();
        let report = move |result| trouble.note("questions", result);
        runtime.loops.push(tokio::spawn(questions::serve(
            runtime.ctx.clone(),
            runtime.stop.clone(),
            asked,
            report,
        )));
        Ok(runtime)
    }

    async fn take(ctx: Ctx, kind: HolderKind) -> Result<Self, RuntimeError> {
        let (home, now) = (ctx.home.clone(), ctx.clock.now());
        let lock = tokio::task::spawn_blocking(move || RuntimeLock::take(&home, kind, now))
            .await
            .map_err(|_| StoreError::Stopped)??;
        recover::all(&ctx).await?;
        effects::powers::settle(&ctx).await?;
        mark_tick(&ctx).await?;
        Ok(Self {
            ctx,
            stop: CancellationToken::new(),
            loops: Vec::new(),
            trouble: Trouble::default(),
            _lock: lock,
        })
    }

    /// Why the last tick did not do its work, if it did not: shown as *degraded*.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.current()
    }

    /// Stops seats and loops, and lets go of the data folder.
    pub async fn stop(mut self) {
        self.stop.cancel();
        for task in self.loops.drain(..) {
            if tokio::time::timeout(PATIENCE, task).await.is_err() {
                tracing::warn!("a loop did not end in time");
            }
        }
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Hosts a runtime in this process for one review alone, until it is held or over. `seen` is called
/// whenever the review's row changed.
pub async fn run_one(
    ctx: &Ctx,
    id: ReviewId,
    mut seen: impl FnMut(&ReviewRecord),
) -> Result<ReviewRecord, RuntimeError> {
    let mut runtime = Runtime::take(ctx.clone(), HolderKind::Command).await?;
    let queue = queue::Queue::new(ctx.clone(), runtime.stop.clone(), Some(id), runtime.trouble.clone());
    runtime.loops.push(tokio::spawn(queue.run()));
    let mut last: Option<ReviewRecord> = None;
    let result = loop {
        match ctx.store.read(move |tx| reviews::get(tx, id)).await {
            Err(error) => break Err(error.into()),
            Ok(None) => break Err(RuntimeError::NoReview(id)),
            Ok(Some(review)) => {
                if last.as_ref() != Some(&review) {
                    seen(&review);
                }
                match review.state {
                    ReviewState::Held | ReviewState::Published | ReviewState::Ended => break Ok(review),
                    ReviewState::Queued
                    | ReviewState::Digesting
                    | ReviewState::Running
                    | ReviewState::Submitted => last = Some(review),
                }
            }
        }
        tokio::time::sleep(LOOK).await;
    };
    runtime.stop().await;
    if result.is_ok() {
        // Whoever waited at the terminal has seen it.
        ctx.store
            .write(Durability::Full, move |tx| notices::shown(tx, &format!("review:{id}")).map(drop))
            .await?;
    }
    result
}

/// Hosts a runtime in this process for one effect alone, until it is over or waits; `None` while another
/// process holds the data folder.
pub async fn send_one(ctx: &Ctx, id: i64) -> Result<Option<EffectRow>, RuntimeError> {
    let runtime = match Runtime::take(ctx.clone(), HolderKind::Command).await {
        Ok(runtime) => runtime,
        Err(RuntimeError::Lock(LockError::Held(_))) => return Ok(None),
        Err(error) => return Err(error),
    };
    let sent = effects::send_one(ctx, id, &runtime.stop).await;
    runtime.stop().await;
    sent?.map_or(Err(RuntimeError::NoEffect(id)), |row| Ok(Some(row)))
}

/// Takes up what a runtime that was killed left, when nobody runs one now: a client without a runtime
/// of its own then tells of reviews as they are, and the next one is not refused for a dead one.
pub async fn take_up_left_over(ctx: &Ctx) -> Result<(), RuntimeError> {
    if ctx.store.mode() != Mode::ReadWrite {
        return Ok(());
    }
    let open = ctx.store.read(reviews::open).await?;
    let is_left_over =
        open.iter().any(|(_, state, _)| matches!(state, ReviewState::Digesting | ReviewState::Running));
    if !is_left_over || lock::holder(&ctx.home)?.is_some() {
        return Ok(());
    }
    match Runtime::take(ctx.clone(), HolderKind::Command).await {
        Ok(runtime) => runtime.stop().await,
        // Another one was first, and takes it up.
        Err(RuntimeError::Lock(LockError::Held(_))) => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

/// When the runtime last looked, by the database.
pub fn last_tick(tx: &ReadTx<'_>) -> Result<Option<DateTime<Utc>>, StoreError> {
    Ok(settings::get(tx, TICK)?.as_deref().and_then(sql::parse_utc))
}

async fn mark_tick(ctx: &Ctx) -> Result<(), StoreError> {
    ctx.store
        .write(Durability::Normal, |tx: &WriteTx<'_>| settings::set(tx, TICK, &sql::utc_text(tx.now())))
        .await
}
