//! The fault table, row 8: a landed tree that drops another pull request's change is caught within one tick,
//! said once, and stops all merging until the person lifts it.

use std::sync::Arc;

use serde_json::{Value, json};
use steward_core::api::error::ErrorCode;
use steward_core::api::{Api, dispatch};
use steward_core::lock::HolderKind;
use steward_core::loops::effects::{Progress, Sending, powers};
use steward_core::loops::observer::Observer;
use steward_core::loops::supervisor::{Nowhere, Runtime};
use steward_core::store::effects::{NewEffect, Start, State as Effect};
use steward_core::store::{Durability, effects};
use steward_rules::caller::Caller;
use steward_rules::deed::Deed;
use steward_rules::engine::policy::MergeMethod;
use steward_rules::ids::Sha;
use steward_rules::power::EffectClass;

use super::*;

#[tokio::test]
async fn fault_8_a_landed_tree_that_drops_another_pull_requests_change_is_caught_within_one_tick() {
    for method in ["squash", "merge"] {
        let (desk, [one, two]) = two_open().await;
        let app = desk.world.repo(REPO);
        let before = app.tip("main");
        // GitHub's merge queue on 2026-04-23: the second of a group is made over the base of the first.
        app.pull(one).merge_by("octo", method);
        app.pull(two).merge_over("octo", method, &before);
        tick(&desk).await;
        assert_eq!(said(&desk, one).await, (State::Proven, method.to_owned(), vec![]));
        assert_eq!(said(&desk, two).await.1, method);
        one_alarm(&desk, two, &["one.txt"]).await;
        desk.world.assert_contract();
    }
}

#[tokio::test]
async fn fault_8_a_squash_of_several_commits_that_drops_a_change_does_not_pass_for_a_rebase() {
    let (desk, [one, _]) = two_open().await;
    let app = desk.world.repo(REPO);
    let three = open_of(&app, "three", &[&[("a.txt", "1\n")], &[("b.txt", "1\n")], &[("c.txt", "1\n")]]);
    desk.tick().await;
    let before = app.tip("main");
    app.pull(one).merge_by("octo", "squash");
    app.pull(three).merge_over("octo", "squash", &before);
    tick(&desk).await;
    one_alarm(&desk, three, &["one.txt"]).await;
}

#[tokio::test]
async fn fault_8_a_landed_tree_with_something_that_nobody_judged_is_caught() {
    let (desk, [one, _]) = two_open().await;
    let app = desk.world.repo(REPO);
    let files = [("one.txt", "x\n"), ("extra/\u{202e}hidden.txt", "x\n")];
    let pushed = app.push("main", "feat: one (#1)", &files);
    app.pull(one).merged_as("octo", &pushed);
    tick(&desk).await;
    one_alarm(&desk, one, &["extra/\\u{202e}hidden.txt"]).await;
}

#[tokio::test]
async fn fault_8_a_base_that_was_set_back_before_it_merged_is_caught_although_the_tree_is_right() {
    let (desk, [one, two]) = two_open().await;
    let app = desk.world.repo(REPO);
    let before = app.tip("main");
    app.pull(one).merge_by("octo", "squash");
    tick(&desk).await;
    all_quiet(&desk).await;
    // The base is as if the first had never landed; what lands now is right on it.
    app.commit("main", "chore: another past").from(&before).write("past.txt", "x\n").push();
    app.pull(two).merge_by("octo", "rebase");
    tick(&desk).await;
    one_alarm(&desk, two, &["one.txt"]).await;
}

#[tokio::test]
async fn fault_8_a_base_that_was_set_back_after_it_merged_is_caught() {
    let (desk, [one, _]) = two_open().await;
    let app = desk.world.repo(REPO);
    let before = app.tip("main");
    app.pull(one).merge_by("octo", "merge");
    app.commit("main", "chore: another past").from(&before).write("past.txt", "x\n").push();
    tick(&desk).await;
    one_alarm(&desk, one, &["one.txt"]).await;
}

