//! What is started, and what it may see.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A path of this machine and the name it has inside. Without a mount namespace it keeps its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bind {
    pub host: PathBuf,
    pub inside: PathBuf,
}

impl Bind {
    pub fn new(host: impl Into<PathBuf>, inside: impl Into<PathBuf>) -> Self {
        Self { host: host.into(), inside: inside.into() }
    }
}

/// What the seat reaches of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// Nothing but the sockets that are bound in.
    None,
    /// The network of this machine.
    Host,
}

/// Resource limits of every process inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Largest file it may write.
    pub file_bytes: u64,
    pub open_files: u64,
    /// Address space, where the program can live with a limit.
    pub memory_bytes: Option<u64>,
    /// Size of the private temporary and home folders and of the shared memory, each.
    pub scratch_bytes: u64,
    /// Processes inside at once. With more, everything inside is ended (security.md 2).
    pub processes: usize,
    /// Processes and threads inside at once, where the kernel counts them for the namespace alone: it refuses the
    /// next one. It never does so to root.
    pub tasks: u64,
    /// From the polite signal to the hard one.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            file_bytes: 64 << 20,
            open_files: 1024,
            memory_bytes: None,
            scratch_bytes: 256 << 20,
            // A build on many cores has some hundred processes, of some dozen threads each.
            processes: 1024,
            tasks: 32_768,
            grace: Duration::from_millis(400),
        }
    }
}

/// One process to start inside the boundary.
#[derive(Debug, Clone)]
pub struct BoundarySpec {
    pub program: Bind,
    pub args: Vec<OsString>,
    /// The whole environment: nothing is inherited.
    pub env: Vec<(String, OsString)>,
    pub read_only: Vec<Bind>,
    /// The inbox folder, and nothing else.
    pub writable: Vec<Bind>,
    pub sockets: Vec<Bind>,
    /// As seen from inside.
    pub cwd: PathBuf,
    pub network: Network,
    pub stdin: Vec<u8>,
    /// Folder of this machine for home and temporary files where there is no private mount.
    pub scratch: PathBuf,
    pub limits: Limits,
}
