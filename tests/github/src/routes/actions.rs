//! Workflow runs: their attempts, their jobs, what a job printed, and re-running.

use chrono::TimeDelta;
use serde_json::json;

use super::{Answer, Ask, Reply, created, not_found, ok, refuse};
use crate::access::Need;
use crate::clock::stamp;
use crate::payload;
use crate::state::{Check, Repo, Role, State, Suite};

const RUNNING: &str = "This workflow is already running";
const TOO_OLD: &str = "Unable to retry this workflow run because it was created over a month ago";
const NOTHING_FAILED: &str = "This workflow run cannot be retried";
const NO_LOG: &str = "Server Error";

/// What of a run is run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rerun {
    Everything,
    Failed,
}

fn repo<'s>(state: &'s State, ask: &Ask) -> Result<&'s Repo, Reply> {
    let repo = ask.repo(state)?;
    if !ask.viewer.may_read_part(repo, "actions") {
        return Err(super::refusal(403, "Resource not accessible by personal access token"));
    }
    Ok(repo)
}

fn named<'r>(repo: &'r Repo, ask: &Ask) -> Result<&'r Suite, Reply> {
    let id = ask.number("run_id")?;
    repo.suites.iter().find(|suite| suite.is_run() && suite.run == id).ok_or_else(not_found)
}

pub(super) fn workflows(state: &State, ask: &Ask) -> Answer {
    let repo = repo(state, ask)?;
    let mut files = Vec::new();
    let mut items = Vec::new();
    for suite in repo.suites.iter().filter(|suite| suite.is_run()) {
        if !files.contains(&suite.file()) {
            files.push(suite.file());
            items.push(payload::workflow(state, repo, suite));
        }
    }
    ask.paged_in(state, repo, "workflows", items)
}

/// The runs of a repository, or of one workflow by its number or its file's name; newest first.
pub(super) fn runs(state: &State, ask: &Ask) -> Answer {
    let repo = repo(state, ask)?;
    let mut found: Vec<&Suite> = repo.suites.iter().filter(|suite| suite.is_run()).rev().collect();
    let wanted = ask.name("workflow_id");
    if !wanted.is_empty() {
        let is_it = |suite: &Suite| {
            let file = suite.file();
            file.rsplit('/').next() == Some(wanted) || payload::workflow_id(&file).to_string() == wanted
        };
        if !found.iter().any(|suite| is_it(suite)) {
            return Err(not_found());
        }
        found.retain(|suite| is_it(suite));
    }
    if let Some(sha) = ask.query("head_sha") {
        found.retain(|suite| suite.sha == sha);
    }
    if let Some(branch) = ask.query("branch") {
        found.retain(|suite| suite.branch.as_deref() == Some(branch));
    }
    if let Some(event) = ask.query("event") {
        found.retain(|suite| suite.event == event);
    }
    if let Some(id) = ask.query("check_suite_id") {
        found.retain(|suite| suite.id.to_string() == id);
    }
    if let Some(word) = ask.query("status") {
        found.retain(|suite| {
            let (status, conclusion) = repo.run_state(suite, suite.attempt);
            status == word || conclusion.as_deref() == Some(word)
        });
    }
    if let Some(since) = ask.query("created").and_then(|range| range.strip_prefix(">=")) {
        found.retain(|suite| stamp(suite.created).as_str() >= since);
    }
    let items = found.into_iter().map(|suite| payload::run(state, repo, suite, suite.attempt)).collect();
    ask.paged_in(state, repo, "workflow_runs", items)
}

pub(super) fn run(state: &State, ask: &Ask) -> Answer {
    let repo = repo(state, ask)?;
    let suite = named(repo, ask)?;
    ok(payload::run(state, repo, suite, suite.attempt))
}

pub(super) fn attempt(state: &State, ask: &Ask) -> Answer {
    let repo = repo(state, ask)?;
    let (suite, attempt) = (named(repo, ask)?, ask.number("attempt_number")?);
    if attempt == 0 || attempt > suite.attempt {
        return Err(not_found());
    }
    ok(payload::run(state, repo, suite, attempt))
}

