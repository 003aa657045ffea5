//! A second opinion on whether a pull request may merge, written from sections 3 and 4 of the
//! specification alone. It shares no code with the gate: it asks each condition for itself, in no order,
//! and answers yes or no.

use chrono::{DateTime, Duration, Utc};
use steward_rules::diff::Kind;
use steward_rules::engine::facts::*;
use steward_rules::engine::memory::Memory;
use steward_rules::engine::policy::Policy;
use steward_rules::reading::Reading;
use steward_rules::review::facts::{CheckState, PullState};
use steward_rules::review::verdict::Verdict;

/// How one name stands: green, or not.
#[derive(Clone, Copy, PartialEq)]
enum Light {
    Green,
    Skipped,
    Dark,
}

pub fn may_merge(pr: &PrObs, memory: &Memory, policy: &Policy, now: DateTime<Utc>) -> bool {
    everything_was_read(pr, policy)
        && is_data(pr, policy)
        && checks_are_green(pr, policy)
        && verdict_is_ours(pr, policy)
        && people_agree(pr, policy)
        && seat_agrees(pr, policy)
        && is_up_to_date(pr, policy)
        && has_settled(pr, memory, policy, now)
        && nothing_holds(memory, now)
        && !policy.required_checks.is_empty()
        && (policy.verdict.is_some() || policy.require_seat_accepted)
}

fn everything_was_read(pr: &PrObs, policy: &Policy) -> bool {
    let known = |reading: bool| reading;
    let verdict = policy.verdict.is_none() || (pr.verdict_runs.complete && known(is_known(&pr.labelled)));
    pr.files.complete
        && pr.check_runs.complete
        && pr.statuses.complete
        && pr.reviews.complete
        && pr.linked_issues.complete
        && is_known(&pr.labels)
        && is_known(&pr.compare)
        && is_known(&pr.entries)
        && is_known(&pr.links)
        && verdict
        && (!policy.require_seat_accepted || is_known(&pr.seat))
}

fn is_known<T>(reading: &Reading<T>) -> bool {
    matches!(reading, Reading::Known { .. })
}

fn label_set(pr: &PrObs) -> Vec<String> {
    match &pr.labels {
        Reading::Known { value } => value.iter().map(|label| label.to_lowercase()).collect(),
        Reading::Unread { .. } => Vec::new(),
    }
}

/// Only the safe folder `data/` is understood here: the generated policies have no other.
fn is_data(pr: &PrObs, policy: &Policy) -> bool {
    assert_eq!(policy.safe_paths, ["data/"]);
    let labels = label_set(pr);
    if pr.state != PullState::Open || pr.draft || pr.head.branch.starts_with("sync/") {
        return false;
    }
    if labels.contains(&"bot-sync".to_owned()) {
        return false;
    }
    let forbidden: Vec<String> = policy.never_merge_labels.iter().map(|one| one.to_lowercase()).collect();
    let of_forms = pr.linked_issues.items.iter().flat_map(|issue| issue.labels.iter());
    if labels.iter().any(|one| forbidden.contains(one))
        || of_forms.map(|one| one.to_lowercase()).any(|one| forbidden.contains(&one))
    {
        return false;
    }
    let base = policy.base.clone().unwrap_or_default();
    if pr.head.repo != Some(pr.base.repo) || pr.base.branch != base || pr.files.items.is_empty() {
        return false;
    }
    for file in &pr.files.items {
        let mut paths = vec![file.path.shown()];
        if let Some(old) = &file.old_path {
            paths.push(old.shown());
        }
        for path in paths {
            let parts: Vec<&str> = path.split('/').collect();
            let plain = parts.iter().all(|part| !part.is_empty() && *part != "." && *part != "..");
            let hidden = parts.iter().any(|part| part.starts_with(".git") || *part == "AGENTS.md");
            if parts.len() < 2 || parts[0] != "data" || !plain || hidden {
                return false;
            }
        }
        for kind in [&file.old_kind, &file.new_kind] {
            match kind {
                Reading::Known { value: Kind::File | Kind::Absent } => {}
                Reading::Known { value: Kind::Executable } if policy.allow_exec => {}
                _ => return false,
            }
        }
    }
    if let Reading::Known { value } = &pr.links
        && value.iter().any(|link| link.shown().starts_with("data/"))
    {
        return false;
    }
    match &pr.entries {
        Reading::Known { value } => {
            value.added.len() + value.removed.len() + value.modified.len()
                <= policy.merge_max_entries as usize
        }
        Reading::Unread { .. } => false,
    }
}

