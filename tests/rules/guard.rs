//! The guard: every row of its table, and that taking power away never lets more out.

use chrono::{DateTime, Duration, Utc};
use proptest::prelude::*;
use rstest::rstest;
use steward_rules::deed::{Branches, Closes, Deed, OffLimits, Reason};
use steward_rules::engine::policy::MergeMethod;
use steward_rules::guard::{
    Ask, Gone, Hold, Holds, Next, PER_HOUR, PER_MINUTE, Patience, Refusal, Sighting, Step, Subject, Trace,
    Way, believed, follow, is_due, judge,
};
use steward_rules::ids::{RepoName, Sha};
use steward_rules::power::{EffectClass, Mode, RepoPower};
use steward_rules::reading::{Cause, Reading, Why};
use steward_rules::review::verdict::StaleReason;

use super::power::any_power;

const HEAD: &str = "89abcdef0123456789abcdef0123456789abcdef";
const OTHER: &str = "0123456789abcdef0123456789abcdef01234567";

fn sha(text: &str) -> Sha {
    Sha::new(text).unwrap()
}

fn repo() -> RepoName {
    RepoName::parse("octo/app").unwrap()
}

fn now() -> DateTime<Utc> {
    "2026-11-30T09:00:00Z".parse().unwrap()
}

fn ask() -> Ask {
    Ask {
        class: EffectClass::CommentReview,
        deed: Deed::Comment { body: "said".to_owned() },
        host: "github.com".to_owned(),
        repo: repo(),
        number: Some(12),
        head: Some(sha(HEAD)),
        account: "octo".to_owned(),
        approved: false,
        turned_down: false,
        step: Step::Send,
    }
}

fn free() -> Holds {
    Holds {
        paused: None,
        frozen: None,
        subject: Reading::known(Subject::Open(sha(HEAD))),
        branches: Branches {
            base: Some("main".to_owned()),
            push: vec!["steward/*".to_owned()],
            delete: vec!["steward/*".to_owned()],
        },
        stale: None,
        acting: Reading::known("Octo".to_owned()),
        limited_until: None,
        sent: Vec::new(),
    }
}

fn act() -> RepoPower {
    RepoPower::new(Mode::Act, [EffectClass::CommentReview])
}

/// A deed that is this class's own; for a class that has none yet, another's.
pub fn deed_of(class: EffectClass) -> Deed {
    let comment = Deed::Comment { body: "said".to_owned() };
    match class {
        EffectClass::RerunCheck => Deed::Rerun { run: 7, attempt: 1 },
        EffectClass::RetryVerdict => Deed::RetryVerdict { run: 7, attempt: 1, n: 1 },
        EffectClass::Merge => Deed::Merge { method: MergeMethod::Squash },
        EffectClass::DeleteBranch => Deed::DeleteBranch { branch: "steward/x".to_owned(), at: sha(HEAD) },
        EffectClass::Label => Deed::Label { add: vec!["x".to_owned()], remove: Vec::new() },
        EffectClass::CloseIssue => Deed::Close { what: Closes::Issue, reason: Some(Reason::Completed) },
        EffectClass::Report => Deed::Report { body: "report".to_owned() },
        EffectClass::PushFix | EffectClass::OpenPr => {
            Deed::Push { branch: "steward/x".to_owned(), from: None, to: sha(HEAD) }
        }
        EffectClass::CommentReview
        | EffectClass::CommentIssue
        | EffectClass::Rebase
        | EffectClass::Supersede
        | EffectClass::Reply
        | EffectClass::RequestApproval
        | EffectClass::DispatchWork
        | EffectClass::Claim => comment,
    }
}

/// The way in a few words.
fn way(ask: &Ask, power: &RepoPower, holds: &Holds) -> String {
    match judge(ask, power, holds, now()) {
        Way::Go(permit) => format!("go {} {}", permit.class().as_str(), permit.repo()),
        Way::Suggest => "suggest".to_owned(),
        Way::Wait(hold) => format!("wait {}", hold.slug()),
        Way::Refuse(refusal) => format!("refuse {}", refusal.slug()),
        Way::Obsolete(gone) => format!("obsolete {}", gone.slug()),
    }
}

