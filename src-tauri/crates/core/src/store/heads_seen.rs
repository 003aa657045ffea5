//! When a commit was first seen as a head on its remote, by our clock.

use chrono::{DateTime, Duration, Utc};
use rusqlite::named_params;
use steward_rules::ids::{RepoName, Sha};

use super::sql::{self, At};
use super::{ReadTx, StoreError, WriteTx};

/// When this head was first seen there, also by the observer; `None` when it never was.
pub fn find(
    tx: &ReadTx<'_>,
    host: &str,
    repository: &RepoName,
    head: &Sha,
) -> Result<Option<DateTime<Utc>>, StoreError> {
    tx.query_row(
        "SELECT min(seen_at) AS seen_at FROM (
             SELECT seen_at FROM heads_seen WHERE host = :host AND repository = :name AND sha = :sha
             UNION ALL
             SELECT p.head_seen_at FROM pulls p JOIN repositories r ON r.id = p.repository
             WHERE r.host = :host AND r.name = :name AND p.head = :sha)",
        named_params! { ":host": host, ":name": repository.to_string(), ":sha": head.as_str() },
        |row| sql::time_opt(row, "seen_at"),
    )
}

/// Records that the head is there now, unless it was seen before; gives its first sight.
pub fn note(
    tx: &WriteTx<'_>,
    host: &str,
    repository: &RepoName,
    head: &Sha,
) -> Result<DateTime<Utc>, StoreError> {
    if let Some(at) = find(tx, host, repository, head)? {
        return Ok(at);
    }
    tx.execute(
        "INSERT INTO heads_seen (host, repository, sha, seen_at) VALUES (:host, :name, :sha, :now)",
        named_params! {
            ":host": host, ":name": repository.to_string(), ":sha": head.as_str(), ":now": At(tx.now()),
        },
    )?;
    Ok(tx.now())
}

/// Forgets heads that were first seen longer ago than this. One that is still judged then is given its
/// first ten minutes again.
pub fn prune(tx: &WriteTx<'_>, kept: Duration) -> Result<usize, StoreError> {
    tx.execute(
        "DELETE FROM heads_seen WHERE seen_at < :before",
        named_params! { ":before": At(tx.now() - kept) },
    )
}
