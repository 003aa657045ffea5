//! Section 4.3: the verdict labels bound to the head, and the tries for a verdict.

use chrono::Duration;
use steward_rules::diff::RepoPath;
use steward_rules::engine::decision::*;
use steward_rules::engine::entries::EntryKey;
use steward_rules::engine::facts::*;
use steward_rules::engine::memory::{Memory, VerdictRetries};
use steward_rules::engine::merge::assess;
use steward_rules::engine::policy::{Policy, VerdictPolicy};
use steward_rules::engine::retry::{VerdictResult, verdicts_degraded};
use steward_rules::engine::verdict_label::{self, Unbound};
use steward_rules::reading::Reading;
use steward_rules::review::facts::CheckState;

use super::world::*;

fn verdict(change: impl FnOnce(&mut VerdictPolicy)) -> Policy {
    let mut policy = policy();
    change(policy.verdict.as_mut().unwrap());
    policy
}

#[track_caller]
fn unbound(pr: &PrObs, gap: Unbound) {
    waits_for(&decide(pr), WaitFor::Unbound(gap));
}

#[test]
fn a3_the_label_binds_by_the_run_not_by_an_event() {
    // The old head passed, the sweep moved it, the new head passed: the label never went away.
    let pr =
        with_verdict(&[run_at(&old_head(), "verify", 1, "success", 40), run("verify", 2, "success", 10)]);
    assert!(is_merge(&decide(&pr)));
}

#[test]
fn a4_a_verdict_of_another_head_that_came_later_rewrote_the_labels() {
    let with = |other: Run| with_verdict(&[run("verify", 2, "success", 10), other]);
    let at = |minutes| run_at(&old_head(), "verify", 1, "success", minutes);
    let late = |ended_at| Unbound::OtherHead { head: old_head(), ended_at };
    unbound(&with(at(9)), late(Some(minutes_ago(9))));
    unbound(&with(at(10)), late(Some(minutes_ago(10))));
    assert!(is_merge(&decide(&with(at(11)))));
    for word in ["failure", "cancelled", "neutral", "tomorrow"] {
        let other = run_at(&old_head(), "verify", 1, word, 9);
        unbound(&with(other), late(Some(minutes_ago(9))));
    }
    for word in ["queued", "in_progress"] {
        unbound(&with(run_at(&old_head(), "verify", 1, word, 90)), late(None));
    }
    let unknown = Run { ended_at: None, ..at(40) };
    unbound(&with(unknown), late(None));
    // A skipped one did nothing, and one of another app or workflow is no verdict.
    assert!(is_merge(&decide(&with(run_at(&old_head(), "verify", 1, "skipped", 9)))));
    assert!(is_merge(&decide(&with(Run { workflow: Some("other.yml".to_owned()), ..at(9) }))));
    let mut foreign = at(9);
    foreign.check.app = "other-ci".to_owned();
    assert!(is_merge(&decide(&with(foreign))));
    // The one that is told is the same, wherever it stands in the list.
    let mut two = with(at(9));
    two.verdict_runs.items.push(run_at(&sha(0xcccc), "verify", 1, "success", 8));
    unbound(&two, late(Some(minutes_ago(9))));
    two.verdict_runs.items.reverse();
    unbound(&two, late(Some(minutes_ago(9))));
    // A newer run of the head settles it.
    let newer = with_verdict(&[run("verify", 2, "success", 10), at(9), run("verify", 3, "success", 5)]);
    assert!(is_merge(&decide(&newer)));
}

#[test]
fn a5_a_skipped_run_hides_no_failed_one() {
    let pr = with_verdict(&[run("verify", 1, "failure", 20), run("verify", 2, "skipped", 5)]);
    assert_eq!(decide(&pr), Decision::RetryVerify { run: 900, n: 1 });
    let good = with_verdict(&[run("verify", 1, "success", 20), run("verify", 2, "skipped", 5)]);
    assert!(is_merge(&decide(&good)));
    let only = with_verdict(&[run("verify", 2, "skipped", 5)]);
    waits_for(&decide(&only), WaitFor::VerdictAbsent);
    // Where the job is no required check, its verdict is enough.
    let unlisted = Policy { required_checks: strings(&["check"]), ..policy() };
    assert!(is_merge(&assess(&good, &memory(), &unlisted, now())));
    // As a required check the newest run must be well, too.
    let strict = Policy { skippable: strings(&["site"]), ..policy() };
    waits_for(&assess(&good, &memory(), &strict, now()), WaitFor::Unbound(Unbound::SkippedLast));
}

