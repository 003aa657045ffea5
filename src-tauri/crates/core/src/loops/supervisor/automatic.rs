//! Finished work of listed workspaces is reviewed without asking (review.md 4).

use steward_rules::reading::{Cause, Reading};
use steward_rules::review::facts::Pushed;
use steward_rules::review::lifecycle::{AutomaticFacts, Caller, RunState, may_run_by_itself};

use crate::git::{BareClone, Remote, Workspace};
use crate::loops::Ctx;
use crate::loops::review::{self, Ask, DriveError, StartError};
use crate::loops::task::{self, TaskError, blocking};
use crate::store::reviews::Trigger;
use crate::store::tasks::{self, TaskRow};
use crate::store::{ReadTx, StoreError, reviews};

/// Starts what may start by itself now.
pub(super) async fn look(ctx: &Ctx) -> Result<(), DriveError> {
    let config = ctx.config();
    let settings = review::settings(&config);
    if !settings.is_on() {
        return Ok(());
    }
    let titles: Vec<String> = config.workspaces.iter().map(|workspace| workspace.title.clone()).collect();
    let listed = settings.auto_review.clone();
    let tasks = ctx.store.read(move |tx| candidates(tx, &listed)).await?;
    for task in tasks {
        let task = match task::refresh(ctx, task.id).await {
            Ok(task) => task,
            Err(TaskError::Store(error)) => return Err(error.into()),
            Err(_) => continue,
        };
        if is_seen(ctx, &task).await? {
            continue;
        }
        let pushed = pushed(ctx, &task).await;
        let facts = AutomaticFacts {
            workspace: task.workspace.as_deref(),
            titles: &titles,
            run: task.state,
            pushed: &pushed,
        };
        if let Err(why) = may_run_by_itself(&facts, &settings) {
            tracing::debug!(task = %task.id, ?why, "no review by itself");
            continue;
        }
        let ask = Ask { task: task.id, sha: None, trigger: Trigger::Automatic, caller: Caller::Runtime };
        match review::start(ctx, ask).await {
            Ok(review) => tracing::info!(task = %task.id, %review, "reviewed by itself"),
            Err(StartError::Store(error)) => return Err(error.into()),
            Err(error) => tracing::debug!(task = %task.id, %error, "no review by itself"),
        }
    }
    Ok(())
}

fn candidates(tx: &ReadTx<'_>, listed: &[String]) -> Result<Vec<TaskRow>, StoreError> {
    let mut found = tasks::in_state(tx, RunState::Done)?;
    found.retain(|task| task.workspace.as_ref().is_some_and(|title| listed.contains(title)));
    Ok(found)
}

/// True when this head has a review already that stands in the way, so that no git is asked.
async fn is_seen(ctx: &Ctx, task: &TaskRow) -> Result<bool, StoreError> {
    let (id, head) = (task.id, task.head.clone());
    ctx.store
        .read(move |tx| {
            let past = reviews::past(tx, id)?;
            Ok(past.iter().any(|one| {
                Some(&one.sha) == head.as_ref() && (one.state.is_open() || one.state.seat_finished())
            }))
        })
        .await
}

/// Whether the remote has the head.
async fn pushed(ctx: &Ctx, task: &TaskRow) -> Reading<Pushed> {
    let unread = |why: String| Reading::unread(Cause::GitFailed, why);
    let (Ok(place), Ok(git), Some(head)) = (task::place_of(ctx, task), ctx.git(), task.head.clone()) else {
        return unread("the branch cannot be read".to_owned());
    };
    let (hosts, clones) = (ctx.hosts(), ctx.home.clones());
    let read = blocking(move || {
        let workspace = Workspace::open(&git, &place.path, &hosts)?;
        let remote = match workspace.remote() {
            Remote::None => None,
            Remote::Path(path) => {
                BareClone::open(&git, &clones, &workspace)?.remote_branch(path, &place.branch)?
            }
            Remote::Other(_) => workspace.ref_tip(&format!("refs/remotes/origin/{}", place.branch))?,
            Remote::GitHub { .. } => {
                return Ok(Reading::unread(Cause::SignedOut, "sign in to GitHub to see what is pushed"));
            }
        };
        Ok::<_, TaskError>(Reading::known(if remote.as_ref() == Some(&head) {
            Pushed::Yes
        } else {
            Pushed::No { remote }
        }))
    })
    .await;
    read.unwrap_or_else(|error| unread(error.to_string()))
}
