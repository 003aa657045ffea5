//! The sentences a person reads, all in one place.

use chrono::Duration;
use steward_rules::ids::{PullNumber, ReviewId, ShaError, TaskId};
use steward_rules::reading::{Cause, Why};
use steward_rules::review::gate::GateId;
use steward_rules::review::lifecycle::{EndReason, NotAutomatic, Refusal, ReviewState, RunState};
use steward_rules::review::verdict::{StaleReason, Verdict};
use steward_rules::wording::{gate, review};

use crate::world::*;

#[test]
fn every_refusal_says_why_and_what_next() {
    let why = Why::new(Cause::GitFailed, "bad object\u{1b}");
    let review = ReviewId(7);
    let refusals = [
        Refusal::Disabled,
        Refusal::Misconfigured,
        Refusal::NoSeat,
        Refusal::InvalidSeat { why: "limits.minutes: not a number".into() },
        Refusal::NotAPerson { mark: "CLAUDECODE".into() },
        Refusal::NoTask { task: TaskId(42) },
        Refusal::NoCommit { task: TaskId(42) },
        Refusal::BadSha { error: ShaError::Digits },
        Refusal::Unreachable { sha: head() },
        Refusal::NotTheHead { sha: sha(10), head: head() },
        Refusal::Unread { why },
        Refusal::Open { review },
        Refusal::Identical { review },
        Refusal::TaskCap { cap: 5 },
        Refusal::HourCap { cap: 6, next: now() + Duration::seconds(90) },
        Refusal::DayCap { spent: 10.5, cap: 10.0 },
        Refusal::MonthCap { spent: 100.0, cap: 100.0 },
        Refusal::Paused { why: "lunch".into() },
        Refusal::Tripped { consecutive: 3 },
        Refusal::OnePerHead { review },
    ];
    let said: Vec<String> = refusals
        .iter()
        .map(|one| format!("{}: {}. Next: {}.", one.code(), one.message(), one.hint()))
        .collect();
    insta::assert_snapshot!(said.join("\n"), @r"
    disabled: reviews are switched off. Next: set review.enabled: true in the config.
    misconfigured: reviews are off, the review block of the config has an error. Next: run: steward config check.
    no_seat: there is no reviewer seat. Next: run: steward seats seed.
    invalid_seat: the reviewer seat cannot be used: limits.minutes: not a number. Next: correct seats/reviewer.yaml.
    not_a_person: only a person can start a review, and this call comes from an agent (CLAUDECODE). Next: start it yourself, in the app or in a terminal of your own.
    not_found: there is no task 42. Next: run: steward task list.
    no_commit: task 42 has no commit to review. Next: commit on the task's branch, then try again.
    bad_sha: a commit id is lower-case hexadecimal, this one is not. Next: give all 40 digits as git rev-parse prints them.
    unreachable: commit abcdef0 is not reachable. Next: fetch it in the workspace, or review the head without --sha.
    not_the_head: commit 0000000 is not the task's head, which is abcdef0. Next: review the head without --sha, or make a task of a branch that ends at that commit.
    unread: the commit could not be looked up: bad object\u{1b}. Next: run git fsck in the clone.
    open_review: review 7 of this task is still open. Next: wait for it, or run: steward cancel 7.
    identical: review 7 already judged this head with this contract and this CI result. Next: run: steward show 7; a new commit or another CI result can be reviewed.
    task_cap: this task had its 5 reviews. Next: raise review.maxReviewsPerTask in the config.
    hour_cap: 6 reviews within the hour; the next may start at 12:01:30 UTC. Next: wait, or raise review.maxReviewsPerHour in the config.
    day_cap: agents cost 10.50 USD today, the cap is 10.00. Next: wait until tomorrow, or raise spend.dailyUsd in the config.
    month_cap: agents cost 100.00 USD this month, the cap is 100.00. Next: raise spend.monthlyUsd in the config.
    paused: everything is paused: lunch. Next: run: steward resume.
    breaker: automatic reviews are paused, the last 3 crashed or timed out. Next: start one by hand; when it completes, automatic ones go on.
    one_per_head: review 7 was the automatic one of this head. Next: start one by hand.
    ");
}

#[test]
fn every_unread_fact_says_why_and_what_next() {
    let causes = [
        Cause::SignedOut,
        Cause::FetchFailed,
        Cause::ForgeFailed,
        Cause::GitFailed,
        Cause::NotReadYet,
        Cause::TooLarge,
        Cause::NoBase,
    ];
    let said: Vec<String> = causes.map(|cause| gate::unread(&Why::new(cause, "why"))).to_vec();
    insta::assert_snapshot!(said.join("\n"), @r"
    sign in to GitHub, or set forge: none for the workspace
    the fetch failed (why); Steward tries again by itself
    GitHub could not be read (why); Steward tries again by itself
    git could not read its objects (why); run git fsck in the clone
    not read yet (why)
    larger than Steward reads (why); split the change
    nothing to measure against (why); name policy.review.integrationBranch in the config
    ");
}

#[test]
fn every_state_end_and_stale_reason_has_its_words() {
    let mut said: Vec<&str> = ReviewState::ALL.map(review::state).to_vec();
    said.extend(EndReason::ALL.map(review::ended));
    said.extend(
        [
            StaleReason::HeadMoved,
            StaleReason::NewerContract,
            StaleReason::NewerReview,
            StaleReason::HoldExpired,
        ]
        .map(review::stale),
    );
    insta::assert_snapshot!(said.join("\n"), @r"
    queued
    reading the change
    the seat is reading
    judging the submission
    held: a gate is undecided
    published
    ended
    the time for one review was used up
    the budget for one review was used up
    the seat stopped without a valid verdict
    it was cancelled
    the seat left its bounds
    the head moved since this review. Review again.
    the task has a newer contract than this review judged. Review again.
    a newer review of this task was published. Read that one.
    it was held for more than 24 hours and gave no verdict. Review again.
    ");
}

#[test]
fn every_reason_against_an_automatic_review_has_its_words() {
    let reasons = [
        NotAutomatic::Off,
        NotAutomatic::NotListed,
        NotAutomatic::Ambiguous { title: "app".into() },
        NotAutomatic::NotDone { run: RunState::Running },
        NotAutomatic::NotDone { run: RunState::Error },
        NotAutomatic::NotDone { run: RunState::Stopped },
        NotAutomatic::NotPushed,
        NotAutomatic::Unread { why: Why::new(Cause::ForgeFailed, "502") },
    ];
    insta::assert_snapshot!(reasons.iter().map(review::not_automatic).collect::<Vec<_>>().join("\n"), @r"
    reviews are off
    its workspace is not listed in review.autoReview
    two workspaces have the title app, so that review.autoReview means neither
    its run is not finished
    its run ended with an error
    its run was stopped
    its branch is not pushed
    GitHub could not be read (502); Steward tries again by itself
    ");
}

#[test]
fn details_name_things_and_count_the_rest() {
    let names = |number: usize| (0..number).map(|at| format!("check{at}")).collect::<Vec<_>>();
    let said = [
        gate::checks_failed(&names(1), 0),
        gate::checks_failed(&names(5), 2),
        gate::checks_missing(&names(2)),
        gate::checks_running(&names(4)),
        gate::checks_well(1),
        gate::checks_well(2),
        gate::no_validator_verdict(3, None),
        gate::no_validator_verdict(3, Some(2)),
        gate::not_stacked(&[]),
        gate::not_stacked(&[gate::same_patch(&head(), PullNumber(9)), "b".into()]),
        gate::claimed_pull(PullNumber(1), None),
        gate::claimed_pull(PullNumber(1), Some(PullNumber(2))),
        gate::no_secrets(3),
        gate::secrets_unlooked(9),
        gate::peers_agree(2),
        gate::inside_scope(1),
        gate::mutation_left("a.rs", 1),
        review::held(&[GateId::Ci, GateId::NotStacked]),
    ];
    insta::assert_snapshot!(said.join("\n"), @r"
    check0
    check0, check1, check2 and 2 more; 2 still running
    required and absent: check0, check1
    still running: check0, check1, check2 and 1 more
    1 check passed
    2 checks passed
    no validator verdict for contract version 3
    no validator verdict for contract version 3; the newest is for version 2
    stands on the integration branch alone
    stands on the integration branch; abcdef0 is the same patch as one of open pull request #9, and 1 more
    claims pull request #1, the task has none
    claims pull request #1, the task has #2
    no certain secret; 3 lines to look at
    9 bytes are more than Steward scans; take the large file out of the range
    2 Peers handed off done, all claims hold
    1 changed file inside the write scope
    not restored: a.rs, and 1 more
    held until decided: ci, not_stacked
    ");
}

#[test]
fn a_lowered_verdict_names_what_lowered_it() {
    let mut table = table(&good(), &policy());
    assert_eq!(review::lowered(Verdict::Accepted, &table), None);
    table.results[0].state = FAIL;
    table.own_findings.push(steward_rules::wording::finding::colliding_path("a", "A"));
    let said = review::lowered(Verdict::Accepted, &table);
    assert_eq!(said.as_deref(), Some("lowered by ci, findings of Steward's own"));
    assert_eq!(review::lowered(Verdict::Changes, &table), None);
}
