//! Reviews: start, list, show, cancel, copy; and what the person says of a finding.

use steward_rules::ids::{ReviewId, TaskId};
use steward_rules::review::copy::{CopyInput, findings_text};
use steward_rules::review::gate::GateState;
use steward_rules::review::verdict::Verdict;

use super::error::{ApiError, ErrorCode};
use super::requests::{ById, FindingMark, FindingMarkSet, FindingOpen, ReviewList, ReviewStart};
use super::views as v;
use super::{Api, convert, editor, look};
use crate::loops::review::Ask;
use crate::store::findings::{self, Mark, MarkRow};
use crate::store::reviews::{ReviewRecord, ReviewState, Trigger};
use crate::store::tasks::TaskRow;
use crate::store::{Durability, ReadTx, StoreError, attached, gates, reviews, steps, tasks};

/// Steps shown of one review.
const STEPS: u32 = 200;

pub async fn start(api: &Api, request: ReviewStart) -> Result<v::StartedView, ApiError> {
    let ask = Ask {
        task: TaskId(request.task),
        sha: request.sha,
        trigger: Trigger::Manual,
        caller: api.caller_facts(),
    };
    let id = crate::loops::review::start(api.context(), ask).await?;
    let row = api.store().read(move |tx| reviews::get(tx, id)).await?.ok_or_else(|| missing(id.0))?;
    Ok(v::StartedView { review: id.0, task: row.task.0, sha: row.sha.to_string() })
}

pub async fn list(api: &Api, request: ReviewList) -> Result<v::ReviewPage, ApiError> {
    if !(1..=200).contains(&request.limit) {
        return Err(ApiError::new(ErrorCode::BadRequest, "limit: 1 to 200"));
    }
    let task = request.task;
    let read = move |tx: &ReadTx<'_>| -> Result<_, ApiError> {
        if let Some(id) = task
            && tasks::get(tx, TaskId(id))?.is_none()
        {
            return Err(super::tasks::missing(id));
        }
        Ok(reviews::list(tx, task.map(TaskId), request.limit)?)
    };
    look::again(api, &api.store().read(read).await?).await;
    let rows = api.store().read(read).await?;
    Ok(v::ReviewPage { reviews: rows.iter().map(convert::review_row).collect() })
}

pub async fn show(api: &Api, request: ById) -> Result<v::ReviewView, ApiError> {
    let id = ReviewId(request.id);
    look_at(api, id).await?;
    let now = api.now();
    api.store()
        .read(move |tx| -> Result<_, ApiError> {
            let row = reviews::get(tx, id)?.ok_or_else(|| missing(id.0))?;
            Ok(card(tx, &row, now)?)
        })
        .await
}

/// Looks again at one review before it is told of.
async fn look_at(api: &Api, id: ReviewId) -> Result<(), ApiError> {
    if let Some(row) = api.store().read(move |tx| reviews::get(tx, id)).await? {
        look::again(api, &[row]).await;
    }
    Ok(())
}

pub async fn cancel(api: &Api, request: ById) -> Result<v::ReviewView, ApiError> {
    api.person("cancel a review")?;
    let id = ReviewId(request.id);
    crate::loops::review::cancel(api.context(), id).await?;
    show(api, request).await
}

pub async fn copy(api: &Api, request: ById) -> Result<v::TextView, ApiError> {
    let id = ReviewId(request.id);
    look_at(api, id).await?;
    api.store()
        .read(move |tx| -> Result<_, ApiError> {
            let row = reviews::get(tx, id)?.ok_or_else(|| missing(id.0))?;
            let Some(verdict) = row.verdict else {
                return Err(ApiError::new(
                    ErrorCode::Refused,
                    format!("review {id} has no verdict, so there is nothing to copy"),
                )
                .hint(format!("`steward show {id}` shows how far it is")));
            };
            let text = copied(tx, &row, verdict)?;
            Ok(v::TextView { text })
        })
        .await
}

pub async fn mark_finding(api: &Api, request: FindingMarkSet) -> Result<v::FindingView, ApiError> {
    api.person("mark a finding")?;
    let mark = match request.mark {
        FindingMark::Answered => Some(Mark::Answered),
        FindingMark::WontFix => Some(Mark::WontFix),
        FindingMark::Clear => None,
    };
    let review = ReviewId(request.review);
    api.store()
        .write(Durability::Full, move |tx| -> Result<_, ApiError> {
            let row = reviews::get(tx, review)?.ok_or_else(|| missing(review.0))?;
            findings::set_mark(tx, row.task, review, &request.finding, mark)?;
            let finding = findings::get(tx, review, &request.finding)?
                .ok_or_else(|| no_finding(review.0, &request.finding))?;
            Ok(convert::finding(&finding, mark))
        })
        .await
}

/// Opens a finding's file at its line in the person's editor.
pub async fn open_finding(api: &Api, request: FindingOpen) -> Result<v::Done, ApiError> {
    let review = ReviewId(request.review);
    let (workspace, file, line) = api
        .store()
        .read(move |tx| -> Result<_, ApiError> {
            let row = reviews::get(tx, review)?.ok_or_else(|| missing(review.0))?;
            let finding = findings::get(tx, review, &request.finding)?
                .ok_or_else(|| no_finding(review.0, &request.finding))?;
            let path = tasks::get(tx, row.task)?.and_then(|t| t.workspace_path);
            Ok((path, finding.file, finding.line))
        })
        .await?;
    let workspace = workspace.ok_or_else(|| {
        ApiError::new(ErrorCode::Refused, "this task has no local folder to open the file in")
    })?;
    editor::open(api, std::path::Path::new(&workspace), &file, line)
}

