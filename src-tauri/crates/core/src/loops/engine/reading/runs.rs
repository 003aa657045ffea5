//! Check runs, statuses, and the runs of the verdict job (engine.md 4.2 and 4.3).

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use steward_rules::checks::{Health, run_health};
use steward_rules::engine::facts::{Listing, Run};
use steward_rules::engine::policy::VerdictPolicy;
use steward_rules::ids::RepoName;
use steward_rules::reading::Why;
use steward_rules::review::facts::{CheckRun, CheckState, CommitStatus};

use super::{Place, ReadFault, listing, part};
use crate::github::types::{self, Job, Pull, WorkflowRun};
use crate::github::{GitHubError, Reader, convert};

/// Runs of other heads that are looked at job by job; what is older stands as its workflow run does.
const CLOSER: usize = 5;

/// What ran at the head, and the verdict job at every head of the pull request.
pub(super) struct Checks {
    pub of_head: Listing<Run>,
    pub statuses: Listing<CommitStatus>,
    pub verdict: Listing<Run>,
}

/// The file of a workflow and the number of its run, by check suite.
type Suites = HashMap<u64, (String, u64)>;

pub(super) async fn of(
    reader: &Reader,
    place: &Place,
    name: &RepoName,
    pull: &Pull,
    repo: u64,
) -> Result<Checks, ReadFault> {
    let head = &pull.head.sha;
    let (runs, statuses, workflows) = tokio::join!(
        reader.check_runs(name, head),
        reader.statuses(name, head),
        reader.workflow_runs(name, head),
    );
    let of_head = of_head(part(runs.and_then(|runs| checked(reader, pull, runs)))?, part(workflows)?);
    let verdict = match &place.policy.verdict {
        None => Listing::whole([]),
        Some(verdict) => {
            let others = others(reader, place, name, pull, repo, &of_head).await?;
            let app = &place.policy.required_app;
            let is_verdict = |run: &&Run| {
                run.check.name == verdict.job
                    && run.check.app == *app
                    && run.workflow.as_deref() == Some(verdict.workflow.as_str())
            };
            let own = of_head.items.iter().filter(is_verdict).cloned();
            Listing {
                complete: of_head.complete && others.complete,
                items: own.chain(others.items.iter().cloned()).collect(),
            }
        }
    };
    let statuses = statuses.and_then(|statuses| {
        let now = reader.now();
        convert::checks(&[], &statuses, head, now, now).map(|facts| facts.statuses)
    });
    Ok(Checks { of_head, statuses: listing(part(statuses)?), verdict })
}

/// Check runs of one head at any of its commits: GitHub's words and ours, side by side.
pub(super) fn checked(
    reader: &Reader,
    pull: &Pull,
    runs: Vec<types::CheckRun>,
) -> Result<Vec<(types::CheckRun, CheckRun)>, GitHubError> {
    let now = reader.now();
    let facts = convert::checks(&runs, &[], &pull.head.sha, now, now)?;
    Ok(runs.into_iter().zip(facts.runs).collect())
}

/// Without the workflow runs nobody knows which workflow a check is of, so the list is cut then.
pub(super) fn of_head(
    runs: Result<Vec<(types::CheckRun, CheckRun)>, Why>,
    workflows: Result<Vec<WorkflowRun>, Why>,
) -> Listing<Run> {
    let Ok(runs) = runs else { return Listing::cut([]) };
    let complete = workflows.is_ok();
    let suites: Suites = workflows
        .unwrap_or_default()
        .iter()
        .filter_map(|run| Some((run.check_suite_id?, (run.file().to_owned(), run.id))))
        .collect();
    let items = runs.into_iter().map(|(raw, check)| {
        let of = raw.check_suite.as_ref().and_then(|suite| suites.get(&suite.id));
        Run {
            head: raw.head_sha,
            check,
            workflow: of.map(|(file, _)| file.clone()),
            workflow_run: of.map(|(_, run)| *run),
            ended_at: raw.completed_at,
        }
    });
    Listing { items: items.collect(), complete }
}

