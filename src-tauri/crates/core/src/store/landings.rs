//! Merges of watched pull requests: seen, proven once, and what came of it.

use chrono::{DateTime, Utc};
use rusqlite::{Row, named_params};
use serde::{Deserialize, Serialize};
use steward_rules::diff::RepoPath;
use steward_rules::ids::{PullNumber, RepoName, Sha};

use super::pulls::PullRow;
use super::repositories::RepositoryId;
use super::sql::{self, At};
use super::{ReadTx, StoreError, WriteTx};

/// Paths of a difference that are kept by name.
const PATHS: usize = 50;

/// How far the proof of a merge has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Not looked at yet, or to be looked at again.
    Waiting,
    Proven,
    Different,
    /// Left to the person.
    Undecided,
}

/// One merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LandingRow {
    pub repository: RepositoryId,
    pub host: String,
    /// As config.yaml has it.
    pub name: RepoName,
    pub number: PullNumber,
    pub base_branch: String,
    /// What the base was known to hold while it was open.
    pub base: Option<Sha>,
    pub state: State,
    pub landed: Option<Sha>,
    pub method: Option<String>,
    pub merged_at: Option<DateTime<Utc>>,
    /// Where it differs, the first of them, as a person may read it.
    pub paths: Vec<String>,
    pub path_count: u32,
    pub why: Option<String>,
    pub detail: Option<String>,
    pub tries: u32,
    pub retry_at: Option<DateTime<Utc>>,
    pub seen_at: DateTime<Utc>,
}

/// What GitHub says of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub head: Sha,
    pub landed: Sha,
    pub base_branch: String,
    pub merged_at: DateTime<Utc>,
}

/// How a proof ended.
#[derive(Debug, Clone, Copy)]
pub enum End<'a> {
    Proven,
    Different(&'a [RepoPath]),
    /// For good.
    Undecided {
        why: &'a str,
        detail: &'a str,
    },
}

const COLUMNS: &str =
    "l.repository, r.host, r.name, l.number, l.base_branch, l.base, l.state, l.landed, l.method,
    l.merged_at, l.paths, l.path_count, l.why, l.detail, l.tries, l.retry_at, l.seen_at";

/// Takes note that a pull request was merged that was open before; once for ever.
pub fn seen(tx: &WriteTx<'_>, before: &PullRow, after: &PullRow) -> Result<(), StoreError> {
    // What was known of another base says nothing about this one.
    let base = (before.base_branch == after.base_branch).then(|| before.base.as_str());
    let made = tx.execute(
        "INSERT INTO landings (repository, number, base_branch, base, state, seen_at)
         VALUES (:repository, :number, :branch, :base, 'waiting', :now)
         ON CONFLICT (repository, number) DO NOTHING",
        named_params! {
            ":repository": after.repository.0, ":number": after.number.0, ":branch": after.base_branch,
            ":base": base, ":now": At(tx.now()),
        },
    )?;
    if made > 0 { tx.topic("landings") } else { Ok(()) }
}

/// One merge.
pub fn get(
    tx: &ReadTx<'_>,
    repository: RepositoryId,
    number: PullNumber,
) -> Result<Option<LandingRow>, StoreError> {
    tx.query_opt(
        &format!(
            "SELECT {COLUMNS} FROM landings l JOIN repositories r ON r.id = l.repository
             WHERE l.repository = :repository AND l.number = :number"
        ),
        named_params! { ":repository": repository.0, ":number": number.0 },
        read,
    )
}

/// Everything that is to be proven, what waits longest first.
pub fn waiting(tx: &ReadTx<'_>) -> Result<Vec<LandingRow>, StoreError> {
    tx.query_all(
        &format!(
            "SELECT {COLUMNS} FROM landings l JOIN repositories r ON r.id = l.repository
             WHERE l.state = 'waiting' ORDER BY l.retry_at, l.seen_at, l.number"
        ),
        [],
        read,
    )
}

/// The newest commit that is proven to have landed on this branch before then.
pub fn newest_before(
    tx: &ReadTx<'_>,
    repository: RepositoryId,
    branch: &str,
    before: DateTime<Utc>,
) -> Result<Option<Sha>, StoreError> {
    tx.query_opt(
        "SELECT landed FROM landings
         WHERE repository = :repository AND base_branch = :branch AND state = 'proven' AND merged_at < :before
         ORDER BY merged_at DESC LIMIT 1",
        named_params! { ":repository": repository.0, ":branch": branch, ":before": At(before) },
        |row| sql::sha(row, "landed"),
    )
}

/// Keeps what GitHub says of a merge.
pub fn said(tx: &WriteTx<'_>, row: &LandingRow, said: &Said) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE landings SET head = :head, landed = :landed, base_branch = :branch, merged_at = :merged_at,
                base = CASE WHEN base_branch = :branch THEN base END
         WHERE repository = :repository AND number = :number AND state = 'waiting'",
        named_params! {
            ":head": said.head.as_str(), ":landed": said.landed.as_str(), ":branch": said.base_branch,
            ":merged_at": At(said.merged_at), ":repository": row.repository.0, ":number": row.number.0,
        },
    )?;
    Ok(())
}

