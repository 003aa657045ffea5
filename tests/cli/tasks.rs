//! Tasks and gates from the command line, with no account and no agent.

use steward_github_double::World;
use steward_kit::pty;

use crate::desk::{Desk, steward};

#[test]
fn a_branch_is_judged_by_all_eleven_gates_without_any_agent() {
    let desk = Desk::with_task();
    let table = desk.person(&["task", "gates", "1", "--json"]).ok().json();
    assert_eq!(table["head"], desk.repo.head());
    assert_eq!(table["gates"].as_array().map(Vec::len), Some(11));
    assert_eq!(table["cap"], "ACCEPTED");
    assert_eq!(table["stats"]["added"], 2);
    let state = |id: &str| {
        let gates = table["gates"].as_array().expect("a list");
        gates.iter().find(|g| g["id"] == id).expect("each gate is there")["state"].clone()
    };
    assert_eq!(state("no_secrets"), "pass");
    assert_eq!(state("ci"), "notApplicable");
}

#[test]
fn the_head_is_read_from_git_each_time_and_never_typed() {
    let desk = Desk::with_task();
    let moved = desk.repo.commit("fix: more", &[("src/a.rs", Some(b"fn a() {}\n"))]);
    let table = desk.person(&["task", "gates", "1", "--json"]).ok().json();
    assert_eq!(table["head"], moved);
    let shown = desk.person(&["task", "show", "1", "--json"]).ok().json();
    assert_eq!(shown["task"]["head"], moved);
}

#[test]
fn a_failing_gate_names_the_file_and_caps_the_verdict() {
    let desk = Desk::with_task();
    desk.repo.commit("fix: picture", &[("logo.png", Some(b"\x89PNG\0\0"))]);
    let ran = desk.person(&["task", "gates", "1"]).ok();
    assert!(ran.stdout.contains("FAIL"), "{}", ran.stdout);
    assert!(ran.stdout.contains("logo.png"), "{}", ran.stdout);
    assert!(ran.stdout.contains("cap: CHANGES"), "{}", ran.stdout);
}

#[test]
fn the_task_of_a_folder_is_found_from_the_folder() {
    let desk = Desk::with_task();
    let mut command =
        steward_kit::pty::command(&desk.home, crate::desk::steward(), &["task", "finish", "--json"], &[]);
    let out = command.current_dir(desk.repo.path().join("src")).output().expect("it runs");
    let task: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!((&task["id"], &task["state"]), (&1.into(), &"done".into()));
}

