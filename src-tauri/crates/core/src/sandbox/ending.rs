//! Ends everything inside, and looks whether that is true.

use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use super::child::{Contained, Wall};
use super::process::{self, Process};

/// How long the hard kill is repeated before survivors are reported.
const HARD_LIMIT: Duration = Duration::from_secs(5);
/// Between two looks at the process table.
const ROUND: Duration = Duration::from_millis(10);

/// What a kill found and what it left.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KillReport {
    pub took_ms: u64,
    /// Processes that were there when the kill began.
    pub found: usize,
    /// Looked for, not assumed: processes that still run.
    pub survivors: Vec<Survivor>,
}

/// A process that outlived the kill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survivor {
    pub pid: i32,
    pub name: String,
}

impl KillReport {
    pub fn is_clean(&self) -> bool {
        self.survivors.is_empty()
    }
}

impl Contained {
    /// Ends everything inside: politely, then hard, then verified. Also right after an exit, since a
    /// process that made itself a daemon may still run.
    pub async fn kill(&mut self) -> KillReport {
        let start = Instant::now();
        let mut seen = self.everything().await;
        let found = seen.len();
        if !self.has_exited() {
            self.ask(&seen);
            let patience = match self.wall {
                Wall::Namespace | Wall::Group => self.limits.grace,
                // The supervisor keeps the grace itself, then walks its descendants.
                Wall::Supervisor => self.limits.grace + Duration::from_secs(3),
            };
            let _ = tokio::time::timeout(patience, self.exited()).await;
        }
        let survivors = loop {
            for process in self.everything().await {
                if !seen.contains(&process) {
                    seen.push(process);
                }
            }
            let alive: Vec<&Process> = seen.iter().filter(|p| process::lives(p)).collect();
            if alive.is_empty() && self.has_exited() {
                break Vec::new();
            }
            if start.elapsed() > HARD_LIMIT + self.limits.grace {
                break alive.into_iter().map(|p| Survivor { pid: p.pid, name: p.name.clone() }).collect();
            }
            self.force(&alive);
            tokio::time::sleep(ROUND).await;
        };
        let took_ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        KillReport { took_ms, found, survivors }
    }

    /// Every process inside that can be found: by descent, and by namespace for orphans.
    async fn everything(&self) -> Vec<Process> {
        let mut all = if self.has_exited() { Vec::new() } else { process::descendants(self.pid) };
        #[cfg(target_os = "linux")]
        if self.wall == Wall::Namespace {
            let deadline = Instant::now() + Duration::from_secs(1);
            while self.namespace.get().is_none() && Instant::now() < deadline {
                tokio::time::sleep(ROUND).await;
            }
            if let Some(Some(namespace)) = self.namespace.get() {
                for process in process::in_namespace(namespace.inode) {
                    if !all.contains(&process) {
                        all.push(process);
                    }
                }
            }
        }
        all
    }

    fn ask(&self, seen: &[Process]) {
        match self.wall {
            Wall::Namespace => {
                let init = self.namespace.get().copied().flatten().map(|n| n.init);
                for process in seen.iter().filter(|p| Some(p.pid) != init) {
                    let _ = kill(Pid::from_raw(process.pid), Signal::SIGTERM);
                }
            }
            Wall::Supervisor => self.signal(Signal::SIGTERM),
            Wall::Group => {
                for process in seen {
                    let _ = kill(Pid::from_raw(process.pid), Signal::SIGTERM);
                }
                self.signal(Signal::SIGTERM);
            }
        }
    }

    fn force(&self, alive: &[&Process]) {
        for process in alive {
            let _ = kill(Pid::from_raw(process.pid), Signal::SIGKILL);
        }
        // The supervisor goes last: while it lives, orphans come to it and can be found.
        if self.wall != Wall::Supervisor || alive.is_empty() {
            self.signal(Signal::SIGKILL);
        }
    }
}
