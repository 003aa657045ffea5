//! Sections 5, 6 and 14: the ladder, its schedules, holds and starts, and what replies mean.

use std::collections::BTreeMap;

use chrono::{Duration, NaiveDate};
use rstest::rstest;
use steward_rules::engine::decision::{Decision, Place};
use steward_rules::engine::entries::{Blob, EntryDiff, EntryKey, count};
use steward_rules::engine::facts::{FlagFinding, PrObs};
use steward_rules::engine::hold::*;
use steward_rules::engine::ladder::*;
use steward_rules::engine::merge::assess;
use steward_rules::engine::policy::{EntriesPolicy, FixScope, Policy, PushPolicy, SweepBy, Unit};
use steward_rules::engine::reply::*;
use steward_rules::engine::retry::*;
use steward_rules::ids::PullNumber;
use steward_rules::reading::Reading;
use steward_rules::review::facts::PullState;
use steward_rules::secret::Engine;
use steward_rules::secret::plant::{Kind, plant};

use super::world::*;

#[test]
fn steward_pushes_to_its_own_globs_only_and_never_to_the_base() {
    let may = |branch: &str| may_push(branch, &policy());
    for yes in ["intake/issue-9", "steward/pr-1", "steward/issue-2"] {
        assert!(may(yes), "{yes}");
    }
    for no in ["main", "intake/9", "steward", "steward/a/b", "my/steward/x", "intake/issue-9/x", "feature"] {
        assert!(!may(no), "{no}");
    }
    let wide = Policy { push: PushPolicy { allowed: strings(&["**"]), ..policy().push }, ..policy() };
    assert!(!may_push("main", &wide));
    let own = Place::Own { branch: "intake/issue-9".to_owned() };
    assert_eq!(place(&ready(), &policy()), Some(own));
    // A branch of that name in another repository is not ours.
    let mut fork = ready();
    fork.head.repo = Some(8);
    let superseding = Place::Supersede { branch: "steward/pr-12".to_owned() };
    assert_eq!(place(&fork, &policy()), Some(superseding));
    assert_eq!(superseded("steward/pr-12"), Some(PullNumber(12)));
    for other in ["steward/pr-", "steward/pr-12/x", "steward/issue-12", "x/steward/pr-12"] {
        assert_eq!(superseded(other), None, "{other}");
    }
}

#[test]
fn a_sweep_covers_what_has_its_label_when_somebody_sweeps() {
    let with = |by| Policy { push: PushPolicy { sweep_by: by, ..policy().push }, ..policy() };
    let label = strings(&["x", "Bot-Intake"]);
    for by in [SweepBy::Workflow, SweepBy::Steward] {
        assert!(is_swept(&label, &with(by)));
        assert!(!is_swept(&strings(&["x"]), &with(by)));
    }
    assert!(!is_swept(&label, &with(SweepBy::Nobody)));
}

#[test]
fn a10_the_evidence_is_the_end_of_the_log_bound_and_redacted() {
    let log: String = (0..500).map(|n| format!("line {n}\n")).collect();
    let evidence = log_evidence("check", Some(&log));
    let excerpt = evidence.excerpt.unwrap();
    assert_eq!(
        (excerpt.lines().count(), excerpt.lines().next(), excerpt.lines().last()),
        (200, Some("line 300"), Some("line 499"))
    );
    assert!(evidence.is_cut);
    let short = log_evidence("check", Some("one\ntwo"));
    assert_eq!((short.excerpt.as_deref(), short.is_cut), (Some("one\ntwo"), false));
    let exactly: String = (0..200).map(|n| format!("{n}\n")).collect();
    assert!(!log_evidence("check", Some(&exactly)).is_cut);
    assert!(log_evidence("check", Some(&format!("{exactly}more\n"))).is_cut);
    let long = log_evidence("check", Some(&"ä".repeat(30_000)));
    assert!(long.excerpt.as_ref().is_some_and(|text| text.len() <= LOG_BYTES && text.len() > LOG_BYTES - 4));
    assert!(long.is_cut);
    let rule = Engine::shared().rules().iter().find(|rule| rule.id == "github-pat").unwrap();
    let secret = plant(rule, Kind::Secret, 7).unwrap().secret;
    let leaked = log_evidence("check", Some(&format!("token {secret} is wrong")));
    assert!(!leaked.excerpt.unwrap().contains(&secret));
}

