//! The observer inside the runtime, and what clients see and ask of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use steward_core::api::error::{ApiError, ErrorCode};
use steward_core::api::{Api, dispatch};
use steward_core::lock::HolderKind;
use steward_core::loops::observer::standing;
use steward_core::loops::supervisor::{Nowhere, Runtime};
use steward_core::store::{pulls, tasks};
use steward_rules::caller::Caller;
use steward_rules::observing::ObserverState;

use super::{Desk, open_pull, write_config};

/// Waits for a condition, a while.
async fn eventually(what: &str, mut done: impl AsyncFnMut() -> bool) {
    let since = Instant::now();
    while !done().await {
        assert!(since.elapsed() < Duration::from_secs(30), "{what}: never");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn client(desk: &Desk) -> Api {
    Api::open_at(&desk.home, Caller::Person, desk.hand.clone()).await.unwrap()
}

async fn ask(api: &Api, name: &str, request: Value) -> Result<Value, ApiError> {
    dispatch(api, name, request).await
}

async fn runtime(desk: &Desk) -> Runtime {
    Runtime::start(desk.ctx.clone(), HolderKind::Serve, Arc::new(Nowhere)).await.unwrap()
}

async fn is_waiting(desk: &Desk) -> bool {
    let standing = desk.standing().await;
    standing.state == ObserverState::Waiting && standing.last_tick.is_some()
}

#[tokio::test]
async fn the_runtime_looks_by_itself_and_a_person_may_ask_for_a_look_now() {
    let desk = Desk::watching(&["octo/app"]);
    let app = desk.world.repo("octo/app");
    open_pull(&app, "one");
    let api = client(&desk).await;
    let refused = ask(&api, "observe_now", json!({})).await.unwrap_err();
    assert_eq!((refused.code, refused.message.as_str()), (ErrorCode::Refused, "no runtime is there to look"));

    let running = runtime(&desk).await;
    eventually("a first look", async || is_waiting(&desk).await).await;
    let status = ask(&api, "status", json!({})).await.unwrap();
    assert_eq!(status["observer"]["state"], "waiting");
    assert_eq!(status["observer"]["lastTick"], "2026-11-30T10:00:00Z");
    assert_eq!(status["observer"]["nextTick"], "2026-11-30T10:10:00Z");
    assert!(status["observer"]["requests"].as_u64().unwrap() > 0);
    let budgets = status["observer"]["budgets"].as_array().unwrap();
    assert!(budgets.iter().any(|row| row["resource"] == "graphql" && row["limit"] == 5000), "{budgets:?}");

    let two = open_pull(&app, "two");
    assert!(desk.pull("octo/app", two).await.is_none());
    let view = ask(&api, "observe_now", json!({})).await.unwrap();
    assert!(["waiting", "looking"].contains(&view["state"].as_str().unwrap()), "{view}");
    eventually("a look now", async || desk.pull("octo/app", two).await.is_some()).await;
    eventually("its end", async || is_waiting(&desk).await).await;

    // When the interval is over it looks again, once.
    let three = open_pull(&app, "three");
    desk.world.mark();
    desk.pass(chrono::Duration::minutes(10));
    eventually("the next look", async || desk.pull("octo/app", three).await.is_some()).await;
    eventually("its end", async || is_waiting(&desk).await).await;
    assert_eq!(desk.world.tally().requests, 3, "{:?}", desk.world.tally().by_operation);
    running.stop().await;
    let status = ask(&api, "status", json!({})).await.unwrap();
    assert_eq!(
        (&status["observer"]["state"], &status["observer"]["nextTick"]),
        (&json!("waiting"), &Value::Null)
    );
}

#[tokio::test]
async fn a_second_wish_is_refused_while_one_is_queued_or_a_look_is_under_way() {
    let desk = Desk::watching(&["octo/app"]);
    let running = runtime(&desk).await;
    eventually("a first look", async || is_waiting(&desk).await).await;
    let api = client(&desk).await;
    let slow = steward_github_double::Fault::Slow(Duration::from_secs(2));
    desk.world.when("POST /graphql").answers(slow);
    ask(&api, "observe_now", json!({})).await.unwrap();
    let refused = ask(&api, "observe_now", json!({})).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Refused);
    eventually("it looks", async || desk.standing().await.state == ObserverState::Looking).await;
    let refused = ask(&api, "observe_now", json!({})).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Refused);
    assert!(desk.ctx.store.read(standing::asked).await.unwrap().is_none());
    eventually("its end", async || is_waiting(&desk).await).await;
    ask(&api, "observe_now", json!({})).await.unwrap();
    running.stop().await;
}

