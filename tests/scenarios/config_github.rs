//! Accounts, repositories and the way to GitHub in the config file, and the edits of them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use proptest::prelude::*;
use rstest::rstest;
use steward_core::config::edit::{Edit, EditError, apply, edit_file_at_once};
use steward_core::config::{self, Checked, Fetch, Network, NetworkProxy, RepoMode};

use crate::store::fresh;

fn check(text: &str) -> Checked {
    config::check(text, Some(Path::new("/folk/anna"))).expect("it parses")
}

/// The key, line and message of the first error.
fn error(text: &str) -> (String, u32, String) {
    let checked = check(text);
    let found = checked.problems.iter().find(|problem| problem.severity == config::Severity::Error);
    let found = found.unwrap_or_else(|| panic!("no error in {text:?}: {:?}", checked.problems));
    (found.key.clone(), found.line, found.message.clone())
}

#[rstest]
#[case::absent("", 600)]
#[case::minutes("engine: {interval: 10m}", 600)]
#[case::seconds("engine: {interval: 90s}", 90)]
#[case::hours("engine: {enabled: false, interval: 1h}", 3600)]
#[case::least("engine: {interval: 60s}", 60)]
#[case::most("engine: {interval: 24h}", 86_400)]
fn the_interval_holds_whether_the_engine_is_on_or_not(#[case] text: &str, #[case] seconds: u64) {
    let checked = check(text);
    assert_eq!(checked.problems, []);
    assert_eq!(checked.config.engine.interval, Duration::from_secs(seconds));
    assert!(!checked.config.engine.enabled);
}

#[rstest]
#[case::too_short("59s")]
#[case::zero("0m")]
#[case::too_long("25h")]
#[case::no_unit("10")]
#[case::other_unit("1d")]
#[case::nothing("m")]
#[case::negative("-1m")]
#[case::huge("99999999999999999999h")]
#[case::overflow("9999999999999999h")]
#[case::words("ten minutes")]
#[case::space("10 m")]
fn a_bad_interval_is_an_error_at_its_key_and_the_default_holds(#[case] interval: &str) {
    let text = format!("engine:\n  enabled: true\n  interval: {interval:?}\n");
    let (key, line, _) = error(&text);
    assert_eq!((key.as_str(), line), ("engine.interval", 3));
    let checked = check(&text);
    assert_eq!(checked.config.engine.interval, Duration::from_secs(600));
    assert!(!checked.config.engine.enabled && checked.config.engine.disabled_by.is_some());
}

#[rstest]
#[case::absent("", NetworkProxy::Environment)]
#[case::none("network: {proxy: none}", NetworkProxy::None)]
#[case::http("network: {proxy: 'http://proxy:3128'}", NetworkProxy::Only("http://proxy:3128".to_owned()))]
#[case::https("network: {proxy: 'https://p.example.org/'}", NetworkProxy::Only("https://p.example.org/".to_owned()))]
#[case::password("network: {proxy: 'http://a:b@proxy:1'}", NetworkProxy::Only("http://a:b@proxy:1".to_owned()))]
#[case::six("network: {proxy: 'http://[::1]:1'}", NetworkProxy::Only("http://[::1]:1".to_owned()))]
fn the_proxy_is_the_environments_or_the_files(#[case] text: &str, #[case] expected: NetworkProxy) {
    let checked = check(text);
    assert_eq!(checked.problems, []);
    assert_eq!(checked.config.network, Network { proxy: expected, ..Network::default() });
    let shown: Vec<String> = checked.effective.iter().map(config::Effective::shown).collect();
    assert!(!shown.iter().any(|value| value.contains("a:b")), "{shown:?}");
}

#[rstest]
#[case::socks("socks5://proxy:1")]
#[case::bare("proxy:3128")]
#[case::no_host("http://")]
#[case::only_a_name("http://user@")]
#[case::space("http://pro xy:1")]
#[case::path("http://proxy/x")]
fn around_a_proxy_that_cannot_be_read_nothing_goes_out(#[case] proxy: &str) {
    let text = format!("network:\n  proxy: {proxy:?}\n");
    assert_eq!(error(&text).0, "network.proxy");
    assert!(check(&text).config.network.disabled_by.is_some());
}

#[test]
fn a_file_of_certificates_may_begin_at_home() {
    let network = check("network: {caFile: ~/ca.pem}").config.network;
    assert_eq!(network.ca_file, Some(PathBuf::from("/folk/anna/ca.pem")));
    assert_eq!(error("network: {caFile: ca.pem}").0, "network.caFile");
}

const TWO: &str = "accounts:\n  - {login: octo}\n  - {host: Git.Example.org, login: anna}\n";

