//! Issues of watched repositories, as GitHub last showed them.

use chrono::{DateTime, Utc};
use rusqlite::{Row, named_params};
pub use steward_rules::observing::IssueState;
use steward_rules::untrusted::Untrusted;

use super::repositories::RepositoryId;
use super::sql::{self, At};
use super::{ReadTx, StoreError, WriteTx};

/// One issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueRow {
    pub repository: RepositoryId,
    pub number: i64,
    pub node_id: String,
    pub title: Untrusted,
    /// Login of its author, `ghost` when the account was deleted.
    pub author: String,
    pub state: IssueState,
    pub labels: Vec<String>,
    /// By GitHub's clock.
    pub updated_at: DateTime<Utc>,
    /// When GitHub last confirmed this row, by ours.
    pub seen_at: DateTime<Utc>,
}

const COLUMNS: &str =
    "i.repository, i.number, i.node_id, i.title, i.author, i.state, i.labels, i.updated_at, i.seen_at";

/// Writes an issue in place of what was known of it.
pub fn put(tx: &WriteTx<'_>, row: &IssueRow) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO issues (repository, number, node_id, title, author, state, labels, updated_at, seen_at)
         VALUES (:repository, :number, :node_id, :title, :author, :state, :labels, :updated_at, :seen_at)
         ON CONFLICT (repository, number) DO UPDATE SET
             node_id = excluded.node_id, title = excluded.title, author = excluded.author, state = excluded.state,
             labels = excluded.labels, updated_at = excluded.updated_at, seen_at = excluded.seen_at",
        named_params! {
            ":repository": row.repository.0, ":number": row.number, ":node_id": row.node_id,
            ":title": row.title.as_data(), ":author": row.author, ":state": sql::to_word(&row.state)?,
            ":labels": sql::to_json(&row.labels)?, ":updated_at": At(row.updated_at), ":seen_at": At(row.seen_at),
        },
    )?;
    Ok(())
}

/// The open ones of a repository, newest change first.
pub fn open_of(tx: &ReadTx<'_>, repository: RepositoryId) -> Result<Vec<IssueRow>, StoreError> {
    tx.query_all(
        &format!(
            "SELECT {COLUMNS} FROM issues i WHERE i.repository = :repository AND i.state = 'open'
             ORDER BY i.updated_at DESC, i.number DESC"
        ),
        named_params! { ":repository": repository.0 },
        read,
    )
}

/// The issue of this number.
pub fn get(tx: &ReadTx<'_>, repository: RepositoryId, number: i64) -> Result<Option<IssueRow>, StoreError> {
    tx.query_opt(
        &format!("SELECT {COLUMNS} FROM issues i WHERE i.repository = :repository AND i.number = :number"),
        named_params! { ":repository": repository.0, ":number": number },
        read,
    )
}

/// Notes that GitHub confirmed how many are open in a repository, and so each of them, now, but for these.
pub fn confirm(tx: &WriteTx<'_>, repository: RepositoryId, but: &[i64]) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE issues SET seen_at = :now
         WHERE repository = :repository AND state = 'open' AND number NOT IN (SELECT value FROM json_each(:but))",
        named_params! { ":now": At(tx.now()), ":repository": repository.0, ":but": sql::to_json(&but)? },
    )?;
    Ok(())
}

/// Forgets issues that are not open and were last seen before then.
pub fn prune(tx: &WriteTx<'_>, before: DateTime<Utc>) -> Result<usize, StoreError> {
    tx.execute(
        "DELETE FROM issues WHERE state <> 'open' AND seen_at < :before",
        named_params! { ":before": At(before) },
    )
}

fn read(row: &Row<'_>) -> rusqlite::Result<IssueRow> {
    Ok(IssueRow {
        repository: RepositoryId(row.get("repository")?),
        number: row.get("number")?,
        node_id: row.get("node_id")?,
        title: Untrusted::new(row.get::<_, String>("title")?),
        author: row.get("author")?,
        state: sql::word(row, "state")?,
        labels: sql::json(row, "labels")?,
        updated_at: sql::time(row, "updated_at")?,
        seen_at: sql::time(row, "seen_at")?,
    })
}
