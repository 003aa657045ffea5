//! What ends a task from outside, and what keeps one from starting. None of it spends an attempt.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use steward_core::loops::engine::tasks;
use steward_core::loops::{engine::validating::HeavyLock, pause};
use steward_core::store::Durability;
use steward_core::store::engine_tasks::{self, Fault, State};
use steward_kit::model::{ScriptedModel, Turn};
use steward_rules::engine::policy::Priority;
use steward_rules::engine::retry::TaskEnd;
use tokio_util::sync::CancellationToken;

use super::desk::*;
use super::stage::Stage;
use crate::needs_boundary;

const REPAIR: &str = "sed -i s/BROKEN/Delta/ data/works/a.json\nhand_in '{\"note\":\"It is Delta.\"}'\n";

/// A seat that repairs everything and then lingers under this name.
fn lingering(word: &str) -> String {
    format!("{REPAIR}sleep {word}\n")
}

#[tokio::test]
async fn a41_a_pause_the_switch_and_who_comes_first_end_a_task_within_a_second() {
    needs_boundary!();
    let stage = Stage::new();
    let (head, base) = broken(&stage);
    let desk = Desk::with(stage).await;
    let lock = desk.stage.home.outside("sync.lock");
    let file = std::fs::File::create(&lock).unwrap();
    desk.policy.lock().unwrap().priority = Some(Priority::LockFile(lock.to_string_lossy().into_owned()));
    for (number, end) in [(1, TaskEnd::Killed), (2, TaskEnd::Killed), (3, TaskEnd::Preempted)] {
        let word = format!("86400.{}{number}", std::process::id());
        desk.script("fixer", &lingering(&word));
        let id = desk.queue(desk.fix(&head, &base)).await;
        desk.until(id, "its agent", |row| row.agent_at.is_some()).await;
        let begun = Instant::now();
        while !runs(&word) {
            assert!(begun.elapsed() < Duration::from_secs(60), "the seat never came to rest");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let begun = Instant::now();
        match number {
            1 => drop(pause::pause(&desk.ctx, "dinner").await.unwrap()),
            2 => desk.on.store(false, Ordering::SeqCst),
            _ => file.lock().unwrap(),
        }
        while runs(&word) {
            assert!(begun.elapsed() < Duration::from_secs(5), "it is not ended");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(1), "{took:?}");
        let row = desk.ended(id).await;
        assert_eq!((row.end, row.result.as_ref()), (Some(end), None), "{:?}", row.detail);
        assert!(!end.spends());
        assert_eq!(desk.work_refs(), "", "nothing is to be pushed");
        // Meanwhile nothing starts.
        let waiting = desk.queue(desk.fix(&head, &base)).await;
        tokio::time::sleep(Duration::from_millis(1500)).await;
        assert_eq!(desk.row(waiting).await.state, State::Queued, "{number}");
        match number {
            1 => drop(pause::resume(&desk.ctx).await.unwrap()),
            2 => desk.on.store(true, Ordering::SeqCst),
            _ => file.unlock().unwrap(),
        }
        desk.script("fixer", REPAIR);
        desk.wake();
        let row = desk.ended(waiting).await;
        assert_eq!(row.end, Some(TaskEnd::Pushed), "{number}: {:?}", row.detail);
        desk.clone.drop_work(waiting).unwrap();
    }
}

#[tokio::test]
async fn a32_a_usage_limit_pauses_agent_work_until_its_reset() {
    if !has_own_names() {
        return;
    }
    let stage = Stage::new();
    let (head, base) = broken(&stage);
    let desk = Desk::with(stage).await;
    let reset = chrono::Utc::now() + chrono::Duration::hours(3);
    let limit = Turn::error(429)
        .header("anthropic-ratelimit-unified-status", "rejected")
        .header("anthropic-ratelimit-unified-reset", &reset.timestamp().to_string());
    let model =
        ScriptedModel::start(vec![get_task(), read(FILE), edit(FILE, "BROKEN", "Delta"), limit]).await;
    if !desk.claude("fixer", &model) {
        return;
    }
    let row = desk.run(desk.fix(&head, &base)).await;
    assert_eq!((row.end, row.result.as_ref()), (Some(TaskEnd::UsageLimit), None), "{:?}", row.detail);
    assert!(!TaskEnd::UsageLimit.spends());
    let id = desk.queue(desk.fix(&head, &base)).await;
    let row = desk.until(id, "why it waits", |row| row.waits.is_some()).await;
    let shown = reset.format("%H:%M").to_string();
    assert!(row.waits.as_deref().is_some_and(|why| why.contains(&shown)), "{:?} {shown}", row.waits);
    assert_eq!((row.state, desk.work_refs()), (State::Queued, String::new()));
}

#[tokio::test]
async fn a39_without_a_boundary_no_agent_starts_and_it_is_said_why() {
    let stage = Stage::new();
    let (head, base) = broken(&stage);
    let desk = Desk::with(stage).await;
    desk.script("fixer", REPAIR);
    let none = steward_core::sandbox::Boundary::None { reason: "namespaces are forbidden here".to_owned() };
    desk.ctx.use_boundary(none);
    let id = desk.queue(desk.fix(&head, &base)).await;
    let row = desk.until(id, "why it waits", |row| row.waits.is_some()).await;
    assert!(row.waits.as_deref().is_some_and(|why| why.contains("namespaces are forbidden here")), "{row:?}");
    assert_eq!((row.state, row.agent_at), (State::Queued, None));
}

#[tokio::test]
async fn memory_the_heavy_lock_and_the_cap_of_a_day_keep_a_task_waiting() {
    needs_boundary!();
    let stage = Stage::new();
    let (head, base) = broken(&stage);
    let desk = Desk::with(stage).await;
    desk.script("fixer", REPAIR);
    let set = |mb: u32, runs: u32| {
        let mut policy = desk.policy.lock().unwrap();
        (policy.agent.min_available_mb, policy.agent.daily_runs) = (mb, runs);
    };
    set(u32::MAX, 1);
    let id = desk.queue(desk.fix(&head, &base)).await;
    let waits = |words: &'static str| {
        move |row: &engine_tasks::TaskRow| row.waits.as_deref().is_some_and(|why| why.contains(words))
    };
    desk.until(id, "memory", waits("MB")).await;
    let held = HeavyLock::try_take(&desk.ctx.home).unwrap().expect("it is free");
    set(1, 1);
    desk.wake();
    desk.until(id, "the lock", waits("heavy tool")).await;
    drop(held);
    desk.wake();
    let row = desk.ended(id).await;
    assert_eq!(row.end, Some(TaskEnd::Pushed), "{:?}", row.detail);
    let id = desk.queue(desk.fix(&head, &base)).await;
    desk.until(id, "the cap", waits("day")).await;
    set(1, 0);
    desk.wake();
    assert_eq!(desk.ended(id).await.end, Some(TaskEnd::Pushed));
}

