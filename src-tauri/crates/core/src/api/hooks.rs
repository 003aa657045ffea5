//! Agents' own hooks: an event that one sends, and the entry that makes an agent send them.

use steward_rules::questions::hook::HookEvent;
use steward_rules::questions::need::Origin;

use super::error::{ApiError, ErrorCode};
use super::requests as rq;
use super::{Api, convert, questions, views as v};
use crate::config::WorkspaceMatch;
use crate::loops::questions::{self as loops, HookError, HookPlan};

/// Takes the JSON of a Claude Code hook event in. While questions are off nothing happens; gives the
/// question that was raised, if one was.
pub async fn claude(api: &Api, who: rq::WhoAsks, text: &str) -> Result<Option<i64>, ApiError> {
    let config = api.context().config().questions;
    if !config.enabled || !config.sources.contains(&Origin::Hook) {
        return Ok(None);
    }
    let event: HookEvent = serde_json::from_str(text).map_err(|error| {
        ApiError::new(ErrorCode::BadRequest, format!("this is no event of Claude Code: {error}"))
    })?;
    let raised = loops::claude_event(api.context(), &event, questions::known(who)).await?;
    Ok(raised.map(|raised| raised.id.0))
}

/// What installing the hook in a workspace would write.
pub async fn preview(api: &Api, request: rq::WorkspaceByTitle) -> Result<v::HookView, ApiError> {
    questions::on(api).await?;
    plan(api, &request.title).await.map(|plan| view(&plan))
}

/// Writes the hook entry that was shown. A person only: it is a file of the workspace.
pub async fn install(api: &Api, request: rq::HookInstall) -> Result<v::HookView, ApiError> {
    api.person("install a hook")?;
    questions::on(api).await?;
    let (path, steward) = (workspace(api, &request.title)?, api.context().steward.clone());
    let installed = tokio::task::spawn_blocking(move || loops::install(&path, &steward, &request.text))
        .await
        .map_err(|error| ApiError::new(ErrorCode::Internal, error.to_string()))??;
    Ok(v::HookView { installed: true, ..view(&installed) })
}

fn workspace(api: &Api, title: &str) -> Result<std::path::PathBuf, ApiError> {
    let missing = |why: &str| {
        ApiError::new(ErrorCode::NotFound, format!("{why} the title {}", convert::line(title)))
            .hint("`steward workspace list` shows those there are")
    };
    match api.context().config().workspace(title) {
        WorkspaceMatch::One(found) => Ok(found.path.clone()),
        WorkspaceMatch::None => Err(missing("no workspace has")),
        WorkspaceMatch::Several => Err(missing("several workspaces have")),
    }
}

async fn plan(api: &Api, title: &str) -> Result<HookPlan, ApiError> {
    let (path, steward) = (workspace(api, title)?, api.context().steward.clone());
    let plan = tokio::task::spawn_blocking(move || loops::plan(&path, &steward))
        .await
        .map_err(|error| ApiError::new(ErrorCode::Internal, error.to_string()))??;
    Ok(plan)
}

fn view(plan: &HookPlan) -> v::HookView {
    v::HookView {
        path: convert::line(&plan.path.to_string_lossy()),
        diff: convert::paragraph(&plan.diff()),
        text: plan.after.clone(),
        installed: plan.is_installed(),
    }
}

impl From<HookError> for ApiError {
    fn from(error: HookError) -> Self {
        Self::new(ErrorCode::Refused, error.to_string())
    }
}