#[test]
fn a_repository_is_read_as_the_account_it_names() {
    let text = format!(
        "{TWO}repositories:\n  - {{name: octo/app}}\n  - {{name: octo/lib, account: Anna, fetch: ssh}}\n  \
         - {{name: octo/web, account: anna@git.example.org}}\n"
    );
    let checked = check(&text);
    assert_eq!(checked.problems, []);
    let config = checked.config;
    let hosts: Vec<&str> = config.repositories.iter().map(|repository| config.host_of(repository)).collect();
    assert_eq!(hosts, ["github.com", "git.example.org", "git.example.org"]);
    let fetch: Vec<Fetch> = config.repositories.iter().map(|repository| repository.fetch).collect();
    assert_eq!(fetch, [Fetch::Https, Fetch::Ssh, Fetch::Https]);
}

#[rstest]
#[case::unknown_account(
    "repositories:\n  - name: octo/app\n    account: ocot\n",
    "repositories[0].account",
    6,
    "did you mean `octo`?"
)]
#[case::other_host(
    "repositories:\n  - name: octo/app\n    account: octo@git.example.org\n",
    "repositories[0].account",
    6,
    "`steward auth login` adds accounts"
)]
#[case::fetch(
    "repositories:\n  - name: octo/app\n    fetch: shh\n",
    "repositories[0].fetch",
    6,
    "did you mean `ssh`?"
)]
fn an_error_of_a_repository_stands_at_its_key_and_leaves_the_others(
    #[case] text: &str,
    #[case] key: &str,
    #[case] line: u32,
    #[case] hint: &str,
) {
    let text = format!("{TWO}{text}  - name: octo/other\n");
    let checked = check(&text);
    let [problem] = checked.problems.as_slice() else { panic!("{:?}", checked.problems) };
    assert_eq!((problem.key.as_str(), problem.line, problem.hint.as_deref()), (key, line, Some(hint)));
    let names: Vec<String> = checked.config.repositories.iter().map(|found| found.name.to_string()).collect();
    assert_eq!(names, ["octo/other"]);
}

#[rstest]
#[case::a_url("accounts:\n  - {host: 'https://github.com', login: a}\n", "accounts[0].host")]
#[case::a_path("accounts:\n  - {host: github.com/x, login: a}\n", "accounts[0].host")]
#[case::a_space("accounts:\n  - {host: 'git hub', login: a}\n", "accounts[0].host")]
#[case::no_login("accounts:\n  - {host: github.com}\n", "accounts[0].login")]
#[case::an_address("accounts:\n  - {login: a@github.com}\n", "accounts[0].login")]
#[case::twice("accounts:\n  - {login: a}\n  - {host: GitHub.com, login: A}\n", "accounts[1].login")]
fn an_account_that_means_nothing_is_an_error_at_its_key(#[case] text: &str, #[case] key: &str) {
    assert_eq!(error(text).0, key);
}

#[test]
fn a_login_on_two_hosts_is_a_warning_and_the_first_is_taken() {
    let text = "accounts: [{login: a}, {host: git.example.org, login: a}]\nrepositories: [{name: o/r, account: a}]\n";
    let checked = check(text);
    let [problem] = checked.problems.as_slice() else { panic!("{:?}", checked.problems) };
    assert_eq!(
        (problem.severity, problem.key.as_str()),
        (config::Severity::Warning, "repositories[0].account")
    );
    assert_eq!(checked.config.host_of(&checked.config.repositories[0]), "github.com");
}

fn account(login: &str) -> Edit {
    Edit::AddAccount { host: "github.com".to_owned(), login: login.to_owned() }
}

fn watch(name: &str, account: Option<&str>) -> Edit {
    Edit::AddRepository { name: name.to_owned(), account: account.map(str::to_owned), preset: None }
}

fn unwatch(name: &str) -> Edit {
    Edit::RemoveRepository { name: name.to_owned() }
}

fn mode(mode: RepoMode) -> Edit {
    Edit::SetMode { name: "octo/app".to_owned(), mode }
}

fn act(classes: &[&str]) -> Edit {
    Edit::SetAct {
        name: "octo/app".to_owned(),
        act: classes.iter().map(|class| (*class).to_owned()).collect(),
    }
}

fn checks(names: &[&str]) -> Edit {
    Edit::SetRequiredChecks {
        name: "octo/app".to_owned(),
        checks: names.iter().map(|name| (*name).to_owned()).collect(),
    }
}

