//! Findings of each review, what the person said of them, and the seat's words on frames.

use rusqlite::{Row, named_params};
use serde::{Deserialize, Serialize};
use steward_rules::ids::{FrameId, ReviewId, TaskId};

use super::sql::{self, At};
use super::{ReadTx, StoreError, WriteTx, reviews};

/// Who made a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    Seat,
    Steward,
}

/// Where a finding stands in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingState {
    New,
    Open,
    Fixed,
    Answered,
}

/// What the person said of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    Answered,
    WontFix,
}

/// One line around a finding, at the head. Text as git has it; escaped where it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExcerptRow {
    pub number: u32,
    pub text: String,
    pub cited: bool,
    pub added: bool,
}

/// One finding of one review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingRow {
    /// Stable over the reviews of a task.
    pub id: String,
    pub origin: Origin,
    pub state: FindingState,
    /// The review that first had it.
    pub since: Option<ReviewId>,
    pub title: String,
    pub file: String,
    pub line: u32,
    pub why: String,
    pub check: String,
    pub severity: Option<String>,
    /// Hash of the cited lines at the head.
    pub cited: String,
    pub excerpt: Vec<ExcerptRow>,
}

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
                ":since": finding.since.map(|id| id.0), ":title": finding.title, ":file": finding.file,
                ":line": finding.line, ":why": finding.why, ":check": finding.check, ":severity": finding.severity,
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

/// The findings of the task's newest review that published, before `review`, and that review's number.
pub fn earlier(
    tx: &ReadTx<'_>,
    task: TaskId,
    review: ReviewId,
) -> Result<Option<(ReviewId, Vec<FindingRow>)>, StoreError> {
    let newest: Option<i64> = tx.query_row(
        "SELECT max(id) AS id FROM reviews WHERE task = :task AND id < :review AND state = 'published'",
        named_params! { ":task": task.0, ":review": review.0 },
        |row| row.get("id"),
    )?;
    newest.map(|id| Ok((ReviewId(id), of(tx, ReviewId(id))?))).transpose()
}

/// Says of a finding what the person said; `None` takes it back.
pub fn set_mark(
    tx: &WriteTx<'_>,
    task: TaskId,
    finding: &str,
    cited: &str,
    mark: Option<Mark>,
) -> Result<(), StoreError> {
    match mark {
        Some(mark) => tx.execute(
            "INSERT INTO finding_marks (task, finding, mark, cited, at) VALUES (:task, :finding, :mark, :cited, :now)
             ON CONFLICT (task, finding) DO UPDATE SET mark = excluded.mark, cited = excluded.cited, at = excluded.at",
            named_params! {
                ":task": task.0, ":finding": finding, ":mark": sql::to_word(&mark)?, ":cited": cited,
                ":now": At(tx.now()),
            },
        )?,
        None => tx.execute(
            "DELETE FROM finding_marks WHERE task = :task AND finding = :finding",
            named_params! { ":task": task.0, ":finding": finding },
        )?,
    };
    tx.topic("reviews")?;
    tx.topic(&format!("task:{task}"))
}

/// One mark: the finding, the cited lines it was said of, and the word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkRow {
    pub finding: String,
    pub cited: String,
    pub mark: Mark,
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
        since: row.get::<_, Option<i64>>("since")?.map(ReviewId),
        title: row.get("title")?,
        file: row.get("file")?,
        line: row.get("line")?,
        why: row.get("why")?,
        check: row.get("check_text")?,
        severity: row.get("severity")?,
        cited: row.get("cited")?,
        excerpt: sql::json(row, "excerpt")?,
    })
}