#[rstest]
#[case::observe(RepoPower::new(Mode::Observe, []), false, "refuse observed")]
#[case::observe_even_with_a_yes(RepoPower::new(Mode::Observe, []), true, "refuse observed")]
#[case::nothing_confirmed(RepoPower::default(), true, "refuse observed")]
#[case::suggest(RepoPower::new(Mode::Suggest, []), false, "suggest")]
#[case::suggest_lists_nothing(RepoPower::new(Mode::Suggest, [EffectClass::CommentReview]), false, "suggest")]
#[case::suggest_with_a_yes(RepoPower::new(Mode::Suggest, []), true, "go comment_review octo/app")]
#[case::act_lists_another(RepoPower::new(Mode::Act, [EffectClass::Merge]), false, "suggest")]
#[case::act_lists_nothing(RepoPower::new(Mode::Act, []), false, "suggest")]
#[case::act_lists_another_with_a_yes(
    RepoPower::new(Mode::Act, [EffectClass::Merge]),
    true,
    "go comment_review octo/app"
)]
#[case::act(act(), false, "go comment_review octo/app")]
fn the_mode_and_the_class_decide_who_speaks(
    #[case] power: RepoPower,
    #[case] approved: bool,
    #[case] expected: &str,
) {
    assert_eq!(way(&Ask { approved, ..ask() }, &power, &free()), expected);
}

#[rstest]
#[case::free(|_: &mut Holds| {}, "go comment_review octo/app")]
#[case::paused(|h: &mut Holds| h.paused = Some("lunch".into()), "wait paused")]
#[case::another_account(|h: &mut Holds| h.acting = Reading::known("mallory".into()), "refuse account")]
#[case::account_unread(|h: &mut Holds| h.acting = unread(), "wait unread")]
#[case::head_moved(|h: &mut Holds| h.subject = Reading::known(Subject::Open(sha(OTHER))), "obsolete head_moved")]
#[case::closed(|h: &mut Holds| h.subject = Reading::known(Subject::Closed), "obsolete closed")]
#[case::head_unread(|h: &mut Holds| h.subject = unread(), "wait unread")]
#[case::stale(|h: &mut Holds| h.stale = Some(StaleReason::NewerReview), "obsolete stale")]
#[case::stale_although_unread(|h: &mut Holds| { h.stale = Some(StaleReason::HeadMoved); h.subject = unread() }, "obsolete stale")]
#[case::limited(|h: &mut Holds| h.limited_until = Some(now() + Duration::seconds(1)), "wait limited")]
#[case::limit_over(|h: &mut Holds| h.limited_until = Some(now()), "go comment_review octo/app")]
#[case::too_close(|h: &mut Holds| h.sent = vec![now() - Duration::milliseconds(999)], "wait apart")]
#[case::a_second_apart(|h: &mut Holds| h.sent = vec![now() - Duration::seconds(1)], "go comment_review octo/app")]
#[case::minute_full(|h: &mut Holds| h.sent = spread(PER_MINUTE, 59), "wait minute_cap")]
#[case::minute_nearly_full(|h: &mut Holds| h.sent = spread(PER_MINUTE - 1, 59), "go comment_review octo/app")]
#[case::hour_full(|h: &mut Holds| h.sent = spread(PER_HOUR, 3599), "wait hour_cap")]
#[case::hour_nearly_full(|h: &mut Holds| h.sent = spread(PER_HOUR - 1, 3599), "go comment_review octo/app")]
#[case::clock_set_back(|h: &mut Holds| h.sent = vec![now() + Duration::days(1); PER_HOUR], "go comment_review octo/app")]
fn what_holds_an_effect_back(#[case] change: fn(&mut Holds), #[case] expected: &str) {
    let mut holds = free();
    change(&mut holds);
    assert_eq!(way(&ask(), &act(), &holds), expected);
    // A yes of the person lifts none of it.
    assert_eq!(way(&Ask { approved: true, ..ask() }, &act(), &holds), expected);
}

