//! `kill -9` between reading a merge and keeping what it came to: afterwards it is proven, and said once.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use steward_core::clock::SystemClock;
use steward_core::lock::HolderKind;
use steward_core::loops::supervisor::{Nowhere, Runtime};
use steward_kit::process::Running;

use super::*;

const CHILD: &str = "STEWARD_TEST_LANDED";
const TOKEN: &str = "made-up-token-of-the-child";

/// The child: hosts a runtime until it is killed.
#[test]
fn child_runtime() {
    let Some(root) = std::env::var_os(CHILD) else { return };
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let ctx = context(&Home::under(Path::new(&root)), Arc::new(SystemClock), TOKEN);
        let _hosted = Runtime::start(ctx, HolderKind::Serve, Arc::new(Nowhere)).await.unwrap();
        std::future::pending::<()>().await;
    });
}

fn spawn(desk: &Desk, fail: Option<&str>) -> Running {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["landed::kill::child_runtime", "--exact", "--nocapture"])
        .env(CHILD, desk.home.data_dir())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if let Some(step) = fail {
        command.env("STEWARD_FAIL", step);
    }
    Running::start(&mut command)
}

async fn eventually(what: &str, mut done: impl AsyncFnMut() -> bool) {
    let since = Instant::now();
    while !done().await {
        assert!(since.elapsed() < Duration::from_secs(60), "{what}: never");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn fault_8_a_runtime_killed_at_any_step_of_a_proof_proves_it_and_says_it_once() {
    // The step, and how far it was after the death.
    for (step, state) in [
        ("landed_read", State::Waiting),
        ("landed_keeping", State::Waiting),
        ("landed_kept", State::Different),
    ] {
        let (desk, [one, two]) = two_open().await;
        desk.world.token("octo", TOKEN, &["repo"]);
        let app = desk.world.repo(REPO);
        let before = app.tip("main");
        app.pull(one).merge_by("octo", "squash");
        desk.tick().await;
        prove(&desk).await;
        app.pull(two).merge_over("octo", "squash", &before);
        desk.tick().await;
        let mut first = spawn(&desk, Some(step));
        eventually(step, async || first.try_wait().unwrap().is_some()).await;
        assert_eq!(first.wait().unwrap().signal(), Some(9), "{step}: it ended otherwise");
        assert_eq!(landing(&desk, two).await.unwrap().state, state, "{step}");
        assert_eq!(frozen(&desk).await.is_some(), state == State::Different, "{step}");
        let looked = desk.standing().await.last_tick;
        let mut second = spawn(&desk, None);
        eventually(step, async || frozen(&desk).await.is_some() && desk.standing().await.last_tick != looked)
            .await;
        second.kill().unwrap();
        second.wait().unwrap();
        one_alarm(&desk, two, &["one.txt"]).await;
    }
}
