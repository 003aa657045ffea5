//! Repositories, branches, protection, labels.

use serde_json::{Value, json};

use super::{Answer, Ask, created, invalid, not_found, ok, refuse};
use crate::access::Need;
use crate::payload;
use crate::state::{Label, Role, State};

pub(super) fn one(state: &State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    ok(payload::repository(state, repo, &ask.viewer.login))
}

pub(super) fn branches(state: &State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    let api = payload::api(state, repo);
    let items = repo
        .bare
        .branches()
        .map(|(name, sha)| {
            json!({
                "name": name, "commit": { "sha": sha, "url": format!("{api}/commits/{sha}") },
                "protected": repo.protections.contains_key(name),
            })
        })
        .collect();
    ask.paged(state, Some(repo), items)
}

pub(super) fn branch(state: &State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    let name = ask.name("branch");
    match repo.bare.branch(name) {
        Some(sha) => ok(payload::branch(state, repo, name, sha)),
        None => refuse(404, "Branch not found"),
    }
}

pub(super) fn protection(state: &State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    if repo.role(&ask.viewer.login) != Some(Role::Admin) {
        return Err(not_found());
    }
    match payload::protection(state, repo, ask.name("branch")) {
        Some(body) => ok(body),
        None => refuse(404, "Branch not protected"),
    }
}

pub(super) fn rules(state: &State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    ask.paged(state, Some(repo), payload::rules(repo, ask.name("branch")))
}

pub(super) fn permission(state: &State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    if repo.role(&ask.viewer.login).is_none_or(|role| role < Role::Write) {
        return refuse(403, "Must have push access to view collaborator permission.");
    }
    let login = ask.name("username");
    state.person(login).ok_or_else(not_found)?;
    let role = repo.role(login);
    // The old field knows fewer words than the role does.
    let (permission, role_name) = match role {
        None => ("none", "none"),
        Some(Role::Read) => ("read", "read"),
        Some(Role::Triage) => ("read", "triage"),
        Some(Role::Write) => ("write", "write"),
        Some(Role::Maintain) => ("write", "maintain"),
        Some(Role::Admin) => ("admin", "admin"),
    };
    let mut user = payload::user(state, login);
    let at_least = |wanted| role.is_some_and(|role| role >= wanted);
    user["role_name"] = json!(role_name);
    user["permissions"] = json!({
        "admin": at_least(Role::Admin), "maintain": at_least(Role::Maintain), "push": at_least(Role::Write),
        "triage": at_least(Role::Triage), "pull": at_least(Role::Read),
    });
    ok(json!({ "permission": permission, "role_name": role_name, "user": user }))
}

pub(super) fn labels(state: &State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    let items: Vec<Value> =
        repo.labels.iter().map(|label| payload::label(state, repo, &label.name)).collect();
    ask.paged(state, Some(repo), items)
}

pub(super) fn make_label(state: &mut State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    ask.viewer.may_write(repo, Need::Issues, Role::Triage)?;
    let full = repo.name.clone();
    let error =
        |code: &str, field: &str| invalid(json!([{ "resource": "Label", "code": code, "field": field }]));
    let name = ask.text("name").ok_or_else(|| error("missing_field", "name"))?.to_owned();
    let color = ask.text("color").unwrap_or("ededed").to_owned();
    if color.len() != 6 || !color.chars().all(|c| c.is_ascii_hexdigit()) {
        return Err(error("invalid", "color"));
    }
    if repo.labels.iter().any(|label| label.name.eq_ignore_ascii_case(&name)) {
        return Err(error("already_exists", "name"));
    }
    let description = ask.text("description").map(str::to_owned);
    let id = state.fresh_id();
    state.repo_mut(&full).labels.push(Label { id, name: name.clone(), color, description });
    created(payload::label(state, state.repo(&full), &name))
}
