//! Lists are whole or they are not there.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use steward_core::github::GitHubError;
use steward_rules::ids::{PullNumber, Sha};
use steward_rules::reading::{Cause, Reading};

use super::server::{Asked, Reply, Server, json, status};
use super::{Desk, repo};

fn pull(number: usize) -> String {
    let end = |branch: &str| {
        format!(
            r#"{{"ref": "{branch}", "sha": "{}", "repo": {{"id": 1, "full_name": "octo/app"}}}}"#,
            "a".repeat(40)
        )
    };
    format!(
        r#"{{"id": {}, "number": {number}, "state": "open", "title": "t", "user": null, "head": {}, "base": {}}}"#,
        1000 + number,
        end("topic"),
        end("main"),
    )
}

fn array(numbers: impl IntoIterator<Item = usize>) -> String {
    format!("[{}]", numbers.into_iter().map(pull).collect::<Vec<_>>().join(","))
}

fn page(asked: &Asked) -> usize {
    asked.param("page").map_or(1, |page| page.parse().unwrap())
}

fn link(asked: &Asked, page: usize, rel: &str) -> String {
    let host = asked.header("host").unwrap();
    format!("<http://{host}/repositories/1/pulls?state=open&per_page=100&page={page}>; rel=\"{rel}\"")
}

/// Two entries a page, as many pages as asked for, linked as GitHub does.
fn linked(asked: &Asked, pages: usize) -> Reply {
    let number = page(asked);
    let reply = json(&array([number * 2 - 1, number * 2]));
    if number == pages {
        return reply.with("link", &link(asked, 1, "first"));
    }
    reply.with("link", &format!("{}, {}", link(asked, number + 1, "next"), link(asked, pages, "last")))
}

async fn numbers(server: &Server) -> Result<Vec<i64>, GitHubError> {
    let pulls = Desk::new().reader(server).await.open_pulls(&repo()).await?;
    Ok(pulls.into_iter().map(|pull| pull.number).collect())
}

#[tokio::test]
async fn every_page_is_read_and_looked_at_again() {
    let server = Server::start(|asked, _| linked(asked, 3)).await;
    assert_eq!(numbers(&server).await, Ok(vec![1, 2, 3, 4, 5, 6]));
    let asked: Vec<usize> = server.asked().iter().map(page).collect();
    assert_eq!(asked, [1, 2, 3, 1, 2]);
    assert_eq!(server.asked()[0].param("per_page"), Some("100"));

    let one = Server::start(|_, _| json(&array([1]))).await;
    assert_eq!(numbers(&one).await, Ok(vec![1]));
    let none = Server::start(|_, _| json("[]")).await;
    assert_eq!(numbers(&none).await, Ok(vec![]));
    assert_eq!((one.count(), none.count()), (1, 1));
}

