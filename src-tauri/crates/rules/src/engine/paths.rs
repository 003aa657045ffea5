//! Which paths are data, and which change how git, the forge or an agent behaves (engine.md 3).

use crate::diff::RepoPath;
use crate::globs::Globs;

/// Files that agents and Steward itself take for instructions or settings, wherever they lie. Compared
/// without case, since some file systems do.
const INSTRUCTIONS: [&str; 7] = [
    "agents.md",
    "agents.override.md",
    "claude.md",
    "claude.local.md",
    "gemini.md",
    "steward.yaml",
    "steward.yml",
];

/// Dotfiles and folders of the same kind.
const DOT_INSTRUCTIONS: [&str; 12] = [
    ".claude",
    ".codex",
    ".cursor",
    ".cursorrules",
    ".windsurf",
    ".windsurfrules",
    ".clinerules",
    ".gemini",
    ".mcp.json",
    ".vscode",
    ".devcontainer",
    ".steward",
];

/// The safe and the protected paths of a policy, compiled.
pub struct SafePaths {
    safe: Globs,
    protected: Globs,
}

/// Why a path is not data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotData {
    /// A NUL, `.`, `..` or empty component, or bytes that are no text.
    Odd,
    /// Below no safe path.
    Outside,
    /// `.git…`: attributes, submodules, workflows.
    Git,
    /// Instructions or settings for an agent or for Steward.
    Instructions,
    /// Named by `protectedPaths`.
    Protected,
}

impl SafePaths {
    /// Compiles the two lists. A protected pattern that is no glob protects everything.
    pub fn new(safe: &[String], protected: &[String]) -> Self {
        let mut protecting = Globs::new(protected);
        if !protecting.invalid.is_empty() {
            protecting = Globs::new(&["**"]);
        }
        let folders: Vec<String> =
            safe.iter().filter(|one| Self::is_pattern(one)).map(|one| folder(one)).collect();
        Self { safe: Globs::new(&folders), protected: protecting }
    }

    /// True for a text that can name safe paths.
    pub fn is_pattern(text: &str) -> bool {
        let plain = text.strip_suffix('/').unwrap_or(text);
        !plain.is_empty()
            && is_normal(&RepoPath::from(plain))
            && Globs::new(&[folder(text)]).invalid.is_empty()
    }

    /// Why a path is not data; `None` when it is.
    pub fn refuses(&self, path: &RepoPath) -> Option<NotData> {
        if !is_normal(path) {
            return Some(NotData::Odd);
        }
        if path.components().any(|part| lower(part).starts_with(".git")) {
            return Some(NotData::Git);
        }
        if path.components().any(is_instruction) {
            return Some(NotData::Instructions);
        }
        if !self.safe.matches(path) {
            return Some(NotData::Outside);
        }
        self.protected.matches(path).then_some(NotData::Protected)
    }

    /// True when a path lies where data lies, whatever stands there.
    pub fn covers(&self, path: &RepoPath) -> bool {
        self.safe.matches(path) || !is_normal(path)
    }
}

/// `data` and `data/` name a folder: a file called `data` is outside it. A glob is taken as it is.
fn folder(pattern: &str) -> String {
    match pattern.strip_suffix('/') {
        Some(plain) => format!("{plain}/**"),
        None if pattern.contains(['*', '?', '[', '{']) => pattern.to_owned(),
        None => format!("{pattern}/**"),
    }
}

/// True when every component is a name, and the whole is text.
pub fn is_normal(path: &RepoPath) -> bool {
    std::str::from_utf8(path.raw()).is_ok()
        && !path.raw().contains(&0)
        && path.components().all(|part| !matches!(part, b"" | b"." | b".."))
}

fn is_instruction(part: &[u8]) -> bool {
    let name = lower(part);
    INSTRUCTIONS.contains(&name.as_str())
        || DOT_INSTRUCTIONS.contains(&name.as_str())
        || name.starts_with(".aider")
        || name.starts_with("steward.") && name.ends_with(".yaml")
}

fn lower(part: &[u8]) -> String {
    String::from_utf8_lossy(part).to_lowercase()
}
