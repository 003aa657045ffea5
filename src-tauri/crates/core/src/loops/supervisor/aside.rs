//! What asks GitHub for the watch: beside its ticks, so that a slow network delays nothing else.

use std::collections::BTreeSet;
use std::sync::Arc;

use steward_rules::ids::{RepoName, ReviewId, TaskId};
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Trouble;
use super::automatic::{self, NotYet};
use crate::loops::Ctx;
use crate::loops::origins;
use crate::loops::review::{self, DriveError};
use crate::loops::task::{self, PullAt};
use crate::store::StoreError;
use crate::store::reviews;
use crate::store::tasks::{self, TaskRow};

/// Reviews that are settled at once.
const AT_ONCE: usize = 2;

/// The held reviews that are judged again, each once at a time.
#[derive(Default)]
pub(super) struct Settling {
    asked: BTreeSet<ReviewId>,
    under_way: BTreeSet<ReviewId>,
    work: JoinSet<(ReviewId, Result<(), DriveError>)>,
}

impl Settling {
    /// Asks for these to be judged again; one that is being judged is judged once more after that.
    pub fn ask(&mut self, reviews: impl Iterator<Item = ReviewId>) {
        self.asked.extend(reviews);
    }

    /// Takes up what was asked for, as far as there is room.
    pub fn go_on(&mut self, ctx: &Ctx, stop: &CancellationToken, trouble: &Trouble) {
        while let Some(done) = self.work.try_join_next() {
            match done {
                Ok((id, result)) => {
                    self.under_way.remove(&id);
                    note(trouble, "settling", result);
                }
                Err(error) => {
                    // It is not known which one it was; each may be taken up again.
                    tracing::error!(%error, "judging a held review broke off");
                    self.under_way.clear();
                }
            }
        }
        while self.work.len() < AT_ONCE {
            let Some(id) = self.asked.iter().find(|id| !self.under_way.contains(id)).copied() else { break };
            self.asked.remove(&id);
            self.under_way.insert(id);
            let (ctx, stop) = (ctx.clone(), stop.clone());
            self.work.spawn(async move { (id, settle(&ctx, id, &stop).await) });
        }
    }
}

/// Judges a held review again, unless that would ask for more than Steward's share of the hour: it is held
/// for the rest of it then.
async fn settle(ctx: &Ctx, id: ReviewId, stop: &CancellationToken) -> Result<(), DriveError> {
    let of = ctx.store.read(move |tx| {
        let review = reviews::get(tx, id)?;
        review.map(|review| tasks::get(tx, review.task)).transpose().map(Option::flatten)
    });
    match of.await? {
        Some(task) if is_reserved(ctx, &task).await => Ok(()),
        Some(_) | None => review::settle_until(ctx, id, stop).await,
    }
}

/// True while the account that reads this task's repository is left to the person (engine.md 2).
pub(super) async fn is_reserved(ctx: &Ctx, task: &TaskRow) -> bool {
    let Some(name) = task.repository.as_deref().and_then(RepoName::parse) else { return false };
    let host = task.host.as_deref().unwrap_or("github.com");
    ctx.client_of(host, &name).await.is_ok_and(|client| client.reader().reserved().is_some())
}

/// What is asked for rarely, one thing at a time.
#[derive(Default)]
pub(super) struct Aside {
    automatic: bool,
    unwatched: BTreeSet<TaskId>,
    not_yet: Arc<Mutex<NotYet>>,
    work: JoinSet<Result<(), DriveError>>,
}

impl Aside {
    /// Looks for work to be reviewed by itself.
    pub fn automatic(&mut self) {
        self.automatic = true;
    }

    /// Reads these pull requests again, unless the observer does.
    pub fn unwatched(&mut self, tasks: &[TaskId]) {
        self.unwatched.extend(tasks);
    }

    /// Takes up what was asked for once the last thing is done.
    pub fn go_on(&mut self, ctx: &Ctx, stop: &CancellationToken, trouble: &Trouble) {
        while let Some(done) = self.work.try_join_next() {
            match done {
                Ok(result) => note(trouble, "aside", result),
                Err(error) => tracing::error!(%error, "a look beside the watch broke off"),
            }
        }
        let idle = !self.automatic && self.unwatched.is_empty();
        if idle || !self.work.is_empty() {
            return;
        }
        let (automatic, unwatched) =
            (std::mem::take(&mut self.automatic), std::mem::take(&mut self.unwatched));
        let (ctx, stop, not_yet) = (ctx.clone(), stop.clone(), Arc::clone(&self.not_yet));
        self.work.spawn(async move {
            tokio::select! {
                () = stop.cancelled() => Ok(()),
                result = look(&ctx, automatic, unwatched, &not_yet) => result,
            }
        });
    }
}

/// Where the workspaces come from: it waits for git and for disks, so nothing else waits for it.
#[derive(Default)]
pub(super) struct Origins {
    asked: bool,
    work: JoinSet<Result<(), StoreError>>,
}

impl Origins {
    /// Reads them again.
    pub fn ask(&mut self) {
        self.asked = true;
    }

    /// Takes it up once the last look is done.
    pub fn go_on(&mut self, ctx: &Ctx, trouble: &Trouble) {
        while let Some(done) = self.work.try_join_next() {
            match done {
                Ok(result) => trouble.note("origins", result),
                Err(error) => tracing::error!(%error, "a look at the workspaces broke off"),
            }
        }
        if self.work.is_empty() && std::mem::take(&mut self.asked) {
            let ctx = ctx.clone();
            self.work.spawn(async move { origins::look(&ctx).await });
        }
    }
}

async fn look(
    ctx: &Ctx,
    automatic: bool,
    unwatched: BTreeSet<TaskId>,
    not_yet: &Mutex<NotYet>,
) -> Result<(), DriveError> {
    if automatic {
        automatic::look(ctx, &mut *not_yet.lock().await).await?;
    }
    let config = ctx.config();
    for id in unwatched {
        let Ok(task) = task::get(ctx, id).await else { continue };
        let unwatched = PullAt::of(&task).is_some_and(|pull| config.repository(&pull.name).is_none());
        if unwatched && !is_reserved(ctx, &task).await {
            // What it shows is kept, and the topic of the task brings the watch to it.
            let _ = task::refresh(ctx, id).await?;
        }
    }
    Ok(())
}

fn note(trouble: &Trouble, which: &'static str, result: Result<(), DriveError>) {
    match result {
        Ok(()) => trouble.note(which, Ok(())),
        Err(DriveError::Store(error)) => trouble.note(which, Err(error)),
        Err(error @ DriveError::Task(_)) => {
            tracing::warn!(which, %error, "a task could not be looked at");
        }
    }
}
