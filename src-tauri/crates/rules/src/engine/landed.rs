//! Whether what landed is what the merge must make (engine.md 4.7).
//!
//! No merge is believed before it is seen. [`place`] says what was landed onto what, [`judge`] whether the
//! tree that came of it is the one git makes of both, and whether everything that was on the base is still
//! there.

use chrono::TimeDelta;

use crate::diff::RepoPath;
use crate::ids::Sha;
use crate::reading::{Reading, Why};
use crate::wording;

/// Nothing is put off for longer; a later time was reckoned by a clock that was ahead.
pub const LONGEST_WAIT: TimeDelta = TimeDelta::hours(6);
/// Nothing is put off for less.
pub const SOONEST: TimeDelta = TimeDelta::seconds(1);

/// One commit, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    pub id: Sha,
    pub parents: Vec<Sha>,
    /// Hash of what a rebase keeps: the author, when it was written, the message.
    pub mark: String,
}

/// How a pull request came onto its base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Its own commits stand there: the base was moved to them.
    Pushed,
    Merge,
    Squash,
    Rebase,
}

impl Method {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pushed => "pushed",
            Self::Merge => "merge",
            Self::Squash => "squash",
            Self::Rebase => "rebase",
        }
    }
}

/// What was landed onto what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub method: Method,
    /// The base before it landed: for a rebase, before its first commit. `None` where nothing was merged.
    pub onto: Option<Sha>,
    /// What was merged with it.
    pub brought: Sha,
    /// For a rebase the commits that were replayed, oldest first; else empty.
    pub replayed: Vec<Sha>,
}

/// Why nothing can be said, although everything was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unproven {
    /// A fact is missing.
    Unread(Why),
    /// The base does not have the landed commit yet, as GitHub shows it.
    NotOnBase,
    /// Both sides changed these; somebody decided what becomes of them, and all else is as it must be.
    Conflict { paths: Vec<RepoPath> },
    /// A commit that no merge of a pull request makes, with so many parents.
    Shape { parents: usize },
}

impl Unproven {
    /// One word that never changes.
    pub fn slug(&self) -> &'static str {
        match self {
            Self::Unread(_) => "unread",
            Self::NotOnBase => "not_on_base",
            Self::Conflict { .. } => "conflict",
            Self::Shape { .. } => "shape",
        }
    }

    /// True when looking again shows the same.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Unread(_) | Self::NotOnBase => false,
            Self::Conflict { .. } | Self::Shape { .. } => true,
        }
    }

    pub fn message(&self) -> String {
        wording::landed::unproven(self)
    }
}

/// What git knows of how a head landed.
#[derive(Debug, Clone, Copy)]
pub struct History<'a> {
    /// The last head of the pull request.
    pub head: &'a Sha,
    /// The landed commit has the head behind it.
    pub holds_head: bool,
    /// The landed commit and its first parents, newest first.
    pub chain: &'a [Commit],
    /// The commits of the head that the landed one has not behind it, oldest first, without merges.
    pub own: &'a [Commit],
}

/// Finds out how the head landed. A rebase is known by its commits, which keep author, date and message;
/// without that, a squash that drops what landed just before it would pass for a rebase of several commits.
pub fn place(history: &History<'_>) -> Result<Place, Unproven> {
    let History { head, holds_head, chain, own } = *history;
    let Some(landed) = chain.first() else { return Err(Unproven::Shape { parents: 0 }) };
    let merged = |method, onto: &Sha, brought: &Sha| Place {
        method,
        onto: Some(onto.clone()),
        brought: brought.clone(),
        replayed: Vec::new(),
    };
    let pushed = Place { method: Method::Pushed, onto: None, brought: head.clone(), replayed: Vec::new() };
    match landed.parents.as_slice() {
        _ if landed.id == *head => Ok(pushed),
        // Whatever it is, the history of the head is in it, and no merge made its tree.
        [] | [_] if holds_head => Ok(pushed),
        [onto, brought] if holds_head => Ok(merged(Method::Merge, onto, brought)),
        // The head is not what was merged: its own merge tells how far off that is.
        [onto, _] => Ok(merged(Method::Merge, onto, head)),
        [onto] => Ok(match replay(chain, own) {
            Some((onto, replayed)) => Place { replayed, ..merged(Method::Rebase, &onto, head) },
            None => merged(Method::Squash, onto, head),
        }),
        others => Err(Unproven::Shape { parents: others.len() }),
    }
}

/// Walks back from the landed commit while each is a replay of one of the head's own, in their order; some
/// of them may have been left out as nothing new. Gives the commit below the first one.
fn replay(chain: &[Commit], own: &[Commit]) -> Option<(Sha, Vec<Sha>)> {
    let (mut left, mut onto, mut replayed) = (own, None, Vec::new());
    for commit in chain {
        let [below] = commit.parents.as_slice() else { break };
        let Some(at) = left.iter().rposition(|one| one.mark == commit.mark) else { break };
        replayed.push(left[at].id.clone());
        onto = Some(below.clone());
        left = &left[..at];
    }
    replayed.reverse();
    onto.map(|onto| (onto, replayed))
}

