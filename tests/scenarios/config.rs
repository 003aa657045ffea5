//! `config.yaml`: what it gives, what is said of what is wrong in it, and what stays in force.

use std::path::{Path, PathBuf};

use rstest::rstest;
use steward_core::config::{
    self, Checked, Effective, ForgeChoice, Origin, RepoMode, Severity, WorkspaceMatch,
};
use steward_rules::review::gate::GateId;

fn check(text: &str) -> Checked {
    config::check(text, Some(Path::new("/home/octo"))).unwrap()
}

fn origin<'c>(checked: &'c Checked, key: &str) -> &'c Effective {
    checked.effective.iter().find(|line| line.key == key).unwrap_or_else(|| panic!("no {key}"))
}

const WHOLE: &str = r"
accounts:
  - host: github.com            # or a GitHub Enterprise host
    login: octo-maintainer
workspaces:
  - title: app
    path: ~/src/app
    forge: none
    policy: {review: {integrationBranch: develop, gatesOff: [no_churn], widths: [800]}}
review: {enabled: true, autoReview: [app], budgetUsd: 2, maxBudgetUsd: 4, maxMinutes: 30}
agents:
  reviewer: {adapter: claude, model: claude-opus-5-5}
spend: {dailyUsd: 10, monthlyUsd: 100}
engine: {enabled: true, interval: 10m}
commit: {name: Octo, email: octo@example.org, signoff: true}
repositories:
  - name: owner/repo
    account: octo-maintainer
    preset: code-app
    mode: act
    act: [merge]
    policy: {review: {requiredChecks: [{name: test, skippable: true}]}, engine: {base: main}}
memory: {enabled: false}
questions: {enabled: false}
pipelines: [{spec: ~/pipelines/issue-fix.json}]
notifications: {quietHours: 22:00-07:00}
retention: {logsDays: 3}
editor: code -g '{file}:{line}'
";

#[test]
fn a_whole_file_is_read_without_a_word() {
    let checked = check(WHOLE);
    assert_eq!(checked.problems, []);
    let config = &checked.config;
    let WorkspaceMatch::One(app) = config.workspace("app") else { panic!("{config:?}") };
    assert_eq!(app.path, PathBuf::from("/home/octo/src/app"));
    assert_eq!(app.forge, ForgeChoice::None);
    assert_eq!(app.integration_branch.as_deref(), Some("develop"));
    let policy = app.policy.as_ref().expect("its own policy");
    assert_eq!(policy.gates_off, [GateId::NoChurn]);
    assert_eq!(policy.widths, [800]);
    assert!(config.review.enabled && config.reviews_by_itself("app"));
    assert_eq!((config.review.budget_usd, config.review.max_budget_usd), (2.0, 4.0));
    assert_eq!(config.repositories[0].mode, RepoMode::Act);
    assert!(config.repositories[0].policy.required_checks[0].skippable);
    assert!(config.engine.enabled && config.pipelines.enabled && !config.memory.enabled);
    assert_eq!(config.retention.logs_days, 3);
    assert_eq!(config.editor.as_deref().unwrap(), ["code", "-g", "{file}:{line}"]);
    assert_eq!(origin(&checked, "review.maxMinutes").origin, Origin::File { line: 10 });
    assert_eq!(origin(&checked, "review.maxReviewsPerHour").origin, Origin::Default);
}

#[rstest]
#[case("")]
#[case("# nothing yet\n")]
#[case("review:\nworkspaces:\n")]
fn a_file_that_says_nothing_gives_the_defaults(#[case] text: &str) {
    let checked = check(text);
    assert_eq!(checked.problems, []);
    assert_eq!(checked.config, check("").config);
    assert!(!checked.config.review.enabled);
    assert_eq!(checked.config.spend.daily_usd, 10.0);
}

