//! Who may start a review and when, what ends it, and how its limits are read.

use chrono::{DateTime, Duration, Utc};
use rstest::rstest;
use steward_rules::ids::{ReviewId, ShaError, TaskId};
use steward_rules::reading::{Cause, Reading};
use steward_rules::review::facts::{Evidence, Pushed};
use steward_rules::review::gate::GateId;
use steward_rules::review::lifecycle::*;
use steward_rules::review::settings::*;
use steward_rules::review::verdict::{StaleReason, Verdict};

use crate::world::*;

fn on() -> ReviewSettings {
    ReviewSettings { switch: Switch::On, ..ReviewSettings::default() }
}

fn asking() -> StartFacts {
    StartFacts {
        trigger: Trigger::Manual,
        seat: SeatFile::Present,
        caller: Caller::Person,
        asked: TaskId(42),
        task: Some(StartTask { id: TaskId(42), head: Some(head()) }),
        sha: ShaAsked::Head,
        past: Vec::new(),
        contract: Some(1),
        ci_fingerprint: "green".to_owned(),
        started: Vec::new(),
        spend: Spend { today_usd: 0.0, month_usd: 0.0 },
        caps: SpendCaps::default(),
        breaker: Breaker::default(),
        paused: None,
    }
}

fn automatic() -> StartFacts {
    StartFacts { trigger: Trigger::Automatic, caller: Caller::Runtime, ..asking() }
}

fn past(id: i64, state: ReviewState, reason: Option<EndReason>) -> PastReview {
    PastReview {
        id: ReviewId(id),
        state,
        reason,
        stale: None,
        sha: head(),
        contract: Some(1),
        ci_fingerprint: "green".to_owned(),
    }
}

fn crashed(id: i64) -> PastReview {
    past(id, ReviewState::Ended, Some(EndReason::Crashed))
}

#[track_caller]
fn refused(facts: &StartFacts) -> Refusal {
    may_start(facts, &on(), now()).unwrap_err()
}

#[test]
fn a_person_starts_a_review_of_the_head() {
    assert_eq!(may_start(&asking(), &on(), now()), Ok(head()));
    assert_eq!(may_start(&automatic(), &on(), now()), Ok(head()));
}

type Spoil = fn(&mut StartFacts, &mut ReviewSettings);

/// Each condition spoiled; each one must be told before all that follow it.
fn spoilers() -> Vec<(&'static str, Spoil)> {
    vec![
        ("disabled", |_, settings| settings.switch = Switch::Off),
        ("no_seat", |facts, _| facts.seat = SeatFile::Missing),
        ("not_a_person", |facts, _| facts.caller = Caller::Agent { mark: "CLAUDECODE".into() }),
        ("not_found", |facts, _| facts.task = None),
        ("bad_sha", |facts, _| {
            facts.sha = ShaAsked::Typed { text: "ABC".into(), reachable: Reading::known(true) }
        }),
        ("open_review", |facts, _| facts.past.push(past(9, ReviewState::Held, None))),
        ("identical", |facts, _| facts.past.push(past(8, ReviewState::Published, None))),
        ("task_cap", |facts, _| facts.past.extend((20..25).map(crashed))),
        ("hour_cap", |facts, _| facts.started = vec![minutes_ago(1); 6]),
        ("day_cap", |facts, _| facts.spend.today_usd = 10.0),
        ("month_cap", |facts, _| facts.spend.month_usd = 100.0),
        ("paused", |facts, _| facts.paused = Some("lunch".into())),
        ("breaker", |facts, _| facts.breaker = Breaker { consecutive: 3 }),
        ("one_per_head", |facts, _| facts.past.push(past(7, ReviewState::Ended, Some(EndReason::Cancelled)))),
    ]
}

#[test]
fn the_conditions_are_told_in_their_order() {
    let spoilers = spoilers();
    for (first, (code, _)) in spoilers.iter().enumerate() {
        let (mut facts, mut settings) = (automatic(), on());
        for (_, spoil) in &spoilers[first..] {
            spoil(&mut facts, &mut settings);
        }
        let refusal = may_start(&facts, &settings, now()).unwrap_err();
        assert_eq!(refusal.code(), *code);
        assert_eq!(refusal.exit_code(), if *code == "bad_sha" { 2 } else { 1 });
        assert!(!refusal.message().is_empty() && !refusal.hint().is_empty());
    }
}

