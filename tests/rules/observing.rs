//! What the observer concludes from what it saw.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use proptest::prelude::*;
use rstest::rstest;
use steward_rules::ids::Sha;
use steward_rules::observing::{
    Count, Glimpse, Listing, Look, ObserverState, Outcome, Progress, PullState, Waited, is_due,
    is_miscounted, is_news, is_told, listing, look, overall, reserved, search_from, unlisted, wait,
};

fn at(text: &str) -> DateTime<Utc> {
    format!("2026-11-30T{text}Z").parse().unwrap()
}

fn sha(letter: char) -> Sha {
    Sha::new(&letter.to_string().repeat(40)).unwrap()
}

fn glimpse() -> Glimpse {
    Glimpse {
        head: sha('a'),
        base: sha('b'),
        state: PullState::Open,
        draft: false,
        labels: vec!["bug".to_owned()],
        rollup: Some("PENDING".to_owned()),
        mergeable: Some("MERGEABLE".to_owned()),
        review_decision: None,
        updated_at: at("10:00:00"),
    }
}

fn with(change: impl FnOnce(&mut Glimpse)) -> Glimpse {
    let mut changed = glimpse();
    change(&mut changed);
    changed
}

#[rstest]
#[case::nothing(glimpse(), Look::Same, false)]
#[case::checks_moved(with(|g| g.rollup = Some("SUCCESS".into())), Look::Noted, true)]
#[case::checks_gone(with(|g| g.rollup = None), Look::Noted, true)]
#[case::base_moved(with(|g| g.base = sha('c')), Look::Noted, true)]
#[case::mergeable_settled(with(|g| g.mergeable = Some("UNKNOWN".into())), Look::Noted, false)]
#[case::review(with(|g| g.review_decision = Some("APPROVED".into())), Look::Noted, false)]
#[case::label(with(|g| g.labels.clear()), Look::Noted, false)]
#[case::draft(with(|g| g.draft = true), Look::Noted, true)]
#[case::touched(with(|g| g.updated_at = at("10:00:01")), Look::Detail, true)]
#[case::pushed(with(|g| { g.head = sha('d'); g.updated_at = at("10:00:09") }), Look::Detail, true)]
#[case::pushed_in_one_second(with(|g| g.head = sha('d')), Look::Detail, true)]
#[case::merged(with(|g| g.state = PullState::Merged), Look::Detail, true)]
#[case::closed(with(|g| g.state = PullState::Closed), Look::Detail, true)]
#[case::a_stale_replica(with(|g| { g.head = sha('d'); g.updated_at = at("09:59:59") }), Look::Older, true)]
fn a_look_calls_for_what_it_shows(#[case] seen: Glimpse, #[case] expected: Look, #[case] told: bool) {
    assert_eq!(look(&glimpse(), Some(&seen)), expected);
    assert_eq!(is_told(Some(&glimpse()), &seen), told);
}

#[test]
fn what_github_does_not_show_is_missing_and_nothing_more() {
    assert_eq!(look(&glimpse(), None), Look::Missing);
    assert!(is_told(None, &glimpse()), "a new one is told");
}

#[rstest]
#[case::unknown(None, "09:00:00", true)]
#[case::known(Some(glimpse()), "10:00:00", false)]
#[case::an_old_answer(Some(glimpse()), "09:00:00", false)]
#[case::touched(Some(glimpse()), "10:00:01", true)]
#[case::reopened(Some(with(|g| g.state = PullState::Closed)), "10:00:00", true)]
#[case::back_again(Some(with(|g| g.state = PullState::Gone)), "09:00:00", true)]
fn what_a_search_shows_is_news_or_not(
    #[case] known: Option<Glimpse>,
    #[case] listed: &str,
    #[case] news: bool,
) {
    assert_eq!(is_news(known.as_ref(), at(listed)), news);
}

#[test]
fn only_what_a_whole_list_lacks_is_read_directly() {
    assert_eq!(unlisted(&[1, 2, 3], &[3, 1, 9]), [2]);
    assert_eq!(unlisted(&[], &[3]), Vec::<i64>::new());
    assert_eq!(unlisted(&[4], &[]), [4]);
}

#[rstest]
#[case::never(None, Some("09:50:00"), Some(Listing::First))]
#[case::never_searched(Some("09:50:00"), None, Some(Listing::First))]
#[case::lately(Some("09:50:00"), Some("09:50:00"), None)]
#[case::by_a_clock_that_was_set_back(Some("23:50:00"), Some("09:50:00"), None)]
fn lists_are_read_when_they_must(
    #[case] listed: Option<&str>,
    #[case] searched: Option<&str>,
    #[case] expected: Option<Listing>,
) {
    let progress =
        Progress { listed_at: listed.map(at), searched_to: searched.map(at), ..Progress::default() };
    assert_eq!(listing(&progress, at("10:00:00"), at("10:00:00")), expected);
}

#[test]
fn lists_grow_old_by_our_clock_and_searches_by_githubs() {
    let progress = Progress {
        listed_at: Some(at("10:00:00")),
        searched_to: Some(at("10:00:00")),
        ..Progress::default()
    };
    let day = TimeDelta::hours(24);
    let (now, second) = (at("10:00:00") + day, TimeDelta::seconds(1));
    assert_eq!(listing(&progress, at("10:00:00"), now), Some(Listing::Old));
    assert_eq!(listing(&progress, at("10:00:00"), now - second), None);
    assert_eq!(listing(&progress, now + second, at("10:00:00")), Some(Listing::Behind));
    assert_eq!(listing(&progress, now, at("10:00:00")), None);
}

