//! Workspaces: local checkouts of the config file, and what git says of them.

use std::path::{Path, PathBuf};

use super::error::{ApiError, ErrorCode};
use super::requests::{Nothing, WorkspaceAdd, WorkspaceByTitle, WorkspaceForge, WorkspaceInspect};
use super::views as v;
use super::{Api, convert};
use crate::config::edit::Edit;
use crate::config::{self, ForgeChoice, WorkspaceMatch};
use crate::git::{Git, GitError, Remote, Workspace};
use crate::loops::{Ctx, origins};
use crate::store::tasks;

/// Branches shown of one workspace.
const BRANCHES: usize = 200;

pub async fn list(api: &Api, _: Nothing) -> Result<v::WorkspacePage, ApiError> {
    let known = api.config().config.workspaces.clone();
    let ctx = api.context().clone();
    let workspaces = blocking(move || Ok(known.iter().map(|w| described(&ctx, w)).collect())).await?;
    if let Err(error) = origins::look(api.context()).await {
        tracing::warn!(%error, "where the workspaces come from was not kept");
    }
    Ok(v::WorkspacePage { workspaces })
}

/// Says what a folder would be as a workspace. Nothing is written.
pub async fn inspect(api: &Api, request: WorkspaceInspect) -> Result<v::InspectView, ApiError> {
    let path = expand(&request.path)?;
    let ctx = api.context().clone();
    blocking(move || {
        let git = ctx.git()?;
        let workspace = Workspace::open(&git, &path, &ctx.hosts())?;
        let title =
            workspace.root().file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let candidate = config::Workspace {
            title: title.clone(),
            path: workspace.root().to_owned(),
            forge: ForgeChoice::GitHub,
            policy: None,
            integration_branch: None,
        };
        Ok(v::InspectView {
            path: workspace.root().to_string_lossy().into_owned(),
            suggested_title: title,
            branches: branch_views(&workspace, None)?,
            workspace: described(&ctx, &candidate),
        })
    })
    .await
}

pub async fn branches(api: &Api, request: WorkspaceByTitle) -> Result<v::BranchPage, ApiError> {
    let found = by_title(api, &request.title)?;
    let ctx = api.context().clone();
    let place = found.path.to_string_lossy().into_owned();
    let (mut branches, integration) = blocking(move || {
        let git = ctx.git()?;
        let workspace = Workspace::open(&git, &found.path, &ctx.hosts())?;
        let integration = match named(&ctx, &found, &workspace) {
            Some(name) => Some(name),
            None => workspace.integration_branch()?,
        };
        Ok((branch_views(&workspace, integration.as_deref())?, integration))
    })
    .await?;
    let names: Vec<String> = branches.iter().map(|b| b.name.clone()).collect();
    let numbers = api
        .store()
        .read(move |tx| {
            names
                .iter()
                .map(|name| Ok(tasks::find_by_branch(tx, &place, name)?.map(|t| t.id.0)))
                .collect::<Result<Vec<_>, crate::store::StoreError>>()
        })
        .await?;
    for (branch, number) in branches.iter_mut().zip(numbers) {
        branch.task = number;
    }
    Ok(v::BranchPage { branches, integration })
}

