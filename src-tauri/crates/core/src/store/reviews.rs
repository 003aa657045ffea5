//! Reviews: each state change is one guarded UPDATE, so that two hands cannot make the same one.

mod row;

use chrono::{DateTime, Utc};
use rusqlite::named_params;
use steward_rules::ids::{RepoName, ReviewId, Sha, TaskId};
use steward_rules::review::lifecycle::PastReview;
pub use steward_rules::review::lifecycle::{EndReason, ReviewState, Trigger};
pub use steward_rules::review::verdict::StaleReason;

use row::{COLUMNS, read};
pub use row::{Digested, NewReview, Outcome, Progress, ReviewRecord, RunStart, Stats, Submitted};

use super::repositories::RepositoryId;
use super::sql::{self, At};
use super::{ReadTx, StoreError, WriteTx};

const OPEN: &str = "('queued', 'digesting', 'running', 'submitted', 'held')";

/// Queues a review. A second open one of the same task is [`StoreError::Exists`].
pub fn insert_queued(tx: &WriteTx<'_>, new: &NewReview) -> Result<ReviewId, StoreError> {
    let id = tx.insert(
        "INSERT INTO reviews (task, sha, contract_version, ci_fingerprint, trigger, state, budget_usd, queued_at)
         VALUES (:task, :sha, :contract, :ci, :trigger, 'queued', :budget, :now)",
        named_params! {
            ":task": new.task.0, ":sha": new.sha.as_str(), ":contract": new.contract_version,
            ":ci": new.ci_fingerprint, ":trigger": sql::to_word(&new.trigger)?, ":budget": new.budget_usd,
            ":now": At(tx.now()),
        },
    )?;
    let id = ReviewId(id);
    topic(tx, id)?;
    tx.topic("tasks")?;
    tx.topic("queue")?;
    Ok(id)
}

/// The review of this number.
pub fn get(tx: &ReadTx<'_>, id: ReviewId) -> Result<Option<ReviewRecord>, StoreError> {
    tx.query_opt(
        &format!("SELECT {COLUMNS} FROM reviews r JOIN tasks t ON t.id = r.task WHERE r.id = :id"),
        named_params! { ":id": id.0 },
        read,
    )
}

/// The newest reviews, of one task or of all.
pub fn list(tx: &ReadTx<'_>, task: Option<TaskId>, limit: u32) -> Result<Vec<ReviewRecord>, StoreError> {
    let (filter, task) = match task {
        Some(task) => ("r.task = :task", task.0),
        None => ("0 = :task", 0),
    };
    tx.query_all(
        &format!(
            "SELECT {COLUMNS} FROM reviews r JOIN tasks t ON t.id = r.task
             WHERE {filter} ORDER BY r.id DESC LIMIT :limit"
        ),
        named_params! { ":task": task, ":limit": limit },
        read,
    )
}

/// The newest review of a task.
pub fn newest(tx: &ReadTx<'_>, task: TaskId) -> Result<Option<ReviewRecord>, StoreError> {
    Ok(list(tx, Some(task), 1)?.pop())
}

/// The newest review of each task of a repository's open pull requests; `row` is its number in
/// `repositories`.
pub fn newest_of_open_pulls(
    tx: &ReadTx<'_>,
    row: RepositoryId,
    host: &str,
    repository: &RepoName,
) -> Result<Vec<ReviewRecord>, StoreError> {
    tx.query_all(
        &format!(
            "SELECT {COLUMNS} FROM pulls p
             JOIN tasks t ON coalesce(t.host, 'github.com') = coalesce(:host, 'github.com')
                 AND t.repository = :repository AND t.pull = p.number
             JOIN reviews r ON r.id = (SELECT max(n.id) FROM reviews n WHERE n.task = t.id)
             WHERE p.repository = :row AND p.state = 'open'"
        ),
        named_params! {
            ":row": row.0, ":host": super::tasks::other_host(host), ":repository": repository.to_string(),
        },
        read,
    )
}

/// The open review of a task; a held one that went stale publishes nothing and is not open.
pub fn open_of(tx: &ReadTx<'_>, task: TaskId) -> Result<Option<ReviewRecord>, StoreError> {
    tx.query_opt(
        &format!(
            "SELECT {COLUMNS} FROM reviews r JOIN tasks t ON t.id = r.task
             WHERE r.task = :task AND r.state IN {OPEN} AND NOT (r.state = 'held' AND r.stale_reason IS NOT NULL)"
        ),
        named_params! { ":task": task.0 },
        read,
    )
}

