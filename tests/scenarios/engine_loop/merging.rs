//! What is ready merges, pinned to its head; what follows; and what every mode makes of it.

use chrono::Duration;
use steward_core::loops::observer::standing;
use steward_core::store::effects::State;
use steward_core::store::engine_items::{ItemEnd, ItemKind};
use steward_core::store::inbox::Kind;
use steward_rules::power::EffectClass;

use super::*;

const MERGE: &str = "PUT /repos/{owner}/{repo}/pulls/{pull_number}/merge";

#[tokio::test]
async fn a_ready_data_pull_request_merges_pinned_to_its_head_and_its_issue_closes_once() {
    let den = Den::new(ACT, CHECKS).await;
    let issue = den.app().open_issue("maria", "add b", "please").label("data:add-work").number();
    let pull = den.intake(issue, "b");
    den.well(&pull);
    let (number, head) = (pull.number(), pull.head());
    den.tick().await;
    let (decision, why) = den.decided(number).await;
    assert_eq!(decision, "wait", "a1: a fresh head waits: {why}");
    assert!(den.item(number).await.not_before.is_some());
    assert_eq!(den.writes(), Vec::<String>::new());

    den.later(Duration::seconds(121)).await;
    assert_eq!(den.decided(number).await.0, "merge");
    let merges = den.effects(EffectClass::Merge).await;
    assert_eq!(merges.len(), 1);
    assert_eq!(merges[0].head.as_ref().map(|sha| sha.as_str()), Some(head.as_str()));
    // Wanting it again changes nothing.
    den.later(Duration::seconds(30)).await;
    assert_eq!(den.effects(EffectClass::Merge).await.len(), 1);
    den.send().await;
    assert!(pull.is_merged(), "{:?}", den.effects(EffectClass::Merge).await);
    let sent: Vec<_> =
        den.desk.world.exchanges().into_iter().filter(|exchange| exchange.operation == MERGE).collect();
    assert_eq!(sent.len(), 1);

    for _ in 0..4 {
        den.tick().await;
        den.send().await;
    }
    let said: Vec<_> = den.app().pull(issue).comments();
    let ours: Vec<_> = said.iter().filter(|(_, author, _)| author == "octo").collect();
    let marker = format!("<!-- steward:merged pull={number} -->");
    assert!(ours.len() <= 1 && ours.iter().all(|(_, _, text)| text.starts_with(&marker)), "{said:?}");
    assert!(!den.app().pull(issue).is_open(), "the issue it answers is closed");
    let item = den.item(number).await;
    assert_eq!((item.ended, item.settled), (Some(ItemEnd::Merged), true), "{item:?}");
    assert_eq!(den.effects(EffectClass::DeleteBranch).await[0].state, State::Done);
    let before = den.writes().len();
    den.tick().await;
    den.send().await;
    assert_eq!(den.writes().len(), before, "nothing is left to do");
    den.desk.world.assert_contract();
}

#[tokio::test]
async fn what_is_observed_is_judged_and_not_one_write_is_made_or_wanted() {
    let den = Den::new("mode: observe", &format!("{CHECKS}, {VALIDATE}")).await;
    let ready = den.intake(101, "b");
    den.well(&ready);
    let red = den.intake(102, "c");
    den.app().check(&red.head(), "check").fails();
    den.app().push("tools", "feat: tool", &[("tools/x.sh", "x\n")]);
    let code = den.app().open_pull("maria", "tools", "feat: tool");
    let issue = den.app().open_issue("maria", "wrong", "it is").label("data:correction");
    den.tick().await;
    den.later(Duration::minutes(40)).await;
    den.tick().await;
    den.send().await;
    assert_eq!(den.decided(ready.number()).await.0, "merge");
    assert_eq!(den.decided(red.number()).await.0, "rerun");
    assert_eq!(den.decided(code.number()).await.0, "review_code");
    let listed = den.kept(ItemKind::Issue, issue.number()).await.unwrap();
    assert_eq!(listed.decision, "triage", "{}", listed.state);
    assert_eq!(den.writes(), Vec::<String>::new());
    assert_eq!(den.read(|tx| effects::page(tx, false, None, 50)).await, []);
    assert!(den.tasks(red.number()).await.is_empty());
}

#[tokio::test]
async fn what_is_suggested_waits_in_the_inbox_and_nothing_is_sent() {
    let den = Den::new("mode: suggest", CHECKS).await;
    let pull = den.intake(101, "b");
    den.well(&pull);
    let red = den.intake(102, "c");
    den.app().check(&red.head(), "check").fails();
    den.tick().await;
    den.later(Duration::seconds(121)).await;
    den.later(Duration::seconds(121)).await;
    den.send().await;
    let titles: Vec<String> =
        den.entries(Kind::Suggestion).await.into_iter().map(|entry| entry.title).collect();
    assert_eq!(titles.len(), 2, "{titles:?}");
    assert!(
        titles.iter().any(|title| title.contains(&format!("Merge {REPO}#{}", pull.number()))),
        "{titles:?}"
    );
    assert!(titles.iter().any(|title| title.contains(&format!("{REPO}#{}", red.number()))), "{titles:?}");
    for class in [EffectClass::Merge, EffectClass::RerunCheck] {
        let rows = den.effects(class).await;
        assert_eq!((rows.len(), rows[0].state), (1, State::Suggested), "{rows:?}");
    }
    assert_eq!(den.writes(), Vec::<String>::new());
}

