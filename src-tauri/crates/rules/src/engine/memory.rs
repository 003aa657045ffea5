//! What is remembered of a pull request between two ticks (engine.md 15).
//!
//! Nothing the previous tick saw counts as evidence, except counters and since when a head has been there.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::hold::Merging;
use super::retry::Attempts;
use super::supersede::Overtaken;
use crate::ids::Sha;

/// The counters of one pull request, and the hold of its repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    /// The head of the last tick, and since when it has been there.
    pub head: Option<HeadSeen>,
    /// Since when this head has been behind its base; cleared when it is not.
    pub behind_since: Option<DateTime<Utc>>,
    /// Re-runs that were asked for, by head and workflow run, and when.
    pub reruns: BTreeMap<(Sha, u64), DateTime<Utc>>,
    pub verdict_retries: BTreeMap<Sha, VerdictRetries>,
    /// Workflow runs that GitHub does not run again.
    pub dead_runs: BTreeSet<u64>,
    /// Attempts of agents, over all heads.
    pub attempts: Attempts,
    /// The head and the base between which the merge driver refused last: only there a rebase is an attempt of an
    /// agent, and waits for its turn (engine.md 5 and 6).
    pub refused_rebase: Option<(Sha, Sha)>,
    /// Steward's own rebases since this pull request was last merged or changed by somebody else.
    pub rebases: u32,
    /// The head the seat's comment was posted for.
    pub reviewed_head: Option<Sha>,
    /// Merge replies of 422 in a row.
    pub unprocessable: u32,
    /// Why it does not take the place of the pull request that it was made for, when that is so.
    pub overtaken: Option<Overtaken>,
    /// What holds merges in the repository.
    pub merging: Merging,
}

/// Since when a head has been there, by the engine's own clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadSeen {
    pub sha: Sha,
    pub first_seen_at: DateTime<Utc>,
    /// The last tick that saw it; a tick before it shows that the clock went back.
    pub last_seen_at: DateTime<Utc>,
}

/// How often the verdict of one head was asked for again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictRetries {
    pub count: u32,
    pub last_at: DateTime<Utc>,
}

impl HeadSeen {
    /// What is remembered after a tick saw `sha`. Another head, or a clock that went back, starts anew
    /// (engine.md 4.4).
    pub fn after(before: Option<&Self>, sha: &Sha, now: DateTime<Utc>) -> Self {
        let first_seen_at = before
            .filter(|seen| seen.sha == *sha && seen.last_seen_at <= now)
            .map_or(now, |seen| seen.first_seen_at);
        Self { sha: sha.clone(), first_seen_at, last_seen_at: now }
    }
}

impl Memory {
    /// Takes in what a tick saw: the head, and whether it is behind. `behind` is `None` when unread.
    pub fn observe(&mut self, sha: &Sha, behind: Option<bool>, now: DateTime<Utc>) {
        let is_same = self.head.as_ref().is_some_and(|seen| seen.sha == *sha);
        self.head = Some(HeadSeen::after(self.head.as_ref(), sha, now));
        self.behind_since = match (behind, self.behind_since) {
            (Some(false), _) => None,
            (Some(true), Some(since)) if is_same && since <= now => Some(since),
            (Some(true), _) => Some(now),
            (None, since) => since.filter(|_| is_same),
        };
    }
}