fn light(run: &Run) -> Light {
    match &run.check.state {
        CheckState::Ended(word) if word == "success" => Light::Green,
        CheckState::Ended(word) if word == "skipped" || word == "neutral" => Light::Skipped,
        CheckState::Ended(_) | CheckState::Queued | CheckState::InProgress => Light::Dark,
    }
}

/// The runs that may be the newest of their name: no other one is known to be newer.
fn newest_of<'a>(runs: &[&'a Run]) -> Vec<&'a Run> {
    let all_started = runs.iter().all(|run| run.check.started_at.is_some());
    let order = |run: &Run| {
        let started = if all_started { run.check.started_at } else { None };
        (started, run.check.attempt, run.check.id)
    };
    let Some(top) = runs.iter().max_by_key(|run| order(run)) else { return Vec::new() };
    let may_be = |run: &&&Run| {
        run.check.id == top.check.id || (run.check.started_at.is_none() && run.check.id > top.check.id)
    };
    runs.iter().filter(may_be).copied().collect()
}

fn newest(runs: &[&Run]) -> Vec<Light> {
    newest_of(runs).into_iter().map(light).collect()
}

fn of_verdict(run: &Run, policy: &Policy) -> bool {
    policy.verdict.as_ref().is_some_and(|verdict| {
        run.check.name == verdict.job
            && run.check.app == policy.required_app
            && run.workflow.as_ref() == Some(&verdict.workflow)
    })
}

fn all_runs(pr: &PrObs) -> impl Iterator<Item = &Run> {
    pr.check_runs.items.iter().chain(&pr.verdict_runs.items)
}

fn checks_are_green(pr: &PrObs, policy: &Policy) -> bool {
    let here: Vec<&Run> = all_runs(pr).filter(|run| run.head == pr.head.sha).collect();
    for name in &policy.required_checks {
        let is_job = policy.verdict.as_ref().is_some_and(|verdict| verdict.job == *name);
        let runs: Vec<&Run> = here
            .iter()
            .copied()
            .filter(|run| run.check.name == *name && run.check.app == policy.required_app)
            .filter(|run| !is_job || of_verdict(run, policy))
            .collect();
        let lights = newest(&runs);
        let soft = policy.skippable.contains(name);
        let well = |light: &Light| *light == Light::Green || (*light == Light::Skipped && soft);
        if lights.is_empty() || !lights.iter().all(well) {
            return false;
        }
    }
    // Whatever else ran here.
    for run in &here {
        let required = policy.required_checks.contains(&run.check.name);
        if of_verdict(run, policy) || (policy.ignored_checks.contains(&run.check.name) && !required) {
            continue;
        }
        let same = |other: &&&Run| {
            other.check.name == run.check.name
                && other.check.app == run.check.app
                && !of_verdict(other, policy)
        };
        let group: Vec<&Run> = here.iter().filter(same).copied().collect();
        if newest(&group).contains(&Light::Dark) {
            return false;
        }
    }
    pr.statuses.items.iter().all(|status| {
        let newer = |other: &&steward_rules::review::facts::CommitStatus| {
            other.context == status.context && (other.created_at, other.id) > (status.created_at, status.id)
        };
        let is_old = pr.statuses.items.iter().any(|other| newer(&other));
        let exempt = policy.ignored_checks.contains(&status.context)
            && !policy.required_checks.contains(&status.context);
        is_old
            || exempt
            || status.state == "success"
            || (status.state == "pending" && !policy.pending_status_blocks)
    })
}

