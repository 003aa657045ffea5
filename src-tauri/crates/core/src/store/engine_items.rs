//! Every pull request and issue that the engine follows: class, next step, counters (engine.md 15).

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use rusqlite::{Row, named_params};
use serde::{Deserialize, Serialize};
use steward_rules::engine::facts::Compare;
use steward_rules::engine::memory::HeadSeen;
use steward_rules::engine::retry::Attempts;
use steward_rules::engine::supersede::Stage;
use steward_rules::ids::Sha;
use steward_rules::reading::{Cause, Reading};
use steward_rules::untrusted::Untrusted;

use super::repositories::RepositoryId;
use super::sql::{self, At};
use super::{ReadTx, StoreError, WriteTx};

/// What is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    Pr,
    Issue,
}

/// How a pull request or issue ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemEnd {
    Merged,
    Closed,
}

/// How a pull request stands to its base since that moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseMove {
    /// The base it was compared with, and the head.
    pub base: Sha,
    pub head: Sha,
    pub compare: Reading<Compare>,
}

/// One item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemRow {
    pub kind: ItemKind,
    pub number: i64,
    /// Slug of its class.
    pub class: String,
    /// What makes it so, in one sentence.
    pub class_reason: String,
    /// Slug of the next step.
    pub decision: String,
    /// The next step and why, in one sentence.
    pub state: String,
    pub not_before: Option<DateTime<Utc>>,
    /// What was done last, in one sentence, and when.
    pub last_action: Option<(String, DateTime<Utc>)>,
    pub head: Option<HeadSeen>,
    pub behind_since: Option<DateTime<Utc>>,
    pub attempts: Attempts,
    /// The end of the last evidence, redacted.
    pub evidence: Option<String>,
    pub rebases: u32,
    pub unprocessable: u32,
    /// Effects that ended until then were taken into account.
    pub outcome_seen: Option<DateTime<Utc>>,
    /// The newest ended task that was taken into account.
    pub task_seen: i64,
    pub reviewed_head: Option<Sha>,
    pub pushed_head: Option<Sha>,
    pub supersede: Option<Stage>,
    /// Why superseding goes no further, in one sentence.
    pub stopped: Option<String>,
    /// What was asked on the issue, oldest first.
    pub questions: Vec<Untrusted>,
    pub asked_at: Option<DateTime<Utc>>,
    pub declined_at: Option<DateTime<Utc>>,
    pub stuck: bool,
    /// What the observer showed when it was last read whole.
    pub sight: Option<String>,
    pub compare: Option<BaseMove>,
    /// A person asked for a try then.
    pub try_at: Option<DateTime<Utc>>,
    pub ended: Option<ItemEnd>,
    /// Nothing is left to do after its end.
    pub settled: bool,
    pub updated_at: DateTime<Utc>,
}

impl ItemRow {
    /// One that was never seen before.
    pub fn fresh(kind: ItemKind, number: i64, now: DateTime<Utc>) -> Self {
        Self {
            kind,
            number,
            class: String::new(),
            class_reason: String::new(),
            decision: String::new(),
            state: String::new(),
            not_before: None,
            last_action: None,
            head: None,
            behind_since: None,
            attempts: Attempts::default(),
            evidence: None,
            rebases: 0,
            unprocessable: 0,
            outcome_seen: None,
            task_seen: 0,
            reviewed_head: None,
            pushed_head: None,
            supersede: None,
            stopped: None,
            questions: Vec::new(),
            asked_at: None,
            declined_at: None,
            stuck: false,
            sight: None,
            compare: None,
            try_at: None,
            ended: None,
            settled: false,
            updated_at: now,
        }
    }
}

/// An item, or why its row cannot be read. Nothing is done about one that cannot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptItem {
    pub kind: ItemKind,
    pub number: i64,
    pub row: Reading<ItemRow>,
}

