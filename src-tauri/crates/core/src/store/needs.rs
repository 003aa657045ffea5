//! Questions of agents: each open one once per asker and topic.

use chrono::{DateTime, Utc};
use rusqlite::{Row, named_params};
use serde::{Deserialize, Serialize};
use steward_rules::ids::NeedId;
use steward_rules::questions::need::{Need, Origin, topic_key};
use steward_rules::questions::queue::{Item, Waiting};

use super::sql::{self, At};
use super::{ReadTx, StoreError, WriteTx};

/// Whether a question still wants the owner, and if not, why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NeedState {
    Open,
    Answered,
    /// The asker took it back.
    Withdrawn,
    /// The owner put it away unanswered.
    Dropped,
    /// The pane does not show it any more.
    Gone,
}

/// Where the asker's pane is, and what it showed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// `%12`.
    pub pane: Option<String>,
    /// The machine, when it is not this one.
    pub remote: Option<String>,
    /// JSON of the pane as it was when it was read.
    pub identity: Option<String>,
    /// Hash of the question as the pane showed it.
    pub seen: Option<String>,
    /// JSON of a permission prompt.
    pub prompt: Option<String>,
}

/// One question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeedRow {
    pub id: NeedId,
    pub agent: String,
    pub host: String,
    pub agent_key: String,
    pub need: Need,
    pub origin: Origin,
    /// The asker's message, which the answer replies to.
    pub message: Option<String>,
    pub folder: Option<String>,
    pub place: Place,
    pub state: NeedState,
    pub version: u32,
    pub reminded: Option<u32>,
    pub asked_at: DateTime<Utc>,
    pub told_at: DateTime<Utc>,
    pub closed_at: Option<DateTime<Utc>>,
}

impl NeedRow {
    /// The question as the queue shows it.
    pub fn item(&self) -> Item {
        Item {
            number: self.id.0,
            agent: self.agent.clone(),
            host: self.host.clone(),
            need: self.need.clone(),
            origin: self.origin,
            asked_at: self.asked_at,
        }
    }

    /// As the reminder sees it.
    pub fn waiting(&self) -> Waiting {
        Waiting { number: self.id.0, version: self.version, told_at: self.told_at, reminded: self.reminded }
    }
}

/// A question to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewNeed {
    pub agent: String,
    pub host: String,
    pub agent_key: String,
    pub need: Need,
    pub origin: Origin,
    pub message: Option<String>,
    pub folder: Option<String>,
    pub place: Place,
}

const COLUMNS: &str =
    "id, agent, host, agent_key, topic, question, options, project, origin, message, folder,
    pane, remote, identity, seen, prompt, state, version, reminded, asked_at, told_at, closed_at";

/// Keeps a new question.
pub fn insert(tx: &WriteTx<'_>, new: &NewNeed) -> Result<NeedId, StoreError> {
    let id = tx.insert(
        "INSERT INTO needs (agent, host, agent_key, topic, topic_key, question, options, project, origin, message,
            folder, pane, remote, identity, seen, prompt, asked_at, told_at)
         VALUES (:agent, :host, :agent_key, :topic, :topic_key, :question, :options, :project, :origin, :message,
            :folder, :pane, :remote, :identity, :seen, :prompt, :now, :now)",
        named_params! {
            ":agent": new.agent, ":host": new.host, ":agent_key": new.agent_key, ":topic": new.need.topic,
            ":topic_key": topic_key(&new.need.topic), ":question": new.need.question,
            ":options": sql::to_json(&new.need.options)?, ":project": new.need.project,
            ":origin": new.origin.as_str(), ":message": new.message, ":folder": new.folder,
            ":pane": new.place.pane, ":remote": new.place.remote, ":identity": new.place.identity,
            ":seen": new.place.seen, ":prompt": new.place.prompt, ":now": At(tx.now()),
        },
    )?;
    topic(tx, NeedId(id))?;
    Ok(NeedId(id))
}

/// Gives an open question other words or another origin. `told_anew` makes it a new version.
pub fn rewrite(tx: &WriteTx<'_>, id: NeedId, new: &NewNeed, told_anew: bool) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE needs SET topic = :topic, question = :question, options = :options,
            project = coalesce(:project, project), origin = :origin, message = coalesce(:message, message),
            folder = coalesce(:folder, folder), pane = coalesce(:pane, pane),
            remote = CASE WHEN :pane IS NULL THEN remote ELSE :remote END,
            identity = coalesce(:identity, identity), seen = :seen, prompt = :prompt,
            version = version + :anew, told_at = CASE WHEN :anew = 1 THEN :now ELSE told_at END
         WHERE id = :id AND state = 'open'",
        named_params! {
            ":topic": new.need.topic, ":question": new.need.question, ":options": sql::to_json(&new.need.options)?,
            ":project": new.need.project, ":origin": new.origin.as_str(), ":message": new.message,
            ":folder": new.folder, ":pane": new.place.pane, ":remote": new.place.remote,
            ":identity": new.place.identity, ":seen": new.place.seen, ":prompt": new.place.prompt,
            ":anew": i64::from(told_anew), ":now": At(tx.now()), ":id": id.0,
        },
    )?;
    topic(tx, id)
}