fn verdict_is_ours(pr: &PrObs, policy: &Policy) -> bool {
    let Some(rules) = &policy.verdict else { return true };
    let real: Vec<&Run> = all_runs(pr)
        .filter(|run| of_verdict(run, policy))
        .filter(|run| !matches!(&run.check.state, CheckState::Ended(word) if word == "skipped"))
        .collect();
    let (here, elsewhere): (Vec<&Run>, Vec<&Run>) = real.into_iter().partition(|run| run.head == pr.head.sha);
    let lights = newest(&here);
    if lights.is_empty() || lights.iter().any(|light| *light != Light::Green) {
        return false;
    }
    let labels = label_set(pr);
    let Reading::Known { value: events } = &pr.labelled else { return false };
    // Where two may be the newest, the labels must speak of either.
    newest_of(&here).into_iter().all(|v| {
        let Some(end) = v.ended_at else { return false };
        let settled = |run: &&Run| {
            matches!(run.check.state, CheckState::Ended(_)) && run.ended_at.is_some_and(|at| at < end)
        };
        let by_hand = |event: &Labelled| {
            event.label.to_lowercase() == rules.pass_label
                && event.at >= end
                && !rules.label_actors.contains(&event.actor.login)
        };
        elsewhere.iter().all(settled)
            && pr.labels_read_at > end
            && labels.contains(&rules.pass_label)
            && !labels.contains(&rules.flag_label)
            && (rules.human_label_counts || !events.iter().any(by_hand))
    })
}

fn people_agree(pr: &PrObs, policy: &Policy) -> bool {
    let mut people: Vec<u64> = pr.reviews.items.iter().map(|review| review.by.id).collect();
    people.sort_unstable();
    people.dedup();
    let mut approvals = 0;
    for person in people {
        let mut words: Vec<&PersonReview> = pr
            .reviews
            .items
            .iter()
            .filter(|review| review.by.id == person && !review.by.is_bot)
            .filter(|review| !matches!(review.state, ReviewState::Pending | ReviewState::Commented))
            .collect();
        words.sort_by_key(|review| (review.at, review.id));
        match words.last().map(|review| (review.state, *review)) {
            Some((ReviewState::ChangesRequested, _)) => return false,
            Some((ReviewState::Approved, review)) => {
                let may_write = matches!(review.can_write, Reading::Known { value: true });
                if may_write && review.head.as_ref() == Some(&pr.head.sha) && person != pr.author.id {
                    approvals += 1;
                }
            }
            _ => {}
        }
    }
    approvals >= policy.required_approvals
}

fn seat_agrees(pr: &PrObs, policy: &Policy) -> bool {
    match &pr.seat {
        _ if !policy.require_seat_accepted => true,
        Reading::Known { value: Some(review) } => {
            review.head == pr.head.sha && review.verdict == Verdict::Accepted && !review.stale
        }
        Reading::Known { value: None } | Reading::Unread { .. } => false,
    }
}

fn is_up_to_date(pr: &PrObs, policy: &Policy) -> bool {
    match &pr.compare {
        Reading::Known { value } => value.behind_by == 0 || !policy.require_up_to_date,
        Reading::Unread { .. } => false,
    }
}

fn has_settled(pr: &PrObs, memory: &Memory, policy: &Policy, now: DateTime<Utc>) -> bool {
    let Some(seen) = &memory.head else { return false };
    seen.sha == pr.head.sha
        && seen.last_seen_at <= now
        && seen.first_seen_at + Duration::seconds(i64::from(policy.stable_secs)) <= now
}

fn nothing_holds(memory: &Memory, now: DateTime<Utc>) -> bool {
    let held = memory.merging.hold.is_some_and(|hold| now < hold.since + Duration::minutes(30));
    !held && memory.merging.running.is_none() && memory.unprocessable < 3
}
