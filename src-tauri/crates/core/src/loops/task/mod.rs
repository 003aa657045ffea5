//! Tasks: made for a branch, their head always re-read from git, with what agents attach to them.

mod attach;
pub mod documents;

use std::path::{Path, PathBuf};

use steward_rules::ids::{Sha, TaskId};
use steward_rules::reading::{Cause, Reading};
use steward_rules::untrusted::Untrusted;

pub use attach::{attach_contract, attach_frame, attach_handoff, attach_validator};

use super::Ctx;
use crate::config::WorkspaceMatch;
use crate::frames::FrameError;
use crate::git::{Git, GitError, Workspace};
use crate::store::tasks::{self, HeadRead, NewBranchTask, RunState, TITLE, TaskRow};
use crate::store::{Durability, StoreError};

/// How the reason of a branch that is not there begins.
const GONE: &str = "the branch is gone";

/// Why something could not be done with a task.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    #[error("there is no task {0}; `steward task list` shows those there are")]
    NotFound(TaskId),
    #[error("there is no workspace titled {0:?}; `steward workspace list` shows those there are")]
    NoWorkspace(String),
    #[error("two workspaces are titled {0:?}; give them different titles in config.yaml")]
    TwoWorkspaces(String),
    #[error("task {task} has no commit to judge: {why}")]
    NoHead { task: TaskId, why: String },
    #[error("task {0} has no local workspace, so this needs GitHub, which is not set up")]
    NotLocal(TaskId),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Document(#[from] documents::DocumentError),
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the work was stopped before it ran")]
    Stopped,
}

/// Makes a task for a branch of a workspace, or gives the one there is, with its head read from git.
pub async fn add(
    ctx: &Ctx,
    workspace: &str,
    branch: &str,
    title: Option<String>,
) -> Result<TaskRow, TaskError> {
    let config = ctx.config();
    let place = match config.workspace(workspace) {
        WorkspaceMatch::One(found) => found.clone(),
        WorkspaceMatch::None => return Err(TaskError::NoWorkspace(workspace.to_owned())),
        WorkspaceMatch::Several => return Err(TaskError::TwoWorkspaces(workspace.to_owned())),
    };
    let git = ctx.git()?;
    let hosts = ctx.hosts();
    let (path, name, known) = (place.path.clone(), branch.to_owned(), place.clone());
    // The branch is read before the task is made: a task of a branch that is not there helps nobody.
    let (read, repository, subject) = blocking(move || {
        let workspace = Workspace::open(&git, &path, &hosts)?;
        let tip = workspace.branch_tip(&name)?;
        let subject = git.call(workspace.root(), ["log", "-1", "--format=%s", tip.as_str()]).line();
        let subject = subject.map(|text| Untrusted::new(text.trim()).one_line(TITLE)).unwrap_or_default();
        let repository = match workspace.remote() {
            crate::git::Remote::GitHub { name, .. } => Some(name.to_string()),
            crate::git::Remote::None | crate::git::Remote::Path(_) | crate::git::Remote::Other(_) => None,
        };
        let (_, integration) = config.review_policy(Some(&known), repository.as_deref());
        let read = read_head(&git, &workspace, &name, integration.as_deref(), true);
        Ok::<_, TaskError>((read, repository, subject))
    })
    .await?;
    let new = NewBranchTask {
        title: title.filter(|text| !text.trim().is_empty()).unwrap_or(match subject.is_empty() {
            true => branch.to_owned(),
            false => subject,
        }),
        workspace: place.title,
        workspace_path: place.path.to_string_lossy().into_owned(),
        repository,
        branch: branch.to_owned(),
        state: RunState::Running,
    };
    let id = ctx
        .store
        .write(Durability::Full, move |tx| {
            let (id, _) = tasks::create_for_branch(tx, &new)?;
            tasks::record_head(tx, id, &read)?;
            Ok::<_, TaskError>(id)
        })
        .await?;
    get(ctx, id).await
}

/// The task of this number, as it was last read.
pub async fn get(ctx: &Ctx, id: TaskId) -> Result<TaskRow, TaskError> {
    ctx.store.read(move |tx| tasks::get(tx, id)?.ok_or(TaskError::NotFound(id))).await
}