/// C9 and C10: absent or 0 is the default, above the ceiling is clamped, anything else disables.
#[rstest]
#[case("budgetUsd: 0", "review.budgetUsd", 1.5, None)]
#[case("budgetUsd: 9", "review.budgetUsd", 5.0, Some(Severity::Warning))]
#[case("budgetUsd: 4.5", "review.budgetUsd", 4.5, None)]
#[case("budgetUsd: 4.5, maxBudgetUsd: 3", "review.budgetUsd", 3.0, Some(Severity::Warning))]
#[case("maxBudgetUsd: 1", "review.budgetUsd", 1.0, None)]
#[case("maxBudgetUsd: 50", "review.maxBudgetUsd", 5.0, Some(Severity::Warning))]
#[case("maxMinutes: 240", "review.maxMinutes", 60.0, Some(Severity::Warning))]
#[case("maxMinutes: 60", "review.maxMinutes", 60.0, None)]
#[case("maxReviewsPerHour: 100", "review.maxReviewsPerHour", 24.0, Some(Severity::Warning))]
#[case("maxReviewsPerTask: 100", "review.maxReviewsPerTask", 100.0, None)]
#[case("maxTurns: 0", "review.maxTurns", 60.0, None)]
#[case("budgetUsd: -1", "review.enabled", 0.0, Some(Severity::Error))]
#[case("budgetUsd: .nan", "review.enabled", 0.0, Some(Severity::Error))]
#[case("budgetUsd: .inf", "review.enabled", 0.0, Some(Severity::Error))]
#[case("budgetUsd: '2'", "review.enabled", 0.0, Some(Severity::Error))]
#[case("maxMinutes: 20.5", "review.enabled", 0.0, Some(Severity::Error))]
#[case("maxMinutes: [20]", "review.enabled", 0.0, Some(Severity::Error))]
#[case("maxTurns: -3", "review.enabled", 0.0, Some(Severity::Error))]
#[case("autoReview: app", "review.enabled", 0.0, Some(Severity::Error))]
#[case("annotate: yes", "review.enabled", 0.0, Some(Severity::Error))]
fn limits_of_a_review(
    #[case] keys: &str,
    #[case] key: &str,
    #[case] expected: f64,
    #[case] severity: Option<Severity>,
) {
    let checked = check(&format!("review: {{enabled: true, {keys}}}\nspend: {{dailyUsd: 3}}\n"));
    let value = &origin(&checked, key).value;
    assert_eq!(value.as_f64().or(value.as_bool().map(|on| f64::from(u8::from(on)))), Some(expected));
    assert_eq!(checked.problems.first().map(|problem| problem.severity), severity, "{:?}", checked.problems);
    let broken = severity == Some(Severity::Error);
    assert_eq!(checked.config.review.enabled, !broken);
    assert_eq!(checked.config.review.disabled_by.is_some(), broken);
    assert_eq!(checked.config.spend.daily_usd, 3.0, "the rest stays in force");
}

#[rstest]
#[case("review: {enabeld: true}", "review.enabeld", "did you mean `enabled`?")]
#[case("workspace: []", "workspace", "did you mean `workspaces`?")]
#[case("review: {budgetUSD: 3}", "review.budgetUSD", "did you mean `budgetUsd`?")]
#[case("agents: {reveiwer: {}}", "agents.reveiwer", "did you mean `reviewer`?")]
fn an_unknown_key_is_a_warning_that_guesses(#[case] text: &str, #[case] key: &str, #[case] hint: &str) {
    let checked = check(text);
    let [problem] = checked.problems.as_slice() else { panic!("{:?}", checked.problems) };
    assert_eq!((problem.severity, problem.key.as_str()), (Severity::Warning, key));
    assert_eq!(problem.hint.as_deref(), Some(hint));
}

#[test]
fn an_unknown_key_that_resembles_nothing_gets_no_guess() {
    assert_eq!(check("zebra: 1").problems[0].hint, None);
}

