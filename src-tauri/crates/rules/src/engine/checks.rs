//! How the checks of a head stand, taken together (engine.md 4.2).

use std::collections::BTreeMap;

use chrono::{DateTime, Duration, Utc};
use serde::{Deserialize, Serialize};

use super::facts::{PrObs, Run};
use super::policy::{Policy, VerdictPolicy};
use crate::checks::{self, Health};
use crate::review::facts::CheckRun;

/// How long a required name may never be seen before the report warns.
pub const NEVER_SEEN: Duration = Duration::hours(6);
/// How long a named check or status may stand still before it is reported as removed.
pub const SILENT: Duration = Duration::hours(24);

/// The newest word of one check or status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen<'a> {
    pub name: &'a str,
    /// App of a check, login of a status.
    pub by: &'a str,
    /// As GitHub says it.
    pub said: &'a str,
    pub health: Health,
    /// The run behind it; `None` for a status.
    pub run: Option<&'a Run>,
}

/// All checks and statuses of one head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aggregate<'a> {
    /// The required ones but the verdict job; `None`: absent.
    pub required: Vec<(&'a str, Option<Seen<'a>>)>,
    /// The verdict job, when it is required too: its newest run, skipped or not.
    pub verdict: Option<Seen<'a>>,
    /// Everything else that is not ignored.
    pub others: Vec<Seen<'a>>,
}

impl<'a> Aggregate<'a> {
    /// The required checks that stand so.
    pub fn required_in(&self, health: Health) -> Vec<&Seen<'a>> {
        self.required
            .iter()
            .filter_map(|(_, seen)| seen.as_ref())
            .filter(|seen| seen.health == health)
            .collect()
    }

    /// The required names nobody reported on.
    pub fn absent(&self) -> Vec<&'a str> {
        self.required.iter().filter(|(_, seen)| seen.is_none()).map(|(name, _)| *name).collect()
    }

    pub fn others_in(&self, health: Health) -> Vec<&Seen<'a>> {
        self.others.iter().filter(|seen| seen.health == health).collect()
    }
}

/// Takes together what ran at the head. Runs of another head count for nothing here.
pub fn aggregate<'a>(pr: &'a PrObs, policy: &'a Policy) -> Aggregate<'a> {
    let job = policy.verdict.as_ref().map(|verdict| verdict.job.as_str());
    let mut groups: BTreeMap<(&str, &str), Vec<&Run>> = BTreeMap::new();
    let mut of_verdict: Vec<&Run> = Vec::new();
    for run in pr.check_runs.items.iter().chain(&pr.verdict_runs.items) {
        if run.head != pr.head.sha {
            continue;
        }
        if policy.verdict.as_ref().is_some_and(|verdict| is_verdict(run, policy, verdict)) {
            of_verdict.push(run);
        } else {
            groups.entry((&run.check.name, &run.check.app)).or_default().push(run);
        }
    }
    let app = policy.required_app.as_str();
    let softly = |name: &str| policy.skippable.iter().any(|one| one == name);
    let mut names: Vec<&str> = policy.required_checks.iter().map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();

    let mut required = Vec::new();
    let mut verdict = None;
    for name in &names {
        if Some(*name) == job {
            verdict = newest(&of_verdict, softly(name));
        } else {
            required.push((*name, groups.get(&(*name, app)).and_then(|group| newest(group, softly(name)))));
        }
    }
    let is_ignored =
        |name: &str| policy.ignored_checks.iter().any(|one| one == name) && !names.contains(&name);
    let mut others: Vec<Seen<'a>> = groups
        .iter()
        .filter(|((name, by), _)| !(*by == app && Some(*name) != job && names.contains(name)))
        .filter(|((name, _), _)| !is_ignored(name))
        .filter_map(|(_, group)| newest(group, true))
        .collect();
    let statuses = checks::newest_statuses(&pr.statuses.items).into_iter().map(|status| Seen {
        name: &status.context,
        by: &status.creator,
        said: &status.state,
        health: match checks::status_health(&status.state) {
            Health::Waiting if !policy.pending_status_blocks => Health::Well,
            health => health,
        },
        run: None,
    });
    others.extend(statuses.filter(|seen| !is_ignored(seen.name)));
    Aggregate { required, verdict, others }
}

