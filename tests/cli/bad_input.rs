//! Bad input gets a clear error and loses nothing.

use std::path::Path;

use rstest::rstest;
use steward_kit::git::{Repo, clone};
use steward_kit::home::TestHome;
use steward_kit::pty;

use crate::desk::{Desk, steward};

fn repo_with_commit(path: &Path) -> Repo {
    let repo = Repo::init(path);
    repo.commit("feat: x", &[("x", Some(b"x\n"))]);
    repo.commit("feat: y", &[("y", Some(b"y\n"))]);
    repo
}

#[rstest]
#[case("a folder", "not a git repository")]
#[case("absent", "not a git repository")]
#[case("bare", "bare")]
#[case("empty", "no commit")]
#[case("shallow", "shallow")]
fn a_folder_that_cannot_be_a_workspace_says_why_and_changes_nothing(#[case] kind: &str, #[case] says: &str) {
    let home = TestHome::new();
    let place = home.outside("place");
    match kind {
        "a folder" => std::fs::create_dir(&place).expect("a folder"),
        "bare" => {
            repo_with_commit(&home.outside("full"));
            let full = home.outside("full").to_string_lossy().into_owned();
            clone(&full, &place, &["--bare"]);
        }
        "empty" => drop(Repo::init(&place)),
        "shallow" => {
            repo_with_commit(&home.outside("full"));
            let full = format!("file://{}", home.outside("full").display());
            clone(&full, &place, &["--depth", "1"]);
        }
        _ => {}
    }
    let before = home.config();
    let path = place.to_string_lossy().into_owned();
    let ran = pty::person(&home, steward(), &["workspace", "add", "--path", &path, "--json"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let error = ran.json()["error"].clone();
    assert_eq!(error["code"], "git", "{error}");
    assert!(error["message"].as_str().unwrap_or_default().contains(says), "{error}");
    assert!(error["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{error}");
    assert_eq!(home.config(), before);
}

#[test]
fn a_branch_that_is_not_there_makes_no_task() {
    let desk = Desk::new();
    let ran = desk.person(&["task", "add", "--workspace", "app", "--branch", "nope", "--json"]);
    assert_eq!((ran.code, &ran.json()["error"]["code"]), (1, &"git".into()), "{ran:?}");
    let ran = desk.person(&["task", "add", "--workspace", "nope", "--branch", "main", "--json"]);
    assert_eq!((ran.code, &ran.json()["error"]["code"]), (1, &"not_found".into()), "{ran:?}");
    assert_eq!(desk.person(&["task", "list", "--json"]).ok().json()["tasks"], serde_json::json!([]));
}

#[test]
fn a_detached_folder_has_no_task_of_its_own() {
    let desk = Desk::new();
    desk.repo.git(&["checkout", "--quiet", "--detach"]);
    let mut command = pty::command(&desk.home, steward(), &["task", "finish", "--json"], &[]);
    let out = command.current_dir(desk.repo.path()).output().expect("it runs");
    assert_eq!(out.status.code(), Some(1));
    let error: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert!(error["error"]["message"].as_str().unwrap_or_default().contains("branch"), "{error}");
}

#[test]
fn a_newer_database_is_shown_and_not_written() {
    let desk = Desk::with_task();
    let database = desk.home.path().join("steward.db");
    // A copy holds everything in one file; the version stands at byte 60 of its head, big-endian.
    let copy = desk.home.outside("newer.db");
    desk.person(&["backup", &copy.to_string_lossy()]).ok();
    let mut bytes = std::fs::read(&copy).expect("the copy");
    bytes[60..64].copy_from_slice(&999_u32.to_be_bytes());
    for journal in ["steward.db-wal", "steward.db-shm"] {
        let _ = std::fs::remove_file(desk.home.path().join(journal));
    }
    std::fs::write(&database, bytes).expect("writable");
    let status = desk.person(&["status", "--json"]).ok().json();
    assert_eq!(status["state"], "read_only", "{status}");
    desk.person(&["task", "list"]).ok();
    let ran = desk.person(&["task", "finish", "1", "--json"]);
    assert_eq!((ran.code, &ran.json()["error"]["code"]), (1, &"read_only".into()), "{ran:?}");
}

#[test]
fn wrong_use_exits_2_also_as_json() {
    let home = TestHome::new();
    for args in [&["nonsense"][..], &["review"], &["task", "attach", "1"], &["show", "x"]] {
        assert_eq!(pty::person(&home, steward(), args).code, 2, "{args:?}");
        let mut json = args.to_vec();
        json.push("--json");
        let ran = pty::person(&home, steward(), &json);
        assert_eq!((ran.code, &ran.json()["error"]["code"]), (2, &"bad_request".into()), "{args:?}");
    }
}

#[test]
fn a_file_that_is_no_database_is_moved_aside_and_status_says_so() {
    let home = TestHome::new();
    std::fs::write(home.path().join("steward.db"), "not a database, but mine").expect("writable");
    let ran = pty::person(&home, steward(), &["status", "--json"]);
    let reasons = ran.ok().json()["reasons"].clone();
    assert_eq!(reasons[0]["code"], "recovered", "{reasons}");
    let kept: Vec<String> = std::fs::read_dir(home.path())
        .expect("the home")
        .filter_map(Result::ok)
        .filter_map(|f| std::fs::read_to_string(f.path()).ok())
        .filter(|text| text == "not a database, but mine")
        .collect();
    assert_eq!(kept.len(), 1, "it is still there, under another name");
}
