//! Tasks of the engine: asked for, running, and how they ended (engine.md 9, 14, 15).

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use rusqlite::{Row, named_params};
use serde::{Deserialize, Serialize};
use steward_rules::engine::retry::TaskEnd;
use steward_rules::engine::triage::{Answer, Claim};
use steward_rules::ids::{RepoName, Sha};
use steward_rules::untrusted::Untrusted;

pub use super::engine_items::ItemKind;
use super::repositories::RepositoryId;
use super::sql::{self, At};
use super::{ReadTx, StoreError, WriteTx};

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
pub enum What {
    /// Repair what a check or the verdict found.
    Fix {
        /// The checks that failed; empty when it is the flag.
        checks: Vec<String>,
        flag: bool,
    },
    /// Put the change onto the base: by the driver, and by an agent where the driver refuses.
    Rebase,
    /// Decide about an issue.
    Triage {
        /// Questions that were asked before.
        asked: Vec<String>,
    },
}

/// One piece of text that somebody else wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// What it is, in Steward's words: `log of check`, `the issue`, `a comment`.
    pub what: String,
    pub text: String,
}

/// A task to be queued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTask {
    pub repository: RepositoryId,
    pub kind: ItemKind,
    pub number: i64,
    pub what: What,
    /// The head of the pull request; none for an issue.
    pub head: Option<Sha>,
    /// The base as it was read last.
    pub base: Sha,
    /// The branch the result goes to.
    pub branch: String,
    /// Where that branch stands; `None` when it is to be made.
    pub lease: Option<Sha>,
    pub evidence: Vec<Piece>,
}

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Queued,
    Running,
    Ended,
}

/// What no further try mends: a fault of the configuration, or of what is worked on. The item is parked with it
/// (engine.md 18) until its head, or what the base holds, is another one or a person asks for a try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// `commit:` names nobody.
    NoIdentity,
    /// `validate.check` names no program, or one that is not there.
    NoValidator,
    /// `validate.pin` is missing, or the program is another one.
    Pin,
    /// The branch is none that `push.allowed` names.
    Branch,
    /// The role has no seat, or its agent cannot be started.
    NoSeat,
    /// `safePaths` names nothing that could be written.
    NoSafePath,
    /// A tree, a file or an answer of git is larger than what is worked with.
    TooLarge,
    /// The entries of the pull request cannot be counted.
    Uncounted,
    /// The base holds the whole change already.
    Nothing,
    /// Our own clone, its disk, git or a tool's process does not do what it must.
    Local,
}

impl Fault {
    /// True when another base may mend it as well.
    pub fn is_of_base(self) -> bool {
        match self {
            Self::TooLarge | Self::Uncounted | Self::Nothing => true,
            Self::NoIdentity
            | Self::NoValidator
            | Self::Pin
            | Self::Branch
            | Self::NoSeat
            | Self::NoSafePath
            | Self::Local => false,
        }
    }
}

/// What a task came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "result")]
pub enum TaskResult {
    /// A commit that stands under `refs/steward/work/<task>` in our clone, to be pushed with a lease.
    Push {
        branch: String,
        from: Option<Sha>,
        to: Sha,
        /// What the agent says of it: untrusted. `None` after a mechanical rebase.
        note: Option<String>,
    },
    /// A proven decision about an issue other than a change.
    Answer { answer: Decided },
}

/// The decision of a triager in the form it is kept; its texts are untrusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "decision")]
pub enum Decided {
    AlreadyPresent { ids: Vec<String>, evidence: String },
    Declined { reason: String, claims: Vec<Claim> },
    NeedInfo { question: String },
}

impl Decided {
    /// As the rules judge it.
    pub fn answer(&self) -> Answer {
        match self.clone() {
            Self::AlreadyPresent { ids, evidence } => {
                Answer::AlreadyPresent { ids, evidence: Untrusted::new(evidence) }
            }
            Self::Declined { reason, claims } => Answer::Declined { reason: Untrusted::new(reason), claims },
            Self::NeedInfo { question } => Answer::NeedInfo { question: Untrusted::new(question) },
        }
    }
}

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub end: TaskEnd,
    pub fault: Option<Fault>,
    pub detail: String,
    pub result: Option<TaskResult>,
}

