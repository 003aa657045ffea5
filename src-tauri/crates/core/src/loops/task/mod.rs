//! Tasks: made for a branch or a pull request, their head always re-read from git or GitHub, with what
//! agents attach to them.

mod attach;
pub mod documents;
mod place;
mod pull;

use steward_rules::ids::{Sha, TaskId};
use steward_rules::reading::{Cause, Reading};
use steward_rules::untrusted::Untrusted;

pub use attach::{attach_contract, attach_frame, attach_handoff, attach_validator};
pub(in crate::loops) use place::checkout_of;
pub use place::{Origins, Place, PullAt, place_of};
pub use pull::add_pull;

use super::Ctx;
use super::accounts::NoAccount;
use crate::config::WorkspaceMatch;
use crate::frames::FrameError;
use crate::git::{Git, GitError, Remote, Workspace};
use crate::github::GitHubError;
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
    #[error("task {0} names neither a branch of a workspace nor a pull request")]
    NotLocal(TaskId),
    #[error(transparent)]
    NoAccount(#[from] NoAccount),
    #[error("{what} cannot be read: {error}")]
    GitHub { what: String, error: GitHubError },
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
            Remote::GitHub { host, name } => Some((host.clone(), name.clone())),
            Remote::None | Remote::Path(_) | Remote::Other(_) => None,
        };
        let (_, integration) = config
            .review_policy(Some(&known), repository.as_ref().map(|(_, name)| name.to_string()).as_deref());
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

/// Reads the task's head again, from git or from GitHub.
pub async fn refresh(ctx: &Ctx, id: TaskId) -> Result<TaskRow, TaskError> {
    let task = get(ctx, id).await?;
    if let Some(at) = PullAt::of(&task) {
        return pull::refresh(ctx, &task, &at).await;
    }
    let place = match place_of(ctx, &task).await {
        Ok(place) => place,
        Err(TaskError::NotLocal(_)) => return Ok(task),
        Err(error) => return Err(error),
    };
    let Some(path) = place.workspace else { return Ok(task) };
    let (git, hosts, known) = (ctx.git()?, ctx.hosts(), task.fork_point.is_some());
    let read = blocking(move || {
        Ok::<_, TaskError>(match Workspace::open(&git, &path, &hosts) {
            Ok(workspace) => read_head(&git, &workspace, &place.branch, place.integration.as_deref(), !known),
            Err(error) => HeadRead::Unreadable(error.to_string()),
        })
    })
    .await?;
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

/// The task's head as git or GitHub shows it now; `Known(None)` when its branch is gone. The task is
/// brought up to date by the way.
pub async fn head_now(ctx: &Ctx, id: TaskId) -> Result<Reading<Option<Sha>>, StoreError> {
    head_of(refresh(ctx, id).await)
}

/// The same without asking GitHub: of a pull request, the head that was seen last.
pub async fn head_seen(ctx: &Ctx, id: TaskId) -> Result<Reading<Option<Sha>>, StoreError> {
    match get(ctx, id).await {
        Ok(task) if PullAt::of(&task).is_some() => head_of(Ok(task)),
        Ok(_) => head_now(ctx, id).await,
        Err(error) => head_of(Err(error)),
    }
}

fn head_of(task: Result<TaskRow, TaskError>) -> Result<Reading<Option<Sha>>, StoreError> {
    let unread = |why: String| Reading::unread(Cause::GitFailed, why);
    let task = match task {
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

/// Refuses a head of a local branch that shares no history with the integration branch as it is known
/// here. What only GitHub knows is found out by the reading itself.
pub async fn has_base(ctx: &Ctx, task: &TaskRow, head: &Sha) -> Result<(), TaskError> {
    let place = place_of(ctx, task).await?;
    let (None, Some(path)) = (&place.pull, place.workspace) else { return Ok(()) };
    let (git, hosts, head) = (ctx.git()?, ctx.hosts(), head.clone());
    blocking(move || {
        let workspace = Workspace::open(&git, &path, &hosts)?;
        let branch = match place.integration {
            Some(name) => Some(name),
            None => workspace.integration_branch()?,
        };
        // The same name as the reading takes when nothing tells.
        let branch = branch.unwrap_or(place.policy.integration_branch);
        let why = match known_tip(&workspace, &branch)? {
            Some(tip) => {
                let asked = ["merge-base", tip.as_str(), head.as_str()];
                match git.call(workspace.root(), asked).exit_code()? {
                    // Silence is the answer; anything else says that git could not look.
                    (Some(1), words) if words == "no message" => {
                        format!("the branch shares no history with {branch}")
                    }
                    _ => return Ok(()),
                }
            }
            None if *workspace.remote() == Remote::None => format!("there is no branch {branch}"),
            None => return Ok(()),
        };
        Err(GitError::NoBase { why }.into())
    })
    .await
}

/// The integration branch as the workspace has it.
fn known_tip(workspace: &Workspace, branch: &str) -> Result<Option<Sha>, GitError> {
    match workspace.ref_tip(&format!("refs/remotes/origin/{branch}"))? {
        Some(tip) => Ok(Some(tip)),
        None => workspace.ref_tip(&format!("refs/heads/{branch}")),
    }
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
    let tip = known_tip(workspace, &branch).ok()??;
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
