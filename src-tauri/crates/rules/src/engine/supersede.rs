//! A pull request of Steward's own in place of somebody else's (engine.md 5).
//!
//! The original stays open until the superseding one merged and its content is seen on the base.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::entries::EntryKey;
use crate::ids::{PullNumber, Sha};
use crate::reading::{Reading, Why};
use crate::review::facts::PullState;

/// How far superseding one pull request went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "stage")]
pub enum Stage {
    None,
    /// The superseding one is open; it was made from this head of the original.
    Opened {
        pull: PullNumber,
        original_head: Sha,
    },
    Merged {
        pull: PullNumber,
        original_head: Sha,
        commit: Sha,
    },
    ContentVerified {
        pull: PullNumber,
        /// The head whose content is on the base, and the only one that is closed for it. A row of before it was
        /// kept has none, and is verified anew.
        #[serde(default)]
        original_head: Option<Sha>,
    },
    OriginalClosed {
        pull: PullNumber,
    },
}

/// What was read of both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Both {
    pub original: Reading<(PullState, Sha)>,
    /// The superseding one; with its merge commit once it merged.
    pub superseding: Reading<(PullState, Option<Sha>)>,
    /// Whether our comment with the link is on the original.
    pub is_linked: Reading<bool>,
    /// The content test, made on a freshly fetched base; needed once it merged.
    pub content: Reading<Content>,
}

/// Why a pull request of Steward's own no longer stands for the one that it was made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overtaken {
    /// Somebody closed or merged the original meanwhile: a person decides what becomes of ours.
    Ended { original: PullNumber },
    /// The author of the original pushed: ours is made anew from there.
    Moved { original: PullNumber },
    /// What is remembered of the original cannot be read.
    Unread { original: PullNumber },
}

/// What comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Make it from this head.
    Open {
        from: Sha,
    },
    /// Say on the original, once, where its change went on.
    Link,
    /// The superseding one goes through the gate like any other.
    Wait,
    /// The original moved: make it anew from its new head. Nothing is closed.
    Rebuild {
        from: Sha,
    },
    /// Its stage is `Merged` from now on.
    HasMerged {
        commit: Sha,
    },
    /// Its stage is `ContentVerified` from now on.
    IsVerified,
    CloseOriginal,
    /// The end: nothing is left to do.
    Done,
    /// Listed, and nothing is closed.
    Stop(Stop),
    /// A fact is missing.
    Unread(Why),
}

/// Why it goes no further.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// Its author closed, or somebody merged, the original meanwhile.
    OriginalEnded,
    /// A person closed the superseding one: a refusal, which is not reopened.
    Refused,
    /// The merge commit is not on the base any more.
    Reverted,
    /// On the base these entries are not what was merged.
    Differs { entries: Vec<EntryKey> },
    /// The original has entries that the superseding change lost.
    Lost { entries: Vec<EntryKey> },
}

/// What the content test found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    Same,
    Not(Stop),
}

/// The values of entries in one tree; what is not there has no value.
pub type Values = BTreeMap<EntryKey, String>;

/// What the content test compares.
#[derive(Debug, Clone, Copy)]
pub struct ContentFacts<'a> {
    /// Whether the fetched base holds the merge commit.
    pub is_on_base: bool,
    /// The entries the superseding change touched, and their values at its merged head.
    pub touched: &'a BTreeSet<EntryKey>,
    pub merged: &'a Values,
    pub base: &'a Values,
    /// The entries the original touched at the recorded head, and their values there.
    pub original_touched: &'a BTreeSet<EntryKey>,
    pub original: &'a Values,
}

/// The content test: the merge is on the base, every touched entry has there the value that was merged,
/// and every entry of the original was touched too or is equal.
pub fn content(facts: &ContentFacts<'_>) -> Content {
    if !facts.is_on_base {
        return Content::Not(Stop::Reverted);
    }
    let differs: Vec<EntryKey> =
        facts.touched.iter().filter(|key| facts.base.get(key) != facts.merged.get(key)).cloned().collect();
    if !differs.is_empty() {
        return Content::Not(Stop::Differs { entries: differs });
    }
    let is_lost =
        |key: &&EntryKey| !facts.touched.contains(*key) && facts.original.get(key) != facts.merged.get(key);
    let lost: Vec<EntryKey> = facts.original_touched.iter().filter(is_lost).cloned().collect();
    if lost.is_empty() { Content::Same } else { Content::Not(Stop::Lost { entries: lost }) }
}

/// Says what comes next for a pull request that is superseded.
pub fn next(stage: &Stage, both: &Both) -> Next {
    step(stage, both).unwrap_or_else(|why| Next::Unread(why.clone()))
}

fn step<'a>(stage: &Stage, both: &'a Both) -> Result<Next, &'a Why> {
    if let Stage::OriginalClosed { .. } = stage {
        return Ok(Next::Done);
    }
    let (state, head) = both.original.get()?;
    if let Stage::None = stage {
        return Ok(match state {
            PullState::Open => Next::Open { from: head.clone() },
            PullState::Closed | PullState::Merged => Next::Stop(Stop::OriginalEnded),
        });
    }
    match stage {
        Stage::None | Stage::OriginalClosed { .. } => Ok(Next::Done),
        Stage::Opened { original_head, .. } => {
            let (superseding, commit) = both.superseding.get()?;
            match (state, superseding) {
                (PullState::Closed | PullState::Merged, PullState::Open | PullState::Closed) => {
                    Ok(Next::Stop(Stop::OriginalEnded))
                }
                (_, PullState::Merged) => Ok(match commit {
                    Some(commit) => Next::HasMerged { commit: commit.clone() },
                    None => Next::Wait,
                }),
                (PullState::Open, PullState::Closed) => Ok(Next::Stop(Stop::Refused)),
                (PullState::Open, PullState::Open) if head != original_head => {
                    Ok(Next::Rebuild { from: head.clone() })
                }
                (PullState::Open, PullState::Open) => {
                    Ok(if *both.is_linked.get()? { Next::Wait } else { Next::Link })
                }
            }
        }
        Stage::Merged { original_head, .. } => match state {
            PullState::Closed | PullState::Merged => Ok(Next::Stop(Stop::OriginalEnded)),
            // What its author pushed since is not in what merged.
            PullState::Open if head != original_head => Ok(Next::Rebuild { from: head.clone() }),
            PullState::Open => Ok(match both.content.get()? {
                Content::Same => Next::IsVerified,
                Content::Not(stop) => Next::Stop(stop.clone()),
            }),
        },
        Stage::ContentVerified { original_head, .. } => Ok(match state {
            PullState::Closed | PullState::Merged => Next::Done,
            PullState::Open if original_head.as_ref() != Some(head) => Next::Rebuild { from: head.clone() },
            PullState::Open => Next::CloseOriginal,
        }),
    }
}
