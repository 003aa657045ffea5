//! Repositories, branches and what protects them.

use serde_json::{Value, json};

use super::{addresses, api, commit, drop_fields, node_id, rewrite, set, user, web};
use crate::clock::stamp;
use crate::contract::example;
use crate::state::{Repo, Role, State};

fn permissions(role: Option<Role>) -> Value {
    let at_least = |wanted| role.is_some_and(|role| role >= wanted);
    json!({
        "admin": at_least(Role::Admin), "maintain": at_least(Role::Maintain), "push": at_least(Role::Write),
        "triage": at_least(Role::Triage), "pull": at_least(Role::Read),
    })
}

fn patch(state: &State, repo: &Repo, body: &mut Value, viewer: &str) {
    rewrite(body, &addresses(state, repo));
    let open = repo.threads.values().filter(|thread| thread.open).count();
    let web = web(state, repo);
    set(
        body,
        json!({
            "id": repo.id, "node_id": node_id("R", repo.id), "name": repo.short(), "full_name": repo.name,
            "owner": user(state, repo.owner()), "private": repo.private, "archived": repo.archived,
            "visibility": if repo.private { "private" } else { "public" }, "fork": repo.fork_of.is_some(),
            "default_branch": repo.default_branch, "open_issues_count": open, "open_issues": open,
            "html_url": web, "clone_url": format!("{web}.git"), "svn_url": web, "url": api(state, repo),
            "description": null, "homepage": null, "language": null, "disabled": false,
            "created_at": stamp(repo.created), "updated_at": stamp(repo.pushed), "pushed_at": stamp(repo.pushed),
            "permissions": permissions(repo.role(viewer)),
        }),
    );
}

/// A repository as its own page shows it.
pub(crate) fn repository(state: &State, repo: &Repo, viewer: &str) -> Value {
    let mut body = example("full-repository-default-response");
    drop_fields(&mut body, &["parent", "source", "template_repository", "organization", "license"]);
    patch(state, repo, &mut body, viewer);
    let methods = |name: &str| !repo.refused_methods.contains(name);
    set(
        &mut body,
        json!({
            "license": null, "allow_merge_commit": methods("merge"), "allow_squash_merge": methods("squash"),
            "allow_rebase_merge": methods("rebase"),
        }),
    );
    if let Some(parent) = repo.fork_of.and_then(|id| state.by_id(id)) {
        body["parent"] = repository_simple(state, parent, viewer);
        body["source"] = repository_simple(state, parent, viewer);
    }
    body
}

/// A repository inside a pull request or a list.
pub(crate) fn repository_simple(state: &State, repo: &Repo, viewer: &str) -> Value {
    let mut body = example("pull-request")["base"]["repo"].clone();
    patch(state, repo, &mut body, viewer);
    drop_fields(&mut body, &["temp_clone_token", "template_repository", "license"]);
    body["license"] = Value::Null;
    body
}

/// One branch, whole or as an entry of a list.
pub(crate) fn branch(state: &State, repo: &Repo, name: &str, sha: &str) -> Value {
    let mut body = example("branch-get");
    rewrite(&mut body, &addresses(state, repo));
    let api = api(state, repo);
    let guarded = repo.protections.get(name);
    let classic = guarded.filter(|rule| !rule.ruleset);
    let checks = classic.map(|rule| rule.required_checks.clone()).unwrap_or_default();
    let listed: Vec<Value> = checks.iter().map(|check| json!({ "context": check, "app_id": null })).collect();
    set(
        &mut body,
        json!({
            "name": name, "protected": guarded.is_some(), "protection_url": format!("{api}/branches/{name}/protection"),
            "commit": repo.bare.show(sha).map(|found| commit(state, repo, &found)),
            "_links": { "self": format!("{api}/branches/{name}"), "html": format!("{}/tree/{name}", web(state, repo)) },
            "protection": {
                "enabled": classic.is_some(),
                "required_status_checks": {
                    "enforcement_level": if checks.is_empty() { "off" } else { "non_admins" },
                    "contexts": checks, "checks": listed,
                },
            },
        }),
    );
    body
}

/// The classic protection of a branch.
pub(crate) fn protection(state: &State, repo: &Repo, name: &str) -> Option<Value> {
    let rule = repo.protections.get(name).filter(|rule| !rule.ruleset)?;
    let mut body = example("branch-protection");
    rewrite(&mut body, &addresses(state, repo));
    drop_fields(&mut body, &["restrictions", "required_pull_request_reviews", "required_status_checks"]);
    let url = format!("{}/branches/{name}/protection", api(state, repo));
    body["url"] = json!(url);
    if !rule.required_checks.is_empty() {
        let checks: Vec<Value> =
            rule.required_checks.iter().map(|check| json!({ "context": check, "app_id": null })).collect();
        body["required_status_checks"] = json!({
            "url": format!("{url}/required_status_checks"), "strict": rule.up_to_date,
            "contexts": rule.required_checks, "contexts_url": format!("{url}/required_status_checks/contexts"),
            "checks": checks,
        });
    }
    if rule.approvals > 0 {
        body["required_pull_request_reviews"] = json!({
            "url": format!("{url}/required_pull_request_reviews"), "dismiss_stale_reviews": false,
            "require_code_owner_reviews": false, "required_approving_review_count": rule.approvals,
        });
    }
    Some(body)
}

/// The ruleset rules in force on a branch.
pub(crate) fn rules(repo: &Repo, name: &str) -> Vec<Value> {
    let Some(rule) = repo.protections.get(name).filter(|rule| rule.ruleset) else { return Vec::new() };
    let source = json!({
        "ruleset_source_type": "Repository", "ruleset_source": repo.name, "ruleset_id": repo.id + 1,
    });
    let mut list = Vec::new();
    let mut add = |kind: &str, parameters: Value| {
        let mut one = source.clone();
        set(&mut one, json!({ "type": kind, "parameters": parameters }));
        list.push(one);
    };
    if !rule.required_checks.is_empty() {
        let checks: Vec<Value> =
            rule.required_checks.iter().map(|check| json!({ "context": check })).collect();
        add(
            "required_status_checks",
            json!({ "required_status_checks": checks, "strict_required_status_checks_policy": rule.up_to_date }),
        );
    }
    if rule.approvals > 0 {
        add(
            "pull_request",
            json!({
                "dismiss_stale_reviews_on_push": false, "require_code_owner_review": false,
                "require_last_push_approval": false, "required_review_thread_resolution": false,
                "required_approving_review_count": rule.approvals,
            }),
        );
    }
    list
}
