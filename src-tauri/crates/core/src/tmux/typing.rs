//! An answer into a pane: queued → typed → submitted → acknowledged, each step proved by a capture.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use steward_rules::questions::keys::{Hold, Key, Obstacle, Piece, Refusal, Typable, may_type};
use steward_rules::questions::pane::{
    Agent, PaneId, PaneIdentity, Screen, Seen, Shown, is_shell, judge, sent_pastes, shown, shown_after,
    was_sent,
};
use tokio::time::Instant;

use super::send::{Keys, Sent, is_plain};
use super::sight::Sight;
use super::{Tmux, TmuxError};

/// Bytes of one keystroke command.
const PIECE: usize = 200;
/// How long a step may take to show.
const PATIENCE: Duration = Duration::from_secs(4);
/// How long an acknowledgement may take to show.
const ANSWER: Duration = Duration::from_secs(10);
/// Between two captures while a step is awaited.
const LOOK: Duration = Duration::from_millis(120);
/// How long Enter waits behind the last key: an Enter too close behind fast keys is taken as part of a
/// paste.
const STILL: Duration = Duration::from_millis(400);
/// The first Enter and two more.
const ENTERS: u8 = 3;

/// An answer and the pane it is for, both as they were when the question was shown to the owner.
#[derive(Debug, Clone)]
pub struct Answer {
    pub agent: Agent,
    pub to: PaneIdentity,
    /// Hash of the question that the pane showed; `None` when it did not come from the pane.
    pub question: Option<String>,
    pub text: Typable,
}

/// A step of the way, told before what follows it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reached {
    /// Everything is checked; the next thing is the first key. Claims of a keystroke belong here.
    Ready,
    /// The composer holds the answer; Enter is next.
    Typed,
    /// The composer holds it no more.
    Submitted,
    /// The agent shows it, or works.
    Acknowledged,
}

/// Who writes the steps down. `false` stops the delivery before its next key.
pub trait Journal: Send {
    fn reached(&mut self, at: Reached) -> impl Future<Output = bool> + Send;
}

/// How a delivery ended.
#[derive(Debug)]
pub enum Delivery {
    Acknowledged,
    /// Submitted, but neither the transcript nor the agent shows it.
    Unacknowledged,
    /// Nothing was typed.
    Obstacle(Obstacle),
    /// Something was or may have been typed, and it was not submitted.
    Undelivered {
        at: Reached,
        why: Undelivered,
    },
}

/// Why an answer did not arrive.
#[derive(Debug, thiserror::Error)]
pub enum Undelivered {
    #[error("the composer never showed the answer")]
    NotShown,
    #[error("the agent did not take the answer after {ENTERS} times Enter")]
    NotTaken,
    #[error("a prompt opened over the composer")]
    ModalOpened,
    #[error("the pane changed while the answer was typed")]
    PaneChanged,
    #[error("the delivery was stopped")]
    Stopped,
    #[error(transparent)]
    Tmux(#[from] TmuxError),
}

/// One sender per pane at a time.
pub(super) type Senders = std::sync::Mutex<HashMap<PaneId, Arc<tokio::sync::Mutex<()>>>>;

impl Tmux {
    /// Types an answer and follows it until the agent has it.
    ///
    /// An answer of ours that already stands in the composer (after a crash) is submitted, not typed
    /// again. No key goes out unless the pane and its program are still the same ones, and the composer shows
    /// what the last look saw in it.
    pub async fn type_answer(&self, answer: &Answer, journal: &mut impl Journal) -> Delivery {
        let sender = self.sender(&answer.to.pane);
        let _one_at_a_time = sender.lock().await;
        let first = match self.look(&answer.to).await {
            Ok(sight) => sight,
            Err(obstacle) => return obstacle,
        };
        // A stand-in that is there before any key of ours may be a person's own paste: it is a draft.
        let ours = shown(answer.agent, &first.screen, answer.text.as_str());
        if ours != Shown::Composer {
            if let Err(obstacle) = check(answer, &first.screen) {
                return Delivery::Obstacle(obstacle);
            }
            if !journal.reached(Reached::Ready).await {
                return Delivery::Undelivered { at: Reached::Ready, why: Undelivered::Stopped };
            }
            if let Err(end) = self.type_text(answer).await {
                return end;
            }
        }
        if !journal.reached(Reached::Typed).await {
            return Delivery::Undelivered { at: Reached::Typed, why: Undelivered::Stopped };
        }
        let pastes = match self.submit(answer).await {
            Ok(pastes) => pastes,
            Err(why) => return Delivery::Undelivered { at: Reached::Typed, why },
        };
        journal.reached(Reached::Submitted).await;
        if self.acknowledged(answer, pastes).await {
            journal.reached(Reached::Acknowledged).await;
            Delivery::Acknowledged
        } else {
            Delivery::Unacknowledged
        }
    }

