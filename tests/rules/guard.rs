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
use steward_rules::power::{
    Caps, EffectClass, Mode, PanePower, PowerSet, RepoPower, change_id, pending, repo_key,
};
use steward_rules::reading::{Cause, Reading};
use steward_rules::review::verdict::StaleReason;

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
fn every_reason_has_a_sentence_of_its_own() {
    let off = |branch: &str, why| Refusal::OffLimits { branch: branch.to_owned(), why }.message();
    let holds = [
        Hold::Paused { why: "lunch".into() }.message(),
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

fn any_power() -> impl Strategy<Value = RepoPower> {
    let mode = prop_oneof![Just(Mode::Observe), Just(Mode::Suggest), Just(Mode::Act)];
    let classes = proptest::sample::subsequence(EffectClass::ALL.to_vec(), 0..=EffectClass::ALL.len());
    (mode, classes, any_caps()).prop_map(|(mode, act, caps)| RepoPower::new(mode, act).with_caps(caps))
}

fn any_caps() -> impl Strategy<Value = Caps> {
    let some = |patterns: &[&'static str]| {
        let patterns = patterns.to_vec();
        let most = patterns.len();
        proptest::sample::subsequence(patterns, 0..=most)
            .prop_map(|chosen| chosen.into_iter().map(str::to_owned).collect())
    };
    (
        90u32..110,
        20u32..30,
        proptest::option::of(20u32..30),
        some(&["**", "data/", "data/works", "data/works/**", "docs/**", "*.md", "database/"]),
        some(&["steward/*", "steward/pr-*", "bots/", "bots/a/*", "intake/**", "intake/issue-*"]),
    )
        .prop_map(|(merge_max_entries, own_max_entries, daily_runs, safe_paths, push_allowed)| Caps {
            merge_max_entries,
            own_max_entries,
            daily_runs,
            safe_paths,
            push_allowed,
        })
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

    /// Any two sets of powers: what is in force is asked for and confirmed, and confirming leaves nothing.
    #[test]
    fn in_force_is_what_both_say(asked in any_set(), confirmed in any_set()) {
        let force = asked.meet(&confirmed);
        for (key, power) in &force.repositories {
            prop_assert_eq!(&power.meet(&asked.repositories[key]), power);
            prop_assert_eq!(&power.meet(&confirmed.repositories[key]), power);
        }
        prop_assert!(force.daily_usd <= asked.daily_usd && force.daily_usd <= confirmed.daily_usd);
        prop_assert!(pending(&asked, &asked).is_empty());
        // What is not in force is told, and what is told is not in force.
        let whole = asked.repositories.iter().all(|(key, power)| {
            force.repositories.get(key).cloned().unwrap_or_default() == *power
        }) && force.panes == asked.panes
            && force.daily_usd == asked.daily_usd
            && force.monthly_usd == asked.monthly_usd;
        prop_assert_eq!(pending(&asked, &confirmed).is_empty(), whole);
        prop_assert_eq!(change_id(&pending(&asked, &confirmed)).is_none(), whole);
        // Shrinking what is confirmed to what is in force changes nothing now.
        prop_assert_eq!(asked.meet(&force), force.clone());
        prop_assert_eq!(pending(&asked, &force), pending(&asked, &confirmed));
    }
}

fn any_set() -> impl Strategy<Value = PowerSet> {
    let names = ["github.com/octo/app", "github.com/octo/site", "ghe.example.org/octo/app"];
    let repositories = proptest::collection::btree_map(
        proptest::sample::select(names.to_vec()).prop_map(str::to_owned),
        any_power(),
        0..3,
    );
    let hosts = proptest::collection::btree_map(
        proptest::sample::select(vec!["build", "ci"]).prop_map(str::to_owned),
        any::<bool>(),
        0..3,
    );
    let panes = (any::<bool>(), hosts).prop_map(|(keys, hosts)| PanePower { keys, hosts });
    (repositories, panes, 0u32..4, 0u32..4).prop_map(|(repositories, panes, day, month)| PowerSet {
        repositories,
        panes,
        daily_usd: day.into(),
        monthly_usd: month.into(),
    })
}

#[test]
fn keys_and_other_machines_are_powers_of_their_own() {
    let panes = |keys, hosts: &[(&str, bool)]| PowerSet {
        panes: PanePower {
            keys,
            hosts: hosts.iter().map(|(host, keys)| ((*host).to_owned(), *keys)).collect(),
        },
        ..PowerSet::default()
    };
    let asked = panes(true, &[("build", true), ("ci", false)]);
    let lines = |confirmed: &PowerSet| {
        let lines = pending(&asked, confirmed);
        lines.iter().map(|l| format!("{}: {} -> {}", l.key, l.now, l.asked)).collect::<Vec<_>>()
    };
    assert_eq!(
        lines(&PowerSet::first(&asked)),
        [
            "questions.keys: false -> true",
            "questions.ssh[build]: none -> captures and keys",
            "questions.ssh[ci]: none -> captures"
        ]
    );
    assert_eq!(
        lines(&panes(true, &[("build", false), ("ci", true)])),
        ["questions.ssh[build]: captures -> captures and keys"]
    );
    assert!(lines(&panes(true, &[("build", true), ("ci", true), ("more", true)])).is_empty());
    // A wider confirmation gives no more than the file asks for.
    assert_eq!(asked.meet(&panes(false, &[("ci", true)])).panes, panes(false, &[("ci", false)]).panes);
    // What an older Steward kept names no panes: nothing of them is confirmed.
    let old: PowerSet =
        serde_json::from_str(r#"{"repositories":{},"daily_usd":0.0,"monthly_usd":0.0}"#).unwrap();
    assert_eq!(old, PowerSet::default());
}

#[test]
fn a_change_is_told_in_the_file_s_words() {
    let set = |power: RepoPower, daily_usd| PowerSet {
        panes: PanePower::default(),
        repositories: [(repo_key("GitHub.com", &RepoName::parse("Octo/App").unwrap()), power)].into(),
        daily_usd,
        monthly_usd: 100.0,
    };
    let asked = set(RepoPower::new(Mode::Act, [EffectClass::CommentReview, EffectClass::Merge]), 20.0);
    let first = PowerSet::first(&asked);
    let lines = |confirmed: &PowerSet| {
        let lines = pending(&asked, confirmed);
        lines.iter().map(|l| format!("{}: {} -> {}", l.key, l.now, l.asked)).collect::<Vec<_>>()
    };
    assert_eq!(
        lines(&first),
        [
            "repositories[octo/app].mode: observe -> act",
            "repositories[octo/app].act: none -> comment_review, merge"
        ]
    );
    let earlier = set(RepoPower::new(Mode::Act, [EffectClass::CommentReview, EffectClass::Label]), 10.0);
    assert_eq!(
        lines(&earlier),
        [
            "repositories[octo/app].act: comment_review -> comment_review, merge",
            "spend.dailyUsd: 10.00 -> 20.00"
        ]
    );
    assert_ne!(change_id(&pending(&asked, &first)), change_id(&pending(&asked, &earlier)));
}

#[test]
fn the_words_of_the_classes_are_those_of_the_config_file() {
    for class in EffectClass::ALL {
        assert_eq!(EffectClass::parse(class.as_str()), Some(*class));
        assert_eq!(serde_json::to_string(class).unwrap(), format!("\"{}\"", class.as_str()));
    }
    assert_eq!(EffectClass::ALL.len(), 17);
    assert_eq!(EffectClass::parse("Merge"), None);
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

/// What is asked for is written in its own words when it is confirmed whole, however that was written.
#[rstest]
#[case::wider(&["bots/"], &["bots/", "bots/a/*"], &["bots/"])]
#[case::said_twice(&["bots/", "bots/a/*"], &["bots/"], &["bots/", "bots/a/*"])]
#[case::part(&["bots/", "x/y"], &["bots/a/*", "x/"], &["bots/a/*", "x/y"])]
#[case::alike(&["bots/"], &["bots/**"], &["bots/"])]
#[case::apart(&["steward/*"], &["bots/"], &[])]
fn caps_that_are_allowed_whole_stay_as_written(
    #[case] asked: &[&str],
    #[case] confirmed: &[&str],
    #[case] expected: &[&str],
) {
    let caps = |globs: &[&str]| Caps {
        push_allowed: globs.iter().map(|&glob| glob.to_owned()).collect(),
        ..Caps::default()
    };
    assert_eq!(caps(asked).meet(&caps(confirmed)), caps(expected));
}

#[test]
fn a_larger_cap_waits_and_a_narrower_path_does_not() {
    use steward_rules::engine::policy::{Policy, Preset};

    let key = repo_key("github.com", &RepoName::parse("octo/app").unwrap());
    let with = |mode: Mode, policy: &Policy| PowerSet {
        repositories: [(key.clone(), RepoPower::new(mode, []).with_caps(Caps::of(policy)))].into(),
        ..PowerSet::default()
    };
    let lines = |asked: &PowerSet, confirmed: &PowerSet| {
        let lines = pending(asked, confirmed);
        lines.iter().map(|l| format!("{}: {} -> {}", l.key, l.now, l.asked)).collect::<Vec<_>>()
    };
    let usual = Policy::default();
    // A policy that says nothing asks for no more than the mode.
    assert_eq!(
        lines(&with(Mode::Suggest, &usual), &PowerSet::default()),
        ["repositories[octo/app].mode: observe -> suggest"]
    );
    let mut data = Preset::DataCatalogue.policy();
    assert!(
        lines(&with(Mode::Observe, &data), &PowerSet::default()).is_empty(),
        "observed, nothing goes out"
    );
    assert_eq!(
        lines(&with(Mode::Suggest, &data), &PowerSet::default()),
        [
            "repositories[octo/app].mode: observe -> suggest",
            "repositories[octo/app].policy.engine.safePaths: none -> data/",
            "repositories[octo/app].policy.engine.push.allowed: steward/* -> intake/issue-*, steward/*",
        ]
    );
    let confirmed = with(Mode::Suggest, &data);
    data.merge_max_entries = 250;
    data.own_max_entries = 24;
    data.agent.daily_runs = 0;
    data.safe_paths = vec!["data/works/".to_owned(), "database/".to_owned()];
    let asked = with(Mode::Suggest, &data);
    let at = "repositories[octo/app].policy.engine";
    assert_eq!(
        lines(&asked, &confirmed),
        [
            format!("{at}.mergeMaxEntries: 100 -> 250"),
            format!("{at}.agent.dailyRuns: 24 -> no cap"),
            format!("{at}.safePaths: data/works/ -> data/works/, database/"),
        ]
    );
    let force = asked.meet(&confirmed).repositories[&key].policy(&data);
    assert_eq!((force.merge_max_entries, force.own_max_entries, force.agent.daily_runs), (100, 24, 24));
    assert_eq!(force.safe_paths, ["data/works/"]);
    // Observed, everything is judged as it is asked for.
    assert_eq!(with(Mode::Observe, &data).repositories[&key].policy(&data), data);
    // What an older Steward kept names no caps: those that need no confirmation hold.
    let old: RepoPower = serde_json::from_str(r#"{"mode":"act","act":["merge"]}"#).unwrap();
    assert_eq!(*old.caps(), Caps::of(&usual));
    assert_eq!(old.policy(&data).safe_paths, [""; 0]);
}
