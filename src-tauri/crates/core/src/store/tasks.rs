//! Tasks: one piece of finished or running work each, with the head that git last showed.

use chrono::{DateTime, Utc};
use rusqlite::{Row, named_params};
use steward_rules::ids::{PullNumber, RepoName, Sha, TaskId};
pub use steward_rules::review::lifecycle::RunState;
use steward_rules::untrusted::Untrusted;

use super::repositories::RepositoryId;
use super::sql::{self, At};
use super::{ReadTx, StoreError, WriteTx};

/// Longest title taken from a commit's subject or a pull request.
pub const TITLE: usize = 120;

/// One task, and how much hangs on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRow {
    pub id: TaskId,
    pub title: String,
    /// Title of the workspace, as the config file has it.
    pub workspace: Option<String>,
    pub workspace_path: Option<String>,
    /// The repository's host, when it is not github.com; lower case.
    pub host: Option<String>,
    pub repository: Option<String>,
    pub pull: Option<PullNumber>,
    /// When GitHub says the pull request last changed before `head` was read.
    pub pull_updated_at: Option<DateTime<Utc>>,
    pub branch: Option<String>,
    /// As git last showed it; never typed.
    pub head: Option<Sha>,
    pub head_at: Option<DateTime<Utc>>,
    pub fork_point: Option<Sha>,
    pub state: RunState,
    /// Why the head could not be read, last time.
    pub unreadable: Option<String>,
    pub contract_version: Option<u32>,
    pub frames: u32,
    pub handoffs: u32,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// A task to be made for a local branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewBranchTask {
    pub title: String,
    pub workspace: String,
    pub workspace_path: String,
    /// Host and name of its repository, when its `origin` is one on GitHub.
    pub repository: Option<(String, RepoName)>,
    pub branch: String,
    pub state: RunState,
}

/// A task to be made for a pull request, as GitHub shows it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPullTask {
    /// As in `accounts[].host`.
    pub host: String,
    pub repository: RepoName,
    pub pull: PullNumber,
    pub seen: PullHead,
}

/// What a pull request shows that its task holds too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullHead {
    pub title: Untrusted,
    /// Name of the branch it comes from.
    pub branch: String,
    pub head: Sha,
    /// `Done`, or `Running` while it is a draft.
    pub state: RunState,
    /// When GitHub says it last changed: what is older than that is a copy that lags.
    pub updated_at: Option<DateTime<Utc>>,
}

/// What was just read of a task's head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeadRead {
    /// The head, and the fork point when it could be computed.
    Seen { head: Sha, fork_point: Option<Sha> },
    /// Why it could not be read; the last head stays.
    Unreadable(String),
}

const COLUMNS: &str =
    "t.id, t.title, t.workspace, t.workspace_path, t.host, t.repository, t.pull, t.pull_updated_at, t.branch,
    t.head, t.head_at, t.fork_point, t.state, t.unreadable, t.created_at, t.updated_at,
    (SELECT max(version) FROM contracts c WHERE c.task = t.id) AS contract_version,
    (SELECT count(*) FROM frames f WHERE f.task = t.id) AS frames,
    (SELECT count(*) FROM handoffs h WHERE h.task = t.id) AS handoffs";

/// Makes a task for a branch, or gives the one there is; true when it is new.
pub fn create_for_branch(tx: &WriteTx<'_>, new: &NewBranchTask) -> Result<(TaskId, bool), StoreError> {
    if let Some(found) = find_by_branch(tx, &new.workspace_path, &new.branch)? {
        return Ok((found.id, false));
    }
    let now = At(tx.now());
    let id = tx.insert(
        "INSERT INTO tasks (title, workspace, workspace_path, host, repository, branch, state, created_at,
             updated_at)
         VALUES (:title, :workspace, :path, :host, :repository, :branch, :state, :now, :now)",
        named_params! {
            ":title": new.title, ":workspace": new.workspace, ":path": new.workspace_path,
            ":host": new.repository.as_ref().and_then(|(host, _)| other_host(host)),
            ":repository": new.repository.as_ref().map(|(_, name)| name.to_string()), ":branch": new.branch, ":state": sql::to_word(&new.state)?, ":now": now,
        },
    )?;
    tx.topic("tasks")?;
    Ok((TaskId(id), true))
}

