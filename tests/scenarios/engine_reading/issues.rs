//! Issues: comments, edits, and the pull requests that refer to them (engine.md 10).

use serde_json::json;
use steward_github_double::Fault;
use steward_rules::engine::triage::IssueObs;

use super::*;

async fn issue(desk: &Desk, number: u64) -> IssueObs {
    reading::issue(&desk.ctx, &place(desk), number as i64).await.unwrap()
}

#[tokio::test]
async fn an_issue_is_read_with_every_field() {
    let desk = desk();
    let issue_of = app(&desk).open_issue("maria", "add b", "please").label("data:add-work");
    let number = issue_of.number();
    issue_of.comment("octo", "<!-- steward:issue 1 -->\nWhich edition?");
    issue_of.comment("maria", "> <!-- steward:issue 1 -->\nthe second");
    issue_of.edit_by("maria", "please, the second");
    let seen = issue(&desk, number).await;
    assert_eq!((seen.number, seen.is_pull, seen.is_open), (number as i64, false, true));
    assert_eq!(
        (seen.reporter.login.as_str(), known(&seen.labels)),
        ("maria", vec!["data:add-work".to_owned()])
    );
    let said: Vec<_> =
        seen.comments.items.iter().map(|one| (one.by.login.as_str(), one.has_marker)).collect();
    assert_eq!(said, [("octo", true), ("maria", false)], "a quotation is no marker");
    let edits: Vec<_> = seen.edits.items.iter().map(|edit| (edit.by.login.as_str(), edit.by.id)).collect();
    assert_eq!(edits, [("maria", seen.reporter.id)]);
    assert!(seen.edits.items[0].at > seen.comments.items[1].at);
    assert!(seen.comments.complete && seen.edits.complete && seen.open_pulls.complete);
    assert_eq!(seen.open_pulls.items, []);
    issue_of.close("octo");
    assert!(!issue(&desk, number).await.is_open);
    let pull = intake(&desk);
    assert!(issue(&desk, pull.number()).await.is_pull);
}

#[tokio::test]
async fn pull_requests_refer_by_keyword_branch_and_cross_reference() {
    let desk = desk();
    let app = app(&desk);
    let number = app.open_issue("maria", "add b", "please").number();
    let seen = async || issue(&desk, number).await.open_pulls;
    let branch = format!("intake/issue-{number}");
    app.push(&branch, "data: b", &[("data/works/b.json", "{\"b\": {}}\n")]);
    let by_branch = app.open_pull("maria", &branch, "[intake] b");
    app.push("other", "data: c", &[("data/works/c.json", "{\"c\": {}}\n")]);
    let by_word = app.open_pull("maria", "other", "c").body(&format!("it FIXES: octo/app#{number}"));
    app.push("third", "data: d", &[("data/works/d.json", "{\"d\": {}}\n")]);
    let quoting =
        app.open_pull("maria", "third", "d").body(&format!("`closes #{number}` and closes o/p#{number}"));
    let all = |numbers: &[u64]| Listing::whole(numbers.iter().map(|one| PullNumber(*one as i64)));
    assert_eq!(seen().await, all(&[by_branch.number(), by_word.number()]));
    // A reference from an open pull request counts; from anything else it does not.
    let from = |number: u64, title: &str, is_pull: bool| {
        let mut issue = json!({
            "id": 1, "number": number, "title": title, "state": "open", "user": null, "labels": [],
            "created_at": "2026-01-05T09:00:00Z", "updated_at": "2026-01-05T09:00:00Z",
        });
        if is_pull {
            issue["pull_request"] = json!({});
        }
        json!({ "source": { "type": "issue", "issue": issue } })
    };
    desk.world.allow("timeline");
    desk.world.allow("anyOf");
    let target = app.pull(number);
    target.event("cross-referenced", "maria", from(quoting.number(), "of another repository", true));
    target.event("cross-referenced", "maria", from(quoting.number(), "d", false));
    assert_eq!(seen().await, all(&[by_branch.number(), by_word.number()]));
    target.event("cross-referenced", "maria", from(quoting.number(), "d", true));
    assert_eq!(seen().await, all(&[by_branch.number(), by_word.number(), quoting.number()]));
    by_branch.close("octo");
    by_word.close("octo");
    quoting.close("octo");
    assert_eq!(seen().await, all(&[]));
    drop(desk.world.take_violations());
}

#[tokio::test]
async fn a_part_of_an_issue_that_fails_is_cut() {
    let desk = desk();
    let number = app(&desk).open_issue("maria", "add b", "please").number();
    let cut = async |operation: &str, fault: Fault| {
        desk.world.when(operation).always().answers(fault);
        let seen = issue(&desk, number).await;
        desk.world.calm();
        (seen.comments.complete, seen.edits.complete, seen.open_pulls.complete)
    };
    let comments = "GET /repos/{owner}/{repo}/issues/{issue_number}/comments";
    assert_eq!(cut(comments, Fault::Status(500)).await, (false, true, true));
    assert_eq!(cut("POST /graphql", Fault::Status(502)).await, (true, false, true));
    assert_eq!(cut("POST /graphql", Fault::PartialData).await, (true, false, true));
    assert_eq!(cut("GET /repos/{owner}/{repo}/pulls", Fault::WrongType).await, (true, true, false));
    let timeline = "GET /repos/{owner}/{repo}/issues/{issue_number}/timeline";
    assert_eq!(cut(timeline, Fault::Status(500)).await, (true, true, false));
    desk.world.when("POST /graphql").always().answers(Fault::PrimaryLimit);
    let error = reading::issue(&desk.ctx, &place(&desk), number as i64).await.unwrap_err();
    assert_eq!(error.slug(), "rate_limited");
}
