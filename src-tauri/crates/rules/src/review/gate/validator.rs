//! `validator`: the newest verdict for the contract in force passes at the head.

use chrono::{DateTime, Utc};

use super::answer::{Answer, commit, fact, result};
use super::{GateId, GateResult};
use crate::review::facts::{Contract, Evidence, ValidatorOutcome, ValidatorVerdict};
use crate::review::policy::ReviewPolicy;
use crate::wording::gate as say;

pub(super) fn check(evidence: &Evidence, _policy: &ReviewPolicy, _now: DateTime<Utc>) -> GateResult {
    result(GateId::Validator, Ok(judge(evidence)))
}

fn judge(e: &Evidence) -> Answer {
    let Some(contract) = &e.contract else {
        return Answer::not_applicable(say::no_contract());
    };
    let version = fact("contract version", &contract.version.to_string());
    let Some(verdict) = newest_for(e, contract) else {
        let older = e.validator.iter().map(|verdict| verdict.contract_version).max();
        return Answer::fail(say::no_validator_verdict(contract.version, older)).with(vec![version]);
    };
    let answer = if verdict.sha != e.head {
        Answer::fail(say::validator_elsewhere(&verdict.sha, &e.head))
    } else {
        match verdict.verdict {
            ValidatorOutcome::Running => Answer::undecided(say::validator_running()),
            ValidatorOutcome::Fail => Answer::fail(say::validator_failed()),
            ValidatorOutcome::Pass if verdict.scope_violation => {
                Answer::fail(say::validator_scope_violation())
            }
            ValidatorOutcome::Pass => Answer::pass(say::validator_passed(contract.version)),
        }
    };
    answer.with(vec![
        commit(verdict.sha.as_str(), "validated commit"),
        version,
        fact("verdict given at", &verdict.at.to_rfc3339()),
    ])
}

/// The newest verdict for the contract version in force; of two of one moment, the later told.
pub(super) fn newest_for<'e>(e: &'e Evidence, contract: &Contract) -> Option<&'e ValidatorVerdict> {
    e.validator
        .iter()
        .filter(|verdict| verdict.contract_version == contract.version)
        .max_by_key(|verdict| verdict.at)
}
