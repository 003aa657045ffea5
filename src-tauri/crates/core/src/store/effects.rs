//! The journal of effects: each change of state is one guarded UPDATE and one row of the audit chain, in
//! the same transaction.

mod row;

use chrono::{DateTime, Utc};
use rusqlite::{Row, named_params};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use steward_rules::ids::{PullNumber, RepoName, ReviewId, Sha, TaskId};
use steward_rules::power::EffectClass;

use row::said;
pub use row::{EffectRow, NewEffect, Start, State, Subject, Why};

use super::sql::{self, At};
use super::{ReadTx, StoreError, WriteTx, audit};

/// What the audit chain keeps of an effect at each change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Trail {
    key: String,
    class: EffectClass,
    host: String,
    repository: String,
    number: Option<i64>,
    head: Option<String>,
    account: String,
    /// SHA-256 of everything that goes out.
    content: String,
    state: State,
    attempt: u32,
    posted: Option<i64>,
    why: Option<String>,
    /// The comment that is taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    taken_back: Option<u64>,
}

const FROM: &str = "effects e LEFT JOIN reviews r ON r.id = e.review";
const COLUMNS: &str = "e.id, e.key, e.class, e.host, e.repository, e.number, e.head, e.account, e.review, e.content,
    e.deed, e.line, e.part, e.state, e.why, e.detail, e.attempt, e.looks, e.retry_at, e.created_at, e.decided_by, e.intent_at, e.outcome_at,
    e.posted, e.evidence, e.turned_down, r.task AS task, r.stale_reason AS stale";
/// In the words of the partial index `effects_open`: SQLite takes it for a query that has them, and for none
/// that has fewer states alone.
const OPEN: &str = "e.state IN ('wanted', 'suggested', 'approved', 'intended')";

/// Puts an effect in, once per key. One that was not sent yet is replaced, and with it a yes to the older
/// text and what was counted of its sending, but not a no; one that is being sent or was sent stays. True
/// when the row is as asked now.
pub fn put(tx: &WriteTx<'_>, new: &NewEffect) -> Result<(i64, bool), StoreError> {
    let (state, why) = match &new.start {
        Start::Wanted => (State::Wanted, None),
        Start::Suggested => (State::Suggested, None),
        Start::Failed(why) => (State::Failed, Some(why)),
    };
    let by = (state == State::Wanted).then_some("policy");
    let outcome = state.is_final().then(|| At(tx.now()));
    let changed = tx.execute(
        "INSERT INTO effects (key, class, host, repository, number, head, account, review, content, deed, line,
                              state, why, detail, created_at, decided_by, outcome_at)
         VALUES (:key, :class, :host, :repository, :number, :head, :account, :review, :content, :deed, :line,
                 :state, :why, :detail, :now, :by, :outcome)
         ON CONFLICT (key) DO UPDATE SET
            account = excluded.account, review = excluded.review, content = excluded.content,
            deed = excluded.deed, line = excluded.line,
            state = excluded.state, why = excluded.why, detail = excluded.detail, retry_at = NULL,
            created_at = excluded.created_at, decided_by = excluded.decided_by, outcome_at = excluded.outcome_at,
            attempt = 0, looks = 0, posted = NULL, evidence = NULL, part = NULL
         WHERE effects.state NOT IN ('intended', 'done')",
        named_params! {
            ":key": new.key, ":class": sql::to_word(&new.class)?, ":host": new.host,
            ":repository": new.repository, ":number": new.number, ":head": new.head.as_ref().map(Sha::as_str),
            ":account": new.account, ":review": new.review.map(|id| id.0), ":content": new.content,
            ":deed": new.deed.as_ref().map(sql::to_json).transpose()?, ":line": new.line,
            ":state": sql::to_word(&state)?, ":why": why.map(|why| &why.slug),
            ":detail": why.map(|why| &why.detail), ":now": At(tx.now()), ":by": by, ":outcome": outcome,
        },
    )?;
    let id =
        tx.query_row("SELECT id FROM effects WHERE key = :key", named_params! { ":key": new.key }, |row| {
            row.get::<_, i64>("id")
        })?;
    if changed > 0 {
        trail(tx, id, "runtime", None)?;
    }
    Ok((id, changed > 0))
}