/// Reads the task's head from git again.
pub async fn refresh(ctx: &Ctx, id: TaskId) -> Result<TaskRow, TaskError> {
    let task = get(ctx, id).await?;
    let read = match place_of(ctx, &task) {
        Ok(place) => {
            let (git, hosts) = (ctx.git()?, ctx.hosts());
            let known = task.fork_point.is_some();
            blocking(move || {
                Ok::<_, TaskError>(match Workspace::open(&git, &place.path, &hosts) {
                    Ok(workspace) => {
                        read_head(&git, &workspace, &place.branch, place.integration.as_deref(), !known)
                    }
                    Err(error) => HeadRead::Unreadable(error.to_string()),
                })
            })
            .await?
        }
        Err(TaskError::NotLocal(_)) => return Ok(task),
        Err(error) => return Err(error),
    };
    let unchanged = match &read {
        HeadRead::Seen { head, fork_point } => {
            task.head.as_ref() == Some(head)
                && task.unreadable.is_none()
                && (task.fork_point.is_some() || fork_point.is_none())
        }
        HeadRead::Unreadable(why) => task.unreadable.as_deref() == Some(why),
    };
    if unchanged {
        return Ok(task);
    }
    ctx.store.write(Durability::Normal, move |tx| tasks::record_head(tx, id, &read)).await?;
    get(ctx, id).await
}

/// The task's head as git shows it now; `Known(None)` when its branch is gone. The task is brought up
/// to date by the way.
pub async fn head_now(ctx: &Ctx, id: TaskId) -> Result<Reading<Option<Sha>>, StoreError> {
    let unread = |why: String| Reading::unread(Cause::GitFailed, why);
    let task = match refresh(ctx, id).await {
        Ok(task) => task,
        Err(TaskError::Store(error)) => return Err(error),
        Err(error) => return Ok(unread(error.to_string())),
    };
    match task.unreadable {
        None => Ok(Reading::known(task.head)),
        Some(why) if why.starts_with(GONE) => Ok(Reading::known(None)),
        Some(why) => Ok(unread(why)),
    }
}

/// Records how the task's run ended, and reads its head once more.
pub async fn finish(ctx: &Ctx, id: TaskId, state: RunState) -> Result<TaskRow, TaskError> {
    get(ctx, id).await?;
    ctx.store.write(Durability::Full, move |tx| tasks::set_state(tx, id, state)).await?;
    refresh(ctx, id).await
}

/// Where a task's branch lies on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub path: PathBuf,
    pub branch: String,
    pub integration: Option<String>,
}

/// The workspace and branch of a local task.
pub fn place_of(ctx: &Ctx, task: &TaskRow) -> Result<Place, TaskError> {
    let (Some(path), Some(branch)) = (&task.workspace_path, &task.branch) else {
        return Err(TaskError::NotLocal(task.id));
    };
    let config = ctx.config();
    let found = config.workspaces.iter().find(|workspace| workspace.path == Path::new(path));
    let (_, integration) = config.review_policy(found, task.repository.as_deref());
    Ok(Place { path: PathBuf::from(path), branch: branch.clone(), integration })
}

/// The checkout in which the task's branch stands now: a linked worktree when one has it, else the
/// workspace itself.
pub(in crate::loops) fn checkout_of(
    git: &Git,
    workspace: &Workspace,
    branch: &str,
) -> Result<PathBuf, GitError> {
    let said = git.call(workspace.root(), ["worktree", "list", "--porcelain", "-z"]).bytes()?;
    let wanted = format!("branch refs/heads/{branch}");
    let mut here: Option<PathBuf> = None;
    for field in said.split(|b| *b == 0) {
        if let Some(path) = field.strip_prefix(b"worktree ") {
            here = Some(path_from(path));
        } else if field == wanted.as_bytes()
            && let Some(path) = here.take().filter(|path| path.is_dir())
        {
            return Ok(path);
        }
    }
    Ok(workspace.root().to_owned())
}

#[cfg(unix)]
fn path_from(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

#[cfg(not(unix))]
fn path_from(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}

fn read_head(
    git: &Git,
    workspace: &Workspace,
    branch: &str,
    integration: Option<&str>,
    first: bool,
) -> HeadRead {
    match workspace.branch_tip(branch) {
        Ok(head) => {
            let fork_point = if first { fork_point(git, workspace, &head, integration) } else { None };
            HeadRead::Seen { head, fork_point }
        }
        Err(error @ GitError::MissingBranch { .. }) => HeadRead::Unreadable(format!("{GONE} ({error})")),
        Err(error) => HeadRead::Unreadable(error.to_string()),
    }
}

/// Where the branch left the integration branch; none when that cannot be told yet.
fn fork_point(git: &Git, workspace: &Workspace, head: &Sha, integration: Option<&str>) -> Option<Sha> {
    let branch = match integration {
        Some(name) => name.to_owned(),
        None => workspace.integration_branch().ok()??,
    };
    let tip = [format!("refs/remotes/origin/{branch}"), format!("refs/heads/{branch}")]
        .iter()
        .find_map(|name| workspace.ref_tip(name).ok().flatten())?;
    let base = git.call(workspace.root(), ["merge-base", tip.as_str(), head.as_str()]).line().ok()?;
    Sha::new(base.trim()).ok()
}

/// Runs blocking work off the async threads.
pub(in crate::loops) async fn blocking<T, E>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, E>
where
    T: Send + 'static,
    E: From<TaskError> + Send + 'static,
{
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(TaskError::Stopped.into()),
        },
    }
}
