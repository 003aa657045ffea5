//! `scope`: every changed path is in the contract's write scope or a plan file.

use chrono::{DateTime, Utc};

use super::answer::{Answer, fact, file, result, shown, touched};
use super::{EvidenceItem, GateId, GateResult};
use crate::diff::RepoPath;
use crate::globs::Globs;
use crate::reading::Why;
use crate::review::facts::Evidence;
use crate::review::policy::ReviewPolicy;
use crate::wording::gate as say;

pub(super) fn check(evidence: &Evidence, policy: &ReviewPolicy, _now: DateTime<Utc>) -> GateResult {
    result(GateId::Scope, judge(evidence, policy))
}

fn judge<'a>(e: &'a Evidence, policy: &ReviewPolicy) -> Result<Answer, &'a Why> {
    let Some(contract) = &e.contract else {
        return Ok(Answer::not_applicable(say::no_contract()));
    };
    let (scope, plans) = (Globs::new(&contract.write_scope), Globs::new(&policy.plan_paths));
    let files = &e.diff.get()?.files;
    let outside: Vec<&RepoPath> =
        files.iter().flat_map(touched).filter(|path| !scope.matches(path) && !plans.matches(path)).collect();
    let mut items: Vec<EvidenceItem> =
        outside.iter().map(|path| file(path, None, "outside the write scope")).collect();
    items.push(fact("contract version", &contract.version.to_string()));
    items.push(fact("write scope", &contract.write_scope.join(", ")));
    items.extend(scope.invalid.iter().chain(&plans.invalid).map(|bad| fact("no valid glob", bad)));
    let answer = match outside.first() {
        Some(first) => Answer::fail(say::outside_scope(&shown(first), outside.len() - 1)),
        None => Answer::pass(say::inside_scope(files.len())),
    };
    Ok(answer.with(items))
}
