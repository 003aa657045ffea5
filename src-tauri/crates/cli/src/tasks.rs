//! `steward task`.

use std::io::Read;
use std::path::Path;

use chrono::{DateTime, Utc};
use steward_core::api::error::{ApiError, ErrorCode};
use steward_core::api::requests::{
    ById, TaskAdd, TaskAttachFrame, TaskAttachText, TaskFinish, TaskList, TaskState,
};
use steward_core::api::views::{GateTableView, StatsView, TaskDetail, TaskPage, TaskView};
use steward_core::api::{Api, tasks as api_tasks};

use crate::args::{AttachArgs, FinishState, TaskCommand};
use crate::output::{Output, Tone};
use crate::reviews;
use crate::table::Table;

/// Documents are refused unread above this.
const DOCUMENT_LIMIT: u64 = 1 << 20;

pub async fn run(api: &Api, command: TaskCommand, out: &Output) -> Result<(), ApiError> {
    match command {
        TaskCommand::Add { workspace, branch, pr, title } => {
            let task = api_tasks::add(api, TaskAdd { workspace, branch, pull: pr, title }).await?;
            out.answer(&task, |t| format!("task {}: {}", t.id, summary(t)));
        }
        TaskCommand::List { query, limit } => {
            let page = api_tasks::list(api, TaskList { query, limit }).await?;
            out.answer(&page, |page| render_list(page, out));
        }
        TaskCommand::Show { task } => {
            let detail = api_tasks::show(api, ById { id: task }).await?;
            out.answer(&detail, |d| render_detail(d, api.now(), out));
        }
        TaskCommand::Gates { task } => {
            let table = api_tasks::gates(api, ById { id: task }).await?;
            out.answer(&table, |t| render_gates(t, out));
        }
        TaskCommand::Finish { task, state } => {
            let id = match task {
                Some(id) => id,
                None => api_tasks::here(api, &here()?).await?.id,
            };
            let task = api_tasks::finish(api, TaskFinish { id, state: state_of(state) }).await?;
            out.answer(&task, |t| format!("task {} is {}", t.id, state_word(t.state)));
        }
        TaskCommand::Attach(args) => attach(api, args, out).await?,
        TaskCommand::Contract { task, file } => {
            let text = document(&file)?;
            let contract = api_tasks::contract(api, TaskAttachText { id: task, text }).await?;
            out.answer(&contract, |c| format!("task {task} has contract version {}", c.version));
        }
    }
    Ok(())
}

/// The folder of this process.
pub fn here() -> Result<String, ApiError> {
    let path = std::env::current_dir()
        .map_err(|e| ApiError::new(ErrorCode::BadRequest, format!("this folder cannot be read: {e}")))?;
    Ok(path.to_string_lossy().into_owned())
}

async fn attach(api: &Api, args: AttachArgs, out: &Output) -> Result<(), ApiError> {
    let id = args.task;
    if let Some(path) = args.what.frame {
        let missing = |flag: &str| {
            ApiError::new(ErrorCode::BadRequest, format!("a frame needs --{flag}"))
                .hint("for example: --frame shot.png --width 390 --theme dark")
        };
        let path = std::path::absolute(&path).unwrap_or(path);
        let request = TaskAttachFrame {
            id,
            path: path.to_string_lossy().into_owned(),
            width: args.width.ok_or_else(|| missing("width"))?,
            theme: args.theme.ok_or_else(|| missing("theme"))?,
            scale: args.scale.unwrap_or(1),
            route: args.route,
        };
        let frame = api_tasks::attach_frame(api, request).await?;
        out.answer(&frame, |f| {
            let fresh = if f.fresh { "" } else { ", not fresh: the worktree has uncommitted changes" };
            format!("frame {} of task {id} at {}{fresh}", f.id, short(&f.sha))
        });
    } else if let Some(path) = args.what.handoff {
        let done = api_tasks::attach_handoff(api, TaskAttachText { id, text: document(&path)? }).await?;
        out.answer(&done, |d| d.message.clone());
    } else if let Some(path) = args.what.validator {
        let done = api_tasks::attach_validator(api, TaskAttachText { id, text: document(&path)? }).await?;
        out.answer(&done, |d| d.message.clone());
    }
    Ok(())
}

/// Reads a document, or standard input for `-`, up to the limit.
fn document(path: &Path) -> Result<String, ApiError> {
    let name = path.display();
    let wrong =
        |e: std::io::Error| ApiError::new(ErrorCode::BadRequest, format!("{name} cannot be read: {e}"));
    let reader: Box<dyn Read> = if path == Path::new("-") {
        Box::new(std::io::stdin())
    } else {
        Box::new(std::fs::File::open(path).map_err(wrong)?)
    };
    let mut text = String::new();
    reader.take(DOCUMENT_LIMIT + 1).read_to_string(&mut text).map_err(wrong)?;
    if text.len() as u64 > DOCUMENT_LIMIT {
        return Err(ApiError::new(ErrorCode::BadRequest, format!("{name} is larger than 1 MiB")));
    }
    Ok(text)
}

