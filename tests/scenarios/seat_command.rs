//! A shell script as a reviewer: the small contract kept, and every way to break it.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use steward_core::agent::{
    AgentChoice, BudgetKind, CommandNetwork, Endpoint, Place, Progress, SeatEnd, SeatOutcome, TimeoutKind,
    probe, run,
};
use steward_kit::model::{ScriptedModel, Turn};

use crate::seat::{Stage, boundary, changes};

/// Hands in CHANGES as the contract says.
fn hand_in() -> String {
    format!(
        "hash=$(sha256sum < \"$STEWARD_DIGEST\" | cut -d' ' -f1); \
         printf '{{\"digestHash\":\"%s\",\"submission\":%s}}' \"$hash\" '{}' > \"$STEWARD_SUBMISSION\"",
        changes()
    )
}

async fn play(stage: &Stage, script: &str) -> Option<(SeatOutcome, Vec<Progress>)> {
    let wall = boundary()?;
    let program = stage.path().join("reviewer");
    std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("script");
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("mode");
    let choice = AgentChoice::Command { program, args: vec![], network: CommandNetwork::None };
    let adapter = probe(&choice, &wall).await.confinable.expect("a command");
    let (seat, mut heard) = stage.seat(adapter, &wall, Endpoint::Default);
    let outcome = run(seat).await;
    assert!(outcome.kill.is_clean(), "{:?}", outcome.kill);
    let mut progress = Vec::new();
    while let Ok(one) = heard.try_recv() {
        progress.push(one);
    }
    Some((outcome, progress))
}

fn crash(outcome: &SeatOutcome) -> (&str, &str) {
    match &outcome.end {
        SeatEnd::Crashed { reason, stderr } => (reason, stderr),
        other => panic!("a crash: {other:?}"),
    }
}

#[tokio::test]
async fn a_command_that_keeps_the_contract_is_a_reviewer() {
    let stage = Stage::new();
    let script = format!(
        r#"test -f "$STEWARD_TREE/src/lib.rs" || exit 9
echo '{{"type":"progress","text":"looking"}}'
echo '{{"type":"tool","name":"read","subject":"src/lib.rs"}}'
echo '{{"type":"read","path":"src/lib.rs","first":1,"last":3}}'
echo '{{"type":"usage","usd":0.25,"tokens":1200,"turns":3}}'
echo '{{"type":"something new","x":[1]}}'
{}"#,
        hand_in()
    );
    let Some((outcome, progress)) = play(&stage, &script).await else { return };
    let SeatEnd::Submitted { submission } = &outcome.end else { panic!("{:?}", outcome.end) };
    assert_eq!(serde_json::from_slice::<Value>(submission).expect("json"), changes());
    assert_eq!((outcome.usage.usd, outcome.usage.tokens, outcome.usage.turns), (Some(0.25), 1200, 3));
    assert_eq!((outcome.reads[0].place, outcome.reads[0].last), (Place::Tree, 3));
    assert!(progress.contains(&Progress::Note { text: "looking".into() }));
    assert!(progress.iter().any(|one| matches!(one, Progress::Tool { name, .. } if name == "read")));
}

#[tokio::test]
async fn the_environment_holds_the_contract_and_nothing_of_the_person() {
    let stage = Stage::new();
    let Some((outcome, _)) = play(&stage, "env | cut -d= -f1 | sort | tr '\\n' ' ' >&2; exit 7").await else {
        return;
    };
    let (reason, stderr) = crash(&outcome);
    assert_eq!(reason, "exit code 7");
    let shell = ["PWD", "OLDPWD", "SHLVL", "_"];
    let names: Vec<&str> = stderr.split_whitespace().filter(|name| !shell.contains(name)).collect();
    assert_eq!(
        names,
        [
            "HOME",
            "LANG",
            "PATH",
            "STEWARD_BASE",
            "STEWARD_CREDENTIAL",
            "STEWARD_DIGEST",
            "STEWARD_FRAMES",
            "STEWARD_MODEL",
            "STEWARD_SEAT",
            "STEWARD_SUBMISSION",
            "STEWARD_TREE",
            "TERM",
            "TMPDIR",
        ]
    );
}

