//! Answers of GitHub with their ETags, so that an unchanged one costs nothing to ask for again.

use rusqlite::named_params;

use super::sql::At;
use super::{ReadTx, StoreError, WriteTx};

/// The largest body that is kept; a longer one is asked for in full each time.
pub const MAX_BODY: usize = 1024 * 1024;
/// What all bodies together may take.
pub const MAX_TOTAL: i64 = 64 * 1024 * 1024;

/// A whole answer that was parsed before it was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cached {
    pub etag: String,
    /// The `Link` header, which a 304 may leave out.
    pub link: Option<String>,
    pub body: Vec<u8>,
}

/// What is kept for this address, as this account saw it.
pub fn find(tx: &ReadTx<'_>, account: &str, url: &str) -> Result<Option<Cached>, StoreError> {
    tx.query_opt(
        "SELECT etag, link, body FROM http_cache WHERE account = :account AND url = :url",
        named_params! { ":account": account, ":url": url },
        |row| Ok(Cached { etag: row.get("etag")?, link: row.get("link")?, body: row.get("body")? }),
    )
}

/// Keeps an answer in place of the one before; a body over [`MAX_BODY`] only drops the old one. Room is made
/// by [`shrink`].
pub fn keep(tx: &WriteTx<'_>, account: &str, url: &str, cached: &Cached) -> Result<(), StoreError> {
    if cached.body.len() > MAX_BODY {
        return forget(tx, account, url);
    }
    tx.execute(
        "INSERT INTO http_cache (account, url, etag, link, body, fetched_at)
         VALUES (:account, :url, :etag, :link, :body, :at)
         ON CONFLICT (account, url) DO UPDATE SET
             etag = excluded.etag, link = excluded.link, body = excluded.body, fetched_at = excluded.fetched_at",
        named_params! {
            ":account": account, ":url": url, ":etag": cached.etag, ":link": cached.link,
            ":body": cached.body, ":at": At(tx.now()),
        },
    )?;
    Ok(())
}

/// Notes that GitHub confirmed the kept answer just now.
pub fn confirm(tx: &WriteTx<'_>, account: &str, url: &str) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE http_cache SET fetched_at = :at WHERE account = :account AND url = :url",
        named_params! { ":account": account, ":url": url, ":at": At(tx.now()) },
    )?;
    Ok(())
}

/// Forgets one answer, such as one that is gone from GitHub.
pub fn forget(tx: &WriteTx<'_>, account: &str, url: &str) -> Result<(), StoreError> {
    tx.execute(
        "DELETE FROM http_cache WHERE account = :account AND url = :url",
        named_params! { ":account": account, ":url": url },
    )?;
    Ok(())
}

/// Forgets everything of one account, as at sign-out.
pub fn forget_account(tx: &WriteTx<'_>, account: &str) -> Result<usize, StoreError> {
    tx.execute("DELETE FROM http_cache WHERE account = :account", named_params! { ":account": account })
}

/// Forgets the answers confirmed longest ago until the bodies together fit, and says how many went.
pub fn shrink(tx: &WriteTx<'_>, total: i64) -> Result<usize, StoreError> {
    let held: i64 =
        tx.query_row("SELECT coalesce(sum(length(body)), 0) AS held FROM http_cache", [], |row| {
            row.get("held")
        })?;
    if held <= total {
        return Ok(0);
    }
    // A tenth more goes, so that the next answer does not have to make room again.
    tx.execute(
        "DELETE FROM http_cache WHERE rowid IN (
             SELECT rowid FROM (
                 SELECT rowid, sum(length(body)) OVER (ORDER BY fetched_at DESC, rowid DESC) AS upto FROM http_cache
             ) WHERE upto > :total)",
        named_params! { ":total": total - total / 10 },
    )
}