#[test]
fn what_was_turned_down_once_never_goes_out_by_itself() {
    let again = Ask { turned_down: true, ..ask() };
    assert_eq!(way(&again, &act(), &free()), "suggest");
    assert_eq!(way(&Ask { approved: true, ..again }, &act(), &free()), "go comment_review octo/app");
}

/// A sighting of a head so many seconds after the hour.
fn sighting(head: &str, open: Option<bool>, seconds: Option<i64>) -> Sighting {
    Sighting { head: sha(head), open, updated_at: seconds.map(|s| now() + Duration::seconds(s)) }
}

#[rstest]
#[case::nothing_known(vec![], "open")]
#[case::the_same_is_known(vec![sighting(HEAD, Some(true), Some(9))], "open")]
#[case::an_older_head(vec![sighting(OTHER, Some(true), Some(4))], "open")]
#[case::a_newer_head(vec![sighting(OTHER, Some(true), Some(6))], "unread")]
#[case::another_head_of_the_same_second(vec![sighting(OTHER, None, Some(5))], "unread")]
#[case::closed_since(vec![sighting(HEAD, Some(false), Some(6))], "unread")]
#[case::reopened_since(vec![sighting(HEAD, Some(false), Some(4))], "open")]
#[case::a_head_of_no_time(vec![sighting(OTHER, None, None)], "open")]
#[case::one_of_two_is_newer(
    vec![sighting(OTHER, Some(true), Some(4)), sighting(OTHER, None, Some(6))],
    "unread"
)]
fn an_answer_that_is_older_than_what_is_known_says_nothing(
    #[case] known: Vec<Sighting>,
    #[case] expected: &str,
) {
    let found = believed(&sighting(HEAD, Some(true), Some(5)), &known);
    let word = match &found {
        Reading::Known { value: Subject::Open(head) } if *head == sha(HEAD) => "open",
        Reading::Known { .. } => "other",
        Reading::Unread { .. } => "unread",
    };
    assert_eq!(word, expected);
    let closed = believed(&sighting(HEAD, Some(false), Some(5)), &[]);
    assert_eq!(closed, Reading::known(Subject::Closed));
    // Without a time of its own an answer cannot be told from a new one.
    let timeless = believed(&sighting(HEAD, Some(true), None), &known);
    assert_eq!(timeless, Reading::known(Subject::Open(sha(HEAD))));
}

#[rstest]
#[case::never_put_off(None, true)]
#[case::its_time_has_come(Some(0), true)]
#[case::and_gone(Some(-1), true)]
#[case::not_yet(Some(1), false)]
#[case::the_longest_wait(Some(7200), false)]
#[case::reckoned_by_a_clock_that_was_ahead(Some(7201), true)]
fn what_was_put_off_is_due_at_its_time_or_when_that_cannot_be_true(
    #[case] seconds: Option<i64>,
    #[case] due: bool,
) {
    assert_eq!(is_due(seconds.map(|s| now() + Duration::seconds(s)), now()), due);
}

fn unread<T>() -> Reading<T> {
    Reading::unread(Cause::ForgeFailed, "no network")
}

/// Evenly between a second and so many seconds ago.
fn spread(count: usize, seconds: i64) -> Vec<DateTime<Utc>> {
    let step = (seconds * 1000 - 1000) / count as i64;
    (0..count as i64).map(|at| now() - Duration::milliseconds(1000 + at * step)).collect()
}

#[test]
fn a_full_window_says_when_its_first_write_leaves_it() {
    let first = now() - Duration::seconds(50);
    let mut sent = spread(PER_MINUTE - 1, 40);
    sent.push(first);
    let holds = Holds { sent, ..free() };
    assert_eq!(
        judge(&ask(), &act(), &holds, now()),
        Way::Wait(Hold::Minute { until: first + Duration::minutes(1) })
    );
}