#[tokio::test]
async fn a_fault_of_the_configuration_starts_nothing_and_has_its_name() {
    let stage = Stage::new();
    let (head, base) = broken(&stage);
    let desk = Desk::with(stage).await;
    desk.script("fixer", REPAIR);
    let good = desk.policy.lock().unwrap().clone();
    let boundary = crate::desk::boundary_is_here();
    for (name, fault) in [
        ("no identity", Fault::NoIdentity),
        ("no validator", Fault::NoValidator),
        ("wrong pin", Fault::Pin),
        ("branch", Fault::Branch),
        ("no seat", Fault::NoSeat),
        ("no safe path", Fault::NoSafePath),
    ] {
        if !boundary {
            return;
        }
        let mut policy = good.clone();
        let mut new = desk.fix(&head, &base);
        match fault {
            Fault::NoIdentity => desk.stage.home.write_config("engine: {enabled: true}\n"),
            Fault::NoValidator => policy.validate = None,
            Fault::Pin => policy.validate.as_mut().unwrap().pin = Some("0.0.1".to_owned()),
            Fault::Branch => new.branch = "feature/x".to_owned(),
            Fault::NoSeat => std::fs::remove_file(desk.ctx.home.seat_file("fixer")).unwrap(),
            Fault::NoSafePath => policy.safe_paths.clear(),
        }
        *desk.policy.lock().unwrap() = policy;
        let row = desk.run(new).await;
        assert_eq!(
            (row.end, row.fault),
            (Some(TaskEnd::NotStarted), Some(fault)),
            "{name}: {:?}",
            row.detail
        );
        assert!(row.detail.is_some_and(|why| !why.is_empty()), "{name}");
        desk.stage.home.write_config("commit: {name: Octo Steward, email: steward@example.org}\n");
        desk.script("fixer", REPAIR);
    }
}

