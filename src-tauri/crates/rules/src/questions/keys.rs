//! Which key answers which prompt, and what may be typed when (questions.md 6).

use serde::{Deserialize, Serialize};

use super::pane::{Agent, Composer, Judgement, Modal, PaneState, Prompt, Unsure};
use crate::untrusted::is_hidden;

/// What the owner decided about a permission prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum Permission {
    AllowOnce,
    Deny,
}

/// A key that answers a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum Key {
    Enter,
    Escape,
    Digit(u8),
}

/// Why no key may answer a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum NoKey {
    #[error("only a permission prompt is answered by a key")]
    NotAPermission,
    #[error("no option reads exactly Yes, and any other may stand for later")]
    OnlyStanding,
    #[error("more than one option could be meant")]
    Ambiguous,
}

/// Whether a prompt can be allowed once at all, whoever's it is: one option reads exactly `Yes`.
pub fn may_allow(prompt: &Prompt) -> Result<(), NoKey> {
    if prompt.modal != Modal::Permission {
        return Err(NoKey::NotAPermission);
    }
    match prompt.choices.iter().filter(|choice| choice.label.as_data().trim() == "Yes").count() {
        0 => Err(NoKey::OnlyStanding),
        1 => Ok(()),
        _ => Err(NoKey::Ambiguous),
    }
}

/// The key for a decision. To allow: the one option that reads exactly `Yes`. To deny: the one that
/// reads `No`, else Escape. An option that stands for later is never chosen.
pub fn key_for(agent: Agent, prompt: &Prompt, decision: Permission) -> Result<Key, NoKey> {
    if prompt.modal != Modal::Permission {
        return Err(NoKey::NotAPermission);
    }
    if prompt.choices.is_empty() {
        return Err(NoKey::Ambiguous);
    }
    let reads = |word: &str| -> Vec<_> {
        prompt.choices.iter().filter(|choice| choice.label.as_data().trim() == word).collect()
    };
    let press = |choice: &super::pane::Choice| match (agent, choice.digit) {
        (Agent::Claude | Agent::Codex, Some(digit @ 1..=9)) => Some(Key::Digit(digit)),
        // Whether a digit acts at once is known of these two only; Enter takes what is selected.
        (Agent::Claude | Agent::Codex | Agent::Generic, _) => choice.selected.then_some(Key::Enter),
    };
    match decision {
        Permission::AllowOnce => match reads("Yes").as_slice() {
            [] => Err(NoKey::OnlyStanding),
            [choice] => press(choice).ok_or(NoKey::Ambiguous),
            [_, _, ..] => Err(NoKey::Ambiguous),
        },
        Permission::Deny => match reads("No").as_slice() {
            [choice] => Ok(press(choice).unwrap_or(Key::Escape)),
            [] | [_, _, ..] => Ok(Key::Escape),
        },
    }
}

/// An answer that can be typed: visible characters and line breaks, not a command to the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Typable(String);

/// Why a text cannot be typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TypableError {
    #[error("there is nothing to type")]
    Empty,
    #[error("an answer of more than {limit} characters is not typed")]
    TooLong { limit: usize },
    #[error("the answer holds characters that are keys, not text")]
    Control,
    #[error("an agent takes a text that begins with {0} as a command")]
    Command(char),
}

/// Characters of an answer that are typed into a pane.
pub const TYPED_CAP: usize = 4_000;