#[test]
fn our_own_duplicate_is_taken_back_whatever_the_head_is_but_not_against_a_pause_or_observe() {
    let take = Ask { step: Step::TakeBack, ..ask() };
    let moved =
        Holds { subject: Reading::known(Subject::Closed), stale: Some(StaleReason::HeadMoved), ..free() };
    assert!(matches!(judge(&take, &act(), &moved, now()), Way::Go(_)));
    let unread = Holds { subject: unread(), ..free() };
    assert!(matches!(judge(&take, &act(), &unread, now()), Way::Go(_)));
    let paused = Holds { paused: Some("lunch".into()), ..free() };
    assert!(matches!(judge(&take, &act(), &paused, now()), Way::Wait(Hold::Paused { .. })));
    let observed = RepoPower::default();
    assert_eq!(judge(&take, &observed, &free(), now()), Way::Refuse(Refusal::Observed));
}

#[test]
fn a_freeze_refuses_every_class_that_lands_and_no_other_whatever_the_person_says() {
    let frozen = Holds { frozen: Some("what landed with #3 differs".to_owned()), ..free() };
    let mut landing = Vec::new();
    for class in EffectClass::ALL.iter().copied() {
        for approved in [false, true] {
            let ask = Ask { class, approved, deed: deed_of(class), ..ask() };
            for power in [RepoPower::new(Mode::Act, [class]), RepoPower::new(Mode::Suggest, [])] {
                let found = way(&ask, &power, &frozen);
                let open = way(&ask, &power, &free());
                assert_eq!(found, if class.lands() { "refuse frozen" } else { open.as_str() }, "{class:?}");
            }
        }
        if class.lands() {
            landing.push(class);
        }
    }
    assert_eq!(landing, [EffectClass::Merge]);
    // Observe goes before it, and what is of no use any more does too.
    let merge = Ask { class: EffectClass::Merge, deed: deed_of(EffectClass::Merge), ..ask() };
    assert_eq!(way(&merge, &RepoPower::default(), &frozen), "refuse observed");
    let closed = Holds { subject: Reading::known(Subject::Closed), ..frozen };
    assert_eq!(way(&merge, &RepoPower::new(Mode::Act, [EffectClass::Merge]), &closed), "obsolete closed");
}

#[test]
fn a_permit_names_what_it_is_for() {
    let Way::Go(permit) = judge(&ask(), &act(), &free(), now()) else { panic!("it may go") };
    assert_eq!(
        (permit.class(), permit.host(), permit.repo(), permit.number(), permit.head(), permit.account()),
        (EffectClass::CommentReview, "github.com", &repo(), Some(12), Some(&sha(HEAD)), "octo")
    );
    assert_eq!(permit.step(), Step::Send);
}

#[test]
fn only_a_hold_that_lifts_by_itself_says_when() {
    let until = now() + Duration::minutes(3);
    let lifts =
        [Hold::Limited { until }, Hold::Apart { until }, Hold::Minute { until }, Hold::Hour { until }];
    assert!(lifts.iter().all(|hold| hold.until() == Some(until)));
    let stays = [
        Hold::Paused { why: "lunch".into() },
        Hold::Off,
        Hold::Unread { why: Why::new(Cause::NotReadYet, "the pause") },
    ];
    assert!(stays.iter().all(|hold| hold.until().is_none()));
    let slugs: std::collections::BTreeSet<&str> = lifts.iter().chain(&stays).map(Hold::slug).collect();
    assert_eq!(slugs.len(), lifts.len() + stays.len());
}

