//! The gate and the checks of a head: which count, which is newest, and what each word means.

use chrono::Duration;
use steward_rules::engine::checks::{NameWarning, NamesSeen, name_warnings};
use steward_rules::engine::decision::*;
use steward_rules::engine::facts::*;
use steward_rules::engine::merge::{assess, reread};
use steward_rules::engine::policy::Policy;

use super::world::*;

#[test]
fn a12_a_required_name_that_nobody_reports_waits_for_ever() {
    let renamed = Policy { required_checks: strings(&["check", "lint", "verify"]), ..policy() };
    for hours in [1, 1000] {
        let decision = assess(&ready(), &seen_for(Duration::hours(hours)), &renamed, now());
        waits_for(&decision, WaitFor::Absent { names: strings(&["lint"]) });
    }
    let twice = Policy { required_checks: strings(&["lint", "check", "lint"]), ..policy() };
    waits_for(&assess(&ready(), &memory(), &twice, now()), WaitFor::Absent { names: strings(&["lint"]) });
    let hours_ago = |hours| now() - Duration::hours(hours);
    let mut seen = NamesSeen::default();
    for (name, hours) in [("check", 99), ("lint", 7), ("verify", 99)] {
        seen.required_since.insert(name.to_owned(), hours_ago(hours));
    }
    seen.last_moved.insert("check".to_owned(), hours_ago(25));
    seen.last_moved.insert("verify".to_owned(), hours_ago(25));
    seen.required_since.insert("lint".to_owned(), hours_ago(6));
    assert_eq!(name_warnings(&renamed, &seen, now()), [], "nothing else concluded");
    seen.others_concluded_at = Some(hours_ago(99));
    assert_eq!(name_warnings(&renamed, &seen, now()), [], "not since then");
    seen.last_moved.insert("verify".to_owned(), hours_ago(24));
    seen.required_since.insert("lint".to_owned(), hours_ago(7));
    seen.others_concluded_at = Some(hours_ago(1));
    let never = NameWarning::NeverSeen { name: "lint".to_owned(), since: hours_ago(7) };
    let silent = NameWarning::Silent { name: "check".to_owned(), since: hours_ago(25) };
    assert_eq!(name_warnings(&renamed, &seen, now()), [silent.clone(), never]);
    seen.required_since.insert("lint".to_owned(), hours_ago(6));
    assert_eq!(name_warnings(&renamed, &seen, now()), std::slice::from_ref(&silent));
    // Where everything that runs is required, another required name that moves says the same.
    seen.others_concluded_at = None;
    seen.required_since.insert("lint".to_owned(), hours_ago(24));
    assert_eq!(name_warnings(&renamed, &seen, now()), std::slice::from_ref(&silent));
    seen.required_since.insert("lint".to_owned(), hours_ago(25));
    let never = NameWarning::NeverSeen { name: "lint".to_owned(), since: hours_ago(25) };
    assert_eq!(name_warnings(&renamed, &seen, now()), [silent, never]);
    seen.last_moved.remove("check");
    seen.last_moved.remove("verify");
    assert_eq!(name_warnings(&renamed, &seen, now()), [], "nothing moves at all");
}

#[test]
fn every_word_of_a_required_check_is_well_or_not() {
    let strict = Policy { skippable: strings(&["verify"]), ..policy() };
    let words = [
        ("success", "merge", "merge"),
        ("skipped", "rerun", "merge"),
        ("neutral", "rerun", "merge"),
        ("failure", "rerun", "rerun"),
        ("cancelled", "rerun", "rerun"),
        ("timed_out", "rerun", "rerun"),
        ("action_required", "rerun", "rerun"),
        ("startup_failure", "rerun", "rerun"),
        ("stale", "rerun", "rerun"),
        ("", "rerun", "rerun"),
        ("Success", "rerun", "rerun"),
        ("a word of tomorrow", "rerun", "rerun"),
        ("queued", "wait", "wait"),
        ("in_progress", "wait", "wait"),
    ];
    for (word, when_strict, when_skippable) in words {
        let pr = with_check(run("site", 1, word, 20));
        assert_eq!(assess(&pr, &memory(), &strict, now()).slug(), when_strict, "strict: {word}");
        assert_eq!(decide(&pr).slug(), when_skippable, "skippable: {word}");
    }
}

