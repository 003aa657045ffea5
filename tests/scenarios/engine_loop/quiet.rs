//! What is not asked: nothing of what did not move, nothing at all while the engine is off.

use chrono::Duration;
use steward_core::store::engine;
use steward_github_double::World;

use super::*;

#[tokio::test]
async fn two_hundred_pull_requests_that_did_not_move_cost_no_request_beyond_the_look() {
    let world = World::start_at("2026-11-30T10:00:00Z".parse().unwrap());
    world.token("octo", TOKEN, &["repo", "workflow"]);
    let names: Vec<String> = (0..10).map(|at| format!("octo/app{at}")).collect();
    for name in &names {
        world.repo(name).open_pulls("octo", 20);
    }
    let listed: Vec<&str> = names.iter().map(String::as_str).collect();
    let desk = Desk::of(world, &listed);
    let repositories: String = names
        .iter()
        .map(|name| format!("  - {{name: {name}, account: octo, preset: docs-site, mode: observe}}\n"))
        .collect();
    let text = format!(
        "accounts: [{{host: \"{}\", login: octo}}]\nengine: {{enabled: true, interval: 10m}}\nrepositories:\n{repositories}",
        desk.host()
    );
    std::fs::write(desk.home.config_file(), text).unwrap();
    assert_eq!(desk.ctx.config.reread().problems, []);
    let den = Den { desk };
    for _ in 0..4 {
        den.tick().await;
    }
    den.desk.world.mark();
    den.tick().await;
    let cost = den.desk.world.tally();
    assert!(cost.requests <= 4 && cost.points <= 5, "{cost:?}");
    let id = den.desk.repository(&names[3]).await.id;
    let items = den.read(move |tx| engine_items::open_of(tx, id)).await;
    assert_eq!(items.len(), 20);
    let now = den.desk.now() - Duration::seconds(1);
    assert!(items.iter().all(|item| item.row.get().unwrap().updated_at == now), "all were judged again");
    den.desk.world.assert_contract();
}

#[tokio::test]
async fn off_means_absent() {
    let den = Den::new("mode: observe", CHECKS).await;
    let text = den.text("mode: observe", CHECKS).replace("enabled: true", "enabled: false");
    std::fs::write(den.desk.home.config_file(), text).unwrap();
    den.desk.ctx.config.reread();
    den.intake(101, "b");
    den.tick().await;
    let id = den.id().await;
    assert!(den.read(move |tx| engine_items::open_of(tx, id)).await.is_empty());
    assert_eq!(den.read(move |tx| engine::get(tx, id)).await, engine::RepoRow::default());
    let api = steward_core::api::Api::of(den.desk.ctx.clone(), steward_rules::caller::Caller::Person);
    let status = steward_core::api::dispatch(&api, "status", serde_json::json!({})).await.unwrap();
    assert!(status.get("steward").is_none(), "{status}");
}

#[tokio::test]
async fn the_base_that_moved_is_fetched_once_and_what_did_not_move_itself_is_not_read_again() {
    let den = Den::new("mode: observe", CHECKS).await;
    for (issue, work) in [(101, "b"), (102, "c"), (103, "d")] {
        let pull = den.intake(issue, work);
        den.well(&pull);
    }
    den.tick().await;
    den.tick().await;
    den.app().push("main", "docs: more", &[("README.md", "more\n")]);
    den.desk.world.mark();
    den.tick().await;
    let tally = den.desk.world.tally();
    let read = tally.by_operation.iter().filter(|(name, _)| name.contains("/pulls/")).count();
    assert_eq!(read, 0, "{:?}", tally.by_operation);
    for item in den
        .read({
            let id = den.id().await;
            move |tx| engine_items::open_of(tx, id)
        })
        .await
    {
        let item = item.row.get().unwrap().clone();
        assert!(item.behind_since.is_some(), "#{}: {}", item.number, item.state);
    }
}

#[tokio::test]
async fn an_issue_that_the_pull_request_of_a_fork_refers_to_costs_nothing_while_nothing_changes() {
    let den = Den::new(ACT, &format!("{CHECKS}, {VALIDATE}")).await;
    let issue = den.app().open_issue("maria", "add b", "please").label("data:add-work").number();
    let fork = den.app().fork("maria");
    fork.push("far", "data: b", &[("data/works/b.json", "{\"b\": {\"v\": 1}}\n")]);
    let pull = den.app().open_pull_from("maria", "maria/data", "far", "main", "data: b");
    pull.body(&format!("Closes #{issue}\n"));
    den.tick().await;
    den.tick().await;
    let about = async || den.kept(ItemKind::Issue, issue).await.unwrap().decision;
    assert_eq!(about().await, "waits_for_pr");
    den.desk.tick().await;
    den.desk.world.mark();
    den.judge().await;
    assert_eq!(den.desk.world.tally().requests, 0);
    assert_eq!(about().await, "waits_for_pr");
}
