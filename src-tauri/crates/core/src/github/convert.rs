//! GitHub's answers as the snapshots that the rules judge.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use steward_rules::ids::{PullNumber, Sha};
use steward_rules::reading::{Cause, Reading};
use steward_rules::review::facts::{CheckFacts, CheckRun, CheckState, CommitStatus, PullFacts, PullState};
use steward_rules::untrusted::Untrusted;

use super::error::GitHubError;
use super::types::{self, ChangedFile, Tree};

/// A pull request for the gates. Whether its base is still in the integration branch is git's to say.
pub fn pull(pull: &types::Pull, fetched_at: DateTime<Utc>) -> Result<PullFacts, GitHubError> {
    Ok(PullFacts {
        number: PullNumber(pull.number),
        title: pull.title.clone(),
        body: pull.body.clone().unwrap_or_else(|| Untrusted::new("")),
        author: Untrusted::new(login(pull.user.as_ref())),
        base_branch: pull.base.branch.clone(),
        base_sha: pull.base.sha.clone(),
        base_is_ancestor_of_tip: Reading::unread(
            Cause::NotReadYet,
            "the base is looked up in the fetched clone",
        ),
        head: pull.head.sha.clone(),
        draft: pull.draft,
        state: pull_state(pull)?,
        fetched_at,
    })
}

/// A word for the state that we do not know is no state at all.
pub fn pull_state(pull: &types::Pull) -> Result<PullState, GitHubError> {
    match (pull.merged_at, pull.state.as_str()) {
        (Some(_), _) => Ok(PullState::Merged),
        (None, "open") => Ok(PullState::Open),
        (None, "closed") => Ok(PullState::Closed),
        (None, _) => Err(GitHubError::Malformed("not what is expected at state".to_owned())),
    }
}

/// GitHub's stand-in for an account that was deleted.
fn login(user: Option<&types::User>) -> &str {
    user.map_or("ghost", |user| &user.login)
}

/// Check runs and statuses for the `ci` gate.
pub fn checks(
    runs: &[types::CheckRun],
    statuses: &[types::Status],
    head: &Sha,
    head_seen_at: DateTime<Utc>,
    fetched_at: DateTime<Utc>,
) -> Result<CheckFacts, GitHubError> {
    if runs.iter().any(|run| run.head_sha != *head) {
        return Err(GitHubError::Malformed("it holds check runs of another commit".to_owned()));
    }
    let attempts = attempts(runs);
    let runs = runs.iter().zip(attempts).map(|(run, attempt)| CheckRun {
        id: run.id,
        name: run.name.clone(),
        app: app(run),
        attempt,
        started_at: run.started_at,
        state: state(run),
        url: run.html_url.clone().or_else(|| run.details_url.clone()),
    });
    let statuses = statuses.iter().map(|status| CommitStatus {
        id: status.id,
        context: status.context.clone(),
        creator: login(status.creator.as_ref()).to_owned(),
        state: status.state.clone(),
        created_at: status.created_at,
        url: status.target_url.clone(),
    });
    Ok(CheckFacts { runs: runs.collect(), statuses: statuses.collect(), head_seen_at, fetched_at })
}

/// The slug names an app; one without a slug is told by its number, and never taken for another.
fn app(run: &types::CheckRun) -> String {
    match &run.app {
        Some(app) => {
            app.slug.clone().filter(|slug| !slug.is_empty()).unwrap_or_else(|| format!("app {}", app.id))
        }
        None => "no app".to_owned(),
    }
}

/// Completed without a conclusion, or in a state we do not know, is not well and not ended well.
fn state(run: &types::CheckRun) -> CheckState {
    match (run.status.as_str(), &run.conclusion) {
        ("completed", Some(word)) => CheckState::Ended(word.clone()),
        ("completed", None) => CheckState::Ended("no conclusion".to_owned()),
        ("in_progress", _) => CheckState::InProgress,
        ("queued" | "waiting" | "requested" | "pending", _) => CheckState::Queued,
        // A word to come: whatever it means, the run has not said that it succeeded.
        (_, _) => CheckState::InProgress,
    }
}

/// Which attempt each run is: GitHub gives a re-run a new id in the same suite, and no number.
fn attempts(runs: &[types::CheckRun]) -> Vec<u32> {
    let mut groups: HashMap<(u64, String, &str), Vec<u64>> = HashMap::new();
    let group = |run: &types::CheckRun| (run.check_suite.as_ref().map_or(0, |suite| suite.id), app(run));
    for run in runs {
        let (suite, app) = group(run);
        groups.entry((suite, app, &run.name)).or_default().push(run.id);
    }
    runs.iter()
        .map(|run| {
            let (suite, app) = group(run);
            let earlier = groups[&(suite, app, run.name.as_str())].iter().filter(|id| **id < run.id).count();
            u32::try_from(earlier + 1).unwrap_or(u32::MAX)
        })
        .collect()
}

/// Adds to each file its mode at the head and at the merge base. A file that should be in a tree and
/// is not shows that tree and list are of different commits.
pub fn with_modes(files: &[ChangedFile], base: &Tree, head: &Tree) -> Result<Vec<ChangedFile>, GitHubError> {
    let modes = |tree: &Tree| -> HashMap<String, String> {
        tree.tree.iter().map(|entry| (entry.path.as_data().to_owned(), entry.mode.clone())).collect()
    };
    let (before, after) = (modes(base), modes(head));
    files
        .iter()
        .map(|file| {
            let path = file.path.as_data();
            let previous = file.previous_path.as_ref().map_or(path, Untrusted::as_data);
            let mode = after.get(path).cloned();
            let previous_mode = before.get(previous).cloned();
            let fits = match file.status.as_str() {
                "added" | "copied" => mode.is_some(),
                "removed" => previous_mode.is_some(),
                _ => mode.is_some() && previous_mode.is_some(),
            };
            if !fits {
                return Err(GitHubError::Truncated("the tree does not hold a changed file".to_owned()));
            }
            Ok(ChangedFile { mode, previous_mode, ..file.clone() })
        })
        .collect()
}
