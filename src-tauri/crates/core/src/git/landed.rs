//! What a merge must make, and what landed: trees made beside each other in our own clone (engine.md 4.7).
//!
//! Nothing is checked out and no ref moves. Attributes and merge drivers of the branches count
//! for nothing.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};
use steward_rules::diff::RepoPath;
use steward_rules::engine::landed::{self, Commit, Expected, Facts, History, Kept, Place};
use steward_rules::ids::Sha;
use steward_rules::reading::Reading;
use tokio_util::sync::CancellationToken;

use super::clone::BareClone;
use super::error::GitError;
use super::runner::{EMPTY_TREE, Limits};
use super::workspace::sha;

/// GitHub rebases no more commits than a hundred; a longer one is none.
const LONGEST: usize = 250;

/// Whether git follows a folder that was renamed on one side with what is new in it on the other. Both are in
/// use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Folders {
    Stay,
    Follow,
}

/// One merge, with every commit of it here.
#[derive(Debug, Clone, Copy)]
pub struct Merge<'a> {
    /// The last head of the pull request.
    pub head: &'a Sha,
    pub landed: &'a Sha,
    /// What the base is known to have held before.
    pub before: &'a [Sha],
    /// The base as it is now; `None` when that branch is gone.
    pub tip: Option<&'a Sha>,
}

/// Reads everything by which a merge is judged.
pub fn look(clone: &BareClone, merge: &Merge<'_>, cancel: &CancellationToken) -> Result<Facts, GitError> {
    let (head, landed) = (merge.head, merge.landed);
    let (mut own, _) = commits(clone, LONGEST, &[head.as_str(), &format!("^{landed}")], cancel)?;
    let holds_head = own.is_empty();
    // A rebase leaves merges out.
    own.retain(|commit| commit.parents.len() < 2);
    own.reverse();
    let (chain, tree) = commits(clone, own.len() + 1, &["--first-parent", landed.as_str()], cancel)?;
    let place = landed::place(&History { head, holds_head, chain: &chain, own: &own });
    let tree = tree.ok_or_else(|| GitError::answer("log", "no landed commit"))?;
    let expected = place.as_ref().map(|place| expected(clone, place, &tree, cancel)).unwrap_or_default();
    let below = place.as_ref().ok().and_then(|place| place.onto.as_ref()).unwrap_or(landed);
    let before = merge.before.iter().map(|had| reading(kept(clone, had, below, cancel))).collect();
    let now = merge.tip.map(|tip| reading(on_branch(clone, landed, tip, cancel)));
    Ok(Facts { place, tree: Reading::known(tree), expected, before, now })
}

/// Each rightful way to merge, until one makes what landed.
fn expected(
    clone: &BareClone,
    place: &Place,
    landed: &Sha,
    cancel: &CancellationToken,
) -> Vec<Reading<Expected>> {
    let Some(onto) = &place.onto else { return Vec::new() };
    let merged = |folders| merged(clone, [onto, &place.brought], folders, landed, cancel);
    let mut found = Vec::new();
    for way in 0..3 {
        let made = match way {
            0 => merged(Folders::Stay),
            1 if place.replayed.is_empty() => continue,
            1 => replayed(clone, onto, &place.replayed, landed, cancel),
            _ => merged(Folders::Follow),
        };
        let is_it = made.as_ref().is_ok_and(|made| made.tree == *landed && made.conflicts.is_empty());
        found.push(reading(made));
        if is_it {
            break;
        }
    }
    found
}

fn reading<T>(result: Result<T, GitError>) -> Reading<T> {
    result.map_err(|error| error.why()).into()
}

/// So many commits, newest first, and the tree of the newest.
fn commits(
    clone: &BareClone,
    most: usize,
    which: &[&str],
    cancel: &CancellationToken,
) -> Result<(Vec<Commit>, Option<Sha>), GitError> {
    let format = "--format=%H%x1f%T%x1f%P%x1f%an%x1f%ae%x1f%ad%x1f%B";
    let most = format!("--max-count={}", most.min(LONGEST));
    let mut args =
        vec!["log", "-z", "--topo-order", "--no-show-signature", "--no-mailmap", "--date=raw", format, &most];
    args.extend_from_slice(which);
    args.push("--");
    let said = clone.call(&args).limits(Limits::LIST).cancel(cancel).bytes()?;
    let bad = || GitError::answer("log", "a commit it cannot read");
    let text = |bytes| std::str::from_utf8(bytes).map_err(|_| bad());
    let (mut found, mut tree) = (Vec::new(), None);
    for record in said.split(|byte| *byte == 0).filter(|record| !record.is_empty()) {
        let mut parts = record.splitn(4, |byte| *byte == 0x1f);
        let mut part = || parts.next().ok_or_else(bad);
        let (id, own_tree, parents, words) = (part()?, part()?, part()?, part()?);
        let parents = text(parents)?.split(' ').filter(|one| !one.is_empty());
        found.push(Commit {
            id: sha(text(id)?, "log")?,
            parents: parents.map(|one| sha(one, "log")).collect::<Result<_, _>>()?,
            mark: hex::encode(Sha256::digest(words)),
        });
        if tree.is_none() {
            tree = Some(sha(text(own_tree)?, "log")?);
        }
    }
    Ok((found, tree))
}

pub(super) fn tree_of(clone: &BareClone, commit: &str) -> Result<Sha, GitError> {
    let name = format!("{commit}^{{tree}}");
    sha(&clone.call(&["rev-parse", "--verify", "--end-of-options", &name]).line()?, "rev-parse")
}

