//! `kill -9` at every step between wish and outcome: afterwards one comment is there and the journal says so.

use std::process::{Command, Stdio};

use chrono::TimeDelta;
use std::os::unix::process::ExitStatusExt;
use steward_core::clock::SystemClock;
use steward_core::lock::HolderKind;
use steward_core::loops::supervisor::{Nowhere, Runtime};
use steward_kit::process::Running;
use steward_rules::guard::Patience;

use super::*;

const CHILD: &str = "STEWARD_TEST_EFFECTS";

/// On the machine's clock GitHub is given a blink.
fn hasty() -> Options {
    let blink = TimeDelta::milliseconds(150);
    Options { patience: Patience { unclear: blink, look: blink, looks: 3 }, ..quick() }
}

/// The child: hosts a runtime until it is killed.
#[test]
fn child_runtime() {
    let Some(root) = std::env::var_os(CHILD) else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let ctx = context(&home_of(Path::new(&root)), Arc::new(SystemClock), hasty());
        let _hosted = Runtime::start(ctx, HolderKind::Serve, Arc::new(Nowhere)).await.unwrap();
        std::future::pending::<()>().await;
    });
}

fn spawn(office: &Office, fail: Option<&str>) -> Running {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["effects::kill::child_runtime", "--exact", "--nocapture"])
        .env(CHILD, office.home.data_dir())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if let Some(step) = fail {
        command.env("STEWARD_FAIL", step);
    }
    Running::start(&mut command)
}

/// Lets a runtime die at a step, then starts another until the effect is over.
pub(super) async fn dies_at(office: &Office, id: i64, step: &str) {
    let mut first = spawn(office, Some(step));
    let deadline = Instant::now() + Duration::from_secs(60);
    let status = loop {
        if let Some(status) = first.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > deadline {
            first.kill().unwrap();
            panic!("{step} was never reached: {:?}", office.get(id).await);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(status.signal(), Some(9), "{step}: it ended otherwise");
    let mut second = spawn(office, None);
    eventually(step, async || office.get(id).await.state.is_final()).await;
    second.kill().unwrap();
    second.wait().unwrap();
}

#[tokio::test]
async fn fault_06_a_runtime_killed_at_any_step_says_it_once() {
    // The step, how often it was sent in all, and which states the journal went through.
    for (step, sent) in [
        ("effect_read", 1),
        ("effect_intended", 1),
        ("effect_sent", 1),
        ("effect_posted", 1),
        ("effect_finishing", 1),
        ("effect_done", 1),
    ] {
        let world = world();
        let office = Office::new(&world, ACT).await;
        office.review(&world).await;
        dies_at(&office, office.row().await.id, step).await;
        let row = office.row().await;
        let there = own(&world, 1);
        assert_eq!((there.len(), posts(&world)), (1, sent), "{step}: {row:?}");
        assert_eq!((row.state, row.posted), (State::Done, Some(there[0] as i64)), "{step}");
        let trail = office.trail().await;
        assert_eq!(trail.iter().filter(|state| *state == "done").count(), 1, "{step}: {trail:?}");
        world.assert_contract();
    }
}

#[tokio::test]
async fn a_runtime_killed_while_a_duplicate_is_taken_back_leaves_the_first() {
    for step in ["effect_taking_back", "effect_taken_back", "effect_finishing"] {
        let world = world();
        let office = Office::new(&world, ACT).await;
        office.review(&world).await;
        let text = office.row().await.content;
        let pull = world.repo("octo/app").pull(1);
        let first = pull.comment("octo", &text);
        pull.comment("octo", &text);
        dies_at(&office, office.row().await.id, step).await;
        assert_eq!((own(&world, 1), posts(&world)), (vec![first], 0), "{step}");
        let row = office.row().await;
        assert_eq!((row.state, row.posted), (State::Done, Some(first as i64)), "{step}");
        office.trail().await;
        world.assert_contract();
    }
}

#[tokio::test]
async fn killed_with_its_answer_lost_it_is_found_on_the_next_start() {
    let world = world();
    let office = Office::new(&world, ACT).await;
    office.review(&world).await;
    world.when(POST).answers(steward_github_double::Fault::LostReply);
    dies_at(&office, office.row().await.id, "effect_sent").await;
    let row = office.row().await;
    assert_eq!((row.state, own(&world, 1).len(), posts(&world)), (State::Done, 1, 1));
    office.trail().await;
}
