//! Section 19: the presets and what a policy must not say.

use steward_rules::engine::policy::*;

use super::world::{policy, strings};

fn research(words: &[&str]) -> Policy {
    Policy { triage: TriagePolicy { research: strings(words) }, ..policy() }
}

fn keys(policy: &Policy, merges: bool) -> Vec<&'static str> {
    check(policy, merges).into_iter().map(|fault| fault.key).collect()
}

#[test]
fn the_presets_hold_the_values_of_their_origin() {
    for preset in Preset::ALL {
        assert_eq!(Preset::parse(preset.as_str()), Some(preset));
        assert_eq!(keys(&preset.policy(), false), [""; 0], "{preset:?}");
    }
    assert_eq!(Preset::parse("Code-App"), None);
    let data = Preset::DataCatalogue.policy();
    assert_eq!(keys(&data, true), [""; 0]);
    assert_eq!(
        (data.safe_paths.as_slice(), data.merge_max_entries, data.own_max_entries),
        (&strings(&["data/"])[..], 100, 25)
    );
    assert_eq!(data.required_checks, strings(&["check", "compose", "site", "verify"]));
    assert_eq!(data.skippable, data.required_checks);
    assert_eq!(
        (data.stable_secs, data.require_up_to_date, data.required_app.as_str()),
        (120, true, "github-actions")
    );
    assert_eq!(data.retry, RetryPolicy { backoff: vec![60, 240, 720, 1440], stuck_after: 3 });
    assert_eq!(
        data.agent,
        AgentPolicy { max_turns: 200, timeout_minutes: 60, daily_runs: 24, min_available_mb: 3072 }
    );
    let verdict = data.verdict.unwrap();
    assert_eq!((verdict.pass_label.as_str(), verdict.flag_label.as_str()), ("ai-verified", "ai-flagged"));
    assert_eq!((verdict.retry_minutes, verdict.no_verdict_hours), (vec![10, 30, 60, 60], 6));
    assert!(!verdict.human_label_counts);
    assert_eq!(data.push.allowed, strings(&["intake/issue-*", "steward/*"]));
    // Nothing merges by itself from these.
    for preset in [Preset::CodeApp, Preset::ObserveOnly] {
        assert_eq!(keys(&preset.policy(), true), ["safePaths", "requiredChecks", "requireSeatAccepted"]);
    }
    let docs = Preset::DocsSite.policy();
    assert_eq!((docs.merge_method, docs.entries.unit), (MergeMethod::Squash, Unit::Files));
    assert_eq!(keys(&docs, true), ["requiredChecks"], "its checks are the repository's own");
}