#[test]
fn a6_no_verdict_is_asked_for_again_by_the_schedule_and_then_daily() {
    let red = |ended: i64| with_verdict(&[run("verify", 1, "failure", ended)]);
    let tried = |count: u32, minutes: i64| {
        let mut memory = memory();
        let retries = VerdictRetries { count, last_at: minutes_ago(minutes) };
        memory.verdict_retries.insert(head(), retries);
        memory
    };
    let step = |memory, ended| assess(&red(ended), &memory, &policy(), now());
    for (count, minutes) in [(0, 10), (1, 30), (2, 60), (3, 60)] {
        let due = step(tried(count, 600), minutes);
        assert_eq!(
            due,
            Decision::RetryVerify { run: 900, n: count + 1 },
            "counted from the end of the last one"
        );
        let early = step(tried(count, 600), minutes - 1);
        let at = Some(now() + Duration::minutes(1));
        assert_eq!(waits(&early), (WaitFor::VerdictRetry { n: count + 1 }, at));
        // Asked for, and its run is not shown yet.
        let asked = step(tried(count, minutes - 1), 900);
        assert_eq!(waits(&asked), (WaitFor::VerdictRetry { n: count + 1 }, at));
    }
    let day = 24 * 60;
    let next_at = now() + Duration::minutes(1);
    let listed_only = listed(&step(tried(4, 2 * day), day - 1));
    assert_eq!(listed_only, Listed::NoVerdict { tries: 4, next_at });
    assert_eq!(step(tried(4, 2 * day), day), Decision::RetryVerify { run: 900, n: 5 });
    // Another head begins anew.
    let mut other = memory();
    let retries = VerdictRetries { count: 4, last_at: minutes_ago(11) };
    other.verdict_retries.insert(old_head(), retries);
    assert_eq!(step(other, 11), Decision::RetryVerify { run: 900, n: 1 });
}

#[test]
fn where_two_runs_may_be_the_newest_the_labels_must_speak_of_either() {
    let mut second = run("verify", 1, "success", 5);
    second.check.id = 9;
    second.check.started_at = None;
    let pr = |second: &Run| with_verdict(&[run("verify", 2, "success", 10), second.clone()]);
    assert!(is_merge(&decide(&pr(&second))));
    let unended = Run { ended_at: None, ..second.clone() };
    unbound(&pr(&unended), Unbound::EndUnknown);
    let mut early = pr(&second);
    early.labels_read_at = minutes_ago(7);
    unbound(&early, Unbound::ReadBefore { ended_at: minutes_ago(5) });
    let other = |minutes| {
        let mut pr = pr(&second);
        pr.verdict_runs.items.push(run_at(&old_head(), "verify", 1, "success", minutes));
        pr
    };
    unbound(&other(7), Unbound::OtherHead { head: old_head(), ended_at: Some(minutes_ago(7)) });
    assert!(is_merge(&decide(&other(11))));
    // A flag is acted on only when nothing else is in doubt.
    let mut flagged = pr(&unended);
    flagged.labels = labels(&["ai-flagged"]);
    unbound(&flagged, Unbound::EndUnknown);
}

#[test]
fn only_success_is_a_verdict() {
    for word in ["failure", "neutral", "cancelled", "timed_out", "action_required", "stale", "tomorrow"] {
        assert_eq!(
            decide(&with_verdict(&[run("verify", 1, word, 20)])),
            Decision::RetryVerify { run: 900, n: 1 },
            "{word}"
        );
    }
    for word in ["queued", "in_progress"] {
        let newer = with_verdict(&[run("verify", 1, "success", 20), run("verify", 2, word, 5)]);
        waits_for(&decide(&newer), WaitFor::VerdictRunning);
    }
    let unended = Run { ended_at: None, ..run("verify", 1, "success", 10) };
    unbound(&with_verdict(&[unended]), Unbound::EndUnknown);
}