#[tokio::test]
async fn a_repository_that_is_added_while_a_look_is_under_way_is_looked_at_next() {
    let desk = Desk::watching(&["octo/app", "octo/docs"]);
    let docs = desk.world.repo("octo/docs");
    let one = open_pull(&docs, "one");
    write_config(&desk.home, &desk.world, &["octo/app"]);
    desk.ctx.config.reread();
    let running = runtime(&desk).await;
    eventually("a first look", async || is_waiting(&desk).await).await;
    let slow = steward_github_double::Fault::Slow(Duration::from_secs(2));
    desk.world.when("POST /graphql").answers(slow);
    let api = client(&desk).await;
    ask(&api, "observe_now", json!({})).await.unwrap();
    eventually("it looks", async || desk.standing().await.state == ObserverState::Looking).await;
    write_config(&desk.home, &desk.world, &["octo/app", "octo/docs"]);
    desk.ctx.config.reread();
    // No time passes on the clock: only the call itself brings the second look.
    eventually("a look at both", async || desk.pull("octo/docs", one).await.is_some()).await;
    running.stop().await;
}

#[tokio::test]
async fn the_runtime_keeps_where_a_workspace_comes_from_and_reads_it_again_when_the_file_changes() {
    let desk = Desk::watching(&["octo/app"]);
    desk.world.repo("octo/app");
    let running = runtime(&desk).await;
    let api = client(&desk).await;
    let workspace = async || {
        let board = ask(&api, "repository_board", json!({ "name": "octo/app" })).await.unwrap();
        board["repository"]["workspace"].clone()
    };
    let repo = steward_kit::git::Repo::init(desk.home.data_dir().join("here"));
    repo.commit("first", &[("a", Some(b"a\n"))]);
    repo.remote("origin", &desk.world.clone_url("octo/app"));
    let text = std::fs::read_to_string(desk.home.config_file()).unwrap();
    let more = format!("{text}workspaces: [{{title: here, path: {}}}]\n", repo.path().display());
    std::fs::write(desk.home.config_file(), more).unwrap();
    desk.ctx.config.reread();
    api.context().config.reread();
    eventually("the workspace of octo/app", async || workspace().await == "here").await;
    // Another repository at the same place is no clone of it.
    repo.git(&["remote", "set-url", "origin", &desk.world.clone_url("octo/lib")]);
    desk.pass(chrono::Duration::minutes(2));
    eventually("that it is none any more", async || workspace().await.is_null()).await;
    running.stop().await;
}

#[tokio::test]
async fn off_means_absent_and_the_first_repository_wakes_it() {
    let desk = Desk::watching(&["octo/app"]);
    std::fs::write(desk.home.config_file(), "").unwrap();
    desk.ctx.config.reread();
    let running = runtime(&desk).await;
    let api = client(&desk).await;
    let status = ask(&api, "status", json!({})).await.unwrap();
    assert_eq!(status["observer"]["state"], "off");
    let refused = ask(&api, "observe_now", json!({})).await.unwrap_err();
    assert_eq!((refused.code, refused.message.as_str()), (ErrorCode::Refused, "no repository is watched"));
    desk.pass(chrono::Duration::hours(3));
    assert_eq!(desk.world.tally().requests, 0);
    write_config(&desk.home, &desk.world, &["octo/app"]);
    desk.ctx.config.reread();
    eventually("a look", async || is_waiting(&desk).await).await;
    assert!(desk.world.tally().requests > 0);
    running.stop().await;
}

#[tokio::test]
async fn without_an_account_nothing_is_asked_and_the_next_step_is_said() {
    let desk = Desk::watching(&["octo/app"]);
    std::fs::write(desk.home.config_file(), "repositories:\n  - name: octo/app\n").unwrap();
    desk.ctx.config.reread();
    let standing = desk.turn().await;
    assert_eq!(standing.state, ObserverState::SignedOut);
    assert!(standing.problem.unwrap().hint.contains("steward auth login"));
    assert_eq!(desk.world.tally().requests, 0);
}