#[rstest]
#[case::first_account(
    "# mine\n",
    account("octo"),
    "# mine\naccounts:\n  - host: github.com\n    login: octo\n"
)]
#[case::a_number_as_login("", account("007"), "accounts:\n  - host: github.com\n    login: \"007\"\n")]
#[case::second_account(
    "accounts:\n  - login: anna # me\n",
    account("octo"),
    "accounts:\n  - login: anna # me\n  - host: github.com\n    login: octo\n"
)]
#[case::account_of_the_default_host_goes(
    "accounts:\n  # the old one\n  - login: Octo\n  - login: anna\n",
    Edit::RemoveAccount { host: "github.com".to_owned(), login: "octo".to_owned() },
    "accounts:\n  # the old one\n  - login: anna\n"
)]
#[case::first_repository(
    "",
    watch("octo/app", None),
    "repositories:\n  - name: octo/app\n    mode: observe\n"
)]
#[case::of_an_account(
    "repositories: []\n",
    watch("octo/app", Some("anna@git.example.org")),
    "repositories: [{name: octo/app, account: \"anna@git.example.org\", mode: observe}]\n"
)]
#[case::repository_goes_with_its_policy(
    "repositories:\n  - name: Octo/App\n    policy:\n      review:\n        widths: [1, 2] # two\n  # next\n  - name: a/b\n",
    unwatch("octo/app"),
    "repositories:\n  # next\n  - name: a/b\n"
)]
#[case::mode_is_added(
    "repositories:\n  - name: octo/app # mine\n",
    mode(RepoMode::Suggest),
    "repositories:\n  - name: octo/app # mine\n    mode: suggest\n"
)]
#[case::mode_is_changed(
    "repositories:\n  - {name: octo/app, mode: observe} # mine\n",
    mode(RepoMode::Act),
    "repositories:\n  - {name: octo/app, mode: act} # mine\n"
)]
#[case::checks_of_a_repository_without_a_policy(
    "repositories:\n  - name: octo/app # mine\n  - name: a/b\n",
    checks(&["build", "site / check"]),
    "repositories:\n  - name: octo/app # mine\n    policy:\n      engine:\n        requiredChecks: [build, \"site / check\"]\n  - name: a/b\n"
)]
#[case::checks_beside_another_policy(
    "repositories:\n  - name: octo/app\n    policy: # strict\n      review:\n        widths: [1] # one\n    mode: act\n",
    checks(&["build"]),
    "repositories:\n  - name: octo/app\n    policy: # strict\n      review:\n        widths: [1] # one\n      engine:\n        requiredChecks: [build]\n    mode: act\n"
)]
#[case::checks_in_brackets(
    "repositories: [{name: octo/app, policy: {engine: {safePaths: [a/]}}}]\n",
    checks(&["build"]),
    "repositories: [{name: octo/app, policy: {engine: {safePaths: [a/], requiredChecks: [build]}}}]\n"
)]
#[case::checks_below_an_empty_key(
    "repositories:\n  - name: octo/app\n    policy:\n",
    checks(&["build"]),
    "repositories:\n  - name: octo/app\n    policy: {engine: {requiredChecks: [build]}}\n"
)]
#[case::checks_change_by_lines(
    "repositories:\n  - name: octo/app\n    policy:\n      engine:\n        requiredChecks:\n          - build # ours\n          - old\n        safePaths: [a/]\n",
    checks(&["build", "test"]),
    "repositories:\n  - name: octo/app\n    policy:\n      engine:\n        requiredChecks:\n          - build # ours\n          - test\n        safePaths: [a/]\n"
)]
#[case::act_is_added(
    "repositories:\n  - name: octo/app\n",
    act(&["label", "merge"]),
    "repositories:\n  - name: octo/app\n    act: [label, merge]\n"
)]
#[case::act_of_nothing("repositories:\n  - {name: octo/app}\n", act(&[]), "repositories:\n  - {name: octo/app, act: []}\n")]
#[case::act_without_value(
    "repositories:\n  - name: octo/app\n    act: # none yet\n",
    act(&["label"]),
    "repositories:\n  - name: octo/app\n    act: [label] # none yet\n"
)]
#[case::act_in_brackets(
    "repositories:\n  - name: octo/app\n    act: [merge, label] # both\n",
    act(&["label", "reply"]),
    "repositories:\n  - name: octo/app\n    act: [label, reply] # both\n"
)]
#[case::act_by_lines(
    "repositories:\n  - name: octo/app\n    act:\n      - merge # hm\n      # sure\n      - label\n    mode: act\n",
    act(&["reply", "label"]),
    "repositories:\n  - name: octo/app\n    act:\n      # sure\n      - label\n      - reply\n    mode: act\n"
)]
#[case::act_by_lines_at_the_keys_column(
    "repositories:\n- name: octo/app\n  act:\n  - merge\n  - label\n",
    act(&["merge"]),
    "repositories:\n- name: octo/app\n  act:\n  - merge\n"
)]
#[case::act_by_lines_to_nothing(
    "repositories:\n  - name: octo/app\n    act:\n      - merge\n# end\n",
    act(&[]),
    "repositories:\n  - name: octo/app\n    act:\n# end\n"
)]
fn an_edit_changes_its_place_and_no_other_byte(
    #[case] text: &str,
    #[case] edit: Edit,
    #[case] expected: &str,
) {
    assert_eq!(apply(text, &edit).unwrap(), expected);
}

