//! Section 9: what an agent left is judged in order, and the first fault discards it.

use steward_rules::diff::{Kind, RepoPath};
use steward_rules::engine::entries::{EntryDiff, EntryKey};
use steward_rules::engine::ladder::TooMuch;
use steward_rules::engine::paths::NotData;
use steward_rules::engine::policy::Policy;
use steward_rules::engine::retry::TaskEnd;
use steward_rules::engine::verify::*;
use steward_rules::reading::Reading;
use steward_rules::secret::{Place, SecretHit, SecretReport, Tier};
use steward_rules::wording::engine as say;

use super::world::{entries, policy, strings, unread};

fn change(path: &str) -> Change {
    Change { path: RepoPath::from(path), old_path: None, kind: Kind::File }
}

fn tool(name: &str, exit: Option<i32>) -> ToolEnd {
    ToolEnd { name: name.to_owned(), exit }
}

fn good() -> Left {
    Left {
        processes: Reading::known(0),
        git_touched: Reading::known(Vec::new()),
        changes: Reading::known(vec![change("data/works/a.json")]),
        tree: Reading::known(vec![RepoPath::from("data/works/a.json"), RepoPath::from("README.md")]),
        tools: Reading::known(vec![tool("metafmt", Some(0)), tool("metacheck", Some(0))]),
        entries: entries(1),
        secrets: Reading::known(SecretReport { lines: 3, ..SecretReport::default() }),
    }
}

fn refused(spoil: impl FnOnce(&mut Left)) -> Refused {
    let mut left = good();
    spoil(&mut left);
    verify(&left, &policy(), None).unwrap_err()
}

fn changed(changes: &[Change]) -> Refused {
    refused(|left| left.changes = Reading::known(changes.to_vec()))
}

fn hit(tier: Tier) -> SecretHit {
    SecretHit {
        rule: "github-pat".to_owned(),
        family: "GitHub personal access token".to_owned(),
        tier,
        place: Place::Line { commit: String::new(), path: "data/a".to_owned(), line: 1 },
        prefix: "ghp_".to_owned(),
        line_hash: String::new(),
    }
}

#[test]
fn what_is_right_in_every_way_may_be_pushed() {
    assert_eq!(verify(&good(), &policy(), None), Ok(()));
    let deleted = Change { kind: Kind::Absent, ..change("data/works/a.json") };
    let left = Left { changes: Reading::known(vec![deleted]), ..good() };
    assert_eq!(verify(&left, &policy(), None), Ok(()));
    let generic = SecretReport { hits: vec![hit(Tier::Generic)], ..SecretReport::default() };
    assert_eq!(verify(&Left { secrets: Reading::known(generic), ..good() }, &policy(), None), Ok(()));
}

#[test]
fn a21_each_fault_discards_it_and_spends_the_attempt() {
    let git = || vec!["HEAD".to_owned()];
    assert_eq!(refused(|left| left.processes = Reading::known(1)), Refused::Processes { alive: 1 });
    let touched = refused(|left| left.git_touched = Reading::known(git()));
    assert_eq!(touched, Refused::GitTouched { what: git() });
    let nothing = changed(&[]);
    assert_eq!((&nothing, nothing.end()), (&Refused::Nothing, TaskEnd::NoChange));
    let workflow = changed(&[change("data/a"), change(".github/workflows/x.yml")]);
    let path = RepoPath::from(".github/workflows/x.yml");
    assert_eq!(workflow, Refused::Path { path, why: NotData::Git });
    assert_eq!(workflow.end(), TaskEnd::Refused);
    for exit in [Some(1), Some(-1), None] {
        let failed =
            refused(|left| left.tools = Reading::known(vec![tool("fmt", Some(0)), tool("check", exit)]));
        assert_eq!(failed, Refused::Tool { name: "check".to_owned(), exit });
        assert!(failed.end().spends());
    }
    assert_eq!(refused(|left| left.tools = Reading::known(Vec::new())), Refused::NotValidated);
    let secret = SecretReport { hits: vec![hit(Tier::Generic), hit(Tier::High)], ..SecretReport::default() };
    let found = refused(|left| left.secrets = Reading::known(secret));
    assert_eq!(found, Refused::Secret { rule: "github-pat".to_owned() });
    let unseen = SecretReport { skipped_bytes: 1, ..SecretReport::default() };
    assert!(matches!(refused(|left| left.secrets = Reading::known(unseen)), Refused::Secret { .. }));
}

