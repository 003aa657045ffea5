//! Pull requests of watched repositories, as GitHub last showed them.

use chrono::{DateTime, Utc};
use rusqlite::{Row, named_params};
use steward_rules::ids::{PullNumber, RepoName, Sha};
use steward_rules::observing::Glimpse;
pub use steward_rules::observing::PullState;
use steward_rules::untrusted::Untrusted;

use super::repositories::RepositoryId;
use super::sql::{self, At};
use super::{ReadTx, StoreError, WriteTx, landings};

/// One pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRow {
    pub repository: RepositoryId,
    pub number: PullNumber,
    pub node_id: String,
    pub title: Untrusted,
    /// Login of its author, `ghost` when the account was deleted.
    pub author: String,
    pub head: Sha,
    pub head_branch: String,
    /// `owner/name` of where it comes from; `None` when that was deleted.
    pub head_repository: Option<String>,
    pub base_branch: String,
    pub base: Sha,
    pub draft: bool,
    pub state: PullState,
    pub labels: Vec<String>,
    /// All checks and statuses of the head in GitHub's one word; `None` when there are none.
    pub rollup: Option<String>,
    pub mergeable: Option<String>,
    pub review_decision: Option<String>,
    /// By GitHub's clock.
    pub updated_at: DateTime<Utc>,
    /// Since when this head has been there, by ours.
    pub head_seen_at: DateTime<Utc>,
    /// When GitHub last confirmed this row, by ours.
    pub seen_at: DateTime<Utc>,
}

impl PullRow {
    /// What the cheap look shows of it.
    pub fn glimpse(&self) -> Glimpse {
        Glimpse {
            head: self.head.clone(),
            base: self.base.clone(),
            state: self.state,
            draft: self.draft,
            labels: self.labels.clone(),
            rollup: self.rollup.clone(),
            mergeable: self.mergeable.clone(),
            review_decision: self.review_decision.clone(),
            updated_at: self.updated_at,
        }
    }

    /// The same with what the cheap look shows now; a head that moved has been there since `now`.
    pub fn with(&self, seen: &Glimpse, now: DateTime<Utc>) -> Self {
        let seen = seen.clone();
        Self {
            head_seen_at: if self.head == seen.head { self.head_seen_at } else { now },
            head: seen.head,
            base: seen.base,
            state: seen.state,
            draft: seen.draft,
            labels: seen.labels,
            rollup: seen.rollup,
            mergeable: seen.mergeable,
            review_decision: seen.review_decision,
            updated_at: seen.updated_at,
            seen_at: now,
            ..self.clone()
        }
    }
}

const COLUMNS: &str =
    "p.repository, p.number, p.node_id, p.title, p.author, p.head, p.head_branch, p.head_repository,
    p.base_branch, p.base, p.draft, p.state, p.labels, p.rollup, p.mergeable, p.review_decision, p.updated_at,
    p.head_seen_at, p.seen_at";

/// Writes a pull request in place of what was known of it. One that was open and is merged is to be proven.
pub fn put(tx: &WriteTx<'_>, row: &PullRow) -> Result<(), StoreError> {
    if row.state == PullState::Merged
        && let Some(before) = get(tx, row.repository, row.number)?
        && before.state == PullState::Open
    {
        landings::seen(tx, &before, row)?;
    }
    tx.execute(
        "INSERT INTO pulls (repository, number, node_id, title, author, head, head_branch, head_repository, base_branch,
                            base, draft, state, labels, rollup, mergeable, review_decision, updated_at, head_seen_at,
                            seen_at)
         VALUES (:repository, :number, :node_id, :title, :author, :head, :head_branch, :head_repository, :base_branch,
                 :base, :draft, :state, :labels, :rollup, :mergeable, :review_decision, :updated_at, :head_seen_at,
                 :seen_at)
         ON CONFLICT (repository, number) DO UPDATE SET
             node_id = excluded.node_id, title = excluded.title, author = excluded.author, head = excluded.head,
             head_branch = excluded.head_branch, head_repository = excluded.head_repository,
             base_branch = excluded.base_branch, base = excluded.base, draft = excluded.draft,
             state = excluded.state, labels = excluded.labels, rollup = excluded.rollup,
             mergeable = excluded.mergeable, review_decision = excluded.review_decision,
             updated_at = excluded.updated_at, head_seen_at = excluded.head_seen_at, seen_at = excluded.seen_at",
        named_params! {
            ":repository": row.repository.0, ":number": row.number.0, ":node_id": row.node_id,
            ":title": row.title.as_data(), ":author": row.author, ":head": row.head.as_str(),
            ":head_branch": row.head_branch, ":head_repository": row.head_repository,
            ":base_branch": row.base_branch, ":base": row.base.as_str(), ":draft": row.draft,
            ":state": sql::to_word(&row.state)?, ":labels": sql::to_json(&row.labels)?, ":rollup": row.rollup,
            ":mergeable": row.mergeable, ":review_decision": row.review_decision,
            ":updated_at": At(row.updated_at), ":head_seen_at": At(row.head_seen_at), ":seen_at": At(row.seen_at),
        },
    )?;
    Ok(())
}