/// Notes that nothing is proven yet. `tried` counts against the patience.
pub fn wait(
    tx: &WriteTx<'_>,
    row: &LandingRow,
    why: &str,
    detail: &str,
    until: DateTime<Utc>,
    tried: bool,
) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE landings SET why = :why, detail = :detail, retry_at = :until, tries = tries + :tried
         WHERE repository = :repository AND number = :number AND state = 'waiting'",
        named_params! {
            ":why": why, ":detail": detail, ":until": At(until), ":tried": tried,
            ":repository": row.repository.0, ":number": row.number.0,
        },
    )?;
    Ok(())
}

/// Ends a proof; false when it was ended before.
pub fn settle(
    tx: &WriteTx<'_>,
    row: &LandingRow,
    method: Option<&str>,
    end: End<'_>,
) -> Result<bool, StoreError> {
    let (state, paths, why, detail) = match end {
        End::Proven => (State::Proven, &[][..], None, None),
        End::Different(paths) => (State::Different, paths, None, None),
        End::Undecided { why, detail } => (State::Undecided, &[][..], Some(why), Some(detail)),
    };
    let shown: Vec<String> = paths
        .iter()
        .take(PATHS)
        .map(|path| steward_rules::untrusted::Untrusted::new(path.shown()).one_line(200))
        .collect();
    let changed = tx.execute(
        "UPDATE landings SET state = :state, method = :method, paths = :paths, path_count = :count, why = :why,
                detail = :detail, retry_at = NULL, settled_at = :now
         WHERE repository = :repository AND number = :number AND state = 'waiting'",
        named_params! {
            ":state": sql::to_word(&state)?, ":method": method, ":paths": sql::to_json(&shown)?,
            ":count": u32::try_from(paths.len()).unwrap_or(u32::MAX), ":why": why, ":detail": detail,
            ":now": At(tx.now()), ":repository": row.repository.0, ":number": row.number.0,
        },
    )?;
    Ok(changed == 1)
}

/// The merges of a repository that did not make what they must, newest first.
pub fn different(tx: &ReadTx<'_>, repository: RepositoryId) -> Result<Vec<LandingRow>, StoreError> {
    tx.query_all(
        &format!(
            "SELECT {COLUMNS} FROM landings l JOIN repositories r ON r.id = l.repository
             WHERE l.repository = :repository AND l.state = 'different' ORDER BY l.settled_at DESC, l.number DESC"
        ),
        named_params! { ":repository": repository.0 },
        read,
    )
}

/// Forgets merges that were settled before then. What differed is kept.
pub fn prune(tx: &WriteTx<'_>, before: DateTime<Utc>) -> Result<usize, StoreError> {
    tx.execute(
        "DELETE FROM landings WHERE state IN ('proven', 'undecided') AND settled_at < :before",
        named_params! { ":before": At(before) },
    )
}

/// Why nothing is merged in a repository, and since when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Freeze {
    pub why: String,
    pub at: DateTime<Utc>,
}

/// The freeze of a repository, if there is one.
pub fn frozen(tx: &ReadTx<'_>, host: &str, name: &RepoName) -> Result<Option<Freeze>, StoreError> {
    tx.query_opt(
        "SELECT why, at FROM freezes WHERE host = :host AND repository = :name",
        named_params! { ":host": host, ":name": name.to_string() },
        |row| Ok(Freeze { why: row.get("why")?, at: sql::time(row, "at")? }),
    )
}

/// Freezes merging in a repository; one that is frozen keeps its first cause. True when it was not.
pub fn freeze(tx: &WriteTx<'_>, host: &str, name: &RepoName, why: &str) -> Result<bool, StoreError> {
    let made = tx.execute(
        "INSERT INTO freezes (host, repository, why, at) VALUES (:host, :name, :why, :now)
         ON CONFLICT (host, repository) DO NOTHING",
        named_params! { ":host": host, ":name": name.to_string(), ":why": why, ":now": At(tx.now()) },
    )?;
    tx.topic("repositories")?;
    Ok(made == 1)
}

/// Lifts the freeze of a repository; false when there was none.
pub fn unfreeze(tx: &WriteTx<'_>, host: &str, name: &RepoName) -> Result<bool, StoreError> {
    let lifted = tx.execute(
        "DELETE FROM freezes WHERE host = :host AND repository = :name",
        named_params! { ":host": host, ":name": name.to_string() },
    )?;
    tx.topic("repositories")?;
    Ok(lifted == 1)
}

fn read(row: &Row<'_>) -> rusqlite::Result<LandingRow> {
    Ok(LandingRow {
        repository: RepositoryId(row.get("repository")?),
        host: row.get("host")?,
        name: sql::repo_name(row, "name")?,
        number: PullNumber(row.get("number")?),
        base_branch: row.get("base_branch")?,
        base: sql::sha_opt(row, "base")?,
        state: sql::word(row, "state")?,
        landed: sql::sha_opt(row, "landed")?,
        method: row.get("method")?,
        merged_at: sql::time_opt(row, "merged_at")?,
        paths: sql::json(row, "paths")?,
        path_count: row.get("path_count")?,
        why: row.get("why")?,
        detail: row.get("detail")?,
        tries: row.get("tries")?,
        retry_at: sql::time_opt(row, "retry_at")?,
        seen_at: sql::time(row, "seen_at")?,
    })
}