#[test]
fn a_problem_names_line_column_and_shows_the_place() {
    let checked = check("spend:\n  dailyUsd: 10\nreview:\n  enabled: true\n  budgetUsd: minus\n");
    insta::assert_snapshot!(checked.problems[0].to_string(), @r"
    5:14: error: review.budgetUsd: this must be a number, it is a text
    5 |   budgetUsd: minus
      |              ^
    ");
}

#[rstest]
#[case("\u{1b}[31m")]
#[case("\u{202e}")]
#[case("\u{200b}")]
fn a_snippet_carries_no_misleading_characters_and_no_endless_line(#[case] hurt: &str) {
    let text = format!("review: {{budgetUsd: \"{hurt}{}\"}}\n", "x".repeat(5000));
    let shown = match config::check(&text, None) {
        Ok(checked) => checked.problems[0].to_string(),
        Err(problem) => problem.to_string(),
    };
    assert!(shown.contains("xxx") && !shown.contains(hurt) && shown.len() < 600, "{shown}");
}

/// A file that cannot be read as a whole.
#[rstest]
#[case::two_of_a_key("review: {}\nspend: {}\nreview: {}\n", 3, "a second time")]
#[case::not_closed("review: {enabled: true\n", 1, "")]
#[case::a_tab("review:\n\tenabled: true\n", 2, "tab")]
#[case::two_documents("review: {}\n---\nspend: {}\n", 2, "")]
#[case::a_list("- review\n", 1, "block of keys")]
#[case::a_merge("a: &a {x: 1}\nb: {<<: *a}\n", 2, "merge")]
fn a_file_that_does_not_parse_is_refused_with_its_place(
    #[case] text: &str,
    #[case] line: u32,
    #[case] word: &str,
) {
    let problem = config::check(text, None).unwrap_err();
    assert_eq!((problem.severity, problem.line), (Severity::Fatal, line), "{problem}");
    assert!(problem.message.contains(word), "{problem}");
}

#[test]
fn a_bomb_is_refused_before_it_unfolds() {
    let mut text = String::from("l0: &l0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..9 {
        let refs = vec![format!("*l{}", level - 1); 9].join(", ");
        text.push_str(&format!("l{level}: &l{level} [{refs}]\n"));
    }
    assert_eq!(config::check(&text, None).unwrap_err().severity, Severity::Fatal);
    let deep = format!("review: {}{}", "[".repeat(5000), "]".repeat(5000));
    assert_eq!(config::check(&deep, None).unwrap_err().severity, Severity::Fatal);
    let long = format!("# {}\n", "x".repeat(600 * 1024));
    assert_eq!(config::check(&long, None).unwrap_err().severity, Severity::Fatal);
}

#[test]
fn a_bad_workspace_is_off_and_the_others_stay() {
    let checked = check(
        "workspaces:\n  - nonsense\n  - {title: a, path: /a}\n  - {title: b, path: rel}\n  - {path: /c}\n  - {title: d, path: /d, forge: gitlab}\n  - {title: e, path: /e, policy: {review: {gatesOff: [no_secrets]}}}\n",
    );
    let titles: Vec<_> = checked.config.workspaces.iter().map(|workspace| workspace.title.as_str()).collect();
    assert_eq!(titles, ["a"]);
    let keys: Vec<_> = checked.problems.iter().map(|problem| problem.key.as_str()).collect();
    assert_eq!(
        keys,
        [
            "workspaces[0]",
            "workspaces[2].path",
            "workspaces[3].title",
            "workspaces[4].forge",
            "workspaces[5].policy.review.gatesOff[0]"
        ]
    );
}

#[test]
fn two_workspaces_of_one_title_match_neither_with_a_warning() {
    let checked = check(
        "workspaces: [{title: a, path: /a}, {title: a, path: /b}]\nreview: {enabled: true, autoReview: [a]}\n",
    );
    assert_eq!(checked.config.workspace("a"), WorkspaceMatch::Several);
    assert!(!checked.config.reviews_by_itself("a"));
    assert!(checked.config.review.enabled);
    assert!(checked.problems.iter().any(|problem| problem.key == "review.autoReview"));
}

#[test]
fn a_bad_cap_on_money_lets_nothing_start() {
    let checked = check("spend: {dailyUsd: -1, monthlyUsd: 50}\nreview: {enabled: true}\n");
    assert_eq!((checked.config.spend.daily_usd, checked.config.spend.monthly_usd), (0.0, 0.0));
    assert!(checked.config.review.enabled);
}

#[test]
fn the_schema_accepts_the_whole_file_and_refuses_wrong_types() {
    let schema = jsonschema::validator_for(&config::schema()).unwrap();
    let good = serde_json::json!({
        "workspaces": [{"title": "app", "path": "~/src/app"}],
        "review": {"enabled": true, "budgetUsd": 1.5, "autoReview": ["app"]},
        "repositories": [{"name": "o/r", "policy": {"review": {"requiredChecks": [{"name": "x"}]}}}],
        "engine": {"enabled": false, "interval": "10m"},
    });
    assert!(schema.is_valid(&good));
    assert!(!schema.is_valid(&serde_json::json!({"review": {"enabled": "yes"}})));
    assert!(!schema.is_valid(&serde_json::json!({"workspaces": {"title": "x"}})));
}

#[test]
fn export_config_schema() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../config.schema.json");
    let text = config::schema_text();
    if std::fs::read_to_string(path).is_ok_and(|found| found == text) {
        return;
    }
    std::fs::write(path, text).unwrap();
}

