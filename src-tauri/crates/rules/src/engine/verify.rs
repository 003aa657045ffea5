//! Whether what an agent left may be committed and pushed (engine.md 9). The first thing that is wrong
//! discards all of it.

use std::collections::BTreeMap;

use super::entries::EntryDiff;
use super::ladder::{self, TooMuch};
use super::paths::{NotData, SafePaths};
use super::policy::Policy;
use super::retry::TaskEnd;
use crate::diff::{Kind, RepoPath};
use crate::reading::{Reading, Why};
use crate::review::gate::odd_paths;
use crate::secret::{SecretReport, Tier};
use crate::wording;

/// What was found after the agent ended, and after the formatter ran over it.
#[derive(Debug, Clone, PartialEq)]
pub struct Left {
    /// Processes of the agent that are still alive.
    pub processes: Reading<u32>,
    /// What of git's own state is not byte for byte as before: `HEAD`, refs, config, hooks, attributes.
    pub git_touched: Reading<Vec<String>>,
    /// Every change, untracked and ignored files too; both sides of a rename.
    pub changes: Reading<Vec<Change>>,
    /// Every path of the tree as it would be committed.
    pub tree: Reading<Vec<RepoPath>>,
    /// How the formatter and the validator ended, in this order.
    pub tools: Reading<Vec<ToolEnd>>,
    pub entries: Reading<EntryDiff>,
    /// The scan over added lines and new file names.
    pub secrets: Reading<SecretReport>,
}

/// A changed file in the agent's tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub path: RepoPath,
    pub old_path: Option<RepoPath>,
    /// What stands there now.
    pub kind: Kind,
}

/// How one of the repository's own tools ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolEnd {
    pub name: String,
    /// `None` when it was killed, or ran out of time.
    pub exit: Option<i32>,
}

/// Why it is discarded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    Unread(Why),
    Processes {
        alive: u32,
    },
    GitTouched {
        what: Vec<String>,
    },
    Path {
        path: RepoPath,
        why: NotData,
    },
    /// A component begins with a dot.
    Dotfile {
        path: RepoPath,
    },
    /// Not a regular file of mode 100644.
    Mode {
        path: RepoPath,
        kind: Kind,
    },
    /// A name that reads otherwise than it is, or that some systems cannot hold.
    OddName {
        path: RepoPath,
        why: &'static str,
    },
    /// Another path is the same where case does not count.
    Collision {
        path: RepoPath,
        with: RepoPath,
    },
    Tool {
        name: String,
        exit: Option<i32>,
    },
    /// No tool was run over it.
    NotValidated,
    Nothing,
    TooMuch(TooMuch),
    Secret {
        rule: String,
    },
}

impl Refused {
    /// How the task ended by it. The agent ran, so an attempt is spent.
    pub fn end(&self) -> TaskEnd {
        match self {
            Self::Nothing => TaskEnd::NoChange,
            Self::Unread(_)
            | Self::Processes { .. }
            | Self::GitTouched { .. }
            | Self::Path { .. }
            | Self::Dotfile { .. }
            | Self::Mode { .. }
            | Self::OddName { .. }
            | Self::Collision { .. }
            | Self::Tool { .. }
            | Self::NotValidated
            | Self::TooMuch(_)
            | Self::Secret { .. } => TaskEnd::Refused,
        }
    }

    pub fn message(&self) -> String {
        wording::engine::refused(self)
    }
}

/// Judges what was left, in the order of engine.md 9. `of_pull` is what the pull request touches when the
/// change fixes one.
pub fn verify(left: &Left, policy: &Policy, of_pull: Option<&EntryDiff>) -> Result<(), Refused> {
    let unread = |why: &Why| Refused::Unread(why.clone());
    match left.processes.get().map_err(unread)? {
        0 => {}
        alive => return Err(Refused::Processes { alive: *alive }),
    }
    let what = left.git_touched.get().map_err(unread)?;
    if !what.is_empty() {
        return Err(Refused::GitTouched { what: what.clone() });
    }
    let changes = left.changes.get().map_err(unread)?;
    paths(changes, left.tree.get().map_err(unread)?, policy)?;
    let tools = left.tools.get().map_err(unread)?;
    if let Some(failed) = tools.iter().find(|tool| tool.exit != Some(0)) {
        return Err(Refused::Tool { name: failed.name.clone(), exit: failed.exit });
    }
    if tools.is_empty() {
        return Err(Refused::NotValidated);
    }
    if changes.is_empty() {
        return Err(Refused::Nothing);
    }
    let entries = left.entries.get().map_err(unread)?;
    ladder::own_size(entries, of_pull, policy).map_err(Refused::TooMuch)?;
    let secrets = left.secrets.get().map_err(unread)?;
    if let Some(hit) = secrets.hits.iter().find(|hit| hit.tier == Tier::High) {
        return Err(Refused::Secret { rule: hit.rule.clone() });
    }
    if secrets.skipped_bytes > 0 {
        return Err(Refused::Secret { rule: wording::engine::not_scanned() });
    }
    Ok(())
}

/// Judges where the changes lie and what they are, before any tool of the repository runs over them.
pub fn paths(changes: &[Change], tree: &[RepoPath], policy: &Policy) -> Result<(), Refused> {
    let safe = SafePaths::new(&policy.safe_paths, &policy.protected_paths);
    for change in changes {
        for path in change.old_path.iter().chain(std::iter::once(&change.path)) {
            let refusal = |why| Refused::Path { path: path.clone(), why };
            safe.refuses(path).map_or(Ok(()), |why| Err(refusal(why)))?;
            if path.components().any(|part| part.starts_with(b".")) {
                return Err(Refused::Dotfile { path: path.clone() });
            }
        }
        let path = &change.path;
        if !matches!(change.kind, Kind::File | Kind::Absent) {
            return Err(Refused::Mode { path: path.clone(), kind: change.kind });
        }
        let odd = odd_paths::disguise(path).or_else(|| path.components().find_map(odd_paths::unportable));
        if let Some(why) = odd.filter(|_| change.kind != Kind::Absent) {
            return Err(Refused::OddName { path: path.clone(), why });
        }
    }
    let mut by_fold: BTreeMap<String, Vec<&RepoPath>> = BTreeMap::new();
    for path in tree {
        by_fold.entry(odd_paths::fold(path)).or_default().push(path);
    }
    for change in changes.iter().filter(|change| change.kind != Kind::Absent) {
        let twins = by_fold.get(&odd_paths::fold(&change.path));
        if let Some(with) = twins.into_iter().flatten().find(|twin| **twin != &change.path) {
            return Err(Refused::Collision { path: change.path.clone(), with: (*with).clone() });
        }
    }
    Ok(())
}
