//! `engine:` and `policy.engine` in the config file: what they give, and what is said of what is wrong.

use std::path::Path;
use std::time::Duration;

use rstest::rstest;
use steward_core::config::{self, Checked, Effective, Origin, Severity};
use steward_rules::engine::policy::*;

fn check(text: &str) -> Checked {
    config::check(text, Some(Path::new("/folk/anna"))).expect("it parses")
}

/// A repository with these lines of `policy.engine`.
fn policy(preset: &str, lines: &str) -> String {
    let lines: Vec<String> = lines.lines().map(|line| format!("        {line}\n")).collect();
    let engine = if lines.is_empty() {
        String::new()
    } else {
        format!("    policy:\n      engine:\n{}", lines.concat())
    };
    format!("repositories:\n  - name: octo/app\n{preset}{engine}")
}

fn engine(preset: &str, lines: &str) -> Policy {
    let checked = check(&policy(preset, lines));
    assert_eq!(checked.problems, []);
    checked.config.repositories[0].engine.clone()
}

#[test]
fn a_repository_without_a_word_has_the_default_policy() {
    assert_eq!(engine("", ""), Policy::default());
    for preset in Preset::ALL {
        assert_eq!(engine(&format!("    preset: {}\n", preset.as_str()), ""), preset.policy());
    }
}

