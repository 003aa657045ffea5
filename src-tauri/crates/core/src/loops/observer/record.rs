//! Writes what a look saw: rows, tasks of open pull requests, and who is told.

use chrono::{DateTime, Utc};
use steward_rules::ids::{PullNumber, RepoName};
use steward_rules::observing::{self, PullState};
use steward_rules::review::lifecycle::RunState;

use super::place::{Place, PullChange};
use crate::github::GitHubError;
use crate::loops::Ctx;
use crate::store::pulls::PullRow;
use crate::store::repositories::{Description, Fault, RepositoryRow};
use crate::store::tasks::{NewPullTask, PullHead};
use crate::store::{Durability, StoreError, WriteTx, issues, pulls, repositories, tasks};

/// Records one look, all of it or nothing. `at` is GitHub's time when it began to answer.
pub(super) async fn seen(ctx: &Ctx, places: Vec<Place>, at: DateTime<Utc>) -> Result<(), StoreError> {
    ctx.store
        .write(Durability::Normal, move |tx| {
            for place in &places {
                one(tx, place, at)?;
            }
            tx.topic("repositories")
        })
        .await
}

/// Records that nothing could be seen of these repositories. What is known of them stays.
pub(super) async fn failed(
    ctx: &Ctx,
    host: &str,
    names: &[RepoName],
    error: &GitHubError,
) -> Result<(), StoreError> {
    let (host, names, fault) = (host.to_owned(), names.to_vec(), fault(error));
    ctx.store
        .write(Durability::Normal, move |tx| {
            for name in &names {
                let row = repositories::ensure(tx, &host, name)?;
                repositories::failed(tx, row.id, &fault)?;
            }
            tx.topic("repositories")
        })
        .await
}

fn fault(error: &GitHubError) -> Fault {
    Fault { slug: error.slug().to_owned(), detail: error.to_string(), hint: error.hint() }
}

fn one(tx: &WriteTx<'_>, place: &Place, at: DateTime<Utc>) -> Result<(), StoreError> {
    let row = &place.row;
    if let (Some(node_id), Some(glimpse)) = (&place.node_id, &place.glimpse) {
        let is_here = RepoName::parse(&glimpse.full_name).as_ref() == Some(&row.name);
        let seen = Description {
            node_id: node_id.clone(),
            now_called: (!is_here).then(|| glimpse.full_name.clone()),
            default_branch: glimpse.default_branch.clone(),
            default_tip: glimpse.default_tip.clone(),
            private: glimpse.private,
            archived: glimpse.archived,
            permission: glimpse.permission.clone(),
        };
        if row.seen.as_ref() != Some(&seen) {
            repositories::describe(tx, row.id, &seen)?;
        }
    }
    for (number, change) in &place.changes {
        pull(tx, row, PullNumber(*number), change)?;
    }
    for issue in place.issues.values() {
        let before = issues::get(tx, row.id, issue.number)?;
        if before.is_none_or(|before| before.updated_at <= issue.updated_at) {
            issues::put(tx, &crate::store::issues::IssueRow { seen_at: tx.now(), ..issue.clone() })?;
        }
    }
    match &place.fault {
        Some(error) => repositories::failed(tx, row.id, &fault(error)),
        None => {
            let but: Vec<i64> = place.unconfirmed.iter().copied().collect();
            pulls::confirm(tx, row.id, &but)?;
            let left: Vec<i64> = place.missing_issues.iter().copied().collect();
            issues::confirm(tx, row.id, &left)?;
            repositories::observed(tx, row.id, &place.progress(at, tx.now()))
        }
    }
}

fn pull(
    tx: &WriteTx<'_>,
    repository: &RepositoryRow,
    number: PullNumber,
    change: &PullChange,
) -> Result<(), StoreError> {
    let before = pulls::get(tx, repository.id, number)?;
    let Some(after) = after(repository, before.as_ref(), change, tx.now()) else { return Ok(()) };
    pulls::put(tx, &after)?;
    let was = before.as_ref().map(PullRow::glimpse);
    let named =
        before.is_some_and(|before| before.title != after.title || before.head_branch != after.head_branch);
    if named || observing::is_told(was.as_ref(), &after.glimpse()) {
        tell(tx, repository, &after)?;
    }
    Ok(())
}

/// The row after a change; `None` when the change says nothing new.
fn after(
    repository: &RepositoryRow,
    before: Option<&PullRow>,
    change: &PullChange,
    now: DateTime<Utc>,
) -> Option<PullRow> {
    match change {
        PullChange::Noted(seen) => before.map(|before| before.with(seen, now)),
        PullChange::Ended { state, updated_at } => before.map(|before| PullRow {
            state: *state,
            updated_at: updated_at.unwrap_or_default().max(before.updated_at),
            seen_at: now,
            ..before.clone()
        }),
        PullChange::Gone => {
            before.map(|before| PullRow { state: PullState::Gone, seen_at: now, ..before.clone() })
        }
        PullChange::Detail(detail) => {
            let seen = &detail.seen;
            let is_older = before.is_some_and(|before| seen.updated_at < before.updated_at);
            // What was never known as open and is closed now was never seen here.
            if is_older || (before.is_none() && seen.state != PullState::Open) {
                return None;
            }
            let fresh = PullRow {
                repository: repository.id,
                number: detail.number,
                node_id: detail.node_id.clone(),
                title: detail.title.clone(),
                author: detail.author.clone(),
                head: seen.head.clone(),
                head_branch: detail.head_branch.clone(),
                head_repository: detail.head_repository.clone(),
                base_branch: detail.base_branch.clone(),
                base: seen.base.clone(),
                draft: seen.draft,
                state: seen.state,
                labels: seen.labels.clone(),
                rollup: seen.rollup.clone(),
                mergeable: seen.mergeable.clone(),
                review_decision: seen.review_decision.clone(),
                updated_at: seen.updated_at,
                head_seen_at: now,
                seen_at: now,
            };
            let since = before.filter(|before| before.head == fresh.head).map(|before| before.head_seen_at);
            Some(PullRow { head_seen_at: since.unwrap_or(now), ..fresh })
        }
    }
}

/// Brings the task of a pull request up to date and wakes whoever judges it. An open one always has a task.
fn tell(tx: &WriteTx<'_>, repository: &RepositoryRow, pull: &PullRow) -> Result<(), StoreError> {
    let head = PullHead {
        title: pull.title.clone(),
        branch: pull.head_branch.clone(),
        head: pull.head.clone(),
        state: if pull.draft { RunState::Running } else { RunState::Done },
        updated_at: Some(pull.updated_at),
    };
    let task = if pull.state == PullState::Open {
        let (host, name) = (repository.host.clone(), repository.name.clone());
        let new = NewPullTask { host, repository: name, pull: pull.number, seen: head };
        Some(tasks::ensure_for_pull(tx, &new)?.0)
    } else {
        let found = tasks::find_by_pull(tx, &repository.host, &repository.name, pull.number)?;
        if let Some(task) = &found {
            tasks::record_pull_head(tx, task.id, &head)?;
        }
        found.map(|task| task.id)
    };
    match task {
        Some(task) => tx.topic(&format!("task:{task}")),
        None => Ok(()),
    }
}
