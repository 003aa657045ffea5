//! The real boundary: what is inside cannot get out, and nothing of it outlives the kill.

use std::path::Path;
use std::time::Duration;

use steward_core::home::Home;
use steward_core::sandbox::{
    Bind, Boundary, BoundarySpec, CheckOutcome, Contained, Limits, Line, Network, probe, spawn,
};
use steward_kit::binary;

/// The walls that this machine has.
fn walls() -> Vec<Boundary> {
    let mut walls = Vec::new();
    match Boundary::choose(&binary::steward()) {
        found @ (Boundary::Bubblewrap { .. } | Boundary::Landlock { .. } | Boundary::SandboxProfile) => {
            walls.push(found)
        }
        Boundary::None { reason } => eprintln!("skipped: no boundary ({reason})"),
    }
    #[cfg(target_os = "linux")]
    match Boundary::landlock(&binary::steward()) {
        Ok(wall) => walls.push(wall),
        Err(why) => eprintln!("skipped: no Landlock ({why})"),
    }
    walls
}

fn shell(boundary: &Boundary, folder: &Path, script: &str) -> BoundarySpec {
    let inbox = Bind::new(folder.join("inbox"), "/inbox");
    let tree = Bind::new(folder.join("tree"), "/review");
    for bind in [&inbox, &tree] {
        std::fs::create_dir_all(&bind.host).expect("folder");
    }
    let scratch = folder.join("scratch");
    std::fs::create_dir_all(&scratch).expect("scratch");
    BoundarySpec {
        program: Bind::new("/bin/sh", "/opt/agent/sh"),
        args: vec!["-c".into(), script.into()],
        env: vec![
            ("PATH".into(), "/usr/bin:/bin".into()),
            ("INBOX".into(), boundary.place(&inbox).into()),
            ("HOME".into(), boundary.home(&scratch).into()),
        ],
        cwd: boundary.place(&tree).to_owned(),
        read_only: vec![tree],
        writable: vec![inbox],
        sockets: Vec::new(),
        network: Network::None,
        stdin: Vec::new(),
        scratch,
        limits: Limits::default(),
    }
}

async fn line(contained: &mut Contained) -> String {
    match tokio::time::timeout(Duration::from_secs(20), contained.stdout().next()).await {
        Ok(Some(Line::Whole(line))) => String::from_utf8_lossy(&line).into_owned(),
        other => panic!("no line: {other:?}; {}", String::from_utf8_lossy(&contained.stderr_tail())),
    }
}

#[tokio::test]
async fn every_wall_of_this_machine_holds_when_asked_from_inside() {
    let folder = tempfile::tempdir().expect("tempdir");
    let home = Home::under(&folder.path().join("home"));
    home.create().expect("home");
    for wall in walls() {
        let report = probe(&wall, &home, &binary::steward()).await;
        assert!(report.holds(), "{}: {:?}", wall.name(), report.failure());
        assert_eq!(report.checks.len(), 12, "{}: {:?}", wall.name(), report.checks);
        assert!(
            report.checks.iter().all(|check| check.outcome == CheckOutcome::Holds),
            "{}: {:?}",
            wall.name(),
            report.checks
        );
    }
}

#[tokio::test]
async fn a_machine_without_a_wall_starts_nothing_and_says_why() {
    let folder = tempfile::tempdir().expect("tempdir");
    let none = Boundary::None { reason: "user namespaces are forbidden".into() };
    let error = spawn(&none, shell(&none, folder.path(), "true")).expect_err("nothing starts");
    assert!(error.to_string().contains("user namespaces are forbidden"), "{error}");
    let home = Home::under(folder.path());
    assert!(!probe(&none, &home, &binary::steward()).await.holds());
}

/// Seven descendants: a family, a new session, and a session below that session, deaf to SIGTERM.
const SEVEN: &str = "trap '' TERM; sleep 300 & sleep 300 & \
    setsid sh -c 'trap \"\" TERM; sleep 300 & setsid sh -c \"sleep 300 & sleep 300\" & sleep 300' & \
    sleep 0.3; echo ready; wait";

#[tokio::test]
async fn a_kill_leaves_none_of_seven_descendants_however_they_hide() {
    for wall in walls() {
        let folder = tempfile::tempdir().expect("tempdir");
        let mark = folder.path().file_name().expect("name").to_string_lossy().into_owned();
        let mut spec = shell(&wall, folder.path(), SEVEN);
        spec.env.push(("MARK".into(), mark.clone().into()));
        let mut contained = spawn(&wall, spec).expect("starts");
        assert_eq!(line(&mut contained).await, "ready");
        assert!(running_with(&mark) >= 7, "{}: the family is there", wall.name());
        let report = contained.kill().await;
        assert!(report.is_clean(), "{}: {report:?}", wall.name());
        assert!(report.found >= 7, "{}: {report:?}", wall.name());
        assert!(report.took_ms < 5_000, "{}: {report:?}", wall.name());
        assert_eq!(running_with(&mark), 0, "{}", wall.name());
    }
}

