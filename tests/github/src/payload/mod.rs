//! Bodies made by patching GitHub's own example payloads with the state of the world.

mod actions;
mod checks;
mod commits;
mod pulls;
mod repos;
mod threads;

use serde_json::{Value, json};

use crate::contract::example;
use crate::state::{Repo, State};

pub(crate) use actions::{job, run, workflow, workflow_id};
pub(crate) use checks::{app_id, check, combined, status, suite};
pub(crate) use commits::{commit, commit_whole, compared_file};
pub(crate) use pulls::{merged, pull, pull_simple, review};
pub(crate) use repos::{branch, protection, repository, repository_simple, rules};
pub(crate) use threads::{comment, issue, label, timeline};

const API: &str = "https://api.github.com";
const WEB: &str = "https://github.com";

/// An opaque id as GraphQL and `node_id` carry it.
pub(crate) fn node_id(kind: &str, id: u64) -> String {
    format!("{kind}_kwDO{id:08}")
}

pub(crate) fn commit_node(repo: &Repo, sha: &str) -> String {
    format!("C_kwDO{:08}_{sha}", repo.id)
}

/// Sets fields of an object.
pub(crate) fn set(target: &mut Value, fields: Value) {
    let (Value::Object(target), Value::Object(fields)) = (target, fields) else {
        panic!("BUG: only objects are patched");
    };
    target.extend(fields);
}

pub(crate) fn drop_fields(target: &mut Value, names: &[&str]) {
    if let Value::Object(map) = target {
        names.iter().for_each(|name| {
            map.remove(*name);
        });
    }
}

/// Points every address of an example at this world.
pub(crate) fn rewrite(node: &mut Value, pairs: &[(String, String)]) {
    match node {
        Value::String(text) => {
            for (from, to) in pairs {
                if text.contains(from.as_str()) {
                    *text = text.replace(from.as_str(), to);
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|item| rewrite(item, pairs)),
        Value::Object(map) => map.values_mut().for_each(|value| rewrite(value, pairs)),
        _ => {}
    }
}

/// The addresses of the examples (several spellings of one repository) and of this one.
pub(crate) fn addresses(state: &State, repo: &Repo) -> Vec<(String, String)> {
    let (api, web) = (api(state, repo), web(state, repo));
    let mut pairs = Vec::new();
    for name in [
        "octocat/Hello-World",
        "octocat/example",
        "octocat/hello-world",
        "github/hello-world",
        "octo-org/octo-repo",
    ] {
        pairs.push((format!("{API}/repos/{name}"), api.clone()));
        pairs.push((format!("{WEB}/{name}"), web.clone()));
    }
    pairs.push((API.to_owned(), state.base.clone()));
    pairs.push((format!("{WEB}/"), format!("{}/", state.base)));
    pairs
}

pub(crate) fn api(state: &State, repo: &Repo) -> String {
    format!("{}/repos/{}", state.base, repo.name)
}

pub(crate) fn web(state: &State, repo: &Repo) -> String {
    format!("{}/{}", state.base, repo.name)
}

/// A person as GitHub shows one inside other things; `null` for an account that is gone.
pub(crate) fn user(state: &State, login: &str) -> Value {
    let Some(person) = state.person(login) else { return Value::Null };
    let mut user = example("pull-request")["user"].clone();
    let swap = [
        (format!("{API}/users/octocat"), format!("{}/users/{}", state.base, person.login)),
        (format!("{WEB}/octocat"), format!("{}/{}", state.base, person.login)),
        (format!("{WEB}/images"), format!("{}/images", state.base)),
    ];
    rewrite(&mut user, &swap);
    let id = node_id("U", person.id);
    set(&mut user, json!({ "login": person.login, "id": person.id, "node_id": id, "type": person.kind }));
    user
}

/// Who wrote something: an account that is gone shows as GitHub's `ghost`.
pub(crate) fn author(state: &State, login: &str) -> Value {
    if state.person(login).is_some() {
        return user(state, login);
    }
    let mut ghost = example("pull-request")["user"].clone();
    rewrite(
        &mut ghost,
        &[
            (format!("{API}/users/octocat"), format!("{}/users/ghost", state.base)),
            (format!("{WEB}/octocat"), format!("{}/ghost", state.base)),
            (format!("{WEB}/images"), format!("{}/images", state.base)),
        ],
    );
    set(&mut ghost, json!({ "login": "ghost", "id": 10_137, "node_id": "MDQ6VXNlcjEwMTM3", "type": "User" }));
    ghost
}

/// The account a token belongs to.
pub(crate) fn account(state: &State, login: &str) -> Value {
    let mut whole = example("private-user-response-with-public-profile-information");
    let brief = user(state, login);
    set(&mut whole, brief);
    set(&mut whole, json!({ "name": login, "email": null, "blog": "", "company": null, "bio": null }));
    whole
}
