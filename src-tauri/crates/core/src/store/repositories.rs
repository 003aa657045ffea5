//! Watched repositories as GitHub last showed them, and how the last look at each went.

use chrono::{DateTime, Utc};
use rusqlite::{Row, named_params};
use steward_rules::ids::{RepoName, Sha};
pub use steward_rules::observing::Progress;

use super::sql::{self, At};
use super::{ReadTx, StoreError, WriteTx};

/// Number of a watched repository's row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RepositoryId(pub i64);

/// Why the last look at a repository was not whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// One word that never changes, as [`crate::github::GitHubError::slug`] gives it.
    pub slug: String,
    /// A sentence of ours.
    pub detail: String,
    /// The next step.
    pub hint: String,
}

/// What GitHub says a repository is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    pub node_id: String,
    /// Its name now, when it is not the one in config.yaml.
    pub now_called: Option<String>,
    pub default_branch: Option<String>,
    /// Where that branch ended at the last look.
    pub default_tip: Option<Sha>,
    pub private: bool,
    pub archived: bool,
    /// `READ` … `ADMIN`; `None` when GitHub does not say.
    pub permission: Option<String>,
}

/// One watched repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryRow {
    pub id: RepositoryId,
    pub host: String,
    /// As config.yaml has it.
    pub name: RepoName,
    /// `None` until it was seen for the first time.
    pub seen: Option<Description>,
    pub observed_at: Option<DateTime<Utc>>,
    pub tried_at: Option<DateTime<Utc>>,
    pub progress: Progress,
    pub fault: Option<Fault>,
}

const COLUMNS: &str =
    "r.id, r.host, r.name, r.node_id, r.now_called, r.default_branch, r.default_tip, r.private, r.archived,
    r.permission,
    r.observed_at, r.tried_at, r.listed_at, r.searched_to, r.extra_pulls, r.extra_issues, r.fault, r.fault_detail,
    r.fault_hint";

/// The row of a repository of the config file; made at its first use.
pub fn ensure(tx: &WriteTx<'_>, host: &str, name: &RepoName) -> Result<RepositoryRow, StoreError> {
    if let Some(found) = find(tx, host, name)? {
        return Ok(found);
    }
    tx.execute(
        "INSERT INTO repositories (host, name) VALUES (:host, :name)",
        named_params! { ":host": host.to_ascii_lowercase(), ":name": name.to_string() },
    )?;
    find(tx, host, name)?.ok_or_else(|| StoreError::Value(format!("no row of {name}")))
}

/// The row of a repository.
pub fn find(tx: &ReadTx<'_>, host: &str, name: &RepoName) -> Result<Option<RepositoryRow>, StoreError> {
    tx.query_opt(
        &format!("SELECT {COLUMNS} FROM repositories r WHERE r.host = :host AND r.name = :name"),
        named_params! { ":host": host, ":name": name.to_string() },
        read,
    )
}

/// Every repository that was looked at once.
pub fn looked_at(tx: &ReadTx<'_>) -> Result<Vec<RepositoryRow>, StoreError> {
    tx.query_all(
        &format!("SELECT {COLUMNS} FROM repositories r WHERE r.observed_at IS NOT NULL ORDER BY r.id"),
        named_params! {},
        read,
    )
}

/// The default branch of every repository of which GitHub named it: host, name and branch.
pub fn default_branches(tx: &ReadTx<'_>) -> Result<Vec<(String, RepoName, String)>, StoreError> {
    tx.query_all(
        "SELECT host, name, default_branch FROM repositories WHERE default_branch IS NOT NULL",
        [],
        |row| Ok((row.get("host")?, sql::repo_name(row, "name")?, row.get("default_branch")?)),
    )
}

/// Records what GitHub says the repository is.
pub fn describe(tx: &WriteTx<'_>, id: RepositoryId, seen: &Description) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE repositories SET node_id = :node_id, now_called = :now_called, default_branch = :branch,
                default_tip = :tip, private = :private, archived = :archived, permission = :permission
         WHERE id = :id",
        named_params! {
            ":node_id": seen.node_id, ":now_called": seen.now_called, ":branch": seen.default_branch, ":tip": seen.default_tip.as_ref().map(Sha::as_str),
            ":private": seen.private, ":archived": seen.archived, ":permission": seen.permission, ":id": id.0,
        },
    )?;
    Ok(())
}