    /// Where an answer stands in its pane now; what a restart asks before it does anything.
    pub async fn find_answer(&self, answer: &Answer) -> Result<Shown, TmuxError> {
        let capture = self.capture(&answer.to.pane).await?;
        Ok(if capture.pane.identity == answer.to {
            shown(answer.agent, &capture.screen, answer.text.as_str())
        } else {
            Shown::Other
        })
    }

    pub(super) fn sender(&self, pane: &PaneId) -> Arc<tokio::sync::Mutex<()>> {
        let mut senders = self.inner.senders.lock().unwrap_or_else(PoisonError::into_inner);
        senders.entry(pane.clone()).or_default().clone()
    }

    /// A fresh capture of exactly the pane that was meant, in a state in which keys reach its program.
    pub(super) async fn look(&self, to: &PaneIdentity) -> Result<Sight, Delivery> {
        let sight = match self.sight(&to.pane).await {
            Ok(sight) => sight,
            Err(TmuxError::NoPane { .. } | TmuxError::NoServer) => return Err(refused(Refusal::PaneGone)),
            Err(error) => {
                return Err(Delivery::Undelivered { at: Reached::Ready, why: error.into() });
            }
        };
        let (pane, is) = (&sight.pane, &sight.pane.identity);
        if is.server != to.server || is.first != to.first || pane.dead {
            Err(refused(Refusal::PaneGone))
        } else if is_shell(&is.foreground) {
            Err(refused(Refusal::Shell))
        } else if is.foreground != to.foreground {
            Err(refused(Refusal::OtherProgram))
        } else if pane.synchronized || pane.input_off || !is_plain(&is.foreground) {
            Err(refused(Refusal::KeysLeadElsewhere))
        } else if pane.in_mode {
            Err(Delivery::Obstacle(Obstacle::Held(Hold::Scrolled)))
        } else {
            Ok(sight)
        }
    }

    /// Types the whole text. Each piece is seen in the composer before the next follows, so that keys
    /// that mean something else there end after the first, and none is taken for a paste.
    async fn type_text(&self, answer: &Answer) -> Result<(), Delivery> {
        let undelivered = |why| Delivery::Undelivered { at: Reached::Ready, why };
        let mut so_far = String::new();
        for piece in answer.text.pieces(PIECE) {
            match piece {
                Piece::Text(text) => {
                    self.push(answer, Keys::Text(text), &so_far).await?;
                    so_far.push_str(text);
                }
                Piece::LineBreak => {
                    self.push(answer, Keys::LineBreak, &so_far).await?;
                    so_far.push('\n');
                }
            }
        }
        if answer.text.wants_space() {
            self.push(answer, Keys::Text(" "), &so_far).await?;
        }
        self.until_typed(answer, answer.text.as_str()).await.map(drop).map_err(undelivered)
    }

    /// Sends one piece into a composer that a look just showed as it must be: free before the first, holding
    /// what was typed so far before another. What moved since that look is looked at again.
    async fn push(&self, answer: &Answer, keys: Keys<'_>, so_far: &str) -> Result<(), Delivery> {
        let undelivered = |why| Delivery::Undelivered { at: Reached::Ready, why };
        let until = Instant::now() + PATIENCE;
        loop {
            let sight = if so_far.is_empty() {
                let sight = self.look(&answer.to).await?;
                check(answer, &sight.screen).map_err(Delivery::Obstacle)?;
                sight
            } else {
                self.until_typed(answer, so_far).await.map_err(undelivered)?
            };
            match self.send(&answer.to, keys, &sight.composer(answer.agent)).await {
                Ok(Sent::Sent) => return Ok(()),
                Ok(Sent::Refused) if Instant::now() < until => tokio::time::sleep(LOOK).await,
                // Nothing was typed, and what never stands still is at work.
                Ok(Sent::Refused) if so_far.is_empty() => {
                    return Err(Delivery::Obstacle(Obstacle::Held(Hold::Working)));
                }
                Ok(Sent::Refused) => return Err(undelivered(Undelivered::PaneChanged)),
                Err(error) => return Err(undelivered(error.into())),
            }
        }
    }