#[tokio::test]
async fn a_daemon_does_not_outlive_the_program_that_started_it() {
    for wall in walls() {
        let folder = tempfile::tempdir().expect("tempdir");
        let mark = folder.path().file_name().expect("name").to_string_lossy().into_owned();
        let script = "setsid sh -c 'exec >/dev/null 2>&1 </dev/null; setsid sleep 300 &' ; exit 0";
        let mut spec = shell(&wall, folder.path(), script);
        spec.env.push(("MARK".into(), mark.clone().into()));
        let mut contained = spawn(&wall, spec).expect("starts");
        let exit = contained.exited().await;
        assert!(exit.success(), "{}: {exit:?}", wall.name());
        assert!(contained.kill().await.is_clean());
        assert_eq!(running_with(&mark), 0, "{}", wall.name());
    }
}

#[tokio::test]
async fn a_fork_loop_is_ended_at_the_limit_of_processes_and_says_why() {
    for wall in walls() {
        let folder = tempfile::tempdir().expect("tempdir");
        let mark = folder.path().file_name().expect("name").to_string_lossy().into_owned();
        let mut spec = shell(&wall, folder.path(), "while :; do sleep 300 & done");
        spec.env.push(("MARK".into(), mark.clone().into()));
        spec.limits.processes = 64;
        let mut contained = spawn(&wall, spec).expect("starts");
        let exit = tokio::time::timeout(Duration::from_secs(60), contained.exited()).await;
        let exit = exit.unwrap_or_else(|_| panic!("{}: it goes on", wall.name()));
        assert!(!exit.success(), "{}: {exit:?}", wall.name());
        let said = String::from_utf8_lossy(&contained.stderr_tail()).into_owned();
        assert!(said.contains("more than 64 processes"), "{}: {said}", wall.name());
        assert!(contained.kill().await.is_clean(), "{}", wall.name());
        assert_eq!(running_with(&mark), 0, "{}", wall.name());
    }
}

#[tokio::test]
async fn as_many_processes_as_the_limit_allows_are_left_alone() {
    for wall in walls() {
        let folder = tempfile::tempdir().expect("tempdir");
        let script = "i=0; while [ $i -lt 40 ]; do sleep 2 & i=$((i+1)); done; wait; echo whole";
        let mut spec = shell(&wall, folder.path(), script);
        spec.limits.processes = 64;
        let mut contained = spawn(&wall, spec).expect("starts");
        assert_eq!(line(&mut contained).await, "whole", "{}", wall.name());
        assert!(contained.exited().await.success(), "{}", wall.name());
        contained.kill().await;
    }
}

#[tokio::test]
async fn shared_memory_holds_no_more_than_the_scratch_and_nothing_else_of_dev_is_written() {
    let script = "for i in 1 2 3 4; do head -c 524288 /dev/zero > /dev/shm/steward-$i; done 2>/dev/null; \
        cat /dev/shm/steward-* 2>/dev/null | wc -c; (echo x > /dev/steward-x) 2>/dev/null && echo open; \
        echo x > /dev/null && echo well";
    for wall in walls() {
        let folder = tempfile::tempdir().expect("tempdir");
        let mut spec = shell(&wall, folder.path(), script);
        spec.limits.scratch_bytes = 1 << 20;
        let mut contained = spawn(&wall, spec).expect("starts");
        let held: u64 = line(&mut contained).await.trim().parse().expect("a number");
        assert!(held <= 1 << 20, "{}: {held}", wall.name());
        assert_eq!(line(&mut contained).await, "well", "{}", wall.name());
        contained.kill().await;
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_limit_of_tasks_is_set_inside_where_it_counts_the_namespace_alone() {
    let folder = tempfile::tempdir().expect("tempdir");
    let wall = Boundary::choose(&binary::steward());
    let Boundary::Bubblewrap { .. } = &wall else { return eprintln!("skipped: no bubblewrap") };
    let mut spec = shell(&wall, folder.path(), "grep '^Max processes' /proc/self/limits");
    spec.limits.tasks = 777;
    let mut contained = spawn(&wall, spec).expect("starts");
    let said = line(&mut contained).await;
    assert_eq!(said.split_whitespace().collect::<Vec<_>>(), ["Max", "processes", "777", "777", "processes"]);
    contained.kill().await;
}

/// Processes of this user with the mark in their environment: an oracle that shares nothing with the
/// kill.
fn running_with(mark: &str) -> usize {
    let needle = format!("MARK={mark}");
    std::fs::read_dir("/proc")
        .expect("proc")
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().bytes().all(|b| b.is_ascii_digit()))
        .filter(|entry| {
            std::fs::read(entry.path().join("environ"))
                .is_ok_and(|bytes| bytes.windows(needle.len()).any(|part| part == needle.as_bytes()))
        })
        .count()
}