/// True when a text of this key was turned down or removed before.
pub fn turned_down(tx: &ReadTx<'_>, key: &str) -> Result<bool, StoreError> {
    let found = tx.query_opt(
        "SELECT turned_down FROM effects WHERE key = :key",
        named_params! { ":key": key },
        |row| row.get("turned_down"),
    )?;
    Ok(found.unwrap_or(false))
}

/// The effect of this number.
pub fn get(tx: &ReadTx<'_>, id: i64) -> Result<Option<EffectRow>, StoreError> {
    tx.query_opt(&format!("SELECT {COLUMNS} FROM {FROM} WHERE e.id = :id"), named_params! { ":id": id }, read)
}

/// The effects, newest first, from behind the effect `after`; a row more than `limit` says that there is
/// another page.
pub fn page(
    tx: &ReadTx<'_>,
    open: bool,
    after: Option<i64>,
    limit: u32,
) -> Result<Vec<EffectRow>, StoreError> {
    let shelf = if open { OPEN } else { "1" };
    tx.query_all(
        &format!(
            "SELECT {COLUMNS} FROM {FROM} WHERE {shelf} AND (:after IS NULL OR e.id < :after)
             ORDER BY e.id DESC LIMIT :limit"
        ),
        named_params! { ":after": after, ":limit": limit.saturating_add(1) },
        read,
    )
}

/// What is to be sent or looked for, oldest first.
pub fn to_do(tx: &ReadTx<'_>) -> Result<Vec<EffectRow>, StoreError> {
    tx.query_all(&to_do_sql(), [], read)
}

pub(super) fn to_do_sql() -> String {
    format!("SELECT {COLUMNS} FROM {FROM} WHERE {OPEN} AND e.state <> 'suggested' ORDER BY e.id")
}

/// What waits for the person, oldest first.
pub fn suggested(tx: &ReadTx<'_>) -> Result<Vec<EffectRow>, StoreError> {
    tx.query_all(&suggested_sql(), [], read)
}

pub(super) fn suggested_sql() -> String {
    format!("SELECT {COLUMNS} FROM {FROM} WHERE {OPEN} AND e.state = 'suggested' ORDER BY e.id")
}

/// The newest of a key.
pub fn of_key(tx: &ReadTx<'_>, key: &str) -> Result<Option<EffectRow>, StoreError> {
    tx.query_opt(
        &format!("SELECT {COLUMNS} FROM {FROM} WHERE e.key = :key"),
        named_params! { ":key": key },
        read,
    )
}

/// Everything that was ever wanted of an issue or pull request, oldest first.
pub fn of_item(
    tx: &ReadTx<'_>,
    host: &str,
    repo: &RepoName,
    number: i64,
) -> Result<Vec<EffectRow>, StoreError> {
    tx.query_all(
        &format!(
            "SELECT {COLUMNS} FROM {FROM}
             WHERE e.repository = :repository AND e.number = :number AND e.host = :host COLLATE NOCASE
             ORDER BY e.id"
        ),
        named_params! { ":repository": repo.to_string(), ":number": number, ":host": host },
        read,
    )
}

/// The effects of a review that still ask for something and were not sent, oldest first.
pub fn unsent_of_review(tx: &ReadTx<'_>, review: ReviewId) -> Result<Vec<EffectRow>, StoreError> {
    tx.query_all(
        &format!(
            "SELECT {COLUMNS} FROM {FROM} WHERE e.review = :review
               AND e.state IN ('wanted', 'suggested', 'approved', 'failed') ORDER BY e.id"
        ),
        named_params! { ":review": review.0 },
        read,
    )
}

/// When something was sent to a host since `from`.
pub fn sent_since(
    tx: &ReadTx<'_>,
    host: &str,
    from: DateTime<Utc>,
) -> Result<Vec<DateTime<Utc>>, StoreError> {
    tx.query_all(
        "SELECT intent_at FROM effects WHERE host = :host AND intent_at >= :from ORDER BY intent_at",
        named_params! { ":host": host, ":from": At(from) },
        |row| sql::time(row, "intent_at"),
    )
}