#[test]
fn only_regular_files_with_plain_names_inside_the_safe_paths() {
    let outside = changed(&[change("tools/x")]);
    assert_eq!(outside, Refused::Path { path: RepoPath::from("tools/x"), why: NotData::Outside });
    let renamed = Change { old_path: Some(RepoPath::from("tools/x")), ..change("data/x") };
    assert!(matches!(changed(&[renamed]), Refused::Path { why: NotData::Outside, .. }));
    assert_eq!(changed(&[change("data/.keep")]), Refused::Dotfile { path: RepoPath::from("data/.keep") });
    assert!(matches!(changed(&[change("data/.x/y")]), Refused::Dotfile { .. }));
    for kind in [Kind::Executable, Kind::Symlink, Kind::Submodule] {
        let odd = changed(&[Change { kind, ..change("data/x") }]);
        assert_eq!(odd, Refused::Mode { path: RepoPath::from("data/x"), kind });
    }
    for name in ["data/con.json", "data/a\u{202e}b", "data/a:b", "data/x ", "data/a\nb", "data/COM1"] {
        assert!(matches!(changed(&[change(name)]), Refused::OddName { .. }), "{name:?}");
    }
    // What goes away may have had any name.
    let gone = Change { kind: Kind::Absent, ..change("data/con.json") };
    let left = Left { changes: Reading::known(vec![gone]), ..good() };
    assert_eq!(verify(&left, &policy(), None), Ok(()));
}

#[test]
fn no_two_names_are_one_where_case_does_not_count() {
    let tree =
        |paths: &[&str]| Reading::known(paths.iter().map(|path| RepoPath::from(*path)).collect::<Vec<_>>());
    let twin = refused(|left| left.tree = tree(&["data/works/a.json", "data/works/A.json"]));
    let (path, with) = (RepoPath::from("data/works/a.json"), RepoPath::from("data/works/A.json"));
    assert_eq!(twin, Refused::Collision { path, with });
    // Twins that were there before are not the agent's.
    let left = Left { tree: tree(&["data/works/a.json", "x/b", "x/B"]), ..good() };
    assert_eq!(verify(&left, &policy(), None), Ok(()));
}

#[test]
fn a22_the_size_is_held_against_the_cap_and_the_pull_request() {
    let many = refused(|left| left.entries = entries(26));
    assert_eq!(many, Refused::TooMuch(TooMuch::Entries { touched: 26, cap: 25 }));
    assert_eq!(many.message(), "a batch import: 26 entries, and 25 are the most for one change");
    let pull = EntryDiff { added: [EntryKey::new("works", "other")].into(), ..EntryDiff::default() };
    let beyond = verify(&good(), &policy(), Some(&pull)).unwrap_err();
    assert_eq!(beyond.message(), "it touches what the pull request does not: works w0");
}

#[test]
fn what_could_not_be_read_is_not_pushed() {
    let cases: [fn(&mut Left); 7] = [
        |left| left.processes = unread(),
        |left| left.git_touched = unread(),
        |left| left.changes = unread(),
        |left| left.tree = unread(),
        |left| left.tools = unread(),
        |left| left.entries = unread(),
        |left| left.secrets = unread(),
    ];
    for spoil in cases {
        assert!(matches!(refused(spoil), Refused::Unread(_)));
    }
}

#[test]
fn the_first_fault_in_the_order_is_told() {
    let mut left = Left {
        processes: Reading::known(2),
        git_touched: Reading::known(strings(&["config"])),
        changes: Reading::known(vec![change("x")]),
        tools: Reading::known(vec![tool("metacheck", Some(1))]),
        entries: entries(26),
        secrets: Reading::known(SecretReport { hits: vec![hit(Tier::High)], ..SecretReport::default() }),
        ..good()
    };
    let mut said = Vec::new();
    let policy: Policy = policy();
    let mut next = |left: &Left| said.push(verify(left, &policy, None).unwrap_err().message());
    next(&left);
    left.processes = good().processes;
    next(&left);
    left.git_touched = good().git_touched;
    next(&left);
    left.changes = Reading::known(Vec::new());
    next(&left);
    left.tools = good().tools;
    next(&left);
    left.changes = good().changes;
    next(&left);
    left.entries = good().entries;
    next(&left);
    said.push(say::refused(&Refused::Processes { alive: 1 }));
    said.push(say::refused(&Refused::Dotfile { path: RepoPath::from("data/.x") }));
    said.push(say::refused(&Refused::Tool { name: "fmt".to_owned(), exit: None }));
    said.push(say::refused(&Refused::NotValidated));
    said.push(say::refused(&Refused::Secret { rule: say::not_scanned() }));
    insta::assert_snapshot!(said.join("\n"), @r"
    2 processes of the agent did not end
    git itself was changed: config
    code: x is outside the safe paths
    metacheck failed with 1
    nothing was changed
    a batch import: 26 entries, and 25 are the most for one change
    it holds a secret: github-pat
    1 process of the agent did not end
    data/.x is a dotfile
    fmt did not end by itself
    no validator ran over it
    it holds a secret: a part was too large to be looked at
    ");
}