mod in_force {
    use std::time::{Duration, Instant};

    use steward_core::config::{ConfigWatch, LoadedFrom};
    use steward_core::home::Home;

    use crate::store::fresh;

    fn write(home: &Home, text: &str) {
        std::fs::write(home.config_file(), text).unwrap();
    }

    #[test]
    fn without_a_file_the_defaults_hold() {
        let (_folder, home) = fresh();
        let loaded = ConfigWatch::open(&home, None).current();
        assert_eq!(loaded.from, LoadedFrom::Defaults);
        assert_eq!(loaded.problems, []);
    }

    #[test]
    fn a_file_that_breaks_leaves_the_last_good_one_in_force_and_says_so() {
        let (_folder, home) = fresh();
        write(&home, "review: {enabled: true, maxMinutes: 7}\n");
        let watch = ConfigWatch::open(&home, None);
        assert_eq!(watch.current().config.review.max_minutes, 7);
        for broken in ["review: {enabled: true\n", "review: {}\nreview: {}\n", "- a\n"] {
            write(&home, broken);
            let loaded = watch.reread();
            assert_eq!(loaded.from, LoadedFrom::LastGood);
            assert!(loaded.config.review.enabled && loaded.config.review.max_minutes == 7);
            assert_eq!(loaded.problems.len(), 1);
            assert!(loaded.problems[0].hint.as_deref().unwrap().contains("stays in force"));
        }
        write(&home, "review: {enabled: true, maxMinutes: 8}\n");
        let loaded = watch.reread();
        assert_eq!((loaded.from, loaded.config.review.max_minutes), (LoadedFrom::File, 8));
        assert_eq!(loaded.problems, []);
    }

    #[test]
    fn the_last_good_one_survives_a_restart() {
        let (_folder, home) = fresh();
        write(&home, "review: {enabled: true, maxMinutes: 7}\n");
        drop(ConfigWatch::open(&home, None));
        std::fs::write(home.config_file(), b"review: {enabled: \xff}\n").unwrap();
        let loaded = ConfigWatch::open(&home, None).current();
        assert_eq!((loaded.from, loaded.config.review.max_minutes), (LoadedFrom::LastGood, 7));
        assert_eq!(loaded.problems[0].line, 1);
    }

    #[test]
    fn a_broken_first_file_leaves_everything_off() {
        let (_folder, home) = fresh();
        write(&home, "review: {enabled: true");
        let loaded = ConfigWatch::open(&home, None).current();
        assert_eq!(loaded.from, LoadedFrom::Defaults);
        assert!(!loaded.config.review.enabled && loaded.problems.len() == 1);
    }

    #[test]
    fn an_editor_that_empties_the_file_for_an_instant_changes_nothing() {
        let (_folder, home) = fresh();
        write(&home, "review: {enabled: true}\n");
        let watch = ConfigWatch::open(&home, None);
        write(&home, "");
        let path = home.config_file();
        let editor = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(40));
            std::fs::write(path, "review: {enabled: true, maxMinutes: 9}\n").unwrap();
        });
        let loaded = watch.reread();
        editor.join().unwrap();
        assert!(loaded.config.review.enabled);
        assert_eq!(loaded.config.review.max_minutes, 9);
    }

    #[test]
    fn a_file_that_stays_empty_gives_the_defaults() {
        let (_folder, home) = fresh();
        write(&home, "review: {enabled: true}\n");
        let watch = ConfigWatch::open(&home, None);
        write(&home, "");
        assert!(!watch.reread().config.review.enabled);
    }

    #[tokio::test]
    async fn a_change_is_noticed_also_through_a_rename() {
        let (_folder, home) = fresh();
        write(&home, "review: {maxMinutes: 7}\n");
        let watch = ConfigWatch::watch(&home, None).unwrap();
        let mut changes = watch.changes();
        let new = home.config_dir().join(".config.yaml.swp");
        std::fs::write(&new, "review: {maxMinutes: 9}\n").unwrap();
        std::fs::rename(&new, home.config_file()).unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while watch.current().config.review.max_minutes != 9 {
            let left = deadline.saturating_duration_since(Instant::now());
            tokio::time::timeout(left, changes.changed()).await.expect("noticed in time").unwrap();
        }
    }
}

