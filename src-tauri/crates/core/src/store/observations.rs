//! Whole readings of pull requests and issues, kept where they differ from the one before (engine.md 16).

use chrono::{DateTime, Utc};
use rusqlite::{Row, named_params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use steward_rules::engine::facts::PrObs;
use steward_rules::engine::triage::IssueObs;
use steward_rules::reading::{Cause, Reading};

use super::engine_items::ItemKind;
use super::repositories::RepositoryId;
use super::sql::{self, At};
use super::{ReadTx, StoreError, WriteTx};

/// One reading, and how long it was read so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept<T> {
    /// When it was first read so.
    pub at: DateTime<Utc>,
    /// When it was last read so.
    pub read_at: DateTime<Utc>,
    /// A stored reading that cannot be parsed is no reading.
    pub seen: Reading<T>,
}

/// Keeps a whole reading of a pull request; true when it differs from the one before.
pub fn keep_pull(tx: &WriteTx<'_>, repository: RepositoryId, seen: &PrObs) -> Result<bool, StoreError> {
    // Two readings of the same are the same, whenever they were made.
    let timeless =
        PrObs { labels_read_at: DateTime::UNIX_EPOCH, read_at: DateTime::UNIX_EPOCH, ..seen.clone() };
    let (hash, body) = (hash(&timeless)?, sql::to_json(seen)?);
    let number = seen.number.0;
    keep(tx, repository, ItemKind::Pr, number, &hash, &body, seen.read_at, Some(seen.labels_read_at))
}

/// Keeps a whole reading of an issue; true when it differs from the one before.
pub fn keep_issue(tx: &WriteTx<'_>, repository: RepositoryId, seen: &IssueObs) -> Result<bool, StoreError> {
    let (hash, body) = (hash(seen)?, sql::to_json(seen)?);
    keep(tx, repository, ItemKind::Issue, seen.number, &hash, &body, tx.now(), None)
}

#[allow(clippy::too_many_arguments, reason = "one row, column by column")]
fn keep(
    tx: &WriteTx<'_>,
    repository: RepositoryId,
    kind: ItemKind,
    number: i64,
    hash: &str,
    body: &str,
    read_at: DateTime<Utc>,
    labels_read_at: Option<DateTime<Utc>>,
) -> Result<bool, StoreError> {
    let kind = sql::to_word(&kind)?;
    let same = tx.execute(
        "UPDATE observations SET read_at = :read_at, labels_read_at = :labels
         WHERE id = (SELECT max(id) FROM observations
                     WHERE repository = :repository AND kind = :kind AND number = :number)
           AND hash = :hash",
        named_params! {
            ":read_at": At(read_at), ":labels": labels_read_at.map(At), ":repository": repository.0,
            ":kind": kind, ":number": number, ":hash": hash,
        },
    )?;
    if same > 0 {
        return Ok(false);
    }
    tx.execute(
        "INSERT INTO observations (repository, kind, number, hash, body, at, read_at, labels_read_at)
         VALUES (:repository, :kind, :number, :hash, :body, :read_at, :read_at, :labels)",
        named_params! {
            ":repository": repository.0, ":kind": kind, ":number": number, ":hash": hash, ":body": body,
            ":read_at": At(read_at), ":labels": labels_read_at.map(At),
        },
    )?;
    Ok(true)
}

fn hash(seen: &impl Serialize) -> Result<String, StoreError> {
    Ok(hex::encode(Sha256::digest(sql::to_json(seen)?)))
}

const COLUMNS: &str = "number, body, at, read_at, labels_read_at";

/// The last whole reading of a pull request.
pub fn pull(
    tx: &ReadTx<'_>,
    repository: RepositoryId,
    number: i64,
) -> Result<Option<Kept<PrObs>>, StoreError> {
    last(tx, repository, ItemKind::Pr, number, read_pull)
}