/// The pull request of a task; `None` for a task of a branch alone.
pub fn subject_of(tx: &ReadTx<'_>, task: TaskId) -> Result<Option<Subject>, StoreError> {
    tx.query_opt(
        "SELECT coalesce(host, 'github.com') AS host, repository, pull FROM tasks
         WHERE id = :id AND pull IS NOT NULL AND repository IS NOT NULL",
        named_params! { ":id": task.0 },
        |row| {
            Ok(Subject {
                host: row.get("host")?,
                repository: row.get("repository")?,
                pull: PullNumber(row.get("pull")?),
            })
        },
    )
}

/// Makes it wait for the person, from the state and the attempt that were judged; false when it stands
/// otherwise by now. One that was intended was looked for in vain first: it did not go out.
pub fn suggest(tx: &WriteTx<'_>, judged: &EffectRow) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE effects SET state = 'suggested', why = NULL, detail = NULL, retry_at = NULL, decided_by = NULL,
                intent_at = NULL, attempt = 0, looks = 0, posted = NULL, evidence = NULL, part = NULL
         WHERE id = :id AND state = :state AND attempt = :attempt AND state IN ('wanted', 'intended')",
        named_params! {
            ":id": judged.id, ":state": sql::to_word(&judged.state)?, ":attempt": judged.attempt,
        },
    )?;
    changed_by(tx, changed, judged.id, "runtime")
}

/// The person says yes to exactly this text; false when it waits for nobody.
pub fn approve(tx: &WriteTx<'_>, id: i64) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE effects SET state = 'approved', why = NULL, detail = NULL, retry_at = NULL, outcome_at = NULL,
                attempt = 0, decided_by = 'person'
         WHERE id = :id AND state IN ('suggested', 'failed')",
        named_params! { ":id": id },
    )?;
    changed_by(tx, changed, id, "person")
}

/// The person says no; false when it is over or under way.
pub fn dismiss(tx: &WriteTx<'_>, id: i64) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE effects SET state = 'dismissed', retry_at = NULL, outcome_at = :now,
                why = CASE state WHEN 'failed' THEN why END, detail = CASE state WHEN 'failed' THEN detail END,
                decided_by = 'person', turned_down = 1
         WHERE id = :id AND state IN ('suggested', 'wanted', 'approved', 'failed')",
        named_params! { ":id": id, ":now": At(tx.now()) },
    )?;
    changed_by(tx, changed, id, "person")
}

/// The person takes their no back: it waits for them again, what had failed as what failed. It goes out by
/// their yes alone. False when no no stands.
pub fn restore(tx: &WriteTx<'_>, id: i64) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE effects SET state = CASE WHEN why IS NULL THEN 'suggested' ELSE 'failed' END,
                outcome_at = CASE WHEN why IS NULL THEN NULL ELSE outcome_at END, decided_by = NULL
         WHERE id = :id AND state = 'dismissed'",
        named_params! { ":id": id },
    )?;
    changed_by(tx, changed, id, "person")
}

/// Writes down that it goes out now, before it does; the number of the attempt, or `None` when it may not.
/// `part` names the write of several that goes out.
pub fn intend(tx: &WriteTx<'_>, id: i64, part: Option<&str>) -> Result<Option<u32>, StoreError> {
    let changed = tx.execute(
        "UPDATE effects SET state = 'intended', why = NULL, detail = NULL, retry_at = NULL, looks = 0,
                posted = NULL, evidence = NULL, attempt = attempt + 1, intent_at = :now, part = :part
         WHERE id = :id AND state IN ('wanted', 'approved', 'intended')",
        named_params! { ":id": id, ":now": At(tx.now()), ":part": part },
    )?;
    if !changed_by(tx, changed, id, "runtime")? {
        return Ok(None);
    }
    Ok(get(tx, id)?.map(|row| row.attempt))
}

