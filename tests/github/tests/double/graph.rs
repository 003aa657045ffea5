//! The GraphQL endpoint: GitHub's schema, GitHub's price, the world's facts.

use serde_json::{Value, json};
use steward_github_double::World;

use crate::client::{graphql, world};

const PROBE: &str = "query($ids: [ID!]!) {
  nodes(ids: $ids) {
    ... on PullRequest {
      id number state isDraft headRefOid baseRefOid baseRefName updatedAt mergeable reviewDecision
      labels(first: 20) { nodes { name } }
      statusCheckRollup { state }
    }
  }
  rateLimit { cost remaining resetAt }
}";

#[test]
fn a_probe_of_a_hundred_pulls_costs_one_point() {
    let world = world();
    let app = world.repo("octo/app");
    let ids: Vec<String> = app.open_pulls("octo", 100).iter().map(|pull| pull.node_id()).collect();
    let head = app.pull(1).head();
    app.check(&head, "build").runs();
    app.pull(1).label("ready");
    world.mark();
    let body = graphql(&world, PROBE, json!({ "ids": ids })).json();
    let nodes = body["data"]["nodes"].as_array().unwrap();
    assert_eq!((nodes.len(), &body["data"]["rateLimit"]["cost"]), (100, &json!(1)));
    assert_eq!(nodes[0]["headRefOid"], json!(head));
    assert_eq!(nodes[0]["statusCheckRollup"]["state"], json!("PENDING"));
    assert_eq!(nodes[0]["labels"]["nodes"][0]["name"], json!("ready"));
    assert_eq!((&nodes[1]["mergeable"], &nodes[1]["statusCheckRollup"]), (&json!("MERGEABLE"), &Value::Null));
    assert_eq!((world.tally().requests, world.tally().points), (1, 1));
}

#[test]
fn a_tick_over_two_hundred_pulls_in_ten_repositories_is_cheap_enough_to_measure() {
    let world = world();
    let mut ids = Vec::new();
    for at in 0..10 {
        let repo = world.repo(&format!("octo/app{at}"));
        ids.extend(repo.open_pulls("octo", 20).iter().map(|pull| pull.node_id()));
    }
    world.mark();
    for hundred in ids.chunks(100) {
        let body = graphql(&world, PROBE, json!({ "ids": hundred })).json();
        assert!(
            body["data"]["nodes"].as_array().unwrap().iter().all(|node| node["mergeable"] == "MERGEABLE")
        );
    }
    assert_eq!((world.tally().requests, world.tally().points), (2, 2));
    let files = crate::client::get(&world, "/repos/octo/app3/pulls/20/files").list();
    assert_eq!(files[0]["filename"], json!("many/20.txt"));
}

#[test]
fn a_check_result_moves_the_rollup_and_not_updated_at() {
    let world = world();
    let app = world.repo("octo/app");
    let head = app.push("feat", "feat: x", &[("x", "x\n")]);
    let id = app.open_pull("octo", "feat", "feat: x").node_id();
    let look = || {
        let node = graphql(&world, PROBE, json!({ "ids": [id] })).json()["data"]["nodes"][0].clone();
        (node["updatedAt"].clone(), node["statusCheckRollup"]["state"].clone())
    };
    app.check(&head, "build").runs();
    let (before, pending) = look();
    app.check(&head, "build").succeeds();
    assert_eq!((look(), pending), ((before, json!("SUCCESS")), json!("PENDING")));
}

#[test]
fn search_finds_new_pulls_over_all_repositories_in_pages() {
    let world = world();
    for name in ["octo/app", "octo/lib"] {
        let repo = world.repo(name);
        for at in 0..3 {
            repo.push(&format!("b{at}"), "feat: x", &[(&format!("f{at}"), "x\n")]);
            repo.open_pull("octo", &format!("b{at}"), &format!("feat: {at}"));
        }
        repo.open_issue("octo", "not a pull", "");
    }
    let query = "query($after: String) {
      search(query: \"is:pr is:open repo:octo/app repo:octo/lib sort:created-asc\", type: ISSUE, first: 4, after: $after) {
        issueCount pageInfo { hasNextPage endCursor } nodes { ... on PullRequest { number repository { nameWithOwner } } }
      }
    }";
    let first = graphql(&world, query, json!({})).json()["data"]["search"].clone();
    assert_eq!((&first["issueCount"], &first["pageInfo"]["hasNextPage"]), (&json!(6), &json!(true)));
    let rest =
        graphql(&world, query, json!({ "after": first["pageInfo"]["endCursor"] })).json()["data"]["search"]
            .clone();
    assert_eq!(
        (rest["nodes"].as_array().unwrap().len(), &rest["pageInfo"]["hasNextPage"]),
        (2, &json!(false))
    );
    assert_eq!(rest["nodes"][1], json!({ "number": 3, "repository": { "nameWithOwner": "octo/lib" } }));
}