#[tokio::test]
async fn a_page_that_fails_is_no_short_list() {
    let refused = status(403, r#"{"message": "You have exceeded a secondary rate limit."}"#);
    let rows: [(&str, Reply, &str); 8] = [
        ("500", status(500, "{}"), "server"),
        ("404", status(404, "{}"), "not_found"),
        ("a limit", refused, "secondary_limited"),
        ("torn", json(&array([5])).torn(9), "truncated"),
        ("wrong type", json(r#"[{"number": 5}]"#), "malformed"),
        ("an object", json("{}"), "malformed"),
        ("a page of the network", status(200, "<html>"), "captive_portal"),
        ("the last page is missing", json(&array([5])), "truncated"),
    ];
    for (name, third, slug) in rows {
        let server = Server::start(move |asked, _| match page(asked) {
            3 if slug == "truncated" && name.starts_with("the last") => {
                third.clone().with("link", &link(asked, 5, "last"))
            }
            3 => third.clone(),
            _ => linked(asked, 5),
        })
        .await;
        assert_eq!(numbers(&server).await.map_err(|error| error.slug()), Err(slug), "{name}");
        let reading = Desk::new().reader(&server).await.open_pull_facts(&repo()).await;
        assert!(
            matches!(&reading, Reading::Unread { why } if why.cause == Cause::ForgeFailed),
            "{name}: {reading:?}"
        );
    }
}

#[tokio::test]
async fn links_that_do_not_lead_through_the_list_are_refused() {
    let next = |to: String| {
        move |_: &Asked, _: usize| json(&array([1, 2])).with("link", &format!("<{to}>; rel=\"next\""))
    };
    let server = Server::start(next("http://example.org/pulls?page=2".to_owned())).await;
    assert_eq!(numbers(&server).await.map_err(|error| error.slug()), Err("malformed"));
    assert_eq!(server.count(), 1);
    for (name, at) in [("a page is skipped", 3), ("the first page again", 1)] {
        let server =
            Server::start(move |asked, _| json(&array([1])).with("link", &link(asked, at, "next"))).await;
        assert_eq!(numbers(&server).await.map_err(|error| error.slug()), Err("truncated"), "{name}");
    }
    let server = Server::start(|asked, _| json("[]").with("link", &link(asked, 2, "next"))).await;
    assert_eq!(
        numbers(&server).await.map_err(|error| error.slug()),
        Err("truncated"),
        "an empty page in the middle"
    );
    let server = Server::start(|_, _| json("[]").with("link", "next please")).await;
    assert_eq!(numbers(&server).await.map_err(|error| error.slug()), Err("malformed"));
}

#[tokio::test]
async fn a_full_page_whose_link_was_lost_on_the_way_is_not_taken_for_all() {
    let server = Server::start(|asked, _| match page(asked) {
        1 => json(&array(1..=100)),
        2 => json(&array(101..=130)),
        _ => json("[]"),
    })
    .await;
    assert_eq!(numbers(&server).await.map(|all| all.len()), Ok(130));
}

#[tokio::test]
async fn an_entry_on_two_pages_counts_once() {
    let server = Server::start(|asked, _| match page(asked) {
        1 => json(&array([1, 2])).with("link", &link(asked, 2, "next")),
        _ => json(&array([2, 3])),
    })
    .await;
    assert_eq!(numbers(&server).await, Ok(vec![1, 2, 3]));
}

#[tokio::test]
async fn a_list_that_moves_while_it_is_read_is_read_again_or_refused() {
    // The first is closed after page 1 was read: what was first on page 2 is on page 1 now.
    let moved = |asked: &Asked, gone: bool| match (page(asked), gone) {
        (1, false) => json(&array([1, 2])).with("link", &link(asked, 2, "next")),
        (1, true) => json(&array([2, 3])).with("link", &link(asked, 2, "next")),
        _ => json(&array([4])),
    };
    let server = Server::start(move |asked, before| moved(asked, before > 0)).await;
    assert_eq!(numbers(&server).await, Ok(vec![2, 3, 4]));
    let firsts = Arc::new(AtomicUsize::new(0));
    let server = Server::start(move |asked, _| {
        let first = page(asked) == 1;
        let turn = if first { firsts.fetch_add(1, Ordering::SeqCst) } else { 0 };
        moved(asked, turn % 2 == 1)
    })
    .await;
    assert_eq!(numbers(&server).await.map_err(|error| error.slug()), Err("truncated"));
}

#[tokio::test]
async fn pages_that_are_too_heavy_are_asked_for_smaller() {
    let server = Server::start(|asked, _| match asked.param("per_page").unwrap() {
        "25" => json(&array([1])),
        _ => status(502, ""),
    })
    .await;
    assert_eq!(numbers(&server).await, Ok(vec![1]));
    let sizes: Vec<String> =
        server.asked().iter().map(|asked| asked.param("per_page").unwrap().to_owned()).collect();
    assert_eq!(sizes, ["100", "100", "100", "50", "50", "50", "25"]);
}

#[tokio::test]
async fn fewer_check_runs_than_were_counted_are_none() {
    let head = Sha::new(&"a".repeat(40)).unwrap();
    let run = format!(
        r#"{{"id": 1, "name": "ci", "head_sha": "{head}", "status": "completed", "conclusion": "success"}}"#
    );
    for (total, known) in [(1, true), (2, false)] {
        let body = format!(r#"{{"total_count": {total}, "check_runs": [{run}]}}"#);
        let server = Server::start(move |asked, _| match asked.path().rsplit('/').next().unwrap() {
            "check-runs" => json(&body),
            _ => json("[]"),
        })
        .await;
        let desk = Desk::new();
        let facts = desk.reader(&server).await.check_facts(&repo(), &head, desk.now()).await;
        assert_eq!(facts.get().is_ok(), known, "{total}");
        assert_eq!(server.asked()[0].param("filter"), Some("all"));
    }
}

#[tokio::test]
async fn commits_of_a_pull_request_are_held_against_its_own_count() {
    let rows = [
        (2, 2, None),
        (3, 2, Some(Cause::ForgeFailed)),
        (1, 2, Some(Cause::ForgeFailed)),
        (251, 2, Some(Cause::TooLarge)),
    ];
    for (counted, came, cause) in rows {
        let commit = |n: usize| {
            let sha = if n == came { "a".repeat(40) } else { format!("{n:040}") };
            format!(r#"{{"sha": "{sha}", "commit": {{"message": "m"}}, "author": {{}}}}"#)
        };
        let list = format!("[{}]", (1..=came).map(commit).collect::<Vec<_>>().join(","));
        let alone = pull(7).replacen('{', &format!(r#"{{"commits": {counted}, "#), 1);
        let server = Server::start(move |asked, _| {
            json(if asked.path().ends_with("/commits") { &list } else { &alone })
        })
        .await;
        let ids = Desk::new().reader(&server).await.pull_commit_ids(&repo(), PullNumber(7)).await;
        assert_eq!(ids.get().err().map(|why| why.cause), cause, "{counted}: {ids:?}");
    }
}
