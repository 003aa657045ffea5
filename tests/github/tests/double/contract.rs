//! The judge itself: it passes what is lawful and names what is not.

use serde_json::json;

use crate::client::{ask, get, send, world};

#[test]
fn an_undocumented_parameter_a_wrong_word_and_an_unknown_call_are_named() {
    let world = world();
    world.repo("octo/app").open_issue("octo", "one", "");
    for (method, target, body, word) in [
        (
            "GET",
            "/repos/octo/app/issues/1/timeline?issue_number=1",
            json!(null),
            "issue_number is not documented",
        ),
        ("GET", "/repos/octo/app/pulls?state=opened", json!(null), "state=opened is not in its list"),
        (
            "POST",
            "/repos/octo/app/issues/1/comments",
            json!({ "body": "x", "text": "y" }),
            "text is not documented",
        ),
        ("POST", "/repos/octo/app/issues/1/comments", json!({ "body": 5 }), "5 is not of type"),
        ("GET", "/repos/octo/app/traffic/views", json!(null), "not one Steward may call"),
    ] {
        ask(&world, method, target, &body);
        let broken = world.take_violations();
        assert!(broken.iter().any(|what| what.contains(word)), "{method} {target}: {broken:?}");
    }
}

#[test]
#[should_panic(expected = "the contract with GitHub was broken")]
fn a_world_that_saw_a_broken_exchange_fails_its_test_when_it_ends() {
    let world = world();
    get(&world, "/user?page=1");
}

#[test]
fn a_request_without_user_agent_is_named() {
    let world = world();
    let host = world.base().trim_start_matches("http://").to_owned();
    let mut stream = std::net::TcpStream::connect(&host).unwrap();
    let request = format!("GET /rate_limit HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
    std::io::Read::read_to_end(&mut stream, &mut Vec::new()).unwrap();
    assert!(world.take_violations()[0].contains("user-agent"));
    assert_eq!(send(&world, "GET", "/rate_limit", &[], "").unwrap().status, 200);
}

#[test]
fn enterprise_paths_answer_alike() {
    let world = world();
    world.repo("octo/app");
    assert_eq!(get(&world, "/api/v3/repos/octo/app").json()["full_name"], json!("octo/app"));
}