#[test]
fn a_block_with_an_error_counts_as_switched_off() {
    let settings = ReviewSettings { switch: Switch::Faulty, ..on() };
    assert_eq!(may_start(&asking(), &settings, now()), Err(Refusal::Misconfigured));
}

#[test]
fn c16_an_agent_is_refused_and_the_runtime_starts_no_manual_one() {
    let agent = StartFacts { caller: Caller::Agent { mark: "rostered pane %3".into() }, ..asking() };
    assert_eq!(refused(&agent).code(), "not_a_person");
    assert_eq!(refused(&StartFacts { caller: Caller::Runtime, ..asking() }).code(), "not_a_person");
}

#[rstest]
#[case::upper_case("ABCDEF0123456789ABCDEF0123456789ABCDEF01", Err(Refusal::BadSha { error: ShaError::Digits }))]
#[case::short("abcdef0", Err(Refusal::BadSha { error: ShaError::Length(7) }))]
#[case::full("abcdef0123456789abcdef0123456789abcdef01", Ok(head()))]
#[case::older("000000000000000000000000000000000000000a", Err(Refusal::NotTheHead { sha: sha(10), head: head() }))]
fn a_typed_commit_is_forty_lower_case_digits(
    #[case] text: &str,
    #[case] expected: Result<steward_rules::ids::Sha, Refusal>,
) {
    let sha = ShaAsked::Typed { text: text.into(), reachable: Reading::known(true) };
    assert_eq!(may_start(&StartFacts { sha, ..asking() }, &on(), now()), expected);
}

#[test]
fn a_typed_commit_must_be_reachable() {
    let with =
        |reachable| StartFacts { sha: ShaAsked::Typed { text: sha(10).to_string(), reachable }, ..asking() };
    assert_eq!(refused(&with(Reading::known(false))), Refusal::Unreachable { sha: sha(10) });
    assert_eq!(refused(&with(Reading::unread(Cause::GitFailed, "bad object"))).code(), "unread");
}

#[test]
fn a_task_without_a_commit_has_nothing_to_review() {
    let task = Some(StartTask { id: TaskId(42), head: None });
    assert_eq!(refused(&StartFacts { task, ..asking() }), Refusal::NoCommit { task: TaskId(42) });
}

#[rstest]
#[case(ReviewState::Queued)]
#[case(ReviewState::Digesting)]
#[case(ReviewState::Running)]
#[case(ReviewState::Submitted)]
#[case::c12_held(ReviewState::Held)]
fn one_open_review_per_task(#[case] state: ReviewState) {
    let facts = StartFacts { past: vec![past(7, state, None)], ..asking() };
    assert_eq!(refused(&facts), Refusal::Open { review: ReviewId(7) });
}

#[test]
fn a_stale_hold_keeps_no_place_and_counts_as_unsaid() {
    let stale = PastReview { stale: Some(StaleReason::HoldExpired), ..past(7, ReviewState::Held, None) };
    assert_eq!(may_start(&StartFacts { past: vec![stale], ..asking() }, &on(), now()), Ok(head()));
}

#[rstest]
#[case::c13_again(|_: &mut PastReview| {}, true)]
#[case::c13_ci_changed(|past: &mut PastReview| past.ci_fingerprint = "red".into(), false)]
#[case::other_head(|past: &mut PastReview| past.sha = sha(3), false)]
#[case::other_contract(|past: &mut PastReview| past.contract = None, false)]
#[case::published_and_stale(|past: &mut PastReview| past.stale = Some(StaleReason::NewerReview), true)]
#[case::ended(|past: &mut PastReview| past.state = ReviewState::Ended, false)]
fn c13_an_identical_review_is_not_repeated(#[case] change: fn(&mut PastReview), #[case] is_refused: bool) {
    let mut one = past(7, ReviewState::Published, None);
    change(&mut one);
    let started = may_start(&StartFacts { past: vec![one], ..asking() }, &on(), now());
    assert_eq!(started == Err(Refusal::Identical { review: ReviewId(7) }), is_refused, "{started:?}");
    assert_eq!(started.is_ok(), !is_refused);
}

#[test]
fn a_task_gets_its_number_of_reviews() {
    let with = |number| StartFacts { past: (0..number).map(crashed).collect(), ..asking() };
    assert!(may_start(&with(4), &on(), now()).is_ok());
    assert_eq!(refused(&with(5)), Refusal::TaskCap { cap: 5 });
}