/// Makes a task for a pull request, or brings the one there is up to date; true when it is new.
pub fn ensure_for_pull(tx: &WriteTx<'_>, new: &NewPullTask) -> Result<(TaskId, bool), StoreError> {
    if let Some(found) = find_by_pull(tx, &new.host, &new.repository, new.pull)? {
        record_pull_head(tx, found.id, &new.seen)?;
        return Ok((found.id, false));
    }
    let (seen, now) = (&new.seen, At(tx.now()));
    let id = tx.insert(
        "INSERT INTO tasks (title, host, repository, pull, pull_updated_at, branch, head, head_at, state,
             created_at, updated_at)
         VALUES (:title, :host, :repository, :pull, :pull_updated_at, :branch, :head, :now, :state, :now,
             :now)",
        named_params! {
            ":title": seen.title.one_line(TITLE), ":host": other_host(&new.host),
            ":repository": new.repository.to_string(), ":pull": new.pull.0, ":branch": seen.branch,
            ":head": seen.head.as_str(), ":state": sql::to_word(&seen.state)?, ":now": now,
            ":pull_updated_at": seen.updated_at.map(At),
        },
    )?;
    topic(tx, TaskId(id))?;
    Ok((TaskId(id), true))
}

/// Records what a pull request shows now; true when its head is another than before. A run that ended
/// in `error` or was `stopped` stays so, and an answer that is older than what is known says nothing.
pub fn record_pull_head(tx: &WriteTx<'_>, id: TaskId, seen: &PullHead) -> Result<bool, StoreError> {
    let Some(task) = get(tx, id)? else { return Ok(false) };
    if matches!((seen.updated_at, task.pull_updated_at), (Some(seen), Some(known)) if seen < known) {
        return Ok(false);
    }
    let state = match task.state {
        RunState::Running | RunState::Done => seen.state,
        RunState::Error | RunState::Stopped => task.state,
    };
    let title = seen.title.one_line(TITLE);
    let moved = task.head.as_ref() != Some(&seen.head);
    let same = task.title == title
        && task.branch.as_ref() == Some(&seen.branch)
        && task.state == state
        && task.unreadable.is_none();
    if same && !moved {
        return Ok(false);
    }
    tx.execute(
        "UPDATE tasks SET title = :title, branch = :branch, state = :state, unreadable = NULL,
                pull_updated_at = coalesce(:pull_updated_at, pull_updated_at), head = :head, head_at = CASE WHEN head IS :head THEN head_at ELSE :now END,
                updated_at = :now
         WHERE id = :id",
        named_params! {
            ":title": title, ":branch": seen.branch, ":state": sql::to_word(&state)?,
            ":head": seen.head.as_str(), ":pull_updated_at": seen.updated_at.map(At), ":now": At(tx.now()),
            ":id": id.0,
        },
    )?;
    topic(tx, id)?;
    Ok(moved)
}

/// The task of a pull request.
pub fn find_by_pull(
    tx: &ReadTx<'_>,
    host: &str,
    repository: &RepoName,
    pull: PullNumber,
) -> Result<Option<TaskRow>, StoreError> {
    tx.query_opt(
        &format!(
            "SELECT {COLUMNS} FROM tasks t
             WHERE coalesce(t.host, 'github.com') = coalesce(:host, 'github.com')
               AND t.repository = :repository AND t.pull = :pull"
        ),
        named_params! {
            ":host": other_host(host), ":repository": repository.to_string(), ":pull": pull.0,
        },
        read,
    )
}