#[test]
fn a11_a_log_that_cannot_be_read_leaves_the_name_of_the_check() {
    assert_eq!(
        log_evidence("site", None),
        LogEvidence { check: "site".to_owned(), excerpt: None, is_cut: false }
    );
}

#[test]
fn a22_more_than_25_entries_of_our_own_are_a_batch_import() {
    let keys = |n: usize| (0..n).map(|n| EntryKey::new("works", format!("w{n}"))).collect();
    let change = |n| EntryDiff { added: keys(n), ..EntryDiff::default() };
    assert_eq!(own_size(&change(25), None, &policy()), Ok(()));
    assert_eq!(own_size(&change(26), None, &policy()), Err(TooMuch::Entries { touched: 26, cap: 25 }));
    let pull = change(2);
    assert_eq!(own_size(&change(2), Some(&pull), &policy()), Ok(()));
    let beyond = TooMuch::Beyond { entries: vec![EntryKey::new("works", "w2")] };
    assert_eq!(own_size(&change(3), Some(&pull), &policy()), Err(beyond));
    let cap_only = Policy { fix_scope: FixScope::Cap, ..policy() };
    assert_eq!(own_size(&change(3), Some(&pull), &cap_only), Ok(()));
    assert!(own_size(&change(26), Some(&pull), &cap_only).is_err());
}

fn edits(unit: Unit, from: &[(&str, &str)], to: &[(&str, &str)]) -> EntryDiff {
    let entries = EntriesPolicy { unit, globs: strings(&["data/**"]), root: "data".to_owned() };
    let blobs = |files: &[(&str, &str)]| -> Vec<Blob> {
        let blob =
            |(path, text): &(&str, &str)| Blob { path: (*path).into(), bytes: text.as_bytes().to_vec() };
        files.iter().map(blob).collect()
    };
    count(&entries, &blobs(from), &blobs(to)).unwrap()
}

#[rstest]
#[case::documents(Unit::YamlDocs, "a: 1\n---\nb: 1\n", "a: 2\n---\nb: 1\n", "a: 3\n---\nb: 1\n")]
#[case::lines(Unit::Lines(20), "a\nb\n", "x\nb\n", "y\nb\n")]
#[case::one_line(Unit::Lines(1), "a\nb\n", "x\nb\n", "y\nz\n")]
#[case::rows_that_begin_alike(Unit::CsvRows, "k,1\nk,2\n", "k,1\nk,3\n", "k,1\nk,4\n")]
#[case::one_of_two_rows(Unit::CsvRows, "k,1\nk,2\n", "k,1\nk,3\n", "k,1\n")]
#[case::a_row_beside_one(Unit::CsvRows, "k,1\nk,2\nl,1\n", "k,1\nk,3\nl,1\n", "k,1\nk,4\nl,2\n")]
fn a_fix_of_what_has_no_name_stays_in_the_files_of_the_pull_request(
    #[case] unit: Unit,
    #[case] base: &str,
    #[case] head: &str,
    #[case] fixed: &str,
) {
    let at = |text: &'static str| ("data/b.txt", text);
    let pull = edits(unit, &[("data/a.txt", base)], &[("data/a.txt", head)]);
    let fix = edits(unit, &[("data/a.txt", head)], &[("data/a.txt", fixed)]);
    assert_eq!(own_size(&fix, Some(&pull), &policy()), Ok(()));
    let strayed = edits(
        unit,
        &[("data/a.txt", head), at("m,1\nm,2\n---\nn\n")],
        &[("data/a.txt", fixed), at("m,1\nm,9\n---\nn\n")],
    );
    let beyond = TooMuch::Beyond { entries: vec![EntryKey::new("file", "data/b.txt")] };
    assert_eq!(own_size(&strayed, Some(&pull), &policy()), Err(beyond));
    let named = edits(unit, &[("README.md", "a")], &[("README.md", "b")]);
    let beyond = TooMuch::Beyond { entries: vec![EntryKey::new("file", "README.md")] };
    assert_eq!(own_size(&named, Some(&pull), &policy()), Err(beyond), "what has a name goes by it");
    // A flag that names a piece of such a file is about the change, and one of another file is not.
    let flagged = |family: &str| FlagFinding { entry: Some(EntryKey::new(family, "a: 2")), path: None };
    let pr = PrObs { entries: Reading::known(pull), ..ready() };
    assert!(!is_elsewhere(&pr, &[flagged("data/a.txt")]));
    assert!(is_elsewhere(&pr, &[flagged("data/b.txt")]));
}