#[test]
fn c11_the_seventh_within_the_hour_is_told_the_next_slot() {
    let started: Vec<DateTime<Utc>> = [50, 3, 40, 10, 30, 20].map(minutes_ago).to_vec();
    let refusal = refused(&StartFacts { started, ..asking() });
    assert_eq!(refusal, Refusal::HourCap { cap: 6, next: now() + Duration::minutes(10) });
    assert_eq!(refusal.message(), "6 reviews within the hour; the next may start at 12:10:00 UTC");
}

#[rstest]
#[case::exactly_an_hour_ago_is_free(vec![60, 50], 2, None)]
#[case::just_within(vec![59, 50], 2, Some(1))]
#[case::more_than_the_cap(vec![55, 45, 35, 25], 2, Some(25))]
#[case::clock_was_set_back(vec![-30, 10], 2, Some(50))]
#[case::none(vec![], 1, None)]
fn the_hour_slides(#[case] ago: Vec<i64>, #[case] cap: u32, #[case] in_minutes: Option<i64>) {
    let started: Vec<DateTime<Utc>> = ago.into_iter().map(minutes_ago).collect();
    let expected = in_minutes.map(|minutes| now() + Duration::minutes(minutes));
    assert_eq!(next_slot(&started, cap, now()), expected);
}

#[test]
fn at_the_told_slot_a_review_may_start() {
    let started: Vec<DateTime<Utc>> = (0..9).map(|minute| minutes_ago(minute * 6)).collect();
    let next = next_slot(&started, 6, now()).unwrap();
    assert_eq!(next_slot(&started, 6, next), None);
    assert!(next_slot(&started, 6, next - Duration::milliseconds(1)).is_some());
}

#[rstest]
#[case::below(9.99, 99.0, None)]
#[case::day(10.0, 50.0, Some("day_cap"))]
#[case::month(1.0, 100.0, Some("month_cap"))]
#[case::no_number(f64::NAN, 0.0, Some("day_cap"))]
fn past_a_spend_cap_nothing_starts(#[case] today: f64, #[case] month: f64, #[case] code: Option<&str>) {
    let spend = Spend { today_usd: today, month_usd: month };
    let started = may_start(&StartFacts { spend, ..asking() }, &on(), now());
    assert_eq!(started.err().map(|refusal| refusal.code()), code);
}

#[test]
fn a_pause_of_the_person_stops_manual_ones_too_and_the_breaker_does_not() {
    assert_eq!(refused(&StartFacts { paused: Some("x".into()), ..asking() }).code(), "paused");
    let open = Breaker { consecutive: 3 };
    assert!(may_start(&StartFacts { breaker: open, ..asking() }, &on(), now()).is_ok());
    assert_eq!(refused(&StartFacts { breaker: open, ..automatic() }), Refusal::Tripped { consecutive: 3 });
}

#[rstest]
#[case::first(vec![], true)]
#[case::an_ended_one_once_more(vec![crashed(1)], true)]
#[case::not_twice(vec![crashed(1), crashed(2)], false)]
#[case::a_person_cancelled(vec![past(1, ReviewState::Ended, Some(EndReason::Cancelled))], false)]
#[case::finished_and_ci_changed(
    vec![PastReview { ci_fingerprint: "red".into(), ..past(1, ReviewState::Published, None) }], false)]
#[case::of_another_head(vec![PastReview { sha: sha(3), ..past(1, ReviewState::Published, None) }], true)]
fn one_automatic_review_per_head(#[case] past: Vec<PastReview>, #[case] starts: bool) {
    let facts = StartFacts { past, ..automatic() };
    assert_eq!(may_start(&facts, &on(), now()).is_ok(), starts);
    assert!(
        may_start(&StartFacts { trigger: Trigger::Manual, caller: Caller::Person, ..facts }, &on(), now())
            .is_ok()
    );
}

// ---- automatic