/// Every review that is neither published nor ended, oldest first; stale held ones are not among them.
pub fn unfinished(tx: &ReadTx<'_>) -> Result<Vec<ReviewRecord>, StoreError> {
    tx.query_all(
        &format!(
            "SELECT {COLUMNS} FROM reviews r JOIN tasks t ON t.id = r.task
             WHERE r.state NOT IN ('published', 'ended')
               AND NOT (r.state = 'held' AND r.stale_reason IS NOT NULL)
             ORDER BY r.id"
        ),
        [],
        read,
    )
}

/// The open reviews, oldest first: state, and whether a cancel is asked. A stale hold is not open.
pub fn open(tx: &ReadTx<'_>) -> Result<Vec<(ReviewId, ReviewState, bool)>, StoreError> {
    tx.query_all(
        "SELECT id, state, cancel_asked FROM reviews
         WHERE state NOT IN ('published', 'ended') AND NOT (state = 'held' AND stale_reason IS NOT NULL)
         ORDER BY id",
        [],
        |row| Ok((ReviewId(row.get("id")?), sql::word(row, "state")?, row.get("cancel_asked")?)),
    )
}

/// The held reviews that may still publish, with their tasks, oldest first.
pub fn held(tx: &ReadTx<'_>) -> Result<Vec<(ReviewId, TaskId)>, StoreError> {
    tx.query_all(
        "SELECT id, task FROM reviews WHERE state = 'held' AND stale_reason IS NULL ORDER BY id",
        [],
        |row| Ok((ReviewId(row.get("id")?), TaskId(row.get("task")?))),
    )
}

/// The reviews of a task that can still turn stale, oldest first.
pub fn fresh_of(tx: &ReadTx<'_>, task: TaskId) -> Result<Vec<ReviewRecord>, StoreError> {
    tx.query_all(
        &format!(
            "SELECT {COLUMNS} FROM reviews r JOIN tasks t ON t.id = r.task
             WHERE r.task = :task AND r.stale_reason IS NULL
               AND (r.state <> 'ended' OR r.reason <> 'cancelled') ORDER BY r.id"
        ),
        named_params! { ":task": task.0 },
        read,
    )
}

/// The local tasks that have a review which can still turn stale, with where their branch lies.
pub fn watched(tx: &ReadTx<'_>) -> Result<Vec<(TaskId, String, String)>, StoreError> {
    tx.query_all(
        "SELECT DISTINCT t.id, t.workspace_path, t.branch FROM reviews r JOIN tasks t ON t.id = r.task
         WHERE r.stale_reason IS NULL AND (r.state <> 'ended' OR r.reason <> 'cancelled')
           AND t.workspace_path IS NOT NULL AND t.branch IS NOT NULL
         ORDER BY t.id",
        [],
        |row| Ok((TaskId(row.get("id")?), row.get("workspace_path")?, row.get("branch")?)),
    )
}

/// The tasks of pull requests that have such a review.
pub fn watched_pulls(tx: &ReadTx<'_>) -> Result<Vec<TaskId>, StoreError> {
    tx.query_all(
        "SELECT DISTINCT t.id FROM reviews r JOIN tasks t ON t.id = r.task
         WHERE r.stale_reason IS NULL AND (r.state <> 'ended' OR r.reason <> 'cancelled')
           AND t.pull IS NOT NULL ORDER BY t.id",
        [],
        |row| row.get("id").map(TaskId),
    )
}

/// What every review of a task came to, oldest first: what a start is judged from.
pub fn past(tx: &ReadTx<'_>, task: TaskId) -> Result<Vec<PastReview>, StoreError> {
    tx.query_all(
        "SELECT id, state, reason, stale_reason, sha, contract_version, ci_fingerprint FROM reviews
         WHERE task = :task ORDER BY id",
        named_params! { ":task": task.0 },
        |row| {
            Ok(PastReview {
                id: ReviewId(row.get("id")?),
                state: sql::word(row, "state")?,
                reason: sql::word_opt(row, "reason")?,
                stale: sql::word_opt(row, "stale_reason")?,
                sha: sql::sha(row, "sha")?,
                contract: row.get("contract_version")?,
                ci_fingerprint: row.get("ci_fingerprint")?,
            })
        },
    )
}