#[test]
fn a_node_that_is_gone_is_null_beside_the_others() {
    let world = world();
    let app = world.repo("octo/app");
    let id = app.open_issue("octo", "one", "").node_id();
    let query = "query($ids: [ID!]!) { nodes(ids: $ids) { id } }";
    let body = graphql(&world, query, json!({ "ids": [id, "I_nowhere"] })).json();
    assert_eq!((&body["data"]["nodes"][0]["id"], &body["data"]["nodes"][1]), (&json!(id), &Value::Null));
    assert_eq!(
        (&body["errors"][0]["type"], &body["errors"][0]["path"]),
        (&json!("NOT_FOUND"), &json!(["nodes", 1]))
    );
}

#[test]
fn what_is_gone_is_named_by_the_list_it_was_asked_in() {
    let world = world();
    let app = world.repo("octo/app");
    let id = app.open_issue("octo", "one", "").node_id();
    let query =
        "query($a: [ID!]!, $b: [ID!]!) { first: nodes(ids: $a) { id } second: nodes(ids: $b) { id } }";
    let body = graphql(&world, query, json!({ "a": ["I_nowhere"], "b": [id, "I_nowhere"] })).json();
    let paths: Vec<_> = body["errors"].as_array().unwrap().iter().map(|error| &error["path"]).collect();
    assert_eq!(paths, [&json!(["first", 0]), &json!(["second", 1])]);
    assert_eq!(body["data"]["second"][0]["id"], json!(id));
}

#[test]
fn a_search_index_that_lags_shows_what_was_and_what_it_finds_as_it_is() {
    let world = world();
    let app = world.repo("octo/app");
    let old = app.open_issue("octo", "old", "");
    world.index_stops();
    old.close("octo");
    app.open_issue("octo", "new", "");
    let query = "{ search(query: \"repo:octo/app is:issue is:open\", type: ISSUE, first: 9) { nodes { ... on Issue { number state } } } }";
    let found = |world: &World| graphql(world, query, Value::Null).json()["data"]["search"]["nodes"].clone();
    assert_eq!(found(&world), json!([{ "number": 1, "state": "CLOSED" }]));
    world.index_goes_on();
    assert_eq!(found(&world), json!([{ "number": 2, "state": "OPEN" }]));
}

#[test]
fn a_query_outside_the_schema_or_without_bounds_breaks_the_contract() {
    let world = world();
    for (query, kind) in [
        ("{ viewer { shoeSize } }", "undefinedField"),
        (
            "{ repository(owner: \"octo\", name: \"app\") { pullRequests { totalCount } } }",
            "MISSING_PAGINATION_BOUNDARIES",
        ),
        (
            "{ repository(owner: \"octo\", name: \"app\") { issues(first: 101) { totalCount } } }",
            "EXCESSIVE_PAGINATION",
        ),
    ] {
        let body = graphql(&world, query, Value::Null).json();
        assert_eq!(body["errors"][0]["type"], json!(kind), "{query}");
        assert_eq!(world.take_violations().len(), 1, "{query}");
    }
}

#[test]
fn nested_connections_cost_what_the_formula_says() {
    let world = world();
    world.repo("octo/app");
    let query = "{ repository(owner: \"octo\", name: \"app\") {
      pullRequests(first: 100) { nodes { labels(first: 50) { nodes { name } } comments(first: 10) { nodes { id } } } }
    } rateLimit { cost nodeCount } }";
    let body = graphql(&world, query, Value::Null).json();
    // 1 list + 100 label lists + 100 comment lists = 201 requests.
    assert_eq!(body["data"]["rateLimit"], json!({ "cost": 2, "nodeCount": 100 + 100 * 50 + 100 * 10 }));
}
