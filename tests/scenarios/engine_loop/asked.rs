//! What clients are told: the items, why, what another policy would do, and a try.

use chrono::Duration;
use serde_json::{Value, json};
use steward_core::api::error::ErrorCode;
use steward_core::api::{Api, dispatch};
use steward_core::lock::{HolderKind, RuntimeLock};
use steward_core::loops::observer::standing;
use steward_core::sandbox::Boundary;
use steward_core::store::engine as engine_store;
use steward_core::store::engine_tasks::{NewTask, What};
use steward_rules::caller::Caller;
use steward_rules::engine::hold::{NotNow, Round};
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

#[tokio::test]
async fn a_run_is_taken_once_and_refused_while_a_tick_or_a_look_is_asked_for_or_under_way() {
    let den = Den::new("mode: observe", CHECKS).await;
    let api = Api::of(den.desk.ctx.clone(), Caller::Person);
    let run = async || dispatch(&api, "engine_run", json!({})).await;
    let refused = run().await.unwrap_err();
    assert!(refused.message.contains("no runtime"), "{refused:?}");
    den.tick().await;
    let _held = RuntimeLock::take(&den.desk.home, HolderKind::Serve, den.desk.ctx.clock.now()).unwrap();
    let id = den.id().await;
    let store = &den.desk.ctx.store;
    let stands = async |round: Round| {
        store.write(Durability::Full, move |tx| engine_store::set_round(tx, id, round)).await.unwrap();
    };
    stands(Round::Active).await;
    let refused = run().await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Refused, "a tick is under way: {refused:?}");
    assert!(store.read(standing::asked).await.unwrap().is_none(), "and nothing was asked for");
    stands(Round::Idle).await;
    run().await.unwrap();
    assert!(store.read(standing::asked).await.unwrap().is_some(), "GitHub is looked at");
    assert_eq!(den.read(move |tx| engine_store::round(tx, id)).await, Round::Queued);
    stands(Round::Idle).await;
    let refused = run().await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Refused, "the look is asked for still: {refused:?}");
    assert_eq!(den.read(move |tx| engine_store::round(tx, id)).await, Round::Idle, "and it is not stacked");
}

#[tokio::test]
async fn what_only_a_person_mends_of_a_repository_degrades_the_whole() {
    const PULL: &str = "GET /repos/{owner}/{repo}/pulls/{pull_number}";
    let den = Den::new("mode: observe", CHECKS).await;
    let pull = den.intake(101, "b");
    den.well(&pull);
    den.desk.world.when(PULL).always().answers(steward_github_double::Fault::Status(403));
    den.tick().await;
    let status = call(&den, "status", json!({})).await;
    let reasons = status["reasons"].as_array().unwrap();
    let of_repository = reasons.iter().find(|reason| reason["code"] == "repository");
    let message = of_repository.unwrap_or_else(|| panic!("{status}"))["message"].as_str().unwrap();
    assert!(message.starts_with(REPO) && status["state"] == "degraded", "{status}");
}

#[tokio::test]
async fn a_reading_that_cannot_be_judged_is_told_with_its_reason() {
    let den = Den::new("mode: observe", CHECKS).await;
    let pull = den.intake(101, "b");
    den.well(&pull);
    den.tick().await;
    let sql = format!("UPDATE observations SET body = '{{}}' WHERE number = {}", pull.number());
    crate::store::beside(&den.desk.home).execute(&sql, []).unwrap();
    let why = call(&den, "item_why", json!({ "item": format!("{REPO}#{}", pull.number()) })).await;
    assert!(why["unread"].is_string() && why["readAt"].is_string(), "{why}");
    assert_eq!(why["steps"].as_array().unwrap().len(), 0, "{why}");
}

#[tokio::test]
async fn an_engine_without_a_boundary_degrades_the_whole_also_where_nothing_is_reviewed() {
    let den = Den::new("mode: observe", CHECKS).await;
    den.desk.ctx.use_boundary(Boundary::None { reason: "taken away by this test".to_owned() });
    let status = call(&den, "status", json!({})).await;
    assert_eq!(
        (status["reviewEnabled"].as_bool(), status["state"].as_str()),
        (Some(false), Some("degraded"))
    );
    let reason = &status["reasons"][0];
    assert_eq!(reason["code"], "boundary", "{status}");
    assert!(reason["message"].as_str().unwrap().contains("taken away by this test"), "{status}");
    assert_eq!(status["steward"]["boundary"]["state"], "none");
}