/// GitHub says that it made it. What else may be there is looked for next.
pub fn posted(tx: &WriteTx<'_>, id: i64, made: u64, address: Option<&str>) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE effects SET posted = :made, evidence = :address, looks = 0 WHERE id = :id AND state = 'intended'",
        named_params! { ":id": id, ":made": made as i64, ":address": address },
    )?;
    changed_by(tx, changed, id, "runtime")
}

/// Writes down that a second comment of ours is taken back, before it is.
pub fn take_back(tx: &WriteTx<'_>, id: i64, comment: u64) -> Result<(), StoreError> {
    trail(tx, id, "runtime", Some(comment))
}

/// It certainly did not go out, and no attempt is spent: it waits again as it did before the intent.
pub fn give_back(
    tx: &WriteTx<'_>,
    id: i64,
    why: &Why,
    retry_at: Option<DateTime<Utc>>,
) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE effects SET state = CASE decided_by WHEN 'person' THEN 'approved' ELSE 'wanted' END,
                attempt = max(attempt - 1, 0), why = :why, detail = :detail, retry_at = :retry
         WHERE id = :id AND state = 'intended'",
        named_params! { ":id": id, ":why": why.slug, ":detail": why.detail, ":retry": retry_at.map(At) },
    )?;
    changed_by(tx, changed, id, "runtime")
}

/// Says what it waits for and when it is looked at again. `looked`: the thread was read in vain.
pub fn hold(
    tx: &WriteTx<'_>,
    id: i64,
    why: &Why,
    retry_at: Option<DateTime<Utc>>,
    looked: bool,
) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE effects SET why = :why, detail = :detail, retry_at = :retry, looks = looks + :looked
         WHERE id = :id AND state IN ('wanted', 'suggested', 'approved', 'intended')
           AND (why IS NOT :why OR detail IS NOT :detail OR retry_at IS NOT :retry OR :looked)",
        named_params! {
            ":id": id, ":why": why.slug, ":detail": why.detail, ":retry": retry_at.map(At), ":looked": looked,
        },
    )?;
    if changed > 0 {
        topics(tx, id)?;
    }
    Ok(changed > 0)
}

/// Looked at again then, whatever it waits for: nothing is taken up without a pause.
pub fn put_off(tx: &WriteTx<'_>, id: i64, until: DateTime<Utc>) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE effects SET retry_at = :until
         WHERE id = :id AND state IN ('wanted', 'approved', 'intended')",
        named_params! { ":id": id, ":until": At(until) },
    )?;
    Ok(())
}

/// It is there.
pub fn finish(
    tx: &WriteTx<'_>,
    id: i64,
    made: Option<u64>,
    address: Option<&str>,
) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE effects SET state = 'done', why = NULL, detail = NULL, retry_at = NULL, outcome_at = :now,
                posted = coalesce(:made, posted), evidence = coalesce(:address, evidence)
         WHERE id = :id AND state IN ('wanted', 'approved', 'intended')",
        named_params! {
            ":id": id, ":now": At(tx.now()), ":made": made.map(|made| made as i64), ":address": address,
        },
    )?;
    changed_by(tx, changed, id, "runtime")
}

/// It was there, and somebody took it away.
pub fn removed(tx: &WriteTx<'_>, id: i64, why: &Why) -> Result<bool, StoreError> {
    if !end(tx, id, State::Failed, why)? {
        return Ok(false);
    }
    tx.execute("UPDATE effects SET turned_down = 1 WHERE id = :id", named_params! { ":id": id })?;
    Ok(true)
}

/// It does not go out: it failed, or what it was decided for is no longer so.
pub fn end(tx: &WriteTx<'_>, id: i64, state: State, why: &Why) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE effects SET state = :state, why = :why, detail = :detail, retry_at = NULL, outcome_at = :now
         WHERE id = :id AND state IN ('wanted', 'suggested', 'approved', 'intended')",
        named_params! {
            ":id": id, ":state": sql::to_word(&state)?, ":why": why.slug, ":detail": why.detail,
            ":now": At(tx.now()),
        },
    )?;
    changed_by(tx, changed, id, "runtime")
}

