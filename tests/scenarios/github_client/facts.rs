//! What GitHub says, as the gates judge it.

use chrono::{DateTime, Utc};
use steward_core::github::types::{CheckRun, Event, Status};
use steward_core::github::{GitHubError, convert};
use steward_rules::ids::{PullNumber, Sha};
use steward_rules::reading::{Cause, Reading};
use steward_rules::review::facts::{CheckState, PullState, Pushed};

use super::server::{Server, json, status};
use super::{Desk, repo};

fn sha(letter: char) -> Sha {
    Sha::new(&letter.to_string().repeat(40)).unwrap()
}

fn now() -> DateTime<Utc> {
    "2026-11-30T10:00:00Z".parse().unwrap()
}

fn run(id: u64, name: &str, suite: u64, status: &str, conclusion: &str) -> CheckRun {
    let text = format!(
        r#"{{"id": {id}, "name": "{name}", "head_sha": "{}", "status": "{status}", "conclusion": {conclusion},
            "started_at": "2026-11-30T09:00:00Z", "app": {{"id": 15368, "slug": "github-actions"}},
            "check_suite": {{"id": {suite}}}, "new_field": [1]}}"#,
        sha('a')
    );
    serde_json::from_str(&text).unwrap()
}

#[test]
fn re_runs_of_one_check_are_counted_within_their_suite() {
    let ended = r#""success""#;
    let runs = [
        run(30, "ci", 1, "completed", ended),
        run(10, "ci", 1, "completed", ended),
        run(20, "ci", 2, "completed", ended),
        run(25, "lint", 1, "completed", ended),
    ];
    let facts = convert::checks(&runs, &[], &sha('a'), now(), now()).unwrap();
    let attempts: Vec<_> = facts.runs.iter().map(|run| (run.id, run.attempt)).collect();
    assert_eq!(attempts, [(30, 2), (10, 1), (20, 1), (25, 1)]);
    assert!(facts.runs.iter().all(|run| run.app == "github-actions"));
}