#[rstest]
#[case::pushed(TaskEnd::Pushed, true)]
#[case::answered(TaskEnd::Answered, true)]
#[case::a21_no_change(TaskEnd::NoChange, true)]
#[case::a21_refused(TaskEnd::Refused, true)]
#[case::a34_bad_answer(TaskEnd::BadAnswer, true)]
#[case::timeout(TaskEnd::Timeout, true)]
#[case::turn_limit(TaskEnd::TurnLimit, true)]
#[case::crashed(TaskEnd::Crashed, true)]
#[case::a32_usage_limit(TaskEnd::UsageLimit, false)]
#[case::preempted(TaskEnd::Preempted, false)]
#[case::a41_killed(TaskEnd::Killed, false)]
#[case::a20_lease_rejected(TaskEnd::LeaseRejected, false)]
#[case::push_refused(TaskEnd::PushRefused, false)]
#[case::boundary_lost(TaskEnd::BoundaryLost, false)]
#[case::forge_failed(TaskEnd::ForgeFailed, false)]
#[case::pull_closed(TaskEnd::PullClosed, false)]
#[case::not_started(TaskEnd::NotStarted, false)]
fn what_spends_an_attempt(#[case] end: TaskEnd, #[case] spends: bool) {
    assert_eq!(end.spends(), spends);
    let before = Attempts { spent: 1, next_at: Some(now()), ..Attempts::default() };
    let after = before.after(end, &policy().retry, 0.0, now());
    assert_eq!(after.spent, if spends { 2 } else { 1 });
    assert_eq!(after.next_at, Some(if spends { now() + Duration::hours(4) } else { now() }));
    assert_eq!(end.is_config_fault(), end == TaskEnd::PushRefused);
}

#[test]
fn a23_attempts_back_off_and_never_end() {
    let mut attempts = Attempts::default();
    let mut clock = now();
    for (hours, stuck) in [(1, false), (4, false), (12, true), (24, true), (24, true), (24, true)] {
        attempts = attempts.after(TaskEnd::Crashed, &policy().retry, 0.0, clock);
        assert_eq!(attempts.next_at, Some(clock + Duration::hours(hours)));
        assert_eq!(attempts.is_stuck(&policy().retry), stuck);
        clock = attempts.next_at.unwrap();
    }
    assert_eq!(backoff(&policy().retry, 0), Duration::zero());
    let bare = steward_rules::engine::policy::RetryPolicy { backoff: vec![], stuck_after: 3 };
    assert_eq!(backoff(&bare, 1), Duration::hours(24));
}

