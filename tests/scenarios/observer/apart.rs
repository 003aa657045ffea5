//! What fails about one repository, one answer or one clock stays with it.

use chrono::TimeDelta;
use steward_core::loops::accounts::standing::next_turn;
use steward_core::loops::observer::Observer;
use steward_core::loops::task;
use steward_core::store::{Durability, api_budget, tasks};
use steward_github_double::{Fault, Grant};
use steward_rules::ids::Sha;
use steward_rules::observing::ObserverState;

use super::{Desk, TOKEN, open_pull};

#[tokio::test]
async fn a_repository_whose_issues_the_token_may_not_see_hides_no_other() {
    let desk = Desk::watching(&["octo/open", "octo/shut"]);
    let _ = desk.world.repo("octo/shut").private();
    let grant = |permissions: &[&str]| Grant::FineGrained {
        permissions: permissions.iter().map(|name| ((*name).to_owned(), "read".to_owned())).collect(),
        repositories: vec![],
    };
    desk.world.grant("octo", TOKEN, grant(&["contents", "pull_requests", "checks"]));
    let one = open_pull(&desk.world.repo("octo/open"), "one");
    let standing = desk.turn().await;
    assert_eq!(standing.state, ObserverState::Incomplete);
    let problem = standing.problem.unwrap();
    assert!(problem.message.contains("octo/shut") && problem.code == "forbidden", "{problem:?}");
    assert!(desk.pull("octo/open", one).await.is_some());
    assert_eq!(desk.repository("octo/open").await.fault, None);
    assert!(desk.repository("octo/shut").await.observed_at.is_none());

    desk.world.grant("octo", TOKEN, grant(&["contents", "pull_requests", "checks", "issues"]));
    assert_eq!(desk.tick().await.state, ObserverState::Waiting);
    assert!(desk.repository("octo/shut").await.observed_at.is_some());
}

#[tokio::test]
async fn another_repository_under_a_known_name_is_said_and_nothing_of_the_one_is_taken_for_it() {
    let desk = Desk::watching(&["octo/app"]);
    let one = open_pull(&desk.world.repo("octo/app"), "one");
    desk.turn().await;
    let before = desk.pull("octo/app", one).await;
    desk.world.repo("octo/app").delete();
    let standing = desk.tick().await;
    assert_eq!(standing.problem.unwrap().code, "not_found");
    open_pull(&desk.world.repo("octo/app"), "theirs");
    let standing = desk.tick().await;
    let problem = standing.problem.unwrap();
    assert_eq!(problem.code, "replaced");
    assert!(problem.hint.contains("watch it again"), "{problem:?}");
    assert_eq!(desk.pull("octo/app", one).await, before);
    desk.world.assert_contract();
}

#[tokio::test]
async fn issues_that_closed_while_nobody_looked_all_leave_within_two_looks() {
    let desk = Desk::watching(&["octo/app"]);
    let app = desk.world.repo("octo/app");
    let issues: Vec<_> = (0..60).map(|n| app.open_issue("maria", &format!("issue {n}"), "")).collect();
    desk.turn().await;
    assert_eq!(desk.open("octo/app").await.1.len(), 60);
    issues.iter().for_each(|issue| issue.close("maria"));
    desk.pass(TimeDelta::days(2));
    desk.turn().await;
    assert_eq!(desk.open("octo/app").await.1.len(), 10, "fifty are read at once");
    desk.tick().await;
    assert_eq!(desk.open("octo/app").await.1, Vec::<i64>::new());
}

#[tokio::test]
async fn figures_of_a_clock_that_was_ahead_hold_nobody() {
    let desk = Desk::watching(&["octo/app"]);
    let app = desk.world.repo("octo/app");
    desk.turn().await;
    desk.hand.pass(TimeDelta::days(1));
    desk.world.leave_points(TOKEN, 1500);
    assert_eq!(desk.turn().await.state, ObserverState::Limited);
    desk.hand.pass(-TimeDelta::days(1));
    desk.world.advance(std::time::Duration::from_secs(2 * 3600));
    let one = open_pull(&app, "one");
    *desk.observer.lock().await = Observer::new(desk.ctx.clone());
    desk.turn().await;
    assert!(desk.pull("octo/app", one).await.is_some());
}

#[tokio::test]
async fn figures_beside_a_token_that_is_not_accepted_are_nobodys() {
    let desk = Desk::watching(&["octo/app"]);
    desk.turn().await;
    desk.world.revoke(TOKEN);
    assert_eq!(desk.tick().await.state, ObserverState::SignedOut);
    let rows = desk.ctx.store.read(api_budget::all).await.unwrap();
    assert!(!rows.is_empty() && rows.iter().all(|row| row.quota != Some(60)), "{rows:?}");
    // So the next token is used at once.
    desk.world.token("octo", TOKEN, &["repo"]);
    desk.ctx.store.write(Durability::Full, next_turn).await.unwrap();
    assert_eq!(desk.turn().await.state, ObserverState::Waiting);
}

#[tokio::test]
async fn an_older_answer_about_a_pull_request_turns_its_task_not_back() {
    let desk = Desk::watching(&["octo/app"]);
    let app = desk.world.repo("octo/app");
    let number = open_pull(&app, "one");
    desk.turn().await;
    let task = desk.task("octo/app", number).await.unwrap();
    task::refresh(&desk.ctx, task.id).await.unwrap();
    desk.pass(TimeDelta::seconds(5));
    let pushed = app.push("one", "feat: more", &[("more.txt", "x\n")]);
    let task = task::refresh(&desk.ctx, task.id).await.unwrap();
    assert_eq!(task.head.as_ref().map(Sha::as_str), Some(pushed.as_str()));
    // A copy that lags shows the head before.
    desk.world.when("GET /repos/{owner}/{repo}/pulls/{pull_number}").answers(Fault::Stale);
    let task = task::refresh(&desk.ctx, task.id).await.unwrap();
    assert_eq!(desk.world.faults_left(), 0);
    assert_eq!(task.head.as_ref().map(Sha::as_str), Some(pushed.as_str()));
    // So does a look that began before the push and is written after it.
    let older = tasks::PullHead {
        title: steward_rules::untrusted::Untrusted::new("feat: one"),
        branch: "one".to_owned(),
        head: Sha::new(&"b".repeat(40)).unwrap(),
        state: tasks::RunState::Done,
        updated_at: task.pull_updated_at.map(|at| at - TimeDelta::seconds(1)),
    };
    let id = task.id;
    let moved = desk.ctx.store.write(Durability::Normal, move |tx| tasks::record_pull_head(tx, id, &older));
    assert!(!moved.await.unwrap());
    assert_eq!(task::get(&desk.ctx, id).await.unwrap().head, task.head);
}