#[test]
fn every_key_of_the_policy_is_read() {
    let lines = r"
base: trunk
safePaths: [data/, '*.md']
protectedPaths: [data/secret/**]
allowExec: true
neverMergeLabels: [frozen]
protectedAuthors: [mona]
ownBots: {labels: [bot], headPrefixes: [bots/]}
requiredChecks: [build, test]
requiredApp: ci
skippable: [test]
ignoredChecks: [coverage]
pendingStatusBlocks: false
requireUpToDate: false
stableSecs: 300
mergeMethod: rebase
deleteBranchGlobs: [steward/*]
mergeMaxEntries: 50
requiredApprovals: 2
requireSeatAccepted: true
verdict: {workflow: judge.yml, job: judge, passLabel: ok, flagLabel: hm, labelActors: [judge-bot], humanLabelCounts: true, retryMinutes: [5], noVerdictHours: 2}
entries: {unit: lines/20, globs: ['**/*.txt'], root: data}
validate: {format: [fmt, -w], check: [lint], pin: '1.2', timeoutSecs: 30, heavy: false}
mergeDrivers:
  - {glob: '*.json', kind: json-map(works.all), unionKeys: [sources]}
  - {glob: 'b/*.json', kind: json-array(slug)}
  - {glob: c.txt, kind: lines-set}
  - {glob: d.txt, kind: text}
  - {glob: e.json, kind: json-map}
push: {allowed: [bots/steward/*], sweepLabel: sweep, sweepBy: steward}
issues: {scopeLabels: [bug], outcomeLabels: [done], intakeWaitMinutes: 5, intakeBot: in-bot, declinedLabel: no, needInfoLabel: ask}
ownMaxEntries: 10
fixScope: cap
triage: {research: [web-search]}
retry: {backoff: [10m, 2h], stuckAfter: 5}
agent: {maxTurns: 9, timeout: 30m, dailyRuns: 0, minAvailableMb: 100}
priority: {lockFile: ~/sync.lock}
report: octo/app#7
";
    // `no` is a word, not a truth value.
    let read = engine(
        "    preset: data-catalogue\n",
        lines.replace("declinedLabel: no", "declinedLabel: 'no'").trim(),
    );
    let text = |list: &[&str]| list.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
    let rule = |glob: &str, kind: DriverKind, keys: &[&str]| DriverRule {
        glob: glob.to_owned(),
        kind,
        union_keys: text(keys),
    };
    let expected = Policy {
        base: Some("trunk".to_owned()),
        safe_paths: text(&["data/", "*.md"]),
        protected_paths: text(&["data/secret/**"]),
        allow_exec: true,
        never_merge_labels: text(&["frozen"]),
        protected_authors: text(&["mona"]),
        own_bots: OwnBots { labels: text(&["bot"]), head_prefixes: text(&["bots/"]) },
        required_checks: text(&["build", "test"]),
        required_app: "ci".to_owned(),
        skippable: text(&["test"]),
        ignored_checks: text(&["coverage"]),
        pending_status_blocks: false,
        require_up_to_date: false,
        stable_secs: 300,
        merge_method: MergeMethod::Rebase,
        delete_branch_globs: text(&["steward/*"]),
        merge_max_entries: 50,
        required_approvals: 2,
        require_seat_accepted: true,
        verdict: Some(VerdictPolicy {
            workflow: "judge.yml".to_owned(),
            job: "judge".to_owned(),
            pass_label: "ok".to_owned(),
            flag_label: "hm".to_owned(),
            label_actors: text(&["judge-bot"]),
            human_label_counts: true,
            retry_minutes: vec![5],
            no_verdict_hours: 2,
        }),
        entries: EntriesPolicy { unit: Unit::Lines(20), globs: text(&["**/*.txt"]), root: "data".to_owned() },
        validate: Some(ValidatePolicy {
            format: text(&["fmt", "-w"]),
            check: text(&["lint"]),
            pin: Some("1.2".to_owned()),
            timeout_secs: 30,
            heavy: false,
        }),
        merge_drivers: vec![
            rule("*.json", DriverKind::JsonMap("works.all".to_owned()), &["sources"]),
            rule("b/*.json", DriverKind::JsonArray("slug".to_owned()), &[]),
            rule("c.txt", DriverKind::LinesSet, &[]),
            rule("d.txt", DriverKind::Text, &[]),
            rule("e.json", DriverKind::JsonMap(String::new()), &[]),
        ],
        push: PushPolicy {
            allowed: text(&["bots/steward/*"]),
            sweep_label: Some("sweep".to_owned()),
            sweep_by: SweepBy::Steward,
        },
        issues: IssuePolicy {
            scope_labels: text(&["bug"]),
            outcome_labels: text(&["done"]),
            intake_wait_minutes: 5,
            intake_bot: "in-bot".to_owned(),
            declined_label: "no".to_owned(),
            need_info_label: "ask".to_owned(),
        },
        own_max_entries: 10,
        fix_scope: FixScope::Cap,
        triage: TriagePolicy { research: text(&["web-search"]) },
        retry: RetryPolicy { backoff: vec![10, 120], stuck_after: 5 },
        agent: AgentPolicy { max_turns: 9, timeout_minutes: 30, daily_runs: 0, min_available_mb: 100 },
        priority: Some(Priority::LockFile("/folk/anna/sync.lock".to_owned())),
        report: Some("octo/app#7".to_owned()),
    };
    assert_eq!(read, expected);
}

#[test]
fn a_preset_is_changed_key_by_key_and_its_verdict_taken_away_by_a_word() {
    let preset = "    preset: data-catalogue\n";
    let read = engine(preset, "verdict: {job: judge}\nownBots: {labels: []}\npush: {sweepLabel: ''}");
    let usual = Preset::DataCatalogue.policy();
    let (verdict, before) = (read.verdict.unwrap(), usual.verdict.unwrap());
    assert_eq!((verdict.job.as_str(), verdict.pass_label), ("judge", before.pass_label));
    assert_eq!((read.own_bots.labels, read.own_bots.head_prefixes), (vec![], usual.own_bots.head_prefixes));
    assert_eq!((read.push.sweep_label, read.push.allowed), (None, usual.push.allowed));
    assert_eq!(engine(preset, "verdict: none").verdict, None);
    // What the file does not say of a verdict of its own has the usual values.
    let own =
        engine("", "verdict: {workflow: v.yml, job: v, passLabel: good, flagLabel: bad}").verdict.unwrap();
    assert_eq!(
        (own.label_actors, own.retry_minutes, own.no_verdict_hours),
        (before.label_actors, vec![10, 30, 60, 60], 6)
    );
    let tools = engine("", "validate: {check: [lint]}").validate.unwrap();
    assert_eq!((tools.timeout_secs, tools.heavy, tools.pin), (600, true, None));
    let busy = engine("", "priority: {statusCommand: [systemctl, is-active, sync]}").priority.unwrap();
    assert_eq!(busy, Priority::StatusCommand(["systemctl", "is-active", "sync"].map(str::to_owned).to_vec()));
}

/// What is wrong: the key, the line within the policy, a word of the message; and the repository is off.
#[rstest]
#[case::kind("safePaths: data/", "safePaths", 1, "a list")]
#[case::item("safePaths:\n  - data/\n  - ''", "safePaths[1]", 3, "1 to 500 characters")]
#[case::number("requiredChecks: [check, 7]", "requiredChecks[1]", 1, "a text")]
#[case::branch("base: ../x", "base", 1, "a name of a branch")]
#[case::empty("base: ''", "base", 1, "empty")]
#[case::stable("stableSecs: -1", "stableSecs", 1, "between 0 and 86400")]
#[case::entries("mergeMaxEntries: 1000001", "mergeMaxEntries", 1, "between")]
#[case::approvals("requiredApprovals: 1.5", "requiredApprovals", 1, "a whole number")]
#[case::method("mergeMethod: octopus", "mergeMethod", 1, "`merge`, `squash` or `rebase`")]
#[case::unit("entries: {unit: words}", "entries.unit", 1, "`json-keys`")]
#[case::no_lines("entries: {unit: lines/0}", "entries.unit", 1, "")]
#[case::verdict("verdict:\n  workflow: v.yml\n  passLabel: a\n  flagLabel: b", "verdict.job", 2, "missing")]
#[case::verdict_word("verdict: nothing", "verdict", 1, "a block of keys")]
#[case::actors(
    "verdict: {workflow: v, job: v, passLabel: a, flagLabel: b, labelActors: []}",
    "verdict.labelActors",
    1,
    "empty"
)]
#[case::routes("verdict: {workflow: v, job: v, passLabel: wip, flagLabel: b}", "verdict.passLabel", 1, "wip")]
#[case::retry(
    "verdict: {workflow: v, job: v, passLabel: a, flagLabel: b, retryMinutes: [0]}",
    "verdict.retryMinutes[0]",
    1,
    "between 1"
)]
#[case::program("validate: {check: ['']}", "validate.check", 1, "a program")]
#[case::no_check("validate: {format: [fmt]}", "validate.check", 1, "missing")]
#[case::driver("mergeDrivers: [{glob: a, kind: json-array}]", "mergeDrivers[0].kind", 1, "`lines-set`")]
#[case::no_driver("mergeDrivers: [{glob: a}]", "mergeDrivers[0].kind", 1, "missing")]
#[case::glob("mergeDrivers:\n  - {glob: '[', kind: text}", "mergeDrivers", 2, "no glob")]
#[case::git("safePaths: [data/, .github/]", "safePaths", 1, "never safe")]
#[case::push("stableSecs: 5\npush:\n  allowed: ['*']", "push.allowed", 3, "any branch")]
#[case::base("base: steward/x", "push.allowed", 1, "steward/x")]
#[case::sweep("push: {sweepBy: robots}", "push.sweepBy", 1, "`workflow`")]
#[case::scope("fixScope: all", "fixScope", 1, "`prEntries` or `cap`")]
#[case::backoff("retry: {backoff: [1h, soon]}", "retry.backoff[1]", 1, "whole minutes")]
#[case::no_backoff("retry: {backoff: []}", "retry.backoff", 1, "1 to 20")]
#[case::research(
    "stableSecs: 5\ntriage:\n  research: [web-search, whois]",
    "triage.research",
    3,
    "nothing is looked up by `whois`"
)]
#[case::seconds("agent: {timeout: 90s}", "agent.timeout", 1, "whole minutes")]
#[case::turns("agent: {maxTurns: 0}", "agent.maxTurns", 1, "between 1")]
#[case::two("priority: {lockFile: /a, statusCommand: [b]}", "priority", 1, "one of them")]
#[case::none("priority: {}", "priority", 1, "one of them")]
#[case::relative("priority: {lockFile: a}", "priority.lockFile", 1, "absolute")]
#[case::report("report: '#7'", "report", 1, "owner/repo#12")]
#[case::report_zero("report: octo/app#0", "report", 1, "owner/repo#12")]
#[case::label("issues: {declinedLabel: ' '}", "issues.declinedLabel", 1, "empty")]
fn a_bad_value_is_named_with_its_line_and_the_repository_is_off(
    #[case] lines: &str,
    #[case] key: &str,
    #[case] line: u32,
    #[case] word: &str,
) {
    let text = policy("", lines) + "  - name: octo/lib\n";
    let checked = check(&text);
    let [problem] = checked.problems.as_slice() else { panic!("{:#?}", checked.problems) };
    assert_eq!(problem.severity, Severity::Error);
    assert_eq!(problem.key, format!("repositories[0].policy.engine.{key}"));
    // `base: steward/x` makes a key wrong that is not in the file: the repository is shown.
    let first = if key == "push.allowed" && line == 1 { 2 } else { line + 4 };
    assert_eq!((problem.line, problem.message.contains(word)), (first, true), "{problem}");
    let names: Vec<String> = checked.config.repositories.iter().map(|found| found.name.to_string()).collect();
    assert_eq!(names, ["octo/lib"]);
}

