//! What the engine remembers of a repository between two ticks (engine.md 14 and 15).

use chrono::{DateTime, Utc};
use rusqlite::{Row, named_params};
use steward_rules::engine::checks::NamesSeen;
use steward_rules::engine::hold::{Hold, Round};
use steward_rules::ids::RepoName;
use steward_rules::power::EffectClass;

use super::effects::State;
use super::repositories::RepositoryId;
use super::sql::{self, At};
use super::{ReadTx, StoreError, WriteTx};

/// The topic of everything the engine shows.
pub const TOPIC: &str = "engine";
/// The topic by which a person calls for a tick.
pub const CALLED: &str = "engine:called";

/// One repository as the engine remembers it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepoRow {
    /// The task for which nothing merges.
    pub hold: Option<Hold>,
    /// Ticks that still come sooner after a merge.
    pub fast_left: u32,
    /// What of the configuration stops it, and since when.
    pub fault: Option<RepoFault>,
    /// Which required names were seen, and when.
    pub names: NamesSeen,
    /// SHA-256 of what of the configuration was in force in the last tick.
    pub policy: Option<String>,
    /// The look at GitHub that the last tick judged.
    pub observed_at: Option<DateTime<Utc>>,
    pub last_tick: Option<DateTime<Utc>>,
    /// When GitHub is looked at again sooner than by its interval.
    pub next_look: Option<DateTime<Utc>>,
    /// Fingerprint of the report that was wanted last.
    pub report: Option<String>,
    /// When something that a fault of the configuration may be about became another: what failed before is tried again.
    pub mended_at: Option<DateTime<Utc>>,
}

/// A fault of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepoFault {
    pub slug: String,
    pub detail: String,
    pub since: DateTime<Utc>,
}

const COLUMNS: &str = "hold, fast_left, fault, fault_detail, fault_since, names, policy, observed_at,
    last_tick, next_look, report, mended_at";

/// What is remembered of a repository; nothing is remembered of one that had no tick. A row that cannot be
/// read is an error, never an empty memory.
pub fn get(tx: &ReadTx<'_>, repository: RepositoryId) -> Result<RepoRow, StoreError> {
    let found = tx.query_opt(
        &format!("SELECT {COLUMNS} FROM engine_repos WHERE repository = :repository"),
        named_params! { ":repository": repository.0 },
        read,
    )?;
    Ok(found.unwrap_or_default())
}

/// Writes what is remembered of a repository. Its round is another's.
pub fn put(tx: &WriteTx<'_>, repository: RepositoryId, row: &RepoRow) -> Result<(), StoreError> {
    let fault = row.fault.as_ref();
    tx.execute(
        "INSERT INTO engine_repos (repository, hold, fast_left, fault, fault_detail,
                                   fault_since, names, policy, observed_at, last_tick, next_look, report, mended_at)
         VALUES (:repository, :hold, :fast_left, :fault, :detail, :since, :names, :policy,
                 :observed_at, :last_tick, :next_look, :report, :mended_at)
         ON CONFLICT (repository) DO UPDATE SET
            hold = excluded.hold, fast_left = excluded.fast_left,
            fault = excluded.fault, fault_detail = excluded.fault_detail,
            fault_since = excluded.fault_since, names = excluded.names, policy = excluded.policy,
            observed_at = excluded.observed_at, last_tick = excluded.last_tick, next_look = excluded.next_look,
            report = excluded.report, mended_at = excluded.mended_at",
        named_params! {
            ":repository": repository.0, ":hold": row.hold.as_ref().map(sql::to_json).transpose()?,
            ":fast_left": row.fast_left,
            ":fault": fault.map(|fault| &fault.slug), ":detail": fault.map(|fault| &fault.detail),
            ":since": fault.map(|fault| At(fault.since)), ":names": sql::to_json(&row.names)?,
            ":policy": row.policy, ":observed_at": row.observed_at.map(At), ":last_tick": row.last_tick.map(At),
            ":next_look": row.next_look.map(At), ":report": row.report,
            ":mended_at": row.mended_at.map(At),
        },
    )?;
    Ok(())
}

/// How the engine stands in a repository when a run is asked for.
pub fn round(tx: &ReadTx<'_>, repository: RepositoryId) -> Result<Round, StoreError> {
    let found = tx.query_opt(
        "SELECT round FROM engine_repos WHERE repository = :repository",
        named_params! { ":repository": repository.0 },
        |row| row.get::<_, String>("round"),
    )?;
    Ok(match found.as_deref() {
        Some("queued") => Round::Queued,
        Some("active") => Round::Active,
        Some(_) | None => Round::Idle,
    })
}

/// Says how the engine stands in a repository.
pub fn set_round(tx: &WriteTx<'_>, repository: RepositoryId, round: Round) -> Result<(), StoreError> {
    let word = match round {
        Round::Idle => "idle",
        Round::Queued => "queued",
        Round::Active => "active",
    };
    tx.execute(
        "INSERT INTO engine_repos (repository, round) VALUES (:repository, :round)
         ON CONFLICT (repository) DO UPDATE SET round = excluded.round",
        named_params! { ":repository": repository.0, ":round": word },
    )?;
    Ok(())
}

