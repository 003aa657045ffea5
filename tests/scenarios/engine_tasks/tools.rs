//! The repository's own tools: pinned, bounded, without a shell, and nothing of them left. And whether the
//! automation that comes first is busy.

use std::fs::File;
use std::time::{Duration, Instant};

use steward_core::loops::engine::priority::busy;
use steward_core::loops::engine::validating::{HeavyLock, NoTools, Tools};
use steward_core::sandbox::Boundary;
use steward_kit::binary;
use steward_rules::engine::policy::{Priority, ValidatePolicy};
use steward_rules::reading::Reading;
use tokio_util::sync::CancellationToken;

use super::stage::{Stage, hash};

fn boundaries() -> Vec<Boundary> {
    let chosen = Boundary::choose(&binary::steward());
    vec![chosen, Boundary::None { reason: "none here".to_owned() }]
}

async fn find(stage: &Stage, policy: &ValidatePolicy) -> Result<Tools, NoTools> {
    let boundary = Boundary::choose(&binary::steward());
    Tools::find(Some(policy), &stage.steward_home(), &boundary, &CancellationToken::new()).await
}

fn policy(check: &std::path::Path, pin: Option<&str>) -> ValidatePolicy {
    ValidatePolicy {
        format: Vec::new(),
        check: vec![check.to_string_lossy().into_owned()],
        pin: pin.map(str::to_owned),
        timeout_secs: 60,
        heavy: false,
    }
}

#[tokio::test]
async fn a_tool_is_the_program_that_was_pinned_or_none() {
    let stage = Stage::new();
    let check = stage
        .program("check", "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'check v1.2.3 (a tool)'; fi\n");
    let right = hash(&check);
    let wrong = "0".repeat(64);
    for (pin, is_found) in [
        (Some(right.as_str()), true),
        (Some(&format!("sha256:{}", right.to_uppercase()) as &str), true),
        (Some("1.2.3"), true),
        (Some("v1.2.3"), true),
        (Some(&format!("{wrong}, {right}") as &str), true),
        (Some("1.2"), false),
        (Some("1.2.30"), false),
        (Some("tool"), true),
        (Some(wrong.as_str()), false),
        (Some(""), false),
        (None, false),
    ] {
        let found = find(&stage, &policy(&check, pin)).await;
        assert_eq!(found.is_ok(), is_found, "{pin:?}: {found:?}");
    }
    let found = find(&stage, &policy(&check, None)).await;
    assert!(matches!(found, Err(NoTools::NoPin(_))), "{found:?}");
    for program in ["/nowhere/check", "tools/check.sh", "./check", "", "no-such-program-anywhere"] {
        let found = find(&stage, &policy(program.as_ref(), Some(&right))).await;
        assert!(matches!(found, Err(NoTools::Missing(_))), "{program}: {found:?}");
    }
    let none = ValidatePolicy { check: Vec::new(), ..policy(&check, Some(&right)) };
    assert!(matches!(find(&stage, &none).await, Err(NoTools::None)));
    std::fs::write(&check, "#!/bin/sh\ntrue\n").unwrap();
    let found = find(&stage, &policy(&check, Some(&right))).await;
    assert!(matches!(found, Err(NoTools::WrongPin(_))), "the program was replaced: {found:?}");
}

async fn run(stage: &Stage, boundary: &Boundary, script: &str, secs: u32) -> (Option<i32>, String, Duration) {
    let check = stage.program("check", script);
    let policy = ValidatePolicy { timeout_secs: secs, ..policy(&check, Some(&hash(&check))) };
    let stop = CancellationToken::new();
    let tools = Tools::find(Some(&policy), &stage.steward_home(), boundary, &stop).await.unwrap();
    let folder = stage.home.outside("tree");
    std::fs::create_dir_all(&folder).unwrap();
    let begun = Instant::now();
    let ran = tools.check(&folder, &stop).await.unwrap();
    (ran.end.exit, ran.said, begun.elapsed())
}

#[tokio::test]
async fn a_tool_inherits_nothing_is_bounded_and_leaves_nothing_running() {
    for boundary in boundaries() {
        let stage = Stage::new();
        let (exit, said, _) = run(&stage, &boundary, "#!/bin/sh\nenv\nexit 7\n", 60).await;
        assert_eq!(exit, Some(7), "{said}");
        let names: Vec<&str> =
            said.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
        for name in &names {
            assert!(
                ["PATH", "HOME", "TMPDIR", "LANG", "TERM", "PWD", "SHLVL", "_", "OLDPWD"].contains(name),
                "{name}"
            );
        }
        let word = format!("{}7", std::process::id());
        let lingers = format!("#!/bin/sh\nsetsid sleep 86400.{word} &\nsleep 86400.{word}\n");
        let (exit, _, took) = run(&stage, &boundary, &lingers, 1).await;
        assert_eq!(exit, None, "its time ran out");
        assert!(took < Duration::from_secs(8), "{took:?}");
        let garbage = "#!/bin/sh\nwhile :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done\n";
        let (exit, said, took) = run(&stage, &boundary, garbage, 60).await;
        assert_eq!(exit, None);
        assert!(said.len() < 10_000 && took < Duration::from_secs(50), "{took:?}");
        let leaves = format!("#!/bin/sh\nsetsid sleep 86400.{word} >/dev/null 2>&1 &\nexit 0\n");
        if matches!(boundary, Boundary::Bubblewrap { .. }) {
            let (exit, ..) = run(&stage, &boundary, &leaves, 60).await;
            assert_eq!(exit, Some(0));
        }
        assert!(!runs(&format!("86400.{word}")), "a process of the tool lives on ({})", boundary.name());
    }
}

