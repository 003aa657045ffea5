//! The loop of questions: carries answers at once, reminds, and watches the roster by its cadence.

use std::time::Duration;

use chrono::{DateTime, Utc};
use steward_rules::questions::need::Origin;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{LOOK, Messages, Watch, Watcher, asker, carry, looking, messaging, remind, take_up, watcher};
use crate::lock::{HolderKind, LockError, RuntimeLock};
use crate::loops::Ctx;
use crate::store::{StoreError, settings};

/// How often the clock is looked at.
const EVERY: Duration = Duration::from_secs(1);
/// How often what is held is tried again, and reminders are thought of.
const AGAIN: chrono::Duration = chrono::Duration::seconds(15);
/// How often messages are looked for.
const MESSAGES: chrono::Duration = chrono::Duration::seconds(30);

/// Serves questions until told to stop. While they are off it only waits for the config to change: no
/// timer, no capture. What a tick came to is told to `report`.
pub async fn serve(
    ctx: Ctx,
    stop: CancellationToken,
    mut topics: watch::Receiver<i64>,
    report: impl Fn(Result<(), StoreError>) + Send,
) {
    let mut config = ctx.config.changes();
    while !stop.is_cancelled() {
        if !ctx.config.current().config.questions.enabled {
            tokio::select! {
                () = stop.cancelled() => return,
                changed = config.changed() => if changed.is_err() { return },
            }
            continue;
        }
        let mut serving = Serving::new(ctx.clone());
        report(serving.begin().await);
        let mut every = tokio::time::interval(EVERY);
        every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut is_over = false;
        while !is_over && ctx.config.current().config.questions.enabled {
            let is_told = tokio::select! {
                () = stop.cancelled() => { is_over = true; continue },
                _ = every.tick() => false,
                changed = topics.changed() => match changed {
                    Ok(()) => true,
                    Err(_) => { is_over = true; continue },
                },
            };
            report(serving.tick(is_told).await);
        }
        serving.watcher.end().await;
        if is_over {
            return;
        }
    }
}

/// What the loop remembers while questions are on.
struct Serving {
    ctx: Ctx,
    again: Option<DateTime<Utc>>,
    messages: Messages,
    messages_at: Option<DateTime<Utc>>,
    watch: Watch,
    watcher: Watcher,
    watched_at: Option<DateTime<Utc>>,
    /// Whether the last tick saw something going on.
    busy: bool,
    /// When a look was last asked for.
    asked: Option<String>,
}

/// True at the first call, and then whenever `every` went by; a clock that was set back counts as so.
pub(super) fn due(last: &mut Option<DateTime<Utc>>, now: DateTime<Utc>, every: chrono::Duration) -> bool {
    let is_due = last.is_none_or(|at| now - at >= every || now < at);
    if is_due {
        *last = Some(now);
    }
    is_due
}

impl Serving {
    fn new(ctx: Ctx) -> Self {
        Self {
            ctx,
            again: None,
            messages: Messages::default(),
            messages_at: None,
            watch: Watch::default(),
            watcher: Watcher::default(),
            watched_at: None,
            busy: true,
            asked: None,
        }
    }

    /// Takes up what an earlier runtime left.
    async fn begin(&mut self) -> Result<(), StoreError> {
        self.asked = self.ctx.store.read(|tx| settings::get(tx, LOOK)).await?;
        watcher::sweep(&self.ctx);
        looking::reopen(&self.ctx).await?;
        asker::know_server(&self.ctx).await?;
        take_up(&self.ctx).await?;
        messaging::take_up(&self.ctx).await
    }

    async fn tick(&mut self, is_told: bool) -> Result<(), StoreError> {
        let again = due(&mut self.again, self.ctx.clock.now(), AGAIN);
        if is_told || again {
            carry(&self.ctx).await?;
        }
        if again {
            remind(&self.ctx).await?;
            self.watcher.add(watcher::prompts(&self.ctx).await?);
        }
        let now = self.ctx.clock.now();
        if due(&mut self.messages_at, now, MESSAGES) || is_told {
            self.messages.look(&self.ctx).await?;
        }
        let config = self.ctx.config.current().config.questions.clone();
        if !config.sources.contains(&Origin::Pane) {
            return Ok(());
        }
        let asked = if is_told { self.ctx.store.read(|tx| settings::get(tx, LOOK)).await? } else { None };
        let is_asked = asked.is_some() && asked != self.asked;
        if is_asked {
            self.asked = asked;
            self.watched_at = None;
        }
        let cadence = if self.busy { config.cadence_active } else { config.cadence_idle };
        let cadence = chrono::Duration::from_std(cadence).unwrap_or_else(|_| chrono::Duration::minutes(5));
        if due(&mut self.watched_at, now, cadence) {
            self.busy = self.watch.tick(&self.ctx).await?;
            self.watcher.add(self.watch.take_unsettled());
        }
        self.watcher.step(&self.ctx).await
    }
}

/// Carries what waits when no runtime does, as the runtime would.
pub async fn carry_alone(ctx: &Ctx) -> Result<(), StoreError> {
    let (home, now) = (ctx.home.clone(), ctx.clock.now());
    let lock = tokio::task::spawn_blocking(move || RuntimeLock::take(&home, HolderKind::Command, now)).await;
    let _lock = match lock {
        Ok(Ok(lock)) => lock,
        // Whoever holds it carries, or the next one will.
        Ok(Err(LockError::Held(_))) => return Ok(()),
        Ok(Err(error @ LockError::Io { .. })) => return Err(StoreError::Value(error.to_string())),
        Err(_) => return Err(StoreError::Stopped),
    };
    take_up(ctx).await?;
    carry(ctx).await.map(drop)
}
