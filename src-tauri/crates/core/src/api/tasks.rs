//! Tasks: made from a branch, judged by the gates, with what is attached to them.

use std::path::Path;

use base64::Engine as _;
use steward_rules::ids::{FrameId, PullRef, TaskId};
use steward_rules::reading::Reading;
use steward_rules::untrusted::Untrusted;

use super::error::{ApiError, ErrorCode};
use super::requests::{ById, TaskAdd, TaskAttachFrame, TaskAttachText, TaskFinish, TaskList};
use super::views as v;
use super::{Api, convert, workspaces};
use crate::loops::{review, task};
use crate::store::tasks::TaskRow;
use crate::store::{ReadTx, StoreError, attached, reviews, tasks};

pub async fn list(api: &Api, request: TaskList) -> Result<v::TaskPage, ApiError> {
    let limit = request.limit.clamp(1, 500);
    let tasks = api
        .store()
        .read(move |tx| -> Result<_, StoreError> {
            let rows = tasks::list(tx, request.query.as_deref(), limit)?;
            rows.iter().map(|row| with_newest(tx, row)).collect::<Result<Vec<_>, _>>()
        })
        .await?;
    Ok(v::TaskPage { tasks })
}

pub async fn show(api: &Api, request: ById) -> Result<v::TaskDetail, ApiError> {
    let id = TaskId(request.id);
    api.store()
        .read(move |tx| -> Result<_, ApiError> {
            let row = tasks::get(tx, id)?.ok_or_else(|| missing(id.0))?;
            let head = row.head.as_ref().map(ToString::to_string);
            let contract = attached::newest_contract(tx, id)?;
            Ok(v::TaskDetail {
                task: with_newest(tx, &row)?,
                reviews: reviews::list(tx, Some(id), 50)?.iter().map(convert::review_row).collect(),
                contract: contract.as_ref().map(contract_view),
                frames: attached::frames(tx, id)?
                    .iter()
                    .map(|frame| convert::frame(frame, head.as_deref(), None))
                    .collect(),
                handoffs: attached::handoffs(tx, id)?
                    .iter()
                    .map(|h| v::HandoffView {
                        peer: h.peer.one_line(200),
                        status: peer_word(h.status).to_owned(),
                        note: convert::paragraph(h.note.as_data()),
                        at: h.at,
                    })
                    .collect(),
            })
        })
        .await
}

pub async fn add(api: &Api, request: TaskAdd) -> Result<v::TaskView, ApiError> {
    let ctx = api.context();
    if request.pull.is_some() && request.title.as_ref().is_some_and(|title| !title.trim().is_empty()) {
        return Err(ApiError::new(ErrorCode::BadRequest, "a pull request keeps its own title")
            .hint("leave the title out"));
    }
    let row = match (request.pull, request.workspace, request.branch) {
        (Some(text), None, None) => task::add_pull(ctx, &named(&text)?).await?,
        (None, Some(workspace), Some(branch)) => task::add(ctx, &workspace, &branch, request.title).await?,
        (Some(_), ..) | (None, ..) => {
            return Err(ApiError::new(ErrorCode::BadRequest, "a task is made of a branch or a pull request")
                .hint("name a workspace and a branch, or a pull request alone"));
        }
    };
    view(api, row.id).await
}

/// A pull request as a person writes it.
fn named(text: &str) -> Result<PullRef, ApiError> {
    PullRef::parse(text).ok_or_else(|| {
        let shown = Untrusted::new(text).one_line(80);
        ApiError::new(ErrorCode::BadRequest, format!("{shown} names no pull request"))
            .hint("write owner/name#12, or paste its address")
    })
}

/// The task of the branch that the folder `path` stands on; it is made when there is none.
pub async fn here(api: &Api, path: &str) -> Result<v::TaskView, ApiError> {
    let (workspace, branch) = workspaces::of_folder(api, Path::new(path)).await?;
    let row = task::add(api.context(), &workspace, &branch, None).await?;
    view(api, row.id).await
}

pub async fn gates(api: &Api, request: ById) -> Result<v::GateTableView, ApiError> {
    let judged = review::gates(api.context(), TaskId(request.id)).await?;
    let base = match &judged.base {
        Reading::Known { value } => Some(v::BaseView {
            branch: convert::line(&value.branch),
            tip: Some(value.tip.to_string()),
            merge_base: Some(value.merge_base.to_string()),
        }),
        Reading::Unread { .. } => None,
    };
    Ok(v::GateTableView {
        head: judged.table.head.to_string(),
        base,
        at: judged.table.at,
        gates: judged.table.results.iter().map(convert::gate).collect(),
        cap: judged.cap,
        stats: v::StatsView {
            files: judged.stats.files,
            added: judged.stats.added,
            removed: judged.stats.removed,
        },
    })
}

