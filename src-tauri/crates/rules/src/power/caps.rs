//! How much the engine may do at once in a repository, and on which paths and branches.
//!
//! Like a class that acts, a larger cap, a further safe path and a further branch wait for a person's
//! confirmation (product.md, *Modes and powers*). The paths and branches are caps too: `safePaths: ["**"]`
//! lets more merge than any number does. The conditions of the gate are none of them: they only ever hold back.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Widening;
use crate::engine::policy::Policy;

/// The caps of one repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caps {
    /// Most entries of a change that merges.
    pub merge_max_entries: u32,
    /// Most entries of a change that Steward writes.
    pub own_max_entries: u32,
    /// Agent runs per UTC day; `None` is no cap.
    pub daily_runs: Option<u32>,
    /// Patterns of paths whose changes may merge.
    pub safe_paths: BTreeSet<String>,
    /// Globs of branches that may be pushed to.
    pub push_allowed: BTreeSet<String>,
}

impl Default for Caps {
    /// What needs no confirmation: the values of a policy that says nothing.
    fn default() -> Self {
        Self::of(&Policy::default())
    }
}

impl Caps {
    /// What a policy asks for.
    pub fn of(policy: &Policy) -> Self {
        Self {
            merge_max_entries: policy.merge_max_entries,
            own_max_entries: policy.own_max_entries,
            daily_runs: (policy.agent.daily_runs > 0).then_some(policy.agent.daily_runs),
            safe_paths: policy.safe_paths.iter().cloned().collect(),
            push_allowed: policy.push.allowed.iter().cloned().collect(),
        }
    }

    /// What both allow, in the patterns of `self` where they suffice: what lies within one of those adds
    /// nothing, so that caps which are allowed whole stay as they are written.
    pub fn meet(&self, other: &Self) -> Self {
        let both = |a: &BTreeSet<String>, b: &BTreeSet<String>, is_covered: Covers| {
            let mut kept: BTreeSet<String> =
                a.iter().filter(|pattern| is_covered(pattern, b)).cloned().collect();
            let narrower = b.iter().filter(|pattern| is_covered(pattern, a) && !is_covered(pattern, &kept));
            let narrower: Vec<String> = narrower.cloned().collect();
            kept.extend(narrower);
            kept
        };
        Self {
            merge_max_entries: self.merge_max_entries.min(other.merge_max_entries),
            own_max_entries: self.own_max_entries.min(other.own_max_entries),
            daily_runs: match (self.daily_runs, other.daily_runs) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            },
            safe_paths: both(&self.safe_paths, &other.safe_paths, is_safe_within),
            push_allowed: both(&self.push_allowed, &other.push_allowed, is_branch_within),
        }
    }

    /// The policy with no more than these caps.
    pub fn bind(&self, policy: &Policy) -> Policy {
        let force = Self::of(policy).meet(self);
        let mut policy = policy.clone();
        policy.merge_max_entries = force.merge_max_entries;
        policy.own_max_entries = force.own_max_entries;
        policy.agent.daily_runs = force.daily_runs.unwrap_or(0);
        keep(&mut policy.safe_paths, &force.safe_paths);
        keep(&mut policy.push.allowed, &force.push_allowed);
        policy
    }

    /// What `asked` has beyond `self`, one line each; `prefix` is the key of the repository.
    pub(super) fn beyond(&self, asked: &Self, prefix: &str) -> Vec<Widening> {
        let mut lines = Vec::new();
        let mut line = |key: &str, now: String, asked: String| {
            lines.push(Widening { key: format!("{prefix}.policy.engine.{key}"), now, asked });
        };
        for (key, now, wanted) in [
            ("mergeMaxEntries", self.merge_max_entries, asked.merge_max_entries),
            ("ownMaxEntries", self.own_max_entries, asked.own_max_entries),
        ] {
            if wanted > now {
                line(key, now.to_string(), wanted.to_string());
            }
        }
        let is_more = match (self.daily_runs, asked.daily_runs) {
            (Some(now), Some(wanted)) => wanted > now,
            (Some(_), None) => true,
            (None, _) => false,
        };
        if is_more {
            let word = |runs: Option<u32>| runs.map_or_else(|| "no cap".to_owned(), |runs| runs.to_string());
            line("agent.dailyRuns", word(self.daily_runs), word(asked.daily_runs));
        }
        let sets: [(&str, &BTreeSet<String>, &BTreeSet<String>, Covers); 2] = [
            ("safePaths", &self.safe_paths, &asked.safe_paths, is_safe_within),
            ("push.allowed", &self.push_allowed, &asked.push_allowed, is_branch_within),
        ];
        for (key, now, wanted, is_covered) in sets {
            if wanted.iter().any(|pattern| !is_covered(pattern, now)) {
                line(key, list(now), list(wanted));
            }
        }
        lines
    }
}

type Covers = fn(&str, &BTreeSet<String>) -> bool;

/// True when a safe path lies within one of `wide`: it stands there, or below a folder that does.
fn is_safe_within(pattern: &str, wide: &BTreeSet<String>) -> bool {
    wide.iter().any(|wide| {
        // `doc**` is a glob of names, and only `**` and `doc/**` are all that lies in a folder.
        let (folder, is_folder) = match wide.strip_suffix("**") {
            Some(folder) => (folder, folder.is_empty() || folder.ends_with('/')),
            None => (wide.as_str(), !wide.is_empty()),
        };
        let is_folder = is_folder && !folder.contains(['*', '?', '[', '{', '\\', '!']);
        pattern == wide || (is_folder && is_below(pattern, folder))
    })
}

/// True when a glob of branches lies within one of `wide`. Without a `/` at its end a name is one branch.
fn is_branch_within(glob: &str, wide: &BTreeSet<String>) -> bool {
    wide.iter().any(|wide| {
        let folder = wide.strip_suffix("**").unwrap_or(wide);
        let is_folder = folder.ends_with('/') && !folder.contains(['*', '?', '[', '{', '\\', '!']);
        glob == wide || (is_folder && is_below(glob, folder))
    })
}

/// True below a folder by whole components. Any pattern lies below the folder that is everything.
fn is_below(pattern: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    folder.is_empty()
        || pattern
            .strip_prefix(folder)
            .is_some_and(|rest| (rest.is_empty() || rest.starts_with('/')) && !rest.contains(".."))
}

/// The patterns of the file that hold, in its order, and the narrower ones that hold in their place.
fn keep(patterns: &mut Vec<String>, force: &BTreeSet<String>) {
    patterns.retain(|pattern| force.contains(pattern));
    for pattern in force {
        if !patterns.contains(pattern) {
            patterns.push(pattern.clone());
        }
    }
}

fn list(patterns: &BTreeSet<String>) -> String {
    if patterns.is_empty() {
        return "none".to_owned();
    }
    patterns.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}
