//! A merge is real, and each refusal has GitHub's own status and words.

use serde_json::{Value, json};
use steward_github_double::{Protection, RepoVerbs, Role, World};

use crate::client::{ask, get, world};

fn merge(world: &World, body: Value) -> (u16, String) {
    let answer = ask(world, "PUT", "/repos/octo/app/pulls/1/merge", &body);
    (answer.status, answer.json()["message"].as_str().unwrap_or_default().to_owned())
}

/// A repository with one open pull request.
fn opened(world: &World) -> (RepoVerbs<'_>, String) {
    let app = world.repo("octo/app");
    let head = app.push("feat", "feat: x", &[("x", "x\n")]);
    app.open_pull("octo", "feat", "feat: x");
    (app, head)
}

#[test]
fn a_merge_at_the_right_head_lands_by_git() {
    for (method, parents) in [("merge", 2), ("squash", 1), ("rebase", 1)] {
        let world = world();
        let (app, head) = opened(&world);
        app.push("main", "fix: y", &[("y", "y\n")]);
        let before = app.tip("main");
        let answer = ask(
            &world,
            "PUT",
            "/repos/octo/app/pulls/1/merge",
            &json!({ "sha": head, "merge_method": method }),
        );
        assert_eq!((answer.status, &answer.json()["merged"]), (200, &json!(true)), "{method}");
        let landed = get(&world, "/repos/octo/app/commits/main").json();
        assert_eq!(landed["sha"], answer.json()["sha"], "{method}");
        assert_eq!(landed["parents"].as_array().unwrap().len(), parents, "{method}");
        assert_eq!(landed["parents"][0]["sha"], json!(before), "{method}");
        let pull = get(&world, "/repos/octo/app/pulls/1").json();
        assert_eq!((&pull["merged"], &pull["state"]), (&json!(true), &json!("closed")), "{method}");
        assert_eq!(pull["merged_by"]["login"], json!("octo"));
        assert_eq!(get(&world, "/repos/octo/app/pulls/1/files").list().len(), 1, "{method}");
        assert_eq!(merge(&world, json!({})), (405, "Pull Request is not mergeable".into()), "{method}");
    }
}

#[test]
fn a_moved_head_a_draft_and_a_conflict_are_refused() {
    let world = world();
    let (app, head) = opened(&world);
    app.push("feat", "feat: more", &[("z", "z\n")]);
    let moved = "Head branch was modified. Review and try the merge again.";
    assert_eq!(merge(&world, json!({ "sha": head })), (409, moved.into()));
    app.pull(1).draft();
    assert_eq!(merge(&world, json!({})), (405, "Pull Request is still a draft".into()));
    app.pull(1).ready();
    app.push("main", "fix: x", &[("x", "another\n")]);
    assert_eq!(merge(&world, json!({})), (405, "Pull Request is not mergeable".into()));
}

#[test]
fn a_merge_whose_mergeability_is_unknown_is_refused() {
    let world = world();
    let (app, _) = opened(&world);
    app.pull(1).settles_after(2);
    assert_eq!(merge(&world, json!({})), (405, "Pull Request is not mergeable".into()));
    let mergeable = || get(&world, "/repos/octo/app/pulls/1").json()["mergeable"].clone();
    assert_eq!([mergeable(), mergeable(), mergeable()], [Value::Null, Value::Null, json!(true)]);
    assert_eq!(merge(&world, json!({})).0, 200);
}

#[test]
fn protection_refuses_in_its_own_words_until_it_is_met() {
    let world = world();
    let (app, head) = opened(&world);
    let rule = Protection { required_checks: vec!["build".into()], approvals: 1, ..Default::default() };
    let app = app.protect("main", rule);
    let state = || get(&world, "/repos/octo/app/pulls/1").json()["mergeable_state"].clone();
    assert_eq!(merge(&world, json!({})), (405, "Required status check \"build\" is expected.".into()));
    assert_eq!(state(), json!("blocked"));
    app.check(&head, "build").fails();
    assert_eq!(merge(&world, json!({})).1, "Required status check \"build\" is failing.");
    app.check(&head, "build").succeeds();
    let review = "At least 1 approving review is required by reviewers with write access.";
    assert_eq!(merge(&world, json!({})), (405, review.into()));
    app.pull(1).approve("friend");
    assert_eq!(state(), json!("clean"));
    assert_eq!(merge(&world, json!({})).0, 200);
}

#[test]
fn a_ruleset_a_method_and_a_stranger_are_refused() {
    let world = world();
    let (app, _) = opened(&world);
    let rule = Protection { required_checks: vec!["build".into()], ruleset: true, ..Default::default() };
    let app = app.protect("main", rule);
    let violated = "Repository rule violations found\n\nRequired status check \"build\" is expected.\n\n";
    assert_eq!(merge(&world, json!({})), (405, violated.into()));
    let app = app.protect("main", Protection { only: vec!["boss".into()], ..Default::default() });
    assert!(merge(&world, json!({})).1.starts_with("You're not authorized to push to this branch."));
    app.protect("main", Protection::default()).refuse_method("merge");
    let refused = "Merge commits are not allowed on this repository.";
    assert_eq!(merge(&world, json!({})), (405, refused.into()));
    let other = world.repo("acme/app").collaborator("octo", Role::Triage);
    other.push("feat", "feat: x", &[("x", "x\n")]);
    other.open_pull("acme", "feat", "feat: x");
    assert_eq!(ask(&world, "PUT", "/repos/acme/app/pulls/1/merge", &json!({})).status, 404);
}

#[test]
fn an_update_of_a_branch_moves_the_head_or_says_why_not() {
    let world = world();
    let (app, head) = opened(&world);
    let target = "/repos/octo/app/pulls/1/update-branch";
    let current = ask(&world, "PUT", target, &json!({}));
    assert_eq!(current.json()["message"], json!("There are no new commits on the base branch."));
    app.push("main", "fix: y", &[("y", "y\n")]);
    let wrong = ask(&world, "PUT", target, &json!({ "expected_head_sha": "0".repeat(40) }));
    assert_eq!(
        (wrong.status, &wrong.json()["message"]),
        (422, &json!("expected head sha didn\u{2019}t match current head ref."))
    );
    assert_eq!(ask(&world, "PUT", target, &json!({ "expected_head_sha": head })).status, 202);
    assert_ne!(app.pull(1).head(), head);
    assert_eq!(get(&world, "/repos/octo/app/compare/main...feat").json()["behind_by"], json!(0));
}