impl Typable {
    /// Checks a text before it is typed. Line breaks are kept; other control characters are refused, as
    /// are invisible ones: the owner would not see what the agent reads.
    pub fn new(text: &str) -> Result<Self, TypableError> {
        let text = text.replace("\r\n", "\n");
        let text = text.trim();
        let first = text.chars().next().ok_or(TypableError::Empty)?;
        if text.chars().count() > TYPED_CAP {
            return Err(TypableError::TooLong { limit: TYPED_CAP });
        }
        // Joiners belong to scripts and emoji; they are seen through what they join.
        let joins = |c: char| matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}');
        if text.chars().any(|c| c != '\n' && is_hidden(c) && !joins(c)) {
            return Err(TypableError::Control);
        }
        if matches!(first, '/' | '!' | '#' | '@' | '$' | '&' | '\\') {
            return Err(TypableError::Command(first));
        }
        Ok(Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn has_line_breaks(&self) -> bool {
        self.0.contains('\n')
    }

    /// True where the Enter after it would complete a name or break a line instead of submitting: the
    /// text ends in a word that opens a list, or in a backslash. A space after it prevents both.
    pub fn wants_space(&self) -> bool {
        let last = self.0.rsplit([' ', '\n']).next().unwrap_or_default();
        last.starts_with(['@', '/', '#', '$']) || last.ends_with('\\')
    }

    /// The text in pieces of at most `size` bytes, parted between characters, and its line breaks.
    pub fn pieces(&self, size: usize) -> Vec<Piece<'_>> {
        let mut pieces = Vec::new();
        for (at, line) in self.0.split('\n').enumerate() {
            if at > 0 {
                pieces.push(Piece::LineBreak);
            }
            let mut rest = line;
            while !rest.is_empty() {
                let mut end = rest.len().min(size.max(4));
                while !rest.is_char_boundary(end) {
                    end -= 1;
                }
                pieces.push(Piece::Text(&rest[..end]));
                rest = &rest[end..];
            }
        }
        pieces
    }
}

/// One keystroke command's worth of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    Text(&'a str),
    LineBreak,
}

/// Why an answer is not typed now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "obstacle", content = "why")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum Obstacle {
    /// It returns to the owner.
    Refused(Refusal),
    /// It waits; later it may go.
    Held(Hold),
}

/// Why an answer returns to the owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum Refusal {
    #[error("the pane is gone")]
    PaneGone,
    #[error("another program is in front of the pane now")]
    OtherProgram,
    #[error("a shell stands in the pane: it would run the answer")]
    Shell,
    #[error("a prompt is open in the pane")]
    ModalOpen,
    #[error("the pane no longer shows the question that was answered")]
    QuestionChanged,
    #[error("no composer is recognised in the pane")]
    NoComposer,
    #[error("keys typed there would reach other panes, or none")]
    KeysLeadElsewhere,
    #[error("the agent of this pane takes one line only")]
    OneLineOnly,
    #[error("the prompt changed or closed before the key was pressed")]
    PromptChanged,
    #[error("no key answers this prompt")]
    NoKey,
}

/// What an answer waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum Hold {
    #[error("somebody's draft is in the composer")]
    Draft,
    #[error("the agent works")]
    Working,
    #[error("somebody scrolls in the pane")]
    Scrolled,
}

/// Whether an answer may be typed, from a fresh look. `asked` is the question's hash when the owner
/// saw it; `None` where the question was not read from the pane.
pub fn may_type(seen: &Judgement, asked: Option<&str>) -> Result<(), Obstacle> {
    match &seen.state {
        PaneState::Waiting { .. } => return Err(Obstacle::Refused(Refusal::ModalOpen)),
        PaneState::Unwatchable => return Err(Obstacle::Refused(Refusal::PaneGone)),
        PaneState::Error { fault: super::pane::Fault::Ended } => {
            return Err(Obstacle::Refused(Refusal::Shell));
        }
        PaneState::Unknown { why: Unsure::Empty | Unsure::Unrecognised }
            if seen.composer == Composer::None =>
        {
            return Err(Obstacle::Refused(Refusal::NoComposer));
        }
        PaneState::Working | PaneState::Unknown { why: Unsure::Stuck } => {
            return Err(Obstacle::Held(Hold::Working));
        }
        PaneState::Idle | PaneState::Error { .. } | PaneState::Unknown { .. } => {}
    }
    if seen.busy {
        return Err(Obstacle::Held(Hold::Working));
    }
    if asked.is_some() && seen.question.as_deref() != asked {
        return Err(Obstacle::Refused(Refusal::QuestionChanged));
    }
    match seen.composer {
        Composer::None => Err(Obstacle::Refused(Refusal::NoComposer)),
        Composer::Draft { .. } => Err(Obstacle::Held(Hold::Draft)),
        Composer::Empty => Ok(()),
    }
}