#[tokio::test]
async fn the_board_shows_what_was_seen_with_its_task_and_nothing_that_runs_in_a_terminal() {
    let desk = Desk::watching(&["octo/app", "octo/never"]);
    let app = desk.world.repo("octo/app");
    let one = open_pull(&app, "one");
    app.pull(one).title("feat: \u{1b}[31m<b>one</b>\u{202e}").label("bug").draft();
    app.check(&app.pull(one).head(), "build").fails();
    let fork = app.fork("maria");
    fork.push("idea", "feat: idea", &[("idea.txt", "x\n")]);
    app.open_pull_from("maria", "maria/app", "idea", "main", "feat: idea");
    app.open_issue("maria", "it \u{200b}breaks", "");
    let api = client(&desk).await;
    let never = ask(&api, "repository_board", json!({ "name": "octo/never" })).await.unwrap();
    assert_eq!((&never["pulls"], &never["repository"]["observedAt"]), (&json!([]), &Value::Null));
    desk.turn().await;

    let board = ask(&api, "repository_board", json!({ "name": "octo/app" })).await.unwrap();
    let pulls = board["pulls"].as_array().unwrap();
    let find = |number: u64| pulls.iter().find(|pull| pull["number"] == number).unwrap();
    let (first, second) = (find(one), find(2));
    let title = first["title"].as_str().unwrap();
    assert!(title.contains("\\u{1b}") && !title.contains('\u{202e}'), "{title}");
    assert_eq!(
        (&first["checks"], &first["draft"], &first["fromFork"]),
        (&json!("failing"), &json!(true), &json!(false))
    );
    assert_eq!((&second["checks"], &second["fromFork"]), (&json!("none"), &json!(true)));
    assert_eq!(first["url"], format!("https://{}/octo/app/pull/{one}", desk.host()));
    let task = desk.task("octo/app", one).await.unwrap().id;
    assert_eq!((&first["task"], &first["review"]), (&json!(task.0), &Value::Null));
    assert_eq!(board["issues"][0]["author"], "maria");
    assert!(!board["issues"][0]["title"].as_str().unwrap().contains('\u{200b}'));
    let page = ask(&api, "repository_list", json!({})).await.unwrap();
    let listed = page["repositories"].as_array().unwrap();
    assert_eq!((&listed[0]["openPulls"], &listed[0]["openIssues"]), (&json!(2), &json!(1)));
    assert_eq!((&listed[0]["mode"], &listed[0]["permission"]), (&json!("observe"), &json!("ADMIN")));
    assert_eq!(listed[1]["observedAt"], "2026-11-30T10:00:00Z");
    let unknown = ask(&api, "repository_board", json!({ "name": "octo/other" })).await.unwrap_err();
    assert_eq!(unknown.code, ErrorCode::NotFound);

    assert_eq!(listed[0]["unconfirmed"], false);
    let text = std::fs::read_to_string(desk.home.config_file()).unwrap();
    let asking = text.replace("name: octo/app\n", "name: octo/app\n    mode: suggest\n");
    std::fs::write(desk.home.config_file(), asking + "engine: {interval: 2m}\n").unwrap();
    desk.ctx.config.reread();
    api.context().config.reread();
    let page = ask(&api, "repository_list", json!({})).await.unwrap();
    let listed = page["repositories"].as_array().unwrap();
    assert_eq!((&listed[0]["mode"], &listed[0]["unconfirmed"]), (&json!("observe"), &json!(true)));
    assert_eq!(listed[0]["asked"], json!({"mode": "suggest", "act": []}));
    let standing = desk.tick().await;
    assert_eq!(standing.next_tick, Some(desk.now() + chrono::Duration::minutes(2)), "as the file says");

    // What is closed is forgotten a month after it was last seen.
    app.pull(2).close("octo");
    desk.tick().await;
    let forget = async |desk: &Desk, days: i64| {
        let before = desk.now() - chrono::Duration::days(days);
        let prune = move |tx: &steward_core::store::WriteTx<'_>| pulls::prune(tx, before);
        desk.ctx.store.write(steward_core::store::Durability::Normal, prune).await.unwrap()
    };
    desk.pass(chrono::Duration::days(30));
    assert_eq!(forget(&desk, 30).await, 0);
    assert_eq!(forget(&desk, 29).await, 1);

    // Taken out of the file, its rows go and its tasks stay.
    ask(&api, "repository_remove", json!({ "name": "octo/app" })).await.unwrap();
    assert!(desk.pull("octo/app", one).await.is_none());
    assert_eq!(desk.ctx.store.read(tasks::count).await.unwrap(), 2);
}
