//! A question arrives: one item per asker and topic, one inbox entry, one notification.

use steward_rules::ids::NeedId;
use steward_rules::questions::need::{Arrival, Need, Origin, Standing, agent_key, arrive};
use steward_rules::secret::Engine;
use steward_rules::untrusted::Untrusted;

use super::{notice_key, target, why_not_allow};
use crate::store::inbox::{self, Kind, NewEntry};
use crate::store::judgements;
use crate::store::needs::{self, NeedRow, NeedState, NewNeed, Place};
use crate::store::{StoreError, WriteTx, notices};

/// The longest notification's body, in characters.
const BODY: usize = 600;
const TITLE: usize = 160;

/// Who asks what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asking {
    pub agent: String,
    pub host: String,
    pub need: Need,
    pub origin: Origin,
    /// The asker's message, which the answer will reply to.
    pub message: Option<String>,
    pub folder: Option<String>,
    pub place: Place,
}

/// What became of a question that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raised {
    pub id: NeedId,
    pub arrival: Arrival,
}

/// Takes a question in. An exact resend maps to the item that stands, or to the one whose answer its
/// asker never fetched.
pub fn raise(tx: &WriteTx<'_>, asking: &Asking) -> Result<Raised, StoreError> {
    let key = agent_key(&asking.agent, &asking.host);
    let topic = &asking.need.topic;
    let standing = needs::standing(tx, &key, topic)?;
    if standing.is_none()
        && asking.origin.is_explicit()
        && let Some(row) = needs::unfetched(tx, &key, topic)?
        && row.need.same_as(&asking.need)
    {
        return Ok(Raised { id: row.id, arrival: Arrival::Same });
    }
    let known = standing.as_ref().map(|row| Standing { need: row.need.clone(), origin: row.origin });
    let arrival = arrive(known.as_ref(), &asking.need, asking.origin);
    // Who waits for an answer by fetching it goes on doing so, whatever a hook hears of the same question.
    let fetched = |row: &&NeedRow| matches!(row.origin, Origin::Cli | Origin::Mcp);
    let origin = match standing.as_ref().filter(fetched) {
        Some(row) if asking.origin == Origin::Hook => row.origin,
        Some(_) | None => asking.origin,
    };
    let new = NewNeed {
        agent: asking.agent.clone(),
        host: asking.host.clone(),
        agent_key: key,
        need: asking.need.clone(),
        origin,
        message: asking.message.clone(),
        folder: asking.folder.clone(),
        place: asking.place.clone(),
    };
    let id = match (&standing, arrival) {
        (None, _) => needs::insert(tx, &new)?,
        (Some(row), Arrival::Same | Arrival::Covered | Arrival::New) => {
            // A hook says that a prompt is open, the pane shows which: with that a key can answer it.
            if row.origin == Origin::Hook && row.place.seen.is_none() && asking.place.prompt.is_some() {
                needs::set_place(tx, row.id, &asking.place)?;
            }
            return Ok(Raised { id: row.id, arrival });
        }
        (Some(row), Arrival::Changed | Arrival::Supersedes { words_differ: true }) => {
            notices::withdraw(tx, &notice_key(row.id, row.version))?;
            needs::rewrite(tx, row.id, &new, true)?;
            row.id
        }
        (Some(row), Arrival::Supersedes { words_differ: false }) => {
            needs::rewrite(tx, row.id, &new, false)?;
            row.id
        }
    };
    if let Some(row) = needs::get(tx, id)? {
        tell(tx, &row)?;
    }
    Ok(Raised { id, arrival })
}

/// The inbox entry and the notification of one version of a question.
fn tell(tx: &WriteTx<'_>, row: &NeedRow) -> Result<(), StoreError> {
    enter(tx, row, chip(row))?;
    let item = row.item();
    let said = inert(&item.told(), BODY);
    let (title, body) = said.split_once(": ").unwrap_or((said.as_str(), ""));
    notices::add(tx, &notice_key(row.id, row.version), &target(row.id), title, body)?;
    tx.topic("notices")
}

/// Puts a question into the inbox under this chip, or gives its entry these words.
pub(super) fn enter(tx: &WriteTx<'_>, row: &NeedRow, chip: &str) -> Result<(), StoreError> {
    let item = row.item();
    let tag = if row.origin.is_explicit() { "" } else { "[pane-judged] " };
    let mut source = format!("{tag}{} · {} · {}", item.project(), item.asker(), row.need.topic);
    if row.place.prompt.as_deref().and_then(why_not_allow).is_some() {
        source.push_str(" · can only be denied here: no option reads exactly Yes");
    }
    let entry = NewEntry {
        kind: Kind::Question,
        subject: format!("need:{}", row.id),
        target: target(row.id),
        title: inert(&row.need.question, TITLE),
        source: inert(&source, TITLE),
        chip: chip.to_owned(),
    };
    inbox::upsert(tx, &entry)?;
    Ok(())
}

/// The word on a question's chip.
pub(super) fn chip(row: &NeedRow) -> &'static str {
    match (&row.place.prompt, row.origin) {
        (Some(_), _) => "PROMPT",
        (None, Origin::Pane) => "PANE",
        (None, Origin::Cli | Origin::Mcp | Origin::Hook | Origin::Thrum) => "NEED",
    }
}

/// Text of an agent for an inbox, a notification or a message: one line, nothing hidden, no secret.
pub(super) fn inert(text: &str, limit: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    Untrusted::new(Engine::shared().redact(&line)).one_line(limit)
}

/// Takes an open question off the queue and out of the inbox; false when it was not open.
pub(super) fn close(tx: &WriteTx<'_>, row: &NeedRow, state: NeedState) -> Result<bool, StoreError> {
    if !needs::close(tx, row.id, state)? {
        return Ok(false);
    }
    notices::withdraw(tx, &notice_key(row.id, row.version))?;
    judgements::forget_advice(tx, row.id)?;
    match state {
        // What the owner did himself stays in sight among what is done.
        NeedState::Answered => inbox::settle(tx, Kind::Question, &target(row.id), "ANSWERED")?,
        NeedState::Dropped => inbox::settle(tx, Kind::Question, &target(row.id), "DROPPED")?,
        NeedState::Withdrawn | NeedState::Gone | NeedState::Open => {
            inbox::withdraw(tx, Kind::Question, &target(row.id))?
        }
    };
    Ok(true)
}
