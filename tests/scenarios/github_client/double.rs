//! The client on the GitHub double, which judges every exchange by GitHub's own description.

use std::sync::Arc;

use secrecy::SecretString;
use steward_core::github::types::Pull;
use steward_core::github::{Client, GitHubError, HostBudget, Limit, Reader};
use steward_github_double::{Fault, Retry, World};
use steward_rules::ids::{PullNumber, Sha};
use steward_rules::reading::{Cause, Reading};
use steward_rules::review::facts::{CheckState, PullState, Pushed};

use super::{Desk, TOKEN, VIEWER, Viewer, quick, repo};

fn world() -> World {
    let world = World::start();
    world.token("octo", TOKEN, &["repo", "read:org"]);
    world
}

async fn client(desk: &Desk, world: &World) -> Client {
    let host = world.base().trim_start_matches("http://");
    desk.client(host, &quick()).await
}

async fn reader(desk: &Desk, world: &World) -> Reader {
    client(desk, world).await.reader()
}

fn sha(text: &str) -> Sha {
    Sha::new(text).unwrap()
}

#[tokio::test]
async fn every_reading_is_one_that_github_describes_and_none_writes() {
    let world = world();
    let app = world.repo("octo/app");
    let base = sha(&app.tip("main"));
    let head = app.commit("feat/x", "feat: x").write("src/x.rs", "x\n").symlink("link", "src/x.rs").push();
    let pull = app.open_pull("octo", "feat/x", "feat: x").label("bug");
    pull.comment("octo", "first");
    app.check(&head, "build").succeeds();
    app.status(&head, "deploy", "success");
    let issue = app.open_issue("maria", "broken", "it is");
    let (desk, repo, head) = (Desk::new(), repo(), sha(&head));
    let reader = reader(&desk, &world).await;

    let me = reader.whoami().await.unwrap();
    assert_eq!(
        (me.user.login.as_str(), me.scopes),
        ("octo", Some(vec!["repo".to_owned(), "read:org".to_owned()]))
    );
    assert_eq!(reader.repo(&repo).await.unwrap().value.full_name, "octo/app");
    assert_eq!(reader.own_repos().await.unwrap().len(), 1);
    let found: Pull = reader.pull(&repo, PullNumber(1)).await.unwrap().value;
    assert_eq!(reader.open_pulls(&repo).await.unwrap().len(), 1);
    assert_eq!(reader.pull_commits(&repo, &found).await.unwrap().len(), 1);
    assert_eq!(reader.pull_files(&repo, &found).await.unwrap().len(), 2);
    assert_eq!(reader.check_runs(&repo, &head).await.unwrap().len(), 1);
    assert_eq!(reader.statuses(&repo, &head).await.unwrap().len(), 1);
    assert_eq!(reader.branch(&repo, "feat/x").await.unwrap().value.commit.sha, head);
    assert_eq!(reader.branches(&repo).await.unwrap().len(), 2);
    assert_eq!(reader.commit(&repo, &head).await.unwrap().value.sha, head);
    let compared = reader.compare(&repo, "main", "feat/x").await.unwrap();
    assert_eq!((compared.ahead_by, compared.whole_files().unwrap().len()), (1, 2));
    assert!(reader.tree(&repo, &head).await.unwrap().tree.iter().any(|entry| entry.mode == "120000"));
    assert_eq!(reader.open_issues(&repo).await.unwrap().len(), 2);
    assert_eq!(reader.issue(&repo, issue.number() as i64).await.unwrap().value.title.as_data(), "broken");
    assert_eq!(reader.comments(&repo, 1).await.unwrap().len(), 1);
    assert!(!reader.timeline(&repo, 1).await.unwrap().is_empty());
    assert_eq!(reader.labels(&repo).await.unwrap().len(), 1);
    assert_eq!(reader.query::<Viewer, _>(VIEWER, &()).await.unwrap().viewer.login, "octo");
    let modes = reader.pull_files_with_modes(&repo, PullNumber(1), &base).await;
    let modes: Vec<_> = modes.get().unwrap().iter().map(|file| file.mode.clone().unwrap()).collect();
    assert_eq!(modes, ["120000", "100644"]);

    world.assert_contract();
    let exchanges = world.exchanges();
    let strays: Vec<_> = exchanges
        .iter()
        .filter(|e| e.method != "GET" && (e.method.as_str(), e.target.as_str()) != ("POST", "/graphql"))
        .collect();
    assert!(strays.is_empty() && world.tally().writes == 0, "{strays:?}");
}

