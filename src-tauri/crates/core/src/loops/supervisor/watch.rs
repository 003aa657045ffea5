//! The watch: held reviews are judged again, fresh ones turn stale, finished work is reviewed by itself.

use std::path::PathBuf;
use std::time::Duration;

use chrono::{DateTime, Utc};
use steward_rules::ids::{ReviewId, TaskId};
use steward_rules::review::lifecycle::HELD_AGAIN_EVERY;
use tokio_util::sync::CancellationToken;

use super::heads::Heads;
use super::{Trouble, automatic, mark_tick, upkeep};
use crate::loops::Ctx;
use crate::loops::review::{self, DriveError};
use crate::store::{Durability, StoreError, inbox, reviews};

/// How often topics and branches are looked at.
const EVERY: Duration = Duration::from_millis(500);

/// The loop that watches.
pub(super) struct Watch {
    ctx: Ctx,
    stop: CancellationToken,
    trouble: Trouble,
    heads: Heads,
    last_topic: i64,
    due: Due,
}

/// When each thing was last done, by the injected clock.
#[derive(Default)]
struct Due {
    held: Option<DateTime<Utc>>,
    wake: Option<DateTime<Utc>>,
    automatic: Option<DateTime<Utc>>,
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
    pub fn new(ctx: Ctx, stop: CancellationToken, trouble: Trouble) -> Self {
        Self { ctx, stop, trouble, heads: Heads::default(), last_topic: -1, due: Due::default() }
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
        let changed = self.changed_tasks().await?;
        for task in &changed {
            review::watch_stale(&self.ctx, *task).await?;
        }
        self.look_at_heads().await?;
        let all = due(&mut self.due.held, now, HELD_AGAIN_EVERY);
        for (id, task) in self.held().await? {
            if all || changed.contains(&task) {
                review::settle(&self.ctx, id).await?;
            }
        }
        if all {
            for task in self.watched().await?.into_iter().map(|(task, ..)| task) {
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
            automatic::look(&self.ctx).await?;
        }
        if due(&mut self.due.upkeep, now, chrono::Duration::hours(1)) {
            upkeep::run(&self.ctx).await?;
        }
        Ok(())
    }

    /// The tasks that something was attached to or read of since the last look.
    async fn changed_tasks(&mut self) -> Result<Vec<TaskId>, StoreError> {
        let topics = self.ctx.store.topics_since(self.last_topic.max(0)).await?;
        let first = self.last_topic < 0;
        self.last_topic = topics.last;
        if first {
            return Ok(Vec::new());
        }
        Ok(topics
            .names
            .iter()
            .filter_map(|name| name.strip_prefix("task:")?.parse().ok().map(TaskId))
            .collect())
    }

    async fn look_at_heads(&mut self) -> Result<(), DriveError> {
        let watched = self.watched().await?;
        let branches: Vec<(PathBuf, String)> =
            watched.iter().map(|(_, path, branch)| (path.clone(), branch.clone())).collect();
        self.heads.keep(&branches);
        for (task, path, branch) in watched {
            if self.heads.moved(&path, &branch) {
                review::watch_stale(&self.ctx, task).await?;
            }
        }
        Ok(())
    }

    async fn watched(&self) -> Result<Vec<(TaskId, PathBuf, String)>, StoreError> {
        let rows = self.ctx.store.read(reviews::watched).await?;
        Ok(rows.into_iter().map(|(task, path, branch)| (task, PathBuf::from(path), branch)).collect())
    }

    async fn held(&self) -> Result<Vec<(ReviewId, TaskId)>, StoreError> {
        self.ctx.store.read(reviews::held).await
    }
}
