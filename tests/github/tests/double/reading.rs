//! Every read answers by the contract, and says what git and the world say.

use serde_json::json;
use steward_github_double::{Protection, Role};

use crate::client::{get, world};

#[test]
fn every_read_of_a_rich_repository_meets_the_contract() {
    let world = world();
    let app = world.repo("octo/app").collaborator("friend", Role::Write);
    let first = app.push("feat", "feat: one", &[("src/a.rs", "fn a() {}\n")]);
    let head = app
        .commit("feat", "feat: two")
        .write("src/b.rs", "fn b() {}\n")
        .executable("run", "#!/bin/sh\n")
        .push();
    let pull = app.open_pull("friend", "feat", "feat: things").body("words").label("ready");
    pull.comment("octo", "looks good");
    pull.approve("octo");
    app.check(&head, "build").fails();
    app.check(&head, "build").succeeds();
    app.check(&head, "lint").app("other-ci").runs();
    app.status(&head, "ci/old", "pending");
    app.open_issue("friend", "it breaks", "see #1");
    let app = app.protect(
        "main",
        Protection { required_checks: vec!["build".into()], approvals: 1, ..Default::default() },
    );
    let ruled = Protection { required_checks: vec!["build".into()], ruleset: true, ..Default::default() };
    app.push("release", "chore: cut", &[("VERSION", "1\n")]);
    let app = app.protect("release", ruled);
    let run = app.check(&first, "build").succeeds();
    let comment = pull.comments()[0].0;
    for target in [
        "/rate_limit".to_owned(),
        "/user".to_owned(),
        "/user/repos".to_owned(),
        "/users/friend".to_owned(),
        "/repos/octo/app".to_owned(),
        "/repos/octo/app/branches".to_owned(),
        "/repos/octo/app/branches/main".to_owned(),
        "/repos/octo/app/branches/main/protection".to_owned(),
        "/repos/octo/app/rules/branches/release".to_owned(),
        "/repos/octo/app/labels".to_owned(),
        "/repos/octo/app/collaborators/friend/permission".to_owned(),
        "/repos/octo/app/pulls".to_owned(),
        "/repos/octo/app/pulls/1".to_owned(),
        "/repos/octo/app/pulls/1/files".to_owned(),
        "/repos/octo/app/pulls/1/commits".to_owned(),
        "/repos/octo/app/pulls/1/reviews".to_owned(),
        "/repos/octo/app/compare/main...feat".to_owned(),
        "/repos/octo/app/git/trees/feat?recursive=1".to_owned(),
        "/repos/octo/app/git/ref/heads/feat".to_owned(),
        "/repos/octo/app/commits/feat".to_owned(),
        format!("/repos/octo/app/commits/{head}/check-runs?filter=all"),
        format!("/repos/octo/app/commits/{head}/check-suites"),
        format!("/repos/octo/app/commits/{head}/status"),
        format!("/repos/octo/app/commits/{head}/statuses"),
        format!("/repos/octo/app/check-runs/{run}"),
        "/repos/octo/app/issues?state=all".to_owned(),
        "/repos/octo/app/issues/2".to_owned(),
        "/repos/octo/app/issues/1/comments".to_owned(),
        format!("/repos/octo/app/issues/comments/{comment}"),
        "/repos/octo/app/issues/1/timeline".to_owned(),
        "/repos/octo/app/issues/1/labels".to_owned(),
    ] {
        let answer = get(&world, &target);
        assert_eq!(answer.status, 200, "{target}: {}", String::from_utf8_lossy(&answer.bytes));
        assert_eq!(answer.header("x-oauth-scopes"), Some("repo, read:org"), "{target}");
    }
    world.assert_contract();
}