#[rstest]
#[case("safePath: [a]", "safePath", "did you mean `safePaths`?")]
#[case(
    "verdict: {workflow: v, job: v, passLabel: a, flagLabel: b, labelActor: []}",
    "verdict.labelActor",
    "did you mean `labelActors`?"
)]
#[case("agent: {maxTurn: 3}", "agent.maxTurn", "did you mean `maxTurns`?")]
fn an_unknown_key_of_a_policy_is_a_warning(#[case] lines: &str, #[case] key: &str, #[case] hint: &str) {
    let checked = check(&policy("", lines));
    let [problem] = checked.problems.as_slice() else { panic!("{:#?}", checked.problems) };
    assert_eq!(problem.severity, Severity::Warning);
    assert_eq!(problem.key, format!("repositories[0].policy.engine.{key}"));
    assert_eq!(problem.hint.as_deref(), Some(hint));
    assert_eq!(checked.config.repositories.len(), 1);
}

/// `merge` in `act` needs safe paths, required checks and a judge; in any other mode it does not.
#[test]
fn merging_by_itself_needs_a_policy_that_says_what_and_by_whose_judgement() {
    let keys = |preset: &str, lines: &str| {
        let checked = check(&policy(preset, lines));
        let at = |key: &str| key.trim_start_matches("repositories[0].policy.engine.").to_owned();
        checked.problems.iter().map(|problem| (at(&problem.key), problem.line)).collect::<Vec<_>>()
    };
    let act = "    mode: act\n    act: [label, merge]\n";
    let all = ["safePaths", "requiredChecks", "requireSeatAccepted"].map(|key| (key.to_owned(), 4));
    assert_eq!(keys(act, ""), all);
    assert_eq!(keys("    mode: suggest\n    act: [merge]\n", ""), []);
    assert_eq!(keys("    mode: act\n    act: [label]\n", ""), []);
    assert_eq!(keys(&format!("    preset: data-catalogue\n{act}"), ""), []);
    assert_eq!(keys(&format!("    preset: docs-site\n{act}"), ""), [("requiredChecks".to_owned(), 5)]);
    assert_eq!(keys(&format!("    preset: docs-site\n{act}"), "requiredChecks: [build]"), []);
    let taken = keys(&format!("    preset: data-catalogue\n{act}"), "stableSecs: 60\nsafePaths: []");
    assert_eq!(taken, [("safePaths".to_owned(), 9)]);
}

