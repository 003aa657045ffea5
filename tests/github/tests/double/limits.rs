//! What a request costs: points, free 304s, a budget that runs out and comes back.

use std::time::Duration;

use serde_json::json;

use crate::client::{TOKEN, get, graphql, send, world};

fn remaining(answer: &crate::client::Answer) -> u64 {
    answer.header("x-ratelimit-remaining").and_then(|left| left.parse().ok()).expect("a budget")
}

#[test]
fn an_authorised_304_is_free_and_a_change_ends_it() {
    let world = world();
    let app = world.repo("octo/app");
    app.push("feat", "feat: x", &[("x", "x\n")]);
    app.open_pull("octo", "feat", "feat: x");
    let bearer = format!("Bearer {TOKEN}");
    let first = get(&world, "/repos/octo/app/pulls/1");
    let tag = first.header("etag").unwrap().to_owned();
    let again = || {
        let headers = [("authorization", bearer.as_str()), ("if-none-match", tag.as_str())];
        send(&world, "GET", "/repos/octo/app/pulls/1", &headers, "").unwrap()
    };
    let same = again();
    assert_eq!((same.status, same.bytes.len(), same.header("link")), (304, 0, None));
    assert_eq!(remaining(&same), remaining(&first));
    app.pull(1).comment("octo", "hi");
    let changed = again();
    assert_eq!((changed.status, remaining(&changed)), (200, remaining(&first) - 1));
    let tally = world.tally();
    assert_eq!((tally.requests, tally.points, tally.not_modified), (3, 2, 1));
}

#[test]
fn a_budget_runs_out_and_comes_back_with_its_hour() {
    let world = world();
    world.leave_points(TOKEN, 1);
    assert_eq!(remaining(&get(&world, "/user")), 0);
    let refused = get(&world, "/user");
    assert_eq!((refused.status, remaining(&refused)), (403, 0));
    assert!(refused.json()["message"].as_str().unwrap().starts_with("API rate limit exceeded for user ID"));
    assert_eq!(
        graphql(&world, "{ viewer { login } }", json!(null)).json()["data"]["viewer"]["login"],
        json!("octo")
    );
    let limited = graphql(&world, "{ viewer { login } }", json!(null)).json();
    assert_eq!(limited["errors"][0]["type"], json!("RATE_LIMITED"));
    world.advance(Duration::from_secs(3700));
    assert_eq!(remaining(&get(&world, "/user")), 4999);
    assert_eq!(get(&world, "/rate_limit").json()["resources"]["core"]["remaining"], json!(4999));
}

#[test]
fn the_date_is_the_clock_of_the_world() {
    let world = world();
    assert!(get(&world, "/user").header("date").unwrap().starts_with("Mon, 05 Jan 2026 09:"));
    world.advance(Duration::from_secs(86_400));
    assert!(get(&world, "/user").header("date").unwrap().starts_with("Tue, 06 Jan 2026 09:"));
    world.turn_back(Duration::from_secs(2 * 86_400));
    assert!(get(&world, "/user").header("date").unwrap().starts_with("Sun, 04 Jan 2026 09:"));
}

#[test]
fn a_running_clock_follows_real_time_and_gives_no_two_things_one_moment() {
    let begins = chrono::DateTime::from_timestamp(1_800_000_000, 0).unwrap();
    let world = steward_github_double::World::start_at(begins);
    world.token("octo", TOKEN, &["repo"]);
    let issue = world.repo("octo/app").open_issue("octo", "one", "");
    issue.comment("octo", "a");
    issue.comment("octo", "b");
    let listed = get(&world, "/repos/octo/app/issues/1/comments").list();
    assert!(listed[0]["created_at"].as_str() < listed[1]["created_at"].as_str());
    assert!(world.now() > begins);
}

#[test]
fn each_token_has_its_own_budget() {
    let world = world();
    world.token("friend", "another", &["repo"]);
    world.leave_points(TOKEN, 0);
    assert_eq!(get(&world, "/user").status, 403);
    let other = send(&world, "GET", "/user", &[("authorization", "token another")], "").unwrap();
    assert_eq!((other.status, remaining(&other)), (200, 4999));
}
