//! `kill -9` between wanting and remembering: afterwards it was wanted once, and done once.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use chrono::Duration;
use steward_core::store::effects::State;
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

#[tokio::test]
async fn a_process_killed_between_wanting_and_remembering_wants_nothing_twice() {
    for (step, wanted) in [("engine_wanting", 0), ("engine_wanted", 1)] {
        let den = Den::new(ACT, CHECKS).await;
        let pull = den.intake(101, "b");
        den.app().check(&pull.head(), "check").fails();
        den.tick().await;
        den.desk.pass(Duration::seconds(121));
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["engine_loop::kill::child_tick", "--exact", "--nocapture"])
            .env(CHILD, den.desk.home.data_dir())
            .env(NOW, den.desk.now().to_rfc3339())
            .env("STEWARD_FAIL", step)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert_eq!(status.signal(), Some(9), "{step} was never reached");
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
