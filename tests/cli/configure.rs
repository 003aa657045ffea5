//! The config file from the command line.

use std::os::unix::fs::PermissionsExt;

use crate::desk::{Desk, steward};
use steward_kit::home::TestHome;
use steward_kit::pty;

#[test]
fn a_mistake_is_shown_with_line_column_and_a_suggestion() {
    let home = TestHome::new();
    home.write_config("review:\n  enabled: true\n  budgetUsd: -1\n  maxMinuts: 10\n");
    let ran = pty::person(&home, steward(), &["config", "check"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains("config.yaml:3:"), "{}", ran.stdout);
    assert!(ran.stdout.contains("maxMinutes"), "did you mean: {}", ran.stdout);
    let json = pty::person(&home, steward(), &["config", "check", "--json"]).json();
    let problems = json["problems"].as_array().expect("a list");
    assert!(problems.iter().any(|p| p["severity"] == "error" && p["line"] == 3), "{json}");
    assert!(problems.iter().any(|p| p["severity"] == "warning" && p["line"] == 4), "{json}");
}

#[test]
fn adding_and_removing_a_workspace_keeps_every_comment() {
    let desk = Desk::new();
    let with_comments = format!("# mine\n{}# the end\n", desk.home.config());
    desk.home.write_config(&with_comments);
    let other = steward_kit::git::Repo::init(desk.home.outside("other"));
    other.commit("feat: x", &[("x", Some(b"x\n"))]);
    let path = other.path().to_string_lossy().into_owned();
    desk.person(&["workspace", "add", "--path", &path, "--forge", "none"]).ok();
    assert!(desk.home.config().contains("forge: none"), "{}", desk.home.config());
    desk.person(&["workspace", "remove", "other"]).ok();
    assert_eq!(desk.home.config(), with_comments);
    let mode =
        std::fs::metadata(desk.home.path().join("config.yaml")).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn the_editor_opens_the_file_made_from_the_template() {
    let home = TestHome::new();
    let editor = home.outside("editor.sh");
    std::fs::write(&editor, "#!/bin/sh\nprintf 'review:\\n  enabled: true\\n' > \"$1\"\n").expect("writable");
    crate::desk::make_executable(&editor);
    let editor = editor.to_string_lossy().into_owned();
    let ran = pty::person_with(&home, steward(), &["config", "edit"], &[("EDITOR", &editor)]).ok();
    assert!(ran.stdout.contains("review.enabled"), "{}", ran.stdout);
    assert_eq!(home.config(), "review:\n  enabled: true\n");
}

#[test]
fn completions_and_help_need_no_home() {
    for args in [&["completions", "bash"][..], &["help"], &["--version"]] {
        let out = std::process::Command::new(steward()).args(args).env_clear().output().expect("it runs");
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
        assert!(!out.stdout.is_empty());
    }
}

#[test]
fn a_backup_is_written_verified_and_restored() {
    let desk = Desk::with_task();
    let file = desk.home.outside("copy.db").to_string_lossy().into_owned();
    desk.person(&["backup", &file]).ok();
    desk.person(&["task", "finish", "1", "--state", "stopped"]).ok();
    desk.person(&["restore", &file]).ok();
    let task = desk.person(&["task", "show", "1", "--json"]).ok().json();
    assert_eq!(task["task"]["state"], "running");
    // One changed byte is noticed, and nothing is restored.
    let mut bytes = std::fs::read(&file).expect("the copy");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).expect("writable");
    assert_eq!(desk.person(&["restore", &file]).code, 1);
    desk.person(&["task", "show", "1"]).ok();
    desk.person(&["log", "verify"]).ok();
    let doctor = desk.person(&["doctor", "--json"]).json();
    assert_eq!(doctor["healthy"], true, "{doctor}");
}

#[test]
fn what_works_and_should_be_mended_is_a_warning() {
    let desk = Desk::new();
    let file = desk.home.path().join("config.yaml");
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o644)).expect("our own file");
    let said = desk.person(&["doctor"]).ok();
    let line = said.stdout.lines().find(|line| line.contains("permissions")).expect("a line for them");
    assert!(line.trim_start().starts_with("warn"), "{line}");
    assert!(line.contains("chmod go="), "{line}");
}
