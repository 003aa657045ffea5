//! What ends a task from outside, and what keeps one from starting. None of it spends an attempt.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use steward_core::loops::engine::tasks;
use steward_core::loops::{engine::validating::HeavyLock, pause};
use steward_core::store::Durability;
use steward_core::store::engine_tasks::{self, Ended, Fault, State};
use steward_kit::model::{ScriptedModel, Turn};
use steward_kit::process::Running;
use steward_rules::engine::policy::Priority;
use steward_rules::engine::retry::TaskEnd;
use tokio_util::sync::CancellationToken;

use super::desk::*;
use super::stage::{Stage, sha, works};
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

/// Counts an agent run of today in the repository.
async fn count_one_run(desk: &Desk, base: &steward_rules::ids::Sha) {
    let new = desk.triage(base, &[]);
    let count = move |tx: &steward_core::store::WriteTx<'_>| {
        let id = engine_tasks::queue(tx, &new)?.expect("no other");
        engine_tasks::agent_starts(tx, id)?;
        let ended =
            Ended { end: TaskEnd::Crashed, fault: None, detail: "it was there".to_owned(), result: None };
        engine_tasks::end(tx, id, &ended).map(drop)
    };
    desk.ctx.store.write(Durability::Full, count).await.unwrap();
}

#[tokio::test]
async fn a39_a_rebase_that_the_driver_refuses_rests_until_an_agent_may_take_it_over() {
    for (is_capped, words) in [(true, "day"), (false, "namespaces are forbidden here")] {
        let stage = Stage::new();
        let (head, base) = contradicting(&stage);
        let desk = Desk::with(stage).await;
        if is_capped {
            desk.policy.lock().unwrap().agent.daily_runs = 1;
            count_one_run(&desk, &base).await;
        } else {
            let reason = "namespaces are forbidden here".to_owned();
            desk.ctx.use_boundary(steward_core::sandbox::Boundary::None { reason });
        }
        let id = desk.queue(desk.rebase(&head, &base)).await;
        let refused = |row: &engine_tasks::TaskRow| {
            row.state == State::Queued && row.waits.as_deref().is_some_and(|why| why.contains(words))
        };
        desk.until(id, "why it waits", refused).await;
        // Every start and every put-back says so by a topic: none comes, however often the runner looks.
        let told = desk.ctx.store.last_topic().await.unwrap();
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(7) {
            desk.wake();
            tokio::time::sleep(Duration::from_millis(50)).await;
            assert_eq!(desk.row(id).await.state, State::Queued, "{words}: it is started again");
        }
        assert_eq!(desk.ctx.store.last_topic().await.unwrap(), told, "{words}: it is started again");
        let row = desk.row(id).await;
        assert!(refused(&row) && row.agent_at.is_none(), "{row:?}");
        if is_capped && crate::desk::boundary_is_here() {
            let settle = "sed -i 's/Beta of theirs/Beta of both/' data/works/a.json\n\
                          hand_in '{\"note\":\"Both.\"}'\n";
            desk.script("fixer", settle);
            desk.policy.lock().unwrap().agent.daily_runs = 0;
            desk.wake();
            let row = desk.ended(id).await;
            assert_eq!(row.end, Some(TaskEnd::Pushed), "{:?}", row.detail);
            assert!(row.agent_at.is_some());
        }
    }
}

#[tokio::test]
async fn what_needs_no_agent_is_not_held_up_by_what_waits_for_one() {
    let stage = Stage::new();
    let (refused, base) = contradicting(&stage);
    stage.repo.git(&["checkout", "--quiet", "-b", "intake/issue-8", "main~1"]);
    let mine = works(&[("zeta", "Zeta")]);
    let clean = sha(&stage.repo.commit("zeta", &[("data/works/z.json", Some(&mine))]));
    stage.repo.git(&["checkout", "--quiet", "main"]);
    let desk = Desk::with(stage).await;
    let reason = "namespaces are forbidden here".to_owned();
    desk.ctx.use_boundary(steward_core::sandbox::Boundary::None { reason });
    let waits = |row: &engine_tasks::TaskRow| row.state == State::Queued && row.waits.is_some();
    let first = desk.queue(desk.rebase(&refused, &base)).await;
    desk.until(first, "why it waits", waits).await;
    let mut fix = desk.fix(&refused, &base);
    fix.number = 13;
    let second = desk.queue(fix).await;
    let mut new = desk.rebase(&clean, &base);
    (new.number, new.branch) = (14, "intake/issue-8".to_owned());
    let row = desk.run(new).await;
    assert_eq!((row.end, row.agent_at), (Some(TaskEnd::Pushed), None), "{:?}", row.detail);
    for id in [first, second] {
        assert_eq!(desk.row(id).await.state, State::Queued);
    }
}

