//! What ends a task that runs: each watcher asks one kind of thing, so that none of them waits for another.

use std::time::Duration;

use steward_rules::engine::policy::Priority;
use steward_rules::reading::Reading;

use super::run::{Given, allowed, of_no_use};
use super::stop::{Stop, StopWhy};
use crate::loops::engine::priority;
use crate::loops::{Ctx, pause};
use crate::store::engine_tasks::TaskRow;

/// How often pause, switch and subject are looked at while a task runs: with the grace of the seat's processes it is
/// ended well within a second.
pub(super) const LOOK: Duration = Duration::from_millis(100);
/// How often a lock file of the automation that comes first is looked at.
const LOCK: Duration = Duration::from_millis(200);
/// How long its status command rests after each answer.
const COMMAND: Duration = Duration::from_secs(3);

/// Ends a task as soon as it may not run any more, as far as our own database and the config file say. Nothing that
/// may take long is awaited here: a pause stops every seat within a second.
pub(super) async fn over(ctx: Ctx, given: Given, row: TaskRow, stop: Stop) {
    let mut every = tokio::time::interval(LOOK);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        every.tick().await;
        match ctx.store.read(pause::current).await {
            Ok(Some(paused)) => return stop.stop(StopWhy::Paused(paused.why)),
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "the pause cannot be read while a task runs"),
        }
        match allowed(&ctx, &given, &row).await {
            Ok(Some(_)) => {}
            Ok(None) => return stop.stop(StopWhy::SwitchedOff),
            Err(error) => {
                tracing::warn!(%error, "the switch cannot be read while a task runs");
                continue;
            }
        }
        match of_no_use(&ctx, &row).await {
            Ok(Some(why)) => return stop.stop(why),
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "what a task is about cannot be read while it runs"),
        }
    }
}

/// Ends a task when the automation that comes first starts. Its status command may be slow: it is ended with the
/// task.
pub(super) async fn for_priority(ctx: Ctx, given: Given, row: TaskRow, stop: Stop) {
    loop {
        let rest = match allowed(&ctx, &given, &row).await {
            Ok(Some(policy)) => {
                let Some(busy) = stop.unless(priority::busy(policy.priority.as_ref())).await else { return };
                // What cannot be asked may be busy.
                match busy {
                    Reading::Known { value: false } => {}
                    Reading::Known { value: true } | Reading::Unread { .. } => {
                        return stop.stop(StopWhy::Preempted);
                    }
                }
                match policy.priority {
                    Some(Priority::LockFile(_)) => LOCK,
                    Some(Priority::StatusCommand(_)) | None => COMMAND,
                }
            }
            // The other watcher says so.
            Ok(None) => COMMAND,
            Err(error) => {
                tracing::warn!(%error, "who comes first cannot be read while a task runs");
                COMMAND
            }
        };
        if stop.unless(tokio::time::sleep(rest)).await.is_none() {
            return;
        }
    }
}