/// Records a whole observation.
pub fn observed(tx: &WriteTx<'_>, id: RepositoryId, progress: &Progress) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE repositories SET observed_at = :now, tried_at = :now, fault = NULL, fault_detail = NULL,
                fault_hint = NULL,
                listed_at = :listed_at, searched_to = :searched_to, extra_pulls = :pulls, extra_issues = :issues
         WHERE id = :id",
        named_params! {
            ":now": At(tx.now()), ":listed_at": progress.listed_at.map(At),
            ":searched_to": progress.searched_to.map(At), ":pulls": progress.extra_pulls,
            ":issues": progress.extra_issues, ":id": id.0,
        },
    )?;
    Ok(())
}

/// Records an attempt that did not see everything. What is known stays, and grows older.
pub fn failed(tx: &WriteTx<'_>, id: RepositoryId, fault: &Fault) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE repositories SET tried_at = :now, fault = :fault, fault_detail = :detail, fault_hint = :hint
         WHERE id = :id",
        named_params! {
            ":now": At(tx.now()), ":fault": fault.slug, ":detail": fault.detail, ":hint": fault.hint,
            ":id": id.0,
        },
    )?;
    Ok(())
}

/// What goes with a repository when it is removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Known {
    pub pulls: u32,
    pub issues: u32,
}

/// How many pull requests and issues are kept of a repository, open or not.
pub fn known(tx: &ReadTx<'_>, id: RepositoryId) -> Result<Known, StoreError> {
    counted(tx, id, "state IS NOT NULL")
}

/// How many pull requests and issues of a repository are open.
pub fn open(tx: &ReadTx<'_>, id: RepositoryId) -> Result<Known, StoreError> {
    counted(tx, id, "state = 'open'")
}

fn counted(tx: &ReadTx<'_>, id: RepositoryId, which: &str) -> Result<Known, StoreError> {
    tx.query_row(
        &format!(
            "SELECT (SELECT count(*) FROM pulls WHERE repository = :id AND {which}) AS pulls,
                    (SELECT count(*) FROM issues WHERE repository = :id AND {which}) AS issues"
        ),
        named_params! { ":id": id.0 },
        |row| Ok(Known { pulls: row.get("pulls")?, issues: row.get("issues")? }),
    )
}

/// Forgets what was observed of a repository; true when there was a row. Its tasks and reviews stay.
pub fn remove(tx: &WriteTx<'_>, host: &str, name: &RepoName) -> Result<bool, StoreError> {
    let removed = tx.execute(
        "DELETE FROM repositories WHERE host = :host AND name = :name",
        named_params! { ":host": host, ":name": name.to_string() },
    )?;
    tx.topic("repositories")?;
    Ok(removed == 1)
}

fn read(row: &Row<'_>) -> rusqlite::Result<RepositoryRow> {
    let name = sql::repo_name(row, "name")?;
    let seen = match row.get::<_, Option<String>>("node_id")? {
        None => None,
        Some(node_id) => Some(Description {
            node_id,
            now_called: row.get("now_called")?,
            default_branch: row.get("default_branch")?,
            default_tip: sql::sha_opt(row, "default_tip")?,
            private: row.get::<_, Option<bool>>("private")?.unwrap_or(true),
            archived: row.get::<_, Option<bool>>("archived")?.unwrap_or(false),
            permission: row.get("permission")?,
        }),
    };
    let fault = match row.get::<_, Option<String>>("fault")? {
        None => None,
        Some(slug) => Some(Fault {
            slug,
            detail: row.get::<_, Option<String>>("fault_detail")?.unwrap_or_default(),
            hint: row.get::<_, Option<String>>("fault_hint")?.unwrap_or_default(),
        }),
    };
    Ok(RepositoryRow {
        id: RepositoryId(row.get("id")?),
        host: row.get("host")?,
        name,
        seen,
        observed_at: sql::time_opt(row, "observed_at")?,
        tried_at: sql::time_opt(row, "tried_at")?,
        progress: Progress {
            listed_at: sql::time_opt(row, "listed_at")?,
            searched_to: sql::time_opt(row, "searched_to")?,
            extra_pulls: row.get("extra_pulls")?,
            extra_issues: row.get("extra_issues")?,
        },
        fault,
    })
}