/// Everything the card shows, from one snapshot.
fn card(
    tx: &ReadTx<'_>,
    row: &ReviewRecord,
    now: chrono::DateTime<chrono::Utc>,
) -> Result<v::ReviewView, StoreError> {
    let id = row.id;
    let task = tasks::get(tx, row.task)?;
    let gate_results = gates::of(tx, id)?;
    let marks = findings::marks(tx, row.task)?;
    let observations = findings::observations(tx, id)?;
    let frames = attached::frames(tx, row.task)?;
    let head = row.sha.to_string();
    Ok(v::ReviewView {
        id: id.0,
        task: row.task.0,
        title: convert::line(&row.title),
        workspace: task.as_ref().and_then(|t| t.workspace.clone()),
        repository: task.as_ref().and_then(|t| t.repository.clone()),
        branch: task.as_ref().and_then(|t| t.branch.as_deref().map(convert::line)),
        pull: task.as_ref().and_then(|t| t.pull.map(|n| n.0)),
        pull_url: task.as_ref().and_then(convert::pull_url),
        sha: head.clone(),
        base: convert::base(row),
        state: convert::state(row.state),
        trigger: convert::review_row(row).trigger,
        verdict: row.verdict,
        seat_verdict: row.seat_verdict,
        cap: row.cap,
        lowered_by: row.lowered_by.clone(),
        lowered_because: row.lowered_because.iter().map(|s| convert::line(s)).collect(),
        reason: row.reason.map(|r| convert::reason(r).to_owned()),
        reason_detail: row.reason_detail.as_deref().map(convert::paragraph),
        stale: row.stale_reason.is_some(),
        stale_reason: row.stale_reason.map(|r| convert::stale(r).to_owned()),
        stale_text: row.stale_reason.map(|r| steward_rules::wording::review::stale(r).to_owned()),
        summary: row.summary.as_deref().map(convert::paragraph),
        gates: gate_results.iter().map(convert::gate).collect(),
        gates_at: row.gates_at,
        findings: findings::of(tx, id)?
            .iter()
            .map(|f| convert::finding(f, mark_of(&marks, &f.id, &f.cited)))
            .collect(),
        frames: frames
            .iter()
            .map(|f| {
                let seen = observations
                    .iter()
                    .find(|(frame, _)| *frame == f.frame.id)
                    .map(|(_, text)| text.as_str());
                convert::frame(f, Some(&head), seen)
            })
            .collect(),
        coverage: v::CoverageView {
            complete: row.coverage.complete,
            excluded: row
                .coverage
                .excluded
                .iter()
                .map(|e| v::ExcludedView { file: convert::line(&e.file), why: e.why.as_str().to_owned() })
                .collect(),
            unread: row
                .coverage
                .unread
                .iter()
                .map(|u| v::UnreadView { file: convert::line(&u.file), from: u.from, to: u.to })
                .collect(),
        },
        stats: v::StatsView { files: row.stats.files, added: row.stats.added, removed: row.stats.removed },
        cost: convert::cost(row),
        model: row.model.as_deref().map(convert::line),
        boundary: row.boundary.clone(),
        phase: row.phase.as_deref().map(convert::line),
        steps: steps::of(tx, id, STEPS)?.iter().map(convert::step).collect(),
        offers: offers(row, task.as_ref(), &gate_results),
        queued_at: row.queued_at,
        started_at: row.started_at,
        ended_at: row.ended_at,
        now,
    })
}

/// A mark holds until the cited lines change (review.md 3).
fn mark_of(marks: &[MarkRow], finding: &str, cited: &str) -> Option<Mark> {
    marks.iter().find(|m| m.finding == finding && m.cited == cited).map(|m| m.mark)
}

/// What the person can do about a held review.
fn offers(
    row: &ReviewRecord,
    task: Option<&TaskRow>,
    results: &[steward_rules::review::gate::GateResult],
) -> Vec<v::OfferView> {
    let waits = results.iter().any(|g| g.state == GateState::Undecided);
    let Some(workspace) = task.and_then(|t| t.workspace.as_deref()) else { return Vec::new() };
    let on_github = task.is_some_and(|t| t.repository.is_some());
    if row.state == ReviewState::Held && row.stale_reason.is_none() && waits && on_github {
        vec![v::OfferView {
            code: "forge_none".to_owned(),
            label: "Judge without GitHub".to_owned(),
            hint: format!(
                "sets forge: none for the workspace {workspace}; the gates that ask GitHub then do not apply"
            ),
        }]
    } else {
        Vec::new()
    }
}

/// The text of *Copy findings*.
fn copied(tx: &ReadTx<'_>, row: &ReviewRecord, verdict: Verdict) -> Result<String, StoreError> {
    let results = gates::of(tx, row.id)?;
    let rows = findings::of(tx, row.id)?;
    Ok(findings_text(&CopyInput {
        task: row.task,
        head: &row.sha,
        verdict,
        reason: row.reason,
        stale: row.stale_reason,
        gates: &results,
        findings: &rows,
    }))
}

fn missing(id: i64) -> ApiError {
    ApiError::new(ErrorCode::NotFound, format!("there is no review {id}")).hint("`steward list` lists them")
}

fn no_finding(review: i64, finding: &str) -> ApiError {
    ApiError::new(ErrorCode::NotFound, format!("review {review} has no finding {}", convert::line(finding)))
}