#[test]
fn each_refusal_names_its_key() {
    let base = policy;
    let verdict = |change: fn(&mut VerdictPolicy)| {
        let mut policy = base();
        change(policy.verdict.as_mut().unwrap());
        policy
    };
    let safe = |pattern: &str| Policy { safe_paths: strings(&[pattern]), ..base() };
    let push =
        |pattern: &str| Policy { push: PushPolicy { allowed: strings(&[pattern]), ..base().push }, ..base() };
    let cases: Vec<(&str, Policy)> = vec![
        ("safePaths", Policy { safe_paths: vec![], ..base() }),
        ("safePaths", safe(".github/")),
        ("safePaths", safe("docs/.GitHub/x")),
        ("safePaths", safe(".git*")),
        ("safePaths", safe("{data,.gitmodules}")),
        ("safePaths", safe("")),
        ("safePaths", safe("/")),
        ("safePaths", safe("../data")),
        ("safePaths", safe("data/[")),
        ("requiredChecks", Policy { required_checks: vec![], ..base() }),
        ("requiredChecks", Policy { required_checks: strings(&["check", ""]), ..base() }),
        ("requiredApp", Policy { required_app: String::new(), ..base() }),
        ("requireSeatAccepted", Policy { verdict: None, ..base() }),
        ("base", Policy { base: Some(" ".to_owned()), ..base() }),
        ("protectedPaths", Policy { protected_paths: strings(&["a["]), ..base() }),
        ("push.allowed", push("*")),
        ("push.allowed", push("**")),
        ("push.allowed", push("*/*")),
        ("push.allowed", push("main")),
        ("push.allowed", push("m*")),
        ("push.allowed", push("[")),
        ("deleteBranchGlobs", Policy { delete_branch_globs: strings(&["main"]), ..base() }),
        ("deleteBranchGlobs", Policy { delete_branch_globs: strings(&["**"]), ..base() }),
        (
            "entries.globs",
            Policy { entries: EntriesPolicy { globs: strings(&["["]), ..base().entries }, ..base() },
        ),
        (
            "entries.unit",
            Policy { entries: EntriesPolicy { unit: Unit::Lines(0), ..base().entries }, ..base() },
        ),
        (
            "mergeDrivers",
            Policy {
                merge_drivers: vec![DriverRule {
                    glob: "[".to_owned(),
                    kind: DriverKind::Text,
                    union_keys: vec![],
                }],
                ..base()
            },
        ),
        ("triage.research", research(&["web-search", "whois"])),
        ("triage.research", research(&["Web-Search"])),
        ("triage.research", research(&[""])),
        ("verdict.passLabel", verdict(|verdict| verdict.pass_label = "data:add-work".to_owned())),
        ("verdict.passLabel", verdict(|verdict| verdict.pass_label = "Data".to_owned())),
        ("verdict.flagLabel", verdict(|verdict| verdict.flag_label = "Steward:Declined".to_owned())),
        ("verdict.passLabel", verdict(|verdict| verdict.pass_label = "bot-sync".to_owned())),
        ("verdict.passLabel", verdict(|verdict| verdict.pass_label = "bot-intake".to_owned())),
        ("verdict.flagLabel", verdict(|verdict| verdict.flag_label = "wip".to_owned())),
        ("verdict.flagLabel", verdict(|verdict| verdict.flag_label = "AI-verified".to_owned())),
        ("verdict.passLabel", verdict(|verdict| verdict.pass_label = String::new())),
        ("verdict.job", verdict(|verdict| verdict.job = String::new())),
        ("verdict.labelActors", verdict(|verdict| verdict.label_actors = vec![])),
    ];
    for (key, policy) in cases {
        assert_eq!(keys(&policy, true), [key], "{:?}", check(&policy, true));
    }
}

#[test]
fn what_is_near_a_refusal_is_fine() {
    assert_eq!(keys(&policy(), true), [""; 0]);
    for pattern in ["data", "data/", "**", "docs/**/*.md", "github/", "data/git/"] {
        let policy = Policy { safe_paths: strings(&[pattern]), ..policy() };
        assert_eq!(keys(&policy, true), [""; 0], "{pattern}");
    }
    for pattern in ["steward/*", "maintenance/*", "bots/**", "release/*"] {
        let policy =
            Policy { push: PushPolicy { allowed: strings(&[pattern]), ..policy().push }, ..policy() };
        assert_eq!(keys(&policy, true), [""; 0], "{pattern}");
    }
    let release = Policy { base: Some("release/1.0".to_owned()), ..policy() };
    let push = PushPolicy { allowed: strings(&["release/*"]), ..policy().push };
    assert_eq!(keys(&Policy { push, ..release }, true), ["push.allowed"]);
    for known in [&[][..], &["web-search"]] {
        assert_eq!(keys(&research(known), true), [""; 0], "{known:?}");
        assert_eq!(research(known).triage.searches_web(), !known.is_empty());
    }
    // Where no base is named the default branch is not guessed at; a glob of any branch is refused all the same.
    let open = |pattern: &str| {
        let push = PushPolicy { allowed: strings(&[pattern]), ..policy().push };
        keys(&Policy { base: None, push, ..policy() }, true)
    };
    assert_eq!((open("steward/*"), open("main"), open("**")), (vec![], vec![], vec!["push.allowed"]));
    // What merges nothing by itself needs no safe path, check or judge.
    let quiet = Policy { safe_paths: vec![], required_checks: vec![], verdict: None, ..policy() };
    assert_eq!(keys(&quiet, false), [""; 0]);
    let seat = Policy { verdict: None, require_seat_accepted: true, ..policy() };
    assert_eq!(keys(&seat, true), [""; 0]);
}