#[test]
fn what_is_in_force_says_where_it_comes_from() {
    let checked = check(&policy("    preset: docs-site\n", "agent:\n  timeout: 90m\nmergeMethod: merge"));
    let found = |key: &str| -> Option<&Effective> {
        let key = format!("repositories[0].policy.engine.{key}");
        checked.effective.iter().find(|found| found.key == key)
    };
    let timeout = found("agent.timeout").unwrap();
    assert_eq!((timeout.shown(), timeout.origin), ("90m".to_owned(), Origin::File { line: 7 }));
    assert_eq!(found("mergeMethod").unwrap().origin, Origin::File { line: 8 });
    let paths = found("safePaths").unwrap();
    assert_eq!((paths.shown(), paths.origin), (r#"["docs/**","*.md"]"#.to_owned(), Origin::Preset));
    assert_eq!(found("base"), None, "a default stands in `steward repo policy` and in the schema");
}

#[test]
fn the_schema_names_every_key_with_its_meaning() {
    let schema = config::schema();
    let check = jsonschema::validator_for(&schema).unwrap();
    let of = |engine: serde_json::Value| serde_json::json!({"repositories": [{"name": "o/r", "policy": {"engine": engine}}]});
    for good in [
        serde_json::json!({"verdict": "none", "mergeMethod": "squash", "retry": {"backoff": ["1h"]}}),
        serde_json::json!({"verdict": {"job": "v"}, "entries": {"unit": "lines/20"}, "report": "o/r#1"}),
    ] {
        assert!(check.is_valid(&of(good.clone())), "{good}");
    }
    for bad in [
        serde_json::json!({"verdict": "nothing"}),
        serde_json::json!({"safePaths": "data/"}),
        serde_json::json!({"mergeMethod": "octopus"}),
        serde_json::json!({"stableSecs": -1}),
    ] {
        assert!(!check.is_valid(&of(bad.clone())), "{bad}");
    }
    let said = |name: &str| {
        let keys = schema["$defs"][name]["properties"].as_object().unwrap();
        keys.iter()
            .filter(|(_, key)| key["description"].is_null())
            .map(|(key, _)| key.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(said("RawEngine"), [""; 0]);
    assert_eq!(said("RawVerdict"), [""; 0]);
    assert_eq!(schema["$defs"]["RawEnginePolicy"]["properties"].as_object().unwrap().len(), 32);
}

#[rstest]
#[case::on("engine: {enabled: true}", true, None)]
#[case::absent("", false, None)]
#[case::empty("engine:", false, None)]
#[case::word("engine: {enabled: 'yes'}", false, Some("engine.enabled"))]
#[case::interval("engine: {enabled: true, interval: 5}", false, Some("engine.interval"))]
#[case::no_block("engine: on", false, Some("engine"))]
fn a_bad_value_switches_the_engine_off_with_its_reason(
    #[case] text: &str,
    #[case] enabled: bool,
    #[case] key: Option<&str>,
) {
    let checked = check(text);
    let engine = &checked.config.engine;
    assert_eq!((engine.enabled, engine.interval), (enabled, Duration::from_secs(600)));
    assert_eq!(engine.disabled_by.is_some(), key.is_some());
    assert!(key.is_none_or(|key| checked.problems[0].key == key), "{:?}", checked.problems);
}

#[test]
fn an_unknown_key_of_the_engine_is_a_warning() {
    let checked = check("engine: {enabled: true, intervall: 5m}");
    assert_eq!(checked.problems[0].hint.as_deref(), Some("did you mean `interval`?"));
    assert!(checked.config.engine.enabled);
}
