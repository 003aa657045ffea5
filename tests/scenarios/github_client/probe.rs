//! The observer's queries against answers that are not whole, or not what was asked.

use serde_json::{Value, json};
use steward_core::github::GitHubError;
use steward_core::github::probe::{HIDDEN, MAX_FOUND};
use steward_rules::ids::RepoName;

use super::Desk;
use super::server::{Server, json as reply};

fn pull(number: i64) -> Value {
    json!({
        "id": format!("PR_{number}"), "number": number, "headRefOid": "a".repeat(40), "baseRefOid": "b".repeat(40),
        "state": "OPEN", "isDraft": false, "updatedAt": "2026-11-30T09:00:00Z", "mergeable": "UNKNOWN",
        "reviewDecision": null, "statusCheckRollup": null, "labels": { "nodes": [{ "name": "bug" }] },
        "title": "t", "headRefName": "x", "baseRefName": "main", "author": null, "headRepository": null,
        "repository": { "nameWithOwner": "octo/app" },
    })
}

fn with(change: impl FnOnce(&mut Value)) -> Value {
    let mut changed = pull(1);
    change(&mut changed);
    changed
}

fn home() -> Value {
    json!({
        "nameWithOwner": "octo/app", "isArchived": false, "isPrivate": true, "viewerPermission": null,
        "defaultBranchRef": null, "pullRequests": { "totalCount": 2 }, "issues": { "totalCount": 0 },
    })
}

async fn answering(body: Value) -> (Desk, Server) {
    (Desk::new(), Server::start(move |_, _| reply(&body.to_string())).await)
}

/// Asks for two pull requests and one repository.
async fn probed(
    pulls: Value,
    homes: Value,
    errors: Value,
) -> Result<(Vec<Option<Value>>, Value), GitHubError> {
    let body = json!({ "data": { "pulls": pulls, "repositories": homes, "rateLimit": { "cost": 1 } }, "errors": errors });
    let (desk, server) = answering(body).await;
    let ids = ["PR_1".to_owned(), "PR_2".to_owned()];
    let seen = desk.reader(&server).await.probe(&ids, &["R_1".to_owned()]).await?;
    let pulls =
        seen.pulls.into_iter().map(|pull| pull.map(|(number, glimpse)| json!([number.0, glimpse.rollup])));
    let homes = seen.repositories.into_iter().map(|home| match home {
        Ok(home) => json!(home.full_name),
        Err(error) => json!(error.slug()),
    });
    Ok((pulls.collect(), homes.collect()))
}

fn error(kind: &str, path: Value) -> Value {
    json!([{ "type": kind, "path": path, "message": "Resource not accessible by personal access token" }])
}

#[tokio::test]
async fn what_is_not_there_is_told_from_what_is_not_whole() {
    let both = || json!([pull(1), pull(2)]);
    let one = || json!([pull(1), null]);
    let here = || json!([home()]);
    let known = |number: i64| Some(json!([number, null]));
    let name = json!(["octo/app"]);
    for (what, pulls, homes, errors, expected) in [
        ("whole", both(), here(), json!([]), Ok((vec![known(1), known(2)], name.clone()))),
        (
            "one gone",
            one(),
            here(),
            error("NOT_FOUND", json!(["pulls", 1])),
            Ok((vec![known(1), None], name.clone())),
        ),
        (
            "behind a single sign-on",
            both(),
            json!([null]),
            error("FORBIDDEN", json!(["repositories", 0])),
            Ok((vec![known(1), known(2)], json!(["forbidden"]))),
        ),
        (
            "checks a fine-grained token may not see",
            both(),
            here(),
            error("FORBIDDEN", json!(["pulls", 1, "statusCheckRollup"])),
            Ok((vec![known(1), Some(json!([2, HIDDEN]))], name.clone())),
        ),
        ("nothing without a word", one(), here(), json!([]), Err("truncated")),
        ("another one is named", one(), here(), error("NOT_FOUND", json!(["pulls", 0])), Err("truncated")),
        (
            "a part of one",
            both(),
            here(),
            error("FORBIDDEN", json!(["pulls", 1, "labels"])),
            Err("forbidden"),
        ),
        (
            "too much at once",
            one(),
            here(),
            error("RESOURCE_LIMITS_EXCEEDED", json!(["pulls", 1])),
            Err("truncated"),
        ),
        ("no place", one(), here(), error("NOT_FOUND", json!([])), Err("not_found")),
        ("too few", json!([pull(1)]), here(), json!([]), Err("truncated")),
        ("too many", json!([pull(1), pull(2), pull(3)]), here(), json!([]), Err("truncated")),
        (
            "a state to come",
            json!([pull(1), with(|one| one["state"] = json!("QUEUED"))]),
            here(),
            json!([]),
            Err("malformed"),
        ),
        (
            "no commit",
            json!([pull(1), with(|one| one["headRefOid"] = json!("main"))]),
            here(),
            json!([]),
            Err("malformed"),
        ),
        ("no data", Value::Null, here(), json!([]), Err("malformed")),
    ] {
        let found = probed(pulls, homes, errors).await;
        assert_eq!(found.map_err(|error| error.slug()), expected, "{what}");
    }
}