    async fn until_typed(&self, answer: &Answer, text: &str) -> Result<Sight, Undelivered> {
        let until = Instant::now() + PATIENCE;
        loop {
            let sight = self.sight_now(answer).await?;
            match shown(answer.agent, &sight.screen, text) {
                Shown::Composer | Shown::Placeholder => return Ok(sight),
                Shown::Modal => return Err(Undelivered::ModalOpened),
                Shown::Transcript | Shown::Working | Shown::Nowhere | Shown::Other => {}
            }
            if Instant::now() >= until {
                return Err(Undelivered::NotShown);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn sight_now(&self, answer: &Answer) -> Result<Sight, Undelivered> {
        let sight = self.sight(&answer.to.pane).await?;
        if sight.pane.identity == answer.to { Ok(sight) } else { Err(Undelivered::PaneChanged) }
    }

    /// Enter, and at most two more, each only while the composer is seen to hold the answer, and holds it in
    /// the moment of the key. Gives how many pastes were sent before it, where the composer held the answer's
    /// stand-in.
    async fn submit(&self, answer: &Answer) -> Result<Option<usize>, Undelivered> {
        let (agent, text) = (answer.agent, answer.text.as_str());
        let (mut pastes, mut enters) = (None, 0);
        let mut since = Instant::now();
        while enters < ENTERS {
            tokio::time::sleep(STILL).await;
            let sight = self.sight_now(answer).await?;
            match shown_after(agent, &sight.screen, text, pastes) {
                Shown::Composer => {}
                Shown::Placeholder => pastes = Some(sent_pastes(agent, &sight.screen)),
                Shown::Modal => return Err(Undelivered::ModalOpened),
                Shown::Transcript | Shown::Working => return Ok(pastes),
                Shown::Nowhere | Shown::Other => return Err(Undelivered::NotShown),
            }
            match self.send(&answer.to, Keys::Key(Key::Enter), &sight.composer(agent)).await? {
                Sent::Sent => enters += 1,
                // Something moved since the look: another one says what.
                Sent::Refused if since.elapsed() < PATIENCE => continue,
                Sent::Refused => return Err(Undelivered::PaneChanged),
            }
            since = Instant::now();
            while since.elapsed() < PATIENCE {
                tokio::time::sleep(LOOK).await;
                let sight = self.sight_now(answer).await?;
                match shown(agent, &sight.screen, text) {
                    Shown::Composer | Shown::Placeholder | Shown::Other => {}
                    // The composer is empty: the agent took the words.
                    Shown::Transcript | Shown::Working | Shown::Nowhere => return Ok(pastes),
                    // A prompt lies over the composer, which may hold them still.
                    Shown::Modal if was_sent(agent, &sight.visible(), text, pastes) => return Ok(pastes),
                    Shown::Modal => return Err(Undelivered::ModalOpened),
                }
            }
            since = Instant::now();
        }
        Err(Undelivered::NotTaken)
    }

    async fn acknowledged(&self, answer: &Answer, pastes: Option<usize>) -> bool {
        let until = Instant::now() + ANSWER;
        loop {
            let (agent, text) = (answer.agent, answer.text.as_str());
            let Ok(sight) = self.sight_now(answer).await else { return false };
            match shown_after(agent, &sight.screen, text, pastes) {
                Shown::Transcript | Shown::Working => return true,
                Shown::Modal => return was_sent(agent, &sight.visible(), text, pastes),
                Shown::Nowhere | Shown::Other | Shown::Composer | Shown::Placeholder => {}
            }
            if Instant::now() >= until {
                return false;
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

fn refused(refusal: Refusal) -> Delivery {
    Delivery::Obstacle(Obstacle::Refused(refusal))
}

fn check(answer: &Answer, screen: &Screen) -> Result<(), Obstacle> {
    if answer.text.has_line_breaks() && answer.agent == Agent::Generic {
        return Err(Obstacle::Refused(Refusal::OneLineOnly));
    }
    let seen = Seen::Looked { first: screen.clone(), second: None };
    may_type(&judge(answer.agent, &answer.to.foreground, &seen), answer.question.as_deref())
}
