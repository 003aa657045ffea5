//! Finished work of listed workspaces is reviewed without asking (review.md 4).

use std::collections::HashMap;

use chrono::{DateTime, Duration, Utc};
use steward_rules::ids::{Sha, TaskId};
use steward_rules::reading::{Cause, Reading};
use steward_rules::review::facts::Pushed;
use steward_rules::review::lifecycle::{AutomaticFacts, Caller, RunState, may_run_by_itself};

use super::aside::is_reserved;
use crate::git::{Remote, Workspace};
use crate::loops::Ctx;
use crate::loops::forge::Asking;
use crate::loops::review::{self, Ask, DriveError, StartError};
use crate::loops::task::{self, TaskError, blocking};
use crate::store::reviews::Trigger;
use crate::store::tasks::{self, TaskRow};
use crate::store::{StoreError, reviews};

/// How long GitHub is not asked again whether it has a head that it had not: no such branch is no answer
/// that can be asked for again at no cost.
const ASK_AGAIN: Duration = Duration::minutes(5);

/// The heads that GitHub did not have, and when it said so.
#[derive(Debug, Default)]
pub(super) struct NotYet(HashMap<TaskId, (Sha, DateTime<Utc>)>);

/// Starts what may start by itself now.
pub(super) async fn look(ctx: &Ctx, not_yet: &mut NotYet) -> Result<(), DriveError> {
    let config = ctx.config();
    let settings = review::settings(&config);
    if !settings.is_on() {
        return Ok(());
    }
    let titles: Vec<String> = config.workspaces.iter().map(|workspace| workspace.title.clone()).collect();
    let listed = &settings.auto_review;
    let (branches, pulls) = ctx
        .store
        .read(|tx| Ok::<_, StoreError>((tasks::in_state(tx, RunState::Done)?, tasks::of_ready_pulls(tx)?)))
        .await?;
    let is_listed = |title: &Option<String>| title.as_ref().is_some_and(|title| listed.contains(title));
    for task in branches.iter().filter(|task| task.pull.is_none() && is_listed(&task.workspace)) {
        let task = match task::refresh(ctx, task.id).await {
            Ok(task) => task,
            Err(TaskError::Store(error)) => return Err(error.into()),
            Err(_) => continue,
        };
        if is_seen(ctx, &task).await? || not_yet.holds(&task, ctx.clock.now()) {
            continue;
        }
        let pushed = pushed(ctx, &task, not_yet).await;
        let facts = AutomaticFacts {
            workspace: task.workspace.as_deref(),
            titles: &titles,
            run: task.state,
            pushed: &pushed,
        };
        match may_run_by_itself(&facts, &settings) {
            Ok(()) => start(ctx, &task).await?,
            Err(why) => tracing::debug!(task = %task.id, ?why, "no review by itself"),
        }
    }
    for task in &pulls {
        if is_seen(ctx, task).await? || is_reserved(ctx, task).await {
            continue;
        }
        let Ok(place) = task::place_of(ctx, task).await else { continue };
        // The same work as a branch of that workspace is reviewed as that.
        let path = place.workspace.as_deref().map(|path| path.to_string_lossy());
        let twin = |one: &&TaskRow| one.workspace_path.as_deref() == path.as_deref() && one.head == task.head;
        if !is_listed(&place.title) || branches.iter().find(twin).is_some() {
            continue;
        }
        // The head of a pull request is on GitHub by its nature.
        let pushed = Reading::known(Pushed::Yes);
        let facts = AutomaticFacts {
            workspace: place.title.as_deref(),
            titles: &titles,
            run: task.state,
            pushed: &pushed,
        };
        match may_run_by_itself(&facts, &settings) {
            Ok(()) => start(ctx, task).await?,
            Err(why) => tracing::debug!(task = %task.id, ?why, "no review by itself"),
        }
    }
    Ok(())
}

async fn start(ctx: &Ctx, task: &TaskRow) -> Result<(), StoreError> {
    let ask = Ask { task: task.id, sha: None, trigger: Trigger::Automatic, caller: Caller::Runtime };
    match review::start(ctx, ask).await {
        Ok(review) => tracing::info!(task = %task.id, %review, "reviewed by itself"),
        Err(StartError::Store(error)) => return Err(error),
        Err(error) => tracing::debug!(task = %task.id, %error, "no review by itself"),
    }
    Ok(())
}

impl NotYet {
    fn holds(&self, task: &TaskRow, now: DateTime<Utc>) -> bool {
        self.0
            .get(&task.id)
            .is_some_and(|(head, at)| task.head.as_ref() == Some(head) && now >= *at && now - *at < ASK_AGAIN)
    }
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
async fn pushed(ctx: &Ctx, task: &TaskRow, not_yet: &mut NotYet) -> Reading<Pushed> {
    let unread = |why: String| Reading::unread(Cause::GitFailed, why);
    let (Ok(place), Ok(git), Some(head)) = (task::place_of(ctx, task).await, ctx.git(), task.head.clone())
    else {
        return unread("the branch cannot be read".to_owned());
    };
    match review::asking(ctx, &place).await {
        Ok(Asking::Not) => {}
        Ok(Asking::Open(open)) => {
            if let Some(until) = open.reader.reserved() {
                return Reading::unread(Cause::NotReadYet, format!("GitHub is left to you until {until}"));
            }
            let pushed = review::pushed(&open, &place.branch, &head).await;
            if matches!(pushed.get(), Ok(Pushed::No { .. })) {
                not_yet.0.insert(task.id, (head, ctx.clock.now()));
            }
            return pushed;
        }
        Ok(Asking::Shut(why)) => return Err(why).into(),
        Ok(Asking::SignedOut) => {
            return Reading::unread(Cause::SignedOut, "sign in to GitHub to see what is pushed");
        }
        Err(error) => return unread(error.to_string()),
    }
    let (hosts, clones) = (ctx.hosts(), ctx.home.clones());
    let read = blocking(move || {
        let (workspace, clone) = place.open(&git, &hosts, &clones)?;
        let there = |one: &Workspace| one.ref_tip(&format!("refs/remotes/origin/{}", place.branch));
        let remote = match workspace.as_ref().map(|one| (one, one.remote())) {
            None | Some((_, Remote::None)) => None,
            Some((_, Remote::Path(path))) => clone.remote_branch(path, &place.branch)?,
            // Judged without GitHub, so it is not asked either.
            Some((one, Remote::Other(_) | Remote::GitHub { .. })) => there(one)?,
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