#[test]
fn every_reason_has_a_sentence_of_its_own() {
    let off = |branch: &str, why| Refusal::OffLimits { branch: branch.to_owned(), why }.message();
    let holds = [
        Hold::Paused { why: "lunch".into() }.message(),
        Hold::Off.message(),
        Hold::Limited { until: now() }.message(),
        Hold::Apart { until: now() }.message(),
        Hold::Minute { until: now() }.message(),
        Hold::Hour { until: now() }.message(),
        Refusal::Observed.message(),
        Refusal::Account { wanted: "octo".into(), acting: "mal\u{202e}lory".into() }.message(),
        Refusal::Frozen { why: "what landed with #3 differs, a.txt\u{202e}".into() }.message(),
        Gone::Moved { head: sha(OTHER) }.message(),
        Gone::Closed.message(),
        Gone::Stale { why: StaleReason::NewerReview }.message(),
        Gone::NotMerged.message(),
        Refusal::Foreign { class: EffectClass::Label }.message(),
        off("main", OffLimits::Base),
        off("feat", OffLimits::NotNamed),
        off("a b\u{202e}", OffLimits::Name),
        off("steward/x", OffLimits::NotTheBase),
    ];
    insta::assert_snapshot!(holds.join("\n"), @r"
    everything is paused: lunch
    the engine is switched off
    a limit of GitHub holds until 09:00:00 UTC
    two writes are at least a second apart
    the writes of this minute are used up until 09:00:00 UTC
    the writes of this hour are used up until 09:00:00 UTC
    the repository is observed only, so nothing goes out
    it was to go out as octo, and the token is of mal\u{202e}lory
    merging is frozen in this repository: what landed with #3 differs, a.txt\u{202e}
    the head is 0123456 by now
    it was closed or merged meanwhile
    the review is stale: a newer review of this task was published. Read that one.
    the pull request is not merged, so its branch stays
    the switch `label` is for something else, so it lets this not out
    main is the base, which is never pushed to and never deleted
    the policy does not let the app touch the branch feat
    a b\u{202e} is no name of a branch
    steward/x may go to the base only
    ");
}

fn any_holds() -> impl Strategy<Value = Holds> {
    let subject = prop_oneof![
        4 => Just(Reading::known(Subject::Open(sha(HEAD)))),
        1 => Just(Reading::known(Subject::Open(sha(OTHER)))),
        1 => Just(Reading::known(Subject::Closed)),
        1 => Just(unread()),
    ];
    let acting = prop_oneof![
        4 => Just(Reading::known("octo".to_owned())),
        1 => Just(Reading::known("mallory".to_owned())),
        1 => Just(unread()),
    ];
    let limited = proptest::option::of((-100i64..100).prop_map(|s| now() + Duration::seconds(s)));
    let sent = proptest::collection::vec((-5i64..4000).prop_map(|s| now() - Duration::seconds(s)), 0..600);
    (
        (any::<bool>(), any::<bool>()),
        subject,
        proptest::option::weighted(0.2, Just(StaleReason::NewerReview)),
        acting,
        limited,
        sent,
    )
        .prop_map(|((paused, frozen), subject, stale, acting, limited_until, sent)| Holds {
            paused: paused.then(|| "lunch".to_owned()),
            frozen: frozen.then(|| "another tree".to_owned()),
            subject,
            branches: free().branches,
            stale,
            acting,
            limited_until,
            sent,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Whatever is taken from a power, nothing goes out that did not before.
    #[test]
    fn taking_a_power_away_lets_nothing_more_out(
        power in any_power(), less in any_power(), holds in any_holds(), approved: bool, class in 0..EffectClass::ALL.len(),
    ) {
        let class = EffectClass::ALL[class];
        let ask = Ask { approved, class, deed: deed_of(class), ..ask() };
        let before = matches!(judge(&ask, &power, &holds, now()), Way::Go(_));
        let after = matches!(judge(&ask, &power.meet(&less), &holds, now()), Way::Go(_));
        prop_assert!(before || !after);
    }

    /// An independent reading of the rules: what it takes to go.
    #[test]
    fn what_goes_has_every_condition(power in any_power(), holds in any_holds(), approved: bool) {
        let ask = Ask { approved, ..ask() };
        let listed = power.mode() == Mode::Act && power.act().contains(&EffectClass::CommentReview);
        let paced = {
            let past: Vec<_> = holds.sent.iter().filter(|at| **at <= now()).collect();
            let within = |seconds| past.iter().filter(|at| now() - ***at < Duration::seconds(seconds)).count();
            within(1) == 0 && within(60) < PER_MINUTE && within(3600) < PER_HOUR
        };
        let expected = power.mode() != Mode::Observe
            && (approved || listed)
            && holds.paused.is_none()
            && holds.stale.is_none()
            && holds.acting == Reading::known("octo".to_owned())
            && holds.subject == Reading::known(Subject::Open(sha(HEAD)))
            && holds.limited_until.is_none_or(|until| until <= now())
            && paced;
        prop_assert_eq!(matches!(judge(&ask, &power, &holds, now()), Way::Go(_)), expected);
    }
}

fn trace() -> Trace {
    Trace { posted: None, own: vec![], deleted_since: false, intended_at: None, looked: 0 }
}

#[rstest]
#[case::never_sent(trace(), "send")]
#[case::another_runtime_said_it(Trace { own: vec![7], ..trace() }, "keep 7")]
#[case::said_twice(Trace { own: vec![9, 7, 8], ..trace() }, "keep 7 take back 8 9")]
#[case::posted(Trace { posted: Some(7), own: vec![7], ..sent(1) }, "keep 7")]
#[case::posted_second(Trace { posted: Some(8), own: vec![7, 8], ..sent(1) }, "keep 7 take back 8")]
#[case::posted_and_not_shown_yet(Trace { posted: Some(8), own: vec![], ..sent(1) }, "look at +15")]
#[case::an_old_answer_may_hide_ours(Trace { posted: Some(8), own: vec![7], ..sent(1) }, "look at +15")]
#[case::posted_and_removed(Trace { posted: Some(8), own: vec![], looked: 6, ..sent(99) }, "removed")]
#[case::ours_was_taken_back(Trace { posted: Some(8), own: vec![7], looked: 6, ..sent(99) }, "keep 7")]
#[case::unclear_at_once(Trace { looked: 0, ..sent(1) }, "look at +59")]
#[case::unclear_and_looked(Trace { looked: 1, ..sent(30) }, "look at +30")]
#[case::unclear_and_looked_often(Trace { looked: 5, ..sent(59) }, "look at +1")]
#[case::unclear_and_long_ago(Trace { looked: 2, ..sent(60) }, "send")]
#[case::one_look_may_be_old(Trace { looked: 0, ..sent(600) }, "look at +15")]
#[case::the_second_too(Trace { looked: 1, ..sent(600) }, "look at +15")]
#[case::unclear_and_there(Trace { own: vec![7], ..sent(1) }, "keep 7")]
#[case::a_person_deleted_it(Trace { deleted_since: true, looked: 1, ..sent(600) }, "removed")]
#[case::a_person_deleted_another(Trace { deleted_since: true, own: vec![7], ..sent(600) }, "keep 7")]
#[case::clock_set_back(Trace { looked: 0, ..sent(-86_400) }, "look at +60")]
#[case::clock_set_back_and_looked(Trace { looked: 1, ..sent(-86_400) }, "look at +15")]
#[case::clock_set_back_and_looked_twice(Trace { looked: 2, ..sent(-86_400) }, "send")]
fn what_follows_from_what_the_thread_shows(#[case] trace: Trace, #[case] expected: &str) {
    let next = match follow(&trace, &Patience::default(), now()) {
        Next::Send => "send".to_owned(),
        Next::Keep { keep, take_back } if take_back.is_empty() => format!("keep {keep}"),
        Next::Keep { keep, take_back } => {
            let ids: Vec<_> = take_back.iter().map(ToString::to_string).collect();
            format!("keep {keep} take back {}", ids.join(" "))
        }
        Next::LookAgain { at } => format!("look at +{}", (at - now()).num_seconds()),
        Next::Removed => "removed".to_owned(),
    };
    assert_eq!(next, expected);
}

fn sent(seconds_ago: i64) -> Trace {
    Trace { intended_at: Some(now() - Duration::seconds(seconds_ago)), ..trace() }
}