#[test]
fn an_attempt_that_a_clock_which_was_ahead_put_off_is_due() {
    let waits = |policy: &steward_rules::engine::policy::RetryPolicy, left: Duration| {
        let attempts = Attempts { spent: 1, next_at: Some(now() + left), ..Attempts::default() };
        attempts.waits_until(policy, now()).is_some()
    };
    let longest = spread(Duration::hours(24), 1.0);
    let bare = steward_rules::engine::policy::RetryPolicy { backoff: vec![], stuck_after: 3 };
    for policy in [&policy().retry, &bare] {
        assert!(waits(policy, longest) && waits(policy, Duration::seconds(1)));
        assert!(!waits(policy, longest + Duration::seconds(1)), "longer than any delay");
        assert!(!waits(policy, Duration::zero()) && !waits(policy, Duration::hours(-1)));
    }
    assert_eq!(Attempts::default().waits_until(&bare, now()), None);
}

#[test]
fn jitter_makes_a_delay_up_to_five_percent_longer() {
    let hour = Duration::hours(1);
    assert_eq!(spread(hour, 0.0), hour);
    assert_eq!(spread(hour, 1.0), Duration::minutes(63));
    assert_eq!(spread(hour, 7.0), Duration::minutes(63));
    assert_eq!(spread(hour, -1.0), hour);
    assert_eq!(spread(hour, f64::NAN), hour);
}

#[test]
fn news_wakes_an_item_once_a_day_and_counts_on() {
    let evidence = |prints: &[&str]| News::Evidence(prints.iter().map(|one| (*one).to_owned()).collect());
    let resting = Attempts {
        spent: 4,
        next_at: Some(now() + Duration::hours(20)),
        prints: ["a".to_owned(), "b".to_owned()].into(),
        woken_on: None,
    };
    let woken = resting.wake(&evidence(&["c"]), now());
    assert_eq!((woken.next_at, woken.spent), (Some(now()), 4));
    assert_eq!(woken.woken_on, NaiveDate::from_ymd_opt(2026, 11, 30));
    for same in [&["a", "b"][..], &["b"], &[]] {
        assert_eq!(resting.wake(&evidence(same), now()), resting, "{same:?} is nothing new");
    }
    assert_eq!(
        resting.wake(&evidence(&["a", "c"]), now()),
        woken,
        "another check fails beside the known one"
    );
    assert_eq!(resting.wake(&News::ForeignPush, now()).next_at, Some(now()));
    assert_eq!(resting.wake(&News::Word, now()).next_at, Some(now()));
    let again = Attempts { next_at: Some(now() + Duration::hours(9)), ..woken };
    assert!(resting.may_wake(now()) && !again.may_wake(now()));
    assert_eq!(again.wake(&evidence(&["c"]), now()), again, "at most once a UTC day");
    assert_eq!(again.wake(&News::ForeignPush, now()), again, "whatever it was");
    let tomorrow = now() + Duration::hours(12);
    let next = Attempts { next_at: Some(tomorrow + Duration::hours(9)), ..again };
    assert_eq!(next.wake(&evidence(&["c"]), tomorrow).next_at, Some(tomorrow));
    let due = Attempts { next_at: Some(now()), ..resting.clone() };
    assert_eq!(due.wake(&evidence(&["c"]), now()), due, "it is due anyway");
}

#[test]
fn attempts_that_were_kept_without_fingerprints_can_be_read() {
    let kept = r#"{"spent":2,"next_at":null,"evidence":"abc def","woken_on":null}"#;
    let read: Attempts = serde_json::from_str(kept).unwrap();
    assert_eq!(read, Attempts { spent: 2, ..Attempts::default() });
}