/// The last whole reading of an issue.
pub fn issue(
    tx: &ReadTx<'_>,
    repository: RepositoryId,
    number: i64,
) -> Result<Option<Kept<IssueObs>>, StoreError> {
    last(tx, repository, ItemKind::Issue, number, read_any)
}

fn last<T>(
    tx: &ReadTx<'_>,
    repository: RepositoryId,
    kind: ItemKind,
    number: i64,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Option<T>, StoreError> {
    tx.query_opt(
        &format!(
            "SELECT {COLUMNS} FROM observations
             WHERE repository = :repository AND kind = :kind AND number = :number ORDER BY id DESC LIMIT 1"
        ),
        named_params! { ":repository": repository.0, ":kind": sql::to_word(&kind)?, ":number": number },
        read,
    )
}

/// The numbers of the pull requests that were read since then.
pub fn pulls_since(
    tx: &ReadTx<'_>,
    repository: RepositoryId,
    since: DateTime<Utc>,
) -> Result<Vec<i64>, StoreError> {
    tx.query_all(
        "SELECT DISTINCT number FROM observations
         WHERE repository = :repository AND kind = 'pr' AND read_at >= :since ORDER BY number",
        named_params! { ":repository": repository.0, ":since": At(since) },
        |row| row.get("number"),
    )
}

/// Every reading of a pull request since then, oldest first.
pub fn history(
    tx: &ReadTx<'_>,
    repository: RepositoryId,
    number: i64,
    since: DateTime<Utc>,
) -> Result<Vec<Kept<PrObs>>, StoreError> {
    tx.query_all(
        &format!(
            "SELECT {COLUMNS} FROM observations
             WHERE repository = :repository AND kind = 'pr' AND number = :number AND read_at >= :since ORDER BY id"
        ),
        named_params! { ":repository": repository.0, ":number": number, ":since": At(since) },
        read_pull,
    )
}

/// Forgets readings that were last made before then, and the oldest ones beyond so many bytes. The last
/// reading of what is still followed stays.
pub fn prune(tx: &WriteTx<'_>, before: DateTime<Utc>, most: u64) -> Result<usize, StoreError> {
    // What is open is judged from its last reading.
    let last = "id IN (SELECT max(o.id) FROM observations o
                       JOIN engine_items i ON i.repository = o.repository AND i.kind = o.kind AND i.number = o.number
                       WHERE i.ended IS NULL GROUP BY o.repository, o.kind, o.number)";
    let old = tx.execute(
        &format!("DELETE FROM observations WHERE read_at < :before AND NOT ({last})"),
        named_params! { ":before": At(before) },
    )?;
    let many = tx.execute(
        &format!(
            "DELETE FROM observations WHERE NOT ({last}) AND id IN (
                 SELECT id FROM (SELECT id, sum(length(CAST(body AS BLOB))) OVER (ORDER BY id DESC) AS total
                                 FROM observations)
                 WHERE total > :most)"
        ),
        named_params! { ":most": i64::try_from(most).unwrap_or(i64::MAX) },
    )?;
    Ok(old + many)
}

fn read_pull(row: &Row<'_>) -> rusqlite::Result<Kept<PrObs>> {
    let mut kept = read_any::<PrObs>(row)?;
    if let Reading::Known { value } = &mut kept.seen {
        value.read_at = kept.read_at;
        if let Some(at) = sql::time_opt(row, "labels_read_at")? {
            value.labels_read_at = at;
        }
    }
    Ok(kept)
}

fn read_any<T: DeserializeOwned>(row: &Row<'_>) -> rusqlite::Result<Kept<T>> {
    let body: String = row.get("body")?;
    let seen = match serde_json::from_str(&body) {
        Ok(seen) => Reading::known(seen),
        Err(error) => {
            Reading::unread(Cause::NotReadYet, format!("the stored reading cannot be parsed: {error}"))
        }
    };
    Ok(Kept { at: sql::time(row, "at")?, read_at: sql::time(row, "read_at")?, seen })
}
