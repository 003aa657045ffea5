//! Check runs and commit statuses: which is the newest of a name, and how it stands.
//!
//! One place for the rules that the `ci` gate and the merge gate share (review.md 5, engine.md 4.2).

use std::cmp::Reverse;
use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::review::facts::{CheckRun, CheckState, CommitStatus};

/// How a check or a status stands, in the order of what a reader wants first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    Failing,
    Waiting,
    Well,
}

/// How a check run stands. With `softly`, `neutral` and `skipped` are well; every word that is not known
/// to be well is failing.
pub fn run_health(state: &CheckState, softly: bool) -> Health {
    match state {
        CheckState::Queued | CheckState::InProgress => Health::Waiting,
        CheckState::Ended(word) => match word.as_str() {
            "success" => Health::Well,
            "neutral" | "skipped" if softly => Health::Well,
            _ => Health::Failing,
        },
    }
}

/// How a commit status stands. GitHub lets one be `success`, `pending`, `failure` or `error`.
pub fn status_health(state: &str) -> Health {
    match state {
        "success" => Health::Well,
        "pending" => Health::Waiting,
        _ => Health::Failing,
    }
}

/// The state of a run as GitHub says it.
pub fn state_word(state: &CheckState) -> &str {
    match state {
        CheckState::Queued => "queued",
        CheckState::InProgress => "in progress",
        CheckState::Ended(conclusion) => conclusion,
    }
}

/// The runs by (name, app), by name.
pub fn by_name_and_app<'a>(
    runs: impl IntoIterator<Item = &'a CheckRun>,
) -> BTreeMap<(&'a str, &'a str), Vec<&'a CheckRun>> {
    let mut groups: BTreeMap<(&str, &str), Vec<&CheckRun>> = BTreeMap::new();
    for run in runs {
        groups.entry((&run.name, &run.app)).or_default().push(run);
    }
    groups
}

/// The newest run of one (name, app). Start times decide, since two workflows may give one name and
/// each counts its attempts from 1; where a run has none yet, attempt and id do.
pub fn newest_run<'a>(group: &[&'a CheckRun]) -> Option<&'a CheckRun> {
    let runs = group.iter().copied();
    if group.iter().all(|run| run.started_at.is_some()) {
        runs.max_by_key(|run| (run.started_at, run.attempt, run.id, worse(run)))
    } else {
        runs.max_by_key(|run| (run.attempt, run.id, worse(run)))
    }
}

/// Of two answers about one run the worse counts, wherever it stands in the list.
fn worse(run: &CheckRun) -> (Reverse<Health>, &str) {
    (Reverse(run_health(&run.state, false)), state_word(&run.state))
}

/// The newest status of each context, by context.
pub fn newest_statuses<'a>(statuses: impl IntoIterator<Item = &'a CommitStatus>) -> Vec<&'a CommitStatus> {
    let mut newest: BTreeMap<&str, &CommitStatus> = BTreeMap::new();
    for status in statuses {
        let kept = newest.entry(&status.context).or_insert(status);
        if age(status) > age(kept) {
            *kept = status;
        }
    }
    newest.into_values().collect()
}

/// Of two answers about one status the worse counts.
fn age(status: &CommitStatus) -> (DateTime<Utc>, u64, Reverse<Health>, &str) {
    (status.created_at, status.id, Reverse(status_health(&status.state)), &status.state)
}
