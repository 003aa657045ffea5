//! The briefing into a member's pane: once per member, on the owner's press.

use steward_rules::questions::keys::Typable;
use steward_rules::questions::need::agent_key;
use steward_rules::questions::pane::PaneId;
use steward_rules::questions::roster::{self, Member, briefing};

use super::here;
use super::looking::agent_of;
use crate::config::Questions;
use crate::loops::Ctx;
use crate::store::{Durability, ReadTx, StoreError, audit, settings, sql};
use crate::tmux::{Answer, Delivery, Journal, Reached};

/// How agents address Steward.
pub const STEWARD: &str = "steward";

/// Why a member is not briefed.
#[derive(Debug, thiserror::Error)]
pub enum BriefError {
    #[error("{0} was briefed already")]
    Already(String),
    #[error("{agent} is not briefed: {why}")]
    Not { agent: String, why: String },
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn key(member: &Member) -> String {
    let host = member.host.clone().unwrap_or_else(here);
    format!("brief:{}", agent_key(&member.agent, &host))
}

/// When a member was briefed.
pub fn briefed(tx: &ReadTx<'_>, member: &Member) -> Result<bool, StoreError> {
    Ok(settings::get(tx, &key(member))?.is_some())
}

/// A briefing is no answer: its steps are not written down.
struct Unwritten;

impl Journal for Unwritten {
    async fn reached(&mut self, _at: Reached) -> bool {
        true
    }
}

/// Types the briefing into a member's pane. It is noted before, so that it is never sent twice; what
/// was surely not typed may be tried again.
pub async fn brief(ctx: &Ctx, member: &Member, config: &Questions) -> Result<(), BriefError> {
    let not = |why: String| BriefError::Not { agent: member.agent.clone(), why };
    if !roster::keys(member.host.as_deref(), config.keys, &config.ssh) {
        return Err(not("`questions.keys` is off, so nothing is typed into panes".to_owned()));
    }
    if member.host.is_some() {
        return Err(not("its pane is on another machine".to_owned()));
    }
    let pane = member.pane.as_deref().and_then(|pane| PaneId::new(pane).ok());
    let pane = pane.ok_or_else(|| not("no pane of it is known".to_owned()))?;
    let text = briefing(Some(&member.agent), &config.owner, STEWARD);
    let text = Typable::new(&text).map_err(|error| not(error.to_string()))?;
    let tmux = ctx.tmux().map_err(|error| not(error.to_string()))?;
    let to = tmux.pane(&pane).await.map_err(|error| not(error.to_string()))?.identity;
    let agent = agent_of(member.adapter.as_deref(), &to.foreground);
    let (note, name) = (key(member), member.agent.clone());
    let fresh = ctx
        .store
        .write(Durability::Full, move |tx| {
            if settings::get(tx, &note)?.is_some() {
                return Ok(false);
            }
            settings::set(tx, &note, &sql::utc_text(tx.now()))?;
            audit::append(tx, "person", "brief", &format!("agent:{name}"), "")?;
            tx.topic("roster")?;
            Ok::<_, StoreError>(true)
        })
        .await?;
    if !fresh {
        return Err(BriefError::Already(member.agent.clone()));
    }
    let why = match tmux.type_answer(&Answer { agent, to, question: None, text }, &mut Unwritten).await {
        Delivery::Acknowledged | Delivery::Unacknowledged => return Ok(()),
        Delivery::Undelivered { why, .. } => return Err(not(why.to_string())),
        Delivery::Obstacle(obstacle) => match obstacle {
            steward_rules::questions::keys::Obstacle::Held(hold) => hold.to_string(),
            steward_rules::questions::keys::Obstacle::Refused(refusal) => refusal.to_string(),
        },
    };
    let note = key(member);
    ctx.store.write(Durability::Full, move |tx| settings::remove(tx, &note).map(drop)).await?;
    Err(not(why))
}