/// When each review after `after` was queued, oldest first.
pub fn queue_times(tx: &ReadTx<'_>, after: DateTime<Utc>) -> Result<Vec<DateTime<Utc>>, StoreError> {
    tx.query_all(
        "SELECT queued_at FROM reviews WHERE queued_at > :after ORDER BY queued_at",
        named_params! { ":after": At(after) },
        |row| sql::time(row, "queued_at"),
    )
}

/// Counts of open reviews and of the held ones among them.
pub fn open_counts(tx: &ReadTx<'_>) -> Result<(u32, u32), StoreError> {
    tx.query_row(
        "SELECT count(*) AS open, coalesce(sum(state = 'held'), 0) AS held FROM reviews
         WHERE state NOT IN ('published', 'ended') AND NOT (state = 'held' AND stale_reason IS NOT NULL)",
        [],
        |row| Ok((row.get("open")?, row.get("held")?)),
    )
}

/// queued → digesting; false when it is not queued any more.
pub fn begin_digest(tx: &WriteTx<'_>, id: ReviewId) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE reviews SET state = 'digesting', phase = 'reading the change'
         WHERE id = :id AND state = 'queued' AND cancel_asked = 0",
        named_params! { ":id": id.0 },
    )?;
    done(tx, id, changed)
}

/// digesting → queued, after a restart that found no seat started.
pub fn requeue(tx: &WriteTx<'_>, id: ReviewId) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE reviews SET state = 'queued', phase = NULL WHERE id = :id AND state = 'digesting'",
        named_params! { ":id": id.0 },
    )?;
    tx.topic("queue")?;
    done(tx, id, changed)
}

/// Records what the digest says; false when the review is not digesting any more.
pub fn record_digest(tx: &WriteTx<'_>, id: ReviewId, digest: &Digested) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE reviews SET base_branch = :branch, base_tip = :tip, merge_base = :merge_base,
                contract_version = :contract, ci_fingerprint = :ci, digest_hash = :hash, stats = :stats
         WHERE id = :id AND state = 'digesting'",
        named_params! {
            ":id": id.0, ":branch": digest.base_branch, ":tip": digest.base_tip.as_ref().map(Sha::as_str),
            ":merge_base": digest.merge_base.as_ref().map(Sha::as_str), ":contract": digest.contract_version,
            ":ci": digest.ci_fingerprint, ":hash": digest.digest_hash, ":stats": sql::to_json(&digest.stats)?,
        },
    )?;
    done(tx, id, changed)
}

/// Records what CI said when the gates were computed again.
pub fn record_ci(tx: &WriteTx<'_>, id: ReviewId, fingerprint: &str) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE reviews SET ci_fingerprint = :ci WHERE id = :id AND ci_fingerprint <> :ci",
        named_params! { ":id": id.0, ":ci": fingerprint },
    )?;
    Ok(())
}

/// digesting → running.
pub fn begin_run(tx: &WriteTx<'_>, id: ReviewId, start: &RunStart) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE reviews SET state = 'running', started_at = :now, phase = 'starting the seat', model = :model,
                adapter = :adapter, boundary = :boundary, budget_usd = :budget
         WHERE id = :id AND state = 'digesting' AND cancel_asked = 0",
        named_params! {
            ":id": id.0, ":now": At(tx.now()), ":model": start.model, ":adapter": start.adapter,
            ":boundary": start.boundary, ":budget": start.budget_usd,
        },
    )?;
    done(tx, id, changed)
}

/// Records how far the seat is.
pub fn progress(tx: &WriteTx<'_>, id: ReviewId, progress: &Progress) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE reviews SET phase = coalesce(:phase, phase), turns = :turns, tokens = :tokens, cost_usd = :cost
         WHERE id = :id AND state = 'running'",
        named_params! {
            ":id": id.0, ":phase": progress.phase, ":turns": progress.turns, ":tokens": progress.tokens as i64,
            ":cost": progress.cost_usd,
        },
    )?;
    if changed == 1 {
        tx.topic(&format!("review:{id}"))?;
    }
    Ok(changed == 1)
}