/// The tasks of a repository's open pull requests; `row` is its number in `repositories`.
pub fn of_open_pulls(
    tx: &ReadTx<'_>,
    row: RepositoryId,
    host: &str,
    repository: &RepoName,
) -> Result<Vec<(PullNumber, TaskId)>, StoreError> {
    tx.query_all(
        "SELECT t.id, t.pull FROM pulls p
         JOIN tasks t ON coalesce(t.host, 'github.com') = coalesce(:host, 'github.com')
             AND t.repository = :repository AND t.pull = p.number
         WHERE p.repository = :row AND p.state = 'open'",
        named_params! { ":row": row.0, ":host": other_host(host), ":repository": repository.to_string() },
        |row| Ok((PullNumber(row.get("pull")?), TaskId(row.get("id")?))),
    )
}

/// A host as the column holds it: nothing for github.com.
pub(super) fn other_host(host: &str) -> Option<String> {
    let host = host.to_ascii_lowercase();
    (host != "github.com").then_some(host)
}

/// The task of this number.
pub fn get(tx: &ReadTx<'_>, id: TaskId) -> Result<Option<TaskRow>, StoreError> {
    tx.query_opt(
        &format!("SELECT {COLUMNS} FROM tasks t WHERE t.id = :id"),
        named_params! { ":id": id.0 },
        read,
    )
}

/// The task of a workspace's branch.
pub fn find_by_branch(tx: &ReadTx<'_>, path: &str, branch: &str) -> Result<Option<TaskRow>, StoreError> {
    tx.query_opt(
        &format!(
            "SELECT {COLUMNS} FROM tasks t
             WHERE t.workspace_path = :path AND t.branch = :branch AND t.pull IS NULL"
        ),
        named_params! { ":path": path, ":branch": branch },
        read,
    )
}

/// The tasks, newest change first; `query` looks into titles, branches and workspaces.
pub fn list(tx: &ReadTx<'_>, query: Option<&str>, limit: u32) -> Result<Vec<TaskRow>, StoreError> {
    let pattern = query.map(like);
    tx.query_all(
        &format!(
            "SELECT {COLUMNS} FROM tasks t
             WHERE :pattern IS NULL OR t.title LIKE :pattern ESCAPE '\\' OR t.branch LIKE :pattern ESCAPE '\\'
                OR t.workspace LIKE :pattern ESCAPE '\\' OR t.repository LIKE :pattern ESCAPE '\\'
             ORDER BY t.updated_at DESC, t.id DESC LIMIT :limit"
        ),
        named_params! { ":pattern": pattern, ":limit": limit },
        read,
    )
}

/// The tasks whose run stands so, newest change first.
pub fn in_state(tx: &ReadTx<'_>, state: RunState) -> Result<Vec<TaskRow>, StoreError> {
    tx.query_all(
        &format!(
            "SELECT {COLUMNS} FROM tasks t WHERE t.state = :state ORDER BY t.updated_at DESC, t.id DESC"
        ),
        named_params! { ":state": sql::to_word(&state)? },
        read,
    )
}

/// The tasks of pull requests that the observer last saw open and ready, newest change first.
pub fn of_ready_pulls(tx: &ReadTx<'_>) -> Result<Vec<TaskRow>, StoreError> {
    tx.query_all(
        &format!(
            "SELECT {COLUMNS} FROM tasks t
             JOIN repositories r ON r.host = coalesce(t.host, 'github.com') AND r.name = t.repository
             JOIN pulls p ON p.repository = r.id AND p.number = t.pull
             WHERE t.state = 'done' AND p.state = 'open' AND p.draft = 0
             ORDER BY t.updated_at DESC, t.id DESC"
        ),
        [],
        read,
    )
}

/// How many tasks there are.
pub fn count(tx: &ReadTx<'_>) -> Result<u32, StoreError> {
    tx.query_row("SELECT count(*) AS n FROM tasks", [], |row| row.get("n"))
}