#[tokio::test]
async fn a41_a_slow_status_command_holds_up_neither_a_pause_nor_its_own_end() {
    needs_boundary!();
    let stage = Stage::new();
    let (head, base) = broken(&stage);
    let desk = Desk::with(stage).await;
    let (asks, busy) = (format!("5.{}7", std::process::id()), desk.stage.home.outside("busy"));
    let status = format!("#!/bin/sh\nsleep {asks}\ntest -e {}\n", busy.display());
    let program = desk.stage.program("status", &status);
    let command = vec![program.to_string_lossy().into_owned()];
    desk.policy.lock().unwrap().priority = Some(Priority::StatusCommand(command));
    for is_pause in [true, false] {
        let word = format!("86400.{}{}", std::process::id(), if is_pause { 5 } else { 6 });
        desk.script("fixer", &lingering(&word));
        let id = desk.queue(desk.fix(&head, &base)).await;
        let begun = Instant::now();
        while !(runs(&word) && runs(&asks)) {
            assert!(begun.elapsed() < Duration::from_secs(90), "the seat never came to rest");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        if !is_pause {
            std::fs::write(&busy, "").unwrap();
            let row = desk.ended(id).await;
            assert_eq!(row.end, Some(TaskEnd::Preempted), "{:?}", row.detail);
            continue;
        }
        let begun = Instant::now();
        drop(pause::pause(&desk.ctx, "dinner").await.unwrap());
        while runs(&word) {
            assert!(begun.elapsed() < Duration::from_secs(20), "it is not ended");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(1), "{took:?}");
        let row = desk.ended(id).await;
        assert_eq!(row.end, Some(TaskEnd::Killed), "{:?}", row.detail);
        while runs(&asks) {
            assert!(begun.elapsed() < Duration::from_secs(3), "the command outlives the task");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(pause::resume(&desk.ctx).await.unwrap());
    }
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
            Fault::TooLarge | Fault::Uncounted | Fault::Nothing | Fault::Local => {
                unreachable!("none of the configuration")
            }
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

#[tokio::test]
async fn a_no_of_our_own_that_stays_one_is_parked_with_its_reason_and_is_no_failure_of_the_forge() {
    let stage = Stage::new();
    stage.repo.git(&["checkout", "--quiet", "-b", "intake/issue-7"]);
    let head = sha(&stage.repo.commit("zeta", &[("data/works/z.json", Some(&works(&[("zeta", "Zeta")])))]));
    stage.repo.git(&["checkout", "--quiet", "-b", "intake/issue-8", "main"]);
    let odd = sha(&stage.repo.commit("no json", &[("data/works/z.json", Some(b"{\"zeta\": \n"))]));
    stage.repo.git(&["checkout", "--quiet", "main"]);
    // One byte more than a file that is laid out may have.
    let large = vec![0; (64 << 20) + 1];
    let base = sha(&stage.repo.commit("a recording", &[("media/long.bin", Some(&large))]));
    drop(large);
    let desk = Desk::with(stage).await;
    let row = desk.run(desk.rebase(&head, &base)).await;
    assert_eq!((row.end, row.fault), (Some(TaskEnd::NotStarted), Some(Fault::TooLarge)), "{:?}", row.detail);
    assert!(row.detail.is_some_and(|why| why.contains("more than")), "it is said why");
    if !crate::desk::boundary_is_here() {
        return;
    }
    desk.script("fixer", REPAIR);
    let mut new = desk.fix(&odd, &base);
    (new.number, new.branch) = (13, "intake/issue-8".to_owned());
    let row = desk.run(new).await;
    assert_eq!((row.fault, row.agent_at), (Some(Fault::Uncounted), None), "{:?}", row.detail);
    assert!(row.detail.is_some_and(|why| why.contains("cannot be counted")), "it is said why");
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

fn child(home: &std::path::Path, fail: Option<&str>) -> Running {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["engine_tasks::ends::child_runner", "--exact", "--nocapture"])
        .env(CHILD, home)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if let Some(step) = fail {
        command.env("STEWARD_FAIL", step);
    }
    Running::start(&mut command)
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