#[test]
fn finished_pushed_work_of_a_listed_workspace_is_reviewed_by_itself() {
    let titles = ["app".to_owned(), "site".to_owned(), "twin".to_owned(), "twin".to_owned()];
    let listed = ["app".to_owned(), "twin".to_owned()].to_vec();
    let settings = ReviewSettings { auto_review: listed, ..on() };
    let yes = Reading::known(Pushed::Yes);
    let no = Reading::known(Pushed::No { remote: None });
    let unread = Reading::unread(Cause::ForgeFailed, "502");
    let judge = |workspace, run, pushed| {
        let facts = AutomaticFacts { workspace, titles: &titles, run, pushed };
        may_run_by_itself(&facts, &settings)
    };
    assert_eq!(judge(Some("app"), RunState::Done, &yes), Ok(()));
    assert_eq!(judge(Some("App"), RunState::Done, &yes), Err(NotAutomatic::NotListed));
    assert_eq!(judge(Some("site"), RunState::Done, &yes), Err(NotAutomatic::NotListed));
    assert_eq!(judge(None, RunState::Done, &yes), Err(NotAutomatic::NotListed));
    assert_eq!(
        judge(Some("twin"), RunState::Done, &yes),
        Err(NotAutomatic::Ambiguous { title: "twin".into() })
    );
    for run in [RunState::Running, RunState::Error, RunState::Stopped] {
        assert_eq!(judge(Some("app"), run, &yes), Err(NotAutomatic::NotDone { run }));
    }
    assert_eq!(judge(Some("app"), RunState::Done, &no), Err(NotAutomatic::NotPushed));
    assert!(matches!(judge(Some("app"), RunState::Done, &unread), Err(NotAutomatic::Unread { .. })));
    let off = ReviewSettings { switch: Switch::Off, ..settings.clone() };
    let facts = AutomaticFacts { workspace: Some("app"), titles: &titles, run: RunState::Done, pushed: &yes };
    assert_eq!(may_run_by_itself(&facts, &off), Err(NotAutomatic::Off));

    let notes = auto_review_notes(
        &ReviewSettings { auto_review: vec!["twin".into(), "gone".into(), "app".into()], ..on() },
        &titles,
    );
    assert_eq!(
        notes.iter().map(|note| note.message.as_str()).collect::<Vec<_>>(),
        [
            "review.autoReview names \"twin\", and 2 workspaces have it: none is meant",
            "review.autoReview names \"gone\", and no workspace has this title",
        ]
    );
}

// ---- breaker

use Ending::{Completed, Ended};

#[rstest]
#[case::c14_three_crashes(vec![Ended(EndReason::Crashed); 3], true)]
#[case::two(vec![Ended(EndReason::Crashed); 2], false)]
#[case::mixed(vec![Ended(EndReason::Crashed), Ended(EndReason::Timeout), Ended(EndReason::Crashed)], true)]
#[case::c15_budget_between(
    vec![Ended(EndReason::Crashed), Ended(EndReason::Crashed), Ended(EndReason::Budget), Ended(EndReason::Crashed)], true)]
#[case::cancelled_and_violation_neither_add(
    vec![Ended(EndReason::Crashed), Ended(EndReason::Cancelled), Ended(EndReason::ScopeViolation), Ended(EndReason::Crashed)], false)]
#[case::a_completed_one_resets(
    vec![Ended(EndReason::Crashed), Ended(EndReason::Crashed), Completed(Trigger::Automatic), Ended(EndReason::Crashed)], false)]
#[case::c14_a_manual_one_lifts(
    vec![Ended(EndReason::Crashed), Ended(EndReason::Crashed), Ended(EndReason::Crashed), Completed(Trigger::Manual)], false)]
#[case::an_automatic_one_does_not_lift(
    vec![Ended(EndReason::Crashed), Ended(EndReason::Crashed), Ended(EndReason::Crashed), Completed(Trigger::Automatic)], true)]
#[case::a_manual_one_that_crashes_does_not_lift(vec![Ended(EndReason::Crashed); 4], true)]
fn c14_c15_three_in_a_row_pause_automatic_reviews(#[case] endings: Vec<Ending>, #[case] open: bool) {
    let breaker = endings.into_iter().fold(Breaker::default(), Breaker::after);
    assert_eq!(breaker.is_open(), open, "{breaker:?}");
    let stored: Breaker = serde_json::from_value(serde_json::to_value(breaker).unwrap()).unwrap();
    assert_eq!(stored, breaker);
}

// ---- states

