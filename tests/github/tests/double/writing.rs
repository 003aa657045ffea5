//! Writes do what they say, and are refused to those who may not.

use serde_json::{Value, json};
use steward_github_double::{Grant, Role};

use crate::client::{ask, get, send, world};

#[test]
fn every_write_meets_the_contract_and_can_be_read_back() {
    let world = world();
    let app = world.repo("octo/app");
    let head = app.push("feat", "feat: x", &[("x", "x\n")]);
    let repo = "/repos/octo/app";
    let opened = ask(
        &world,
        "POST",
        &format!("{repo}/pulls"),
        &json!({ "title": "feat: x", "head": "feat", "base": "main" }),
    );
    assert_eq!((opened.status, &opened.json()["number"]), (201, &json!(1)));
    let again = ask(
        &world,
        "POST",
        &format!("{repo}/pulls"),
        &json!({ "title": "feat: x", "head": "feat", "base": "main" }),
    );
    assert_eq!(again.json()["errors"][0]["message"], json!("A pull request already exists for octo:feat."));
    let nowhere = json!({ "title": "feat: x", "head": "nowhere", "base": "main" });
    assert_eq!(ask(&world, "POST", &format!("{repo}/pulls"), &nowhere).status, 422);
    let comment = ask(&world, "POST", &format!("{repo}/issues/1/comments"), &json!({ "body": "first" }));
    assert_eq!(comment.status, 201);
    let id = comment.json()["id"].clone();
    let edited = ask(&world, "PATCH", &format!("{repo}/issues/comments/{id}"), &json!({ "body": "second" }));
    assert_eq!(edited.json()["body"], json!("second"));
    assert_eq!(ask(&world, "DELETE", &format!("{repo}/issues/comments/{id}"), &Value::Null).status, 204);
    assert_eq!(get(&world, &format!("{repo}/issues/1/comments")).list(), Vec::<Value>::new());
    assert_eq!(get(&world, &format!("{repo}/issues/comments/{id}")).status, 404);
    let label = json!({ "name": "steward", "color": "0e8a16" });
    assert_eq!(ask(&world, "POST", &format!("{repo}/labels"), &label).status, 201);
    assert_eq!(
        ask(&world, "POST", &format!("{repo}/labels"), &json!({ "name": "x", "color": "blue" })).status,
        422
    );
    let on = ask(&world, "POST", &format!("{repo}/issues/1/labels"), &json!({ "labels": ["steward"] }));
    assert_eq!(on.list()[0]["name"], json!("steward"));
    assert_eq!(ask(&world, "DELETE", &format!("{repo}/issues/1/labels/steward"), &Value::Null).status, 200);
    let gone = ask(&world, "DELETE", &format!("{repo}/issues/1/labels/steward"), &Value::Null);
    assert_eq!((gone.status, &gone.json()["message"]), (404, &json!("Label does not exist")));
    let status = json!({ "state": "success", "context": "ci/x" });
    assert_eq!(ask(&world, "POST", &format!("{repo}/statuses/{head}"), &status).status, 201);
    assert_eq!(get(&world, &format!("{repo}/commits/{head}/status")).json()["state"], json!("success"));
    let issue = ask(&world, "POST", &format!("{repo}/issues"), &json!({ "title": "one", "labels": ["bug"] }));
    assert_eq!((issue.status, &issue.json()["number"]), (201, &json!(2)));
    let closed = ask(
        &world,
        "PATCH",
        &format!("{repo}/issues/2"),
        &json!({ "state": "closed", "state_reason": "not_planned" }),
    );
    assert_eq!(closed.json()["state_reason"], json!("not_planned"));
    let renamed = ask(&world, "PATCH", &format!("{repo}/pulls/1"), &json!({ "title": "feat: better" }));
    assert_eq!(renamed.json()["title"], json!("feat: better"));
    let events = get(&world, &format!("{repo}/issues/1/timeline")).list();
    let names: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(names, ["committed", "labeled", "unlabeled", "renamed"]);
    world.assert_contract();
}

