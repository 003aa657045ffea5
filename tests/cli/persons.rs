//! Only a person may do what spends money, widens power or takes a decision (review.md 4).

use rstest::rstest;
use steward_kit::pty;

use crate::desk::{Desk, steward};

fn refused_to_agents(args: &[&str]) {
    let desk = Desk::with_reviewer(crate::desk::ACCEPTED);
    let mut json = args.to_vec();
    json.push("--json");
    for (marks, why) in
        [(vec![("CLAUDECODE", "1")], "CLAUDECODE"), (vec![("CODEX_SANDBOX", "seatbelt")], "CODEX_SANDBOX")]
    {
        let ran = pty::person_with(&desk.home, steward(), &json, &marks);
        assert_eq!(ran.code, 1, "{args:?}: {ran:?}");
        let error = ran.json()["error"].clone();
        assert_eq!(error["code"], "not_a_person", "{args:?}");
        assert!(error["message"].as_str().unwrap_or_default().contains(why), "{error}");
        assert!(error["hint"].is_string(), "{error}");
    }
    // A hook or a tool has no terminal at all.
    let ran = desk.script(&json);
    assert_eq!(ran.code, 1, "{args:?}: {ran:?}");
    assert_eq!(ran.json()["error"]["code"], "not_a_person", "{args:?}");
}

#[rstest]
#[case::review(&["review", "1"])]
#[case::cancel(&["cancel", "1"])]
#[case::workspace_add(&["workspace", "add", "--path", "/"])]
#[case::workspace_remove(&["workspace", "remove", "app"])]
#[case::resume(&["resume"])]
#[case::restore(&["restore", "/nowhere.db"])]
#[case::config_edit(&["config", "edit"])]
#[case::auth_login(&["auth", "login"])]
#[case::auth_login_from_gh(&["auth", "login", "--from-gh"])]
#[case::repo_add(&["repo", "add", "octo/app"])]
#[case::repo_mode(&["repo", "mode", "octo/app", "act"])]
#[case::repo_unfreeze(&["repo", "unfreeze", "octo/app"])]
#[case::repo_remove(&["repo", "remove", "octo/app"])]
fn c16_an_agent_is_refused_and_told_why(#[case] args: &[&str]) {
    refused_to_agents(args);
}

#[test]
fn an_agent_may_say_how_its_run_ended_and_stop_everything() {
    let desk = Desk::with_task();
    let marks = [("CLAUDECODE", "1")];
    let finished = pty::script(&desk.home, steward(), &["task", "finish", "1", "--json"], &marks).ok();
    assert_eq!(finished.json()["state"], "done");
    let paused = pty::script(&desk.home, steward(), &["pause", "--why", "too hot", "--json"], &marks).ok();
    assert_eq!(paused.json()["state"], "paused");
    assert_eq!(paused.json()["paused"]["why"], "too hot");
    // Lifting it is a person's decision.
    let lifted = pty::script(&desk.home, steward(), &["resume", "--json"], &marks);
    assert_eq!(lifted.json()["error"]["code"], "not_a_person");
    assert_eq!(desk.person(&["resume", "--json"]).ok().json()["paused"], serde_json::Value::Null);
}
