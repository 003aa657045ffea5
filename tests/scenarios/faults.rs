//! The runtime dies at every step, is paused, finds the disk full: nothing is lost, nothing said twice.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use steward_core::clock::SystemClock;
use steward_core::config::ConfigWatch;
use steward_core::home::Home;
use steward_core::keychain::Keychain;
use steward_core::lock::HolderKind;
use steward_core::loops::supervisor::{self, NoticeSink, Runtime};
use steward_core::loops::{Ctx, pause, review, task};
use steward_core::store::notices::NoticeRow;
use steward_core::store::reviews::{EndReason, ReviewState};
use steward_core::store::tasks::RunState;
use steward_core::store::{OpenOptions, Store, StoreError, reviews};
use steward_kit::process::Running;
use steward_rules::ids::ReviewId;
use steward_rules::review::verdict::Verdict;

use crate::desk::{ACCEPTED, Desk, hand_in};
use crate::needs_boundary;

/// Keeps what it was shown.
#[derive(Default)]
struct Shown(Mutex<Vec<String>>);

impl NoticeSink for Shown {
    fn show(&self, notice: &NoticeRow) -> Result<(), String> {
        self.0.lock().expect("list").push(notice.key.clone());
        Ok(())
    }
}

async fn host(desk: &Desk) -> (Runtime, Arc<Shown>) {
    let shown = Arc::new(Shown::default());
    let runtime = Runtime::start(desk.ctx.clone(), HolderKind::Serve, shown.clone()).await.expect("hosted");
    (runtime, shown)
}