#[test]
fn f4_the_verdict_is_of_the_right_app_workflow_and_head() {
    let other = |change: fn(&mut Run)| {
        let mut run = run("verify", 1, "success", 10);
        change(&mut run);
        decide(&with_verdict(&[run]))
    };
    waits_for(&other(|run| run.check.app = "other-ci".to_owned()), WaitFor::VerdictAbsent);
    waits_for(&other(|run| run.check.name = "verify-extra".to_owned()), WaitFor::VerdictAbsent);
    waits_for(&other(|run| run.workflow = Some("mine.yml".to_owned())), WaitFor::VerdictAbsent);
    waits_for(&other(|run| run.workflow = None), WaitFor::VerdictAbsent);
    waits_for(&other(|run| run.head = old_head()), WaitFor::VerdictAbsent);
    // One of the same name that another workflow made still counts as another check.
    let mut pr = ready();
    pr.check_runs.items.push(Run { workflow: Some("mine.yml".to_owned()), ..run("verify", 2, "failure", 5) });
    waits_for(&decide(&pr), WaitFor::OtherFailed { names: strings(&["verify"]) });
}

#[test]
fn a7_both_labels_or_none_wait() {
    let mut pr = ready();
    let with = |pr: &mut PrObs, list: &[&str]| pr.labels = labels(list);
    with(&mut pr, &["ai-verified", "ai-flagged"]);
    unbound(&pr, Unbound::BothLabels);
    with(&mut pr, &["data"]);
    unbound(&pr, Unbound::PassAbsent);
    with(&mut pr, &["AI-Verified"]);
    assert!(is_merge(&decide(&pr)), "labels have no case on GitHub");
    with(&mut pr, &["ai-verified-not"]);
    unbound(&pr, Unbound::PassAbsent);
}

#[test]
fn labels_count_only_when_read_after_the_verdict() {
    let mut pr = ready();
    for (seconds, merges) in [(-1, false), (0, false), (1, true)] {
        pr.labels_read_at = minutes_ago(10) + Duration::seconds(seconds);
        assert_eq!(is_merge(&decide(&pr)), merges, "{seconds} s");
    }
    pr.labels_read_at = minutes_ago(11);
    unbound(&pr, Unbound::ReadBefore { ended_at: minutes_ago(10) });
}

#[test]
fn a_person_who_put_the_pass_label_on_after_the_verdict_does_not_count() {
    let event = |label: &str, login: &str, minutes| Labelled {
        label: label.to_owned(),
        actor: account(5, login),
        at: minutes_ago(minutes),
    };
    let with = |event: Labelled| PrObs { labelled: Reading::known(vec![event]), ..ready() };
    let by_ann = |minutes| with(event("AI-verified", "ann", minutes));
    for minutes in [10, 9] {
        unbound(&by_ann(minutes), Unbound::PutOnBy { login: "ann".to_owned(), at: minutes_ago(minutes) });
    }
    let both = Reading::known(vec![event("ai-verified", "bob", 5), event("ai-verified", "ann", 7)]);
    let newest = Unbound::PutOnBy { login: "bob".to_owned(), at: minutes_ago(5) };
    unbound(&PrObs { labelled: both, ..ready() }, newest);
    assert!(is_merge(&decide(&by_ann(11))), "before the verdict: the job decided after it");
    assert!(is_merge(&decide(&with(event("ai-verified", "GitHub-Actions[bot]", 9)))));
    assert!(is_merge(&decide(&with(event("data", "ann", 9)))));
    unbound(
        &with(event("ai-verified", "other[bot]", 9)),
        Unbound::PutOnBy { login: "other[bot]".to_owned(), at: minutes_ago(9) },
    );
    let trusting = verdict(|verdict| verdict.human_label_counts = true);
    assert!(is_merge(&assess(&by_ann(9), &memory(), &trusting, now())));
}

