//! Ends everything inside once there are too many processes.
//!
//! The kernel's own limit counts a user's processes, never stops root, and outside of a namespace of its own would
//! count whatever else the person runs. So the processes inside are counted here, for every kind of wall.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use tokio::sync::watch;

use super::child::{Exit, Namespace, Tail, Wall, end};
use super::process;

/// Between two counts.
const LOOK: Duration = Duration::from_millis(500);

/// What is counted, and how it is ended.
pub(super) struct Crowd {
    pub pid: i32,
    pub wall: Wall,
    pub exit: watch::Receiver<Option<Exit>>,
    pub reaped: Arc<Mutex<bool>>,
    pub namespace: Arc<OnceLock<Option<Namespace>>>,
    pub most: usize,
    pub said: Arc<Mutex<Tail>>,
}

/// Counts until the outermost process has ended.
pub(super) async fn watch_over(mut crowd: Crowd) {
    let mut look = tokio::time::interval(LOOK);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            ended = crowd.exit.wait_for(Option::is_some) => {
                drop(ended);
                return;
            }
            _ = look.tick() => {}
        }
        let (pid, namespace) = (crowd.pid, crowd.namespace.get().copied().flatten());
        let counted = tokio::task::spawn_blocking(move || count(pid, namespace)).await;
        if counted.is_ok_and(|count| count > crowd.most) {
            let why = format!("more than {} processes inside: all of them were ended\n", crowd.most);
            crowd.said.lock().unwrap_or_else(std::sync::PoisonError::into_inner).add(why.as_bytes());
            end(crowd.wall, crowd.pid, &crowd.reaped);
        }
    }
}

fn count(pid: i32, namespace: Option<Namespace>) -> usize {
    #[cfg(target_os = "linux")]
    if let Some(namespace) = namespace {
        return process::in_namespace(namespace.inode).len();
    }
    #[cfg(not(target_os = "linux"))]
    let _ = namespace;
    process::descendants(pid).len()
}