/// Records what was read of the head; true when it is another head than before. The fork point is
/// kept as it was first seen.
pub fn record_head(tx: &WriteTx<'_>, id: TaskId, read: &HeadRead) -> Result<bool, StoreError> {
    let Some(task) = get(tx, id)? else { return Ok(false) };
    let now = At(tx.now());
    match read {
        HeadRead::Seen { head, fork_point } => {
            let moved = task.head.as_ref() != Some(head);
            if !moved && task.unreadable.is_none() && (task.fork_point.is_some() || fork_point.is_none()) {
                return Ok(false);
            }
            tx.execute(
                "UPDATE tasks SET head = :head, head_at = :now, unreadable = NULL,
                        fork_point = coalesce(fork_point, :fork),
                        updated_at = CASE WHEN head IS :head THEN updated_at ELSE :now END
                 WHERE id = :id",
                named_params! {
                    ":head": head.as_str(), ":now": now, ":fork": fork_point.as_ref().map(Sha::as_str), ":id": id.0,
                },
            )?;
            topic(tx, id)?;
            Ok(moved)
        }
        HeadRead::Unreadable(why) => {
            if task.unreadable.as_deref() != Some(why) {
                tx.execute(
                    "UPDATE tasks SET unreadable = :why WHERE id = :id",
                    named_params! { ":why": why, ":id": id.0 },
                )?;
                topic(tx, id)?;
            }
            Ok(false)
        }
    }
}

/// Records where the task left the integration branch, unless that was recorded before.
pub fn record_fork_point(tx: &WriteTx<'_>, id: TaskId, fork_point: &Sha) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE tasks SET fork_point = :fork WHERE id = :id AND fork_point IS NULL",
        named_params! { ":fork": fork_point.as_str(), ":id": id.0 },
    )?;
    Ok(())
}

/// Records how the task's run stands; false when there is no such task.
pub fn set_state(tx: &WriteTx<'_>, id: TaskId, state: RunState) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE tasks SET state = :state, updated_at = :now WHERE id = :id",
        named_params! { ":state": sql::to_word(&state)?, ":now": At(tx.now()), ":id": id.0 },
    )?;
    topic(tx, id)?;
    Ok(changed == 1)
}

/// Marks the task as changed now.
pub(super) fn touch(tx: &WriteTx<'_>, id: TaskId) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE tasks SET updated_at = :now WHERE id = :id",
        named_params! { ":now": At(tx.now()), ":id": id.0 },
    )?;
    topic(tx, id)
}

fn topic(tx: &WriteTx<'_>, id: TaskId) -> Result<(), StoreError> {
    tx.topic("tasks")?;
    tx.topic(&format!("task:{id}"))
}

/// A pattern for LIKE that finds the text as it stands.
pub(super) fn like(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    format!("%{escaped}%")
}

fn read(row: &Row<'_>) -> rusqlite::Result<TaskRow> {
    Ok(TaskRow {
        id: TaskId(row.get("id")?),
        title: row.get("title")?,
        workspace: row.get("workspace")?,
        workspace_path: row.get("workspace_path")?,
        host: row.get("host")?,
        repository: row.get("repository")?,
        pull: row.get::<_, Option<i64>>("pull")?.map(PullNumber),
        pull_updated_at: sql::time_opt(row, "pull_updated_at")?,
        branch: row.get("branch")?,
        head: sql::sha_opt(row, "head")?,
        head_at: sql::time_opt(row, "head_at")?,
        fork_point: sql::sha_opt(row, "fork_point")?,
        state: sql::word(row, "state")?,
        unreadable: row.get("unreadable")?,
        contract_version: row.get("contract_version")?,
        frames: row.get("frames")?,
        handoffs: row.get("handoffs")?,
        created_at: sql::time(row, "created_at")?,
        updated_at: sql::time(row, "updated_at")?,
    })
}