/// True for a run of the verdict job itself: not of another app or workflow that uses its name.
pub(super) fn is_verdict(run: &Run, policy: &Policy, verdict: &VerdictPolicy) -> bool {
    run.check.name == verdict.job
        && run.check.app == policy.required_app
        && run.workflow.as_deref() == Some(verdict.workflow.as_str())
}

/// The newest run of one name and app, by attempt and start time. Where the answer does not say which of
/// several that is, the one that helps least counts: waiting, then failing, then well.
pub(super) fn newest<'a>(group: &[&'a Run], softly: bool) -> Option<Seen<'a>> {
    let health = |run: &Run| checks::run_health(&run.check.state, softly);
    let helps = |run: &Run| match health(run) {
        Health::Waiting => 0,
        Health::Failing => 1,
        Health::Well => 2,
    };
    let run = maybe_newest(group).into_iter().min_by_key(|run| helps(run))?;
    Some(Seen {
        name: &run.check.name,
        by: &run.check.app,
        said: checks::state_word(&run.check.state),
        health: health(run),
        run: Some(run),
    })
}

/// The newest run, and those that may be: the same run read twice while it changed, and one with a later
/// id that says no start. In one order, however they are listed.
pub(super) fn maybe_newest<'a>(group: &[&'a Run]) -> Vec<&'a Run> {
    let runs: Vec<&CheckRun> = group.iter().map(|run| &run.check).collect();
    let Some(newest) = checks::newest_run(&runs) else { return Vec::new() };
    let mut maybe: Vec<&Run> = group
        .iter()
        .copied()
        .filter(|run| {
            run.check.id == newest.id || (run.check.started_at.is_none() && run.check.id > newest.id)
        })
        .collect();
    maybe.sort_by_key(|run| {
        (run.check.id, checks::state_word(&run.check.state), run.ended_at, run.workflow_run)
    });
    maybe
}

/// What a repository remembers of the names its policy requires, over all heads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NamesSeen {
    /// Since when the policy has required each name.
    pub required_since: BTreeMap<String, DateTime<Utc>>,
    /// When each name was last seen to move at any head.
    pub last_moved: BTreeMap<String, DateTime<Utc>>,
    /// When any other check last concluded at any head.
    pub others_concluded_at: Option<DateTime<Utc>>,
    /// When the verdict job last gave a verdict at any head.
    pub verdict_given_at: Option<DateTime<Utc>>,
}

/// Why the report warns of a required name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameWarning {
    /// Never seen at any head, while other checks concluded: the job was renamed, or the name is wrong.
    NeverSeen { name: String, since: DateTime<Utc> },
    /// Seen once, and no more since then while other checks concluded.
    Silent { name: String, since: DateTime<Utc> },
}

/// The required names that seem to exist no more.
pub fn name_warnings(policy: &Policy, seen: &NamesSeen, now: DateTime<Utc>) -> Vec<NameWarning> {
    let mut names = policy.required_checks.clone();
    names.sort_unstable();
    names.dedup();
    let names_at = &seen.last_moved;
    let concluded_after = |name: &str, at: DateTime<Utc>| {
        let required = names_at.iter().filter(|(other, _)| *other != name).map(|(_, moved)| *moved);
        seen.others_concluded_at.into_iter().chain(required).any(|other| other > at)
    };
    names
        .into_iter()
        .filter_map(|name| match (seen.last_moved.get(&name), seen.required_since.get(&name)) {
            (Some(at), _) if now - *at > SILENT && concluded_after(&name, *at) => {
                Some(NameWarning::Silent { name, since: *at })
            }
            (None, Some(at)) if now - *at > NEVER_SEEN && concluded_after(&name, *at) => {
                Some(NameWarning::NeverSeen { name, since: *at })
            }
            (Some(_), _) | (None, _) => None,
        })
        .collect()
}