/// Says what the seat of a running review is doing now.
pub fn set_phase(tx: &WriteTx<'_>, id: ReviewId, phase: &str) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE reviews SET phase = :phase WHERE id = :id AND state = 'running'",
        named_params! { ":id": id.0, ":phase": phase },
    )?;
    Ok(())
}

/// running → submitted.
pub fn submit(tx: &WriteTx<'_>, id: ReviewId, said: &Submitted) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE reviews SET state = 'submitted', submitted_at = :now, phase = 'judging', seat_verdict = :verdict,
                summary = :summary, coverage = :coverage, lowered_because = :because
         WHERE id = :id AND state = 'running'",
        named_params! {
            ":id": id.0, ":now": At(tx.now()), ":verdict": said.seat_verdict.as_str(), ":summary": said.summary,
            ":coverage": sql::to_json(&said.coverage)?, ":because": sql::to_json(&said.lowered_because)?,
        },
    )?;
    done(tx, id, changed)
}

/// submitted → held.
pub fn hold(tx: &WriteTx<'_>, id: ReviewId) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE reviews SET state = 'held', held_at = :now, phase = NULL WHERE id = :id AND state = 'submitted'",
        named_params! { ":id": id.0, ":now": At(tx.now()) },
    )?;
    done(tx, id, changed)
}

/// submitted or held → published. A held one that is stale, or whose person asked to cancel, stays.
pub fn publish(tx: &WriteTx<'_>, id: ReviewId, outcome: &Outcome) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE reviews SET state = 'published', ended_at = :now, phase = NULL, verdict = :verdict, cap = :cap,
                lowered_by = :lowered_by, lowered_because = :because
         WHERE id = :id AND cancel_asked = 0
           AND (state = 'submitted' OR (state = 'held' AND stale_reason IS NULL))",
        named_params! {
            ":id": id.0, ":now": At(tx.now()), ":verdict": outcome.verdict.as_str(), ":cap": outcome.cap.as_str(),
            ":lowered_by": sql::to_json(&outcome.lowered_by)?, ":because": sql::to_json(&outcome.lowered_because)?,
        },
    )?;
    done(tx, id, changed)
}

/// Any open state → ended, as BLOCKED; false when it is finished already.
pub fn end(tx: &WriteTx<'_>, id: ReviewId, reason: EndReason, detail: &str) -> Result<bool, StoreError> {
    let changed = tx.execute(
        &format!(
            "UPDATE reviews SET state = 'ended', ended_at = :now, phase = NULL, verdict = 'BLOCKED',
                    reason = :reason, reason_detail = :detail
             WHERE id = :id AND state IN {OPEN}"
        ),
        named_params! {
            ":id": id.0, ":now": At(tx.now()), ":reason": sql::to_word(&reason)?, ":detail": detail,
        },
    )?;
    done(tx, id, changed)
}

/// Asks whoever runs the review to stop it; false when it is finished already.
pub fn ask_cancel(tx: &WriteTx<'_>, id: ReviewId) -> Result<bool, StoreError> {
    let changed = tx.execute(
        &format!("UPDATE reviews SET cancel_asked = 1 WHERE id = :id AND state IN {OPEN}"),
        named_params! { ":id": id.0 },
    )?;
    tx.topic("queue")?;
    done(tx, id, changed)
}

/// Turns a review stale, once; false when it is stale already.
pub fn set_stale(tx: &WriteTx<'_>, id: ReviewId, reason: StaleReason) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE reviews SET stale_reason = :reason, stale_at = :now
         WHERE id = :id AND stale_reason IS NULL AND (state <> 'ended' OR reason <> 'cancelled')",
        named_params! { ":id": id.0, ":reason": sql::to_word(&reason)?, ":now": At(tx.now()) },
    )?;
    done(tx, id, changed)
}

fn done(tx: &WriteTx<'_>, id: ReviewId, changed: usize) -> Result<bool, StoreError> {
    if changed == 1 {
        topic(tx, id)?;
    }
    Ok(changed == 1)
}

pub(super) fn topic(tx: &WriteTx<'_>, id: ReviewId) -> Result<(), StoreError> {
    tx.topic("reviews")?;
    tx.topic(&format!("review:{id}"))
}
