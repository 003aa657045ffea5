//! The mechanical rebase: each commit onto the base, data by the driver, anything else refuses.

use steward_core::git::BareClone;
use steward_core::git::merge::tree_of;
use steward_core::loops::engine::rebase::{Rebase, Stopped, rebase};
use steward_kit::git::Repo;
use steward_rules::diff::RepoPath;
use steward_rules::engine::drivers::Refusal;
use steward_rules::engine::policy::Policy;
use steward_rules::engine::verify::Refused;
use steward_rules::ids::Sha;
use tokio_util::sync::CancellationToken;

use super::stage::{CHECK, FORMAT, Stage, sha, steward, works};

async fn onto(stage: &Stage, policy: &Policy, head: &str, base: &str) -> (BareClone, Result<Sha, Stopped>) {
    let clone = stage.clone();
    let tools = stage.tools(policy).await;
    let folder = stage.home.outside("laid");
    let _ = std::fs::remove_dir_all(&folder);
    let order = Rebase {
        clone: &clone,
        policy,
        tools: &tools,
        head: &sha(head),
        base: &sha(base),
        committer: &steward(),
        signoff: true,
        folder: &folder,
        now: chrono::DateTime::from_timestamp(1_800_000_000, 0).unwrap(),
    };
    let made = rebase(&order, &CancellationToken::new()).await.expect("it can be tried");
    (clone, made)
}

/// A file of a commit, by git itself.
fn show(clone: &BareClone, commit: &Sha, path: &str) -> String {
    Repo::at(clone.dir()).git(&["show", &format!("{commit}:{path}")])
}

/// Two branches from the first commit: `change` with these commits, and `main` with this one.
fn fork(stage: &Stage, change: &[(&str, Option<&[u8]>)], base: &[(&str, Option<&[u8]>)]) -> (String, String) {
    stage.repo.git(&["checkout", "--quiet", "-b", "change"]);
    let head = stage.repo.commit("the change\n\nits reason\n", change);
    stage.repo.git(&["checkout", "--quiet", "main"]);
    let base = stage.repo.commit("the base moves", base);
    (head, base)
}

#[tokio::test]
async fn each_commit_stands_on_the_base_with_its_author_and_our_committer() {
    let stage = Stage::new();
    let policy = stage.policy(FORMAT, CHECK);
    stage.repo.git(&["checkout", "--quiet", "-b", "change"]);
    let mine = works(&[("alpha", "Alpha"), ("beta", "Beta"), ("delta", "Delta"), ("gamma", "Gamma")]);
    stage.repo.commit("add delta", &[("data/works/a.json", Some(&mine))]);
    let head = stage.repo.commit("another file", &[("data/works/b.json", Some(&works(&[("zeta", "Zeta")])))]);
    stage.repo.git(&["checkout", "--quiet", "main"]);
    let theirs = works(&[("alpha", "Alpha"), ("beta", "Beta"), ("epsilon", "Epsilon"), ("gamma", "Gamma")]);
    let base = stage.repo.commit("add epsilon", &[("data/works/a.json", Some(&theirs))]);
    let (clone, made) = onto(&stage, &policy, &head, &base).await;
    let made = made.expect("the driver merges what git cannot");
    let git = Repo::at(clone.dir());
    let log = git.git(&[
        "log",
        "--format=%an|%cn|%ce|%s|%(trailers:key=Signed-off-by,valueonly,separator=%x2C)",
        &format!("{base}..{made}"),
    ]);
    assert_eq!(
        log.lines().collect::<Vec<_>>(),
        [
            "Ada Author|Octo Steward|steward@example.org|another file|Octo Steward <steward@example.org>",
            "Ada Author|Octo Steward|steward@example.org|add delta|Octo Steward <steward@example.org>",
        ]
    );
    assert_eq!(git.git(&["rev-parse", &format!("{made}~2")]), base);
    let all = works(&[
        ("alpha", "Alpha"),
        ("beta", "Beta"),
        ("delta", "Delta"),
        ("epsilon", "Epsilon"),
        ("gamma", "Gamma"),
    ]);
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&show(&clone, &made, "data/works/a.json")).unwrap(),
        serde_json::from_slice::<serde_json::Value>(&all).unwrap()
    );
    assert!(git.git(&["for-each-ref", "refs/heads", "refs/steward/work"]).is_empty(), "no ref names it yet");
}