/// The first effect whose row is not what the audit chain says of it last.
pub fn disagreement(tx: &ReadTx<'_>) -> Result<Option<i64>, StoreError> {
    let last = tx.query_all(
        "SELECT a.subject, a.detail FROM audit a
         JOIN (SELECT max(id) AS id FROM audit WHERE kind LIKE 'effect.%' GROUP BY subject) newest
           ON newest.id = a.id",
        [],
        |row| Ok((row.get::<_, String>("subject")?, row.get::<_, String>("detail")?)),
    )?;
    let rows = tx.query_all(&format!("SELECT {COLUMNS} FROM {FROM} ORDER BY e.id"), [], read)?;
    let mut told: std::collections::HashMap<String, String> = last.into_iter().collect();
    for row in rows {
        let said = told.remove(&subject(row.id)).and_then(|text| serde_json::from_str::<Trail>(&text).ok());
        if said.map(|said| Trail { taken_back: None, ..said }) != Some(of(&row)) {
            return Ok(Some(row.id));
        }
    }
    // What is told of and not there was taken out of the journal.
    let gone = told.keys().filter_map(|subject| subject.strip_prefix("effect:")?.parse().ok()).min();
    Ok(gone)
}

fn subject(id: i64) -> String {
    format!("effect:{id}")
}

fn of(row: &EffectRow) -> Trail {
    Trail {
        key: row.key.clone(),
        class: row.class,
        host: row.host.clone(),
        repository: row.repository.clone(),
        number: row.number,
        head: row.head.as_ref().map(ToString::to_string),
        account: row.account.clone(),
        content: hex::encode(Sha256::digest(said(&row.content, row.deed.as_ref()))),
        state: row.state,
        attempt: row.attempt,
        posted: row.posted,
        why: row.why.clone().filter(|_| row.state.is_final()),
        taken_back: None,
    }
}

fn changed_by(tx: &WriteTx<'_>, changed: usize, id: i64, actor: &str) -> Result<bool, StoreError> {
    if changed > 0 {
        trail(tx, id, actor, None)?;
    }
    Ok(changed > 0)
}

fn trail(tx: &WriteTx<'_>, id: i64, actor: &str, taken_back: Option<u64>) -> Result<(), StoreError> {
    let Some(row) = get(tx, id)? else { return Ok(()) };
    let word = match taken_back {
        Some(_) => "taking_back".to_owned(),
        None if row.state == State::Intended && row.posted.is_some() => "posted".to_owned(),
        None => sql::to_word(&row.state)?,
    };
    let trail = Trail { taken_back, ..of(&row) };
    audit::append(tx, actor, &format!("effect.{word}"), &subject(id), &sql::to_json(&trail)?)?;
    topics(tx, id)
}

fn topics(tx: &WriteTx<'_>, id: i64) -> Result<(), StoreError> {
    tx.topic("effects")?;
    tx.topic(&format!("effect:{id}"))
}

fn read(row: &Row<'_>) -> rusqlite::Result<EffectRow> {
    Ok(EffectRow {
        id: row.get("id")?,
        key: row.get("key")?,
        class: sql::word(row, "class")?,
        host: row.get("host")?,
        repository: row.get("repository")?,
        number: row.get("number")?,
        head: sql::sha_opt(row, "head")?,
        account: row.get("account")?,
        review: row.get::<_, Option<i64>>("review")?.map(ReviewId),
        content: row.get("content")?,
        deed: sql::json_opt(row, "deed")?,
        line: row.get("line")?,
        part: row.get("part")?,
        state: sql::word(row, "state")?,
        why: row.get("why")?,
        detail: row.get("detail")?,
        attempt: row.get("attempt")?,
        looks: row.get("looks")?,
        retry_at: sql::time_opt(row, "retry_at")?,
        created_at: sql::time(row, "created_at")?,
        decided_by: row.get("decided_by")?,
        intent_at: sql::time_opt(row, "intent_at")?,
        outcome_at: sql::time_opt(row, "outcome_at")?,
        posted: row.get("posted")?,
        evidence: row.get("evidence")?,
        turned_down: row.get("turned_down")?,
        task: row.get::<_, Option<i64>>("task")?.map(TaskId),
        stale: sql::word_opt(row, "stale")?,
    })
}
