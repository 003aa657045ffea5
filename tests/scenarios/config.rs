//! `config.yaml`: what it gives, what is said of what is wrong in it, and what stays in force.

mod edits;
mod in_force;

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
    preset: docs-site
    mode: act
    act: [merge]
    policy: {review: {requiredChecks: [{name: test, skippable: true}]}, engine: {requiredChecks: [test]}}
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
    assert_eq!(config.repositories[0].engine.required_checks, ["test"]);
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