/// One pull request of a watched repository.
pub fn find(
    tx: &ReadTx<'_>,
    host: &str,
    name: &RepoName,
    number: PullNumber,
) -> Result<Option<PullRow>, StoreError> {
    tx.query_opt(
        &format!(
            "SELECT {COLUMNS} FROM pulls p JOIN repositories r ON r.id = p.repository
             WHERE r.host = :host AND r.name = :name AND p.number = :number"
        ),
        named_params! { ":host": host, ":name": name.to_string(), ":number": number.0 },
        read,
    )
}

/// The pull request of this number.
pub fn get(
    tx: &ReadTx<'_>,
    repository: RepositoryId,
    number: PullNumber,
) -> Result<Option<PullRow>, StoreError> {
    tx.query_opt(
        &format!("SELECT {COLUMNS} FROM pulls p WHERE p.repository = :repository AND p.number = :number"),
        named_params! { ":repository": repository.0, ":number": number.0 },
        read,
    )
}

/// The open ones of a repository, newest change first.
pub fn open_of(tx: &ReadTx<'_>, repository: RepositoryId) -> Result<Vec<PullRow>, StoreError> {
    tx.query_all(
        &format!(
            "SELECT {COLUMNS} FROM pulls p WHERE p.repository = :repository AND p.state = 'open'
             ORDER BY p.updated_at DESC, p.number DESC"
        ),
        named_params! { ":repository": repository.0 },
        read,
    )
}

/// The pull requests that come from a branch of this very repository, newest first: open or not.
pub fn of_branch(
    tx: &ReadTx<'_>,
    repository: RepositoryId,
    name: &RepoName,
    branch: &str,
) -> Result<Vec<PullRow>, StoreError> {
    tx.query_all(
        &format!(
            "SELECT {COLUMNS} FROM pulls p
             WHERE p.repository = :repository AND p.head_branch = :branch
               AND p.head_repository = :name COLLATE NOCASE
             ORDER BY p.number DESC"
        ),
        named_params! { ":repository": repository.0, ":branch": branch, ":name": name.to_string() },
        read,
    )
}

/// Notes that GitHub confirmed every open one of a repository now, but for these.
pub fn confirm(tx: &WriteTx<'_>, repository: RepositoryId, but: &[i64]) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE pulls SET seen_at = :now
         WHERE repository = :repository AND state = 'open' AND number NOT IN (SELECT value FROM json_each(:but))",
        named_params! { ":now": At(tx.now()), ":repository": repository.0, ":but": sql::to_json(&but)? },
    )?;
    Ok(())
}

/// Forgets pull requests that are not open and were last seen before then.
pub fn prune(tx: &WriteTx<'_>, before: DateTime<Utc>) -> Result<usize, StoreError> {
    tx.execute(
        "DELETE FROM pulls WHERE state <> 'open' AND seen_at < :before",
        named_params! { ":before": At(before) },
    )
}

fn read(row: &Row<'_>) -> rusqlite::Result<PullRow> {
    Ok(PullRow {
        repository: RepositoryId(row.get("repository")?),
        number: PullNumber(row.get("number")?),
        node_id: row.get("node_id")?,
        title: Untrusted::new(row.get::<_, String>("title")?),
        author: row.get("author")?,
        head: sql::sha(row, "head")?,
        head_branch: row.get("head_branch")?,
        head_repository: row.get("head_repository")?,
        base_branch: row.get("base_branch")?,
        base: sql::sha(row, "base")?,
        draft: row.get("draft")?,
        state: sql::word(row, "state")?,
        labels: sql::json(row, "labels")?,
        rollup: row.get("rollup")?,
        mergeable: row.get("mergeable")?,
        review_decision: row.get("review_decision")?,
        updated_at: sql::time(row, "updated_at")?,
        head_seen_at: sql::time(row, "head_seen_at")?,
        seen_at: sql::time(row, "seen_at")?,
    })
}
