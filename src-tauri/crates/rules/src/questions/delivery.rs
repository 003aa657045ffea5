//! How far an answer has come: typed is not delivered (questions.md 6).

use serde::{Deserialize, Serialize};

use super::need::Origin;

/// How an answer reaches its asker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// The asker fetches it: `steward need --wait`, `need_answer_get`.
    Fetch,
    /// As a reply to the asker's message.
    Thrum,
    /// Typed into the asker's pane.
    Type,
    /// One key into a permission prompt.
    Key,
    /// Nothing of Steward reaches the asker: the owner goes to the pane.
    Nowhere,
}

/// Where an answer stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Not carried yet, or held while a person's draft stands in the composer.
    Queued,
    /// Being carried: what a crash leaves here may be half done, and is not repeated.
    Carrying,
    /// In the composer, not sent.
    Typed,
    /// Sent; nothing shows yet that it was taken.
    Submitted,
    /// The asker has it.
    Acknowledged,
    /// Back with the owner, undelivered.
    Returned,
}

impl Stage {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Carrying => "carrying",
            Self::Typed => "typed",
            Self::Submitted => "submitted",
            Self::Acknowledged => "acknowledged",
            Self::Returned => "returned",
        }
    }

    /// True when nothing more will happen to it by itself.
    pub fn is_over(self) -> bool {
        match self {
            Self::Queued | Self::Carrying | Self::Typed | Self::Submitted => false,
            Self::Acknowledged | Self::Returned => true,
        }
    }
}

/// What one attempt to carry an answer came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attempt {
    /// Proved by a capture, a fetch or the transport.
    Acknowledged,
    /// Sent, and not proved yet.
    Submitted,
    /// A person's draft stands in the way; it is tried again later.
    Held(String),
    /// Nothing was sent: the pane, its program or the question is another, or a modal is open.
    Refused(String),
    /// In the composer, and three times Enter did not send it.
    Unsubmitted(String),
}

/// Where an attempt leaves the answer, and why when it did not arrive.
pub fn after(attempt: Attempt) -> (Stage, Option<String>) {
    match attempt {
        Attempt::Acknowledged => (Stage::Acknowledged, None),
        Attempt::Submitted => (Stage::Submitted, None),
        Attempt::Held(why) => (Stage::Queued, Some(why)),
        Attempt::Refused(why) | Attempt::Unsubmitted(why) => (Stage::Returned, Some(why)),
    }
}

/// What becomes of an answer that a runtime left in this stage. What was being carried is never carried
/// again by itself: the owner looks and sends it once more.
pub fn after_restart(stage: Stage) -> Stage {
    match stage {
        Stage::Queued => Stage::Queued,
        Stage::Carrying | Stage::Typed | Stage::Submitted => Stage::Returned,
        Stage::Acknowledged => Stage::Acknowledged,
        Stage::Returned => Stage::Returned,
    }
}

/// The facts that decide how an answer travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    pub origin: Origin,
    /// A prompt is open in its pane.
    pub prompt: Option<Promptness>,
    /// The asker's pane is known.
    pub has_pane: bool,
    /// The config lets keys be typed where that pane is.
    pub keys: bool,
}

/// What is known of an open prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promptness {
    /// It asks for one permission, and was seen.
    Permission,
    /// It is a menu, asks for trust, or nobody read it: no key of Steward answers it.
    Other,
}

/// How the answer to a question travels.
pub fn way(asked: Asked) -> Way {
    let typed = asked.has_pane && asked.keys;
    match asked.origin {
        Origin::Cli | Origin::Mcp => Way::Fetch,
        Origin::Thrum => Way::Thrum,
        Origin::Hook | Origin::Pane if !typed => Way::Nowhere,
        Origin::Hook | Origin::Pane => match asked.prompt {
            Some(Promptness::Permission) => Way::Key,
            Some(Promptness::Other) => Way::Nowhere,
            None => Way::Type,
        },
    }
}
