//! One key on an open permission prompt.

use std::time::Duration;

use steward_rules::questions::keys::{Key, NoKey, Obstacle, Permission, Refusal, key_for};
use steward_rules::questions::pane::{Agent, PaneIdentity, PaneState, Prompt, Screen, Seen, judge};
use tokio::time::Instant;

use super::send::{Keys, Sent};
use super::sight::Sight;
use super::typing::{Delivery, Journal, Reached, Undelivered};
use super::{Tmux, TmuxError};

const PATIENCE: Duration = Duration::from_secs(4);
const LOOK: Duration = Duration::from_millis(120);

/// The owner's decision about one prompt, as both were when it was shown.
#[derive(Debug, Clone)]
pub struct Press {
    pub agent: Agent,
    pub to: PaneIdentity,
    /// [`Prompt::hash`] of the prompt that was decided about.
    pub prompt: String,
    pub decision: Permission,
}

/// How a press ended.
#[derive(Debug)]
pub enum Pressed {
    /// The key was pressed and the prompt is gone or another one.
    Done,
    /// The key was pressed and the same prompt stands there still.
    StillOpen,
    /// Nothing was pressed.
    Obstacle(Obstacle),
    /// Nothing was pressed: this prompt has no such key.
    NoKey(NoKey),
    /// It is not known whether the key arrived, or the press was stopped before it.
    Unclear(Undelivered),
}

impl Tmux {
    /// Presses the key of a decision: only on the same prompt in the same pane, only the option that
    /// reads exactly `Yes`, or `No` or Escape. The key is pressed once, whatever comes of it.
    pub async fn press(&self, press: &Press, journal: &mut impl Journal) -> Pressed {
        let sender = self.sender(&press.to.pane);
        let _one_at_a_time = sender.lock().await;
        let (mut sight, mut key) = match self.still_open(press).await {
            Ok(found) => found,
            Err(end) => return end,
        };
        if !journal.reached(Reached::Ready).await {
            return Pressed::Unclear(Undelivered::Stopped);
        }
        let changed = Pressed::Obstacle(Obstacle::Refused(Refusal::PromptChanged));
        let until = Instant::now() + PATIENCE;
        loop {
            // The prompt as it was seen must be on the screen in the moment of the key.
            match self.send(&press.to, Keys::Key(key.1), &sight.prompt(&key.0)).await {
                Ok(Sent::Sent) => break,
                Ok(Sent::Refused) if Instant::now() >= until => return changed,
                Ok(Sent::Refused) => tokio::time::sleep(LOOK).await,
                Err(error) => return Pressed::Unclear(error.into()),
            }
            (sight, key) = match self.still_open(press).await {
                Ok(found) => found,
                Err(end) => return end,
            };
        }
        let until = Instant::now() + PATIENCE;
        loop {
            match self.capture(&press.to.pane).await {
                Ok(now) if same_prompt(press, &now.screen).is_none() => return Pressed::Done,
                Ok(_) => {}
                // The pane went with its prompt.
                Err(TmuxError::NoPane { .. } | TmuxError::NoServer) => return Pressed::Done,
                Err(error) => return Pressed::Unclear(error.into()),
            }
            if Instant::now() >= until {
                return Pressed::StillOpen;
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

impl Tmux {
    /// A fresh look at the prompt that was decided about, and the key that answers it.
    async fn still_open(&self, press: &Press) -> Result<(Sight, (Prompt, Key)), Pressed> {
        let sight = match self.look(&press.to).await {
            Ok(sight) => sight,
            Err(Delivery::Obstacle(obstacle)) => return Err(Pressed::Obstacle(obstacle)),
            Err(Delivery::Undelivered { why, .. }) => return Err(Pressed::Unclear(why)),
            Err(Delivery::Acknowledged | Delivery::Unacknowledged) => {
                return Err(Pressed::Obstacle(Obstacle::Refused(Refusal::PaneGone)));
            }
        };
        let prompt = same_prompt(press, &sight.screen)
            .ok_or(Pressed::Obstacle(Obstacle::Refused(Refusal::PromptChanged)))?;
        match key_for(press.agent, &prompt, press.decision) {
            Ok(key) => Ok((sight, (prompt, key))),
            Err(no_key) => Err(Pressed::NoKey(no_key)),
        }
    }
}

/// The open prompt, when it is the one that was decided about.
fn same_prompt(press: &Press, screen: &Screen) -> Option<Prompt> {
    let seen = Seen::Looked { first: screen.clone(), second: None };
    match judge(press.agent, &press.to.foreground, &seen).state {
        PaneState::Waiting { prompt } if prompt.hash == press.prompt => Some(prompt),
        PaneState::Waiting { .. }
        | PaneState::Working
        | PaneState::Idle
        | PaneState::Error { .. }
        | PaneState::Unwatchable
        | PaneState::Unknown { .. } => None,
    }
}