pub async fn add(api: &Api, request: WorkspaceAdd) -> Result<v::WorkspaceView, ApiError> {
    api.person("add a workspace")?;
    let path = expand(&request.path)?;
    let forge = match request.forge.as_deref() {
        None | Some("github") => ForgeChoice::GitHub,
        Some("none") => ForgeChoice::None,
        Some(other) => {
            return Err(ApiError::new(
                ErrorCode::BadRequest,
                format!("forge: `{}` is not github or none", convert::line(other)),
            ));
        }
    };
    let title = request.title.trim().to_owned();
    if title.is_empty() {
        return Err(ApiError::new(ErrorCode::BadRequest, "title: a workspace needs one"));
    }
    match api.config().config.workspace(&title) {
        WorkspaceMatch::None => {}
        WorkspaceMatch::One(_) | WorkspaceMatch::Several => {
            return Err(ApiError::new(
                ErrorCode::Refused,
                format!("a workspace titled `{title}` is there already"),
            )
            .hint("choose another title, or remove that one first"));
        }
    }
    let ctx = api.context().clone();
    // The folder is opened first: a workspace that cannot be read helps nobody.
    let (root, remote) = blocking(move || {
        let git = ctx.git()?;
        let workspace = Workspace::open(&git, &path, &ctx.hosts())?;
        Ok((workspace.root().to_owned(), workspace.remote().clone()))
    })
    .await?;
    if let Some(other) = api.config().config.workspaces.iter().find(|w| w.path == root) {
        return Err(ApiError::new(
            ErrorCode::Refused,
            format!("this folder is the workspace `{}` already", other.title),
        ));
    }
    let change =
        Edit::AddWorkspace { title: title.clone(), path: root.to_string_lossy().into_owned(), forge };
    super::settings::change(api, &change)?;
    if let Err(error) = origins::keep(api.context(), root, remote).await {
        tracing::warn!(%error, "where a workspace comes from was not kept");
    }
    one(api, &title).await
}

pub async fn remove(api: &Api, request: WorkspaceByTitle) -> Result<v::Done, ApiError> {
    api.person("remove a workspace")?;
    let title = by_title(api, &request.title)?.title;
    super::settings::change(api, &Edit::RemoveWorkspace { title: title.clone() })?;
    Ok(v::Done {
        message: format!("workspace {title} is out of the config file; its tasks and reviews stay"),
    })
}

pub async fn forge(api: &Api, request: WorkspaceForge) -> Result<v::WorkspaceView, ApiError> {
    api.person("change a workspace")?;
    let title = by_title(api, &request.title)?.title;
    let forge = match request.forge.as_str() {
        "github" => ForgeChoice::GitHub,
        "none" => ForgeChoice::None,
        other => {
            return Err(ApiError::new(
                ErrorCode::BadRequest,
                format!("forge: `{}` is not github or none", convert::line(other)),
            ));
        }
    };
    super::settings::change(api, &Edit::SetForge { title: title.clone(), forge })?;
    one(api, &title).await
}

/// The workspace of the config file that holds a folder, and the branch the folder stands on.
pub(super) async fn of_folder(api: &Api, folder: &Path) -> Result<(String, String), ApiError> {
    let known = api.config().config.workspaces.clone();
    let ctx = api.context().clone();
    let folder = folder.to_owned();
    blocking(move || {
        let git = ctx.git()?;
        let here = Workspace::open(&git, &folder, &ctx.hosts())?;
        let (branch, _) = here.current_branch()?;
        // A linked worktree belongs to the workspace whose repository it shares.
        let same = |w: &&config::Workspace| {
            Workspace::open(&git, &w.path, &[]).is_ok_and(|other| other.common_dir() == here.common_dir())
        };
        let found = known.iter().find(same).ok_or_else(|| {
            ApiError::new(
                ErrorCode::NotFound,
                format!("{} is in no workspace of the config file", here.root().display()),
            )
            .hint("steward workspace add --path .")
        })?;
        Ok((found.title.clone(), branch))
    })
    .await
}

/// Where the `origin` of the checkout at `path` leads.
pub(super) async fn remote(api: &Api, path: &str) -> Result<Remote, ApiError> {
    let (ctx, path) = (api.context().clone(), PathBuf::from(path));
    blocking(move || Ok(Workspace::open(&ctx.git()?, &path, &ctx.hosts())?.remote().clone())).await
}

async fn one(api: &Api, title: &str) -> Result<v::WorkspaceView, ApiError> {
    let found = by_title(api, title)?;
    let ctx = api.context().clone();
    blocking(move || Ok(described(&ctx, &found))).await
}