#[tokio::test]
async fn a3_a_verdict_without_a_new_label_event_counts_and_a4_one_of_another_head_does_not() {
    let den = Den::new(ACT, CHECKS).await;
    let pull = den.intake(101, "b");
    den.well(&pull);
    let old = pull.head();
    // The intake moves it; the label stays where it was.
    let path = [("data/works/b.json", "{\"b\": {\"v\": 2}}\n")];
    let head = den.app().push("intake/issue-101", "data: b again", &path);
    den.app().check(&head, "check").succeeds();
    den.app().check(&head, "verify").workflow(VERIFY).runs();
    den.tick().await;
    den.later(Duration::minutes(5)).await;
    assert_eq!(den.decided(pull.number()).await.0, "wait", "a2: its verdict still runs");
    den.app().check(&head, "verify").workflow(VERIFY).succeeds();
    den.desk.pass(Duration::seconds(5));
    den.app().check(&old, "verify").workflow(VERIFY).succeeds();
    den.tick().await;
    let (decision, why) = den.decided(pull.number()).await;
    assert_eq!(decision, "wait", "a4: {why}");
    den.desk.pass(Duration::seconds(5));
    den.app().check(&head, "verify").workflow(VERIFY).succeeds();
    den.tick().await;
    den.later(Duration::minutes(31)).await;
    den.tick().await;
    assert_eq!(den.decided(pull.number()).await.0, "merge", "a3: {:?}", den.decided(pull.number()).await);
    assert_eq!(den.effects(EffectClass::Merge).await.len(), 1);
}

#[tokio::test]
async fn a7_both_labels_wait_and_a43_a_clock_that_jumps_back_starts_the_two_minutes_anew() {
    let den = Den::new(ACT, CHECKS).await;
    let both = den.intake(101, "b");
    den.well(&both);
    both.label_by(BOT, "ai-flagged");
    let pull = den.intake(102, "c");
    den.well(&pull);
    den.tick().await;
    den.later(Duration::seconds(60)).await;
    den.desk.hand.pass(Duration::hours(-1));
    let ask = |tx: &steward_core::store::WriteTx<'_>| standing::ask(tx).map(drop);
    den.desk.ctx.store.write(Durability::Normal, ask).await.unwrap();
    den.desk.turn().await;
    let now = den.desk.now();
    den.judge().await;
    let item = den.item(pull.number()).await;
    assert_eq!(item.decision, "wait", "{}", item.state);
    assert_eq!(item.head.unwrap().first_seen_at, now, "the time starts now");
    den.desk.hand.pass(Duration::seconds(121));
    den.judge().await;
    let (decision, why) = den.decided(pull.number()).await;
    assert_eq!(decision, "merge", "{why}");
    assert_ne!(den.decided(both.number()).await.0, "merge");
}

#[tokio::test]
async fn a39_without_a_boundary_what_is_ready_merges_and_no_agent_starts() {
    let den = Den::new(ACT, &format!("{CHECKS}, {VALIDATE}, requireUpToDate: false")).await;
    den.desk.ctx.use_boundary(steward_core::sandbox::Boundary::None { reason: "none here".to_owned() });
    let pulls: Vec<u64> = [(101, "b"), (102, "c"), (103, "d")]
        .into_iter()
        .map(|(issue, work)| {
            let pull = den.intake(issue, work);
            den.well(&pull);
            pull.number()
        })
        .collect();
    den.tick().await;
    den.later(Duration::seconds(121)).await;
    den.send().await;
    for number in pulls {
        assert!(den.app().pull(number).is_merged(), "#{number}: {:?}", den.decided(number).await);
    }
}

#[tokio::test]
async fn a38_a_never_merge_label_and_a_draft_and_a_fork_are_left_alone() {
    let den = Den::new(ACT, CHECKS).await;
    let import = den.intake(101, "b").label("data:import");
    den.well(&import);
    let draft = den.intake(102, "c").draft();
    den.well(&draft);
    den.tick().await;
    den.later(Duration::seconds(121)).await;
    den.send().await;
    assert_eq!(den.item(import.number()).await.class, "never_merge");
    assert_eq!(den.item(draft.number()).await.class, "draft");
    assert_eq!(den.writes(), Vec::<String>::new());
}

#[tokio::test]
async fn a_frozen_repository_merges_nothing() {
    let den = Den::new(ACT, CHECKS).await;
    let pull = den.intake(101, "b");
    den.well(&pull);
    let host = den.desk.host();
    den.desk
        .ctx
        .store
        .write(Durability::Full, move |tx| {
            steward_core::store::landings::freeze(tx, &host, &name(), "another tree landed").map(drop)
        })
        .await
        .unwrap();
    den.tick().await;
    den.later(Duration::seconds(121)).await;
    den.send().await;
    assert!(den.effects(EffectClass::Merge).await.is_empty());
    assert!(!pull.is_merged());
}