#[tokio::test]
async fn a_key_added_on_both_sides_in_two_places_stands_once() {
    let stage = Stage::new();
    let policy = stage.policy(FORMAT, CHECK);
    // Two hunks far apart: git merges them by lines without a word, and the key would stand twice.
    let many = |first: bool, last: bool| {
        let keys: Vec<String> = (0..30).map(|n| format!("k{n:02}")).collect();
        let mut all: Vec<(&str, &str)> = keys.iter().map(|key| (key.as_str(), "T")).collect();
        if first {
            all.insert(1, ("same", "Same"));
        }
        if last {
            all.insert(25, ("same", "Same"));
        }
        works(&all)
    };
    stage.repo.commit("many", &[("data/works/m.json", Some(&many(false, false)))]);
    let (head, base) = fork(
        &stage,
        &[
            ("data/works/m.json", Some(&many(true, false))),
            ("data/works/n.json", Some(&works(&[("n", "N")]))),
        ],
        &[("data/works/m.json", Some(&many(false, true)))],
    );
    let (clone, made) = onto(&stage, &policy, &head, &base).await;
    let made = made.expect("the driver prevents it");
    assert_eq!(show(&clone, &made, "data/works/m.json").matches("\"same\"").count(), 1);
    let doubled =
        stage.repo.git(&["merge-file", "-p", "data/works/m.json", "data/works/m.json", "data/works/m.json"]);
    assert!(!doubled.is_empty());
}

#[tokio::test]
async fn a26_and_a29_are_refused_by_the_driver_and_code_by_git() {
    type Files<'a> = &'a [(&'a str, Option<&'a [u8]>)];
    let changed = works(&[("alpha", "Alpha"), ("beta", "Beta the second"), ("gamma", "Gamma")]);
    let without = works(&[("alpha", "Alpha"), ("gamma", "Gamma")]);
    let other = works(&[("alpha", "Alpha"), ("beta", "Beta the third"), ("gamma", "Gamma")]);
    let cases: [(&str, Files<'_>, Files<'_>, Stopped); 4] = [
        (
            "deleted here, changed there",
            &[("data/works/a.json", Some(&changed))],
            &[("data/works/a.json", Some(&without))],
            Stopped::Driver {
                path: RepoPath::from("data/works/a.json"),
                why: Refusal::DeletedAndChanged { key: "beta".to_owned() },
            },
        ),
        (
            "two values for one key",
            &[("data/works/a.json", Some(&changed))],
            &[("data/works/a.json", Some(&other))],
            Stopped::Driver {
                path: RepoPath::from("data/works/a.json"),
                why: Refusal::Contradiction { key: "beta.title".to_owned() },
            },
        ),
        (
            "redirects are no keyed file",
            &[("data/redirects.json", Some(b"{\n  \"old\": \"newer\"\n}\n"))],
            &[("data/redirects.json", Some(b"{\n  \"old\": \"newest\"\n}\n"))],
            Stopped::Driver { path: RepoPath::from("data/redirects.json"), why: Refusal::PlainText },
        ),
        (
            "a script",
            &[("tools/build.sh", Some(b"echo mine\necho two\n"))],
            &[("tools/build.sh", Some(b"echo theirs\necho two\n"))],
            Stopped::Conflict { path: RepoPath::from("tools/build.sh") },
        ),
    ];
    for (name, change, base, expected) in cases {
        let stage = Stage::new();
        let policy = stage.policy(FORMAT, CHECK);
        let (head, base) = fork(&stage, change, base);
        let (_, made) = onto(&stage, &policy, &head, &base).await;
        assert_eq!(made, Err(expected), "{name}");
    }
}