#[test]
fn other_checks_and_statuses_hold_but_are_not_on_the_ladder() {
    let other = |word: &str| Run { workflow_run: Some(3), ..run("lint", 1, word, 20) };
    for (word, slug) in [("success", "merge"), ("skipped", "merge"), ("neutral", "merge")] {
        assert_eq!(decide(&with_check(other(word))).slug(), slug, "{word}");
    }
    waits_for(&decide(&with_check(other("queued"))), WaitFor::Running { names: strings(&["lint"]) });
    let failed = WaitFor::OtherFailed { names: strings(&["lint"]) };
    for word in ["failure", "cancelled", "tomorrow"] {
        waits_for(&decide(&with_check(other(word))), failed.clone());
    }
    let ignoring = Policy { ignored_checks: strings(&["lint", "check", "ci/x"]), ..policy() };
    assert!(is_merge(&assess(&with_check(other("failure")), &memory(), &ignoring, now())));
    let required = with_check(run("check", 1, "failure", 20));
    let decision = assess(&required, &memory(), &ignoring, now());
    assert_eq!(decision.slug(), "rerun", "a required check is never exempt");

    let with_status = |state: &str| {
        let mut pr = ready();
        pr.statuses = Listing::whole([status("ci/x", state)]);
        pr
    };
    let running = WaitFor::Running { names: strings(&["ci/x"]) };
    let failed = WaitFor::OtherFailed { names: strings(&["ci/x"]) };
    assert!(is_merge(&decide(&with_status("success"))));
    waits_for(&decide(&with_status("pending")), running);
    for state in ["failure", "error", "tomorrow"] {
        waits_for(&decide(&with_status(state)), failed.clone());
        assert!(is_merge(&assess(&with_status(state), &memory(), &ignoring, now())));
    }
    let patient = Policy { pending_status_blocks: false, ..policy() };
    assert!(is_merge(&assess(&with_status("pending"), &memory(), &patient, now())));
    waits_for(&assess(&with_status("error"), &memory(), &patient, now()), failed);
}

#[test]
fn f1_the_newest_attempt_decides_both_ways_wherever_it_is_listed() {
    let started = |attempt, word: &str, minutes| run("check", attempt, word, minutes);
    let cases = [
        (started(1, "failure", 30), started(2, "success", 20), "merge"),
        (started(1, "cancelled", 30), started(2, "success", 20), "merge"),
        (started(1, "success", 30), started(2, "failure", 20), "rerun"),
        (started(1, "success", 30), started(2, "queued", 20), "wait"),
        // Two workflows of one name: the later started decides.
        (started(3, "success", 30), started(1, "failure", 20), "rerun"),
    ];
    for (older, newer, slug) in cases {
        for order in [[&older, &newer], [&newer, &older]] {
            let mut pr = ready();
            pr.check_runs.items.retain(|run| run.check.name != "check");
            pr.check_runs.items.extend(order.into_iter().cloned());
            assert_eq!(decide(&pr).slug(), slug, "{order:?}");
        }
    }
}