/// The titles of everything in a repository that was ever open while it was watched.
pub fn titles(
    tx: &ReadTx<'_>,
    repository: RepositoryId,
) -> Result<BTreeMap<(ItemKind, i64), Untrusted>, StoreError> {
    let found = tx.query_all(
        "SELECT 'pr' AS kind, number, title FROM pulls WHERE repository = :repository
         UNION ALL SELECT 'issue' AS kind, number, title FROM issues WHERE repository = :repository",
        named_params! { ":repository": repository.0 },
        |row| {
            let title = Untrusted::new(row.get::<_, String>("title")?);
            Ok(((sql::word(row, "kind")?, row.get("number")?), title))
        },
    )?;
    Ok(found.into_iter().collect())
}

const COLUMNS: &str = "kind, number, class, class_reason, decision, state, not_before, last_action, last_action_at, head, head_since,
    head_seen_at, behind_since, attempts, evidence, rebases, unprocessable, outcome_seen, task_seen, reviewed_head,
    pushed_head, supersede, stopped, questions, asked_at, declined_at, stuck, sight, compare, try_at, ended, settled, updated_at";

/// One item; `None` when it is not followed yet.
pub fn get(
    tx: &ReadTx<'_>,
    repository: RepositoryId,
    kind: ItemKind,
    number: i64,
) -> Result<Option<Reading<ItemRow>>, StoreError> {
    let found = tx.query_opt(
        &format!(
            "SELECT {COLUMNS} FROM engine_items
             WHERE repository = :repository AND kind = :kind AND number = :number"
        ),
        named_params! { ":repository": repository.0, ":kind": sql::to_word(&kind)?, ":number": number },
        |row| Ok(kept(row)),
    )?;
    Ok(found)
}

/// The items of a repository that are followed or whose end leaves something to do, by kind and number.
pub fn open_of(tx: &ReadTx<'_>, repository: RepositoryId) -> Result<Vec<KeptItem>, StoreError> {
    tx.query_all(
        &format!(
            "SELECT {COLUMNS} FROM engine_items
             WHERE repository = :repository AND (ended IS NULL OR settled = 0) ORDER BY kind DESC, number"
        ),
        named_params! { ":repository": repository.0 },
        |row| Ok(KeptItem { kind: sql::word(row, "kind")?, number: row.get("number")?, row: kept(row) }),
    )
}