const CHILD: &str = "STEWARD_TEST_TASKS";

/// The child: runs tasks until it is killed.
#[test]
fn child_runner() {
    let Some(root) = std::env::var_os(CHILD) else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let ctx = context(&PathBuf::from(&root));
        let policy = std::fs::read_to_string(PathBuf::from(&root).join("policy.json")).unwrap();
        let policy = Arc::new(Mutex::new(serde_json::from_str(&policy).unwrap()));
        let given = given(policy, Arc::new(AtomicBool::new(true)));
        tasks::recover(&ctx).await.unwrap();
        let (_topics, heard) = tokio::sync::watch::channel(0);
        tasks::run(ctx, CancellationToken::new(), heard, given, |_| {}).await;
    });
}

fn child(home: &std::path::Path, fail: Option<&str>) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["engine_tasks::ends::child_runner", "--exact", "--nocapture"])
        .env(CHILD, home)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if let Some(step) = fail {
        command.env("STEWARD_FAIL", step);
    }
    command.spawn().unwrap()
}

#[tokio::test]
async fn a_runtime_that_is_killed_leaves_nothing_running_and_its_task_starts_anew() {
    needs_boundary!();
    for step in ["lingering", "task_running", "task_ran", "task_verified", "task_ended"] {
        let stage = Stage::new();
        let (head, base) = broken(&stage);
        let mut desk = Desk::with(stage).await;
        desk.close().await;
        let word = format!("86400.{}9", std::process::id());
        desk.script("fixer", &if step == "lingering" { lingering(&word) } else { REPAIR.to_owned() });
        let text = serde_json::to_string(&*desk.policy.lock().unwrap()).unwrap();
        std::fs::write(desk.stage.home.path().join("policy.json"), text).unwrap();
        let id = desk.queue(desk.fix(&head, &base)).await;
        let mut first = child(&desk.stage.home.path(), Some(step).filter(|step| *step != "lingering"));
        let begun = Instant::now();
        loop {
            assert!(begun.elapsed() < Duration::from_secs(90), "{step}: {:?}", desk.row(id).await);
            if step == "lingering" && runs(&word) {
                first.kill().unwrap();
            }
            if first.try_wait().unwrap().is_some() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(desk.row(id).await.state, State::Running, "{step}");
        let begun = Instant::now();
        while runs(&word) {
            assert!(begun.elapsed() < Duration::from_secs(3), "{step}: the seat outlived its runtime");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        desk.script("fixer", REPAIR);
        let mut second = child(&desk.stage.home.path(), None);
        let row = desk.ended(id).await;
        second.kill().unwrap();
        second.wait().unwrap();
        assert_eq!(row.end, Some(TaskEnd::Pushed), "{step}: {:?}", row.detail);
        let rows = desk
            .ctx
            .store
            .write(Durability::Normal, move |tx| {
                engine_tasks::of_item(tx, row.repository, row.kind, row.number)
            })
            .await
            .unwrap();
        assert_eq!(rows.len(), 1, "{step}: one task, and nothing of it is spent twice");
    }
}