/// Notes what the asker's pane shows of an open question; its words stay.
pub fn set_place(tx: &WriteTx<'_>, id: NeedId, place: &Place) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE needs SET pane = :pane, remote = :remote, identity = :identity, seen = :seen, prompt = :prompt
         WHERE id = :id AND state = 'open'",
        named_params! {
            ":pane": place.pane, ":remote": place.remote, ":identity": place.identity, ":seen": place.seen,
            ":prompt": place.prompt, ":id": id.0,
        },
    )?;
    topic(tx, id)
}

/// Moves an open question to another state; false when it was not open.
pub fn close(tx: &WriteTx<'_>, id: NeedId, state: NeedState) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE needs SET state = :state, closed_at = :now WHERE id = :id AND state = 'open'",
        named_params! { ":state": sql::to_word(&state)?, ":now": At(tx.now()), ":id": id.0 },
    )?;
    if changed > 0 {
        topic(tx, id)?;
    }
    Ok(changed > 0)
}

/// Opens an answered question again, since its answer came back; false when its asker has another
/// open question of the topic by now.
pub fn reopen(tx: &WriteTx<'_>, id: NeedId) -> Result<bool, StoreError> {
    let changed = tx.execute(
        "UPDATE needs SET state = 'open', closed_at = NULL WHERE id = :id AND state = 'answered'
         AND NOT EXISTS (SELECT 1 FROM needs o WHERE o.agent_key = needs.agent_key
            AND o.topic_key = needs.topic_key AND o.state = 'open')",
        named_params! { ":id": id.0 },
    )?;
    topic(tx, id)?;
    Ok(changed > 0)
}

/// Notes of which version the owner was reminded.
pub fn set_reminded(tx: &WriteTx<'_>, id: NeedId, version: u32) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE needs SET reminded = :version WHERE id = :id",
        named_params! { ":version": version, ":id": id.0 },
    )?;
    Ok(())
}

/// Says that a question's row or its answer changed.
pub fn topic(tx: &WriteTx<'_>, id: NeedId) -> Result<(), StoreError> {
    tx.topic("needs")?;
    tx.topic(&format!("need:{id}"))
}

/// One question.
pub fn get(tx: &ReadTx<'_>, id: NeedId) -> Result<Option<NeedRow>, StoreError> {
    tx.query_opt(&format!("SELECT {COLUMNS} FROM needs WHERE id = :id"), named_params! { ":id": id.0 }, read)
}

/// The open question of an asker and topic.
pub fn standing(tx: &ReadTx<'_>, agent_key: &str, topic: &str) -> Result<Option<NeedRow>, StoreError> {
    tx.query_opt(
        &format!(
            "SELECT {COLUMNS} FROM needs WHERE agent_key = :agent AND topic_key = :topic AND state = 'open'"
        ),
        named_params! { ":agent": agent_key, ":topic": topic_key(topic) },
        read,
    )
}

/// The newest answered question of an asker and topic whose answer nobody fetched yet.
pub fn unfetched(tx: &ReadTx<'_>, agent_key: &str, topic: &str) -> Result<Option<NeedRow>, StoreError> {
    tx.query_opt(
        &format!(
            "SELECT {COLUMNS} FROM needs WHERE agent_key = :agent AND topic_key = :topic AND state = 'answered'
             AND EXISTS (SELECT 1 FROM need_answers a WHERE a.need = needs.id AND a.way = 'fetch'
                AND a.stage = 'queued')
             ORDER BY id DESC LIMIT 1"
        ),
        named_params! { ":agent": agent_key, ":topic": topic_key(topic) },
        read,
    )
}

/// The queue: every open question, oldest first.
pub fn open(tx: &ReadTx<'_>) -> Result<Vec<NeedRow>, StoreError> {
    tx.query_all(&format!("SELECT {COLUMNS} FROM needs WHERE state = 'open' ORDER BY asked_at, id"), [], read)
}