/// The verdict job at other heads of the pull request: what may still rewrite the labels. All runs of the
/// workflow for the branch count, whichever pull request they name.
async fn others(
    reader: &Reader,
    place: &Place,
    name: &RepoName,
    pull: &Pull,
    repo: u64,
    of_head: &Listing<Run>,
) -> Result<Listing<Run>, ReadFault> {
    let Some(verdict) = &place.policy.verdict else { return Ok(Listing::whole([])) };
    // On a fork the verdict job cannot run.
    if pull.head.repo.as_ref().map(|head| head.id) != Some(repo) {
        return Ok(Listing::whole([]));
    }
    let since = pull.created_at.unwrap_or(DateTime::UNIX_EPOCH);
    let runs = reader.workflow_runs_of_branch(name, &verdict.workflow, &pull.head.branch, since).await;
    let runs = match runs {
        // GitHub knows no such workflow: it never ran. Had the token no right, the head's runs would be
        // unread too.
        Err(GitHubError::NotFound) if of_head.complete => return Ok(Listing::whole([])),
        runs => match part(runs)? {
            Ok(runs) => runs,
            Err(_) => return Ok(Listing::cut([])),
        },
    };
    let of_us = |run: &&WorkflowRun| {
        run.head_sha != pull.head.sha && run.head_repository.as_ref().is_none_or(|home| home.id == repo)
    };
    let given =
        of_head.items.iter().filter(|run| run.check.name == verdict.job).filter_map(|run| run.ended_at);
    let given = given.max();
    let mut list = Listing::whole([]);
    let mut closer = 0;
    for run in runs.iter().filter(of_us) {
        let whole = of_run(run, place, verdict);
        if whole.check.state == CheckState::Ended("skipped".to_owned()) {
            continue;
        }
        let is_late = given.is_some_and(|given| whole.ended_at.is_none_or(|ended| ended >= given));
        if !is_late || closer == CLOSER {
            list.items.push(whole);
            continue;
        }
        closer += 1;
        match part(reader.jobs(name, run.id).await)? {
            Err(_) => list.items.push(whole),
            Ok(jobs) => match jobs.iter().find(|job| job.name == verdict.job) {
                Some(job) => list.items.push(of_job(job, run, place, verdict)),
                // A job that waits for another one is not listed yet.
                None if run_health(&whole.check.state, true) == Health::Waiting => list.items.push(whole),
                None => {}
            },
        }
    }
    Ok(list)
}

/// The verdict job as its workflow run stands: no better, and over no earlier.
fn of_run(run: &WorkflowRun, place: &Place, verdict: &VerdictPolicy) -> Run {
    let state = state(run.status.as_deref().unwrap_or_default(), run.conclusion.as_deref());
    let ended_at = matches!(state, CheckState::Ended(_)).then_some(run.updated_at);
    made(run, place, verdict, Said { id: run.id, started_at: run.run_started_at, state, ended_at })
}

fn of_job(job: &Job, run: &WorkflowRun, place: &Place, verdict: &VerdictPolicy) -> Run {
    let state = state(&job.status, job.conclusion.as_deref());
    let ended_at = job.completed_at.filter(|_| matches!(state, CheckState::Ended(_)));
    made(run, place, verdict, Said { id: job.id, started_at: job.started_at, state, ended_at })
}

struct Said {
    id: u64,
    started_at: Option<DateTime<Utc>>,
    state: CheckState,
    ended_at: Option<DateTime<Utc>>,
}

fn made(run: &WorkflowRun, place: &Place, verdict: &VerdictPolicy, said: Said) -> Run {
    Run {
        head: run.head_sha.clone(),
        check: CheckRun {
            id: said.id,
            name: verdict.job.clone(),
            app: place.policy.required_app.clone(),
            attempt: run.run_attempt,
            started_at: said.started_at,
            state: said.state,
            url: run.html_url.clone(),
        },
        workflow: Some(run.file().to_owned()),
        workflow_run: Some(run.id),
        ended_at: said.ended_at,
    }
}

/// A word that is not known has not ended well.
fn state(status: &str, conclusion: Option<&str>) -> CheckState {
    match (status, conclusion) {
        ("completed", Some(word)) => CheckState::Ended(word.to_owned()),
        ("completed", None) => CheckState::Ended("no conclusion".to_owned()),
        ("queued" | "waiting" | "requested" | "pending", _) => CheckState::Queued,
        (_, _) => CheckState::InProgress,
    }
}
