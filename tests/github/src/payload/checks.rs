//! Check runs, check suites and commit statuses.

use serde_json::{Value, json};

use super::{addresses, api, author, node_id, rewrite, set, web};
use crate::clock::stamp;
use crate::contract::example;
use crate::state::{Check, Repo, State, Status, Suite};

/// An app's id follows from its slug, so that two worlds agree.
pub(crate) fn app_id(slug: &str) -> u64 {
    if slug == "github-actions" { 15368 } else { 20_000 + slug.bytes().map(u64::from).sum::<u64>() }
}

fn app(state: &State, slug: &str) -> Value {
    let mut app = example("check-run")["app"].clone();
    let id = app_id(slug);
    let name = if slug == "github-actions" { "GitHub Actions" } else { slug };
    set(
        &mut app,
        json!({ "id": id, "slug": slug, "name": name, "node_id": node_id("A", id), "description": null }),
    );
    rewrite(&mut app, &[("https://api.github.com".to_owned(), state.base.clone())]);
    app
}

/// One attempt of a check.
pub(crate) fn check(state: &State, repo: &Repo, check: &Check) -> Value {
    let mut body = example("check-run");
    rewrite(&mut body, &addresses(state, repo));
    let (api, web) = (api(state, repo), web(state, repo));
    let id = check.id;
    // A job's check leads to its workflow run, whose number is not the suite's.
    let run = repo.suites.iter().find(|suite| suite.id == check.suite && suite.is_run());
    let details = match run {
        Some(suite) => format!("{web}/actions/runs/{}/job/{id}", suite.run),
        None => format!("{web}/runs/{id}"),
    };
    set(
        &mut body,
        json!({
            "id": id, "node_id": node_id("CR", id), "external_id": format!("job-{id}"), "head_sha": check.sha,
            "url": format!("{api}/check-runs/{id}"), "html_url": details, "details_url": details, "status": check.status,
            "conclusion": check.conclusion, "started_at": check.started.map(stamp),
            "completed_at": check.completed.map(stamp), "name": check.name, "check_suite": { "id": check.suite },
            "app": app(state, &check.app), "pull_requests": [],
        }),
    );
    set(
        &mut body["output"],
        json!({
            "title": check.summary, "summary": check.summary, "text": null, "annotations_count": 0,
            "annotations_url": format!("{api}/check-runs/{id}/annotations"),
        }),
    );
    body
}

/// One suite: all runs of one app (and workflow) at one head.
pub(crate) fn suite(state: &State, repo: &Repo, suite: &Suite) -> Value {
    let mut body = example("check-suite-paginated")["check_suites"][0].clone();
    rewrite(&mut body, &addresses(state, repo));
    let mine: Vec<&Check> =
        repo.latest_checks(&suite.sha).into_iter().filter(|run| run.suite == suite.id).collect();
    let running = mine.iter().any(|run| run.conclusion.is_none());
    let worst = ["failure", "cancelled", "timed_out", "action_required", "success", "neutral", "skipped"]
        .into_iter()
        .find(|wanted| mine.iter().any(|run| run.conclusion.as_deref() == Some(wanted)));
    let head = repo.bare.show(&suite.sha);
    let api = api(state, repo);
    set(
        &mut body,
        json!({
            "id": suite.id, "node_id": node_id("CS", suite.id), "head_sha": suite.sha,
            "status": if running { "in_progress" } else { "completed" },
            "conclusion": if running { Value::Null } else { json!(worst) }, "url": format!("{api}/check-suites/{}", suite.id),
            "check_runs_url": format!("{api}/check-suites/{}/check-runs", suite.id), "pull_requests": [],
            "latest_check_runs_count": mine.len(), "app": app(state, &suite.app),
            "repository": super::repository_simple(state, repo, ""), "created_at": stamp(suite.created),
            "updated_at": stamp(suite.created),
        }),
    );
    if let Some(head) = head {
        let person = |who: &crate::bare::Signature| json!({ "name": who.name, "email": who.email });
        body["head_commit"] = json!({
            "id": head.sha, "tree_id": head.tree, "message": head.message, "timestamp": head.committer.date,
            "author": person(&head.author), "committer": person(&head.committer),
        });
    }
    body
}

/// One commit status; the combined view leaves the creator out.
pub(crate) fn status(state: &State, repo: &Repo, status: &Status) -> Value {
    let mut body = example("status-items")[0].clone();
    rewrite(&mut body, &addresses(state, repo));
    set(
        &mut body,
        json!({
            "id": status.id, "node_id": node_id("SC", status.id), "state": status.state, "context": status.context,
            "description": status.description, "creator": author(state, &status.creator), "target_url": null,
            "url": format!("{}/statuses/{}", api(state, repo), status.sha), "created_at": stamp(status.at),
            "updated_at": stamp(status.at),
        }),
    );
    body
}

/// The newest status for each context and what they say together.
pub(crate) fn combined(state: &State, repo: &Repo, sha: &str, viewer: &str) -> Value {
    let mut body = example("combined-commit-status");
    let newest = repo.latest_statuses(sha);
    let any = |wanted: &[&str]| newest.iter().any(|one| wanted.contains(&one.state.as_str()));
    let together = if any(&["failure", "error"]) {
        "failure"
    } else if newest.is_empty() || any(&["pending"]) {
        "pending"
    } else {
        "success"
    };
    let entries: Vec<Value> = newest
        .iter()
        .map(|one| {
            let mut entry = status(state, repo, one);
            super::drop_fields(&mut entry, &["creator"]);
            entry
        })
        .collect();
    let api = api(state, repo);
    set(
        &mut body,
        json!({
            "state": together, "sha": sha, "total_count": entries.len(), "statuses": entries,
            "repository": super::repository_simple(state, repo, viewer), "commit_url": format!("{api}/commits/{sha}"),
            "url": format!("{api}/commits/{sha}/status"),
        }),
    );
    body
}