#[tokio::test]
async fn details_in_parts_are_none() {
    let nodes = |nodes: Value, errors: Value| json!({ "data": { "nodes": nodes, "rateLimit": null }, "errors": errors });
    for (what, body, expected) in [
        (
            "one gone",
            nodes(json!([pull(1), null]), error("NOT_FOUND", json!(["nodes", 1]))),
            Ok(vec![Ok(true), Ok(false)]),
        ),
        ("nothing without a word", nodes(json!([pull(1), null]), json!([])), Ok(vec![Err("truncated"); 2])),
        ("too few", nodes(json!([pull(1)]), json!([])), Ok(vec![Err("truncated"); 2])),
        ("no access at all", nodes(json!([]), error("FORBIDDEN", json!(["nodes"]))), Err("forbidden")),
    ] {
        let (desk, server) = answering(body).await;
        let ids = ["PR_1".to_owned(), "PR_2".to_owned()];
        let found = desk.reader(&server).await.pull_details(&ids).await;
        let found = found.map(|all| {
            let one = |detail: Result<Option<_>, GitHubError>| match detail {
                Ok(found) => Ok(found.is_some()),
                Err(error) => Err(error.slug()),
            };
            all.into_iter().map(one).collect::<Vec<_>>()
        });
        assert_eq!(found.map_err(|error| error.slug()), expected, "{what}");
    }
}

fn page(count: u64, next: Value, nodes: Value) -> Value {
    let more = !next.is_null();
    json!({ "issueCount": count, "pageInfo": { "hasNextPage": more, "endCursor": next }, "nodes": nodes })
}

#[tokio::test]
async fn a_search_is_read_to_its_end_and_never_past_what_github_shows() {
    // Every page says that there is one more.
    let server = Server::start(|asked, _| {
        let hit = |number: i64| json!({ "id": "PR", "number": number, "updatedAt": "2026-11-30T09:00:00Z", "repository": { "nameWithOwner": "octo/app" } });
        let hits: Value = (0..100).map(hit).collect();
        let data = match asked.body.contains("query Find") {
            true => json!({ "pulls": page(4000, json!("c"), hits), "issues": page(0, Value::Null, json!([])) }),
            false => json!({ "page": page(4000, json!("c"), hits) }),
        };
        reply(&json!({ "data": data }).to_string())
    })
    .await;
    let desk = Desk::new();
    let since = desk.now();
    let names = [RepoName::parse("octo/app").unwrap()];
    let found = desk.reader(&server).await.find(&names, since).await.unwrap();
    assert_eq!((found.pulls.len() as u64, found.cut, server.count()), (MAX_FOUND, true, 10));

    for (what, data) in [
        (
            "a page without the next",
            json!({ "pulls": { "issueCount": 9, "pageInfo": { "hasNextPage": true, "endCursor": null }, "nodes": [] }, "issues": page(0, Value::Null, json!([])) }),
        ),
        (
            "a hole",
            json!({ "pulls": page(1, Value::Null, json!([null])), "issues": page(0, Value::Null, json!([])) }),
        ),
    ] {
        let (desk, server) = answering(json!({ "data": data })).await;
        let found = desk.reader(&server).await.find(&names, since).await;
        assert_eq!(found.map_err(|error| error.slug()), Err("truncated"), "{what}");
    }
}

#[tokio::test]
async fn many_repositories_are_searched_in_several_texts() {
    let empty = || page(0, Value::Null, json!([]));
    let (desk, server) = answering(json!({ "data": { "pulls": empty(), "issues": empty() } })).await;
    let names: Vec<RepoName> =
        (0..120).map(|at| RepoName::parse(&format!("octo/app{at}")).unwrap()).collect();
    desk.reader(&server).await.find(&names, desk.now()).await.unwrap();
    assert_eq!(server.count(), 3);
}
