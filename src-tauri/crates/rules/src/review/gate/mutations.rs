//! `mutations_committed`: the validator's mutations ran at the head, and every file is back.

use chrono::{DateTime, Utc};

use super::answer::{Answer, commit, fact, file, result, shown};
use super::validator::newest_for;
use super::{EvidenceItem, GateId, GateResult};
use crate::diff::RepoPath;
use crate::ids::Sha;
use crate::reading::Why;
use crate::review::facts::{Evidence, MutatedPath, Mutations, TreeFacts, ValidatorOutcome};
use crate::review::policy::ReviewPolicy;
use crate::wording::gate as say;

pub(super) fn check(evidence: &Evidence, _policy: &ReviewPolicy, _now: DateTime<Utc>) -> GateResult {
    result(GateId::MutationsCommitted, judge(evidence))
}

fn judge(e: &Evidence) -> Result<Answer, &Why> {
    let Some(contract) = &e.contract else {
        return Ok(Answer::not_applicable(say::no_contract()));
    };
    match contract.mutations {
        Mutations::Required => {}
        Mutations::None => return Ok(Answer::not_applicable(say::no_mutations_asked())),
    }
    let Some(verdict) = newest_for(e, contract) else {
        return Ok(Answer::fail(say::no_mutation_run(contract.version)));
    };
    match verdict.verdict {
        ValidatorOutcome::Running if verdict.sha == e.head => {
            return Ok(Answer::undecided(say::validator_running()));
        }
        ValidatorOutcome::Running | ValidatorOutcome::Pass | ValidatorOutcome::Fail => {}
    }
    let Some(run) = &verdict.mutations else {
        return Ok(Answer::fail(say::no_mutation_run(contract.version)));
    };
    let at = vec![commit(run.sha.as_str(), "mutations ran here")];
    if run.sha != e.head {
        return Ok(Answer::fail(say::mutations_elsewhere(&run.sha, &e.head)).with(at));
    }
    if run.paths.is_empty() {
        return Ok(Answer::fail(say::mutated_nothing()).with(at));
    }
    let tree = e.tree.get()?;
    let mut unknown: Vec<&RepoPath> = Vec::new();
    let mut left: Vec<&RepoPath> = Vec::new();
    for mutated in &run.paths {
        match blob_at_head(tree, &mutated.path) {
            Some(blob) if is_back(mutated, blob) => {}
            Some(_) => left.push(&mutated.path),
            None => unknown.push(&mutated.path),
        }
    }
    let mut items: Vec<EvidenceItem> =
        left.iter().map(|path| file(path, None, "not as the head has it")).collect();
    items.extend(unknown.iter().map(|path| file(path, None, "not read")));
    items.push(fact("files touched", &run.paths.len().to_string()));
    let answer = match (left.first(), unknown.first()) {
        (Some(first), _) => Answer::fail(say::mutation_left(&shown(first), left.len() - 1)),
        (None, Some(first)) => Answer::undecided(say::mutation_unread(&shown(first))),
        (None, None) => Answer::pass(say::mutations_back(run.paths.len())),
    };
    Ok(answer.with(at).with(items))
}

/// The blob of a path at the head: outer `None` when it was not read, inner when it is absent there.
fn blob_at_head<'t>(tree: &'t TreeFacts, path: &RepoPath) -> Option<Option<&'t Sha>> {
    tree.blobs_at_head.iter().find(|(known, _)| known == path).map(|(_, blob)| blob.as_ref())
}

fn is_back(mutated: &MutatedPath, at_head: Option<&Sha>) -> bool {
    match at_head {
        Some(blob) => mutated.blob == *blob,
        None => mutated.blob.is_zero(),
    }
}