#[test]
fn a_flag_of_this_heads_verdict_is_fixed() {
    let flagged = || PrObs { labels: labels(&["data", "bot-intake", "ai-flagged"]), ..ready() };
    let place = Place::Own { branch: "intake/issue-9".to_owned() };
    assert_eq!(decide(&flagged()), Decision::Fix { what: Fix::Flag, place });
    // A flag that is not this head's is not.
    let mut old = flagged();
    old.verdict_runs.items.push(run_at(&old_head(), "verify", 1, "success", 5));
    assert_eq!(decide(&old).slug(), "wait");
    old.verdict_runs = Listing::whole([]);
    old.check_runs.items.retain(|run| run.check.name != "verify");
    waits_for(&decide(&old), WaitFor::VerdictAbsent);
    let unread = PrObs { flag: unread(), ..flagged() };
    waits_for(&decide(&unread), WaitFor::Incomplete(vec![Missing::FlagFindings]));
    assert!(is_merge(&decide(&PrObs { flag: super::world::unread(), ..ready() })), "no flag, no findings");
}

#[test]
fn a30_a_flag_about_what_the_change_does_not_touch_is_listed() {
    let finding = |entry: Option<&str>, path: Option<&str>| FlagFinding {
        entry: entry.map(|id| EntryKey::new("works", id)),
        path: path.map(RepoPath::from),
    };
    let flagged = |findings: &[FlagFinding]| {
        let pr =
            PrObs { labels: labels(&["ai-flagged"]), flag: Reading::known(findings.to_vec()), ..ready() };
        matches!(decide(&pr), Decision::ListOnly(Listed::FlagElsewhere))
    };
    // The change touches the entry w0 in data/works/a.json.
    assert!(flagged(&[finding(Some("w7"), None), finding(None, Some("data/works/z.json"))]));
    assert!(flagged(&[finding(Some("w7"), Some("data/works/a.json"))]), "another member of the same file");
    assert!(!flagged(&[finding(Some("w7"), None), finding(Some("w0"), None)]));
    assert!(!flagged(&[finding(None, Some("data/works/a.json"))]));
    assert!(!flagged(&[finding(None, None)]), "it may be about anything");
    let mut renamed = PrObs { labels: labels(&["ai-flagged"]), ..ready() };
    renamed.files.items[0].old_path = Some(RepoPath::from("data/works/old.json"));
    renamed.flag = Reading::known(vec![finding(None, Some("data/works/old.json"))]);
    assert_eq!(decide(&renamed).slug(), "fix", "both sides of a rename are touched");
    assert!(!flagged(&[]));
}

#[test]
fn a_head_without_any_verdict_run_is_listed_after_six_hours_and_asked_for_daily() {
    // The job was skipped: there is a run to be run again, and no verdict.
    let skipped = with_verdict(&[run("verify", 1, "skipped", 600)]);
    let at = |pr: &PrObs, hours: i64, tried: Option<(u32, i64)>| {
        let mut memory = seen_for(Duration::hours(hours));
        if let Some((count, hours)) = tried {
            let retries = VerdictRetries { count, last_at: now() - Duration::hours(hours) };
            memory.verdict_retries.insert(head(), retries);
        }
        assess(pr, &memory, &policy(), now())
    };
    waits_for(&at(&skipped, 5, None), WaitFor::VerdictAbsent);
    let next_at = now() + Duration::hours(24);
    assert_eq!(listed(&at(&skipped, 6, None)), Listed::NoVerdict { tries: 0, next_at });
    assert_eq!(at(&skipped, 30, None), Decision::RetryVerify { run: 900, n: 1 });
    assert_eq!(
        listed(&at(&skipped, 90, Some((1, 23)))).clone(),
        Listed::NoVerdict { tries: 1, next_at: now() + Duration::hours(1) }
    );
    assert_eq!(at(&skipped, 90, Some((1, 24))), Decision::RetryVerify { run: 900, n: 2 });
    // One that was tried before it was listed.
    let next_at = now() + Duration::hours(23);
    assert_eq!(listed(&at(&skipped, 7, Some((1, 6)))), Listed::NoVerdict { tries: 1, next_at });
}

