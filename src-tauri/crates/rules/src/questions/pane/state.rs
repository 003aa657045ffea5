//! The words for what a pane shows.

use serde::{Deserialize, Serialize};

use super::Screen;
use crate::untrusted::Untrusted;

/// What a watched pane is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum PaneState {
    /// Its agent works: a spinner moved, or its output did.
    Working,
    /// A prompt is open that only a person answers.
    Waiting { prompt: Prompt },
    /// The agent's composer is there, empty, and nothing moves. Whether it asked something is not said.
    Idle,
    /// The agent stopped at a fault.
    Error { fault: Fault },
    /// The pane cannot be captured. Never a quiet pane.
    Unwatchable,
    /// The facts do not settle it. Nothing is ever done about it.
    Unknown { why: Unsure },
}

impl PaneState {
    /// The state's one word, for tables and logs.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Waiting { .. } => "waiting",
            Self::Idle => "idle",
            Self::Error { .. } => "error",
            Self::Unwatchable => "unwatchable",
            Self::Unknown { .. } => "unknown",
        }
    }
}

/// Why the facts settle nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum Unsure {
    /// One look shows a spinner or a composer; whether it moves, a second look two seconds later says.
    LookAgain,
    /// The capture was empty.
    Empty,
    /// Neither prompt, spinner, fault nor composer is recognised.
    Unrecognised,
    /// A spinner is drawn and does not move.
    Stuck,
}

/// What kind of prompt is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum Modal {
    /// The agent asks whether it may do one thing.
    Permission,
    /// The agent asks whether it may trust a folder, a server or a mode.
    Trust,
    /// Any other list to choose from.
    Menu,
}

/// What an agent stopped at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum Fault {
    /// Not signed in, or the key was refused.
    Auth,
    /// A usage limit, a rate limit, or no credit.
    Limit,
    /// The model's service failed or was overloaded.
    Service,
    /// The model's service was not reached.
    Network,
    /// The conversation no longer fits.
    Context,
    /// The agent has ended: a shell stands in its pane.
    Ended,
}

/// One row of an open prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Choice {
    /// The digit that chooses it; `None` where the list has no numbers.
    pub digit: Option<u8>,
    pub label: Untrusted,
    /// The row that Enter would choose now.
    pub selected: bool,
}

/// An open prompt, as the person would read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Prompt {
    pub modal: Modal,
    /// The sentence that asks.
    pub title: Untrusted,
    /// What stands between the prompt's upper edge and the sentence: the command, the change.
    pub subject: Untrusted,
    pub choices: Vec<Choice>,
    /// Same prompt, same hash: of kind, subject, sentence and choices, not of the selected row.
    pub hash: String,
}

/// What stands where the person types.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "composer")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum Composer {
    /// There is none that is recognised, or a prompt covers it.
    None,
    /// Empty; a dimmed suggestion counts as nothing.
    Empty,
    /// Somebody's text.
    Draft { text: Untrusted },
}

/// What one tick saw of a pane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// The capture command failed, with its words.
    Failed { why: String },
    /// One capture, and where there was one a second from two seconds later.
    Looked { first: Screen, second: Option<Screen> },
}

/// What the facts say about a pane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    pub state: PaneState,
    pub composer: Composer,
    /// A spinner is drawn. Whether it moves, two looks say.
    pub busy: bool,
    /// Hash of what the agent last said above its composer, stable under redraws and other widths.
    /// `None` where no composer shows what is above it.
    pub question: Option<String>,
}
