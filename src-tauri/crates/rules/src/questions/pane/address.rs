//! Which pane is meant, and whether it is still the same one.

use serde::{Deserialize, Serialize};
use std::fmt;

/// tmux's own number of a pane, `%12`. It stays with the pane for the life of its server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(type = "string"))]
pub struct PaneId(String);

/// Why a text is not a [`PaneId`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a pane is named by a percent sign and a number, like %12")]
pub struct PaneIdError;

impl PaneId {
    /// Checks and keeps a pane's number: a window, session or "the active pane" is no address.
    pub fn new(text: &str) -> Result<Self, PaneIdError> {
        let digits = text.strip_prefix('%').ok_or(PaneIdError)?;
        let fits = (1..=9).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
        if fits { Ok(Self(text.to_owned())) } else { Err(PaneIdError) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PaneId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for PaneId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(&text).map_err(serde::de::Error::custom)
    }
}

/// Everything that must stay the same for a pane to be the same pane: with another server, another
/// first process or another foreground program it is another one (questions.md 3).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PaneIdentity {
    pub pane: PaneId,
    /// Process number of the tmux server.
    pub server: i64,
    /// Process number of the pane's first process; a respawned pane has another.
    pub first: i64,
    /// Name of the program in the foreground, as tmux gives it. Foreign text: any program names itself.
    pub foreground: String,
}

/// Whose screen it is: what its prompts and composer look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum Agent {
    /// Claude Code.
    Claude,
    /// Codex CLI.
    Codex,
    /// Anything else that draws a prompt line.
    Generic,
}

/// Shells: with one of them in the foreground no agent is running.
const SHELLS: &[&str] =
    &["ash", "bash", "csh", "dash", "elvish", "fish", "ksh", "mksh", "nu", "sh", "tcsh", "xonsh", "zsh"];

impl Agent {
    /// The adapter a roster names.
    pub fn named(adapter: &str) -> Option<Self> {
        match adapter {
            "claude" | "claude-code" => Some(Self::Claude),
            "codex" => Some(Self::Codex),
            "generic" => Some(Self::Generic),
            _other_text => None,
        }
    }

    /// The agent a foreground program is. Claude Code's own installer names the program by its
    /// version, `2.1.332`. Programs that could be any agent (`node`) are `None`.
    pub fn of_program(program: &str) -> Option<Self> {
        let version = program.split('.').count() == 3
            && program.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
        match program {
            "claude" | "claude.exe" => Some(Self::Claude),
            "codex" => Some(Self::Codex),
            _other_text if version => Some(Self::Claude),
            _other_text => None,
        }
    }
}

/// True when the foreground program is a shell: whoever was watched there has ended.
pub fn is_shell(program: &str) -> bool {
    SHELLS.contains(&program.trim_start_matches('-'))
}
