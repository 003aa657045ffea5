//! What was done with power, as a chain: each row's hash covers the row before it.

use chrono::{DateTime, Utc};
use rusqlite::Row;
use sha2::{Digest, Sha256};

use super::sql::{self, utc_text};
use super::{ReadTx, StoreError, WriteTx};

/// One thing that was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    pub id: i64,
    pub at: DateTime<Utc>,
    /// Who did it: `person`, `runtime`, `agent:…`.
    pub actor: String,
    pub kind: String,
    pub subject: String,
    pub detail: String,
}

/// What reading the whole chain showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chain {
    Whole {
        rows: u64,
    },
    /// The first row whose hash does not fit.
    Broken {
        at: i64,
    },
}

/// Appends one row, chained to the last.
pub fn append(
    tx: &WriteTx<'_>,
    actor: &str,
    kind: &str,
    subject: &str,
    detail: &str,
) -> Result<i64, StoreError> {
    let previous: Option<String> =
        tx.query_opt("SELECT hash FROM audit ORDER BY id DESC LIMIT 1", [], |row| row.get("hash"))?;
    let previous = previous.unwrap_or_default();
    let at = utc_text(tx.now());
    let hash = chain(&previous, &[&at, actor, kind, subject, detail]);
    tx.insert(
        "INSERT INTO audit (at, actor, kind, subject, detail, previous, hash)
         VALUES (:at, :actor, :kind, :subject, :detail, :previous, :hash)",
        rusqlite::named_params! {
            ":at": at, ":actor": actor, ":kind": kind, ":subject": subject, ":detail": detail,
            ":previous": previous, ":hash": hash,
        },
    )
}

/// The newest rows, newest first, from behind the row `after`; of one kind or its family (`effect` has
/// `effect.done`), or of all.
pub fn page(
    tx: &ReadTx<'_>,
    kind: Option<&str>,
    after: Option<i64>,
    limit: u32,
) -> Result<Vec<AuditRow>, StoreError> {
    tx.query_all(
        "SELECT id, at, actor, kind, subject, detail FROM audit
         WHERE (:after IS NULL OR id < :after)
           AND (:kind IS NULL OR kind = :kind OR substr(kind, 1, length(:kind) + 1) = :kind || '.')
         ORDER BY id DESC LIMIT :limit",
        rusqlite::named_params! { ":kind": kind, ":after": after, ":limit": limit },
        read,
    )
}

/// Reads the chain from its start.
pub fn verify(tx: &ReadTx<'_>) -> Result<Chain, StoreError> {
    let mut statement = tx.prepare_cached(
        "SELECT id, at, actor, kind, subject, detail, previous, hash FROM audit ORDER BY id",
    )?;
    let mut rows = statement.query([])?;
    let (mut previous, mut count, mut id) = (String::new(), 0, 0);
    while let Some(row) = rows.next()? {
        // Ids count without a hole, so a row taken out of the middle shows even if both hashes fit.
        id += 1;
        let found: i64 = row.get("id")?;
        let text = |column: &str| row.get::<_, String>(column);
        let (at, actor, kind) = (text("at")?, text("actor")?, text("kind")?);
        let (subject, detail) = (text("subject")?, text("detail")?);
        let hash = chain(&previous, &[&at, &actor, &kind, &subject, &detail]);
        if found != id || text("previous")? != previous || text("hash")? != hash {
            return Ok(Chain::Broken { at: found });
        }
        previous = hash;
        count += 1;
    }
    // Rows cut off at the end leave the counter behind.
    let counted: i64 = tx
        .query_opt("SELECT seq FROM sqlite_sequence WHERE name = 'audit'", [], |row| row.get("seq"))?
        .unwrap_or(0);
    if counted != id {
        return Ok(Chain::Broken { at: id + 1 });
    }
    Ok(Chain::Whole { rows: count })
}

fn read(row: &Row<'_>) -> rusqlite::Result<AuditRow> {
    Ok(AuditRow {
        id: row.get("id")?,
        at: sql::time(row, "at")?,
        actor: row.get("actor")?,
        kind: row.get("kind")?,
        subject: row.get("subject")?,
        detail: row.get("detail")?,
    })
}

/// Lengths are hashed too, so that text cannot move from one field to the next.
fn chain(previous: &str, fields: &[&str]) -> String {
    let mut hash = Sha256::new();
    for field in std::iter::once(&previous).chain(fields) {
        hash.update((field.len() as u64).to_le_bytes());
        hash.update(field.as_bytes());
    }
    hex::encode(hash.finalize())
}
