//! `kill -9` between wanting and remembering: afterwards it was wanted once, and done once.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use chrono::Duration;
use steward_core::store::effects::State;
use steward_core::store::engine_tasks::Decided;
use steward_rules::power::EffectClass;

use super::*;

const CHILD: &str = "STEWARD_TEST_ENGINE";
const NOW: &str = "STEWARD_TEST_ENGINE_NOW";

/// The child: one tick at this time, until it is killed.
#[test]
fn child_tick() {
    let (Some(root), Some(now)) = (std::env::var_os(CHILD), std::env::var(NOW).ok()) else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let home = steward_core::home::Home::under(std::path::Path::new(&root));
        let hand = crate::store::Hand::at(&now);
        let store = steward_core::store::Store::open(&home, hand.clone()).unwrap();
        let config = std::sync::Arc::new(steward_core::config::ConfigWatch::open(&home, None));
        let keychain =
            steward_core::keychain::Keychain::default().with_github_token(Some(TOKEN.to_owned().into()));
        let ctx = steward_core::loops::Ctx::new(home, store, hand, config, "/nowhere/steward".into())
            .with_keychain(keychain);
        engine::pass(&ctx, &CancellationToken::new()).await.unwrap();
    });
}

/// Lets another process do the next tick, which dies at this step; the signal that ended it.
fn killed_at(den: &Den, step: &str) -> Option<i32> {
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["engine_loop::kill::child_tick", "--exact", "--nocapture"])
        .env(CHILD, den.desk.home.data_dir())
        .env(NOW, den.desk.now().to_rfc3339())
        .env("STEWARD_FAIL", step)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.unwrap().signal()
}

#[tokio::test]
async fn a_process_killed_between_wanting_and_remembering_wants_nothing_twice() {
    for (step, wanted) in [("engine_wanting", 0), ("engine_wanted", 1)] {
        let den = Den::new(ACT, CHECKS).await;
        let pull = den.intake(101, "b");
        den.app().check(&pull.head(), "check").fails();
        den.tick().await;
        den.desk.pass(Duration::seconds(121));
        assert_eq!(killed_at(&den, step), Some(9), "{step} was never reached");
        assert_eq!(den.effects(EffectClass::RerunCheck).await.len(), wanted, "{step}");
        den.tick().await;
        den.send().await;
        den.tick().await;
        den.send().await;
        let asked = den.effects(EffectClass::RerunCheck).await;
        assert_eq!((asked.len(), asked[0].state), (1, State::Done), "{step}: {asked:?}");
        assert_eq!(den.writes().len(), 1, "{step}: {:?}", den.writes());
    }
}

#[tokio::test]
async fn a42_a_process_killed_between_the_comment_and_the_close_of_an_issue_says_it_once_and_closes_it() {
    for step in ["engine_wanting", "engine_wanted"] {
        let den = Den::new(ACT, &format!("{CHECKS}, {VALIDATE}")).await;
        let issue = den.app().open_issue("maria", "add a", "please").label("data:add-work");
        den.tick().await;
        den.later(Duration::minutes(31)).await;
        let answer = Decided::AlreadyPresent { ids: vec!["a".to_owned()], evidence: "a is there".to_owned() };
        den.answers(issue.number(), answer).await;
        den.tick().await;
        den.send().await;
        assert_eq!((issue.comments().len(), issue.is_open()), (1, true), "{step}");
        // Its next tick wants the close, and does not live to remember it.
        assert_eq!(killed_at(&den, step), Some(9), "{step} was never reached");
        for _ in 0..3 {
            den.tick().await;
            den.send().await;
        }
        let closes = den.effects(EffectClass::CloseIssue).await;
        assert_eq!((closes.len(), closes[0].state), (1, State::Done), "{step}: {closes:?}");
        assert_eq!((issue.comments().len(), issue.is_open()), (1, false), "{step}");
        assert_eq!(den.writes().len(), 2, "{step}: {:?}", den.writes());
    }
}