/// Writes an item. When a person asked for a try is another's to say.
pub fn put(tx: &WriteTx<'_>, repository: RepositoryId, row: &ItemRow) -> Result<(), StoreError> {
    let head = row.head.as_ref();
    let action = row.last_action.as_ref();
    tx.execute(
        "INSERT INTO engine_items (repository, kind, number, class, class_reason, decision, state, not_before, last_action,
             last_action_at, head, head_since, head_seen_at, behind_since, attempts, evidence, rebases, unprocessable,
             outcome_seen, task_seen, reviewed_head, pushed_head, supersede, stopped, questions, asked_at, declined_at, stuck,
             sight, compare, ended, settled, updated_at)
         VALUES (:repository, :kind, :number, :class, :class_reason, :decision, :state, :not_before, :action, :action_at, :head,
             :head_since, :head_seen_at, :behind_since, :attempts, :evidence, :rebases, :unprocessable, :outcome_seen,
             :task_seen, :reviewed_head, :pushed_head, :supersede, :stopped, :questions, :asked_at, :declined_at, :stuck, :sight,
             :compare, :ended, :settled, :updated_at)
         ON CONFLICT (repository, kind, number) DO UPDATE SET
             class = excluded.class, class_reason = excluded.class_reason, decision = excluded.decision, state = excluded.state,
             not_before = excluded.not_before, last_action = excluded.last_action,
             last_action_at = excluded.last_action_at, head = excluded.head, head_since = excluded.head_since,
             head_seen_at = excluded.head_seen_at, behind_since = excluded.behind_since, attempts = excluded.attempts,
             evidence = excluded.evidence, rebases = excluded.rebases, unprocessable = excluded.unprocessable,
             outcome_seen = excluded.outcome_seen, task_seen = excluded.task_seen,
             reviewed_head = excluded.reviewed_head, pushed_head = excluded.pushed_head,
             supersede = excluded.supersede, stopped = excluded.stopped, questions = excluded.questions, asked_at = excluded.asked_at,
             declined_at = excluded.declined_at, stuck = excluded.stuck, sight = excluded.sight,
             compare = excluded.compare, ended = excluded.ended, settled = excluded.settled,
             updated_at = excluded.updated_at",
        named_params! {
            ":repository": repository.0, ":kind": sql::to_word(&row.kind)?, ":number": row.number,
            ":class": row.class, ":class_reason": row.class_reason, ":decision": row.decision, ":state": row.state,
            ":not_before": row.not_before.map(At), ":action": action.map(|(what, _)| what),
            ":action_at": action.map(|(_, at)| At(*at)), ":head": head.map(|seen| seen.sha.as_str()),
            ":head_since": head.map(|seen| At(seen.first_seen_at)),
            ":head_seen_at": head.map(|seen| At(seen.last_seen_at)), ":behind_since": row.behind_since.map(At),
            ":attempts": sql::to_json(&row.attempts)?, ":evidence": row.evidence, ":rebases": row.rebases,
            ":unprocessable": row.unprocessable, ":outcome_seen": row.outcome_seen.map(At), ":task_seen": row.task_seen,
            ":reviewed_head": row.reviewed_head.as_ref().map(Sha::as_str),
            ":pushed_head": row.pushed_head.as_ref().map(Sha::as_str),
            ":supersede": row.supersede.as_ref().map(sql::to_json).transpose()?,
            ":stopped": row.stopped, ":questions": sql::to_json(&row.questions)?, ":asked_at": row.asked_at.map(At),
            ":declined_at": row.declined_at.map(At), ":stuck": row.stuck, ":sight": row.sight,
            ":compare": row.compare.as_ref().map(sql::to_json).transpose()?,
            ":ended": row.ended.as_ref().map(sql::to_word).transpose()?, ":settled": row.settled,
            ":updated_at": At(row.updated_at),
        },
    )?;
    Ok(())
}

/// Keeps that a person asks for a try now; false when the item is not followed.
pub fn ask_try(
    tx: &WriteTx<'_>,
    repository: RepositoryId,
    kind: ItemKind,
    number: i64,
) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE engine_items SET try_at = :now
         WHERE repository = :repository AND kind = :kind AND number = :number AND ended IS NULL",
        named_params! {
            ":now": At(tx.now()), ":repository": repository.0, ":kind": sql::to_word(&kind)?, ":number": number,
        },
    )?;
    Ok(changed > 0)
}

/// Forgets that a person asked for a try; false when nobody did, or a tick has fulfilled it.
pub fn leave_try(
    tx: &WriteTx<'_>,
    repository: RepositoryId,
    kind: ItemKind,
    number: i64,
) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE engine_items SET try_at = NULL
         WHERE repository = :repository AND kind = :kind AND number = :number AND try_at IS NOT NULL",
        named_params! { ":repository": repository.0, ":kind": sql::to_word(&kind)?, ":number": number },
    )?;
    Ok(changed > 0)
}

/// Takes the wish for a try that a tick fulfils; one that came since stays.
pub fn take_try(
    tx: &WriteTx<'_>,
    repository: RepositoryId,
    kind: ItemKind,
    number: i64,
    asked_at: DateTime<Utc>,
) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE engine_items SET try_at = NULL
         WHERE repository = :repository AND kind = :kind AND number = :number AND try_at = :asked",
        named_params! {
            ":repository": repository.0, ":kind": sql::to_word(&kind)?, ":number": number, ":asked": At(asked_at),
        },
    )?;
    Ok(())
}