fn state_of(state: FinishState) -> TaskState {
    match state {
        FinishState::Running => TaskState::Running,
        FinishState::Done => TaskState::Done,
        FinishState::Error => TaskState::Error,
        FinishState::Stopped => TaskState::Stopped,
    }
}

pub fn state_word(state: TaskState) -> &'static str {
    match state {
        TaskState::Running => "running",
        TaskState::Done => "done",
        TaskState::Error => "error",
        TaskState::Stopped => "stopped",
    }
}

pub fn short(sha: &str) -> &str {
    sha.get(..7).unwrap_or(sha)
}

fn place(task: &TaskView) -> String {
    match (&task.workspace, &task.repository, task.pull) {
        (_, Some(repository), Some(pull)) => format!("{repository}#{pull}"),
        (Some(workspace), _, _) => workspace.clone(),
        (None, Some(repository), None) => repository.clone(),
        (None, None, _) => String::new(),
    }
}

fn summary(task: &TaskView) -> String {
    let branch = task.branch.as_deref().unwrap_or("-");
    let head = task.head.as_deref().map(short).unwrap_or("no commit");
    format!("{} · {} {branch} at {head}", task.title, place(task))
}

fn render_list(page: &TaskPage, out: &Output) -> String {
    if page.tasks.is_empty() {
        return "No tasks yet. Make one: steward task add --workspace TITLE --branch BRANCH, or --pr OWNER/REPO#N".to_owned();
    }
    let mut table = Table::new(&["id", "place", "branch", "head", "state", "last review", "title"]);
    for task in &page.tasks {
        table.row([
            task.id.to_string(),
            place(task),
            task.branch.clone().unwrap_or_default(),
            task.head.as_deref().map(short).unwrap_or("-").to_owned(),
            state_word(task.state).to_owned(),
            task.review.as_ref().map(|r| reviews::row_state(out, r)).unwrap_or_else(|| "-".to_owned()),
            task.title.clone(),
        ]);
    }
    table.render()
}

fn render_detail(detail: &TaskDetail, now: DateTime<Utc>, out: &Output) -> String {
    let task = &detail.task;
    let mut text = format!("{}\n{}\n", out.paint(Tone::Bold, &format!("task {}", task.id)), summary(task));
    if let Some(why) = &task.unreadable {
        text += &format!("{}\n", out.paint(Tone::Warn, &format!("head not readable: {why}")));
    }
    match &detail.contract {
        Some(c) => {
            text += &format!(
                "contract version {}: scope {}, {} checks, mutations {}\n",
                c.version,
                if c.write_scope.is_empty() { "empty".to_owned() } else { c.write_scope.join(" ") },
                c.checks.len(),
                c.mutations
            );
        }
        None => text += "no contract\n",
    }
    for frame in &detail.frames {
        let fresh = if frame.fresh { "" } else { " (not fresh)" };
        text +=
            &format!("frame {}: {} {} at {}{fresh}\n", frame.id, frame.width, frame.theme, short(&frame.sha));
    }
    for handoff in &detail.handoffs {
        text += &format!("handoff of {}: {} {}\n", handoff.peer, handoff.status, age(now, handoff.at));
    }
    for review in &detail.reviews {
        text +=
            &format!("review {}: {} at {}\n", review.id, reviews::row_state(out, review), short(&review.sha));
    }
    text
}

pub fn render_gates(table: &GateTableView, out: &Output) -> String {
    let mut text = format!("head {}", short(&table.head));
    if let Some(base) = &table.base {
        text += &format!(" on {}", base.branch);
        if let Some(merge_base) = &base.merge_base {
            text += &format!(" (from {})", short(merge_base));
        }
    }
    text += &format!(" · {}\n\n", stats(&table.stats));
    text += &reviews::gate_table(&table.gates, false, out);
    text += &match table.cap {
        Some(cap) => format!("\ncap: {}\n", cap.as_str()),
        None => "\ncap: undecided, a review would be held\n".to_owned(),
    };
    text
}

/// `1 file, +2 −0`.
pub fn stats(stats: &StatsView) -> String {
    let noun = if stats.files == 1 { "file" } else { "files" };
    format!("{} {noun}, +{} −{}", stats.files, stats.added, stats.removed)
}

/// A short age: `just now`, `2 min`, `3 h`, `5 d`.
pub fn age(now: DateTime<Utc>, then: DateTime<Utc>) -> String {
    let seconds = (now - then).num_seconds();
    match seconds {
        i64::MIN..=44 => "just now".to_owned(),
        45..=3599 => format!("{} min", (seconds + 30) / 60),
        3600..=86_399 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}