async fn eventually(what: &str, mut done: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !done().await {
        assert!(Instant::now() < deadline, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_runtime_picks_a_queued_review_up_and_announces_it_once() {
    needs_boundary!();
    let desk = Desk::new();
    let (runtime, shown) = host(&desk).await;
    let task = desk.task().await;
    let id = desk.start(task).await;
    desk.until(id, "it is published", |row| row.state == ReviewState::Published).await;
    eventually("it is shown", async || !shown.0.lock().expect("list").is_empty()).await;
    assert_eq!(*shown.0.lock().expect("list"), ["review:1"]);
    assert!(
        Runtime::start(desk.ctx.clone(), HolderKind::Desktop, Arc::new(supervisor::Nowhere)).await.is_err()
    );
    assert_eq!(runtime.trouble(), None);
    runtime.stop().await;
    let (again, shown) = host(&desk).await;
    again.stop().await;
    assert!(shown.0.lock().expect("list").is_empty(), "shown once for ever");
}

#[tokio::test]
async fn a_head_that_moves_turns_the_review_stale_before_the_reader_s_eyes() {
    needs_boundary!();
    let desk = Desk::new();
    let (runtime, _) = host(&desk).await;
    let task = desk.task().await;
    let id = desk.start(task).await;
    desk.until(id, "it is published", |row| row.state == ReviewState::Published).await;
    desk.repo.commit("fix: more", &[("src/more.rs", Some(b"// more\n"))]);
    let moved = Instant::now();
    desk.until(id, "it is stale", |row| row.stale_reason.is_some()).await;
    assert!(moved.elapsed() < Duration::from_secs(10), "{:?}", moved.elapsed());
    assert!(desk.inbox().await.is_empty());
    runtime.stop().await;
}

#[tokio::test]
async fn a_held_review_is_judged_again_when_something_is_attached() {
    needs_boundary!();
    let desk = Desk::new();
    let (runtime, _) = host(&desk).await;
    let task = desk.task().await;
    task::attach_handoff(&desk.ctx, task, r#"{"peer":"ada","status":"running"}"#).await.expect("attached");
    let id = desk.start(task).await;
    desk.until(id, "it is held", |row| row.state == ReviewState::Held).await;
    task::attach_handoff(&desk.ctx, task, r#"{"peer":"ada","status":"done"}"#).await.expect("attached");
    desk.until(id, "it is published", |row| row.state == ReviewState::Published).await;
    runtime.stop().await;
}

#[tokio::test]
async fn a_pause_stops_the_seat_within_a_second_and_holds_back_what_is_queued() {
    needs_boundary!();
    let desk = Desk::new();
    desk.reviewer("echo '{\"type\":\"progress\",\"text\":\"thinking\"}'\nsleep 600\n");
    let (runtime, _) = host(&desk).await;
    let task = desk.task().await;
    let id = desk.start(task).await;
    desk.until(id, "it thinks", |row| row.phase.as_deref() == Some("thinking")).await;
    let asked = Instant::now();
    pause::pause(&desk.ctx, "a meeting").await.expect("paused");
    let row = desk.until(id, "it is stopped", |row| row.state == ReviewState::Ended).await;
    assert!(asked.elapsed() < Duration::from_secs(5), "on a busy machine: {:?}", asked.elapsed());
    assert_eq!(row.reason, Some(EndReason::Cancelled));
    assert!(row.reason_detail.is_some_and(|detail| detail.contains("a meeting")));
    runtime.stop().await;
    // It survives a restart.
    assert!(desk.ctx.store.read(pause::current).await.expect("read").is_some());
}

#[tokio::test]
async fn a_cancel_and_a_switch_off_reach_the_running_seat() {
    needs_boundary!();
    let desk = Desk::new();
    desk.reviewer("echo '{\"type\":\"progress\",\"text\":\"thinking\"}'\nsleep 600\n");
    let (runtime, _) = host(&desk).await;
    let task = desk.task().await;
    let first = desk.start(task).await;
    desk.until(first, "it thinks", |row| row.phase.as_deref() == Some("thinking")).await;
    review::cancel(&desk.ctx, first).await.expect("asked");
    let row = desk.until(first, "it is cancelled", |row| row.state == ReviewState::Ended).await;
    assert_eq!(row.reason, Some(EndReason::Cancelled));
    let second = desk.start(task).await;
    desk.until(second, "it thinks", |row| row.phase.as_deref() == Some("thinking")).await;
    desk.config("workspaces: [{title: app, path: ROOT/app}]\nreview: {enabled: false}\n");
    let row = desk.until(second, "it is switched off", |row| row.state == ReviewState::Ended).await;
    assert!(row.reason_detail.is_some_and(|detail| detail.contains("switched off")));
    runtime.stop().await;
}

#[tokio::test]
async fn finished_and_pushed_work_of_a_listed_workspace_is_reviewed_by_itself() {
    needs_boundary!();
    let desk = Desk::new();
    let remote = desk.root.join("remote.git");
    desk.repo.git(&["init", "--quiet", "--bare", &remote.to_string_lossy()]);
    desk.repo.remote("origin", &remote.to_string_lossy());
    desk.repo.git(&["push", "--quiet", "origin", "main"]);
    desk.review_keys("autoReview: [app]");
    let (runtime, _) = host(&desk).await;
    let task = desk.task().await;
    task::finish(&desk.ctx, task, RunState::Done).await.expect("finished");
    tokio::time::sleep(Duration::from_secs(2)).await;
    let none = desk.ctx.store.read(move |tx| reviews::newest(tx, task)).await.expect("read");
    assert!(none.is_none(), "not pushed yet");
    desk.repo.git(&["push", "--quiet", "origin", "fix"]);
    desk.clock.forward(chrono::Duration::seconds(61));
    eventually("a review began", async || {
        desk.ctx.store.read(move |tx| reviews::newest(tx, task)).await.expect("read").is_some()
    })
    .await;
    runtime.stop().await;
}

#[tokio::test]
async fn a_command_hosts_a_runtime_for_its_one_review() {
    needs_boundary!();
    let desk = Desk::new();
    let task = desk.task().await;
    let id = desk.start(task).await;
    let mut states = Vec::new();
    let row = supervisor::run_one(&desk.ctx, id, |row| {
        if states.last() != Some(&row.state) {
            states.push(row.state);
        }
    })
    .await
    .expect("run");
    assert_eq!(row.verdict, Some(Verdict::Accepted));
    assert_eq!(states.last(), Some(&ReviewState::Published));
    assert_eq!(desk.notices(id).await, (1, 0), "whoever waited has seen it");
}

#[tokio::test]
async fn a_full_disk_loses_nothing_and_the_review_goes_on_when_there_is_room() {
    needs_boundary!();
    let desk = Desk::with(OpenOptions { max_pages: Some(400), ..OpenOptions::default() });
    let task = desk.task().await;
    let id = desk.start(task).await;
    // Fills the database to its last page.
    let filled = loop {
        let text = "x".repeat(60_000);
        let written = desk
            .ctx
            .store
            .write(steward_core::store::Durability::Normal, move |tx| {
                steward_core::store::steps::add(tx, id, "note", &text)
            })
            .await;
        if let Err(error) = written {
            break error;
        }
    };
    assert!(matches!(filled, StoreError::DiskFull), "{filled}");
    let row = desk.row(id).await;
    assert_eq!(row.state, ReviewState::Queued, "what was acknowledged stands");
    // The same file, with room again.
    let store = Store::open(&desk.home, desk.clock.clone()).expect("opened");
    let (home, clock, config) = (desk.home.clone(), desk.clock.clone(), desk.ctx.config.clone());
    let ctx = Ctx::new(home, store, clock, config, desk.ctx.steward.clone());
    let row = supervisor::run_one(&ctx, id, |_| {}).await.expect("run");
    assert_eq!(row.state, ReviewState::Published);
}

// What follows kills a real process of the runtime, started from this very test binary.

const CHILD: &str = "STEWARD_TEST_RUNTIME";

fn context(home: &Home) -> Ctx {
    let clock = Arc::new(SystemClock);
    let store = Store::open(home, clock.clone()).expect("the store");
    let watch = ConfigWatch::watch(home, None).expect("the config");
    Ctx::new(home.clone(), store, clock, Arc::new(watch), PathBuf::from("/nonexistent/steward"))
        .with_keychain(Keychain::with_environment(Some("made-up-credential".to_owned().into())))
}

/// The child: hosts a runtime until it is killed, and prints each notification it shows.
#[test]
fn child_runtime() {
    struct Printed;
    impl NoticeSink for Printed {
        fn show(&self, notice: &NoticeRow) -> Result<(), String> {
            println!("shown {}", notice.key);
            Ok(())
        }
    }
    let Some(root) = std::env::var_os(CHILD) else { return };
    let runtime = tokio::runtime::Runtime::new().expect("tokio");
    runtime.block_on(async {
        let ctx = context(&Home::under(Path::new(&root)));
        let _hosted = Runtime::start(ctx, HolderKind::Serve, Arc::new(Printed)).await.expect("hosted");
        println!("hosting");
        std::future::pending::<()>().await;
    });
}

fn spawn(home: &Home, fail: Option<&str>) -> Running {
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command
        .args(["faults::child_runtime", "--exact", "--nocapture"])
        .env(CHILD, home.data_dir())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    if let Some(step) = fail {
        command.env("STEWARD_FAIL", step);
    }
    Running::start(&mut command)
}

fn shown_by(child: &mut Running) -> usize {
    let out = child.stdout.take().expect("piped");
    BufReader::new(out).lines().map_while(Result::ok).filter(|line| line.contains("shown ")).count()
}

/// Lets a runtime die at a step, starts another, and says how often the verdict was shown.
async fn dies_at(desk: &Desk, id: ReviewId, step: &str) -> usize {
    let mut first = spawn(&desk.home, Some(step));
    let deadline = Instant::now() + Duration::from_secs(40);
    let status = loop {
        if let Some(status) = first.try_wait().expect("waited") {
            break status;
        }
        if Instant::now() > deadline {
            first.kill().expect("killed");
            panic!("{step} was never reached: {:?}", desk.row(id).await);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(status.signal(), Some(9), "{step}: it ended otherwise");
    let before = shown_by(&mut first);
    let mut second = spawn(&desk.home, None);
    let row = desk
        .until(id, "it is over", |row| matches!(row.state, ReviewState::Published | ReviewState::Ended))
        .await;
    if row.state == ReviewState::Published {
        let done = async || desk.notices(id).await.1 == 0;
        eventually("it is shown", done).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    second.kill().expect("killed");
    second.wait().expect("reaped");
    before + shown_by(&mut second)
}

#[tokio::test]
async fn a_runtime_killed_at_any_step_loses_nothing_and_says_nothing_twice() {
    needs_boundary!();
    for (step, ends) in [
        ("digesting", ReviewState::Published),
        ("exported", ReviewState::Published),
        ("digested", ReviewState::Published),
        ("running", ReviewState::Ended),
        ("ran", ReviewState::Ended),
        ("submitting", ReviewState::Ended),
        ("submitted", ReviewState::Published),
        ("publishing", ReviewState::Published),
        ("settled", ReviewState::Published),
        ("notice", ReviewState::Published),
    ] {
        let desk = Desk::new();
        let task = desk.task().await;
        let id = desk.start(task).await;
        let shown = dies_at(&desk, id, step).await;
        let row = desk.row(id).await;
        assert_eq!(row.state, ends, "{step}: {row:?}");
        match ends {
            ReviewState::Published => {
                assert_eq!((row.verdict, desk.inbox().await.len()), (Some(Verdict::Accepted), 1), "{step}");
                assert_eq!(desk.notices(id).await.0, 1, "{step}: one notification is written");
                assert!(shown <= 1, "{step}: shown {shown} times");
            }
            _ => {
                assert_eq!(row.reason, Some(EndReason::Crashed), "{step}");
                let inbox = desk.inbox().await;
                assert_eq!(inbox.len(), 1, "{step}: a review that ended is told of once");
                assert_eq!((inbox[0].chip.as_str(), inbox[0].source.contains("crashed")), ("BLOCKED", true));
                assert_eq!(desk.notices(id).await.0, 1, "{step}: one notification is written");
                assert!(shown <= 1, "{step}: shown {shown} times");
                desk.reviewer(&hand_in(ACCEPTED));
                let again = desk.review(task).await;
                assert_eq!(again.state, ReviewState::Published, "{step}: it may be repeated by hand");
                let targets: Vec<_> = desk.inbox().await.into_iter().map(|entry| entry.target).collect();
                assert_eq!(targets, [format!("review/{}", again.id)], "{step}: the verdict replaces the end");
            }
        }
        let left = std::fs::read_dir(desk.home.seat_runs().join(id.to_string()).join("scratch"));
        assert!(left.is_err(), "{step}: the seat's scratch folder is left over");
    }
}

#[tokio::test]
async fn held_reviews_go_on_after_a_restart() {
    needs_boundary!();
    let desk = Desk::new();
    let task = desk.task().await;
    task::attach_handoff(&desk.ctx, task, r#"{"peer":"ada","status":"running"}"#).await.expect("attached");
    let held = desk.review(task).await;
    let (runtime, _) = host(&desk).await;
    assert_eq!(desk.row(held.id).await.state, ReviewState::Held);
    task::attach_handoff(&desk.ctx, task, r#"{"peer":"ada","status":"done"}"#).await.expect("attached");
    desk.until(held.id, "it is published", |row| row.state == ReviewState::Published).await;
    runtime.stop().await;
}