#[tokio::test]
async fn fault_8_a_restart_and_further_looks_repeat_nothing() {
    let (desk, [one, two]) = two_open().await;
    let app = desk.world.repo(REPO);
    let before = app.tip("main");
    app.pull(one).merge_by("octo", "squash");
    app.pull(two).merge_over("octo", "squash", &before);
    tick(&desk).await;
    let (entry, freeze) = (entries(&desk, Kind::Incident, Shelf::Open).await, frozen(&desk).await);
    let (topic, _) = (desk.last_topic().await, desk.world.mark());
    assert_eq!(prove(&desk).await, None);
    let again = beside(&desk, "made-up-token-of-the-next-process");
    assert_eq!(landed::pass(&again, &CancellationToken::new()).await.unwrap(), None);
    assert_eq!((desk.world.tally().requests, desk.world.tally().git_requests), (0, 0));
    assert_eq!(desk.last_topic().await, topic);
    for _ in 0..2 {
        desk.pass(chrono::Duration::minutes(10));
        Observer::new(again.clone()).whole_turn().await.unwrap();
        landed::pass(&again, &CancellationToken::new()).await.unwrap();
    }
    assert_eq!((entries(&desk, Kind::Incident, Shelf::Open).await, frozen(&desk).await), (entry, freeze));
    one_alarm(&desk, two, &["one.txt"]).await;
}

/// A desk whose merging is frozen, with its two pull requests and a third that is open.
async fn iced() -> (Desk, u64) {
    let (desk, [one, two]) = two_open().await;
    let app = desk.world.repo(REPO);
    let open = open_pull(&app, "open");
    let before = app.tip("main");
    app.pull(one).merge_by("octo", "squash");
    app.pull(two).merge_over("octo", "squash", &before);
    tick(&desk).await;
    (desk, open)
}

async fn client(desk: &Desk, caller: Caller) -> Api {
    Api::open_at(&desk.home, caller, desk.hand.clone()).await.unwrap()
}

async fn board(api: &Api) -> Value {
    dispatch(api, "repository_board", json!({ "name": REPO })).await.unwrap()["repository"].clone()
}

#[tokio::test]
async fn a_freeze_stands_until_the_person_lifts_it_and_the_act_is_in_the_audit_log() {
    let (desk, _) = iced().await;
    let api = client(&desk, Caller::Person).await;
    let shown = board(&api).await;
    assert_eq!(shown["frozen"]["why"], frozen(&desk).await.unwrap().why);
    assert_eq!(shown["frozen"]["at"], "2026-11-30T10:10:00Z");
    // Taking the entry off the list lifts nothing, and no agent does.
    let entry = entries(&desk, Kind::Incident, Shelf::Open).await[0].id;
    dispatch(&api, "inbox_mark", json!({ "id": entry.0, "action": { "action": "done" } })).await.unwrap();
    assert!(frozen(&desk).await.is_some());
    dispatch(&api, "inbox_undo", json!({})).await.unwrap();
    let agent = client(&desk, Caller::Agent("a test".to_owned())).await;
    let refused = dispatch(&agent, "repository_unfreeze", json!({ "name": REPO })).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotAPerson);
    assert!(frozen(&desk).await.is_some());

    let lifted = dispatch(&api, "repository_unfreeze", json!({ "name": REPO })).await.unwrap();
    assert_eq!(lifted["frozen"], Value::Null);
    assert_eq!(frozen(&desk).await, None);
    assert_eq!(audited(&desk, "landed.unfreeze").await, [format!("person {}/{REPO}", desk.host())]);
    assert_eq!(entries(&desk, Kind::Incident, Shelf::Open).await, []);
    let done = entries(&desk, Kind::Incident, Shelf::Done).await;
    assert_eq!((done.len(), done[0].chip.as_str()), (1, "lifted"));
    let refused = dispatch(&api, "repository_unfreeze", json!({ "name": REPO })).await.unwrap_err();
    assert_eq!(
        (refused.code, refused.message.as_str()),
        (ErrorCode::Refused, "merging is not frozen in octo/app")
    );
    let refused = dispatch(&api, "repository_unfreeze", json!({ "name": "octo/none" })).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotFound);
    // What differed then is not told again; what differs anew is.
    tick(&desk).await;
    assert_eq!(frozen(&desk).await, None);
    let app = desk.world.repo(REPO);
    let three = open_pull(&app, "three");
    desk.tick().await;
    let pushed = app.push("main", "feat: three", &[("three.txt", "another\n")]);
    app.pull(three).merged_as("octo", &pushed);
    tick(&desk).await;
    assert_eq!(said(&desk, three).await.0, State::Different);
    assert!(frozen(&desk).await.unwrap().why.contains("three.txt"));
    assert_eq!(entries(&desk, Kind::Incident, Shelf::Open).await.len(), 1);
}

