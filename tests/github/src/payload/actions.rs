//! Workflows, their runs, and the jobs of a run.

use serde_json::{Value, json};

use super::{addresses, api, node_id, repository_simple, rewrite, set, user, web};
use crate::clock::stamp;
use crate::contract::example;
use crate::state::{Check, Repo, State, Suite};

/// A workflow's number follows from its file, so that two worlds agree.
pub(crate) fn workflow_id(file: &str) -> u64 {
    file.bytes().fold(70_000, |sum, byte| (sum * 31 + u64::from(byte)) % 9_000_000)
}

/// One workflow, as one of its runs shows it.
pub(crate) fn workflow(state: &State, repo: &Repo, suite: &Suite) -> Value {
    let mut body = example("workflow-paginated")["workflows"][0].clone();
    rewrite(&mut body, &addresses(state, repo));
    let (file, id) = (suite.file(), workflow_id(&suite.file()));
    let (api, web) = (api(state, repo), web(state, repo));
    set(
        &mut body,
        json!({
            "id": id, "node_id": node_id("W", id), "name": suite.workflow, "path": file, "state": "active",
            "created_at": stamp(repo.created), "updated_at": stamp(repo.created),
            "url": format!("{api}/actions/workflows/{id}"),
            "html_url": format!("{web}/blob/{}/{file}", repo.default_branch),
            "badge_url": format!("{web}/workflows/{}/badge.svg", suite.workflow),
        }),
    );
    body
}

/// One attempt of a workflow run.
pub(crate) fn run(state: &State, repo: &Repo, suite: &Suite, attempt: u64) -> Value {
    let mut body = example("workflow-run");
    rewrite(&mut body, &addresses(state, repo));
    let (status, conclusion) = repo.run_state(suite, attempt);
    let jobs = repo.jobs_of(suite, Some(attempt));
    let began = jobs.iter().filter_map(|job| job.started).min().unwrap_or(suite.created);
    let moved = jobs.iter().filter_map(|job| job.completed.or(job.started)).max().unwrap_or(began);
    let number = repo
        .suites
        .iter()
        .filter(|one| one.is_run() && one.workflow == suite.workflow && one.run <= suite.run)
        .count();
    let (id, file) = (suite.run, suite.file());
    let here = format!("{}/actions/runs/{id}", api(state, repo));
    let previous = (attempt > 1).then(|| format!("{here}/attempts/{}", attempt - 1));
    let place = repository_simple(state, repo, "");
    let starter = repo.owner().to_owned();
    let asked_by = if attempt == suite.attempt { suite.asked_by.clone() } else { starter.clone() };
    set(
        &mut body,
        json!({
            "id": id, "node_id": node_id("WFR", id), "name": suite.workflow, "path": file,
            "check_suite_id": suite.id, "check_suite_node_id": node_id("CS", suite.id),
            "head_branch": suite.branch, "head_sha": suite.sha, "run_number": number, "event": suite.event,
            "run_attempt": attempt, "status": status, "conclusion": conclusion, "workflow_id": workflow_id(&file),
            "display_title": suite.workflow, "created_at": stamp(suite.created), "updated_at": stamp(moved),
            "run_started_at": stamp(began), "actor": user(state, &starter),
            "triggering_actor": user(state, &asked_by), "referenced_workflows": [],
            "pull_requests": pulls(state, repo, suite), "url": here,
            "html_url": format!("{}/actions/runs/{id}", web(state, repo)), "jobs_url": format!("{here}/jobs"),
            "logs_url": format!("{here}/logs"), "artifacts_url": format!("{here}/artifacts"),
            "cancel_url": format!("{here}/cancel"), "rerun_url": format!("{here}/rerun"),
            "check_suite_url": format!("{}/check-suites/{}", api(state, repo), suite.id),
            "workflow_url": format!("{}/actions/workflows/{}", api(state, repo), workflow_id(&file)),
            "previous_attempt_url": previous, "repository": place, "head_repository": place,
        }),
    );
    if let Some(head) = repo.bare.show(&suite.sha) {
        let person = |who: &crate::bare::Signature| json!({ "name": who.name, "email": who.email });
        body["head_commit"] = json!({
            "id": head.sha, "tree_id": head.tree, "message": head.message, "timestamp": head.committer.date,
            "author": person(&head.author), "committer": person(&head.committer),
        });
    }
    body
}

/// The open pull requests of this repository's own branch, as a run names them: none for a fork's.
fn pulls(state: &State, repo: &Repo, suite: &Suite) -> Vec<Value> {
    let place = json!({ "id": repo.id, "url": api(state, repo), "name": repo.short() });
    let mine = repo.threads.values().filter(|thread| thread.open).filter_map(|thread| {
        let pull = thread.pull.as_ref()?;
        (pull.head_repo == repo.id && Some(&pull.head_ref) == suite.branch.as_ref()).then_some((thread, pull))
    });
    mine.map(|(thread, pull)| {
        json!({
            "id": thread.id, "number": thread.number,
            "url": format!("{}/pulls/{}", api(state, repo), thread.number),
            "head": { "ref": pull.head_ref, "sha": pull.head, "repo": place },
            "base": { "ref": pull.base_ref, "sha": repo.base_of(pull), "repo": place },
        })
    })
    .collect()
}

/// One job of an attempt. Its number is its check run's.
pub(crate) fn job(state: &State, repo: &Repo, suite: &Suite, check: &Check) -> Value {
    let mut body = example("job");
    rewrite(&mut body, &addresses(state, repo));
    let (api, web, id) = (api(state, repo), web(state, repo), check.id);
    let created = check.started.unwrap_or(suite.created);
    set(
        &mut body,
        json!({
            "id": id, "node_id": node_id("CR", id), "run_id": suite.run, "run_attempt": check.attempt,
            "run_url": format!("{api}/actions/runs/{}", suite.run), "head_sha": check.sha,
            "head_branch": suite.branch, "workflow_name": suite.workflow, "name": check.name,
            "url": format!("{api}/actions/jobs/{id}"), "check_run_url": format!("{api}/check-runs/{id}"),
            "html_url": format!("{web}/actions/runs/{}/job/{id}", suite.run), "status": check.status,
            "conclusion": check.conclusion, "created_at": stamp(created), "started_at": stamp(created),
            "completed_at": check.completed.map(stamp), "steps": [], "labels": ["ubuntu-latest"],
        }),
    );
    body
}
