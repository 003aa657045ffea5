//! What a seat is started for: the tools it has, and what it must hand in.

use std::path::Path;

use steward_rules::questions::watcher::{self, WatchDigest};
use steward_rules::review::submission::FieldError;
use steward_rules::secret::Engine;
use steward_rules::untrusted::Untrusted;

use super::submission::{self, DigestHead};

/// One kind of work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Duty {
    /// Judges a finished task: reads an export, hands in a verdict.
    #[default]
    Review,
    /// Judges the last lines of a pane: reads nothing else, hands in one judgement.
    Watch,
}

impl Duty {
    /// Every tool it has. Whatever else is called ends the run.
    pub fn tools(self) -> &'static [&'static str] {
        match self {
            Self::Review => {
                &["Read", "Grep", "Glob", "mcp__steward__digest_get", "mcp__steward__verdict_submit"]
            }
            Self::Watch => &["mcp__steward__pane_get", "mcp__steward__judgement_submit"],
        }
    }

    /// The agent's own tools among them, as its command line takes them.
    pub(super) fn own_tools(self) -> String {
        let own = |tool: &&&str| !tool.starts_with("mcp__");
        self.tools().iter().filter(own).copied().collect::<Vec<_>>().join(",")
    }

    /// Those of our tools server.
    pub(super) fn server_tools(self) -> String {
        let ours = |tool: &&&str| tool.starts_with("mcp__");
        self.tools().iter().filter(ours).copied().collect::<Vec<_>>().join(",")
    }

    /// The word of `steward mcp` that serves them.
    pub(super) fn server(self) -> &'static str {
        match self {
            Self::Review => "review",
            Self::Watch => "watch",
        }
    }

    /// Checks what was handed in against the digest it is about.
    pub(super) fn check(self, json: &[u8], digest: &[u8], review: &Path) -> Result<(), String> {
        let unread = |error: serde_json::Error| format!("the digest cannot be read: {error}");
        let misfit = |error: FieldError| {
            let words = Untrusted::new(error.to_string()).one_line(200);
            format!("the submission does not fit: {words}")
        };
        match self {
            Self::Review => {
                let head: DigestHead = serde_json::from_slice(digest).map_err(unread)?;
                submission::check(json, &head, review).map(drop).map_err(misfit)
            }
            Self::Watch => {
                let digest: WatchDigest = serde_json::from_slice(digest).map_err(unread)?;
                check_watch(json, &digest).map(drop).map_err(misfit)
            }
        }
    }
}

/// Reads what a watcher handed in, and checks it against the lines it was about.
pub fn check_watch(json: &[u8], digest: &WatchDigest) -> Result<watcher::Judged, FieldError> {
    let said = serde_json::from_slice(json)
        // The parser repeats a wrong key or word as it stands.
        .map_err(|error: serde_json::Error| {
            let words = Engine::shared().redact(&error.to_string());
            FieldError { field: "judgement".to_owned(), error: Untrusted::new(words).one_line(300) }
        })?;
    watcher::validate(said, digest)
}
