//! One look at a pane: its facts and its screen, in one command.

use steward_rules::questions::pane::{PaneId, Screen};

use super::list::{FACTS, Pane, facts_of};
use super::{Tmux, TmuxError};

/// Lines above the visible screen that are captured with it, for the reader and the watcher seat.
const SCROLLBACK: &str = "-40";

/// A pane and what it showed at the same moment.
#[derive(Debug, Clone)]
pub struct Capture {
    pub pane: Pane,
    pub screen: Screen,
}

impl Tmux {
    /// Captures a pane: wrapped lines joined, colours kept, the visible screen and a little above it.
    pub async fn capture(&self, pane: &PaneId) -> Result<Capture, TmuxError> {
        let target = pane.as_str();
        let facts = ["display-message", "-p", "-t", target, FACTS, ";"];
        let out = self.run(facts.into_iter().chain(words(target)), Some(pane)).await?;
        let end = out.iter().position(|byte| *byte == b'\n').unwrap_or(out.len());
        let facts = facts_of(&String::from_utf8_lossy(&out[..end]), pane)?;
        Ok(Capture { pane: facts, screen: Screen::parse(out.get(end + 1..).unwrap_or_default()) })
    }
}

/// The command that captures a screen with its colours, and a little above it.
pub(super) fn words(target: &str) -> [&str; 8] {
    ["capture-pane", "-p", "-J", "-e", "-t", target, "-S", SCROLLBACK]
}
