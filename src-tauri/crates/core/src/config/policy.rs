//! What is in force for one repository, value by value, with where each comes from.

use serde_json::{Value as Json, json};
use steward_rules::engine::policy::Policy;
use steward_rules::review::policy::ReviewPolicy;

use super::resolve::{Effective, Origin};
use super::types::Repository;
use super::{Loaded, engine_values};

/// The values of a review policy under their names in the file.
pub(super) fn values(policy: &ReviewPolicy) -> [(&'static str, Json); 13] {
    let checks: Vec<Json> = policy
        .required_checks
        .iter()
        .map(|check| json!({ "name": check.name, "app": check.app, "skippable": check.skippable }))
        .collect();
    let pairs: Vec<Json> = policy
        .lock_pairs
        .iter()
        .map(|(lockfile, manifest)| json!({ "lockfile": lockfile, "manifest": manifest }))
        .collect();
    let off: Vec<&str> = policy.gates_off.iter().map(|gate| gate.as_str()).collect();
    let sections = &policy.body_sections;
    [
        ("integrationBranch", json!(policy.integration_branch)),
        ("uiPaths", json!(policy.ui_paths)),
        ("widths", json!(policy.widths)),
        ("themes", json!(policy.themes)),
        ("churnGlobs", json!(policy.churn_globs)),
        ("sourceDirs", json!(policy.source_dirs)),
        ("lockPairs", json!(pairs)),
        ("titleTypes", json!(policy.title_types)),
        ("bodySections", json!({ "validated": sections.validated, "notDone": sections.not_done })),
        ("planPaths", json!(policy.plan_paths)),
        ("requiredChecks", json!(checks)),
        ("secretExceptions", json!(policy.secret_exceptions)),
        ("gatesOff", json!(off)),
    ]
}

/// Everything in force for a watched repository. `engine` is its engine's policy as far as it was confirmed.
pub fn of_repository(loaded: &Loaded, repository: &Repository, engine: &Policy) -> Vec<Effective> {
    let config = &loaded.config;
    let place = |found: &&Effective| {
        found.key.starts_with("repositories[")
            && found.key.ends_with(']')
            && found
                .value
                .as_str()
                .is_some_and(|name| name.eq_ignore_ascii_case(&repository.name.to_string()))
    };
    let prefix = loaded.effective.iter().find(place).map(|found| found.key.clone()).unwrap_or_default();
    let origin = |key: &str| {
        let full = format!("{prefix}.{key}");
        loaded.effective.iter().find(|found| found.key == full).map_or(Origin::Default, |found| found.origin)
    };
    let account = config.account_of(repository);
    let account = account.map(|account| format!("{}@{}", account.login, account.host));
    let own = [
        ("account", json!(account)),
        ("mode", json!(repository.mode.as_str())),
        ("act", json!(repository.act)),
        ("fetch", json!(repository.fetch.as_str())),
        ("preset", json!(repository.preset)),
    ];
    let review = values(&repository.policy).map(|(name, value)| (format!("policy.review.{name}"), value));
    // The default branch is not the file's to ask for.
    let asked = engine_values::values(&repository.engine.clone().on(engine.base.as_deref()));
    let engine = engine_values::values(engine).into_iter().zip(asked).map(|((name, value), (_, asked))| {
        let key = format!("policy.engine.{name}");
        let origin = if value == asked { origin(&key) } else { Origin::Unconfirmed };
        Effective { origin, key, value }
    });
    own.map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .chain(review)
        .map(|(key, value)| Effective { origin: origin(&key), key, value })
        .chain(engine)
        .collect()
}
