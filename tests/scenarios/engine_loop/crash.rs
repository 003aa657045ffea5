//! `kill -9` between the comment on an issue and its closing: one comment, then it is closed.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use chrono::Duration;
use steward_core::store::effects::State;
use steward_rules::power::EffectClass;

use super::*;

const CHILD: &str = "STEWARD_TEST_ENGINE_CRASH";
const NOW: &str = "STEWARD_TEST_ENGINE_CRASH_NOW";
const COMMENT: &str = "POST /repos/{owner}/{repo}/issues/{issue_number}/comments";
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
                while sending.step(&ctx).await.unwrap() == Progress::More {}
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