#[test]
fn a_pull_says_what_git_says() {
    let world = world();
    let app = world.repo("octo/app");
    let main = app.tip("main");
    app.push("feat", "feat: one", &[("a.txt", "one\n")]);
    let head = app.push("feat", "feat: two", &[("b.txt", "two\nthree\n")]);
    app.open_pull("octo", "feat", "feat: both");
    let pull = get(&world, "/repos/octo/app/pulls/1").json();
    assert_eq!(pull["head"]["sha"], json!(head));
    assert_eq!(pull["base"]["sha"], json!(main));
    assert_eq!(
        (&pull["commits"], &pull["additions"], &pull["changed_files"]),
        (&json!(2), &json!(3), &json!(2))
    );
    assert_eq!((&pull["mergeable"], &pull["mergeable_state"]), (&json!(true), &json!("clean")));
    app.push("main", "fix: other", &[("a.txt", "other\n")]);
    let pull = get(&world, "/repos/octo/app/pulls/1").json();
    assert_eq!((&pull["mergeable"], &pull["mergeable_state"]), (&json!(false), &json!("dirty")));
    assert_eq!(pull["base"]["sha"], json!(main), "the base moves with the head, not with its branch");
}

#[test]
fn renames_removals_binaries_and_modes_are_listed_as_github_lists_them() {
    let world = world();
    let app = world.repo("octo/app");
    let text = "one line\nanother line\na third line\n";
    app.push("main", "chore: base", &[("old.txt", text), ("gone.txt", "bye\n")]);
    app.commit("feat", "feat: all kinds")
        .remove("old.txt")
        .write("new name.txt", text)
        .remove("gone.txt")
        .bytes("pic.bin", b"\0\x01\x02")
        .symlink("link", "README.md")
        .push();
    app.open_pull("octo", "feat", "feat: all kinds");
    let files = get(&world, "/repos/octo/app/pulls/1/files").list();
    let seen: Vec<(&str, &str)> =
        files.iter().map(|f| (f["filename"].as_str().unwrap(), f["status"].as_str().unwrap())).collect();
    let wanted =
        [("gone.txt", "removed"), ("link", "added"), ("new name.txt", "renamed"), ("pic.bin", "added")];
    assert_eq!(seen, wanted);
    assert_eq!(files[2]["previous_filename"], json!("old.txt"));
    assert!(files[3].get("patch").is_none(), "a binary file has no patch");
    assert_eq!(files[0]["patch"], json!("@@ -1 +0,0 @@\n-bye"));
    let tree = get(&world, "/repos/octo/app/git/trees/feat").json();
    let link = tree["tree"].as_array().unwrap().iter().find(|entry| entry["path"] == "link").unwrap().clone();
    assert_eq!(link["mode"], json!("120000"));
}