#[test]
fn documents_are_refused_with_the_field_named_and_contracts_count_up() {
    let desk = Desk::with_task();
    let file = desk.home.outside("contract.yaml");
    let path = file.to_string_lossy().into_owned();
    std::fs::write(&file, "writeScope: [src/**]\nchecks: []\nmutations: sometimes\n").expect("writable");
    let refused = desk.person(&["task", "contract", "1", &path, "--json"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(
        refused.json()["error"]["message"].as_str().unwrap_or_default().contains("mutations"),
        "{refused:?}"
    );
    for version in 1..=2 {
        let text = format!("writeScope: [src/**]\nchecks: [cargo test {version}]\nmutations: none\n");
        std::fs::write(&file, text).expect("writable");
        let kept = desk.person(&["task", "contract", "1", &path, "--json"]).ok().json();
        assert_eq!(kept["version"], version);
    }
    let table = desk.person(&["task", "gates", "1", "--json"]).ok().json();
    let scope = table["gates"].as_array().and_then(|g| g.iter().find(|g| g["id"] == "scope").cloned());
    assert_eq!(scope.expect("scope")["state"], "pass");
}

#[test]
fn lists_are_never_null_and_say_what_to_do_when_empty() {
    let desk = Desk::new();
    assert_eq!(desk.person(&["task", "list", "--json"]).ok().json(), serde_json::json!({ "tasks": [] }));
    assert_eq!(desk.person(&["list", "--json"]).ok().json(), serde_json::json!({ "reviews": [] }), "c42");
    let text = desk.person(&["task", "list"]).ok().stdout;
    assert!(text.contains("steward task add"), "{text}");
}

#[test]
fn a_screenshot_that_lies_in_the_worktree_does_not_make_itself_stale() {
    let desk = Desk::with_task();
    // A one-pixel PNG.
    let png = [
        0x89, b'P', b'N', b'G', 13, 10, 26, 10, 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0, 0, 1,
        8, 0, 0, 0, 0, 0x3a, 0x7e, 0x9b, 0x55, 0, 0, 0, 10, b'I', b'D', b'A', b'T', 0x78, 0x9c, 0x63, 0x60,
        0, 0, 0, 2, 0, 1, 0x48, 0xaf, 0xa4, 0x71, 0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82,
    ];
    std::fs::write(desk.repo.path().join("shot.png"), png).expect("writable");
    let shot = desk.repo.path().join("shot.png").to_string_lossy().into_owned();
    let attach = ["task", "attach", "1", "--frame", &shot, "--width", "390", "--theme", "dark", "--json"];
    assert_eq!(desk.person(&attach).ok().json()["fresh"], true);
    desk.repo.write("src/new.rs", b"not committed");
    assert_eq!(desk.person(&attach).ok().json()["fresh"], false, "other uncommitted work still counts");
}

#[test]
fn a_pull_request_becomes_a_task_and_is_judged_without_any_checkout() {
    const TOKEN: &str = "made-up-token-1";
    let (desk, world) = (Desk::new(), World::start());
    world.token("octo", TOKEN, &["repo"]);
    let app = world.repo("octo/app");
    let head = app.push("feat", "feat: more", &[("src/more.rs", "pub fn more() {}\n")]);
    app.open_pull("octo", "feat", "feat: more");
    let host = world.base().trim_start_matches("http://").to_owned();
    let person =
        |args: &[&str]| pty::person_with(&desk.home, steward(), args, &[("STEWARD_GITHUB_TOKEN", TOKEN)]);
    let signed_out = person(&["task", "add", "--pr", "octo/app#1", "--json"]);
    assert_eq!((signed_out.code, &signed_out.json()["error"]["code"]), (1, &"signed_out".into()));
    person(&["auth", "login", "--host", &host]).ok();
    let task = person(&["task", "add", "--pr", "octo/app#1", "--json"]).ok().json();
    assert_eq!((&task["pull"], &task["head"]), (&1.into(), &head.as_str().into()));
    assert_eq!(task["pullUrl"], format!("https://{host}/octo/app/pull/1"));
    let address = format!("http://{host}/octo/app/pull/1");
    assert_eq!(person(&["task", "add", "--pr", &address, "--json"]).ok().json()["id"], task["id"]);
    let gates = person(&["task", "gates", "1", "--json"]).ok().json();
    let state = |id: &str| {
        let gates = gates["gates"].as_array().expect("a list");
        gates.iter().find(|gate| gate["id"] == id).expect("each gate is there")["state"].clone()
    };
    assert_eq!((state("no_secrets"), state("not_stacked")), ("pass".into(), "pass".into()));
    assert_eq!(state("pr_hygiene"), "fail", "it has no description");
    assert!(person(&["task", "list"]).ok().stdout.contains("octo/app#1"));
    for wrong in ["octo/app", "octo/app#x", "https://github.com/octo/app/issues/1"] {
        assert_eq!(person(&["task", "add", "--pr", wrong, "--json"]).code, 2, "{wrong}");
    }
    assert_eq!(person(&["task", "add", "--pr", "octo/app#1", "--workspace", "app"]).code, 2);
    assert_eq!(person(&["task", "add", "--workspace", "app"]).code, 2);
    let missing = person(&["task", "add", "--pr", "octo/app#9", "--json"]);
    assert_eq!((missing.code, &missing.json()["error"]["code"]), (1, &"not_found".into()));
}
