//! The merge: only with the gate's word, read twice just before, at exactly the judged head.

use steward_core::store::engine_items::{self, ItemKind, ItemRow};
use steward_core::store::repositories;
use steward_github_double::{Fault, Protection};
use steward_rules::engine::memory::HeadSeen;
use steward_rules::engine::policy::MergeMethod;

use super::super::kill::dies_at;
use super::*;

const MERGE: &str = "PUT /repos/{owner}/{repo}/pulls/{pull_number}/merge";

fn policy(mode: &str) -> String {
    let act = if mode == "act" { ", act: [merge]" } else { "" };
    format!(
        "mode: {mode}{act}, policy: {{engine: {{base: main, safePaths: [\"src/\"], requiredChecks: [check], \
         requireSeatAccepted: true, mergeMethod: squash}}}}"
    )
}

/// An office over a pull request that is ready: its check is green, the seat accepted it, and its head has been
/// there for long.
async fn ready(world: &World, mode: &str) -> (Office, Wanted) {
    let office = Office::with(world, &policy(mode), quick()).await;
    let head = world.repo("octo/app").pull(1).head();
    world.repo("octo/app").check(&head, "check").succeeds();
    office.review(world).await;
    let sha = Sha::new(&head).unwrap();
    let (host, seen) = (office.host.clone(), sha.clone());
    let remember = move |tx: &steward_core::store::WriteTx<'_>| {
        let repository = repositories::ensure(tx, &host, &repo())?;
        let now = tx.now();
        let since = now - chrono::Duration::minutes(10);
        let mut item = ItemRow::fresh(ItemKind::Pr, 1, now);
        item.head = Some(HeadSeen { sha: seen, first_seen_at: since, last_seen_at: now });
        engine_items::put(tx, repository.id, &item)
    };
    office.ctx.store.write(Durability::Full, remember).await.unwrap();
    // A clock that goes on by itself, as every clock does: the second reading is newer than the first.
    let hand = office.hand.clone();
    tokio::spawn(async move {
        loop {
            hand.pass(chrono::Duration::milliseconds(1));
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    let wanted = Wanted {
        class: EffectClass::Merge,
        deed: Deed::Merge { method: MergeMethod::Squash },
        host: office.host.clone(),
        repo: repo(),
        number: Some(1),
        head: Some(sha),
        line: "it is ready".to_owned(),
    };
    (office, wanted)
}

fn merges(world: &World) -> usize {
    world.exchanges().iter().filter(|one| one.operation == MERGE).count()
}

fn is_merged(world: &World) -> bool {
    world.repo("octo/app").pull(1).is_merged()
}

#[tokio::test]
async fn what_is_ready_merges_pinned_to_its_judged_head() {
    let world = super::super::world();
    let (office, wanted) = ready(&world, "act").await;
    let id = office.want(wanted.clone()).await.unwrap();
    let reads = |world: &World| {
        world.exchanges().iter().filter(|one| one.target.starts_with("/repos/octo/app/commits/")).count()
    };
    let before = reads(&world);
    let row = office.carry(id).await;
    assert_eq!(stands(&row), (State::Done, None), "{row:?}");
    assert!(is_merged(&world) && merges(&world) == 1);
    let sent = world.exchanges().into_iter().find(|one| one.operation == MERGE).unwrap();
    let head = wanted.head.clone().unwrap().to_string();
    assert_eq!(sent.request, serde_json::json!({ "sha": head, "merge_method": "squash" }));
    assert!(row.evidence.unwrap().ends_with(&world.repo("octo/app").tip("main")));
    assert!(reads(&world) - before >= 2, "its checks were read twice");
    assert_eq!(office.want(wanted).await, Some(id));
    office.carry(id).await;
    assert_eq!(merges(&world), 1);
    office.trail().await;
}

#[tokio::test]
async fn what_is_not_ready_is_not_merged_whoever_said_yes() {
    for mode in ["act", "suggest"] {
        let world = super::super::world();
        let (office, wanted) = ready(&world, mode).await;
        let id = office.want(wanted.clone()).await.unwrap();
        if mode == "suggest" {
            assert_eq!(office.drive(id).await.state, State::Suggested);
            office.approve(id).await;
        }
        let app = world.repo("octo/app");
        app.check(&wanted.head.clone().unwrap().to_string(), "late").runs();
        let row = office.carry(id).await;
        assert_eq!(stands(&row), (State::Obsolete, Some("not_ready")), "{mode}: {row:?}");
        assert!(row.detail.unwrap().contains("late"), "it says what is missing");
        assert_eq!((is_merged(&world), merges(&world)), (false, 0), "{mode}");
        // The next tick wants it again.
        app.check(&wanted.head.clone().unwrap().to_string(), "late").succeeds();
        assert_eq!(office.want(wanted).await, Some(id));
        if mode == "suggest" {
            assert_eq!(office.drive(id).await.state, State::Suggested, "with another yes");
            office.approve(id).await;
        }
        assert_eq!(office.carry(id).await.state, State::Done, "{mode}");
        assert!(is_merged(&world));
    }
}

#[tokio::test]
async fn a08_each_reply_of_github_means_what_the_table_says() {
    for (fault, state, why) in [
        (Fault::Status(401), State::Failed, Some("config_fault")),
        (Fault::Status(403), State::Failed, Some("config_fault")),
        (Fault::Status(404), State::Obsolete, Some("not_found")),
        (Fault::Status(405), State::Obsolete, Some("next_tick")),
        (Fault::Status(409), State::Obsolete, Some("next_tick")),
        (Fault::Status(422), State::Failed, Some("unprocessable")),
        (Fault::LostReply, State::Done, None),
        (Fault::StatusAfterEffect(502), State::Done, None),
        (Fault::Cut, State::Done, None),
        (Fault::Status(500), State::Done, None),
    ] {
        let name = format!("{fault:?}");
        let world = super::super::world();
        let (office, wanted) = ready(&world, "act").await;
        let id = office.want(wanted.clone()).await.unwrap();
        world.when(MERGE).answers(fault);
        let row = office.carry(id).await;
        assert_eq!(stands(&row), (state, why), "{name}: {row:?}");
        assert_eq!(is_merged(&world), state == State::Done, "{name}");
        let listed =
            office.suggestions().await.iter().filter(|(title, _)| title.starts_with("Merge")).count();
        assert_eq!(
            listed,
            usize::from(why == Some("config_fault")),
            "{name}: what the engine counts is its own"
        );
        if !matches!(why, None | Some("config_fault")) {
            assert_eq!(office.want(wanted).await, Some(id), "{name}");
            assert_eq!(office.carry(id).await.state, State::Done, "{name}: the next tick");
        }
        let _ = world.take_violations();
    }
}

#[tokio::test]
async fn a_head_that_moves_while_it_is_sent_is_not_merged_and_a_protected_base_waits() {
    let world = super::super::world();
    let (office, wanted) = ready(&world, "act").await;
    let id = office.want(wanted).await.unwrap();
    let mut sending = Sending::new(id);
    assert_eq!(sending.step(&office.ctx).await.unwrap(), Progress::More);
    assert_eq!(office.get(id).await.state, State::Intended);
    world.repo("octo/app").push("feat", "feat: y", &[("src/x.rs", "y\n")]);
    while sending.step(&office.ctx).await.unwrap() == Progress::More {}
    let row = office.carry(id).await;
    assert_eq!(row.state, State::Obsolete, "{row:?}");
    assert_eq!((is_merged(&world), merges(&world)), (false, 1));

    let world = super::super::world();
    let rule = Protection { required_checks: vec!["other".to_owned()], ..Protection::default() };
    let _ = world.repo("octo/app").protect("main", rule);
    let (office, wanted) = ready(&world, "act").await;
    let id = office.want(wanted).await.unwrap();
    let row = office.carry(id).await;
    assert_eq!(stands(&row), (State::Obsolete, Some("next_tick")), "{row:?}");
    assert!(row.detail.unwrap().contains("\"other\" is expected"), "GitHub's own word is kept");
}

#[tokio::test]
async fn fault_06_a_runtime_killed_at_any_step_of_a_merge_merges_once() {
    for step in ["effect_read", "effect_intended", "effect_sent", "effect_posted", "effect_finishing"] {
        let world = super::super::world();
        let (office, wanted) = ready(&world, "act").await;
        // The review's own comment waits for a yes; only the merge is looked at.
        let other = office.row().await.id;
        office.ctx.store.write(Durability::Full, move |tx| effects::dismiss(tx, other)).await.unwrap();
        let id = office.want(wanted).await.unwrap();
        dies_at(&office, id, step).await;
        let row = office.get(id).await;
        assert_eq!(row.state, State::Done, "{step}: {row:?}");
        assert!(is_merged(&world) && merges(&world) == 1, "{step}");
        office.trail().await;
    }
}