/// True when one commit is the other or behind it. Both are here.
pub(super) fn is_behind(clone: &BareClone, older: &Sha, newer: &Sha) -> Result<bool, GitError> {
    if older == newer {
        return Ok(true);
    }
    let call = clone.call(&["merge-base", "--is-ancestor", older.as_str(), newer.as_str()]);
    call.answer().map(|(_, no)| !no)
}

/// What git makes of both sides, beside the tree that landed.
fn merged(
    clone: &BareClone,
    sides: [&Sha; 2],
    folders: Folders,
    landed: &Sha,
    cancel: &CancellationToken,
) -> Result<Expected, GitError> {
    let (tree, conflicts) = merge_tree(clone, sides, folders, cancel)?;
    let differing = differing(clone, &tree, landed, cancel)?.into_iter().collect();
    Ok(Expected { tree, conflicts, differing })
}

/// What git makes of these commits when it puts them onto another, one after the other.
fn replayed(
    clone: &BareClone,
    onto: &Sha,
    commits: &[Sha],
    landed: &Sha,
    cancel: &CancellationToken,
) -> Result<Expected, GitError> {
    let mut tree = tree_of(clone, onto.as_str())?;
    let mut conflicts = Vec::new();
    for commit in commits {
        // Three commits of these trees, of which the first is what the others have in common.
        let below = commit_of(clone, &tree_of(clone, &format!("{commit}^"))?, None)?;
        let ours = commit_of(clone, &tree, Some(&below))?;
        let theirs = commit_of(clone, &tree_of(clone, commit.as_str())?, Some(&below))?;
        let (made, open) = merge_tree(clone, [&ours, &theirs], Folders::Stay, cancel)?;
        tree = made;
        conflicts.extend(open);
    }
    let differing = differing(clone, &tree, landed, cancel)?.into_iter().collect();
    Ok(Expected { tree, conflicts, differing })
}

pub(super) fn merge_tree(
    clone: &BareClone,
    sides: [&Sha; 2],
    folders: Folders,
    cancel: &CancellationToken,
) -> Result<(Sha, Vec<RepoPath>), GitError> {
    let follow = match folders {
        Folders::Stay => "false",
        Folders::Follow => "true",
    };
    let args = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages"];
    let args: Vec<&str> = args.into_iter().chain(sides.map(Sha::as_str)).collect();
    let call = clone.call(&args).setting("merge.directoryRenames", follow).setting("merge.renames", "true");
    let (said, _) = call.limits(Limits::LIST).cancel(cancel).answer()?;
    let mut parts = said.split(|byte| *byte == 0);
    let tree = parts.next().and_then(|id| std::str::from_utf8(id).ok()).unwrap_or_default();
    let tree = sha(tree, "merge-tree")?;
    Ok((tree, parts.filter(|path| !path.is_empty()).map(RepoPath::new).collect()))
}

/// A commit that is in no history: only a tree with something below it can be merged.
pub(super) fn commit_of(clone: &BareClone, tree: &Sha, below: Option<&Sha>) -> Result<Sha, GitError> {
    let mut args = vec!["commit-tree", tree.as_str(), "-m", "steward"];
    if let Some(below) = below {
        args.extend(["-p", below.as_str()]);
    }
    let mut call = clone.call(&args);
    for who in ["AUTHOR", "COMMITTER"] {
        call = call
            .env(&format!("GIT_{who}_NAME"), "steward")
            .env(&format!("GIT_{who}_EMAIL"), "steward@localhost")
            .env(&format!("GIT_{who}_DATE"), "@0 +0000");
    }
    sha(&call.line()?, "commit-tree")
}

/// The paths at which two trees differ.
fn differing(
    clone: &BareClone,
    one: &Sha,
    other: &Sha,
    cancel: &CancellationToken,
) -> Result<BTreeSet<RepoPath>, GitError> {
    if one == other {
        return Ok(BTreeSet::new());
    }
    let args = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", one.as_str(), other.as_str(), "--"];
    let said = clone.call(&args).limits(Limits::LIST).cancel(cancel).bytes()?;
    Ok(said.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(RepoPath::new).collect())
}

/// Whether everything that `had` brought is still there in `has`, which is to have it behind it.
fn kept(clone: &BareClone, had: &Sha, has: &Sha, cancel: &CancellationToken) -> Result<Kept, GitError> {
    if is_behind(clone, had, has)? {
        return Ok(Kept::Whole);
    }
    let (said, strangers) = clone.call(&["merge-base", had.as_str(), has.as_str()]).answer()?;
    let common = if strangers {
        sha(EMPTY_TREE, "merge-base")?
    } else {
        tree_of(clone, String::from_utf8_lossy(&said).trim_end())?
    };
    let (had, has) = (tree_of(clone, had.as_str())?, tree_of(clone, has.as_str())?);
    let brought = differing(clone, &common, &had, cancel)?;
    let other = differing(clone, &had, &has, cancel)?;
    let lost: Vec<RepoPath> = brought.intersection(&other).cloned().collect();
    Ok(if lost.is_empty() { Kept::Whole } else { Kept::Lost(lost) })
}

/// Whether a branch as it is now has the landed commit. One that is behind it was read too early.
fn on_branch(
    clone: &BareClone,
    landed: &Sha,
    tip: &Sha,
    cancel: &CancellationToken,
) -> Result<Kept, GitError> {
    match kept(clone, landed, tip, cancel)? {
        Kept::Lost(_) if is_behind(clone, tip, landed)? => Ok(Kept::NotYet),
        kept => Ok(kept),
    }
}
