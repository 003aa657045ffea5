//! The watch: held reviews are judged again, fresh ones turn stale, finished work is reviewed by itself.

use std::path::PathBuf;
use std::time::Duration;

use chrono::{DateTime, Utc};
use steward_rules::ids::{ReviewId, TaskId};
use steward_rules::review::lifecycle::HELD_AGAIN_EVERY;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::aside::{Aside, Origins, Settling};
use super::heads::Heads;
use super::{Trouble, mark_tick, upkeep};
use crate::loops::Ctx;
use crate::loops::review::{self, DriveError};
use crate::store::{Durability, StoreError, inbox, outbox, reviews};

/// How often topics and branches are looked at.
const EVERY: Duration = Duration::from_millis(500);
/// How often the pull requests of repositories that nobody watches are read again.
const UNWATCHED_EVERY: chrono::Duration = chrono::Duration::minutes(10);

/// The loop that watches.
pub(super) struct Watch {
    ctx: Ctx,
    stop: CancellationToken,
    trouble: Trouble,
    heads: Heads,
    last_topic: i64,
    due: Due,
    topics: watch::Receiver<i64>,
    /// The tables as they were at the last topic.
    watched: Vec<(TaskId, PathBuf, String)>,
    pulls: Vec<TaskId>,
    held: Vec<(ReviewId, TaskId)>,
    settling: Settling,
    aside: Aside,
    origins: Origins,
    /// Counts what is in force of the config file.
    config: watch::Receiver<u64>,
}

/// When each thing was last done, by the injected clock.
#[derive(Default)]
struct Due {
    held: Option<DateTime<Utc>>,
    wake: Option<DateTime<Utc>>,
    automatic: Option<DateTime<Utc>>,
    pulls: Option<DateTime<Utc>>,
    upkeep: Option<DateTime<Utc>>,
}

/// True at the first call, and then whenever `every` went by; a clock that was set back counts as so.
fn due(last: &mut Option<DateTime<Utc>>, now: DateTime<Utc>, every: chrono::Duration) -> bool {
    let is_due = last.is_none_or(|at| now - at >= every || now < at);
    if is_due {
        *last = Some(now);
    }
    is_due
}

impl Watch {
    pub fn new(ctx: Ctx, stop: CancellationToken, trouble: Trouble, topics: watch::Receiver<i64>) -> Self {
        Self {
            config: ctx.config.changes(),
            origins: Origins::default(),
            ctx,
            stop,
            trouble,
            heads: Heads::default(),
            last_topic: -1,
            due: Due::default(),
            topics,
            watched: Vec::new(),
            pulls: Vec::new(),
            held: Vec::new(),
            settling: Settling::default(),
            aside: Aside::default(),
        }
    }

    pub async fn run(mut self) {
        let mut every = tokio::time::interval(EVERY);
        every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = self.stop.cancelled() => return,
                _ = every.tick() => {}
            }
            let result = match self.tick().await {
                Ok(()) => Ok(()),
                Err(DriveError::Store(error)) => Err(error),
                Err(error @ DriveError::Task(_)) => {
                    tracing::warn!(%error, "the watch could not look at a task");
                    Ok(())
                }
            };
            self.trouble.note("watch", result);
        }
    }

    async fn tick(&mut self) -> Result<(), DriveError> {
        let now = self.ctx.clock.now();
        let all = due(&mut self.due.held, now, HELD_AGAIN_EVERY);
        let known = *self.topics.borrow_and_update();
        let changed = if all || known != self.last_topic { self.look().await? } else { Vec::new() };
        for task in &changed {
            review::watch_stale(&self.ctx, *task).await?;
        }
        self.look_at_heads().await?;
        let again = self.held.iter().filter(|(_, task)| all || changed.contains(task)).map(|(id, _)| *id);
        self.settling.ask(again);
        self.settling.go_on(&self.ctx, &self.stop, &self.trouble);
        if all {
            for (task, ..) in self.watched.clone() {
                review::watch_stale(&self.ctx, task).await?;
            }
            for task in self.pulls.clone() {
                review::watch_stale(&self.ctx, task).await?;
            }
            mark_tick(&self.ctx).await?;
        }
        if due(&mut self.due.wake, now, chrono::Duration::seconds(15))
            && self.ctx.store.read(inbox::wake_due).await?
        {
            self.ctx.store.write(Durability::Full, inbox::wake).await?;
        }
        // Off means absent: with no listed workspace nothing is looked at.
        let listed = !self.ctx.config.current().config.review.auto_review.is_empty();
        let automatic = due(&mut self.due.automatic, now, chrono::Duration::seconds(60));
        if listed && (automatic || !changed.is_empty()) {
            self.aside.automatic();
        }
        if !self.pulls.is_empty() && due(&mut self.due.pulls, now, UNWATCHED_EVERY) {
            self.aside.unwatched(&self.pulls);
        }
        self.aside.go_on(&self.ctx, &self.stop, &self.trouble);
        if all || self.config.has_changed().unwrap_or(false) {
            self.config.mark_unchanged();
            self.origins.ask();
        }
        self.origins.go_on(&self.ctx, &self.trouble);
        if due(&mut self.due.upkeep, now, chrono::Duration::hours(1)) {
            upkeep::run(&self.ctx).await?;
        }
        Ok(())
    }

    /// Reads the tables again, and gives the tasks that something was attached to or read of since.
    async fn look(&mut self) -> Result<Vec<TaskId>, StoreError> {
        let first = self.last_topic < 0;
        let from = self.last_topic.max(0);
        let (topics, watched, pulls, held) = self
            .ctx
            .store
            .read(move |tx| {
                let (watched, pulls) = (reviews::watched(tx)?, reviews::watched_pulls(tx)?);
                Ok::<_, StoreError>((outbox::since(tx, from)?, watched, pulls, reviews::held(tx)?))
            })
            .await?;
        self.last_topic = topics.last;
        (self.held, self.pulls) = (held, pulls);
        self.watched =
            watched.into_iter().map(|(task, path, branch)| (task, PathBuf::from(path), branch)).collect();
        let branches: Vec<(PathBuf, String)> =
            self.watched.iter().map(|(_, path, branch)| (path.clone(), branch.clone())).collect();
        self.heads.keep(&branches);
        if first {
            return Ok(Vec::new());
        }
        let task = |name: &String| name.strip_prefix("task:")?.parse().ok().map(TaskId);
        Ok(topics.names.iter().filter_map(task).collect())
    }

    async fn look_at_heads(&mut self) -> Result<(), DriveError> {
        for (task, path, branch) in &self.watched {
            if self.heads.moved(path, branch) {
                review::watch_stale(&self.ctx, *task).await?;
            }
        }
        Ok(())
    }
}