#[tokio::test]
async fn a_pull_request_is_read_through_failing_and_passing_ci() {
    let world = world();
    let app = world.repo("octo/app");
    let head = app.push("feat", "feat: x", &[("x", "x\n")]);
    let pull = app.open_pull("octo", "feat", "feat: x");
    let (desk, repo) = (Desk::new(), repo());
    let reader = reader(&desk, &world).await;
    let now = desk.now();
    let runs = async |head: &Sha| {
        let facts = reader.check_facts(&repo, head, now).await.get().unwrap().clone();
        let mut runs: Vec<_> =
            facts.runs.into_iter().map(|run| (run.id, run.attempt, run.app, run.state)).collect();
        runs.sort_by_key(|run| run.0);
        runs.into_iter().map(|(_, attempt, app, state)| (attempt, app, state)).collect::<Vec<_>>()
    };
    let (head, app_name) = (sha(&head), "github-actions".to_owned());
    assert_eq!(runs(&head).await, []);
    app.check(head.as_str(), "build").fails();
    let failed = (1, app_name.clone(), CheckState::Ended("failure".into()));
    assert_eq!(runs(&head).await, std::slice::from_ref(&failed));
    app.check(head.as_str(), "build").succeeds();
    let passed = (2, app_name, CheckState::Ended("success".into()));
    assert_eq!(runs(&head).await, [failed, passed]);

    let facts = reader.pull_facts(&repo, PullNumber(1)).await.get().unwrap().clone();
    assert_eq!(
        (facts.state, facts.head.clone(), facts.base_branch.as_str()),
        (PullState::Open, head.clone(), "main")
    );
    assert_eq!(reader.pushed(&repo, "feat", &head).await, Reading::known(Pushed::Yes));
    assert_eq!(reader.branch_tip(&repo, "nowhere").await, Reading::known(None));
    assert_eq!(reader.pull_commit_ids(&repo, PullNumber(1)).await, Reading::known(vec![head]));
    pull.merge("octo");
    assert_eq!(reader.pull_facts(&repo, PullNumber(1)).await.get().unwrap().state, PullState::Merged);
    assert_eq!(reader.open_pulls(&repo).await, Ok(vec![]));
}

#[tokio::test]
async fn a_long_list_is_whole_or_unread_and_its_second_reading_is_free() {
    let world = world();
    let app = world.repo("octo/app");
    for n in 0..205 {
        app.open_issue("maria", &format!("issue {n}"), "");
    }
    let desk = Desk::new();
    let reader = reader(&desk, &world).await;
    assert_eq!(reader.open_issues(&repo()).await.unwrap().len(), 205);
    let cost = world.tally();
    assert_eq!((cost.requests, cost.points, cost.not_modified), (5, 3, 2));
    world.mark();
    assert_eq!(reader.open_issues(&repo()).await.unwrap().len(), 205);
    assert_eq!((world.tally().requests, world.tally().points), (5, 0));

    let list = "GET /repos/{owner}/{repo}/issues";
    let mut all = 205;
    for (fault, slug) in [
        (Fault::Status(500), "server"),
        (Fault::Cut, "network"),
        (Fault::Truncated, "truncated"),
        (Fault::WrongType, "malformed"),
        (Fault::Html, "captive_portal"),
        (Fault::Oversized(32 * 1024 * 1024), "too_large"),
    ] {
        // Something has changed, so nothing is answered with 304.
        app.open_issue("maria", "one more", "");
        all += 1;
        world.when(list).page(3).always().answers(fault.clone());
        let answer = reader.open_issues(&repo()).await.map(|issues| issues.len());
        assert_eq!(answer.map_err(|error| error.slug()), Err(slug), "{fault:?}");
        world.calm();
        let now = reader.open_issues(&repo()).await.map(|issues| issues.len());
        assert_eq!(now, Ok(all), "{fault:?}");
    }
    world.when(list).always().answers(Fault::Duplicated);
    let doubled = reader.open_issues(&repo()).await.unwrap();
    let mut ids: Vec<_> = doubled.iter().map(|issue| issue.id).collect();
    ids.dedup();
    assert_eq!(ids.len(), doubled.len());
}

