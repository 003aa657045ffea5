//! Where a task's commits lie: a branch of a checkout, a pull request on GitHub, or both at once.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use steward_rules::ids::{PullNumber, RepoName};
use steward_rules::review::policy::ReviewPolicy;

use super::{TaskError, blocking};
use crate::config::{Config, ForgeChoice, Workspace as Configured, WorkspaceMatch};
use crate::git::{BareClone, Git, GitError, Remote, Workspace, common_dir};
use crate::loops::Ctx;
use crate::store::tasks::TaskRow;

/// Where a task's commits lie, and what they are judged by.
#[derive(Debug, Clone)]
pub struct Place {
    /// The checkout of its repository on this machine; the task of a branch always has one.
    pub workspace: Option<PathBuf>,
    /// The title of that checkout in the config file.
    pub title: Option<String>,
    pub branch: String,
    /// The pull request, when the task is one's.
    pub pull: Option<PullAt>,
    /// The integration branch, when the config file names one.
    pub integration: Option<String>,
    pub policy: ReviewPolicy,
    pub forge: ForgeChoice,
}

/// A pull request and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullAt {
    /// As in `accounts[].host`.
    pub host: String,
    pub name: RepoName,
    pub number: PullNumber,
}

impl PullAt {
    /// The pull request of a task, if it is one's.
    pub fn of(task: &TaskRow) -> Option<Self> {
        let name = RepoName::parse(task.repository.as_deref()?)?;
        let host = task.host.clone().unwrap_or_else(|| "github.com".to_owned());
        Some(Self { host, name, number: task.pull? })
    }
}

/// Where a task's commits lie. The task of a pull request need not have a checkout.
pub async fn place_of(ctx: &Ctx, task: &TaskRow) -> Result<Place, TaskError> {
    let config = ctx.config();
    if let Some(pull) = PullAt::of(task) {
        let found = workspace_of(ctx, &config, &pull).await?;
        let (policy, integration) = config.review_policy(found.as_ref(), task.repository.as_deref());
        return Ok(Place {
            workspace: found.as_ref().map(|found| found.path.clone()),
            title: found.map(|found| found.title),
            branch: task.branch.clone().unwrap_or_default(),
            pull: Some(pull),
            integration,
            policy,
            // A pull request is judged on GitHub or not at all.
            forge: ForgeChoice::GitHub,
        });
    }
    let (Some(path), Some(branch)) = (&task.workspace_path, &task.branch) else {
        return Err(TaskError::NotLocal(task.id));
    };
    let path = PathBuf::from(path);
    let by_path = config.workspaces.iter().find(|workspace| workspace.path == path);
    let found = by_path.or_else(|| match task.workspace.as_deref().map(|title| config.workspace(title)) {
        Some(WorkspaceMatch::One(workspace)) => Some(workspace),
        Some(WorkspaceMatch::None | WorkspaceMatch::Several) | None => None,
    });
    let (policy, integration) = config.review_policy(found, task.repository.as_deref());
    Ok(Place {
        workspace: Some(path),
        title: found.map(|found| found.title.clone()),
        branch: branch.clone(),
        pull: None,
        integration,
        policy,
        forge: found.map_or(ForgeChoice::GitHub, |found| found.forge),
    })
}

impl Place {
    /// Opens the checkout, where there is one, and the clone of ours. This blocks.
    pub fn open(
        &self,
        git: &Git,
        hosts: &[String],
        clones: &Path,
    ) -> Result<(Option<Workspace>, BareClone), GitError> {
        match (&self.workspace, &self.pull) {
            (Some(path), _) => {
                let workspace = Workspace::open(git, path, hosts)?;
                let clone = BareClone::open(git, clones, &workspace)?;
                Ok((Some(workspace), clone))
            }
            (None, Some(pull)) => Ok((None, BareClone::open_alone(git, clones, &pull.host, &pull.name)?)),
            (None, None) => Err(GitError::NotARepository { path: PathBuf::new() }),
        }
    }
}

/// The origins of checkouts, each read again only when the checkout's configuration changed.
#[derive(Debug, Default)]
pub struct Origins {
    known: Mutex<HashMap<PathBuf, (Stamp, Remote)>>,
}

/// What a configuration file looked like, and the hosts that counted as GitHub then.
type Stamp = (Option<(SystemTime, u64)>, Vec<String>);

impl Origins {
    /// Where the `origin` of this checkout points; `None` when it cannot be opened. This may block.
    pub fn of(&self, git: &Git, path: &Path, hosts: &[String]) -> Option<Remote> {
        let file = common_dir(path)?.join("config");
        let seen = std::fs::metadata(&file).ok().and_then(|meta| Some((meta.modified().ok()?, meta.len())));
        let stamp = (seen, hosts.to_vec());
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((before, remote)) = known().get(path)
            && *before == stamp
        {
            return Some(remote.clone());
        }
        let remote = Workspace::open(git, path, hosts).ok()?.remote().clone();
        known().insert(path.to_owned(), (stamp, remote.clone()));
        Some(remote)
    }
}

/// The first configured checkout whose `origin` is the repository of this pull request.
async fn workspace_of(ctx: &Ctx, config: &Config, pull: &PullAt) -> Result<Option<Configured>, TaskError> {
    let asked: Vec<Configured> =
        config.workspaces.iter().filter(|one| one.forge == ForgeChoice::GitHub).cloned().collect();
    if asked.is_empty() {
        return Ok(None);
    }
    let (git, hosts, origins, pull) = (ctx.git()?, ctx.hosts(), ctx.origins(), pull.clone());
    blocking(move || {
        Ok(asked.into_iter().find(|one| match origins.of(&git, &one.path, &hosts) {
            Some(Remote::GitHub { host, name }) => host == pull.host && name == pull.name,
            Some(Remote::None | Remote::Path(_) | Remote::Other(_)) | None => false,
        }))
    })
    .await
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