#[rstest]
#[case::account_twice(
    "accounts: [{login: Octo}]\n",
    account("octo"),
    "account `octo@github.com` is there already"
)]
#[case::repository_twice(
    "repositories: [{name: Octo/App}]\n",
    watch("octo/app", None),
    "repository `octo/app` is there already"
)]
#[case::unknown("repositories: [{name: a/b}]\n", unwatch("octo/app"), "there is no repository `octo/app`")]
#[case::mode_of_unknown("", mode(RepoMode::Act), "there is no repository `octo/app`")]
fn an_edit_without_its_place_says_so(#[case] text: &str, #[case] edit: Edit, #[case] why: &str) {
    assert_eq!(apply(text, &edit).unwrap_err().to_string(), why);
}

#[rstest]
#[case::comment_in_brackets("repositories:\n  - name: octo/app\n    act: [merge, # why\n      label]\n", act(&["label"]))]
#[case::alias("x: &a [merge]\nrepositories:\n  - name: octo/app\n    act: *a\n", act(&["label"]))]
#[case::no_list("repositories:\n  - name: octo/app\n    act: {a: b}\n", act(&["label"]))]
fn a_list_that_cannot_be_changed_safely_is_left_alone(#[case] text: &str, #[case] edit: Edit) {
    assert!(matches!(apply(text, &edit), Err(EditError::Form)), "{text}");
}

#[test]
fn changes_made_together_stand_together_or_not_at_all() {
    let (_folder, home) = fresh();
    std::fs::write(home.config_file(), "repositories:\n  - name: octo/app\n").unwrap();
    edit_file_at_once(&home, None, &[mode(RepoMode::Act), act(&["label"])]).unwrap();
    let text = std::fs::read_to_string(home.config_file()).unwrap();
    assert_eq!(text, "repositories:\n  - name: octo/app\n    mode: act\n    act: [label]\n");
    for bad in [vec![mode(RepoMode::Observe), act(&["merg"])], vec![mode(RepoMode::Observe), unwatch("a/b")]]
    {
        assert!(edit_file_at_once(&home, None, &bad).is_err());
        assert_eq!(std::fs::read_to_string(home.config_file()).unwrap(), text);
    }
    let unknown = edit_file_at_once(&home, None, &[watch("a/b", Some("nobody"))]);
    assert!(matches!(unknown, Err(EditError::Refused(problem)) if problem.key == "repositories[1].account"));
}

proptest! {
    /// Whatever is listed and wanted, in whichever form: afterwards exactly the wanted stands there, in
    /// the order it had, and the comments are untouched.
    #[test]
    fn classes_end_up_as_wanted(
        before in proptest::sample::subsequence(config::CLASSES.to_vec(), 0..6),
        wanted in proptest::sample::subsequence(config::CLASSES.to_vec(), 0..6).prop_shuffle(),
        by_lines in any::<bool>(),
    ) {
        let list = if by_lines {
            let lines: String = before.iter().map(|class| format!("\n      # on {class}\n      - {class}")).collect();
            format!("    act:{lines}\n")
        } else {
            format!("    act: [{}]\n", before.join(", "))
        };
        let text = format!("# top\nrepositories:\n  - name: octo/app\n    preset: data-catalogue\n{list}    mode: act # m\n# end\n");
        let new = apply(&text, &act(&wanted)).unwrap();
        let mut found = check(&new).config.repositories[0].act.clone();
        let kept: Vec<&str> = before.iter().copied().filter(|class| wanted.contains(class)).collect();
        prop_assert_eq!(&found[..kept.len()], &kept[..]);
        let mut wanted: Vec<String> = wanted.iter().map(|class| (*class).to_owned()).collect();
        found.sort();
        wanted.sort();
        prop_assert_eq!(found, wanted);
        let comments = |text: &str| text.lines().filter(|line| line.contains('#')).count();
        prop_assert_eq!(comments(&new), comments(&text));
    }
}
