//! What a seat is started for: the tools it has, and what it must hand in.

use std::path::Path;

use steward_rules::engine::answer::{self, FixNote, Triaged};
use steward_rules::questions::watcher::{self, WatchDigest};
use steward_rules::review::submission::FieldError;
use steward_rules::secret::Engine;
use steward_rules::untrusted::Untrusted;

use super::submission::{self, DigestHead};

/// The agent's own search of the web.
const SEARCH: &str = "WebSearch";

/// One kind of work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Duty {
    /// Judges a finished task: reads an export, hands in a verdict.
    #[default]
    Review,
    /// Judges the last lines of a pane: reads nothing else, hands in one judgement.
    Watch,
    /// Repairs a change: writes in the safe paths, hands in a short note.
    Fix,
    /// Decides about an issue: writes in the safe paths where it makes the change, hands in one decision.
    Triage {
        /// Whether it may search the web; the search runs at the model's side.
        search: bool,
    },
}

impl Duty {
    /// Every tool it has. Whatever else is called ends the run.
    pub fn tools(self) -> &'static [&'static str] {
        match self {
            Self::Review => {
                &["Read", "Grep", "Glob", "mcp__steward__digest_get", "mcp__steward__verdict_submit"]
            }
            Self::Watch => &["mcp__steward__pane_get", "mcp__steward__judgement_submit"],
            Self::Fix => &[
                "Read",
                "Grep",
                "Glob",
                "Edit",
                "Write",
                "mcp__steward__task_get",
                "mcp__steward__file_remove",
                "mcp__steward__fix_submit",
            ],
            Self::Triage { search } => {
                const ALL: &[&str] = &[
                    SEARCH,
                    "Read",
                    "Grep",
                    "Glob",
                    "Edit",
                    "Write",
                    "mcp__steward__task_get",
                    "mcp__steward__file_remove",
                    "mcp__steward__triage_submit",
                ];
                if search { ALL } else { &ALL[1..] }
            }
        }
    }

    /// True when it works in the tree it is given, so that a change there is no fault.
    pub fn writes(self) -> bool {
        match self {
            Self::Review | Self::Watch => false,
            Self::Fix | Self::Triage { .. } => true,
        }
    }

    /// The agent's own tools among them, as its command line takes them.
    pub(super) fn own_tools(self) -> String {
        let own = |tool: &&&str| !tool.starts_with("mcp__");
        self.tools().iter().filter(own).copied().collect::<Vec<_>>().join(",")
    }

    /// Those of our tools server, and the search: what is allowed wherever it looks. `Read`, `Grep` and
    /// `Glob` are not among them, since a bare permission would open the whole disk to them.
    pub(super) fn free_tools(self) -> Vec<&'static str> {
        let ours = |tool: &&str| tool.starts_with("mcp__") || *tool == SEARCH;
        self.tools().iter().copied().filter(ours).collect()
    }

    /// The word of `steward mcp` that serves them.
    pub(super) fn server(self) -> &'static str {
        match self {
            Self::Review => "review",
            Self::Watch => "watch",
            Self::Fix => "fix",
            Self::Triage { .. } => "triage",
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
            Self::Fix => check_fix(json).map(drop).map_err(misfit),
            Self::Triage { .. } => check_triage(json).map(drop).map_err(misfit),
        }
    }
}

/// Reads what a watcher handed in, and checks it against the lines it was about.
pub fn check_watch(json: &[u8], digest: &WatchDigest) -> Result<watcher::Judged, FieldError> {
    watcher::validate(parsed("judgement", json)?, digest)
}

/// Reads what a fixer handed in.
pub fn check_fix(json: &[u8]) -> Result<FixNote, FieldError> {
    answer::fix(parsed("answer", json)?)
}

/// Reads what a triager handed in.
pub fn check_triage(json: &[u8]) -> Result<Triaged, FieldError> {
    answer::triage(parsed("answer", json)?)
}

fn parsed<'j, T: serde::Deserialize<'j>>(field: &str, json: &'j [u8]) -> Result<T, FieldError> {
    serde_json::from_slice(json).map_err(|error| {
        // The parser repeats a wrong key or word as it stands.
        let words = Engine::shared().redact(&error.to_string());
        FieldError { field: field.to_owned(), error: Untrusted::new(words).one_line(300) }
    })
}