#[tokio::test]
async fn ends_that_are_no_verdict_are_crashes_with_their_reason() {
    let good = hand_in();
    let cases: Vec<(String, &str)> = vec![
        ("exit 0".into(), "no verdict was submitted"),
        (format!("{good}; exit 1"), "exit code 1"),
        (format!("{good}; kill -9 $$"), "exit code 137"),
        (format!("{good}; echo '{{\"type\":\"error\",\"text\":\"model refused\"}}'"), "it reported: model refused"),
        ("echo '{}' > \"$STEWARD_SUBMISSION\"".into(), "not the agreed JSON"),
        ("echo 'ACCEPTED' > \"$STEWARD_SUBMISSION\"".into(), "not the agreed JSON"),
        ("ln -s /etc/passwd \"$STEWARD_SUBMISSION\"".into(), "cannot be opened"),
        ("ln -s \"$STEWARD_DIGEST\" \"$STEWARD_SUBMISSION\"".into(), "cannot be opened"),
        ("mkfifo \"$STEWARD_SUBMISSION\"".into(), "not a regular file"),
        ("mkdir \"$STEWARD_SUBMISSION\"".into(), "not a regular file"),
        ("head -c 3000000 /dev/zero > \"$STEWARD_SUBMISSION\"".into(), "at most"),
        (
            "echo '{\"digestHash\":\"00\",\"submission\":{\"verdict\":\"ACCEPTED\",\"summary\":\"\"}}' > \"$STEWARD_SUBMISSION\"".into(),
            "about another digest",
        ),
        (good.replace("\"line\":2", "\"line\":0"), "findings[0].line"),
    ];
    for (script, expected) in cases {
        let stage = Stage::new();
        let Some((outcome, _)) = play(&stage, &script).await else { return };
        let (reason, _) = crash(&outcome);
        assert!(reason.contains(expected), "{script}: {reason}");
    }
}

#[tokio::test]
async fn garbage_of_every_kind_neither_ends_a_run_nor_makes_it_a_success() {
    let stage = Stage::new();
    let garbage = "printf '\\033[31mred\\033[0m\\n\\000\\000\\n\\377\\376\\n{\\n[1,2\\n{\"type\":7}\\nnull\\n\"x\"\\n'; \
        head -c 200000 /dev/urandom; echo; head -c 6000000 /dev/zero; echo";
    let Some((outcome, _)) = play(&stage, &format!("{garbage}; {}", hand_in())).await else { return };
    assert!(matches!(outcome.end, SeatEnd::Submitted { .. }), "{:?}", outcome.end);
    let stage = Stage::new();
    let Some((outcome, _)) = play(&stage, garbage).await else { return };
    assert_eq!(crash(&outcome).0, "no verdict was submitted");
}

/// Memory of our own: pages of the program's file, read in as it first runs them, are no growth.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("statm");
    let pages = |at| statm.split(' ').nth(at).and_then(|pages| pages.parse::<u64>().ok()).expect("pages");
    (pages(1) - pages(2)) * 4096
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_gigabyte_of_output_does_not_grow_memory() {
    for (script, limit) in [
        ("head -c 1073741824 /dev/zero", u64::MAX),
        ("head -c 1073741824 /dev/zero >&2", u64::MAX),
        (
            "yes \"{\\\"type\\\":\\\"x\\\",\\\"pad\\\":\\\"$(printf '%01000d' 0)\\\"}\" | head -c 1073741824",
            256 << 20,
        ),
    ] {
        let mut stage = Stage::new();
        stage.limits.output_bytes = limit;
        let before = resident();
        let Some((outcome, _)) = play(&stage, script).await else { return };
        let grown = resident().saturating_sub(before);
        assert!(grown <= 16 << 20, "{script}: {grown} bytes");
        let expected =
            if limit == u64::MAX { "no verdict was submitted" } else { "it printed more than it may" };
        assert_eq!(crash(&outcome).0, expected, "{script}");
    }
}

#[tokio::test]
async fn hanging_forking_and_ignoring_agents_are_ended_and_gone() {
    let family = "setsid sh -c 'trap \"\" TERM; sleep 300 & setsid sleep 300 & wait' & ";
    for script in [
        "sleep 300".to_owned(),
        "exec >/dev/null 2>&1; sleep 300".to_owned(),
        "trap '' TERM INT HUP; while :; do sleep 1; done".to_owned(),
        format!("{family} wait"),
        format!("{family} trap '' TERM; wait; sleep 300"),
    ] {
        let mut stage = Stage::new();
        stage.limits.idle = Duration::from_millis(700);
        let start = Instant::now();
        let Some((outcome, _)) = play(&stage, &script).await else { return };
        assert_eq!(outcome.end, SeatEnd::Timeout { which: TimeoutKind::Idle }, "{script}");
        assert!(outcome.kill.found >= 2 && outcome.kill.is_clean(), "{script}: {:?}", outcome.kill);
        assert!(start.elapsed() < Duration::from_secs(6), "{script}: {:?}", start.elapsed());
    }
}

#[tokio::test]
async fn a_daemon_left_behind_is_ended_and_the_verdict_stands() {
    let stage = Stage::new();
    let script = format!("setsid sh -c 'setsid sleep 300 &' ; {}", hand_in());
    let Some((outcome, _)) = play(&stage, &script).await else { return };
    assert!(matches!(outcome.end, SeatEnd::Submitted { .. }), "{:?}", outcome.end);
    assert!(outcome.kill.is_clean());
}