#[test]
fn latest_shows_the_newest_attempt_and_all_shows_every_one() {
    let world = world();
    let app = world.repo("octo/app");
    let head = app.push("feat", "feat: x", &[("x", "x\n")]);
    app.check(&head, "build").queued();
    app.check(&head, "build").runs();
    app.check(&head, "build").fails();
    app.check(&head, "build").succeeds();
    app.check(&head, "build").workflow("Nightly").concludes("cancelled");
    app.check(&head, "build").app("other-ci").succeeds();
    let runs = |filter: &str| {
        let found = get(&world, &format!("/repos/octo/app/commits/{head}/check-runs?filter={filter}")).json();
        let list = found["check_runs"].as_array().unwrap().clone();
        assert_eq!(found["total_count"], json!(list.len()));
        list.iter().map(|run| run["conclusion"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(runs("latest"), ["success", "cancelled", "success"]);
    assert_eq!(runs("all"), ["success", "cancelled", "success", "failure"]);
    let wrong = get(&world, &format!("/repos/octo/app/commits/{}/check-runs", "0".repeat(40)));
    assert_eq!(wrong.status, 422);
}

#[test]
fn pages_are_linked_to_the_end_and_their_links_work() {
    let world = world();
    let app = world.repo("octo/app");
    for at in 0..7 {
        app.push(&format!("b{at}"), "feat: x", &[(&format!("f{at}"), "x\n")]);
        app.open_pull("octo", &format!("b{at}"), "feat: x");
    }
    let mut page = get(&world, "/repos/octo/app/pulls?state=open&per_page=3");
    assert!(page.link("last").is_some_and(|url| url.ends_with("page=3")));
    let mut numbers = Vec::new();
    loop {
        numbers.extend(page.list().iter().map(|pull| pull["number"].as_u64().unwrap()));
        let Some(next) = page.link("next") else { break };
        assert!(next.contains("/repositories/"), "GitHub's links name the repository by number: {next}");
        page = get(&world, &next);
        assert_eq!(page.status, 200);
    }
    assert_eq!(numbers, [7, 6, 5, 4, 3, 2, 1]);
    assert!(page.link("first").is_some() && page.link("next").is_none());
}

#[test]
fn a_renamed_repository_sends_readers_on_with_301_and_writers_with_307() {
    let world = world();
    let app = world.repo("octo/old");
    app.push("feat", "feat: x", &[("x", "x\n")]);
    app.open_pull("octo", "feat", "feat: x");
    app.rename("octo/new");
    let moved = get(&world, "/repos/octo/old/pulls/1");
    assert_eq!(moved.status, 301);
    let there = moved.header("location").unwrap().to_owned();
    assert_eq!(get(&world, &there).json()["base"]["repo"]["full_name"], json!("octo/new"));
    let body = json!({ "body": "hello" });
    assert_eq!(crate::client::ask(&world, "POST", "/repos/octo/old/issues/1/comments", &body).status, 307);
}

#[test]
fn a_fork_that_is_gone_shows_as_null_and_its_head_is_kept() {
    let world = world();
    let app = world.repo("octo/app");
    let fork = app.fork("friend");
    let head = fork.push("feat", "feat: x", &[("x", "x\n")]);
    app.open_pull_from("friend", "friend/app", "feat", "main", "feat: x");
    fork.delete();
    world.forget_user("friend");
    let pull = get(&world, "/repos/octo/app/pulls/1").json();
    assert!(pull["head"]["repo"].is_null() && pull["head"]["user"].is_null());
    assert_eq!(pull["user"]["login"], json!("ghost"));
    assert_eq!(pull["head"]["sha"], json!(head));
    assert_eq!(get(&world, "/repos/octo/app/pulls/1/files").list().len(), 1);
}

#[test]
fn an_unknown_timeline_event_passes_through() {
    let world = world();
    let app = world.repo("octo/app");
    let issue = app.open_issue("octo", "one", "");
    issue.event("blocked_by_added", "octo", json!({}));
    let events = get(&world, "/repos/octo/app/issues/1/timeline").list();
    assert_eq!(events[0]["event"], json!("blocked_by_added"));
}

#[test]
fn compare_counts_both_sides_of_a_diverged_history() {
    let world = world();
    let app = world.repo("octo/app");
    let fork_point = app.tip("main");
    app.push("feat/deep", "feat: one", &[("a", "a\n")]);
    app.push("feat/deep", "feat: two", &[("b", "b\n")]);
    app.push("main", "fix: three", &[("c", "c\n")]);
    let found = get(&world, "/repos/octo/app/compare/main...feat/deep").json();
    let counts = (&found["status"], &found["ahead_by"], &found["behind_by"]);
    assert_eq!(counts, (&json!("diverged"), &json!(2), &json!(1)));
    assert_eq!(found["merge_base_commit"]["sha"], json!(fork_point));
    assert_eq!(found["files"].as_array().unwrap().len(), 2);
    assert_eq!(get(&world, "/repos/octo/app/compare/main...nowhere").status, 404);
}

#[test]
fn a_conclusion_nobody_described_yet_can_be_sent_when_it_is_meant() {
    let world = world();
    let app = world.repo("octo/app");
    let head = app.push("feat", "feat: x", &[("x", "x\n")]);
    app.check(&head, "build").concludes("stale");
    let target = format!("/repos/octo/app/commits/{head}/check-runs");
    get(&world, &target);
    world.assert_contract();
    app.check(&head, "build").concludes("vaporised");
    assert_eq!(get(&world, &target).json()["check_runs"][0]["conclusion"], json!("vaporised"));
    assert_eq!(world.take_violations().len(), 1);
    world.allow("vaporised");
    get(&world, &target);
    world.assert_contract();
}
