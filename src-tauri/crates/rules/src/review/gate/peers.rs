//! `peer_claims`: no Peer is stuck, and what each claims agrees with git and the pull request.

use chrono::{DateTime, Utc};
use std::collections::{BTreeMap, HashSet};

use super::answer::{Answer, fact, line, result, shown, touched};
use super::{GateId, GateResult};
use crate::diff::RepoPath;
use crate::reading::Why;
use crate::review::facts::{ClaimedCommit, CommitFacts, Evidence, Forge, Handoff, PeerStatus};
use crate::review::policy::ReviewPolicy;
use crate::wording::gate as say;

/// An abbreviated id shorter than this names no commit.
const SHORTEST_ID: usize = 7;

pub(super) fn check(evidence: &Evidence, _policy: &ReviewPolicy, _now: DateTime<Utc>) -> GateResult {
    result(GateId::PeerClaims, Ok(judge(evidence)))
}

fn judge(e: &Evidence) -> Answer {
    let mut newest: BTreeMap<&str, &Handoff> = BTreeMap::new();
    for handoff in &e.handoffs {
        let slot = newest.entry(handoff.peer.as_data()).or_insert(handoff);
        // Of two of one moment the later told counts: the list is oldest first.
        if handoff.at >= slot.at {
            *slot = handoff;
        }
    }
    if newest.is_empty() {
        return Answer::not_applicable(say::no_peers());
    }
    let (mut faults, mut open, mut items) = (Vec::new(), Vec::new(), Vec::new());
    for handoff in newest.values() {
        let peer = handoff.peer.one_line(60);
        items.push(fact(&peer, say::peer_status(handoff.status)));
        match handoff.status {
            PeerStatus::Blocked | PeerStatus::Failed => {
                faults.push(say::peer_stuck(&peer, say::peer_status(handoff.status)));
            }
            PeerStatus::Running => open.push(say::peer_running(&peer)),
            PeerStatus::Done => {}
        }
        match disagreements(e, handoff) {
            Ok(wrong) => faults.extend(wrong.iter().map(|wrong| say::peer_wrong(&peer, wrong))),
            Err(why) => open.push(say::unread(why)),
        }
    }
    items.extend(faults.iter().map(|fault| fact("disagrees", fault)));
    let answer = if let Some(first) = faults.first() {
        Answer::fail(say::first_of(first, faults.len() - 1))
    } else if let Some(first) = open.first() {
        Answer::undecided(first.clone())
    } else {
        Answer::pass(say::peers_agree(newest.len()))
    };
    answer.with(items)
}

/// The claims of one handoff that the facts do not bear out. Only what is claimed is read.
fn disagreements<'e>(e: &'e Evidence, handoff: &Handoff) -> Result<Vec<String>, &'e Why> {
    let claims = &handoff.claims;
    let mut wrong = Vec::new();
    if !claims.commits.is_empty() {
        let commits = e.commits.get()?;
        wrong.extend(
            claims
                .commits
                .iter()
                .filter(|claimed| !is_in_range(claimed, commits))
                .map(|claimed| say::claimed_commit(&line(&claimed.text, 40))),
        );
    }
    if !claims.files.is_empty() {
        let changed: HashSet<&RepoPath> = e.diff.get()?.files.iter().flat_map(touched).collect();
        wrong.extend(
            claims
                .files
                .iter()
                .filter(|claimed| !changed.contains(*claimed))
                .map(|claimed| say::claimed_file(&shown(claimed))),
        );
    }
    match (claims.pull, e.forge) {
        (Some(claimed), Forge::SignedOut | Forge::GitHub) => {
            let actual = e.pull.get()?.as_ref().map(|pull| pull.number);
            if actual != Some(claimed) {
                wrong.push(say::claimed_pull(claimed, actual));
            }
        }
        // Nothing to hold the number against.
        (Some(_), Forge::None) | (None, _) => {}
    }
    Ok(wrong)
}

fn is_in_range(claimed: &ClaimedCommit, commits: &[CommitFacts]) -> bool {
    let id = claimed.text.to_ascii_lowercase();
    let named = id.len() >= SHORTEST_ID && commits.iter().any(|one| one.sha.as_str().starts_with(&id));
    let same_patch = claimed.patch_id.is_some() && commits.iter().any(|one| one.patch_id == claimed.patch_id);
    named || same_patch
}