#[tokio::test]
async fn a_history_with_merges_is_one_change() {
    let stage = Stage::new();
    let policy = stage.policy(FORMAT, CHECK);
    stage.repo.git(&["checkout", "--quiet", "-b", "change"]);
    stage.repo.commit("first", &[("data/works/b.json", Some(&works(&[("b", "B")])))]);
    stage.repo.git(&["checkout", "--quiet", "main"]);
    stage.repo.commit("the base moves", &[("data/works/c.json", Some(&works(&[("c", "C")])))]);
    stage.repo.git(&["checkout", "--quiet", "change"]);
    stage.repo.git(&["merge", "--quiet", "--no-ff", "-m", "take the base", "main"]);
    let head = stage.repo.commit("second", &[("data/works/d.json", Some(&works(&[("d", "D")])))]);
    stage.repo.git(&["checkout", "--quiet", "main"]);
    let base = stage.repo.commit("and again", &[("data/works/e.json", Some(&works(&[("e", "E")])))]);
    let (clone, made) = onto(&stage, &policy, &head, &base).await;
    let made = made.expect("it is put onto the base");
    let git = Repo::at(clone.dir());
    assert_eq!(git.git(&["rev-parse", &format!("{made}^")]), base);
    assert_eq!(
        git.git(&["diff-tree", "-r", "--name-only", &base, made.as_str()]),
        "data/works/b.json\ndata/works/d.json"
    );
}

#[tokio::test]
async fn what_is_on_the_base_already_is_nothing_and_a_new_head_is_up_to_date() {
    let stage = Stage::new();
    let policy = stage.policy(FORMAT, CHECK);
    let files: &[(&str, Option<&[u8]>)] = &[("data/works/b.json", Some(b"{\n  \"b\": {}\n}\n"))];
    let (head, base) = fork(&stage, files, files);
    let (_, made) = onto(&stage, &policy, &head, &base).await;
    assert_eq!(made, Err(Stopped::Nothing));
    let first = stage.repo.git(&["rev-parse", "main~1"]);
    let (_, made) = onto(&stage, &policy, &head, &first).await;
    assert_eq!(made, Err(Stopped::UpToDate));
}

#[tokio::test]
async fn the_formatter_writes_into_the_result_and_the_validator_may_refuse_it() {
    let spaced = b"{\n  \"b\": {\"title\": \"B\"}   \n}\n";
    let broken = b"{\n  \"b\": {\"title\": \"BROKEN\"}\n}\n";
    let base: &[(&str, Option<&[u8]>)] = &[("README.md", Some(b"moved\n"))];
    let stage = Stage::new();
    let policy = stage.policy(FORMAT, CHECK);
    let (head, tip) = fork(&stage, &[("data/works/b.json", Some(spaced))], base);
    let (clone, made) = onto(&stage, &policy, &head, &tip).await;
    let made = made.expect("it is rebased");
    assert_eq!(show(&clone, &made, "data/works/b.json"), "{\n  \"b\": {\"title\": \"B\"}\n}");
    assert_ne!(tree_of(&clone, &made).unwrap(), tree_of(&clone, &sha(&head)).unwrap());

    let stage = Stage::new();
    let policy = stage.policy(FORMAT, CHECK);
    let (head, tip) = fork(&stage, &[("data/works/b.json", Some(broken))], base);
    let (_, made) = onto(&stage, &policy, &head, &tip).await;
    let refused = Refused::Tool { name: "the validator".to_owned(), exit: Some(3) };
    assert_eq!(made, Err(Stopped::Refused(refused)));

    let stage = Stage::new();
    let loses = "#!/bin/sh\nprintf '{}\\n' > data/works/a.json\n";
    let policy = stage.policy(loses, CHECK);
    let (head, tip) = fork(&stage, &[("data/works/b.json", Some(b"{\n  \"b\": {}\n}\n"))], base);
    let (_, made) = onto(&stage, &policy, &head, &tip).await;
    assert!(matches!(&made, Err(Stopped::Unkept { entries }) if entries.len() == 3), "{made:?}");

    let stage = Stage::new();
    let strays = "#!/bin/sh\necho x > tools/new.sh\n";
    let policy = stage.policy(strays, CHECK);
    let (head, tip) = fork(&stage, &[("data/works/b.json", Some(b"{\n  \"b\": {}\n}\n"))], base);
    let (_, made) = onto(&stage, &policy, &head, &tip).await;
    assert!(matches!(&made, Err(Stopped::Refused(Refused::Path { .. }))), "{made:?}");
}
