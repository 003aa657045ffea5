//! Captures a member's pane the way it can be reached.

use std::path::Path;

use steward_rules::questions::pane::{Agent, PaneId, Screen};
use steward_rules::questions::roster::{Member, Reach, reach};
use steward_rules::questions::thrum::{ThrumRefusal, refusal};

use crate::config::Questions;
use crate::loops::Ctx;
use crate::peers::PeerError;
use crate::peers::thrum::Thrum;
use crate::store::inbox::{self, Kind};
use crate::store::{Durability, StoreError, settings, sql};
use crate::tmux::Pane;

use super::{Roster, messaging};

/// What a capture showed.
#[derive(Debug, Clone)]
pub struct Shown {
    pub screen: Screen,
    /// The pane's facts, where tmux gave them: here, or through ssh.
    pub pane: Option<Pane>,
}

/// Where it stands that thrum's licence does not cover panes.
const CLOSED: &str = "questions.thrum.closed";
/// What the entry of that opens.
const PANES: &str = "roster/thrum-panes";

/// True once thrum said that its licence does not cover panes: nobody asks it for one until the next start.
pub(super) async fn is_closed(ctx: &Ctx) -> bool {
    // What cannot be read may have been said.
    ctx.store.read(|tx| settings::get(tx, CLOSED)).await.map_or(true, |known| known.is_some())
}

/// Closes thrum's panes where its words say so, and tells that once.
pub(super) async fn close(ctx: &Ctx, error: &PeerError) -> Result<(), StoreError> {
    let words = error.to_string();
    if refusal(&words) != ThrumRefusal::NotEntitled {
        return Ok(());
    }
    ctx.store.write(Durability::Normal, |tx| settings::set(tx, CLOSED, &sql::utc_text(tx.now()))).await?;
    messaging::incident(ctx, PANES, "Panes are not read through thrum", &words).await
}

/// A start asks thrum again, and nothing is said until it has answered.
pub(super) async fn reopen(ctx: &Ctx) -> Result<(), StoreError> {
    ctx.store
        .write(Durability::Normal, |tx| {
            settings::remove(tx, CLOSED)?;
            inbox::withdraw(tx, Kind::Incident, PANES).map(drop)
        })
        .await
}

/// Why there is no capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unseen {
    /// The member has no pane that could be captured; its questions come as messages.
    Messages,
    /// The command failed, with its words.
    Failed(String),
}

/// Whose screen it is: as the roster says, else by the program in front.
pub(super) fn agent_of(adapter: Option<&str>, foreground: &str) -> Agent {
    adapter.and_then(Agent::named).or_else(|| Agent::of_program(foreground)).unwrap_or(Agent::Generic)
}

/// Captures one member's pane: here, through thrum, and by ssh where thrum refused.
pub async fn capture(
    ctx: &Ctx,
    roster: &Roster,
    member: &Member,
    config: &Questions,
) -> Result<Shown, Unseen> {
    let failed = |error: &dyn std::fmt::Display| Unseen::Failed(error.to_string());
    let mut refused = None;
    let mut way = reach(member, &config.ssh, false);
    if let Reach::Thrum { folder } = &way {
        if !is_closed(ctx).await {
            match through_thrum(roster, member, folder).await {
                Ok(screen) => return Ok(Shown { screen, pane: None }),
                Err(error) => {
                    close(ctx, &error).await.map_err(|error| failed(&error))?;
                    refused = Some(error);
                }
            }
        }
        way = reach(member, &config.ssh, true);
    }
    let (id, tmux) = match (way, &refused) {
        (Reach::Local { pane }, _) => (pane, ctx.tmux()),
        (Reach::Ssh { host, pane }, _) => (pane, ctx.tmux_of(&host)),
        (_, Some(error)) => return Err(failed(error)),
        (Reach::Messages | Reach::Thrum { .. }, None) => return Err(Unseen::Messages),
        (Reach::Refused(why), None) => return Err(Unseen::Failed(why)),
    };
    let id = PaneId::new(&id).map_err(|error| failed(&error))?;
    let capture = tmux.map_err(|error| failed(&error))?.capture(&id).await.map_err(|error| failed(&error))?;
    Ok(Shown { screen: capture.screen, pane: Some(capture.pane) })
}

pub(super) async fn through_thrum(
    roster: &Roster,
    member: &Member,
    folder: &str,
) -> Result<Screen, PeerError> {
    let thrum = thrum_of(roster, folder)?;
    Ok(Screen::parse(&thrum.capture(&member.agent).await?))
}

/// The commands of thrum as Steward's own agent of a folder.
pub(super) fn thrum_of(roster: &Roster, folder: &str) -> Result<Thrum, PeerError> {
    let project = roster.projects.iter().find(|project| project.folder == Path::new(folder));
    Thrum::find(Path::new(folder), project.map_or("", |project| project.agent.as_str()))
}
