//! Findings of each review, what the person said of them, and the seat's words on frames.

use rusqlite::{Row, named_params};
use steward_rules::ids::{FrameId, ReviewId, TaskId};
pub use steward_rules::review::findings::{ExcerptLine, Finding, FindingMark, FindingState, Mark, Origin};
use steward_rules::untrusted::Untrusted;

use super::sql::{self, At};
use super::{ReadTx, StoreError, WriteTx, reviews};

/// One finding of one review, as the rules know it.
pub type FindingRow = Finding;
/// What the person said of one finding, and of which lines.
pub type MarkRow = FindingMark;

const COLUMNS: &str =
    "id, origin, state, since, title, file, line, why, check_text, severity, cited, excerpt";

/// Replaces the findings of a review.
pub fn record(tx: &WriteTx<'_>, review: ReviewId, findings: &[FindingRow]) -> Result<(), StoreError> {
    tx.execute("DELETE FROM findings WHERE review = :review", named_params! { ":review": review.0 })?;
    for (position, finding) in findings.iter().enumerate() {
        tx.execute(
            "INSERT INTO findings (review, position, id, origin, state, since, title, file, line, why, check_text,
                                   severity, cited, excerpt)
             VALUES (:review, :position, :id, :origin, :state, :since, :title, :file, :line, :why, :check,
                     :severity, :cited, :excerpt)
             ON CONFLICT (review, id) DO NOTHING",
            named_params! {
                ":review": review.0, ":position": position as i64, ":id": finding.id,
                ":origin": sql::to_word(&finding.origin)?, ":state": sql::to_word(&finding.state)?,
                ":since": finding.since.0, ":title": finding.title.as_data(), ":file": finding.file,
                ":line": finding.line, ":why": finding.why.as_data(), ":check": finding.check.as_data(), ":severity": finding.severity.as_ref().map(Untrusted::as_data),
                ":cited": finding.cited, ":excerpt": sql::to_json(&finding.excerpt)?,
            },
        )?;
    }
    reviews::topic(tx, review)
}

/// The findings of a review, in order.
pub fn of(tx: &ReadTx<'_>, review: ReviewId) -> Result<Vec<FindingRow>, StoreError> {
    tx.query_all(
        &format!("SELECT {COLUMNS} FROM findings WHERE review = :review ORDER BY position"),
        named_params! { ":review": review.0 },
        read,
    )
}

/// One finding of a review.
pub fn get(tx: &ReadTx<'_>, review: ReviewId, id: &str) -> Result<Option<FindingRow>, StoreError> {
    tx.query_opt(
        &format!("SELECT {COLUMNS} FROM findings WHERE review = :review AND id = :id"),
        named_params! { ":review": review.0, ":id": id },
        read,
    )
}

/// The findings of the task's newest review before `review` that published.
pub fn earlier(tx: &ReadTx<'_>, task: TaskId, review: ReviewId) -> Result<Vec<FindingRow>, StoreError> {
    let newest: Option<i64> = tx.query_row(
        "SELECT max(id) AS id FROM reviews WHERE task = :task AND id < :review AND state = 'published'",
        named_params! { ":task": task.0, ":review": review.0 },
        |row| row.get("id"),
    )?;
    newest.map_or(Ok(Vec::new()), |id| of(tx, ReviewId(id)))
}

/// Keeps what the person says of a finding of this review; `None` takes it back. False when the
/// review has no such finding.
pub fn set_mark(
    tx: &WriteTx<'_>,
    task: TaskId,
    review: ReviewId,
    finding: &str,
    mark: Option<Mark>,
) -> Result<bool, StoreError> {
    let Some(found) = get(tx, review, finding)? else { return Ok(false) };
    match mark {
        Some(mark) => tx.execute(
            "INSERT INTO finding_marks (task, finding, mark, cited, at) VALUES (:task, :finding, :mark, :cited, :now)
             ON CONFLICT (task, finding) DO UPDATE SET mark = excluded.mark, cited = excluded.cited, at = excluded.at",
            named_params! {
                ":task": task.0, ":finding": finding, ":mark": sql::to_word(&mark)?, ":cited": found.cited,
                ":now": At(tx.now()),
            },
        )?,
        None => tx.execute(
            "DELETE FROM finding_marks WHERE task = :task AND finding = :finding",
            named_params! { ":task": task.0, ":finding": finding },
        )?,
    };
    reviews::topic(tx, review)?;
    tx.topic(&format!("task:{task}"))?;
    Ok(true)
}

/// What the person said of the findings of a task.
pub fn marks(tx: &ReadTx<'_>, task: TaskId) -> Result<Vec<MarkRow>, StoreError> {
    tx.query_all(
        "SELECT finding, mark, cited FROM finding_marks WHERE task = :task ORDER BY finding",
        named_params! { ":task": task.0 },
        |row| {
            Ok(MarkRow {
                finding: row.get("finding")?,
                cited: row.get("cited")?,
                mark: sql::word(row, "mark")?,
            })
        },
    )
}

/// Keeps what the seat saw on a frame.
pub fn observe(tx: &WriteTx<'_>, review: ReviewId, frame: FrameId, text: &str) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO frame_observations (review, frame, observation) VALUES (:review, :frame, :text)
         ON CONFLICT (review, frame) DO UPDATE SET observation = excluded.observation",
        named_params! { ":review": review.0, ":frame": frame.0, ":text": text },
    )?;
    Ok(())
}

/// What the seat saw on each frame.
pub fn observations(tx: &ReadTx<'_>, review: ReviewId) -> Result<Vec<(FrameId, String)>, StoreError> {
    tx.query_all(
        "SELECT frame, observation FROM frame_observations WHERE review = :review ORDER BY frame",
        named_params! { ":review": review.0 },
        |row| Ok((FrameId(row.get("frame")?), row.get("observation")?)),
    )
}

fn read(row: &Row<'_>) -> rusqlite::Result<FindingRow> {
    Ok(FindingRow {
        id: row.get("id")?,
        origin: sql::word(row, "origin")?,
        state: sql::word(row, "state")?,
        since: ReviewId(row.get("since")?),
        title: Untrusted::new(row.get::<_, String>("title")?),
        file: row.get("file")?,
        line: row.get("line")?,
        why: Untrusted::new(row.get::<_, String>("why")?),
        check: Untrusted::new(row.get::<_, String>("check_text")?),
        severity: row.get::<_, Option<String>>("severity")?.map(Untrusted::new),
        cited: row.get("cited")?,
        excerpt: sql::json(row, "excerpt")?,
    })
}
