//! Without a runtime nobody watches the branches, so whoever looks at a review does it.

use steward_rules::ids::TaskId;

use super::Api;
use crate::loops::review;
use crate::store::Mode;
use crate::store::reviews::{ReviewRecord, ReviewState};

/// Looks again at what these reviews say, as the watch of a runtime would: a hold may be decided by
/// now, and a verdict stale. What cannot be looked at is shown as it was.
pub(super) async fn again(api: &Api, rows: &[ReviewRecord]) {
    let mut tasks: Vec<TaskId> = Vec::new();
    for row in rows.iter().filter(|row| row.stale_reason.is_none()) {
        match row.state {
            ReviewState::Held if is_due(api) => {
                if let Err(error) = review::settle(api.context(), row.id).await {
                    tracing::warn!(review = %row.id, %error, "a held review could not be judged again");
                }
            }
            ReviewState::Published | ReviewState::Ended if !tasks.contains(&row.task) => tasks.push(row.task),
            ReviewState::Held
            | ReviewState::Published
            | ReviewState::Ended
            | ReviewState::Queued
            | ReviewState::Digesting
            | ReviewState::Running
            | ReviewState::Submitted => {}
        }
    }
    for task in tasks {
        self::task(api, task).await;
    }
}

/// Looks whether the reviews of one task are stale by now.
pub(super) async fn task(api: &Api, task: TaskId) {
    if is_due(api)
        && let Err(error) = review::watch_stale(api.context(), task).await
    {
        tracing::warn!(%task, %error, "the branch of a review could not be looked at");
    }
}

/// A runtime looks by itself, and a database that is only read keeps nothing.
fn is_due(api: &Api) -> bool {
    !api.is_served() && api.store().mode() == Mode::ReadWrite
}