#[rstest]
#[case::as_it_should_be(0, (3, 3), (0, 0), false)]
#[case::a_pull_was_missed(0, (4, 3), (0, 0), true)]
#[case::a_closing_was_missed(0, (3, 4), (0, 0), true)]
#[case::an_issue_was_missed(0, (3, 3), (8, 7), true)]
#[case::one_that_lists_hide(1, (4, 3), (0, 0), false)]
#[case::the_hidden_one_went(1, (3, 3), (0, 0), true)]
fn counts_show_what_a_search_missed(
    #[case] extra_pulls: i64,
    #[case] pulls: (i64, i64),
    #[case] issues: (i64, i64),
    #[case] expected: bool,
) {
    let progress = Progress { extra_pulls, ..Progress::default() };
    let count = |(theirs, ours)| Count { theirs, ours };
    assert_eq!(is_miscounted(&progress, count(pulls), count(issues)), expected);
}

#[test]
fn a_search_goes_back_to_the_repository_that_waited_longest_and_to_what_the_index_owes() {
    assert_eq!(search_from([at("10:00:00"), at("09:30:00")]), Some(at("09:15:00")));
    assert_eq!(search_from([]), None);
}

const TEN: Duration = Duration::from_secs(600);

#[rstest]
#[case(Outcome::Whole, 0, 600)]
#[case(Outcome::Incomplete, 0, 600)]
#[case(Outcome::SignedOut, 0, 600)]
#[case(Outcome::Limited { until: at("10:01:30") }, 0, 90)]
#[case(Outcome::Limited { until: at("11:00:00") }, 0, 3600)]
#[case(Outcome::Limited { until: at("09:00:00") }, 0, 1)]
#[case(Outcome::Offline, 1, 15)]
#[case(Outcome::Offline, 2, 30)]
#[case(Outcome::Offline, 5, 240)]
#[case(Outcome::Offline, 7, 600)]
#[case(Outcome::Offline, 4_000_000, 600)]
#[case(Outcome::Failed, 1, 15)]
fn the_next_tick_comes_when_it_may_help(
    #[case] outcome: Outcome,
    #[case] failures: u32,
    #[case] seconds: i64,
) {
    assert_eq!(wait(outcome, TEN, failures, 1.0, at("10:00:00")), TimeDelta::seconds(seconds));
}

#[rstest]
#[case::not_yet(599, 599, false)]
#[case::by_the_wall(600, 0, true)]
#[case::after_a_night_of_sleep(28_800, 3, true)]
#[case::by_the_steady_clock(0, 600, true)]
#[case::a_day_back(-86_400, 599, false)]
#[case::a_day_back_and_long_enough(-86_400, 600, true)]
#[case::a_day_ahead(86_400, 1, true)]
fn a_tick_is_due_by_either_clock(#[case] wall: i64, #[case] steady: u64, #[case] due: bool) {
    let waited = Waited { by_wall: TimeDelta::seconds(wall), steadily: Duration::from_secs(steady) };
    assert_eq!(is_due(waited, TimeDelta::minutes(10)), due);
}

#[rstest]
#[case::plenty(5000, None)]
#[case::at_the_edge(2000, None)]
#[case::past_it(1999, Some("10:30:00"))]
#[case::nothing(0, Some("10:30:00"))]
fn two_fifths_of_an_hours_quota_are_left_to_the_person(#[case] left: u32, #[case] until: Option<&str>) {
    assert_eq!(reserved(left, 5000, at("10:30:00"), at("10:00:00")), until.map(at));
    assert_eq!(reserved(left, 5000, at("10:30:00"), at("10:30:00")), None, "the hour is over");
}

#[test]
fn the_worst_of_all_accounts_is_shown() {
    let limited = Outcome::Limited { until: at("10:30:00") };
    for (outcomes, state) in [
        (vec![], ObserverState::Waiting),
        (vec![Outcome::Whole, Outcome::Whole], ObserverState::Waiting),
        (vec![Outcome::Whole, Outcome::Incomplete], ObserverState::Incomplete),
        (vec![Outcome::Failed, Outcome::Whole], ObserverState::Incomplete),
        (vec![Outcome::Whole, limited, Outcome::Incomplete], ObserverState::Limited),
        (vec![limited, Outcome::SignedOut], ObserverState::SignedOut),
        (vec![Outcome::Offline, Outcome::SignedOut, limited], ObserverState::Offline),
    ] {
        assert_eq!(overall(outcomes.clone()), state, "{outcomes:?}");
    }
}

proptest! {
    #[test]
    fn a_wait_is_never_longer_than_the_interval_but_for_a_limit(
        failures in 0_u32..100, jitter in -1.0_f64..2.0, seconds in 60_u64..86_400, offline: bool,
    ) {
        let outcome = if offline { Outcome::Offline } else { Outcome::Failed };
        let interval = Duration::from_secs(seconds);
        let found = wait(outcome, interval, failures, jitter, at("10:00:00"));
        prop_assert!(found >= TimeDelta::seconds(7) && found <= TimeDelta::seconds(seconds as i64));
        // More failures never bring the next try closer.
        prop_assert!(wait(outcome, interval, failures + 1, jitter, at("10:00:00")) >= found);
    }
}
