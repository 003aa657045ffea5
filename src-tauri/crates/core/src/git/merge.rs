//! Commits put onto another base in our own clone, without a checkout (engine.md 7). Attributes and merge
//! drivers of the branches count for nothing; what git cannot merge by itself is handed to the caller.

use std::collections::BTreeMap;

use steward_rules::diff::{Kind, RepoPath};
use steward_rules::ids::Sha;
use tokio_util::sync::CancellationToken;

use super::clone::BareClone;
use super::error::GitError;
use super::landed::{self, Folders, commit_of};
use super::work::{Between, Edit};

/// Three trees that are merged: what both sides have in common, ours, and theirs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Three {
    pub below: Sha,
    pub ours: Sha,
    pub theirs: Sha,
}

/// What stands at a path of three trees; `None` where nothing does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtPath {
    pub path: RepoPath,
    pub below: Option<(Kind, Sha)>,
    pub ours: Option<(Kind, Sha)>,
    pub theirs: Option<(Kind, Sha)>,
}

/// What git made of three trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    pub tree: Sha,
    /// Paths that git could not merge.
    pub open: Vec<RepoPath>,
    /// Paths that both sides changed, each in its own way, whether git merged them or not.
    pub both: Vec<AtPath>,
}

/// The tree of a commit.
pub fn tree_of(clone: &BareClone, commit: &Sha) -> Result<Sha, GitError> {
    landed::tree_of(clone, commit.as_str())
}

/// True when one commit is the other or behind it.
pub fn is_behind(clone: &BareClone, older: &Sha, newer: &Sha) -> Result<bool, GitError> {
    landed::is_behind(clone, older, newer)
}

/// Merges three trees as git does.
pub fn three_way(clone: &BareClone, three: &Three, cancel: &CancellationToken) -> Result<Merged, GitError> {
    // Only a tree with something below it can be merged.
    let below = commit_of(clone, &three.below, None)?;
    let ours = commit_of(clone, &three.ours, Some(&below))?;
    let theirs = commit_of(clone, &three.theirs, Some(&below))?;
    let (tree, open) = landed::merge_tree(clone, [&ours, &theirs], Folders::Stay, cancel)?;
    let by_us = clone.between(&three.below, &three.ours, cancel)?;
    let by_them = clone.between(&three.below, &three.theirs, cancel)?;
    let by_them: BTreeMap<RepoPath, Between> =
        by_them.into_iter().map(|them| (them.path.clone(), them)).collect();
    let both = |us: Between| {
        let theirs = by_them.get(&us.path)?.new.clone();
        (us.new != theirs).then_some(AtPath { path: us.path, below: us.old, ours: us.new, theirs })
    };
    Ok(Merged { tree, open, both: by_us.into_iter().filter_map(both).collect() })
}

/// A tree with the paths that a driver merged put in place of what git made of them.
pub fn settled(
    clone: &BareClone,
    tree: &Sha,
    edits: &[Edit],
    cancel: &CancellationToken,
) -> Result<Sha, GitError> {
    if edits.is_empty() { Ok(tree.clone()) } else { clone.tree_with(tree, edits, cancel) }
}