/// A task as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRow {
    pub id: i64,
    pub repository: RepositoryId,
    pub host: String,
    /// As config.yaml has it.
    pub name: RepoName,
    pub kind: ItemKind,
    pub number: i64,
    pub what: What,
    pub head: Option<Sha>,
    pub base: Sha,
    pub branch: String,
    pub lease: Option<Sha>,
    pub evidence: Vec<Piece>,
    pub state: State,
    pub waits: Option<String>,
    pub queued_at: DateTime<Utc>,
    pub started_at: Option<DateTime<Utc>>,
    pub agent_at: Option<DateTime<Utc>>,
    pub ended_at: Option<DateTime<Utc>>,
    pub end: Option<TaskEnd>,
    pub fault: Option<Fault>,
    pub detail: Option<String>,
    pub result: Option<TaskResult>,
}

const SELECT: &str = "SELECT t.id, t.repository, r.host, r.name, t.kind, t.number, t.what, t.head, t.base, t.branch,
    t.lease, t.evidence, t.state, t.waits, t.queued_at, t.started_at, t.agent_at, t.ended_at, t.outcome, t.fault,
    t.detail, t.result
    FROM engine_tasks t JOIN repositories r ON r.id = t.repository";

fn row(row: &Row<'_>) -> rusqlite::Result<TaskRow> {
    let result: Option<String> = row.get("result")?;
    Ok(TaskRow {
        id: row.get("id")?,
        repository: RepositoryId(row.get("repository")?),
        host: row.get("host")?,
        name: sql::repo_name(row, "name")?,
        kind: sql::word(row, "kind")?,
        number: row.get("number")?,
        what: sql::json(row, "what")?,
        head: sql::sha_opt(row, "head")?,
        base: sql::sha(row, "base")?,
        branch: row.get("branch")?,
        lease: sql::sha_opt(row, "lease")?,
        evidence: sql::json(row, "evidence")?,
        state: sql::word(row, "state")?,
        waits: row.get("waits")?,
        queued_at: sql::time(row, "queued_at")?,
        started_at: sql::time_opt(row, "started_at")?,
        agent_at: sql::time_opt(row, "agent_at")?,
        ended_at: sql::time_opt(row, "ended_at")?,
        end: sql::word_opt(row, "outcome")?,
        fault: sql::word_opt(row, "fault")?,
        detail: row.get("detail")?,
        result: result.map(|_| sql::json(row, "result")).transpose()?,
    })
}

/// Queues a task; `None` when one of the same item is open already.
pub fn queue(tx: &WriteTx<'_>, new: &NewTask) -> Result<Option<i64>, StoreError> {
    if open_of(tx, new.repository, new.kind, new.number)?.is_some() {
        return Ok(None);
    }
    let id = tx.insert(
        "INSERT INTO engine_tasks (repository, kind, number, what, head, base, branch, lease, evidence, state, queued_at)
         VALUES (:repository, :kind, :number, :what, :head, :base, :branch, :lease, :evidence, 'queued', :now)",
        named_params! {
            ":repository": new.repository.0, ":kind": sql::to_word(&new.kind)?, ":number": new.number,
            ":what": sql::to_json(&new.what)?, ":head": new.head.as_ref().map(Sha::as_str),
            ":base": new.base.as_str(), ":branch": new.branch, ":lease": new.lease.as_ref().map(Sha::as_str),
            ":evidence": sql::to_json(&new.evidence)?, ":now": At(tx.now()),
        },
    )?;
    tx.topic("engine_tasks")?;
    Ok(Some(id))
}

/// One task.
pub fn get(tx: &ReadTx<'_>, id: i64) -> Result<Option<TaskRow>, StoreError> {
    tx.query_opt(&format!("{SELECT} WHERE t.id = :id"), named_params! { ":id": id }, row)
}

/// The open task of an item.
pub fn open_of(
    tx: &ReadTx<'_>,
    repository: RepositoryId,
    kind: ItemKind,
    number: i64,
) -> Result<Option<TaskRow>, StoreError> {
    tx.query_opt(
        &format!(
            "{SELECT} WHERE t.repository = :repository AND t.kind = :kind AND t.number = :number
             AND t.state <> 'ended'"
        ),
        named_params! { ":repository": repository.0, ":kind": sql::to_word(&kind)?, ":number": number },
        row,
    )
}

