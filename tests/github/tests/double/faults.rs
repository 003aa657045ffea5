//! Each fault goes wrong in its own way, as often as it was planned, and no further.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use steward_github_double::{Fault, Retry, World};

use crate::client::{TOKEN, ask, get, graphql, send, world};

const PULLS: &str = "GET /repos/{owner}/{repo}/pulls";
const COMMENT: &str = "POST /repos/{owner}/{repo}/issues/{issue_number}/comments";

fn filled() -> World {
    let world = world();
    let app = world.repo("octo/app");
    for at in 1..=4 {
        app.push(&format!("b{at}"), "feat: x", &[(&format!("f{at}"), "x\n")]);
        app.open_pull("octo", &format!("b{at}"), "feat: x");
    }
    world
}

fn numbers(world: &World) -> Vec<u64> {
    get(world, "/repos/octo/app/pulls")
        .list()
        .iter()
        .map(|pull| pull["number"].as_u64().expect("a number"))
        .collect()
}

#[test]
fn a_lost_reply_has_its_effect_and_a_cut_has_none() {
    let world = filled();
    let bearer = format!("Bearer {TOKEN}");
    let post = || {
        let target = "/repos/octo/app/issues/1/comments";
        send(&world, "POST", target, &[("authorization", &bearer)], "{\"body\":\"once\"}")
    };
    world.when(COMMENT).answers(Fault::LostReply);
    assert!(post().is_none());
    assert_eq!(world.repo("octo/app").pull(1).comments().len(), 1);
    world.when(COMMENT).answers(Fault::Cut);
    assert!(post().is_none());
    assert_eq!(world.repo("octo/app").pull(1).comments().len(), 1);
    world.when(COMMENT).answers(Fault::StatusAfterEffect(502));
    assert_eq!(post().unwrap().status, 502);
    assert_eq!(world.repo("octo/app").pull(1).comments().len(), 2);
    assert_eq!(post().unwrap().status, 201);
    assert_eq!(world.faults_left(), 0);
}

#[test]
fn bodies_come_torn_of_another_type_as_html_and_too_big() {
    let world = filled();
    world.when(PULLS).answers(Fault::Truncated);
    let torn = get(&world, "/repos/octo/app/pulls");
    assert!(torn.status == 200 && !torn.whole && !torn.bytes.is_empty());
    world.when(PULLS).answers(Fault::WrongType);
    assert_eq!(get(&world, "/repos/octo/app/pulls").json(), json!({}));
    world.when(PULLS).answers(Fault::Html);
    let page = get(&world, "/repos/octo/app/pulls");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    world.when(PULLS).answers(Fault::Oversized(5_000_000));
    assert_eq!(get(&world, "/repos/octo/app/pulls").bytes.len(), 5_000_000);
    world.when(PULLS).answers(Fault::GzipBomb(50_000_000));
    let bomb = get(&world, "/repos/octo/app/pulls");
    assert!(bomb.header("content-encoding") == Some("gzip") && bomb.bytes.starts_with(&[0x1f, 0x8b]));
    assert!((1..1_000_000).contains(&bomb.bytes.len()), "{} bytes", bomb.bytes.len());
    assert_eq!(numbers(&world), [4, 3, 2, 1]);
}

#[test]
fn a_status_comes_as_often_as_planned() {
    let world = filled();
    for status in [500, 502, 503, 401, 403, 404, 410] {
        world.when(PULLS).times(2).answers(Fault::Status(status));
        assert_eq!(get(&world, "/repos/octo/app/pulls").status, status);
        assert_eq!(get(&world, "/repos/octo/app/pulls").status, status);
        assert_eq!(get(&world, "/repos/octo/app/pulls").status, 200);
    }
    world.when("GET *").answers(Fault::Moved { status: 301, to: format!("{}/elsewhere", world.base()) });
    let moved = get(&world, "/user");
    assert!(moved.status == 301 && moved.header("location").is_some_and(|to| to.ends_with("/elsewhere")));
}