/// True when what this pane shows is answered: the answer is not with its asker yet, or came there after
/// `since`.
pub fn is_answered(
    tx: &ReadTx<'_>,
    remote: Option<&str>,
    pane: &str,
    seen: &str,
    since: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let found = tx.query_opt(
        "SELECT n.id AS id FROM needs n JOIN need_answers a ON a.need = n.id
         WHERE n.state = 'answered' AND n.pane = :pane AND n.remote IS :remote AND n.seen = :seen
           AND (a.stage IN ('queued', 'carrying', 'typed', 'submitted')
                OR (a.stage = 'acknowledged' AND a.updated_at >= :since))
         LIMIT 1",
        named_params! { ":pane": pane, ":remote": remote, ":seen": seen, ":since": At(since) },
        |row| row.get::<_, i64>("id"),
    )?;
    Ok(found.is_some())
}

/// The open questions of one pane of this machine or of another.
pub fn open_in_pane(tx: &ReadTx<'_>, remote: Option<&str>, pane: &str) -> Result<Vec<NeedRow>, StoreError> {
    tx.query_all(
        &format!(
            "SELECT {COLUMNS} FROM needs WHERE state = 'open' AND pane = :pane AND remote IS :remote ORDER BY id"
        ),
        named_params! { ":pane": pane, ":remote": remote },
        read,
    )
}

/// The open questions of an asker of whom no pane is known.
pub fn open_without_pane(tx: &ReadTx<'_>, agent_key: &str) -> Result<Vec<NeedRow>, StoreError> {
    tx.query_all(
        &format!(
            "SELECT {COLUMNS} FROM needs WHERE state = 'open' AND pane IS NULL AND agent_key = :key ORDER BY id"
        ),
        named_params! { ":key": agent_key },
        read,
    )
}

/// True when the owner put away what an asker's screen shows.
pub fn is_dropped(tx: &ReadTx<'_>, agent_key: &str, seen: &str) -> Result<bool, StoreError> {
    tx.query_row(
        "SELECT EXISTS (SELECT 1 FROM needs WHERE state = 'dropped' AND agent_key = :key AND seen = :seen) AS found",
        named_params! { ":key": agent_key, ":seen": seen },
        |row| row.get("found"),
    )
}

/// What was put away and is shown no more counts afresh when it returns.
pub fn forget_dropped(tx: &WriteTx<'_>, agent_key: &str, shown: Option<&str>) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE needs SET seen = NULL
         WHERE state = 'dropped' AND agent_key = :key AND seen IS NOT NULL AND seen IS NOT :shown",
        named_params! { ":key": agent_key, ":shown": shown },
    )?;
    Ok(())
}

/// The topics of an asker's open questions.
pub fn open_topics(tx: &ReadTx<'_>, agent_key: &str) -> Result<Vec<String>, StoreError> {
    tx.query_all(
        "SELECT topic FROM needs WHERE state = 'open' AND agent_key = :key ORDER BY id",
        named_params! { ":key": agent_key },
        |row| row.get("topic"),
    )
}

/// The newest questions that are open no more.
pub fn closed(tx: &ReadTx<'_>, limit: u32) -> Result<Vec<NeedRow>, StoreError> {
    tx.query_all(
        &format!("SELECT {COLUMNS} FROM needs WHERE state <> 'open' ORDER BY id DESC LIMIT :limit"),
        named_params! { ":limit": limit },
        read,
    )
}

/// How many are open, and since when the oldest.
pub fn count_open(tx: &ReadTx<'_>) -> Result<(u32, Option<DateTime<Utc>>), StoreError> {
    tx.query_row("SELECT count(*) AS n, min(asked_at) AS oldest FROM needs WHERE state = 'open'", [], |row| {
        Ok((row.get("n")?, sql::time_opt(row, "oldest")?))
    })
}

/// Forgets closed questions that are older than `before`.
pub fn prune(tx: &WriteTx<'_>, before: DateTime<Utc>) -> Result<usize, StoreError> {
    tx.execute("DELETE FROM needs WHERE closed_at < :before", named_params! { ":before": At(before) })
}

fn read(row: &Row<'_>) -> rusqlite::Result<NeedRow> {
    Ok(NeedRow {
        id: NeedId(row.get("id")?),
        agent: row.get("agent")?,
        host: row.get("host")?,
        agent_key: row.get("agent_key")?,
        need: Need {
            topic: row.get("topic")?,
            question: row.get("question")?,
            options: sql::json(row, "options")?,
            project: row.get("project")?,
        },
        origin: sql::word(row, "origin")?,
        message: row.get("message")?,
        folder: row.get("folder")?,
        place: Place {
            pane: row.get("pane")?,
            remote: row.get("remote")?,
            identity: row.get("identity")?,
            seen: row.get("seen")?,
            prompt: row.get("prompt")?,
        },
        state: sql::word(row, "state")?,
        version: row.get("version")?,
        reminded: row.get("reminded")?,
        asked_at: sql::time(row, "asked_at")?,
        told_at: sql::time(row, "told_at")?,
        closed_at: sql::time_opt(row, "closed_at")?,
    })
}