#[test]
fn a_word_to_come_is_kept_and_never_counts_as_well() {
    for (status, conclusion, state) in [
        ("completed", r#""success""#, CheckState::Ended("success".into())),
        ("completed", r#""word_to_come""#, CheckState::Ended("word_to_come".into())),
        ("completed", "null", CheckState::Ended("no conclusion".into())),
        ("queued", "null", CheckState::Queued),
        ("waiting", "null", CheckState::Queued),
        ("in_progress", r#""success""#, CheckState::InProgress),
        ("word_to_come", r#""success""#, CheckState::InProgress),
    ] {
        let facts =
            convert::checks(&[run(1, "ci", 1, status, conclusion)], &[], &sha('a'), now(), now()).unwrap();
        assert_eq!(facts.runs[0].state, state, "{status} {conclusion}");
    }
}

#[test]
fn check_runs_of_another_commit_are_no_facts_about_this_one() {
    let foreign = convert::checks(&[run(1, "ci", 1, "queued", "null")], &[], &sha('b'), now(), now());
    assert_eq!(foreign.unwrap_err().slug(), "malformed");
}

#[test]
fn a_status_of_a_deleted_account_and_an_app_without_a_name_are_kept_apart() {
    let status: Status = serde_json::from_str(
        r#"{"id": 5, "state": "success", "context": "deploy", "creator": null, "created_at": "2026-11-30T09:00:00Z"}"#,
    )
    .unwrap();
    let mut nameless = run(1, "ci", 1, "queued", "null");
    nameless.app.as_mut().unwrap().slug = None;
    let facts = convert::checks(&[nameless], &[status], &sha('a'), now(), now()).unwrap();
    assert_eq!(facts.statuses[0].creator, "ghost");
    assert_eq!(facts.runs[0].app, "app 15368");
}

#[test]
fn events_of_kinds_to_come_do_not_fail_a_timeline() {
    let text = r#"[{"event": "blocked_by_added", "id": 1, "blocker": {"x": 1}},
        {"event": "committed", "sha": "abc", "author": {"name": "n", "email": "e", "date": "2026-11-30T09:00:00Z"}},
        {"event": "cross-referenced", "actor": null, "source": {"type": "issue", "issue": null}},
        {"event": "labeled", "label": {"name": "bug", "color": "ff0000"}}, {}]"#;
    let events: Vec<Event> = serde_json::from_str(text).unwrap();
    assert_eq!(events.len(), 5);
    assert_eq!(events[3].label.as_ref().unwrap().name, "bug");
}

fn pull(state: &str, merged: &str) -> String {
    format!(
        r#"{{"id": 9, "number": 7, "state": "{state}", "draft": true, "merged_at": {merged}, "title": "feat: x",
            "body": null, "user": {{"id": 1, "login": "octo", "type": "User"}}, "labels": [{{"id": 3, "name": "bug"}}],
            "head": {{"ref": "topic", "sha": "{}", "repo": null}},
            "base": {{"ref": "main", "sha": "{}", "repo": {{"id": 1, "full_name": "octo/app"}}}}}}"#,
        sha('a'),
        sha('b')
    )
}

#[tokio::test]
async fn a_pull_request_is_open_merged_or_closed_and_nothing_is_guessed() {
    let merged = r#""2026-11-30T09:00:00Z""#;
    for (state, at, expected) in [
        ("open", "null", Some(PullState::Open)),
        ("closed", "null", Some(PullState::Closed)),
        ("closed", merged, Some(PullState::Merged)),
        ("word_to_come", "null", None),
    ] {
        let body = pull(state, at);
        let server = Server::start(move |_, _| json(&body)).await;
        let desk = Desk::new();
        let facts = desk.reader(&server).await.pull_facts(&repo(), PullNumber(7)).await;
        assert_eq!(facts.get().ok().map(|facts| facts.state), expected, "{state}");
        if let Reading::Known { value } = facts {
            assert_eq!(
                (value.base_branch.as_str(), value.base_sha, value.head),
                ("main", sha('b'), sha('a'))
            );
            assert_eq!((value.body.as_data(), value.draft, value.fetched_at), ("", true, desk.now()));
            assert!(
                matches!(value.base_is_ancestor_of_tip, Reading::Unread { why } if why.cause == Cause::NotReadYet)
            );
        }
    }
}

#[tokio::test]
async fn the_pull_request_of_a_branch_is_not_one_of_a_fork_with_the_same_branch() {
    let one = |id: u64, state: &str, home: &str| {
        pull(state, "null")
            .replace(r#""repo": null"#, &format!(r#""repo": {{"id": 1, "full_name": "{home}"}}"#))
            .replace(r#""id": 9, "number": 7"#, &format!(r#""id": {id}, "number": {id}"#))
    };
    // The newest is closed, the newest open one counts; nobody else's branch of that name does.
    let all = [
        one(14, "closed", "Octo/App"),
        one(13, "open", "fork/app"),
        one(12, "open", "Octo/App"),
        one(11, "open", "octo/app"),
    ];
    let (body, closed) = (format!("[{}]", all.join(",")), format!("[{},{}]", all[0], all[1]));
    let server = Server::start(move |asked, _| match asked.param("head") == Some("octo%3Atopic") {
        true => json(&body),
        false => json(&closed),
    })
    .await;
    let reader = Desk::new().reader(&server).await;
    let of = async |branch: &str| {
        reader.pull_of_branch(&repo(), branch).await.get().unwrap().as_ref().map(|pull| pull.facts.number.0)
    };
    assert_eq!((of("topic").await, of("other").await), (Some(12), None));
}

#[tokio::test]
async fn a_branch_that_is_not_there_is_told_from_one_that_cannot_be_read() {
    let branch = format!(r#"{{"name": "feat/x", "commit": {{"sha": "{}"}}, "protected": false}}"#, sha('a'));
    let desk = Desk::new();
    let server = Server::start(move |asked, _| match asked.path() {
        "/repos/octo/app/branches/feat/x%23" => json(&branch),
        "/repos/octo/app" => json(super::REPO),
        _ => status(404, r#"{"message": "Branch not found"}"#),
    })
    .await;
    let reader = desk.reader(&server).await;
    assert_eq!(reader.branch_tip(&repo(), "feat/x#").await, Reading::known(Some(sha('a'))));
    assert_eq!(reader.branch_tip(&repo(), "gone").await, Reading::known(None));
    assert_eq!(reader.pushed(&repo(), "feat/x#", &sha('a')).await, Reading::known(Pushed::Yes));
    assert_eq!(
        reader.pushed(&repo(), "feat/x#", &sha('b')).await,
        Reading::known(Pushed::No { remote: Some(sha('a')) })
    );
    assert_eq!(reader.pushed(&repo(), "gone", &sha('b')).await, Reading::known(Pushed::No { remote: None }));

    // The whole repository is hidden: that says nothing about its branches.
    let server = Server::start(|_, _| status(404, "{}")).await;
    assert!(desk.reader(&server).await.branch_tip(&repo(), "gone").await.get().is_err());
    let server = Server::start(|_, _| status(401, "{}")).await;
    let why = desk.reader(&server).await.branch_tip(&repo(), "gone").await.get().unwrap_err().clone();
    assert_eq!(why.cause, Cause::SignedOut);
}

#[tokio::test]
async fn modes_come_from_both_trees_and_a_tree_cut_short_is_none() {
    let files = r#"[{"filename": "link", "status": "modified", "sha": null},
        {"filename": "new", "status": "added"}, {"filename": "old", "status": "removed"},
        {"filename": "to", "previous_filename": "from", "status": "renamed"}]"#;
    let entry = |path: &str, mode: &str| {
        format!(r#"{{"path": "{path}", "mode": "{mode}", "type": "blob", "sha": "{}"}}"#, sha('c'))
    };
    let tree = |entries: &[String], cut: bool| {
        format!(r#"{{"sha": "{}", "tree": [{}], "truncated": {cut}}}"#, sha('d'), entries.join(","))
    };
    let base = tree(&[entry("link", "100644"), entry("old", "100755"), entry("from", "160000")], false);
    for (cut, known) in [(false, true), (true, false)] {
        let head = tree(&[entry("link", "120000"), entry("new", "100755"), entry("to", "160000")], cut);
        let (base, files, alone) = (
            base.clone(),
            files.to_owned(),
            pull("open", "null").replacen('{', r#"{"changed_files": 4, "#, 1),
        );
        let server = Server::start(move |asked, _| {
            let path = asked.path();
            if path.ends_with("/files") {
                json(&files)
            } else if path.ends_with(sha('b').as_str()) {
                json(&base)
            } else if path.contains("/git/trees/") {
                json(&head)
            } else {
                json(&alone)
            }
        })
        .await;
        let read =
            Desk::new().reader(&server).await.pull_files_with_modes(&repo(), PullNumber(7), &sha('b')).await;
        assert_eq!(read.get().is_ok(), known, "{read:?}");
        let Reading::Known { value } = read else { continue };
        let modes: Vec<_> =
            value.iter().map(|file| (file.previous_mode.as_deref(), file.mode.as_deref())).collect();
        let expected = [
            (Some("100644"), Some("120000")),
            (None, Some("100755")),
            (Some("100755"), None),
            (Some("160000"), Some("160000")),
        ];
        assert_eq!(modes, expected);
    }
}

#[tokio::test]
async fn a_comparison_that_may_be_cut_gives_no_files() {
    let file = |n: usize| format!(r#"{{"filename": "f{n}", "status": "added"}}"#);
    for (count, whole) in [(299, true), (300, false)] {
        let files = (0..count).map(file).collect::<Vec<_>>().join(",");
        let body = format!(
            r#"{{"status": "ahead", "ahead_by": 1, "behind_by": 0, "total_commits": 1, "merge_base_commit": {{"sha": "{}"}}, "commits": [], "files": [{files}]}}"#,
            sha('a')
        );
        let server = Server::start(move |_, _| json(&body)).await;
        let comparison = Desk::new().reader(&server).await.compare(&repo(), "main", "feat/x").await.unwrap();
        assert_eq!(comparison.whole_files().is_ok(), whole);
        assert_eq!(server.asked()[0].path(), "/repos/octo/app/compare/main...feat/x");
    }
}

#[tokio::test]
async fn the_token_tells_whose_it_is_and_what_it_may() {
    let user = r#"{"id": 583231, "login": "octo", "type": "User", "plan": {"name": "free"}}"#;
    let server = Server::start(move |_, before| match before {
        0 => json(user)
            .with("x-oauth-scopes", "repo, gist")
            .with("github-authentication-token-expiration", "2026-12-29 09:53:54 UTC"),
        1 => json(user),
        _ => status(401, r#"{"message": "Bad credentials"}"#),
    })
    .await;
    let reader = Desk::new().reader(&server).await;
    let classic = reader.whoami().await.unwrap();
    assert_eq!(
        (classic.user.login.as_str(), classic.scopes),
        ("octo", Some(vec!["repo".to_owned(), "gist".to_owned()]))
    );
    assert_eq!(classic.expires_at, Some("2026-12-29T09:53:54Z".parse().unwrap()));
    assert_eq!(reader.whoami().await.unwrap().scopes, None);
    assert_eq!(reader.whoami().await.unwrap_err(), GitHubError::Auth);
}
