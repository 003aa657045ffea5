//! `kill -9` between the comment on an issue and its closing: one comment, then it is closed.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use chrono::Duration;
use steward_core::store::effects::State;
use steward_github_double::Fault;
use steward_rules::power::EffectClass;

use super::*;

const CHILD: &str = "STEWARD_TEST_ENGINE_CRASH";
const NOW: &str = "STEWARD_TEST_ENGINE_CRASH_NOW";
const COMMENT: &str = "POST /repos/{owner}/{repo}/issues/{issue_number}/comments";
const MERGE: &str = "PUT /repos/{owner}/{repo}/pulls/{pull_number}/merge";
const CLOSE: &str = "PATCH /repos/{owner}/{repo}/issues/{issue_number}";

/// The child: sends and ticks from this time on, until it is killed.
#[test]
fn child_goes_on() {
    let (Some(root), Some(now)) = (std::env::var_os(CHILD), std::env::var(NOW).ok()) else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let home = steward_core::home::Home::under(std::path::Path::new(&root));
        let hand = crate::store::Hand::at(&now);
        let store = steward_core::store::Store::open(&home, hand.clone()).unwrap();
        let config = std::sync::Arc::new(steward_core::config::ConfigWatch::open(&home, None));
        let keychain =
            steward_core::keychain::Keychain::default().with_github_token(Some(TOKEN.to_owned().into()));
        let ctx = steward_core::loops::Ctx::new(home, store, hand.clone(), config, "/nowhere/steward".into())
            .with_keychain(keychain)
            .with_github(crate::observer::quick());
        for _ in 0..4 {
            for row in ctx.store.read(effects::to_do).await.unwrap() {
                let mut sending = Sending::new(row.id);
                let sent = async { while sending.step(&ctx).await.unwrap() == (Progress::More {}) {} };
                // Two readings are not made at one moment.
                let clock = async {
                    loop {
                        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
                        hand.pass(Duration::milliseconds(2));
                    }
                };
                tokio::select! {
                    () = sent => {}
                    () = clock => {}
                }
                hand.pass(Duration::seconds(2));
            }
            engine::pass(&ctx, &CancellationToken::new()).await.unwrap();
            hand.pass(Duration::seconds(2));
        }
    });
}

/// Another process goes on, and dies at this step.
async fn dies_at(den: &Den, step: &str) {
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["engine_loop::crash::child_goes_on", "--exact", "--nocapture"])
        .env(CHILD, den.desk.home.data_dir())
        .env(NOW, den.desk.now().to_rfc3339())
        .env("STEWARD_FAIL", step)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.signal(), Some(9), "{step} was never reached");
}

#[tokio::test]
async fn a42_a_crash_between_comment_and_close_leaves_one_comment_and_a_closed_issue() {
    // What the next write is when the process dies, and at which step.
    for (next, step) in [
        ("comment", "effect_intended"),
        ("comment", "effect_sent"),
        ("comment", "effect_posted"),
        ("comment", "effect_done"),
        ("close", "engine_wanting"),
        ("close", "engine_wanted"),
        ("close", "effect_sent"),
        ("close", "effect_done"),
    ] {
        let den = Den::new(ACT, &format!("{CHECKS}, deleteBranchGlobs: []")).await;
        let issue = den.app().open_issue("maria", "add b", "please").label("data:add-work").number();
        let pull = den.intake(issue, "b");
        den.well(&pull);
        den.tick().await;
        den.later(Duration::seconds(121)).await;
        den.send().await;
        assert!(pull.is_merged());
        den.tick().await;
        assert_eq!(den.effects(EffectClass::CommentIssue).await.len(), 1, "{next} {step}");
        if next == "close" {
            den.send().await;
            assert_eq!(den.effects(EffectClass::CommentIssue).await[0].state, State::Done);
            assert!(den.effects(EffectClass::CloseIssue).await.is_empty());
        }
        dies_at(&den, step).await;
        for _ in 0..4 {
            den.tick().await;
            den.send().await;
        }
        let said = den.app().pull(issue).comments();
        assert_eq!(said.len(), 1, "{next} {step}: {said:?}");
        assert!(
            said[0].2.starts_with(&format!("<!-- steward:merged pull={} -->", pull.number())),
            "{said:?}"
        );
        let writes = den.writes();
        let times = |operation: &str| writes.iter().filter(|write| *write == operation).count();
        assert_eq!((times(COMMENT), times(CLOSE)), (1, 1), "{next} {step}: {writes:?}");
        let closed = den.app().pull(issue);
        assert!(!closed.is_open() && closed.close_reason().as_deref() == Some("completed"), "{next} {step}");
        let of = |at: &str| writes.iter().position(|write| write == at);
        assert!(of(COMMENT) < of(CLOSE), "{next} {step}: {writes:?}");
        assert!(den.item(pull.number()).await.settled, "{next} {step}");
    }
}