/// Every task of an item, the newest first.
pub fn of_item(
    tx: &ReadTx<'_>,
    repository: RepositoryId,
    kind: ItemKind,
    number: i64,
) -> Result<Vec<TaskRow>, StoreError> {
    tx.query_all(
        &format!(
            "{SELECT} WHERE t.repository = :repository AND t.kind = :kind AND t.number = :number
             ORDER BY t.id DESC LIMIT 100"
        ),
        named_params! { ":repository": repository.0, ":kind": sql::to_word(&kind)?, ":number": number },
        row,
    )
}

/// What faults of the configuration keep the triage of followed issues from, each fault once: its slug, and what is
/// said of it. One whose cause became another since is none any more.
pub fn parked(
    tx: &ReadTx<'_>,
    repository: RepositoryId,
    mended_at: Option<DateTime<Utc>>,
) -> Result<BTreeMap<String, String>, StoreError> {
    let found = tx.query_all(
        "SELECT t.fault, t.detail FROM engine_tasks t
         JOIN engine_items i ON i.repository = t.repository AND i.kind = t.kind AND i.number = t.number
         WHERE t.repository = :repository AND t.kind = 'issue' AND i.ended IS NULL AND t.fault IS NOT NULL AND t.ended_at > :mended
           AND t.id = (SELECT max(o.id) FROM engine_tasks o
                       WHERE o.repository = t.repository AND o.kind = t.kind AND o.number = t.number)
         ORDER BY t.id",
        named_params! {
            ":repository": repository.0, ":mended": At(mended_at.unwrap_or(DateTime::UNIX_EPOCH)),
        },
        |row| {
            let slug: String = row.get("fault")?;
            Ok((slug, row.get::<_, Option<String>>("detail")?.unwrap_or_default()))
        },
    )?;
    Ok(found.into_iter().collect())
}

/// What the open tasks of a repository wait for, by item.
pub fn waits_of(
    tx: &ReadTx<'_>,
    repository: RepositoryId,
) -> Result<BTreeMap<(ItemKind, i64), String>, StoreError> {
    let found = tx.query_all(
        "SELECT kind, number, waits FROM engine_tasks
         WHERE repository = :repository AND state <> 'ended' AND waits IS NOT NULL",
        named_params! { ":repository": repository.0 },
        |row| Ok(((sql::word(row, "kind")?, row.get("number")?), row.get("waits")?)),
    )?;
    Ok(found.into_iter().collect())
}

/// How many tasks run now.
pub fn running(tx: &ReadTx<'_>) -> Result<u32, StoreError> {
    tx.query_row("SELECT count(*) AS n FROM engine_tasks WHERE state = 'running'", [], |row| row.get("n"))
}

/// Every open task, the oldest first.
pub fn open(tx: &ReadTx<'_>) -> Result<Vec<TaskRow>, StoreError> {
    tx.query_all(&format!("{SELECT} WHERE t.state <> 'ended' ORDER BY t.id"), named_params! {}, row)
}

/// Says why a queued task does not start; nothing is said twice.
pub fn wait(tx: &WriteTx<'_>, id: i64, why: &str) -> Result<(), StoreError> {
    let changed = tx.execute(
        "UPDATE engine_tasks SET waits = :why WHERE id = :id AND state = 'queued' AND waits IS NOT :why",
        named_params! { ":id": id, ":why": why },
    )?;
    if changed > 0 { tx.topic("engine_tasks") } else { Ok(()) }
}

/// Takes a queued task up; false when it is not queued any more.
pub fn start(tx: &WriteTx<'_>, id: i64) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE engine_tasks SET state = 'running', started_at = :now, waits = NULL
         WHERE id = :id AND state = 'queued'",
        named_params! { ":id": id, ":now": At(tx.now()) },
    )?;
    tx.topic("engine_tasks")?;
    Ok(changed > 0)
}

/// Notes that its agent starts, and counts it for the day.
pub fn agent_starts(tx: &WriteTx<'_>, id: i64) -> Result<(), StoreError> {
    let now = tx.now();
    tx.execute(
        "UPDATE engine_tasks SET agent_at = :now WHERE id = :id",
        named_params! { ":id": id, ":now": At(now) },
    )?;
    tx.execute(
        "INSERT INTO engine_agent_days (repository, day, runs)
         SELECT repository, :day, 1 FROM engine_tasks WHERE id = :id
         ON CONFLICT (repository, day) DO UPDATE SET runs = runs + 1",
        named_params! { ":id": id, ":day": now.date_naive().to_string() },
    )?;
    tx.topic("engine_tasks")
}

