//! Captures a member's pane the way it can be reached.

use std::path::Path;

use steward_rules::questions::pane::{Agent, PaneId, Screen};
use steward_rules::questions::roster::{Member, Reach, reach};
use steward_rules::questions::thrum::{ThrumRefusal, refusal};

use crate::config::Questions;
use crate::loops::Ctx;
use crate::peers::PeerError;
use crate::peers::thrum::Thrum;
use crate::tmux::Pane;

use super::Roster;

/// What a capture showed.
#[derive(Debug, Clone)]
pub struct Shown {
    pub screen: Screen,
    /// The pane's facts, where tmux gave them: here, or through ssh.
    pub pane: Option<Pane>,
    /// Thrum's words, when its licence does not cover captures: that way is closed until the next start.
    pub not_entitled: Option<String>,
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
    thrum_refused: bool,
) -> Result<Shown, Unseen> {
    let mut refused = None;
    if let Reach::Thrum { folder } = reach(member, &config.ssh, thrum_refused) {
        match through_thrum(roster, member, &folder).await {
            Ok(screen) => return Ok(Shown { screen, pane: None, not_entitled: None }),
            Err(error) => refused = Some(error),
        }
    }
    let (id, tmux) = match (reach(member, &config.ssh, thrum_refused || refused.is_some()), &refused) {
        (Reach::Local { pane }, _) => (pane, ctx.tmux()),
        (Reach::Ssh { host, pane }, _) => (pane, ctx.tmux_of(&host)),
        (_, Some(error)) => return Err(Unseen::Failed(error.to_string())),
        (Reach::Messages | Reach::Thrum { .. }, None) => return Err(Unseen::Messages),
        (Reach::Refused(why), None) => return Err(Unseen::Failed(why)),
    };
    let failed = |error: &dyn std::fmt::Display| Unseen::Failed(error.to_string());
    let id = PaneId::new(&id).map_err(|error| failed(&error))?;
    let capture = tmux.map_err(|error| failed(&error))?.capture(&id).await.map_err(|error| failed(&error))?;
    let not_entitled =
        refused.map(|error| error.to_string()).filter(|words| refusal(words) == ThrumRefusal::NotEntitled);
    Ok(Shown { screen: capture.screen, pane: Some(capture.pane), not_entitled })
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