pub async fn finish(api: &Api, request: TaskFinish) -> Result<v::TaskView, ApiError> {
    let row = task::finish(api.context(), TaskId(request.id), convert::to_run_state(request.state)).await?;
    view(api, row.id).await
}

pub async fn attach_frame(api: &Api, request: TaskAttachFrame) -> Result<v::FrameView, ApiError> {
    let document = task::documents::FrameDocument {
        width: request.width,
        theme: request.theme,
        scale: request.scale,
        route: request.route,
    };
    let task = TaskId(request.id);
    let id = task::attach_frame(api.context(), task, Path::new(&request.path), document).await?;
    api.store()
        .read(move |tx| -> Result<_, ApiError> {
            let row = attached::frame(tx, id)?.ok_or_else(|| no_frame(id.0))?;
            let head = tasks::get(tx, task)?.and_then(|t| t.head).map(|h| h.to_string());
            Ok(convert::frame(&row, head.as_deref(), None))
        })
        .await
}

pub async fn attach_handoff(api: &Api, request: TaskAttachText) -> Result<v::Done, ApiError> {
    task::attach_handoff(api.context(), TaskId(request.id), &request.text).await?;
    Ok(v::Done { message: format!("task {} has a new handoff", request.id) })
}

pub async fn attach_validator(api: &Api, request: TaskAttachText) -> Result<v::Done, ApiError> {
    task::attach_validator(api.context(), TaskId(request.id), &request.text).await?;
    Ok(v::Done { message: format!("task {} has a new validator verdict", request.id) })
}

pub async fn contract(api: &Api, request: TaskAttachText) -> Result<v::ContractView, ApiError> {
    let contract = task::attach_contract(api.context(), TaskId(request.id), &request.text).await?;
    Ok(contract_view(&contract))
}

/// A frame's picture: the PNG that Steward made of its pixels, so the window parses nothing foreign.
pub async fn frame_image(api: &Api, request: ById) -> Result<v::FrameImage, ApiError> {
    let id = FrameId(request.id);
    let row = api.store().read(move |tx| attached::frame(tx, id)).await?.ok_or_else(|| no_frame(id.0))?;
    let home = api.home().clone();
    let (width, height) = row.frame.pixels.unwrap_or_default();
    let png = tokio::task::spawn_blocking(move || crate::frames::picture(&home, &row.file))
        .await
        .map_err(|e| ApiError::new(ErrorCode::Internal, e.to_string()))?
        .map_err(|e| ApiError::new(ErrorCode::NotFound, e.to_string()))?;
    let url = format!("data:image/png;base64,{}", base64::engine::general_purpose::STANDARD.encode(png));
    Ok(v::FrameImage { id: id.0, url, width, height })
}

async fn view(api: &Api, id: TaskId) -> Result<v::TaskView, ApiError> {
    api.store()
        .read(move |tx| -> Result<_, ApiError> {
            let row = tasks::get(tx, id)?.ok_or_else(|| missing(id.0))?;
            Ok(with_newest(tx, &row)?)
        })
        .await
}

fn with_newest(tx: &ReadTx<'_>, row: &TaskRow) -> Result<v::TaskView, StoreError> {
    let newest = reviews::newest(tx, row.id)?;
    Ok(convert::task(row, newest.as_ref()))
}

fn contract_view(contract: &steward_rules::review::facts::Contract) -> v::ContractView {
    use steward_rules::review::facts::Mutations;
    v::ContractView {
        version: contract.version,
        write_scope: contract.write_scope.iter().map(|s| convert::line(s)).collect(),
        checks: contract.checks.iter().map(|s| convert::line(s)).collect(),
        mutations: match contract.mutations {
            Mutations::Required => "required",
            Mutations::None => "none",
        }
        .to_owned(),
        created_at: contract.created_at,
    }
}

fn peer_word(status: steward_rules::review::facts::PeerStatus) -> &'static str {
    use steward_rules::review::facts::PeerStatus;
    match status {
        PeerStatus::Done => "done",
        PeerStatus::Running => "running",
        PeerStatus::Blocked => "blocked",
        PeerStatus::Failed => "failed",
    }
}

pub(super) fn missing(id: i64) -> ApiError {
    ApiError::new(ErrorCode::NotFound, format!("there is no task {id}"))
        .hint("`steward task list` lists them")
}

fn no_frame(id: i64) -> ApiError {
    ApiError::new(ErrorCode::NotFound, format!("there is no frame {id}"))
}
