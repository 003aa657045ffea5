//! One runtime per data folder.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use chrono::Utc;
use steward_core::home::Home;
use steward_core::lock::{HolderKind, LockError, RuntimeLock, holder};
use steward_kit::process::Running;

use crate::store::fresh;

#[test]
fn a_second_taker_is_told_who_holds_it() {
    let (_folder, home) = fresh();
    assert_eq!(holder(&home).unwrap(), None);
    let now = Utc::now();
    let lock = RuntimeLock::take(&home, HolderKind::Serve, now).unwrap();
    let Err(LockError::Held(Some(found))) = RuntimeLock::take(&home, HolderKind::Desktop, now) else {
        panic!("taken twice")
    };
    assert_eq!((found.pid, found.kind, found.started), (std::process::id(), HolderKind::Serve, now));
    assert_eq!(holder(&home).unwrap(), Some(found));
    drop(lock);
    assert_eq!(holder(&home).unwrap(), None);
    RuntimeLock::take(&home, HolderKind::Desktop, now).unwrap();
}

#[test]
fn looking_never_keeps_the_lock_from_who_wants_it() {
    let (_folder, home) = fresh();
    let looking = home.clone();
    let done = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let stop = done.clone();
    let looker = std::thread::spawn(move || {
        while !stop.load(std::sync::atomic::Ordering::Relaxed) {
            holder(&looking).unwrap();
        }
    });
    for _ in 0..200 {
        RuntimeLock::take(&home, HolderKind::Command, Utc::now()).unwrap();
    }
    done.store(true, std::sync::atomic::Ordering::Relaxed);
    looker.join().unwrap();
}

/// The test starts itself as the holder and kills it.
#[test]
fn a_killed_holder_leaves_the_lock_free() {
    const CHILD: &str = "STEWARD_TEST_LOCK";
    if let Some(root) = std::env::var_os(CHILD) {
        let _lock = RuntimeLock::take(&Home::under(root.as_ref()), HolderKind::Serve, Utc::now()).unwrap();
        println!("holding");
        loop {
            std::thread::park();
        }
    }
    let (folder, home) = fresh();
    let mut child = Running::start(
        Command::new(std::env::current_exe().unwrap())
            .args(["lock::a_killed_holder_leaves_the_lock_free", "--exact", "--nocapture"])
            .env(CHILD, folder.path())
            .stdout(Stdio::piped()),
    );
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.contains("holding")));
    let found = holder(&home).unwrap().unwrap();
    assert_eq!(found.pid, child.id());
    assert!(matches!(
        RuntimeLock::take(&home, HolderKind::Desktop, Utc::now()),
        Err(LockError::Held(Some(_)))
    ));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(holder(&home).unwrap(), None);
    RuntimeLock::take(&home, HolderKind::Desktop, Utc::now()).unwrap();
}
