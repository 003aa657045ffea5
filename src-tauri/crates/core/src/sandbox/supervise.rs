//! The supervising process where there is no pid namespace: every orphan comes to it, and it ends
//! them all. A process of its own, since it reaps every child it gets.

use std::os::fd::RawFd;
use std::process::Command;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use tokio::signal::unix::{SignalKind, signal};

use super::process;

const ROUND: Duration = Duration::from_millis(10);

/// Runs the program of `orders` confined, and returns its exit code once nothing below this process
/// is left. `parent` is who started it; when that one is gone everything ends.
#[cfg(target_os = "linux")]
pub async fn supervise(orders: RawFd, parent: u32) -> std::io::Result<i32> {
    nix::sys::prctl::set_child_subreaper(true)?;
    nix::sys::prctl::set_pdeathsig(Signal::SIGTERM)?;
    let mut asked = signal(SignalKind::terminate())?;
    if i64::from(Pid::parent().as_raw()) != i64::from(parent) {
        return Err(std::io::Error::other("who started this is gone"));
    }
    let grace = super::landlock::Orders::read(orders)?.limits.grace;
    let child = Command::new(std::env::current_exe()?)
        .env_clear()
        .args(["contain", "exec", "--orders", &orders.to_string()])
        .spawn()?;
    nix::unistd::close(orders)?;
    let child = Pid::from_raw(i32::try_from(child.id()).map_err(std::io::Error::other)?);
    let mut tick = tokio::time::interval(ROUND);
    let code = loop {
        tokio::select! {
            _ = asked.recv() => break None,
            _ = tick.tick() => if let Some(code) = reap(child) { break Some(code) },
        }
    };
    if code.is_none() {
        each_descendant(Signal::SIGTERM);
        let deadline = Instant::now() + grace;
        while Instant::now() < deadline && !is_drained() {
            tokio::select! {
                // Asked again: there is no time for it, as when it makes more and more processes.
                _ = asked.recv() => break,
                () = tokio::time::sleep(ROUND) => {}
            }
        }
    }
    // Each round brings the orphans of the round before; no child at all is the proof. All are stopped before the
    // first is ended, so that none makes others meanwhile.
    loop {
        each_descendant(Signal::SIGSTOP);
        each_descendant(Signal::SIGKILL);
        if is_drained() {
            break;
        }
        tokio::time::sleep(ROUND).await;
    }
    Ok(code.unwrap_or(128 + Signal::SIGTERM as i32))
}

fn each_descendant(signal: Signal) {
    for process in process::descendants(Pid::this().as_raw()) {
        let _ = kill(Pid::from_raw(process.pid), signal);
    }
}

/// Reaps whatever ended; true when no child is left.
fn is_drained() -> bool {
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Err(Errno::ECHILD) => return true,
            Ok(WaitStatus::StillAlive) => return false,
            Ok(_) | Err(_) => {}
        }
    }
}

/// Reaps whatever ended; the exit code when it was the program itself.
fn reap(child: Pid) -> Option<i32> {
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(pid, code)) if pid == child => return Some(code),
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == child => return Some(128 + signal as i32),
            Ok(WaitStatus::StillAlive) => return None,
            Err(Errno::ECHILD) => return Some(1),
            Ok(_) | Err(_) => {}
        }
    }
}
