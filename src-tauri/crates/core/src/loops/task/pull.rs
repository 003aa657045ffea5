//! Tasks of pull requests: made from one, their head always as GitHub shows it.

use steward_rules::ids::{PullNumber, PullRef, RepoName};

use super::place::PullAt;
use super::{TaskError, get};
use crate::config::Config;
use crate::github::{GitHubError, types};
use crate::loops::{Ctx, forge};
use crate::store::Durability;
use crate::store::tasks::{self, HeadRead, NewPullTask, PullHead, RunState, TaskRow};

/// Makes the task of a pull request, or brings the one there is up to date, from GitHub as it is now.
pub async fn add_pull(ctx: &Ctx, asked: &PullRef) -> Result<TaskRow, TaskError> {
    let config = ctx.config();
    let host = asked.host.clone().unwrap_or_else(|| host_of(&config, &asked.repo));
    let open = forge::open(ctx, &host, &asked.repo).await?;
    let found = open
        .reader
        .pull(&asked.repo, asked.number)
        .await
        .map_err(|error| TaskError::GitHub { what: format!("{}#{}", asked.repo, asked.number), error })?;
    // A watched repository keeps the name it is watched under; any other has the one GitHub gives it.
    let now = found.value.base.repo.as_ref().and_then(|repo| RepoName::parse(&repo.full_name));
    let repository = match config.repository(&asked.repo) {
        Some(watched) => watched.name.clone(),
        None => now.unwrap_or_else(|| asked.repo.clone()),
    };
    let new =
        NewPullTask { host, repository, pull: PullNumber(found.value.number), seen: seen(&found.value) };
    let (id, _) = ctx.store.write(Durability::Full, move |tx| tasks::ensure_for_pull(tx, &new)).await?;
    get(ctx, id).await
}

/// The host of a repository that was named without one: as it is watched, else of the first account.
fn host_of(config: &Config, name: &RepoName) -> String {
    match config.repository(name) {
        Some(watched) => config.host_of(watched).to_ascii_lowercase(),
        None => config
            .accounts
            .first()
            .map_or_else(|| "github.com".to_owned(), |account| account.host.to_ascii_lowercase()),
    }
}

/// Reads the pull request of a task from GitHub now, and keeps what it shows.
pub(super) async fn refresh(ctx: &Ctx, task: &TaskRow, at: &PullAt) -> Result<TaskRow, TaskError> {
    let read = match forge::open(ctx, &at.host, &at.name).await {
        Ok(open) => open.reader.pull(&at.name, at.number).await.map_err(|error| words(&error)),
        Err(error) => Err(error.why().detail),
    };
    let id = task.id;
    match read {
        Ok(found) => {
            let seen = seen(&found.value);
            if is_known(task, &seen) {
                return Ok(task.clone());
            }
            ctx.store.write(Durability::Normal, move |tx| tasks::record_pull_head(tx, id, &seen)).await?;
        }
        Err(why) if task.unreadable.as_deref() == Some(&why) => return Ok(task.clone()),
        Err(why) => {
            let read = HeadRead::Unreadable(why);
            ctx.store.write(Durability::Normal, move |tx| tasks::record_head(tx, id, &read)).await?;
        }
    }
    get(ctx, id).await
}

fn words(error: &GitHubError) -> String {
    format!("{error}; {}", error.hint())
}

fn seen(pull: &types::Pull) -> PullHead {
    PullHead {
        title: pull.title.clone(),
        branch: pull.head.branch.clone(),
        head: pull.head.sha.clone(),
        state: if pull.draft { RunState::Running } else { RunState::Done },
        updated_at: pull.updated_at,
    }
}

fn is_known(task: &TaskRow, seen: &PullHead) -> bool {
    task.head.as_ref() == Some(&seen.head)
        && task.branch.as_ref() == Some(&seen.branch)
        && task.title == seen.title.one_line(tasks::TITLE)
        && task.unreadable.is_none()
        && (task.state == seen.state || matches!(task.state, RunState::Error | RunState::Stopped))
}