#[test]
fn a_bad_token_is_refused_and_nobody_reads_a_private_repository() {
    let world = world();
    world.repo("octo/secret").private();
    world.token("octo", "scopeless", &["read:org"]);
    let bad = send(&world, "GET", "/user", &[("authorization", "Bearer wrong")], "").unwrap();
    assert_eq!((bad.status, &bad.json()["message"]), (401, &json!("Bad credentials")));
    let hidden = send(&world, "GET", "/repos/octo/secret", &[], "").unwrap();
    assert_eq!(hidden.status, 404);
    let short =
        send(&world, "GET", "/repos/octo/secret", &[("authorization", "token scopeless")], "").unwrap();
    assert_eq!(short.status, 404);
    assert_eq!(short.header("x-oauth-scopes"), Some("read:org"));
    assert_eq!(get(&world, "/repos/octo/secret").status, 200);
    world.revoke(crate::client::TOKEN);
    assert_eq!(get(&world, "/user").status, 401);
}

#[test]
fn a_fine_grained_token_writes_only_what_it_was_given() {
    let world = world();
    world.repo("octo/app").open_issue("octo", "one", "");
    world.repo("octo/other");
    let grant = |level: &str| Grant::FineGrained {
        permissions: vec![("issues".into(), level.into())],
        repositories: vec!["octo/app".into()],
    };
    world.grant("octo", "reader", grant("read")).grant("octo", "writer", grant("write"));
    let comment = |token: &str| {
        let bearer = format!("Bearer {token}");
        let target = "/repos/octo/app/issues/1/comments";
        send(&world, "POST", target, &[("authorization", &bearer)], "{\"body\":\"hi\"}").unwrap()
    };
    let refused = comment("reader");
    assert_eq!(refused.json()["message"], json!("Resource not accessible by personal access token"));
    assert_eq!((refused.status, refused.header("x-oauth-scopes")), (403, None));
    assert_eq!(refused.header("x-accepted-github-permissions"), Some("issues=write"));
    assert_eq!(comment("writer").status, 201);
}

#[test]
fn strangers_may_comment_but_not_label() {
    let world = world();
    world.repo("acme/app").open_issue("acme", "one", "");
    let here = "/repos/acme/app/issues/1";
    assert_eq!(ask(&world, "POST", &format!("{here}/comments"), &json!({ "body": "hi" })).status, 201);
    assert_eq!(ask(&world, "POST", &format!("{here}/labels"), &json!({ "labels": ["x"] })).status, 403);
    world.repo("acme/app").collaborator("octo", Role::Triage);
    assert_eq!(ask(&world, "POST", &format!("{here}/labels"), &json!({ "labels": ["x"] })).status, 200);
    world.repo("acme/app").pull(1).locked();
    assert_eq!(ask(&world, "POST", &format!("{here}/comments"), &json!({ "body": "hi" })).status, 403);
}

#[test]
fn two_clients_at_once_lose_nothing_and_ids_say_who_was_first() {
    let world = world();
    let pull = world.repo("octo/app").open_issue("octo", "one", "");
    std::thread::scope(|scope| {
        for client in 0..4 {
            let world = &world;
            scope.spawn(move || {
                for at in 0..5 {
                    let body = json!({ "body": format!("{client}.{at}") });
                    assert_eq!(ask(world, "POST", "/repos/octo/app/issues/1/comments", &body).status, 201);
                }
            });
        }
    });
    let listed = get(&world, "/repos/octo/app/issues/1/comments").list();
    let ids: Vec<u64> = listed.iter().filter_map(|comment| comment["id"].as_u64()).collect();
    assert!(ids.len() == 20 && ids.is_sorted(), "{ids:?}");
    assert_eq!(pull.comments().len(), 20);
}
