//! `not_stacked`: the work stands on the integration branch alone.

use chrono::{DateTime, Utc};
use std::collections::{HashMap, HashSet};

use super::answer::{Answer, commit, fact, line, result};
use super::{EvidenceItem, GateId, GateResult};
use crate::ids::PullNumber;
use crate::reading::Why;
use crate::review::facts::{BaseFacts, BaseSource, Evidence, Forge, PullFacts};
use crate::review::policy::ReviewPolicy;
use crate::wording::gate as say;

pub(super) fn check(evidence: &Evidence, policy: &ReviewPolicy, _now: DateTime<Utc>) -> GateResult {
    match evidence.forge {
        Forge::None => result(GateId::NotStacked, Ok(Answer::not_applicable(say::no_forge()))),
        Forge::SignedOut => result(GateId::NotStacked, Ok(Answer::undecided(say::signed_out()))),
        Forge::GitHub => result(GateId::NotStacked, Ok(judge(evidence, policy))),
    }
}

/// What the parts of the rule found. A fault decides whatever else could not be read.
#[derive(Default)]
struct Found {
    faults: Vec<String>,
    open: Vec<String>,
    notes: Vec<String>,
    items: Vec<EvidenceItem>,
}

impl Found {
    /// Keeps a fact, or that it could not be read.
    fn read<T>(&mut self, fact: Result<T, &Why>) -> Option<T> {
        fact.map_err(|why| self.open.push(say::unread(why))).ok()
    }
}

fn judge(e: &Evidence, policy: &ReviewPolicy) -> Answer {
    let mut found = Found::default();
    let base = found.read(e.base.get());
    let own = found.read(e.pull.get());
    let pull = own.and_then(|pull| pull.as_ref());
    if let Some(pull) = pull {
        // The diff is measured against the base that was read; the policy names it before that.
        let wanted = base.map_or(policy.integration_branch.as_str(), |base| &base.branch);
        target(&mut found, pull, wanted);
    }
    // While it is not known which pull request is its own, none can be called another.
    if own.is_some() {
        shared_commits(&mut found, e, pull.map(|pull| pull.number));
    }
    if let Some(base) = base {
        ancestors(&mut found, base, pull);
    }
    let Found { faults, open, notes, items } = found;
    let answer = if !faults.is_empty() {
        Answer::fail(faults.join("; "))
    } else if let Some(first) = open.first() {
        Answer::undecided(first.clone())
    } else {
        Answer::pass(say::not_stacked(&notes))
    };
    answer.with(items)
}

fn target(found: &mut Found, pull: &PullFacts, wanted: &str) {
    found.items.push(EvidenceItem::Pull {
        number: pull.number.0,
        note: say::pull_targets(&line(&pull.base_branch, 100)),
    });
    if pull.base_branch != wanted {
        found.faults.push(say::wrong_target(&line(&pull.base_branch, 100), &line(wanted, 100)));
    }
}

fn shared_commits(found: &mut Found, e: &Evidence, own: Option<PullNumber>) {
    let (Some(commits), Some(pulls)) = (found.read(e.commits.get()), found.read(e.other_pulls.get())) else {
        return;
    };
    let mut by_sha: HashMap<&str, PullNumber> = HashMap::new();
    let mut by_patch: HashMap<&str, PullNumber> = HashMap::new();
    for pull in pulls.iter().filter(|pull| Some(pull.number) != own) {
        by_sha.extend(pull.commits.iter().map(|sha| (sha.as_str(), pull.number)));
        by_patch.extend(pull.patch_ids.iter().map(|id| (id.as_str(), pull.number)));
    }
    let mut told = HashSet::new();
    for one in commits {
        if let Some(number) = by_sha.get(one.sha.as_str()) {
            found.items.push(commit(one.sha.as_str(), say::also_in(*number)));
            if told.insert((*number, true)) {
                found.faults.push(say::shares_commit(&one.sha, *number));
            }
        } else if let Some(number) = one.patch_id.as_deref().and_then(|id| by_patch.get(id)) {
            found.items.push(commit(one.sha.as_str(), say::picked_also_in(*number)));
            if told.insert((*number, false)) {
                found.notes.push(say::same_patch(&one.sha, *number));
            }
        }
    }
    found.items.push(fact("other open pull requests", &pulls.len().to_string()));
}

fn ancestors(found: &mut Found, base: &BaseFacts, pull: Option<&PullFacts>) {
    found.items.push(commit(base.tip.as_str(), say::tip_of(&line(&base.branch, 100))));
    found.items.push(fact("base read at", &base.fetched_at.to_rfc3339()));
    match base.source {
        BaseSource::Fetched => {}
        BaseSource::LocalBranch | BaseSource::RemoteTracking => {
            found.open.push(say::base_not_fetched(&line(&base.branch, 100)));
            return;
        }
    }
    match &base.fork_point {
        Some(point) if !point.is_ancestor_of_tip => {
            found.items.push(commit(point.sha.as_str(), "fork point"));
            found.faults.push(say::fork_point_outside(&point.sha, &line(&base.branch, 100)));
        }
        Some(point) => found.items.push(commit(point.sha.as_str(), "fork point")),
        // The merge base is an ancestor of the tip by its definition.
        None => found.items.push(commit(base.merge_base.as_str(), "merge base; no fork point was recorded")),
    }
    let Some(pull) = pull else { return };
    found.items.push(commit(pull.base_sha.as_str(), "base of the pull request"));
    if found.read(pull.base_is_ancestor_of_tip.get()) == Some(&false) {
        found.faults.push(say::pull_base_outside(&pull.base_sha, &line(&base.branch, 100)));
    }
}