/// A run that died in the middle is none any more.
pub fn recover(tx: &WriteTx<'_>) -> Result<(), StoreError> {
    tx.execute("UPDATE engine_repos SET round = 'idle' WHERE round = 'active'", [])?;
    Ok(())
}

/// True when a person called for a run of any repository.
pub fn is_called(tx: &ReadTx<'_>) -> Result<bool, StoreError> {
    tx.query_row("SELECT EXISTS (SELECT 1 FROM engine_repos WHERE round = 'queued') AS called", [], |row| {
        row.get("called")
    })
}

/// The effects in a repository that ended since then, each with its class. An end ahead of the clock is of one
/// that was set back: it would be new for ever.
pub fn effects_since(
    tx: &ReadTx<'_>,
    host: &str,
    name: &RepoName,
    since: Option<DateTime<Utc>>,
) -> Result<Vec<(EffectClass, State)>, StoreError> {
    tx.query_all(
        "SELECT class, state FROM effects
         WHERE repository = :name AND host = :host COLLATE NOCASE AND outcome_at > :since
           AND outcome_at <= :now",
        named_params! {
            ":name": name.to_string(), ":host": host, ":since": At(since.unwrap_or(DateTime::UNIX_EPOCH)),
            ":now": At(tx.now()),
        },
        |row| Ok((sql::word(row, "class")?, sql::word(row, "state")?)),
    )
}

/// A merge that GitHub refused for a fault of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeRefused {
    pub number: i64,
    /// What was said of it; partly GitHub's words.
    pub detail: String,
    pub at: DateTime<Utc>,
}

/// The last merge in a repository that came to an end, when it was refused for a fault of the configuration.
pub fn merge_refused(
    tx: &ReadTx<'_>,
    host: &str,
    name: &RepoName,
) -> Result<Option<MergeRefused>, StoreError> {
    let last = tx.query_opt(
        "SELECT number, state, detail, outcome_at FROM effects
         WHERE repository = :name AND host = :host COLLATE NOCASE AND class = 'merge'
           AND (state = 'done' OR (state = 'failed' AND why = 'config_fault'))
           AND number IS NOT NULL AND outcome_at IS NOT NULL
         ORDER BY outcome_at DESC, id DESC LIMIT 1",
        named_params! { ":name": name.to_string(), ":host": host },
        |row| {
            let state: State = sql::word(row, "state")?;
            let refused = MergeRefused {
                number: row.get("number")?,
                detail: row.get::<_, Option<String>>("detail")?.unwrap_or_default(),
                at: sql::time(row, "outcome_at")?,
            };
            Ok((state == State::Failed).then_some(refused))
        },
    )?;
    Ok(last.flatten())
}

/// How many followed items of a repository wait on faults of the configuration, at the head they have now.
pub fn parked(tx: &ReadTx<'_>, repository: RepositoryId) -> Result<u32, StoreError> {
    tx.query_row(
        "SELECT count(DISTINCT e.number) AS parked
         FROM effects e
         JOIN repositories r ON r.name = e.repository AND r.host = e.host COLLATE NOCASE
         JOIN engine_items i ON i.repository = r.id AND i.number = e.number AND i.ended IS NULL
         WHERE r.id = :repository AND e.state = 'failed' AND e.why = 'config_fault'
           AND (e.head IS NULL OR e.head = i.head)",
        named_params! { ":repository": repository.0 },
        |row| row.get("parked"),
    )
}

/// True when a task of a repository ended since then, and not ahead of the clock.
pub fn has_task_ended(
    tx: &ReadTx<'_>,
    repository: RepositoryId,
    since: Option<DateTime<Utc>>,
) -> Result<bool, StoreError> {
    tx.query_row(
        "SELECT EXISTS (SELECT 1 FROM engine_tasks
                        WHERE repository = :repository AND ended_at > :since AND ended_at <= :now) AS ended",
        named_params! {
            ":repository": repository.0, ":since": At(since.unwrap_or(DateTime::UNIX_EPOCH)),
            ":now": At(tx.now()),
        },
        |row| row.get("ended"),
    )
}

fn read(row: &Row<'_>) -> rusqlite::Result<RepoRow> {
    let since = sql::time_opt(row, "fault_since")?;
    let fault = match (row.get::<_, Option<String>>("fault")?, since) {
        (Some(slug), Some(since)) => Some(RepoFault {
            slug,
            detail: row.get::<_, Option<String>>("fault_detail")?.unwrap_or_default(),
            since,
        }),
        (Some(_) | None, _) => None,
    };
    Ok(RepoRow {
        hold: sql::json_opt(row, "hold")?,
        fast_left: row.get("fast_left")?,
        fault,
        names: sql::json(row, "names")?,
        policy: row.get("policy")?,
        observed_at: sql::time_opt(row, "observed_at")?,
        last_tick: sql::time_opt(row, "last_tick")?,
        next_look: sql::time_opt(row, "next_look")?,
        report: row.get("report")?,
        mended_at: sql::time_opt(row, "mended_at")?,
    })
}
