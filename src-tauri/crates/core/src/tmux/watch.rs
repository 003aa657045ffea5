//! One tick's look at one pane: as many captures as its facts need, and what they say.

use std::time::Duration;

use steward_rules::questions::pane::{Agent, Judgement, PaneId, PaneState, Screen, Seen, Unsure, judge};

use super::list::Pane;
use super::{Tmux, TmuxError};

/// Between the two looks that show whether something moves.
const APART: Duration = Duration::from_secs(2);
/// A turning sign may stand at the same place again after two seconds; a little later it does not.
const OFF_BEAT: Duration = Duration::from_millis(370);

/// What one tick saw of a pane.
#[derive(Debug, Clone)]
pub struct Watched {
    /// The pane at the last capture; `None` when a capture failed.
    pub pane: Option<Pane>,
    pub judgement: Judgement,
    /// The last capture, for the reader and the watcher seat.
    pub screen: Screen,
    /// Why the capture failed, where it did.
    pub fault: Option<String>,
}

impl Tmux {
    /// Looks at a pane once, and again two seconds later where one look settles nothing. A capture that
    /// fails makes it unwatchable; another tmux fault does so, too.
    pub async fn watch(&self, agent: Agent, pane: &PaneId) -> Watched {
        match self.looks(agent, pane).await {
            Ok(watched) => watched,
            Err(error) => Watched {
                pane: None,
                judgement: judge(agent, "", &Seen::Failed { why: error.to_string() }),
                screen: Screen::default(),
                fault: Some(error.to_string()),
            },
        }
    }

    async fn looks(&self, agent: Agent, pane: &PaneId) -> Result<Watched, TmuxError> {
        let first = self.capture(pane).await?;
        let mut last = first.clone();
        let mut second = None;
        for pause in [APART, OFF_BEAT] {
            let seen = Seen::Looked { first: first.screen.clone(), second: second.clone() };
            let judged = judge(agent, &last.pane.identity.foreground, &seen);
            let more = match judged.state {
                PaneState::Unknown { why: Unsure::LookAgain } => second.is_none(),
                PaneState::Unknown { why: Unsure::Stuck } => true,
                // Output that has no shape may get one, and a program without a composer may move.
                PaneState::Unknown { why: Unsure::Unrecognised } => second.is_none(),
                PaneState::Unknown { why: Unsure::Empty }
                | PaneState::Working
                | PaneState::Waiting { .. }
                | PaneState::Idle
                | PaneState::Error { .. }
                | PaneState::Unwatchable => false,
            };
            if !more {
                break;
            }
            tokio::time::sleep(pause).await;
            last = self.capture(pane).await?;
            second = Some(last.screen.clone());
        }
        let seen = Seen::Looked { first: first.screen, second };
        let judgement = judge(agent, &last.pane.identity.foreground, &seen);
        Ok(Watched { pane: Some(last.pane), judgement, screen: last.screen, fault: None })
    }
}