/// Agent runs started in a repository on this UTC day.
pub fn started_today(tx: &ReadTx<'_>, repository: RepositoryId) -> Result<u32, StoreError> {
    let runs = tx.query_opt(
        "SELECT runs FROM engine_agent_days WHERE repository = :repository AND day = :day",
        named_params! { ":repository": repository.0, ":day": tx.now().date_naive().to_string() },
        |row| row.get::<_, u32>("runs"),
    )?;
    Ok(runs.unwrap_or(0))
}

/// Puts a running task back: nothing of it is spent, and it starts anew. That it started stays: what was held for it
/// is held no longer (engine.md 14).
pub fn put_back(tx: &WriteTx<'_>, id: i64, why: &str) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE engine_tasks SET state = 'queued', agent_at = NULL, waits = :why
         WHERE id = :id AND state = 'running'",
        named_params! { ":id": id, ":why": why },
    )?;
    tx.topic("engine_tasks")
}

/// Ends a task; false when it was over already.
pub fn end(tx: &WriteTx<'_>, id: i64, ended: &Ended) -> Result<bool, StoreError> {
    let fault = ended.fault.as_ref().map(sql::to_word).transpose()?;
    let changed = tx.execute(
        "UPDATE engine_tasks SET state = 'ended', ended_at = :now, outcome = :outcome, fault = :fault,
            detail = :detail, result = :result, waits = NULL
         WHERE id = :id AND state <> 'ended'",
        named_params! {
            ":id": id, ":now": At(tx.now()), ":outcome": sql::to_word(&ended.end)?, ":fault": fault,
            ":detail": ended.detail, ":result": ended.result.as_ref().map(sql::to_json).transpose()?,
        },
    )?;
    tx.topic("engine_tasks")?;
    Ok(changed > 0)
}

/// The tasks of a repository whose result is to go out yet, or may be: open ones, those that a followed item has
/// not taken into account, and those whose push is under way or waits for a yes.
pub fn with_work(tx: &ReadTx<'_>, repository: RepositoryId) -> Result<BTreeSet<i64>, StoreError> {
    let found: Vec<i64> = tx.query_all(
        "SELECT t.id FROM engine_tasks t
         WHERE t.repository = :repository
           AND (t.state <> 'ended'
                OR EXISTS (SELECT 1 FROM engine_items i
                           WHERE i.repository = t.repository AND i.kind = t.kind AND i.number = t.number
                             AND i.ended IS NULL AND t.id > i.task_seen)
                OR EXISTS (SELECT 1 FROM effects e
                           WHERE e.state IN ('wanted', 'suggested', 'approved', 'intended')
                             AND instr(e.deed, json_extract(t.result, '$.to')) > 0))",
        named_params! { ":repository": repository.0 },
        |row| row.get("id"),
    )?;
    Ok(found.into_iter().collect())
}

/// The id of the newest task of all; 0 when there never was one.
pub fn newest(tx: &ReadTx<'_>) -> Result<i64, StoreError> {
    tx.query_row("SELECT coalesce(max(id), 0) AS newest FROM engine_tasks", [], |row| row.get("newest"))
}

/// Forgets tasks that ended before then, and how many agents started on days before it.
///
/// Of what is followed stays what was not taken into account, and what a person must mend. The newest task of a
/// repository stays as well: its id must not be given again, since items know by it what they have seen.
pub fn prune(tx: &WriteTx<'_>, before: DateTime<Utc>) -> Result<usize, StoreError> {
    tx.execute(
        "DELETE FROM engine_agent_days WHERE day < :day",
        named_params! { ":day": before.date_naive().to_string() },
    )?;
    tx.execute(
        "DELETE FROM engine_tasks
         WHERE state = 'ended' AND ended_at < :before
           AND id NOT IN (SELECT max(id) FROM engine_tasks GROUP BY repository)
           AND NOT EXISTS (SELECT 1 FROM engine_items i
                           WHERE i.repository = engine_tasks.repository AND i.kind = engine_tasks.kind
                             AND i.number = engine_tasks.number AND i.ended IS NULL
                             AND (engine_tasks.id > i.task_seen OR engine_tasks.fault IS NOT NULL))",
        named_params! { ":before": At(before) },
    )
}