/// One rightful way to merge both sides, beside what landed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    pub tree: Sha,
    /// Paths on which the sides do not agree, so that git leaves them to a person.
    pub conflicts: Vec<RepoPath>,
    /// Paths at which what landed is something else.
    pub differing: Vec<RepoPath>,
}

/// Whether something that was on the base is still below what landed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    Whole,
    /// What is looked at is older than what is looked for.
    NotYet,
    /// The history was replaced; at these paths what it had brought is not there any more.
    Lost(Vec<RepoPath>),
}

/// Everything that was read of one landed pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// What was landed onto what.
    pub place: Result<Place, Unproven>,
    /// The tree that landed.
    pub tree: Reading<Sha>,
    /// Each rightful way to make it; none where no merge was made. The first is the usual one.
    pub expected: Vec<Reading<Expected>>,
    /// What was known to be on the base, in what landed.
    pub before: Vec<Reading<Kept>>,
    /// What landed, in the base as it is now. `None`: that branch is gone.
    pub now: Option<Reading<Kept>>,
}

/// What is known of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Landed {
    Proven,
    /// Something else landed than the merge makes, or something that had landed is gone.
    Different {
        paths: Vec<RepoPath>,
    },
    Undecided(Unproven),
}

/// Decides from what was read. A difference that is seen is told, whatever else could not be read; what is
/// not read is never proven.
pub fn judge(facts: &Facts) -> Landed {
    let kept = facts.before.iter().chain(&facts.now);
    let mut paths: Vec<RepoPath> = kept
        .clone()
        .filter_map(|one| match one.get() {
            Ok(Kept::Lost(paths)) => Some(paths.as_slice()),
            Ok(Kept::Whole | Kept::NotYet) | Err(_) => None,
        })
        .flatten()
        .cloned()
        .collect();
    let tree = tree(facts);
    if let Tree::Other(other) = &tree {
        paths.extend_from_slice(other);
    }
    if !paths.is_empty() {
        paths.sort();
        paths.dedup();
        return Landed::Different { paths };
    }
    for one in kept {
        match one.get() {
            Err(why) => return Landed::Undecided(Unproven::Unread(why.clone())),
            Ok(Kept::NotYet) => return Landed::Undecided(Unproven::NotOnBase),
            Ok(Kept::Whole | Kept::Lost(_)) => {}
        }
    }
    match tree {
        Tree::Right => Landed::Proven,
        Tree::Unknown(why) => Landed::Undecided(why),
        // A tree that differs at no path cannot be.
        Tree::Other(_) => Landed::Undecided(Unproven::Unread(Why::new(
            crate::reading::Cause::GitFailed,
            "git names no path at which two different trees differ",
        ))),
    }
}

enum Tree {
    Right,
    Other(Vec<RepoPath>),
    Unknown(Unproven),
}

fn tree(facts: &Facts) -> Tree {
    if let Err(why) = &facts.place {
        return Tree::Unknown(why.clone());
    }
    let landed = match facts.tree.get() {
        Ok(landed) => landed,
        Err(why) => return Tree::Unknown(Unproven::Unread(why.clone())),
    };
    let is_it = |one: &Expected| one.tree == *landed && one.conflicts.is_empty();
    if facts.expected.is_empty() || facts.expected.iter().any(|one| one.get().is_ok_and(is_it)) {
        return Tree::Right;
    }
    if let Some(why) = facts.expected.iter().find_map(|one| one.get().err()) {
        return Tree::Unknown(Unproven::Unread(why.clone()));
    }
    let Some(Ok(usual)) = facts.expected.first().map(Reading::get) else { return Tree::Right };
    // Where the sides do not agree, git has no word on what is right.
    let (_, other): (Vec<_>, Vec<_>) =
        usual.differing.iter().partition(|path| usual.conflicts.contains(path));
    if other.is_empty() && !usual.conflicts.is_empty() {
        return Tree::Unknown(Unproven::Conflict { paths: usual.conflicts.clone() });
    }
    Tree::Other(other.into_iter().cloned().collect())
}

/// How often an undecided merge is looked at before it is left to the person; all tries take about a day.
pub const TRIES: u32 = 12;

/// When an undecided merge is looked at again after so many tries; `None` when that was the last.
pub fn again(tries: u32) -> Option<TimeDelta> {
    if tries >= TRIES {
        return None;
    }
    let doubled = TimeDelta::minutes(1 << tries.saturating_sub(1).min(12));
    Some(doubled.min(LONGEST_WAIT))
}