mod edits {
    use proptest::prelude::*;
    use rstest::rstest;
    use steward_core::config::edit::{Edit, EditError, Scalar, apply, edit_file};
    use steward_core::config::{self, ForgeChoice, WorkspaceMatch};

    use crate::store::fresh;

    fn add(title: &str, path: &str) -> Edit {
        Edit::AddWorkspace { title: title.to_owned(), path: path.to_owned(), forge: ForgeChoice::GitHub }
    }
    fn remove(title: &str) -> Edit {
        Edit::RemoveWorkspace { title: title.to_owned() }
    }
    fn enabled(on: bool) -> Edit {
        Edit::Set { block: "review", key: "enabled", value: Scalar::Bool(on) }
    }

    #[rstest]
    #[case::nothing("", enabled(true), "review:\n  enabled: true\n")]
    #[case::comments("# mine\n", enabled(true), "# mine\nreview:\n  enabled: true\n")]
    #[case::no_newline("spend: {}", enabled(true), "spend: {}\nreview:\n  enabled: true\n")]
    #[case::value("review:\n  enabled: false # no\n", enabled(true), "review:\n  enabled: true # no\n")]
    #[case::flow("review: { enabled: false }  # x\n", enabled(true), "review: { enabled: true }  # x\n")]
    #[case::flow_absent(
        "review: {maxMinutes: 3}\n",
        enabled(true),
        "review: {maxMinutes: 3, enabled: true}\n"
    )]
    #[case::flow_empty("review: {}\n", enabled(true), "review: {enabled: true}\n")]
    #[case::flow_comma(
        "review: {maxMinutes: 3, }\n",
        enabled(true),
        "review: {maxMinutes: 3, enabled: true }\n"
    )]
    #[case::no_value(
        "review: # later\nspend: {}\n",
        enabled(true),
        "review: # later\n  enabled: true\nspend: {}\n"
    )]
    #[case::null("review: ~\n", enabled(true), "review: {enabled: true}\n")]
    #[case::key_without_value("review:\n  enabled:\n", enabled(true), "review:\n  enabled: true\n")]
    #[case::after_the_last(
        "review:\n    maxMinutes: 3 # c\n\n# next\nspend: {}\n",
        enabled(true),
        "review:\n    maxMinutes: 3 # c\n    enabled: true\n\n# next\nspend: {}\n"
    )]
    #[case::after_a_list(
        "review:\n  autoReview:\n    - a\n    - b\nspend: {}\n",
        enabled(true),
        "review:\n  autoReview:\n    - a\n    - b\n  enabled: true\nspend: {}\n"
    )]
    #[case::windows(
        "review:\r\n  maxMinutes: 3\r\n",
        enabled(true),
        "review:\r\n  maxMinutes: 3\r\n  enabled: true\r\n"
    )]
    #[case::first_workspace(
        "# hi\n",
        add("app", "~/src/app"),
        "# hi\nworkspaces:\n  - title: app\n    path: ~/src/app\n"
    )]
    #[case::odd_title(
        "",
        add("a: b # c", "/x y"),
        "workspaces:\n  - title: \"a: b # c\"\n    path: \"/x y\"\n"
    )]
    #[case::word_title("", add("yes", "/x"), "workspaces:\n  - title: \"yes\"\n    path: /x\n")]
    #[case::second(
        "workspaces:\n- title: a   # one\n  path: /a\n# end\n",
        add("b", "/b"),
        "workspaces:\n- title: a   # one\n  path: /a\n- title: b\n  path: /b\n# end\n"
    )]
    #[case::flow_list(
        "workspaces: [{title: a, path: /a}]\n",
        add("b", "/b"),
        "workspaces: [{title: a, path: /a}, {title: b, path: /b}]\n"
    )]
    #[case::flow_list_empty("workspaces: []\n", add("b", "/b"), "workspaces: [{title: b, path: /b}]\n")]
    #[case::remove_first(
        "workspaces:\n  - title: a\n    path: /a\n  # about b\n  - title: b\n    path: /b\n",
        remove("a"),
        "workspaces:\n  # about b\n  - title: b\n    path: /b\n"
    )]
    #[case::remove_only(
        "workspaces:\n  - {title: a, path: /a} # x\nspend: {}\n",
        remove("a"),
        "workspaces:\nspend: {}\n"
    )]
    #[case::remove_flow(
        "workspaces: [{title: a, path: /a}, {title: b, path: /b}]\n",
        remove("b"),
        "workspaces: [{title: a, path: /a}]\n"
    )]
    #[case::remove_flow_first(
        "workspaces: [{title: a, path: /a}, {title: b, path: /b}]\n",
        remove("a"),
        "workspaces: [{title: b, path: /b}]\n"
    )]
    fn an_edit_changes_its_place_and_no_other_byte(
        #[case] text: &str,
        #[case] edit: Edit,
        #[case] expected: &str,
    ) {
        assert_eq!(apply(text, &edit).unwrap(), expected);
    }

    #[rstest]
    #[case::broken("review: {", enabled(true))]
    #[case::an_alias("a: &x {enabled: false}\nreview: *x\n", enabled(true))]
    #[case::a_scalar("review: 3\n", enabled(true))]
    #[case::known_title("workspaces: [{title: a, path: /a}]\n", add("a", "/b"))]
    #[case::unknown_title("workspaces: [{title: a, path: /a}]\n", remove("b"))]
    #[case::two_of_a_title("workspaces: [{title: a, path: /a}, {title: a, path: /b}]\n", remove("a"))]
    #[case::a_comment_between(
        "workspaces: [{title: a, path: /a}, # x\n  {title: b, path: /b}]\n",
        remove("a")
    )]
    fn a_file_that_cannot_be_changed_safely_is_left_alone(#[case] text: &str, #[case] edit: Edit) {
        assert!(apply(text, &edit).is_err());
    }

    #[test]
    fn the_first_edit_writes_the_template_for_the_person_alone() {
        let (_folder, home) = fresh();
        edit_file(&home, None, &add("app", "/src/app")).unwrap();
        edit_file(&home, None, &enabled(true)).unwrap();
        let text = std::fs::read_to_string(home.config_file()).unwrap();
        assert!(text.starts_with(config::TEMPLATE));
        let checked = config::check(&text, None).unwrap();
        assert_eq!(checked.problems, []);
        assert!(checked.config.review.enabled);
        assert!(matches!(checked.config.workspace("app"), WorkspaceMatch::One(_)));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(home.config_file().metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(
            std::fs::read_dir(home.config_dir())
                .unwrap()
                .filter(|entry| { entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(".new") })
                .count(),
            0
        );
    }

    #[test]
    fn an_edit_that_would_be_an_error_is_refused_and_old_errors_are_no_hindrance() {
        let (_folder, home) = fresh();
        let text = "review: {budgetUsd: -1}\n";
        std::fs::write(home.config_file(), text).unwrap();
        let refused = edit_file(&home, None, &add("app", "relative"));
        assert!(matches!(refused, Err(EditError::Refused(_))), "{refused:?}");
        assert_eq!(std::fs::read_to_string(home.config_file()).unwrap(), text);
        edit_file(&home, None, &add("app", "/src/app")).unwrap();
    }

    /// What the template shows in comments is right, too.
    #[test]
    fn every_example_of_the_template_is_valid() {
        let shown: String = config::TEMPLATE
            .lines()
            .filter_map(|line| line.strip_prefix("# "))
            .filter(|line| line.starts_with(' ') || line.split(' ').next().unwrap().ends_with(':'))
            .map(|line| format!("{line}\n"))
            .collect();
        let checked = config::check(&shown, Some(std::path::Path::new("/home/octo"))).unwrap();
        assert_eq!(checked.problems, [], "{shown}");
        assert!(checked.config.reviews_by_itself("app"));
    }

    fn comment() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec!["", " # c", "   # review: {enabled: true}"])
    }

    /// Files as people write them: blocks and braces, comments, blank lines, odd indents.
    fn file() -> impl Strategy<Value = String> {
        let title = prop::sample::select(vec!["app", "'web'", "\"a b\"", "ünï"]);
        let item = (title, comment(), any::<bool>(), 0..2_usize);
        let workspaces = (prop::collection::vec(item, 0..4), 0..3_usize, any::<bool>(), comment()).prop_map(
            |(items, indent, flow, end)| {
                let mut seen = std::collections::BTreeSet::new();
                let items: Vec<_> = items.into_iter().filter(|item| seen.insert(item.0)).collect();
                if flow {
                    let items: Vec<_> =
                        items.iter().map(|(title, ..)| format!("{{title: {title}, path: /p}}")).collect();
                    return format!("workspaces: [{}]{end}\n", items.join(", "));
                }
                let pad = " ".repeat(indent);
                let mut text = format!("workspaces:{end}\n");
                for (title, comment, braces, blank) in items {
                    if braces {
                        text.push_str(&format!("{pad}- {{title: {title}, path: /p}}{comment}\n"));
                    } else {
                        text.push_str(&format!("{pad}- title: {title}{comment}\n{pad}  path: /p{comment}\n"));
                    }
                    text.push_str(&"\n# between\n".repeat(blank));
                }
                text
            },
        );
        let review = (0..6_usize, comment(), 1..5_usize).prop_map(|(form, end, indent)| {
            let pad = " ".repeat(indent);
            match form {
                0 => String::new(),
                1 => format!("review:{end}\n"),
                2 => format!("review: {{}}{end}\n"),
                3 => format!("review: {{maxMinutes: 3}}{end}\n"),
                4 => format!("review:\n{pad}# inside\n{pad}enabled: false{end}\n{pad}maxMinutes: 3\n"),
                _ => format!("review:\n{pad}autoReview:\n{pad}- app{end}\n\n"),
            }
        });
        let rest = prop::sample::select(vec![
            "",
            "# end\n",
            "spend: {dailyUsd: 3} # d\n",
            "engine:\n  x:\n    - 1\n",
            "editor: vim",
        ]);
        (workspaces, review, rest, any::<bool>(), any::<bool>()).prop_map(|(a, b, rest, swap, windows)| {
            let text = if swap { format!("{b}{a}{rest}") } else { format!("# top\n\n{a}{b}{rest}") };
            if windows { text.replace('\n', "\r\n") } else { text }
        })
    }

    /// The new text with one insertion taken out is the old one.
    fn is_insertion(old: &str, new: &str) -> bool {
        let front = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
        let back = old.bytes().rev().zip(new.bytes().rev()).take_while(|(a, b)| a == b).count();
        new.len() > old.len() && front + back >= old.len()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn adding_a_workspace_only_inserts_and_removing_it_goes_back(text in file(), title in "[a-z:#' ]{1,8}[a-z]", path in "/[ -~]{0,12}") {
            let added = apply(&text, &add(&title, &path)).unwrap();
            prop_assert!(is_insertion(&text, &added), "{text:?} -> {added:?}");
            let back = apply(&added, &remove(&title)).unwrap();
            prop_assert_eq!(&config::check(&back, None).unwrap().config, &config::check(&text, None).unwrap().config);
            prop_assert!(back == text || is_insertion(&text, &back), "{text:?} -> {back:?}");
        }

        #[test]
        fn setting_a_key_changes_one_value_and_setting_it_again_nothing(text in file(), minutes in 1..60_i64) {
            let edit = Edit::Set { block: "review", key: "maxMinutes", value: Scalar::Int(minutes) };
            let once = apply(&text, &edit).unwrap();
            prop_assert_eq!(i64::from(config::check(&once, None).unwrap().config.review.max_minutes), minutes);
            prop_assert_eq!(apply(&once, &edit).unwrap(), once.clone());
            for line in text.lines().filter(|line| !line.contains("maxMinutes") && !line.starts_with("review:")) {
                prop_assert!(once.lines().any(|kept| kept == line), "{line:?} is gone from {once:?}");
            }
        }

        #[test]
        fn no_text_makes_an_edit_panic_or_leave_a_file_that_does_not_parse(text in "[a-z:#{}\\[\\]\\-, \n'\"&*~]{0,60}") {
            for edit in [enabled(true), add("t", "/p"), remove("a")] {
                if let Ok(new) = apply(&text, &edit) {
                    prop_assert!(config::raw::parse(&new).is_ok());
                }
            }
        }
    }
}
