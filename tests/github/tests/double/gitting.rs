//! git itself talks to the double: clone, fetch of exactly one pull, push, and the refusals.

use std::path::Path;
use std::process::{Command, Output};

use base64::Engine;
use steward_github_double::{Fault, Protection, World};

use crate::client::{TOKEN, get, world};

fn git(home: &Path, token: Option<&str>, args: &[&str]) -> Output {
    let mut command = Command::new("git");
    command.env_clear().env("PATH", std::env::var_os("PATH").expect("a PATH")).env("HOME", home);
    command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_CONFIG_NOSYSTEM", "1");
    if let Some(token) = token {
        let pair = base64::engine::general_purpose::STANDARD.encode(format!("x-access-token:{token}"));
        command.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", "http.extraHeader");
        command.env("GIT_CONFIG_VALUE_0", format!("Authorization: Basic {pair}"));
    }
    command
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
        .args(args)
        .output()
        .expect("git runs")
}

fn out(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn cloned(world: &World, home: &Path) -> String {
    let place = home.join("clone").to_string_lossy().into_owned();
    out(&git(home, Some(TOKEN), &["clone", "--quiet", &world.clone_url("octo/app"), &place]));
    place
}

#[test]
fn a_private_clone_needs_the_token() {
    let (world, home) = (world(), tempfile::tempdir().unwrap());
    world.repo("octo/app").private();
    let place = home.path().join("none").to_string_lossy().into_owned();
    let refused = git(home.path(), None, &["clone", "--quiet", &world.clone_url("octo/app"), &place]);
    assert!(!refused.status.success());
    let wrong = git(home.path(), Some("wrong"), &["clone", "--quiet", &world.clone_url("octo/app"), &place]);
    assert!(!wrong.status.success());
    let place = cloned(&world, home.path());
    let head = out(&git(home.path(), None, &["-C", &place, "rev-parse", "HEAD"]));
    assert_eq!(head, world.repo("octo/app").tip("main"));
    assert!(world.tally().git_requests >= 4);
}

#[test]
fn exactly_one_pull_of_a_fork_can_be_fetched_and_stays_after_the_fork_is_gone() {
    let (world, home) = (world(), tempfile::tempdir().unwrap());
    let app = world.repo("octo/app");
    let fork = app.fork("friend");
    fork.push("feat", "feat: x", &[("x", "x\n")]);
    app.open_pull_from("friend", "friend/app", "feat", "main", "feat: x");
    let head = fork.push("feat", "feat: y", &[("y", "y\n")]);
    let place = cloned(&world, home.path());
    fork.delete();
    let fetch =
        ["-C", &place, "fetch", "--quiet", "--no-tags", "origin", "+refs/pull/1/head:refs/steward/pull/1"];
    out(&git(home.path(), Some(TOKEN), &fetch));
    assert_eq!(out(&git(home.path(), None, &["-C", &place, "rev-parse", "refs/steward/pull/1"])), head);
}

#[test]
fn a_push_moves_the_pull_and_a_force_push_says_so() {
    let (world, home) = (world(), tempfile::tempdir().unwrap());
    let app = world.repo("octo/app");
    app.push("feat", "feat: x", &[("x", "x\n")]);
    let pull = app.open_pull("octo", "feat", "feat: x");
    let place = cloned(&world, home.path());
    out(&git(home.path(), None, &["-C", &place, "commit", "--quiet", "--allow-empty", "-m", "fix: other"]));
    let mine = out(&git(home.path(), None, &["-C", &place, "rev-parse", "HEAD"]));
    let push =
        |refspec: &str| git(home.path(), Some(TOKEN), &["-C", &place, "push", "--quiet", "origin", refspec]);
    assert!(!push("HEAD:refs/heads/feat").status.success(), "not a fast-forward");
    out(&push("+HEAD:refs/heads/feat"));
    assert_eq!(pull.head(), mine);
    let events = get(&world, "/repos/octo/app/issues/1/timeline").list();
    assert!(events.iter().any(|event| event["event"] == "head_ref_force_pushed"));
    assert!(!push("HEAD:refs/pull/1/head").status.success(), "pull refs are GitHub's own");
    app.protect("main", Protection::default());
    let refused = push("HEAD:refs/heads/main");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("GH006"), "protected branches take no push");
}

#[test]
fn a_fetch_can_fail_once() {
    let (world, home) = (world(), tempfile::tempdir().unwrap());
    world.repo("octo/app");
    let place = cloned(&world, home.path());
    world.when("git-upload-pack").answers(Fault::Status(502));
    let fetch =
        || git(home.path(), Some(TOKEN), &["-C", &place, "fetch", "--quiet", "origin"]).status.success();
    assert!(!fetch());
    assert!(fetch());
}
