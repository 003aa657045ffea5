//! Captures a member's pane the way it can be reached.

use std::path::Path;

use steward_rules::questions::pane::{PaneId, Screen};
use steward_rules::questions::roster::{Member, Reach, reach};
use steward_rules::questions::thrum::{ThrumRefusal, refusal};

use crate::config::Questions;
use crate::peers::thrum::Thrum;
use crate::peers::{PeerError, ssh};
use crate::tmux::{Pane, Tmux};

use super::Roster;

/// What a capture showed.
#[derive(Debug, Clone)]
pub struct Shown {
    pub screen: Screen,
    /// The pane's facts, where tmux of this machine gave them.
    pub pane: Option<Pane>,
}

/// Why there is no capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unseen {
    /// The member has no pane that could be captured; its questions come as messages.
    Messages,
    /// The command failed, with its words.
    Failed(String),
    /// Thrum's licence does not cover captures: that way is closed until the next start.
    NotEntitled(String),
}

/// Captures one member's pane.
pub async fn capture(
    tmux: Option<&Tmux>,
    roster: &Roster,
    member: &Member,
    config: &Questions,
    thrum_refused: bool,
) -> Result<Shown, Unseen> {
    let failed = |error: PeerError| Unseen::Failed(error.to_string());
    match reach(member, &config.ssh, thrum_refused) {
        Reach::Local { pane } => {
            let id = PaneId::new(&pane).map_err(|error| Unseen::Failed(error.to_string()))?;
            let tmux = tmux.ok_or_else(|| Unseen::Failed("tmux is not installed".to_owned()))?;
            let capture = tmux.capture(&id).await.map_err(|error| Unseen::Failed(error.to_string()))?;
            Ok(Shown { screen: capture.screen, pane: Some(capture.pane) })
        }
        Reach::Thrum { folder } => {
            let project = roster.projects.iter().find(|project| project.folder == Path::new(&folder));
            let agent = project.map_or("", |project| project.agent.as_str());
            let thrum = Thrum::find(Path::new(&folder), agent).map_err(failed)?;
            match thrum.capture(&member.agent).await {
                Ok(out) => Ok(Shown { screen: Screen::parse(&out), pane: None }),
                Err(error) => {
                    let words = error.to_string();
                    match refusal(&words) {
                        ThrumRefusal::NotEntitled => Err(Unseen::NotEntitled(words)),
                        ThrumRefusal::Other => Err(Unseen::Failed(words)),
                    }
                }
            }
        }
        Reach::Ssh { host, pane } => {
            let out = ssh::capture(&host, &pane).await.map_err(failed)?;
            Ok(Shown { screen: Screen::parse(&out), pane: None })
        }
        Reach::Messages => Err(Unseen::Messages),
        Reach::Refused(why) => Err(Unseen::Failed(why)),
    }
}