/// When the first of a repository's items came or comes due after the last tick; `None` when none has a time.
pub fn next_due(
    tx: &ReadTx<'_>,
    repository: RepositoryId,
    after: Option<DateTime<Utc>>,
) -> Result<Option<DateTime<Utc>>, StoreError> {
    tx.query_row(
        "SELECT min(not_before) AS due FROM engine_items
         WHERE repository = :repository AND ended IS NULL AND not_before > :after",
        named_params! { ":repository": repository.0, ":after": At(after.unwrap_or(DateTime::UNIX_EPOCH)) },
        |row| sql::time_opt(row, "due"),
    )
}

/// True when a person asked for a try of any of them since then: what the last tick could not fulfil waits for the
/// next look.
pub fn is_tried(
    tx: &ReadTx<'_>,
    repository: RepositoryId,
    since: Option<DateTime<Utc>>,
) -> Result<bool, StoreError> {
    tx.query_row(
        "SELECT EXISTS (SELECT 1 FROM engine_items
                        WHERE repository = :repository AND try_at > :since AND ended IS NULL) AS asked",
        named_params! { ":repository": repository.0, ":since": At(since.unwrap_or(DateTime::UNIX_EPOCH)) },
        |row| row.get("asked"),
    )
}

/// Forgets what ended and was settled before then.
pub fn prune(tx: &WriteTx<'_>, before: DateTime<Utc>) -> Result<usize, StoreError> {
    tx.execute(
        "DELETE FROM engine_items WHERE ended IS NOT NULL AND settled = 1 AND updated_at < :before",
        named_params! { ":before": At(before) },
    )
}

/// A row whose columns do not say what they must is unread.
fn kept(row: &Row<'_>) -> Reading<ItemRow> {
    match read(row) {
        Ok(item) => Reading::known(item),
        Err(error) => {
            Reading::unread(Cause::NotReadYet, format!("what is remembered of it cannot be read: {error}"))
        }
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<ItemRow> {
    let head = match sql::sha_opt(row, "head")? {
        None => None,
        Some(sha) => Some(HeadSeen {
            sha,
            first_seen_at: sql::time(row, "head_since")?,
            last_seen_at: sql::time(row, "head_seen_at")?,
        }),
    };
    let acted_at = sql::time_opt(row, "last_action_at")?;
    Ok(ItemRow {
        kind: sql::word(row, "kind")?,
        number: row.get("number")?,
        class: row.get("class")?,
        class_reason: row.get("class_reason")?,
        decision: row.get("decision")?,
        state: row.get("state")?,
        not_before: sql::time_opt(row, "not_before")?,
        last_action: row.get::<_, Option<String>>("last_action")?.zip(acted_at),
        head,
        behind_since: sql::time_opt(row, "behind_since")?,
        attempts: sql::json(row, "attempts")?,
        evidence: row.get("evidence")?,
        rebases: row.get("rebases")?,
        unprocessable: row.get("unprocessable")?,
        outcome_seen: sql::time_opt(row, "outcome_seen")?,
        task_seen: row.get("task_seen")?,
        reviewed_head: sql::sha_opt(row, "reviewed_head")?,
        pushed_head: sql::sha_opt(row, "pushed_head")?,
        supersede: sql::json_opt(row, "supersede")?,
        stopped: row.get("stopped")?,
        questions: sql::json(row, "questions")?,
        asked_at: sql::time_opt(row, "asked_at")?,
        declined_at: sql::time_opt(row, "declined_at")?,
        stuck: row.get("stuck")?,
        sight: row.get("sight")?,
        compare: sql::json_opt(row, "compare")?,
        try_at: sql::time_opt(row, "try_at")?,
        ended: sql::word_opt(row, "ended")?,
        settled: row.get("settled")?,
        updated_at: sql::time(row, "updated_at")?,
    })
}
