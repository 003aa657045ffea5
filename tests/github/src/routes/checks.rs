//! Check runs with all their attempts, check suites, commit statuses.

use serde_json::Value;

use super::commits::named;
use super::{Answer, Ask, created, invalid, not_found, ok};
use crate::access::Need;
use crate::payload;
use crate::state::{Check, Role, State, Status};

pub(super) fn runs(state: &State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    let sha = named(repo, ask.name("ref"))?;
    let mut found: Vec<&Check> = match ask.query("filter") {
        Some("all") => repo.checks.iter().rev().filter(|check| check.sha == sha).collect(),
        _ => repo.latest_checks(&sha),
    };
    if let Some(name) = ask.query("check_name") {
        found.retain(|check| check.name == name);
    }
    if let Some(status) = ask.query("status") {
        found.retain(|check| check.status == status);
    }
    if let Some(app) = ask.query("app_id").and_then(|id| id.parse::<u64>().ok()) {
        found.retain(|check| payload::app_id(&check.app) == app);
    }
    let items = found.into_iter().map(|check| payload::check(state, repo, check)).collect();
    ask.paged_in(state, repo, "check_runs", items)
}

pub(super) fn run(state: &State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    let id = ask.number("check_run_id")?;
    let found = repo.checks.iter().find(|check| check.id == id).ok_or_else(not_found)?;
    ok(payload::check(state, repo, found))
}

pub(super) fn suites(state: &State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    let sha = named(repo, ask.name("ref"))?;
    let found = repo.suites.iter().filter(|suite| suite.sha == sha);
    let items = found.map(|suite| payload::suite(state, repo, suite)).collect();
    ask.paged_in(state, repo, "check_suites", items)
}

pub(super) fn combined(state: &State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    let sha = named(repo, ask.name("ref"))?;
    ok(payload::combined(state, repo, &sha, &ask.viewer.login))
}

pub(super) fn statuses(state: &State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    let sha = named(repo, ask.name("ref"))?;
    let found = repo.statuses.iter().rev().filter(|status| status.sha == sha);
    let items: Vec<Value> = found.map(|status| payload::status(state, repo, status)).collect();
    ask.paged(state, Some(repo), items)
}

pub(super) fn set_status(state: &mut State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    ask.viewer.may_write(repo, Need::Statuses, Role::Write)?;
    let full = repo.name.clone();
    let sha = named(repo, ask.name("sha"))?;
    let word = ask.text("state").unwrap_or_default().to_owned();
    if !["error", "failure", "pending", "success"].contains(&word.as_str()) {
        return Err(invalid(
            serde_json::json!([{ "resource": "Status", "code": "custom", "field": "state" }]),
        ));
    }
    let (id, at) = (state.fresh_id(), state.happens());
    let status = Status {
        id,
        sha,
        context: ask.text("context").unwrap_or("default").to_owned(),
        state: word,
        description: ask.text("description").unwrap_or_default().to_owned(),
        creator: ask.viewer.login.clone(),
        at,
    };
    let repo = state.repo_mut(&full);
    repo.statuses.push(status.clone());
    created(payload::status(state, state.repo(&full), &status))
}