#[test]
fn where_the_answer_does_not_say_which_is_newest_the_worse_counts() {
    let pair = |a: Run, b: Run| {
        let mut slugs = Vec::new();
        for order in [[&a, &b], [&b, &a]] {
            let mut pr = ready();
            pr.check_runs.items.retain(|run| run.check.name != "check");
            pr.check_runs.items.extend(order.into_iter().cloned());
            slugs.push(decide(&pr).slug());
        }
        assert_eq!(slugs[0], slugs[1]);
        slugs[0]
    };
    let green = run("check", 2, "success", 20);
    // One run read twice, while it changed.
    assert_eq!(pair(green.clone(), run("check", 2, "in_progress", 20)), "wait");
    assert_eq!(pair(green.clone(), run("check", 2, "failure", 20)), "rerun");
    // A younger run of another workflow that has not started yet.
    let mut queued = run("check", 1, "queued", 0);
    queued.check.id = 9;
    queued.check.started_at = None;
    assert_eq!(pair(green.clone(), queued.clone()), "wait");
    // An older one that never started says nothing.
    queued.check.id = 1;
    assert_eq!(pair(green, queued), "merge");
}

#[test]
fn f2_no_check_yet_is_undecided_and_a_reset_is_caught_by_the_second_reading() {
    let mut young = ready();
    young.check_runs = Listing::whole([]);
    young.verdict_runs = Listing::whole([]);
    waits_for(
        &assess(&young, &seen_for(Duration::seconds(40)), &policy(), now()),
        WaitFor::Stable { seconds: 120 },
    );
    assert_eq!(decide(&young).slug(), "wait");

    let Decision::Merge(judged) = decide(&ready()) else { panic!("it is ready") };
    let later = now() + Duration::seconds(5);
    let mut reset = with_check(run("check", 2, "queued", 0));
    reset.read_at = later;
    let refused = reread(judged, &reset, &memory(), &policy(), later).unwrap_err();
    waits_for(&refused, WaitFor::Running { names: strings(&["check"]) });
}

#[test]
fn f3_a_skipped_required_check_is_not_well_unless_listed() {
    let strict = Policy { skippable: strings(&["verify"]), ..policy() };
    let pr = with_check(run("site", 1, "skipped", 20));
    let decision = assess(&pr, &memory(), &strict, now());
    assert_eq!(decision, Decision::Rerun { run_ids: vec![100] });
    let why = steward_rules::engine::why::why(&pr, &memory(), &strict, now());
    assert_eq!(why[0].evidence[0].value, "skipped (github-actions)");
}

#[test]
fn f4_names_match_whole_and_by_app() {
    let without = |name: &str| {
        let mut pr = ready();
        pr.check_runs.items.retain(|run| run.check.name != name);
        pr
    };
    let absent = WaitFor::Absent { names: strings(&["check"]) };
    let mut by_status = without("check");
    by_status.statuses = Listing::whole([status("check", "success")]);
    waits_for(&decide(&by_status), absent.clone());
    let mut longer = without("check");
    longer.check_runs.items.push(run("check-extra", 1, "success", 20));
    waits_for(&decide(&longer), absent.clone());
    let mut other_app = without("check");
    let mut foreign = run("check", 1, "success", 20);
    foreign.check.app = "other-ci".to_owned();
    other_app.check_runs.items.push(foreign.clone());
    waits_for(&decide(&other_app), absent.clone());
    let mut other_head = without("check");
    other_head.check_runs.items.push(run_at(&old_head(), "check", 1, "success", 20));
    waits_for(&decide(&other_head), absent);
    // It still counts as another check.
    foreign.check.state = steward_rules::review::facts::CheckState::Ended("failure".to_owned());
    let mut both = ready();
    both.check_runs.items.push(foreign);
    waits_for(&decide(&both), WaitFor::OtherFailed { names: strings(&["check"]) });
    let ignoring = Policy { ignored_checks: strings(&["check"]), ..policy() };
    assert!(!is_merge(&assess(&both, &memory(), &ignoring, now())), "a required name is never exempt");
    // A failing status of the verdict's name blocks, too.
    let mut named = ready();
    named.statuses = Listing::whole([status("verify", "failure")]);
    waits_for(&decide(&named), WaitFor::OtherFailed { names: strings(&["verify"]) });
}