#[tokio::test]
async fn limits_of_the_double_stop_the_client_and_its_clock_is_not_ours() {
    let secs = chrono::Duration::seconds;
    for (fault, limit, least) in [
        (Fault::Secondary { status: 403, retry: Retry::Seconds(90) }, Limit::Secondary, 90),
        (Fault::Secondary { status: 429, retry: Retry::Date(120) }, Limit::Secondary, 120),
        (Fault::Secondary { status: 403, retry: Retry::Silent }, Limit::Secondary, 60),
        (Fault::PrimaryLimit, Limit::Primary, 1),
    ] {
        let (world, desk) = (world(), Desk::new());
        world.repo("octo/app");
        let client = client(&desk, &world).await;
        world.when("GET *").answers(fault.clone());
        let until = match client.reader().repo(&repo()).await.unwrap_err() {
            GitHubError::RateLimited { until } if limit == Limit::Primary => until,
            GitHubError::SecondaryLimited { until } if limit == Limit::Secondary => until,
            other => panic!("{fault:?}: {other:?}"),
        };
        let length = until - desk.now();
        assert!(length >= secs(least) && length <= secs(3700), "{fault:?}: {length}");
        let before = world.tally().requests;
        assert!(client.reader().repo(&repo()).await.is_err());
        assert_eq!(world.tally().requests, before, "{fault:?}");
        desk.hand.pass(length);
        assert!(client.reader().repo(&repo()).await.is_ok(), "{fault:?}");
    }
}

#[tokio::test]
async fn a_limit_or_a_part_of_a_query_is_no_empty_answer() {
    let (world, desk) = (world(), Desk::new());
    world.when("POST /graphql").answers(Fault::PrimaryLimit);
    let reader = reader(&desk, &world).await;
    let limited = reader.query::<Viewer, _>(VIEWER, &()).await.unwrap_err();
    assert_eq!(limited.slug(), "rate_limited");
    desk.hand.pass(chrono::Duration::hours(2));
    world.when("POST /graphql").answers(Fault::PartialData);
    assert_eq!(reader.query::<Viewer, _>(VIEWER, &()).await.unwrap_err().slug(), "truncated");
    assert!(reader.query::<Viewer, _>(VIEWER, &()).await.is_ok());
}

#[tokio::test]
async fn a_renamed_repository_is_followed_and_a_hidden_or_revoked_one_is_not_guessed_at() {
    let (world, desk) = (world(), Desk::new());
    world.repo("octo/app").rename("octo/renamed");
    let client = client(&desk, &world).await;
    let found = client.reader().repo(&repo()).await.unwrap();
    assert_eq!(found.value.full_name, "octo/renamed");
    assert!(found.moved_to.is_some());

    world.repo("maria/secret").private();
    let secret = steward_rules::ids::RepoName::parse("maria/secret").unwrap();
    assert_eq!(client.reader().repo(&secret).await.unwrap_err(), GitHubError::NotFound);
    world.revoke(TOKEN);
    assert_eq!(client.reader().repo(&repo()).await.unwrap_err(), GitHubError::Auth);
    let tip = client.reader().branch_tip(&repo(), "main").await;
    assert!(matches!(tip, Reading::Unread { why } if why.cause == Cause::SignedOut));
}

#[tokio::test]
async fn while_signing_in_nothing_is_kept_of_whoever_it_may_be() {
    let (world, desk) = (world(), Desk::new());
    world.repo("octo/app");
    let host = world.base().trim_start_matches("http://");
    let budget = Arc::new(HostBudget::load(host, &desk.store).await.unwrap());
    let nobody =
        Client::open(host, None, SecretString::from(TOKEN), budget, &desk.store, &quick()).await.unwrap();
    for _ in 0..2 {
        assert!(nobody.reader().whoami().await.is_ok());
        assert!(nobody.reader().repo(&repo()).await.is_ok());
    }
    assert_eq!((world.tally().requests, world.tally().not_modified), (4, 0));
}