/// How the journal comes to know nothing of a merge that GitHub did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unheard {
    Lost,
    Killed,
    Paused,
}

#[tokio::test]
async fn a_merge_that_the_journal_does_not_know_yet_keeps_what_follows_it() {
    for how in [Unheard::Lost, Unheard::Killed, Unheard::Paused] {
        let den = Den::new(ACT, CHECKS).await;
        let issue = den.app().open_issue("maria", "add b", "please").label("data:add-work").number();
        let pull = den.intake(issue, "b");
        den.well(&pull);
        den.tick().await;
        den.later(Duration::seconds(121)).await;
        let merge = den.effects(EffectClass::Merge).await[0].id;
        match how {
            Unheard::Killed => dies_at(&den, "effect_sent").await,
            Unheard::Lost | Unheard::Paused => {
                den.desk.world.when(MERGE).answers(Fault::LostReply);
                // And it is not looked for yet.
                den.desk.world.when("GET /user").after(1).always().answers(Fault::Status(500));
                den.drive(merge).await;
                den.desk.world.calm();
            }
        }
        if how == Unheard::Paused {
            steward_core::loops::pause::pause(&den.desk.ctx, "lunch").await.unwrap();
        }
        assert!(pull.is_merged(), "{how:?}");
        assert_eq!(den.effects(EffectClass::Merge).await[0].state, State::Intended, "{how:?}");
        // A look sees it merged before the journal hears of it.
        for _ in 0..2 {
            den.tick().await;
            let item = den.item(pull.number()).await;
            assert!(item.ended.is_some() && !item.settled, "{how:?}: {item:?}");
        }
        if how == Unheard::Paused {
            steward_core::loops::pause::resume(&den.desk.ctx).await.unwrap();
        }
        den.desk.pass(Duration::minutes(2));
        for _ in 0..5 {
            den.send().await;
            den.tick().await;
        }
        assert_eq!(den.effects(EffectClass::Merge).await[0].state, State::Done, "{how:?}");
        let writes = den.writes();
        let times = |operation: &str| writes.iter().filter(|write| *write == operation).count();
        assert_eq!((times(MERGE), times(COMMENT), times(CLOSE)), (1, 1, 1), "{how:?}: {writes:?}");
        assert!(!den.app().pull(issue).is_open(), "{how:?}");
        assert_eq!(den.effects(EffectClass::DeleteBranch).await[0].state, State::Done, "{how:?}");
        assert!(den.item(pull.number()).await.settled, "{how:?}");
    }
}

#[tokio::test]
async fn a_clock_that_is_set_back_between_the_comment_and_the_closing_closes_once_and_is_done() {
    let den = Den::new(ACT, &format!("{CHECKS}, deleteBranchGlobs: []")).await;
    let issue = den.app().open_issue("maria", "add b", "please").label("data:add-work").number();
    let pull = den.intake(issue, "b");
    den.well(&pull);
    den.tick().await;
    den.later(Duration::seconds(121)).await;
    den.send().await;
    den.tick().await;
    den.send().await;
    assert_eq!(den.effects(EffectClass::CommentIssue).await[0].state, State::Done);
    assert!(den.effects(EffectClass::CloseIssue).await.is_empty());
    den.desk.hand.pass(Duration::days(-1));
    for _ in 0..4 {
        let ask = |tx: &steward_core::store::WriteTx<'_>| {
            steward_core::loops::observer::standing::ask(tx).map(drop)
        };
        den.desk.ctx.store.write(Durability::Normal, ask).await.unwrap();
        den.desk.turn().await;
        den.judge().await;
        den.send().await;
        den.desk.pass(Duration::minutes(10));
    }
    let writes = den.writes();
    assert_eq!(writes.iter().filter(|write| *write == CLOSE).count(), 1, "{writes:?}");
    let item = den.item(pull.number()).await;
    assert!(item.settled, "{item:?}");
}
