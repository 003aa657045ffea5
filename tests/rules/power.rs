//! Powers: what the config file asks for, what a person confirmed, and what holds of it.

use proptest::prelude::*;
use rstest::rstest;
use steward_rules::ids::RepoName;
use steward_rules::power::{
    Caps, EffectClass, Mode, PanePower, PowerSet, RepoPower, Widening, change_id, diff_text, pending,
    repo_key,
};

pub fn any_power() -> impl Strategy<Value = RepoPower> {
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
        some(&[
            "**",
            "data/",
            "data/works",
            "data/works/**",
            "docs/**",
            "*.md",
            "database/",
            "doc**",
            "doc/",
            "",
        ]),
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

#[rstest]
#[case::glob_of_names(&["doc**"], &["doc**", "doc/"], &["doc**"])]
#[case::glob_below_a_folder(&["docs/a**"], &["docs/a/", "docs/ab/"], &[])]
#[case::folder(&["docs/**"], &["docs/", "docs/a/", "docs/a**"], &["docs/", "docs/a**", "docs/a/"])]
#[case::everything(&["**"], &["doc**", "doc/"], &["doc**", "doc/"])]
#[case::nothing(&[""], &["doc/", "*.md"], &[])]
fn a_safe_path_is_in_force_only_within_a_confirmed_one(
    #[case] confirmed: &[&str],
    #[case] asked: &[&str],
    #[case] holds: &[&str],
) {
    let caps = |paths: &[&str]| Caps {
        safe_paths: paths.iter().map(|path| (*path).to_owned()).collect(),
        ..Caps::default()
    };
    let with = |paths: &[&str]| PowerSet {
        repositories: [(
            "github.com/octo/app".to_owned(),
            RepoPower::new(Mode::Act, [EffectClass::Merge]).with_caps(caps(paths)),
        )]
        .into(),
        ..PowerSet::default()
    };
    assert_eq!(caps(asked).meet(&caps(confirmed)).safe_paths, caps(holds).safe_paths);
    let is_wider = !pending(&with(asked), &with(confirmed)).is_empty();
    assert_eq!(is_wider, caps(asked) != caps(holds));
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

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

#[test]
fn a_power_is_its_repositorys_on_its_host_alone_however_the_name_is_written() {
    let power = RepoPower::new(Mode::Act, [EffectClass::Merge]);
    let repo = |name: &str| RepoName::parse(name).unwrap();
    let set = PowerSet {
        repositories: [(repo_key("github.com", &repo("octo/app")), power.clone())].into(),
        ..PowerSet::default()
    };
    assert_eq!(set.of("GitHub.com", &repo("Octo/App")), power);
    for (host, name) in [("ghe.example.org", "octo/app"), ("github.com", "octo/site")] {
        assert_eq!(set.of(host, &repo(name)), RepoPower::default(), "{host} {name}");
    }
}

#[test]
fn the_log_keeps_every_line_of_a_change() {
    let line = |key: &str, now: &str, asked: &str| Widening {
        key: key.to_owned(),
        now: now.to_owned(),
        asked: asked.to_owned(),
    };
    let lines = [line("octo/app: mode", "observe", "act"), line("spend.dailyUsd", "1", "2")];
    assert_eq!(diff_text(&lines), "octo/app: mode: observe -> act; spend.dailyUsd: 1 -> 2");
}