#[test]
fn labels_that_do_not_come_right_by_themselves_are_listed() {
    let mut both = ready();
    both.labels = labels(&["data", "ai-verified", "ai-flagged"]);
    let at = |pr: &PrObs, hours: i64| assess(pr, &seen_for(Duration::hours(hours)), &policy(), now());
    waits_for(&at(&both, 300), WaitFor::Unbound(Unbound::BothLabels));
    let given = |pr: &PrObs, minutes: i64| {
        let mut pr = pr.clone();
        pr.check_runs.items.retain(|run| run.check.name != "verify");
        pr.verdict_runs = Listing::whole([run("verify", 1, "success", minutes)]);
        pr
    };
    waits_for(&at(&given(&both, 359), 300), WaitFor::Unbound(Unbound::BothLabels));
    assert_eq!(listed(&at(&given(&both, 360), 300)), Listed::Unbound(Unbound::BothLabels));
    waits_for(&at(&given(&both, 360), 5), WaitFor::Unbound(Unbound::BothLabels));
    // A late run of an older head, as in A4.
    let mut late = given(&ready(), 400);
    late.verdict_runs.items.push(run_at(&old_head(), "verify", 1, "success", 390));
    assert!(matches!(listed(&at(&late, 300)), Listed::Unbound(Unbound::OtherHead { .. })));
    assert!(is_merge(&at(&given(&ready(), 400), 300)), "what is bound merges however old it is");
}

#[test]
fn where_no_run_can_be_run_again_for_a_verdict_it_is_listed_and_nothing_is_asked_for() {
    let at = |pr: &PrObs, hours: i64| assess(pr, &seen_for(Duration::hours(hours)), &policy(), now());
    let never = with_verdict(&[]);
    waits_for(&at(&never, 5), WaitFor::VerdictAbsent);
    let unnumbered = |word: &str| Run { workflow_run: None, ..run("verify", 1, word, 600) };
    let other = Run { workflow: Some("other.yml".to_owned()), ..run("verify", 1, "skipped", 600) };
    for pr in [
        never,
        with_verdict(&[unnumbered("skipped")]),
        with_verdict(&[other]),
        with_verdict(&[run_at(&old_head(), "verify", 1, "skipped", 600)]),
    ] {
        for hours in [6, 30, 300] {
            assert_eq!(listed(&at(&pr, hours)), Listed::NoVerdictRun);
        }
    }
    // GitHub said that it does not run it again.
    let dead = |run: u64, word: &str| {
        let memory = Memory { dead_runs: [run].into(), ..seen_for(Duration::hours(30)) };
        assess(&with_verdict(&[self::run("verify", 1, word, 600)]), &memory, &policy(), now())
    };
    for word in ["skipped", "failure"] {
        assert_eq!(listed(&dead(900, word)), Listed::NoVerdictRun);
        assert_eq!(dead(901, word), Decision::RetryVerify { run: 900, n: 1 });
    }
    // One that failed and says no workflow run, which only another app would make.
    assert_eq!(listed(&at(&with_verdict(&[unnumbered("failure")]), 1)), Listed::NoVerdictRun);
}

#[test]
fn the_failed_run_is_run_again_and_not_a_later_one_that_did_nothing() {
    let failed = Run { workflow_run: Some(7), ..run("verify", 1, "failure", 20) };
    let skipped = Run { workflow_run: Some(8), ..run("verify", 2, "skipped", 5) };
    assert_eq!(decide(&with_verdict(&[failed, skipped])), Decision::RetryVerify { run: 7, n: 1 });
}