pub(super) fn jobs(state: &State, ask: &Ask) -> Answer {
    let repo = repo(state, ask)?;
    let suite = named(repo, ask)?;
    let found = match ask.query("filter") {
        Some("all") => repo.checks.iter().filter(|check| check.suite == suite.id).collect(),
        _ => repo.jobs_of(suite, None),
    };
    let items = found.into_iter().map(|check| payload::job(state, repo, suite, check)).collect();
    ask.paged_in(state, repo, "jobs", items)
}

fn found<'r>(repo: &'r Repo, ask: &Ask) -> Result<(&'r Suite, &'r Check), Reply> {
    let id = ask.number("job_id")?;
    let check = repo.checks.iter().find(|check| check.id == id).ok_or_else(not_found)?;
    let suite = repo.suites.iter().find(|suite| suite.is_run() && suite.id == check.suite);
    suite.map(|suite| (suite, check)).ok_or_else(not_found)
}

pub(super) fn job(state: &State, ask: &Ask) -> Answer {
    let repo = repo(state, ask)?;
    let (suite, check) = found(repo, ask)?;
    ok(payload::job(state, repo, suite, check))
}

/// Where the text is: an address that needs no token and is good for a minute.
pub(super) fn log(state: &State, ask: &Ask) -> Answer {
    let repo = repo(state, ask)?;
    if ask.viewer.token.is_none() {
        return refuse(403, "Must have admin rights to Repository.");
    }
    let (_, check) = found(repo, ask)?;
    if check.conclusion.is_none() {
        return Err(not_found());
    }
    if check.log.is_none() {
        return refuse(410, NO_LOG);
    }
    let location = format!("{}/_logs/{}/{}?sig=made-up", state.base, repo.id, check.id);
    Ok(Reply { status: 302, headers: vec![("location", location)], body: None })
}

/// What a job printed, by the path that its `location` names.
pub(crate) fn log_text(state: &State, path: &str) -> Option<String> {
    let (repo, job) = path.strip_prefix("/_logs/")?.split_once('/')?;
    let (repo, job): (u64, u64) = (repo.parse().ok()?, job.parse().ok()?);
    state.by_id(repo)?.checks.iter().find(|check| check.id == job)?.log.clone()
}

pub(super) fn rerun(state: &mut State, ask: &Ask, what: Rerun) -> Answer {
    let repo = ask.repo(state)?;
    ask.viewer.may_write(repo, Need::Actions, Role::Write)?;
    let suite = named(repo, ask)?;
    let now = state.clock.now();
    if suite.is_too_old || now - suite.created > TimeDelta::days(30) {
        return refuse(403, TOO_OLD);
    }
    let jobs = repo.jobs_of(suite, None);
    if jobs.iter().any(|job| job.conclusion.is_none()) {
        return refuse(403, RUNNING);
    }
    let is_well = |job: &Check| matches!(job.conclusion.as_deref(), Some("success" | "neutral" | "skipped"));
    let again = jobs.iter().filter(|job| what == Rerun::Everything || !is_well(job));
    let names: Vec<String> = again.map(|job| job.name.clone()).collect();
    if names.is_empty() {
        return refuse(403, NOTHING_FAILED);
    }
    let (full, id, attempt) = (repo.name.clone(), suite.id, suite.attempt + 1);
    let (app, sha, who) = (suite.app.clone(), suite.sha.clone(), ask.viewer.login.clone());
    state.happens();
    for name in names {
        let fresh = state.fresh_id();
        let queued = Check::queued(fresh, id, &name, &app, &sha, attempt);
        state.repo_mut(&full).checks.push(queued);
    }
    if let Some(suite) = state.repo_mut(&full).suites.iter_mut().find(|suite| suite.id == id) {
        suite.attempt = attempt;
        suite.asked_by = who;
    }
    created(json!({}))
}