#[test]
fn three_results_in_a_row_without_a_verdict_are_degraded_until_one_success() {
    let all = |words: &[bool]| -> Vec<VerdictResult> {
        let at = |n: usize| minutes_ago(100 - n as i64);
        words.iter().enumerate().map(|(n, given)| VerdictResult { at: at(n), given: *given }).collect()
    };
    assert!(verdicts_degraded(&all(&[true, false, false, false]), None));
    for fine in [
        &[][..],
        &[false, false],
        &[false, false, true],
        &[false, true, false, false],
        &[false, false, false, true, false],
    ] {
        assert!(!verdicts_degraded(&all(fine), None), "{fine:?}");
    }
    // In whatever order they are listed.
    let mut backwards = all(&[true, false, false, false]);
    backwards.reverse();
    assert!(verdicts_degraded(&backwards, None));
    // The success was of one that merged, and is not listed any more.
    assert!(!verdicts_degraded(&all(&[false, false, false]), Some(minutes_ago(98))));
    assert!(!verdicts_degraded(&all(&[false, false, false, false]), Some(minutes_ago(99))));
    assert!(verdicts_degraded(&all(&[false, false, false]), Some(minutes_ago(101))));
}

#[test]
fn the_further_breakers() {
    let print = |text: &str| text.to_owned();
    let shared = [(1, print("a")), (2, print("b")), (3, print("a")), (3, print("a")), (9, print("a"))];
    let one =
        |first, items: &[i64]| Incident { print: print("a"), first, items: items.iter().copied().collect() };
    let none = BTreeMap::new();
    assert_eq!(incidents(&shared, &none), [one(1, &[1, 3, 9])]);
    assert_eq!(incidents(&shared[..4], &none), []);
    // Its first goes on: the others are held however few they are, and it stays the first.
    let begun = BTreeMap::from([(print("a"), 5)]);
    assert_eq!(incidents(&shared, &begun), [one(5, &[1, 3, 5, 9])]);
    assert_eq!(incidents(&shared[..1], &begun), [one(5, &[1, 5])]);
    assert_eq!(incidents(&shared[1..2], &begun), [], "another failure");
    assert_eq!(incidents(&[], &begun), [], "nothing is held by it");
    assert_eq!(incidents(&shared[..3], &BTreeMap::from([(print("a"), 3)])), [one(3, &[1, 3])]);
    let reset = now() + Duration::hours(3);
    assert_eq!(limit_until(Some(reset), now()), reset);
    assert_eq!(limit_until(None, now()), now() + Duration::hours(1));
    assert_eq!(limit_until(Some(minutes_ago(1)), now()), now() + Duration::hours(1));
}

#[test]
fn a24_a_hold_ends_with_its_task_or_after_half_an_hour() {
    let hold = Hold { pull: PullNumber(3), since: now() };
    let at = |minutes| now() + Duration::minutes(minutes);
    assert_eq!(after(hold, HeldTask::Waits, at(29)), Some(hold));
    assert_eq!(after(hold, HeldTask::Waits, at(30)), None);
    for ended in [HeldTask::Started, HeldTask::Gone] {
        assert_eq!(after(hold, ended, at(1)), None);
    }
    let back = at(-60);
    assert_eq!(after(hold, HeldTask::Waits, back), Some(Hold { since: back, ..hold }), "the clock went back");
    assert_eq!(deferred(Some(hold), PullNumber(4), at(5)), hold, "the first one stays");
    assert_eq!(deferred(None, PullNumber(4), at(5)), Hold { pull: PullNumber(4), since: at(5) });
    let merging = |merged_this_tick| Merging { merged_this_tick, ..Merging::default() };
    assert!(defers(&merging(true), true));
    assert!(!defers(&merging(true), false) && !defers(&merging(false), true));
    assert_eq!(held(&Merging::default(), now()), None);
    let both = Merging { hold: Some(hold), running: Some(PullNumber(5)), merged_this_tick: false };
    assert_eq!(held(&both, now()), Some(Held::Running { pull: PullNumber(5) }));
}

