//! Which checks to require, proposed from what the repository does already (engine.md 16, set-up help).

use std::collections::BTreeSet;

use super::checks::newest;
use super::facts::{Listing, Run};
use crate::checks::Health;
use crate::reading::{Reading, Why};

/// How many merged heads are looked at.
pub const HEADS: usize = 20;
/// How many of them there must be for a proposal.
pub const HEADS_AT_LEAST: usize = 3;

/// What the forge and the last merges say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Practice {
    /// The checks that the protection of the base branch requires.
    pub protection: Reading<Vec<String>>,
    /// The checks that rulesets require.
    pub rulesets: Reading<Vec<String>>,
    /// The check runs at the last merged heads, newest first.
    pub merged_heads: Vec<Listing<Run>>,
}

/// Names to require, and where they come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proposal {
    /// The forge requires them.
    Required { names: Vec<String> },
    /// Each of them ran and was well at every one of so many merged heads.
    Usual { names: Vec<String>, heads: usize },
    /// Nothing can be proposed: too few heads, or no check was well at all of them.
    None { heads: usize },
    /// A source could not be read, so that what is missing is not known.
    Unread(Why),
}

/// Proposes the checks to require. What the forge requires counts first; else what was always well.
pub fn propose(practice: &Practice, app: &str) -> Proposal {
    let sources = [&practice.protection, &practice.rulesets];
    let mut required: BTreeSet<&String> = BTreeSet::new();
    for source in sources {
        match source.get() {
            Ok(names) => required.extend(names),
            Err(why) => return Proposal::Unread(why.clone()),
        }
    }
    if !required.is_empty() {
        return Proposal::Required { names: required.into_iter().cloned().collect() };
    }
    // A list that was cut says nothing of what is missing in it.
    let whole: Vec<&Listing<Run>> =
        practice.merged_heads.iter().take(HEADS).filter(|listing| listing.complete).collect();
    let heads = whole.len();
    let names = whole
        .iter()
        .map(|listing| well(&listing.items, app))
        .reduce(|all, these| all.intersection(&these).cloned().collect())
        .unwrap_or_default();
    if heads < HEADS_AT_LEAST || names.is_empty() {
        return Proposal::None { heads };
    }
    Proposal::Usual { names: names.into_iter().collect(), heads }
}

/// The names that succeeded by their newest run.
fn well(runs: &[Run], app: &str) -> BTreeSet<String> {
    let names: BTreeSet<&str> = runs.iter().map(|run| run.check.name.as_str()).collect();
    let is_well = |name: &&str| {
        let of_name = |run: &&Run| run.check.name == **name && run.check.app == app;
        let group: Vec<&Run> = runs.iter().filter(of_name).collect();
        newest(&group, false).is_some_and(|seen| seen.health == Health::Well)
    };
    names.into_iter().filter(is_well).map(str::to_owned).collect()
}
