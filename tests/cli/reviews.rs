//! A review from the command line, by a reviewer that speaks the small contract, in the real boundary.

use crate::desk::{ACCEPTED, CHANGES, Desk};

/// Reviews need a boundary; a machine without one says so and starts none.
fn no_boundary(desk: &Desk) -> bool {
    let report = desk.person(&["seats", "check", "--json"]).ok().json();
    if report["boundary"] == "none" {
        eprintln!("skipped: no boundary on this machine");
        return true;
    }
    assert_eq!(report["ready"], true, "{report}");
    false
}

#[test]
fn a_review_is_hosted_by_the_command_when_no_runtime_is_there() {
    let desk = Desk::with_reviewer(CHANGES);
    if no_boundary(&desk) {
        return;
    }
    let review = desk.person(&["review", "1", "--wait", "--json"]).ok().json();
    assert_eq!(review["state"], "published");
    assert_eq!((&review["verdict"], &review["seatVerdict"]), (&"CHANGES".into(), &"CHANGES".into()));
    assert_eq!(review["sha"], desk.repo.head());
    assert_eq!(review["findings"][0]["file"], "src/a.rs");
    assert!(review["findings"][0]["excerpt"].as_array().is_some_and(|lines| !lines.is_empty()));
    assert_eq!(
        review["cost"]["usd"],
        serde_json::Value::Null,
        "the contract reports no cost, so it is unknown"
    );

    let copied = desk.person(&["show", "1", "--findings"]).ok().stdout;
    let first = copied.lines().next().unwrap_or_default();
    assert_eq!(first, format!("Review of task #1 at {}: CHANGES", desk.repo.head()));
    assert!(copied.contains("c is never called"), "{copied}");

    let inbox = desk.person(&["inbox", "--json"]).ok().json();
    assert_eq!(inbox["entries"].as_array().map(Vec::len), Some(1), "{inbox}");
    assert_eq!(inbox["entries"][0]["chip"], "CHANGES");
    assert_eq!(desk.person(&["status", "--json"]).ok().json()["holder"], serde_json::Value::Null);
}

#[test]
fn c13_the_same_head_is_not_reviewed_twice() {
    let desk = Desk::with_reviewer(ACCEPTED);
    if no_boundary(&desk) {
        return;
    }
    let first = desk.person(&["review", "1", "--json"]).ok().json();
    assert_eq!(first["verdict"], "ACCEPTED", "{first}");
    let again = desk.person(&["review", "1", "--json"]);
    assert_eq!(again.code, 1);
    assert_eq!(again.json()["error"]["code"], "refused", "{again:?}");
    desk.repo.commit("fix: another", &[("src/a.rs", Some(b"fn a() {}\n"))]);
    let moved = desk.person(&["review", "1", "--json"]).ok().json();
    assert_eq!(moved["id"], 2);
    let old = desk.person(&["show", "1", "--json"]).ok().json();
    assert_eq!((&old["stale"], old["staleReason"].is_string()), (&true.into(), true));
    let rows = desk.person(&["list", "1", "--limit", "5", "--json"]).ok().json();
    assert_eq!(rows["reviews"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_reviewer_that_hands_in_nothing_ends_the_review_as_crashed_with_exit_code_1() {
    let desk = Desk::with_task();
    desk.reviewer("exit 0\n");
    desk.enable();
    if no_boundary(&desk) {
        return;
    }
    let ran = desk.person(&["review", "1", "--json"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let review = ran.json();
    assert_eq!((&review["verdict"], &review["reason"]), (&"BLOCKED".into(), &"crashed".into()));
    assert!(review["reasonDetail"].as_str().is_some_and(|why| !why.is_empty()), "{review}");
}

#[test]
fn start_conditions_answer_with_their_own_words_and_exit_codes() {
    let desk = Desk::with_task();
    let refused = |args: &[&str]| {
        let mut args = args.to_vec();
        args.push("--json");
        let ran = desk.person(&args);
        (ran.code, ran.json()["error"].clone())
    };
    let (code, error) = refused(&["review", "1"]);
    assert_eq!((code, &error["code"]), (1, &"refused".into()), "{error}");
    assert!(error["hint"].as_str().unwrap_or_default().contains("review.enabled"), "{error}");
    desk.enable();
    let (code, error) = refused(&["review", "1"]);
    assert_eq!(code, 1);
    assert!(error["hint"].as_str().unwrap_or_default().contains("seats seed"), "{error}");
    desk.reviewer("exit 0\n");
    let (code, error) = refused(&["review", "99"]);
    assert_eq!((code, &error["code"]), (1, &"not_found".into()));
    let upper = desk.repo.head().to_uppercase();
    let (code, error) = refused(&["review", "1", "--sha", &upper]);
    assert_eq!((code, &error["code"]), (2, &"bad_request".into()), "{error}");
    let (code, _) = refused(&["review", "1", "--sha", "0000000000000000000000000000000000000001"]);
    assert_eq!(code, 1, "a commit that is not there");
    let older = desk.repo.sha("main");
    let (code, error) = refused(&["review", "1", "--sha", &older]);
    assert_eq!((code, &error["code"]), (1, &"refused".into()), "a commit that is not the head: {error}");
    let (code, error) = refused(&["cancel", "7"]);
    assert_eq!((code, &error["code"]), (1, &"not_found".into()));
    let (code, error) = refused(&["show", "7"]);
    assert_eq!((code, &error["code"]), (1, &"not_found".into()));
    for limit in ["0", "201", "-1", "x"] {
        let ran = desk.person(&["list", "--limit", limit, "--json"]);
        assert_eq!(ran.code, 2, "--limit {limit}");
        assert_eq!(ran.json()["error"]["code"], "bad_request");
    }
}

#[test]
fn without_a_runtime_a_verdict_turns_stale_when_somebody_looks() {
    let desk = Desk::with_reviewer(CHANGES);
    if no_boundary(&desk) {
        return;
    }
    desk.person(&["review", "1", "--json"]).ok();
    assert_eq!(desk.person(&["show", "1", "--json"]).ok().json()["stale"], false);
    desk.repo.commit("fix: another", &[("src/a.rs", Some(b"fn a() {}\n"))]);
    let inbox = desk.person(&["inbox", "--json"]).ok().json();
    assert_eq!((&inbox["entries"], &inbox["total"]), (&serde_json::json!([]), &0.into()), "{inbox}");
    let review = desk.person(&["show", "1", "--json"]).ok().json();
    assert_eq!((&review["stale"], &review["staleReason"]), (&true.into(), &"head_moved".into()));
    let copied = desk.person(&["show", "1", "--findings"]).ok().stdout;
    assert!(copied.lines().nth(1).is_some_and(|line| line.starts_with("STALE")), "{copied}");
}

#[test]
fn a_branch_that_went_is_not_reviewed_and_an_id_that_is_no_commit_neither() {
    let desk = Desk::with_reviewer(ACCEPTED);
    let tree = desk.repo.sha("HEAD^{tree}");
    let refused = desk.person(&["review", "1", "--sha", &tree, "--json"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.json()["error"]["message"].as_str().unwrap_or_default().contains("not reachable"));
    desk.repo.checkout("main");
    desk.repo.git(&["branch", "-D", "fix/etag"]);
    let refused = desk.person(&["review", "1", "--json"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    let error = refused.json()["error"].clone();
    assert!(error["message"].as_str().unwrap_or_default().contains("the branch is gone"), "{error}");
    assert_eq!(desk.person(&["list", "--json"]).ok().json(), serde_json::json!({ "reviews": [] }));
}
