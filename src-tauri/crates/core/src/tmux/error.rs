//! What can go wrong between Steward and tmux.

use steward_rules::questions::pane::PaneId;

/// Why tmux gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum TmuxError {
    #[error("tmux is not installed")]
    Missing,
    #[error("ssh is not installed")]
    NoSsh,
    #[error("no tmux server is running")]
    NoServer,
    #[error("there is no pane {pane}")]
    NoPane { pane: PaneId },
    #[error("tmux did not answer within {seconds} s")]
    Timeout { seconds: u64 },
    #[error("tmux printed more than {limit} bytes")]
    TooLarge { limit: usize },
    #[error("tmux refused: {words}")]
    Refused { words: String },
    #[error("tmux printed what Steward does not understand: {line}")]
    Odd { line: String },
    #[error("starting tmux: {source}")]
    Start { source: std::io::Error },
}

/// Characters of tmux's own words that are kept.
const WORDS_CAP: usize = 200;

impl TmuxError {
    /// The fault behind a command that failed, from what it wrote to standard error.
    pub(super) fn from_words(bytes: &[u8], pane: Option<&PaneId>) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let lost = ["no server running", "error connecting to", "server exited", "lost server"];
        if lost.iter().any(|words| text.contains(words)) {
            return Self::NoServer;
        }
        match pane {
            Some(pane) if text.contains("can't find pane") => Self::NoPane { pane: pane.clone() },
            Some(_) | None => Self::Refused { words: shown(&text) },
        }
    }
}

/// Foreign words on one line, escaped and cut.
pub(super) fn shown(text: &str) -> String {
    steward_rules::untrusted::Untrusted::new(text.trim()).one_line(WORDS_CAP)
}