fn by_title(api: &Api, title: &str) -> Result<config::Workspace, ApiError> {
    match api.config().config.workspace(title) {
        WorkspaceMatch::One(found) => Ok(found.clone()),
        WorkspaceMatch::None => Err(ApiError::new(
            ErrorCode::NotFound,
            format!("there is no workspace titled `{}`", convert::line(title)),
        )
        .hint("`steward workspace list` lists them")),
        WorkspaceMatch::Several => Err(ApiError::new(
            ErrorCode::Config,
            format!("two workspaces are titled `{}`, so it matches neither", convert::line(title)),
        )
        .hint("give one of them another title in the config file")),
    }
}

fn described(ctx: &Ctx, known: &config::Workspace) -> v::WorkspaceView {
    let mut view = v::WorkspaceView {
        title: known.title.clone(),
        path: known.path.to_string_lossy().into_owned(),
        forge: match known.forge {
            ForgeChoice::GitHub => "github",
            ForgeChoice::None => "none",
        }
        .to_owned(),
        repository: None,
        integration: known.integration_branch.clone(),
        current_branch: None,
        problem: None,
    };
    let read = || -> Result<(Git, Workspace), GitError> {
        let git = ctx.git()?;
        let workspace = Workspace::open(&git, &known.path, &ctx.hosts())?;
        Ok((git, workspace))
    };
    match read() {
        Ok((_, workspace)) => {
            view.repository = match workspace.remote() {
                Remote::GitHub { name, .. } => Some(name.to_string()),
                Remote::None | Remote::Path(_) | Remote::Other(_) => None,
            };
            view.current_branch = workspace.head().ok().flatten().and_then(|head| head.branch);
            view.integration = named(ctx, known, &workspace);
            if view.integration.is_none() {
                view.integration = workspace.integration_branch().ok().flatten();
            }
        }
        Err(error) => {
            view.problem = Some(v::StatusReason {
                code: error.code().to_owned(),
                message: error.to_string(),
                hint: Some(error.hint().to_owned()),
            });
        }
    }
    view
}

/// The integration branch that the config file names for a workspace or its repository.
fn named(ctx: &Ctx, known: &config::Workspace, workspace: &Workspace) -> Option<String> {
    let repository = match workspace.remote() {
        Remote::GitHub { name, .. } => Some(name.to_string()),
        Remote::None | Remote::Path(_) | Remote::Other(_) => None,
    };
    let loaded = ctx.config.current();
    loaded.config.review_policy(Some(known), repository.as_deref()).1
}

fn branch_views(workspace: &Workspace, integration: Option<&str>) -> Result<Vec<v::BranchView>, ApiError> {
    let mut branches = workspace.branches()?;
    branches.sort_by_key(|b| std::cmp::Reverse(b.committed_at));
    Ok(branches
        .into_iter()
        .take(BRANCHES)
        .map(|b| v::BranchView {
            is_integration: integration == Some(b.name.as_str()),
            name: b.name,
            sha: b.sha.to_string(),
            subject: b.subject.one_line(200),
            committed_at: b.committed_at,
            ahead: None,
            task: None,
        })
        .collect())
}

/// Makes a typed path absolute; `~` stands for the person's home.
fn expand(text: &str) -> Result<PathBuf, ApiError> {
    let text = text.trim();
    let path = match text.strip_prefix("~/").or(if text == "~" { Some("") } else { None }) {
        Some(rest) => match std::env::var_os("HOME") {
            Some(home) => PathBuf::from(home).join(rest),
            None => {
                return Err(ApiError::new(
                    ErrorCode::BadRequest,
                    "path: HOME is not set, so ~ stands for nothing",
                ));
            }
        },
        None => PathBuf::from(text),
    };
    if path.is_relative() || text.is_empty() {
        return Err(ApiError::new(ErrorCode::BadRequest, "path: give the whole path of the folder"));
    }
    Ok(path)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|e| ApiError::new(ErrorCode::Internal, format!("the work was stopped: {e}")))?
}