#[tokio::test]
async fn its_own_figures_end_a_run_over_budget() {
    for (line, which) in [
        (json!({"type": "usage", "usd": 9.0}), BudgetKind::Usd),
        (json!({"type": "usage", "tokens": 9_000_000}), BudgetKind::Tokens),
        (json!({"type": "usage", "turns": 900}), BudgetKind::Turns),
    ] {
        let stage = Stage::new();
        let Some((outcome, _)) = play(&stage, &format!("echo '{line}'; sleep 300")).await else { return };
        assert_eq!(outcome.end, SeatEnd::Budget { which }, "{line}");
    }
}

#[tokio::test]
async fn a_command_writes_nowhere_but_the_inbox() {
    let stage = Stage::new();
    let script = format!(
        "for p in \"$STEWARD_TREE/new\" \"$STEWARD_TREE/src/lib.rs\" \"$STEWARD_DIGEST\" /usr/new /etc/new /new /opt/new; do \
         (echo x > \"$p\") 2>/dev/null && echo \"wrote $p\" >&2; done; \
         rm -rf \"$STEWARD_TREE\" 2>/dev/null; test -f \"$STEWARD_TREE/src/lib.rs\" || echo 'removed' >&2; \
         test -s /proc/1/cmdline && tr '\\0' ' ' < /proc/1/cmdline >&2; {}; exit 3",
        hand_in()
    );
    let Some((outcome, _)) = play(&stage, &script).await else { return };
    let (reason, stderr) = crash(&outcome);
    assert_eq!(reason, "exit code 3");
    assert!(!stderr.contains("wrote") && !stderr.contains("removed"), "{stderr}");
    assert!(!stderr.contains(&stage.path().display().to_string()), "no host path is visible: {stderr}");
    assert!(!stderr.contains(stage.credential), "{stderr}");
}

#[tokio::test]
async fn a_changed_export_is_a_scope_violation_whatever_was_handed_in() {
    let stage = Stage::new();
    let Some(wall) = boundary() else { return };
    let program = stage.path().join("reviewer");
    std::fs::write(&program, format!("#!/bin/sh\n{}\nsleep 1\n", hand_in())).expect("script");
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("mode");
    let choice = AgentChoice::Command { program, args: vec![], network: CommandNetwork::None };
    let adapter = probe(&choice, &wall).await.confinable.expect("a command");
    let (seat, mut heard) = stage.seat(adapter, &wall, Endpoint::Default);
    let running = tokio::spawn(run(seat));
    while !matches!(heard.recv().await.expect("progress"), Progress::Started { .. }) {}
    // From outside, as a hole in the wall would look.
    stage.put("tree/src/lib.rs", "changed");
    let outcome = running.await.expect("ends");
    let SeatEnd::ScopeViolation { detail } = &outcome.end else { panic!("{:?}", outcome.end) };
    assert!(detail.contains("tree/src/lib.rs"), "{detail}");
}

#[tokio::test]
async fn an_inbox_used_as_a_store_ends_the_run() {
    for script in [
        "head -c 20000000 /dev/zero > \"$(dirname \"$STEWARD_SUBMISSION\")/big\"; sleep 300",
        "i=0; while [ $i -lt 100 ]; do i=$((i+1)); : > \"$(dirname \"$STEWARD_SUBMISSION\")/$i\"; done; sleep 300",
    ] {
        let stage = Stage::new();
        let Some((outcome, _)) = play(&stage, script).await else { return };
        assert!(matches!(outcome.end, SeatEnd::ScopeViolation { .. }), "{:?}", outcome.end);
    }
}

#[tokio::test]
async fn a_command_without_network_reaches_no_port_of_this_machine() {
    let stage = Stage::new();
    let model = ScriptedModel::start(vec![Turn::text("x")]).await;
    let port = model.port();
    if !Path::new("/usr/bin/bash").exists() {
        eprintln!("skipped: no bash, which can open ports");
        return;
    }
    let script =
        format!("bash -c 'echo HEAD / > /dev/tcp/127.0.0.1/{port}' 2>/dev/null && echo reached >&2; exit 4");
    let Some((outcome, _)) = play(&stage, &script).await else { return };
    let (reason, stderr) = crash(&outcome);
    assert_eq!((reason, stderr), ("exit code 4", ""));
    assert!(model.asked().is_empty());
}

#[tokio::test]
async fn the_error_output_is_shown_without_the_credential_in_any_spelling() {
    let stage = Stage::new();
    let script = "printf '%s %s \\033[2J' \"$STEWARD_CREDENTIAL\" \"$(printf %s \"$STEWARD_CREDENTIAL\" | base64)\" >&2; exit 5";
    let Some((outcome, _)) = play(&stage, script).await else { return };
    assert_eq!(crash(&outcome).1, "[credential] [credential] \\u{1b}[2J");
}