#[tokio::test]
async fn a_freeze_outlives_the_repositorys_rows() {
    let (desk, _) = iced().await;
    let host = desk.host();
    desk.ctx.store.write(Durability::Full, move |tx| repositories::remove(tx, &host, &name())).await.unwrap();
    assert!(frozen(&desk).await.is_some());
    desk.tick().await;
    assert!(board(&client(&desk, Caller::Person).await).await["frozen"].is_object());
}

#[tokio::test]
async fn no_merge_leaves_the_journal_while_merging_is_frozen() {
    let (desk, open) = iced().await;
    let text = std::fs::read_to_string(desk.home.config_file()).unwrap();
    let text = text.replace(
        "  - name: octo/app\n",
        "  - name: octo/app\n    preset: data-catalogue\n    mode: act\n    act: [merge]\n",
    );
    // Switched off, nothing of the engine would go out for that alone.
    let text = text + "engine: {enabled: true}\n";
    std::fs::write(desk.home.config_file(), text).unwrap();
    let waiting = powers::settle(&desk.ctx).await.unwrap();
    powers::confirm(&desk.ctx, &waiting.change().unwrap()).await.unwrap();
    let head = Sha::new(&desk.world.repo(REPO).pull(open).head()).unwrap();
    let host = desk.host();
    let wish = async |key: &str, class: EffectClass, deed: Deed| {
        let new = NewEffect {
            key: key.to_owned(),
            class,
            host: host.clone(),
            repository: REPO.to_owned(),
            number: Some(open as i64),
            head: Some(head.clone()),
            account: "octo".to_owned(),
            review: None,
            content: String::new(),
            deed: Some(deed),
            line: None,
            start: Start::Wanted,
        };
        let (id, _) = desk.ctx.store.write(Durability::Full, move |tx| effects::put(tx, &new)).await.unwrap();
        id
    };
    let merge = || Deed::Merge { method: MergeMethod::Squash };
    let label = Deed::Label { add: vec!["seen".to_owned()], remove: Vec::new() };
    let id = wish("merge:1", EffectClass::Merge, merge()).await;
    desk.world.mark();
    assert_eq!(Sending::new(id).step(&desk.ctx).await.unwrap(), Progress::Rests);
    let row = read(&desk, move |tx| effects::get(tx, id)).await.unwrap();
    assert_eq!((row.state, row.why.as_deref(), row.intent_at), (Effect::Failed, Some("frozen"), None));
    assert!(row.detail.unwrap().contains("merging is frozen in this repository"));
    assert_eq!(desk.world.tally().requests, 0, "GitHub is not even asked");
    // Any other class goes its way, and after the freeze a merge does.
    let other = wish("label:1", EffectClass::Label, label).await;
    Sending::new(other).step(&desk.ctx).await.unwrap();
    let row = read(&desk, move |tx| effects::get(tx, other)).await.unwrap();
    assert_ne!(row.why.as_deref(), Some("frozen"), "{row:?}");
    dispatch(&client(&desk, Caller::Person).await, "repository_unfreeze", json!({ "name": REPO }))
        .await
        .unwrap();
    let later = wish("merge:2", EffectClass::Merge, merge()).await;
    Sending::new(later).step(&desk.ctx).await.unwrap();
    let row = read(&desk, move |tx| effects::get(tx, later)).await.unwrap();
    assert_ne!(row.why.as_deref(), Some("frozen"), "{row:?}");
}

#[tokio::test]
async fn the_runtime_proves_by_itself_what_the_observer_sees_merged() {
    let (desk, [one, two]) = two_open().await;
    let app = desk.world.repo(REPO);
    let running = Runtime::start(desk.ctx.clone(), HolderKind::Serve, Arc::new(Nowhere)).await.unwrap();
    let before = app.tip("main");
    app.pull(one).merge_by("octo", "squash");
    app.pull(two).merge_over("octo", "squash", &before);
    desk.pass(chrono::Duration::minutes(10));
    let since = std::time::Instant::now();
    while frozen(&desk).await.is_none() {
        assert!(since.elapsed() < std::time::Duration::from_secs(60), "never caught");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    running.stop().await;
    one_alarm(&desk, two, &["one.txt"]).await;
}
