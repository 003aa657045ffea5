//! What clients are told: the items, why, what another policy would do, and a try.

use chrono::Duration;
use serde_json::{Value, json};
use steward_core::api::{Api, dispatch};
use steward_core::store::engine_tasks::{NewTask, What};
use steward_rules::caller::Caller;
use steward_rules::engine::hold::NotNow;
use steward_rules::ids::Sha;
use steward_rules::reading::{Cause, Why};
use steward_rules::wording;

use super::*;

pub(super) async fn call(den: &Den, command: &str, request: Value) -> Value {
    let api = Api::of(den.desk.ctx.clone(), Caller::Person);
    dispatch(&api, command, request).await.unwrap_or_else(|error| panic!("{command}: {error:?}"))
}

#[tokio::test]
async fn why_tells_the_conditions_in_the_gates_order_with_evidence_and_time() {
    let den = Den::new("mode: observe", CHECKS).await;
    let pull = den.intake(101, "b");
    den.app().check(&pull.head(), "check").fails();
    den.tick().await;
    let place = format!("{REPO}#{}", pull.number());
    let why = call(&den, "item_why", json!({ "item": place })).await;
    let steps = why["steps"].as_array().unwrap();
    let unmet: Vec<&str> = steps
        .iter()
        .filter(|step| step["state"] == "unmet")
        .map(|step| step["step"].as_str().unwrap())
        .collect();
    assert_eq!(&unmet[..2], ["stable", "required_checks"], "{why}");
    let red = steps.iter().find(|step| step["step"] == "required_checks").unwrap();
    assert!(red["evidence"][0]["value"].as_str().unwrap().contains("failure"), "{red}");
    assert!(red["evidence"][0]["at"].is_string() && why["readAt"].is_string(), "{why}");
    let page = call(&den, "item_list", json!({ "repository": REPO })).await;
    assert_eq!(page["items"].as_array().unwrap().len(), 1);
    let status = call(&den, "status", json!({})).await;
    let item = &status["steward"]["items"][0];
    assert_eq!((item["repo"].as_str(), item["class"].as_str()), (Some(REPO), Some("data")), "{status}");
    assert!(status["steward"]["boundary"]["state"].is_string());
    let board = call(&den, "repository_board", json!({ "name": REPO })).await;
    assert_eq!(board["engine"]["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_simulation_shows_what_an_edited_policy_would_have_decided_otherwise() {
    let den = Den::new("mode: observe", CHECKS).await;
    let pull = den.intake(101, "b");
    den.well(&pull);
    den.tick().await;
    den.tick().await;
    let edited = den.text("mode: observe", &format!("{CHECKS}, neverMergeLabels: [bot-intake]"));
    let same = den.text("mode: observe", CHECKS);
    let found = call(&den, "policy_simulate", json!({ "repository": REPO, "config": edited })).await;
    let differences = found["differences"].as_array().unwrap();
    assert_eq!(differences.len(), 1, "{found}");
    let (before, after) = (&differences[0]["before"], &differences[0]["after"]);
    assert_eq!((before.as_str(), after.as_str()), (Some("merge"), Some("list_only")), "{found}");
    let found = call(&den, "policy_simulate", json!({ "repository": REPO, "config": same })).await;
    assert_eq!(found["differences"].as_array().unwrap().len(), 0);
    assert!(found["judged"].as_u64().unwrap() > 0);
}

#[tokio::test]
async fn what_a_queued_task_waits_for_is_listed_with_its_item() {
    let den = Den::new(ACT, &format!("{CHECKS}, {VALIDATE}")).await;
    let pull = den.intake(101, "b");
    den.app().check(&pull.head(), "check").runs();
    den.tick().await;
    let head = Sha::new(&pull.head()).unwrap();
    let new = NewTask {
        repository: den.id().await,
        kind: engine_tasks::ItemKind::Pr,
        number: pull.number() as i64,
        what: What::Rebase,
        head: Some(head.clone()),
        base: head,
        branch: "intake/issue-101".to_owned(),
        lease: None,
        evidence: Vec::new(),
    };
    let store = &den.desk.ctx.store;
    let id = store.write(Durability::Full, move |tx| engine_tasks::queue(tx, &new)).await.unwrap().unwrap();
    let unread = NotNow::MemoryUnread(Why::new(Cause::NotReadYet, "the kernel does not say"));
    let why = wording::engine::not_now(&unread);
    store.write(Durability::Full, move |tx| engine_tasks::wait(tx, id, &why)).await.unwrap();
    let place = format!("{REPO}#{}", pull.number());
    let listed = call(&den, "item_list", json!({ "repository": REPO })).await;
    let why = call(&den, "item_why", json!({ "item": place })).await;
    for item in [&listed["items"][0], &why["item"]] {
        let said = item["message"].as_str().unwrap();
        assert!(said.contains("it waits: how much memory is available is not known"), "{said}");
        assert!(said.contains("the kernel does not say") && said.contains("minAvailableMb"), "{said}");
    }
}

#[tokio::test]
async fn a_try_reads_it_whole_at_once_and_is_taken_once() {
    let den = Den::new("mode: observe", CHECKS).await;
    let pull = den.intake(101, "b");
    den.well(&pull);
    den.tick().await;
    den.tick().await;
    den.desk.world.mark();
    den.later(Duration::seconds(5)).await;
    assert_eq!(den.desk.world.tally().requests, 0);
    call(&den, "item_try", json!({ "item": format!("{REPO}#{}", pull.number()) })).await;
    den.judge().await;
    assert!(den.desk.world.tally().requests > 0);
    assert_eq!(den.item(pull.number()).await.try_at, None);
    den.desk.world.mark();
    den.later(Duration::seconds(5)).await;
    assert_eq!(den.desk.world.tally().requests, 0);
}