#[test]
fn three_tries_of_one_pull_request_are_three_results_and_what_came_to_nothing_is_none() {
    let verdicts = policy().verdict.unwrap();
    let of = |runs: &[Run]| verdict_label::results(&with_verdict(runs), &policy(), &verdicts);
    let result = |minutes, given| VerdictResult { at: minutes_ago(minutes), given };
    let retried =
        [run("verify", 1, "failure", 30), run("verify", 2, "timed_out", 20), run("verify", 3, "failure", 5)];
    assert_eq!(of(&retried), [result(30, false), result(20, false), result(5, false)]);
    assert!(verdicts_degraded(&of(&retried), None));
    // One of an older head counts as well, and one that is listed twice once.
    let older = run_at(&old_head(), "verify", 4, "success", 90);
    assert_eq!(of(&[older.clone(), older]), [result(90, true)]);
    let stranger = Run { workflow: Some("other.yml".to_owned()), ..run("verify", 5, "failure", 5) };
    for nothing in [
        run("verify", 1, "skipped", 5),
        run("verify", 1, "cancelled", 5),
        run("verify", 1, "in_progress", 5),
        Run { ended_at: None, ..run("verify", 1, "failure", 5) },
        run("check", 1, "failure", 5),
        stranger,
    ] {
        assert_eq!(of(std::slice::from_ref(&nothing)), [], "{nothing:?}");
    }
}

#[test]
fn the_order_of_the_gate_is_the_order_of_its_steps() {
    // Everything is wrong at once; taking away one cause after the other shows the next.
    let mut pr = behind(with_check(run("check", 1, "failure", 20)), 2);
    pr.verdict_runs = Listing::whole([run("verify", 1, "failure", 20)]);
    pr.check_runs.items.retain(|run| run.check.name != "verify");
    pr.check_runs.items.push(Run { workflow_run: Some(3), ..run("slow", 1, "queued", 1) });
    pr.check_runs.items.push(Run { workflow_run: Some(4), ..run("lint", 1, "failure", 1) });
    pr.reviews = Listing::whole([review(&account(1, "ann"), ReviewState::ChangesRequested, 5)]);
    pr.labels = labels(&["bot-intake"]);
    let mut memory = memory();
    memory.behind_since = Some(minutes_ago(1));
    memory.unprocessable = 3;
    let step = |pr: &PrObs, memory: &_| assess(pr, memory, &policy(), now());
    waits_for(&step(&pr, &memory), WaitFor::Sweep { behind_by: 2 });
    pr.compare = ready().compare;
    assert_eq!(step(&pr, &memory), Decision::Rerun { run_ids: vec![100] });
    set(&mut pr, "check", "success");
    assert_eq!(step(&pr, &memory), Decision::RetryVerify { run: 900, n: 1 });
    pr.verdict_runs = ready().verdict_runs;
    pr.labels = labels(&["bot-intake", "ai-flagged"]);
    assert!(matches!(step(&pr, &memory), Decision::Fix { what: Fix::Flag, .. }));
    pr.labels = labels(&["bot-intake"]);
    pr = behind(pr, 1);
    waits_for(&step(&pr, &memory), WaitFor::Sweep { behind_by: 1 });
    pr.compare = ready().compare;
    waits_for(&step(&pr, &memory), WaitFor::Running { names: strings(&["slow"]) });
    set(&mut pr, "slow", "success");
    waits_for(&step(&pr, &memory), WaitFor::OtherFailed { names: strings(&["lint"]) });
    set(&mut pr, "lint", "success");
    waits_for(&step(&pr, &memory), WaitFor::ChangesRequested { by: strings(&["ann"]) });
    pr.reviews = Listing::whole([]);
    unbound_with(&pr, &memory, Unbound::PassAbsent);
    pr.labels = labels(&["ai-verified"]);
    assert_eq!(listed(&step(&pr, &memory)), Listed::Unprocessable { times: 3 });
    memory.unprocessable = 0;
    assert!(is_merge(&step(&pr, &memory)));
}

#[track_caller]
fn unbound_with(pr: &PrObs, memory: &steward_rules::engine::memory::Memory, gap: Unbound) {
    waits_for(&assess(pr, memory, &policy(), now()), WaitFor::Unbound(gap));
}

fn set(pr: &mut PrObs, name: &str, word: &str) {
    for run in &mut pr.check_runs.items {
        if run.check.name == name {
            run.check.state = CheckState::Ended(word.to_owned());
        }
    }
}

#[test]
fn a_run_of_the_verdict_job_that_only_the_head_lists_counts_too() {
    let mut pr = ready();
    pr.check_runs.items.retain(|run| run.check.name != "verify");
    pr.check_runs.items.push(run("verify", 2, "in_progress", 1));
    waits_for(&decide(&pr), WaitFor::VerdictRunning);
}