#[test]
fn after_a_round_that_merged_four_ticks_come_sooner() {
    let ten = Duration::minutes(10);
    let mut left = 0;
    let mut waits = Vec::new();
    for merged in [false, true, false, false, false, false, false] {
        let (wait, after) = cadence(ten, left, merged);
        waits.push(wait.num_minutes());
        left = after;
    }
    assert_eq!(waits, [10, 3, 3, 3, 3, 10, 10]);
    assert_eq!(cadence(Duration::minutes(1), 2, false), (Duration::minutes(1), 1), "never slower");
    assert!(takes_run(Round::Idle) && !takes_run(Round::Queued) && !takes_run(Round::Active));
}

#[test]
fn an_agent_starts_only_when_nothing_speaks_against_it() {
    let start = || Start {
        boundary: Reading::known(()),
        priority_busy: Reading::known(false),
        lock_free: true,
        available_mb: Reading::known(3072),
        started_today: 23,
        limited_until: None,
        parked: 3,
    };
    let judge = |start: &Start| may_start(start, 24, 3072, now());
    assert_eq!(judge(&start()), Ok(()));
    let refusal = |change: fn(&mut Start)| {
        let mut start = start();
        change(&mut start);
        judge(&start).unwrap_err()
    };
    assert!(matches!(refusal(|s| s.boundary = unread()), NotNow::NoBoundary(_)));
    assert_eq!(refusal(|s| s.priority_busy = Reading::known(true)), NotNow::Priority);
    assert!(matches!(refusal(|s| s.priority_busy = unread()), NotNow::PriorityUnread(_)));
    assert_eq!(refusal(|s| s.parked = 4), NotNow::Parked { items: 4 });
    assert_eq!(refusal(|s| s.started_today = 24), NotNow::DayCap { cap: 24 });
    assert_eq!(refusal(|s| s.lock_free = false), NotNow::Lock);
    let memory = NotNow::Memory { available: 3071, needed: 3072 };
    assert_eq!(refusal(|s| s.available_mb = Reading::known(3071)), memory);
    assert!(matches!(refusal(|s| s.available_mb = unread()), NotNow::MemoryUnread(_)));
    // Where the system does not tell, only who asks for no memory starts without being told of it.
    let unknown = Start { available_mb: unread(), ..start() };
    assert_eq!(may_start(&unknown, 24, 0, now()), Ok(()), "0 does not ask");
    assert!(matches!(may_start(&unknown, 24, 1, now()), Err(NotNow::MemoryUnread(_))));
    let until = now() + Duration::minutes(1);
    let limited = Start { limited_until: Some(until), ..start() };
    assert_eq!(judge(&limited), Err(NotNow::Limited { until }));
    assert_eq!(may_start(&limited, 24, 3072, until), Ok(()));
    let many = Start { started_today: 900, ..start() };
    assert_eq!(may_start(&many, 0, 3072, now()), Ok(()), "0 is no cap");
}

#[rstest]
#[case(Reply::Status(200), AfterMerge::Merged)]
#[case::a8(Reply::Status(405), AfterMerge::NextTick)]
#[case::a8(Reply::Status(409), AfterMerge::NextTick)]
#[case(Reply::Status(401), AfterMerge::ConfigFault)]
#[case(Reply::Status(403), AfterMerge::ConfigFault)]
#[case(Reply::Status(404), AfterMerge::ReadAgain)]
#[case(Reply::Status(422), AfterMerge::Refused { is_listed: false })]
#[case(Reply::Status(500), AfterMerge::Unknown)]
#[case(Reply::Status(502), AfterMerge::Unknown)]
#[case(Reply::Status(202), AfterMerge::Unknown)]
#[case(Reply::Lost, AfterMerge::Unknown)]
#[case(Reply::Limited, AfterMerge::NextTick)]
fn what_the_reply_to_a_merge_means(#[case] reply: Reply, #[case] after: AfterMerge) {
    assert_eq!(after_merge(reply, 1), after);
}

#[test]
fn three_422_in_a_row_are_listed() {
    let listed = |before| after_merge(Reply::Status(422), before);
    assert_eq!(listed(1), AfterMerge::Refused { is_listed: false });
    assert_eq!(listed(2), AfterMerge::Refused { is_listed: true });
}