#[test]
fn the_third_page_alone_can_fail() {
    let world = filled();
    world.when(PULLS).page(3).answers(Fault::Status(502));
    let status = |page: u64| get(&world, &format!("/repos/octo/app/pulls?per_page=1&page={page}")).status;
    assert_eq!([status(1), status(2), status(3), status(3), status(4)], [200, 200, 502, 200, 200]);
    world.when(PULLS).page(2).answers(Fault::EmptyPage);
    let empty = get(&world, "/repos/octo/app/pulls?per_page=1&page=2");
    assert!(empty.list().is_empty() && empty.link("next").is_some());
}

#[test]
fn limits_come_with_and_without_a_time_to_come_back() {
    let world = filled();
    let secondary = |status, retry| world.when(PULLS).answers(Fault::Secondary { status, retry });
    secondary(403, Retry::Silent);
    let silent = get(&world, "/repos/octo/app/pulls");
    assert!(silent.json()["message"].as_str().unwrap().contains("secondary rate limit"));
    assert_eq!((silent.status, silent.header("retry-after")), (403, None));
    assert_ne!(silent.header("x-ratelimit-remaining"), Some("0"));
    secondary(429, Retry::Seconds(60));
    assert_eq!(get(&world, "/repos/octo/app/pulls").header("retry-after"), Some("60"));
    secondary(429, Retry::Date(90));
    assert!(get(&world, "/repos/octo/app/pulls").header("retry-after").is_some_and(|at| at.ends_with("GMT")));
    world.when(PULLS).answers(Fault::PrimaryLimit);
    let primary = get(&world, "/repos/octo/app/pulls");
    assert_eq!((primary.status, primary.header("x-ratelimit-remaining")), (403, Some("0")));
    world.when("POST /graphql").answers(Fault::PrimaryLimit);
    let limited = graphql(&world, "{ viewer { login } }", Value::Null);
    assert_eq!((limited.status, &limited.json()["errors"][0]["type"]), (200, &json!("RATE_LIMITED")));
    world.when("POST /graphql").answers(Fault::PartialData);
    let query =
        "{ repository(owner: \"octo\", name: \"app\") { pullRequests(first: 10) { nodes { number } } } }";
    let partial = graphql(&world, query, Value::Null).json();
    let nodes = partial["data"]["repository"]["pullRequests"]["nodes"].as_array().unwrap();
    assert!(partial["errors"].is_array() && nodes.len() == 4 && nodes[3].is_null());
}

#[test]
fn a_stale_read_shows_what_was_there_and_answers_come_twice_or_backwards() {
    let world = filled();
    assert_eq!(numbers(&world), [4, 3, 2, 1]);
    world.repo("octo/app").pull(2).close("octo");
    world.when(PULLS).answers(Fault::Stale);
    assert_eq!(numbers(&world), [4, 3, 2, 1]);
    assert_eq!(numbers(&world), [4, 3, 1]);
    world.when(PULLS).answers(Fault::Duplicated);
    assert_eq!(numbers(&world), [4, 4, 3, 3, 1, 1]);
    world.when(PULLS).answers(Fault::Reordered);
    assert_eq!(numbers(&world), [1, 3, 4]);
}

#[test]
fn a_slow_answer_is_right_and_late() {
    let world = filled();
    world.when("GET /user").answers(Fault::Slow(Duration::from_millis(150)));
    let began = Instant::now();
    assert_eq!(get(&world, "/user").json()["login"], json!("octo"));
    assert!(began.elapsed() >= Duration::from_millis(150));
}

#[test]
fn a_fault_can_let_some_pass_and_be_called_off() {
    let world = filled();
    world.when(PULLS).after(1).always().answers(Fault::Status(500));
    let status = || get(&world, "/repos/octo/app/pulls").status;
    assert_eq!([status(), status(), status()], [200, 500, 500]);
    world.calm();
    assert_eq!(status(), 200);
    world.when("*").containing("octo/app").answers(Fault::Status(503));
    assert_eq!([get(&world, "/user").status, status()], [200, 503]);
    let merge = ask(&world, "PUT", "/repos/octo/app/pulls/1/merge", &json!({}));
    assert_eq!(merge.status, 200);
}