#[test]
fn a_review_takes_only_the_steps_of_its_state() {
    let steps = [Step::Digest, Step::Run, Step::Submit, Step::Hold, Step::Publish]
        .into_iter()
        .chain(EndReason::ALL.map(Step::End));
    let mut legal = String::new();
    for step in steps {
        for state in ReviewState::ALL {
            if let Ok(next) = advance(state, step) {
                legal.push_str(&format!("{} -{step:?}-> {}\n", state.as_str(), next.as_str()));
            }
        }
    }
    insta::assert_snapshot!(legal, @r"
    queued -Digest-> digesting
    digesting -Run-> running
    running -Submit-> submitted
    submitted -Hold-> held
    submitted -Publish-> published
    held -Publish-> published
    digesting -End(Timeout)-> ended
    running -End(Timeout)-> ended
    running -End(Budget)-> ended
    queued -End(Crashed)-> ended
    digesting -End(Crashed)-> ended
    running -End(Crashed)-> ended
    submitted -End(Crashed)-> ended
    queued -End(Cancelled)-> ended
    digesting -End(Cancelled)-> ended
    running -End(Cancelled)-> ended
    submitted -End(Cancelled)-> ended
    held -End(Cancelled)-> ended
    running -End(ScopeViolation)-> ended
    submitted -End(ScopeViolation)-> ended
    ");
}

#[test]
fn cancel_ends_an_open_one_and_is_an_error_on_a_finished_one() {
    for state in ReviewState::ALL {
        let cancelled = advance(state, Step::End(EndReason::Cancelled));
        assert_eq!(cancelled.is_ok(), state.is_open(), "{state:?}");
    }
    let error = advance(ReviewState::Published, Step::End(EndReason::Cancelled)).unwrap_err();
    assert_eq!(error.to_string(), "a review that is published cannot take the step End(Cancelled)");
}

#[test]
fn on_restart_a_running_one_is_crashed_and_a_held_one_goes_on() {
    let words: Vec<AfterRestart> = ReviewState::ALL.into_iter().map(after_restart).collect();
    use AfterRestart::{Crashed, GoesOn, Over};
    assert_eq!(words, [GoesOn, GoesOn, Crashed, GoesOn, GoesOn, Over, Over]);
}

#[test]
fn states_reasons_and_triggers_are_written_as_the_store_has_them() {
    for state in ReviewState::ALL {
        assert_eq!(serde_json::to_value(state).unwrap(), state.as_str());
    }
    for reason in EndReason::ALL {
        assert_eq!(serde_json::to_value(reason).unwrap(), reason.as_str());
    }
    assert_eq!(serde_json::to_value(Trigger::Automatic).unwrap(), "automatic");
}

// ---- hold

#[test]
fn c5_c7_c17_a_submitted_review_is_published_held_dropped_or_cancelled() {
    let green = table(&good(), &policy());
    let running = Evidence { checks: checks([run("verify", 1, "queued")]), ..good() };
    let running = table(&running, &policy());
    let off = ReviewSettings { switch: Switch::Off, ..on() };
    assert_eq!(settle(&green, None, &on()), Outcome::Publish { cap: Verdict::Accepted });
    assert_eq!(settle(&running, None, &on()), Outcome::Hold { undecided: vec![GateId::Ci] });
    let reason = StaleReason::HeadMoved;
    assert_eq!(settle(&green, Some(reason), &on()), Outcome::Stale { reason });
    assert_eq!(settle(&green, None, &off), Outcome::Cancel);
    assert_eq!(settle(&running, None, &off), Outcome::Cancel);
}

// ---- usage

#[rstest]
#[case::nothing(None, 0, 0, 0, None)]
#[case::below_all(Some(1.49), 1_999_999, 60, 19, None)]
#[case::money(Some(1.5), 0, 0, 0, Some(Limit::Usd))]
#[case::c40_no_cost_known(None, 0, 0, 19, None)]
#[case::c40_tokens_still_hold(None, 2_000_000, 0, 0, Some(Limit::Tokens))]
#[case::c40_minutes_still_hold(None, 0, 0, 20, Some(Limit::Minutes))]
#[case::turns(None, 0, 61, 0, Some(Limit::Turns))]
#[case::a_cost_that_is_no_amount(Some(f64::NAN), 0, 0, 0, None)]
#[case::negative_cost(Some(-5.0), 2_000_000, 0, 0, Some(Limit::Tokens))]
fn a_review_stops_at_its_first_limit(
    #[case] usd: Option<f64>,
    #[case] tokens: u64,
    #[case] turns: u32,
    #[case] minutes: i64,
    #[case] limit: Option<Limit>,
) {
    let usage = Usage { usd, tokens, turns, elapsed: Duration::minutes(minutes) };
    assert_eq!(usage.reached(&on()), limit);
    let reason = limit.map(Limit::reason);
    let expected =
        limit.map(|limit| if limit == Limit::Minutes { EndReason::Timeout } else { EndReason::Budget });
    assert_eq!(reason, expected);
}

// ---- settings

fn resolved(change: impl FnOnce(&mut RawReviewSettings)) -> (ReviewSettings, Vec<SettingNote>) {
    let mut raw = RawReviewSettings { enabled: true, ..RawReviewSettings::default() };
    change(&mut raw);
    resolve(&raw)
}

#[test]
fn an_absent_block_is_the_defaults_switched_off() {
    assert_eq!(resolve(&RawReviewSettings::default()), (ReviewSettings::default(), Vec::new()));
    assert_eq!(resolved(|_| ()), (on(), Vec::new()));
}

#[rstest]
#[case::c9_zero(Some(0.0), 1.5, None, Switch::On)]
#[case::c9_above(Some(9.0), 5.0, Some(NoteLevel::Warning), Switch::On)]
#[case::c9_negative(Some(-1.0), 1.5, Some(NoteLevel::Error), Switch::Faulty)]
#[case::wrong_type_or_nan(Some(f64::NAN), 1.5, Some(NoteLevel::Error), Switch::Faulty)]
#[case::infinite(Some(f64::INFINITY), 1.5, Some(NoteLevel::Error), Switch::Faulty)]
#[case::negative_zero(Some(-0.0), 1.5, None, Switch::On)]
#[case::at_the_ceiling(Some(5.0), 5.0, None, Switch::On)]
#[case::given(Some(0.25), 0.25, None, Switch::On)]
#[case::absent(None, 1.5, None, Switch::On)]
fn c9_a_budget_is_defaulted_clamped_or_refused(
    #[case] value: Option<f64>,
    #[case] budget: f64,
    #[case] note: Option<NoteLevel>,
    #[case] switch: Switch,
) {
    let (settings, notes) = resolved(|raw| raw.budget_usd = value);
    assert_eq!((settings.budget_usd, settings.switch), (budget, switch));
    assert_eq!(notes.first().map(|note| note.level), note);
    assert!(notes.iter().all(|note| note.key == "budgetUsd"));
}

#[test]
fn c10_minutes_and_reviews_have_ceilings() {
    let (settings, notes) = resolved(|raw| {
        raw.max_minutes = Some(240.0);
        raw.max_reviews_per_hour = Some(100.0);
        raw.max_reviews_per_task = Some(1000.0);
    });
    assert_eq!((settings.max_minutes, settings.max_reviews_per_hour), (60, 24));
    assert_eq!(settings.max_reviews_per_task, 1000);
    assert_eq!(
        notes.iter().map(|note| note.message.as_str()).collect::<Vec<_>>(),
        [
            "review.maxMinutes is 240, the most is 60; 60 is in force",
            "review.maxReviewsPerHour is 100, the most is 24; 24 is in force",
        ]
    );
}

#[test]
fn the_budget_stays_under_the_most_of_the_file() {
    let (settings, notes) = resolved(|raw| raw.max_budget_usd = Some(1.0));
    assert_eq!((settings.budget_usd, notes.len()), (1.0, 0));
    let (settings, notes) = resolved(|raw| {
        raw.max_budget_usd = Some(1.0);
        raw.budget_usd = Some(2.0);
    });
    assert_eq!((settings.budget_usd, notes[0].key), (1.0, "budgetUsd"));
    let (settings, _) = resolved(|raw| raw.max_budget_usd = Some(50.0));
    assert_eq!(settings.max_budget_usd, 5.0);
}

#[rstest]
#[case::half(20.5, "review.maxMinutes must be a whole number; reviews are off until it is corrected")]
#[case::wrong_type(f64::NAN, "review.maxMinutes must be a number; reviews are off until it is corrected")]
#[case::negative(-3.0, "review.maxMinutes must be a number from 0 up; reviews are off until it is corrected")]
fn a_count_must_be_whole(#[case] value: f64, #[case] message: &str) {
    let (settings, notes) = resolved(|raw| raw.max_minutes = Some(value));
    assert_eq!((settings.switch, notes[0].message.as_str()), (Switch::Faulty, message));
    assert_eq!(settings.max_minutes, 20);
}

#[test]
fn a_huge_count_is_clamped_and_never_wraps() {
    let (settings, _) = resolved(|raw| {
        raw.max_turns = Some(1e300);
        raw.max_tokens = Some(1e300);
    });
    assert_eq!((settings.max_turns, settings.max_tokens), (u32::MAX, u64::from(u32::MAX)));
}