#[rstest]
#[case(201, "", AfterRerun::Asked)]
#[case::a31(403, "Resource not accessible by personal access token", AfterRerun::ConfigFault)]
#[case(401, "Bad credentials", AfterRerun::ConfigFault)]
#[case(403, "This workflow run cannot be rerun", AfterRerun::CannotRerun)]
#[case(
    403,
    "Unable to retry this workflow run because it was created over a month ago",
    AfterRerun::CannotRerun
)]
#[case(403, "This workflow is already running", AfterRerun::NextTick)]
#[case(404, "", AfterRerun::CannotRerun)]
#[case(409, "", AfterRerun::NextTick)]
#[case(500, "", AfterRerun::Unknown)]
fn what_the_reply_to_a_re_run_means(#[case] status: u16, #[case] message: &str, #[case] after: AfterRerun) {
    assert_eq!(after_rerun(Reply::Status(status), message), after);
    assert_eq!(after_rerun(Reply::Limited, message), AfterRerun::NextTick);
    assert_eq!(after_rerun(Reply::Lost, message), AfterRerun::Unknown);
}

#[test]
fn a39_a_lost_boundary_stops_agents_and_no_merge() {
    let three = [12, 13, 14].map(|number| PrObs { number: PullNumber(number), ..ready() });
    assert!(three.iter().all(|pr| is_merge(&decide(pr))));
    let start = Start {
        boundary: unread(),
        priority_busy: Reading::known(false),
        lock_free: true,
        available_mb: Reading::known(9000),
        started_today: 0,
        limited_until: None,
        parked: 0,
    };
    assert!(matches!(may_start(&start, 24, 3072, now()), Err(NotNow::NoBoundary(_))));
}

#[test]
fn a25_a_push_to_the_base_moves_a_branch_whatever_it_touched() {
    // Only how far it is behind is asked, never which paths the base changed.
    let sweeping = Policy { push: PushPolicy { sweep_by: SweepBy::Steward, ..policy().push }, ..policy() };
    let decision = assess(&behind(ready(), 1), &memory(), &sweeping, now());
    assert_eq!(decision, Decision::Rebase(Place::Own { branch: "intake/issue-9".to_owned() }));
    assert!(is_merge(&assess(&ready(), &memory(), &sweeping, now())), "it holds the base already");
}

#[test]
fn a17_only_a_merged_branch_of_our_own_that_did_not_move_is_deleted() {
    let merged = || PrObs { state: PullState::Merged, ..ready() };
    let there = Reading::known(Some(head()));
    let may = |pr: &PrObs, at: &Reading<_>| may_delete(pr, at, &head(), &policy());
    assert!(may(&merged(), &there));
    for gone in [Reading::known(None), Reading::known(Some(old_head())), unread()] {
        assert!(!may(&merged(), &gone), "{gone:?}");
    }
    let cases: [Spoil; 6] = [
        |pr| pr.state = PullState::Open,
        |pr| pr.state = PullState::Closed,
        |pr| pr.draft = true,
        |pr| pr.head.repo = Some(8),
        |pr| pr.head.branch = "feature".to_owned(),
        |pr| pr.head.branch = "main".to_owned(),
    ];
    for spoil in cases {
        let mut pr = merged();
        spoil(&mut pr);
        assert!(!may(&pr, &there), "{:?}", pr.head);
    }
    // Named for deletion, and nothing Steward may push to; or the reverse.
    let named = Policy { delete_branch_globs: strings(&["feature"]), ..policy() };
    let mut feature = merged();
    feature.head.branch = "feature".to_owned();
    assert!(!may_delete(&feature, &there, &head(), &named));
    let unnamed = Policy { delete_branch_globs: Vec::new(), ..policy() };
    assert!(!may_delete(&merged(), &there, &head(), &unnamed));
}