/// True while a process has this word in its command line.
fn runs(word: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        std::fs::read(entry.path().join("cmdline"))
            .is_ok_and(|line| line.split(|byte| *byte == 0).any(|part| part == word.as_bytes()))
    })
}

#[tokio::test]
async fn behind_bubblewrap_a_tool_writes_its_folder_alone_and_sees_no_secret_of_ours() {
    let boundary = Boundary::choose(&binary::steward());
    if !matches!(boundary, Boundary::Bubblewrap { .. }) {
        eprintln!("skipped: no bubblewrap");
        return;
    }
    let stage = Stage::new();
    let home = stage.steward_home();
    stage.home.write_config("# canary\n");
    let outside = stage.home.outside("outside");
    std::fs::create_dir_all(&outside).unwrap();
    let script = format!(
        "#!/bin/sh\necho ok > inside\necho no > {out}/no 2>/dev/null\ncat {config} 2>/dev/null\n\
         ls {data} | grep -v tree\nexec 3<>/dev/tcp/127.0.0.1/1 2>/dev/null\nexit 0\n",
        out = outside.display(),
        config = home.config_file().display(),
        data = home.clones().display(),
    );
    let (exit, said, _) = run(&stage, &boundary, &script, 60).await;
    assert!(matches!(exit, Some(0 | 2)), "{exit:?} {said}");
    assert!(!said.contains("canary"), "{said}");
    assert!(stage.home.outside("tree/inside").is_file());
    assert!(!outside.join("no").exists());
}

#[tokio::test]
async fn one_heavy_tool_runs_at_a_time_and_a_stop_ends_the_wait() {
    let stage = Stage::new();
    let home = stage.steward_home();
    let policy = stage.policy("#!/bin/sh\ntrue\n", "#!/bin/sh\ntrue\n");
    let tools = stage.tools(&policy).await;
    let held = HeavyLock::try_take(&home).unwrap().expect("it is free");
    assert!(HeavyLock::try_take(&home).unwrap().is_none());
    let stop = CancellationToken::new();
    let folder = stage.home.outside("tree");
    std::fs::create_dir_all(&folder).unwrap();
    let waiting = tokio::spawn({
        let (tools, folder, stop) = (tools.clone(), folder.clone(), stop.clone());
        async move { tools.check(&folder, &stop).await }
    });
    stop.cancel();
    assert!(waiting.await.unwrap().is_err(), "it waited for the lock and was stopped");
    drop(held);
    let ran = tools.check(&folder, &CancellationToken::new()).await.unwrap();
    assert_eq!(ran.end.exit, Some(0));
}

#[tokio::test]
async fn the_automation_that_comes_first_is_asked_by_its_lock_or_its_command() {
    let stage = Stage::new();
    let path = stage.home.outside("sync.lock");
    let lock = Priority::LockFile(path.to_string_lossy().into_owned());
    assert_eq!(busy(None).await, Reading::known(false));
    assert_eq!(busy(Some(&lock)).await, Reading::known(false), "no such file");
    let file = File::create(&path).unwrap();
    assert_eq!(busy(Some(&lock)).await, Reading::known(false));
    file.lock().unwrap();
    assert_eq!(busy(Some(&lock)).await, Reading::known(true));
    file.unlock().unwrap();
    assert_eq!(busy(Some(&lock)).await, Reading::known(false));
    let command = |script: &str| {
        let program = stage.program("status", script);
        Priority::StatusCommand(vec![program.to_string_lossy().into_owned()])
    };
    assert_eq!(busy(Some(&command("#!/bin/sh\nexit 0\n"))).await, Reading::known(true));
    assert_eq!(busy(Some(&command("#!/bin/sh\nexit 3\n"))).await, Reading::known(false));
    for unread in [
        command("#!/bin/sh\nkill -9 $$\n"),
        Priority::StatusCommand(Vec::new()),
        Priority::StatusCommand(vec!["/nowhere/status".to_owned()]),
        Priority::StatusCommand(vec!["status".to_owned()]),
    ] {
        assert!(busy(Some(&unread)).await.get().is_err(), "{unread:?}");
    }
}
