//! The operating system's wall around a seat: what is inside sees a read-only tree and one inbox.
//!
//! Linux has bubblewrap, or Landlock with a supervising process where user namespaces are forbidden;
//! macOS has a sandbox profile, which is weaker and says so. Nothing here knows what an agent is.

#[cfg(target_os = "linux")]
mod bubblewrap;
mod child;
mod crowd;
mod ending;
#[cfg(target_os = "linux")]
mod landlock;
mod lines;
mod probe;
mod process;
#[cfg(target_os = "macos")]
mod profile;
mod raw;
mod spec;
#[cfg(target_os = "linux")]
mod supervise;
mod tool;

pub use child::{Contained, Exit, spawn};
pub use ending::{KillReport, Survivor};
#[cfg(target_os = "linux")]
pub use landlock::confine_and_exec;
pub use lines::{Line, Lines};
pub use probe::{BoundaryReport, Check, CheckId, CheckOutcome, answer_from_inside, probe};
pub use spec::{Bind, BoundarySpec, Limits, Network};
#[cfg(target_os = "linux")]
pub use supervise::supervise;
pub use tool::{Tool, ToolEnd, run_tool};

use std::path::{Path, PathBuf};

/// What a process with network needs beside it, to find a host by its name.
#[cfg(target_os = "linux")]
const NETWORK_FILES: [&str; 3] = ["/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/hosts"];

/// Which wall this machine offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Boundary {
    /// Own user, pid, ipc, uts and network namespaces.
    Bubblewrap { bwrap: PathBuf },
    /// Access rules on the process itself, ended by a supervising `steward` process.
    Landlock { steward: PathBuf },
    /// macOS: writes and the home folder are closed, names of processes are not.
    SandboxProfile,
    /// No wall, so no seat is started.
    None { reason: String },
}

/// Why a contained process could not be started.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error("there is no boundary on this machine: {0}")]
    NoBoundary(String),
    #[error("{path} is not there to be shown inside the boundary")]
    Missing { path: PathBuf },
    #[error("could not start the boundary: {0}")]
    Start(#[source] std::io::Error),
    #[error("could not hand the boundary its arguments: {0}")]
    Arguments(#[source] std::io::Error),
}

impl Boundary {
    /// Finds the strongest wall that really starts here. `steward` is the command-line binary, which
    /// supervises where there is no pid namespace.
    pub fn choose(steward: &Path) -> Self {
        #[cfg(target_os = "linux")]
        {
            let bwrap = match bubblewrap::find() {
                Ok(bwrap) => return Self::Bubblewrap { bwrap },
                Err(why) => why,
            };
            Self::landlock(steward)
                .unwrap_or_else(|landlock| Self::None { reason: format!("{bwrap}; {landlock}") })
        }
        #[cfg(target_os = "macos")]
        {
            let _ = steward;
            if Path::new(profile::SANDBOX_EXEC).is_file() {
                Self::SandboxProfile
            } else {
                Self::None { reason: format!("{} is missing", profile::SANDBOX_EXEC) }
            }
        }
        #[cfg(not(any(target_os = "linux", target_os = "macos")))]
        {
            let _ = steward;
            Self::None { reason: "this system has no boundary that Steward knows".to_owned() }
        }
    }

    /// The second choice on Linux, where the kernel has it.
    #[cfg(target_os = "linux")]
    pub fn landlock(steward: &Path) -> Result<Self, String> {
        landlock::available()?;
        if steward.is_file() {
            Ok(Self::Landlock { steward: steward.to_owned() })
        } else {
            Err(format!("{} is missing, which supervises under Landlock", steward.display()))
        }
    }

    /// Where a bound path is seen from inside.
    pub fn place<'a>(&self, bind: &'a Bind) -> &'a Path {
        match self {
            Self::Bubblewrap { .. } => &bind.inside,
            // No mount namespace: the path keeps its name and everything around it is closed.
            Self::Landlock { .. } | Self::SandboxProfile | Self::None { .. } => &bind.host,
        }
    }

    /// The private home folder inside.
    pub fn home(&self, scratch: &Path) -> PathBuf {
        match self {
            Self::Bubblewrap { .. } => PathBuf::from("/seat"),
            Self::Landlock { .. } | Self::SandboxProfile | Self::None { .. } => scratch.join("home"),
        }
    }

    /// The private temporary folder inside.
    pub fn tmp(&self, scratch: &Path) -> PathBuf {
        match self {
            Self::Bubblewrap { .. } => PathBuf::from("/tmp"),
            Self::Landlock { .. } | Self::SandboxProfile | Self::None { .. } => scratch.join("tmp"),
        }
    }

    /// The word a person reads.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bubblewrap { .. } => "bubblewrap",
            Self::Landlock { .. } => "Landlock",
            Self::SandboxProfile => "sandbox profile",
            Self::None { .. } => "none",
        }
    }

    /// What this wall leaves open, for the page where the agent is set up.
    pub fn residual(&self) -> Vec<&'static str> {
        match self {
            Self::Bubblewrap { .. } => vec![],
            Self::Landlock { .. } => vec![
                "no pid namespace: process numbers of this machine are visible, and the kill walks the process tree",
                "UDP is not closed by Landlock",
            ],
            Self::SandboxProfile => vec![
                "weaker than on Linux: the environment and command lines of your other processes can be seen",
                "the network is open to the seat",
            ],
            Self::None { .. } => vec!["no seat is started"],
        }
    }
}
