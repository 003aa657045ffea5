//! Starts a contained process and holds on to it.

use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::sync::watch;

use super::crowd::{self, Crowd};
use super::lines::Lines;
use super::spec::{BoundarySpec, Limits};
use super::{Boundary, SandboxError};

/// Longest line of output that is handed on.
const LINE_CAP: usize = 4 << 20;
/// How much of the error output is kept.
const STDERR_CAP: usize = 64 << 10;
/// How long the last error output of an ended process is waited for. A process it left behind may
/// hold the pipe open, so there is an end to it.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    pub code: Option<i32>,
    pub signal: Option<i32>,
}

impl Exit {
    pub fn success(self) -> bool {
        self.code == Some(0)
    }
}

/// What ends everything inside, by the kind of wall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wall {
    /// The kernel ends a pid namespace with its first process.
    Namespace,
    /// The supervisor walks its descendants when asked politely.
    Supervisor,
    /// A process group, and a walk of the descendants.
    Group,
}

/// The first process inside, and the namespace it opened.
#[derive(Debug, Clone, Copy)]
pub(super) struct Namespace {
    pub init: i32,
    pub inode: u64,
}

/// A command ready to be started, with the descriptors only it may inherit.
pub(super) struct Prepared {
    pub command: Command,
    pub wall: Wall,
    /// Kept open in the child: the arguments.
    pub inherit: Vec<OwnedFd>,
    /// The child writes about itself into the second end.
    pub about: Option<(OwnedFd, OwnedFd)>,
}

/// A running contained process. Dropping it kills what is inside.
#[derive(Debug)]
pub struct Contained {
    pub(super) pid: i32,
    pub(super) wall: Wall,
    pub(super) exit: watch::Receiver<Option<Exit>>,
    pub(super) reaped: Arc<Mutex<bool>>,
    pub(super) namespace: Arc<OnceLock<Option<Namespace>>>,
    pub(super) limits: Limits,
    stdout: Lines,
    stderr: Arc<Mutex<Tail>>,
    /// True once the error output was read to its end.
    stderr_read: watch::Receiver<bool>,
}

/// Starts a process behind the boundary. Needs a tokio runtime.
pub fn spawn(boundary: &Boundary, spec: BoundarySpec) -> Result<Contained, SandboxError> {
    for bind in [&spec.program].into_iter().chain(&spec.read_only).chain(&spec.writable).chain(&spec.sockets)
    {
        if std::fs::symlink_metadata(&bind.host).is_err() {
            return Err(SandboxError::Missing { path: bind.host.clone() });
        }
    }
    let prepared = match boundary {
        #[cfg(target_os = "linux")]
        Boundary::Bubblewrap { bwrap } => super::bubblewrap::prepare(bwrap, &spec)?,
        #[cfg(target_os = "linux")]
        Boundary::Landlock { steward } => super::landlock::prepare(steward, &spec)?,
        #[cfg(not(target_os = "linux"))]
        Boundary::Bubblewrap { .. } | Boundary::Landlock { .. } => {
            return Err(SandboxError::NoBoundary("this boundary exists on Linux only".to_owned()));
        }
        #[cfg(target_os = "macos")]
        Boundary::SandboxProfile => super::profile::prepare(&spec)?,
        #[cfg(not(target_os = "macos"))]
        Boundary::SandboxProfile => {
            return Err(SandboxError::NoBoundary("sandbox profiles exist on macOS only".to_owned()));
        }
        Boundary::None { reason } => return Err(SandboxError::NoBoundary(reason.clone())),
    };
    start(prepared, spec.stdin, spec.limits, false)
}

/// Starts what was prepared. With `dies` the outermost process is killed when this one ends.
pub(super) fn start(
    mut prepared: Prepared,
    stdin: Vec<u8>,
    limits: Limits,
    dies: bool,
) -> Result<Contained, SandboxError> {
    let command = &mut prepared.command;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Its own group: an interrupt typed into a terminal is for Steward, which then ends the seat.
    std::os::unix::process::CommandExt::process_group(command, 0);
    let mut kept: Vec<_> = prepared.inherit.iter().map(AsRawFd::as_raw_fd).collect();
    kept.extend(prepared.about.as_ref().map(|(_, write)| write.as_raw_fd()));
    super::raw::keep_and_limit(command, kept, limits, dies);

    let (started, begun) = std::sync::mpsc::sync_channel(1);
    let (exit_tx, exit) = watch::channel(None);
    let reaped = Arc::new(Mutex::new(false));
    let namespace = Arc::new(OnceLock::new());
    let (wall, thread_reaped, thread_namespace) = (prepared.wall, reaped.clone(), namespace.clone());
    // The parent-death signal of the child fires when the thread that started it ends, so this thread
    // lives as long as the child.
    std::thread::Builder::new()
        .name("seat".to_owned())
        .spawn(move || {
            let Prepared { mut command, inherit, about, .. } = prepared;
            let spawned = command.spawn();
            drop((command, inherit));
            let about = about.map(|(read, _write)| read);
            match spawned {
                Ok(mut child) => {
                    let pipes = (child.id(), child.stdin.take(), child.stdout.take(), child.stderr.take());
                    let _ = started.send(Ok(pipes));
                    let _ = thread_namespace.set(about.and_then(read_about));
                    let ended = reap(child, &thread_reaped);
                    let _ = exit_tx.send(Some(ended));
                }
                Err(error) => {
                    let _ = started.send(Err(error));
                }
            }
        })
        .map_err(SandboxError::Start)?;
    let gone = || std::io::Error::other("the starting thread ended");
    let (pid, stdin_pipe, stdout, stderr) =
        begun.recv().map_err(|_| SandboxError::Start(gone()))?.map_err(SandboxError::Start)?;
    let pipe = |fd: Option<OwnedFd>| {
        let fd = fd.ok_or_else(|| SandboxError::Start(gone()))?;
        pipe::Receiver::from_owned_fd(fd).map_err(SandboxError::Start)
    };
    feed(stdin_pipe.map(OwnedFd::from), stdin)?;
    let tail = Arc::new(Mutex::new(Tail::default()));
    let stderr_read = drain(pipe(stderr.map(OwnedFd::from))?, tail.clone());
    let pid = i32::try_from(pid).unwrap_or(i32::MAX);
    tokio::spawn(crowd::watch_over(Crowd {
        pid,
        wall,
        exit: exit.clone(),
        reaped: reaped.clone(),
        namespace: namespace.clone(),
        most: limits.processes,
        said: tail.clone(),
    }));
    Ok(Contained {
        pid,
        wall,
        exit,
        reaped,
        namespace,
        limits,
        stdout: Lines::new(pipe(stdout.map(OwnedFd::from))?, LINE_CAP),
        stderr: tail,
        stderr_read,
    })
}

impl Contained {
    /// The number of the outermost process.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    pub fn stdout(&mut self) -> &mut Lines {
        &mut self.stdout
    }

    /// The last of what was written to the error output, as it came.
    pub fn stderr_tail(&self) -> Vec<u8> {
        let tail = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        tail.bytes[tail.bytes.len().saturating_sub(STDERR_CAP)..].to_vec()
    }

    /// All bytes of output so far, of both kinds.
    pub fn output_bytes(&self) -> u64 {
        let tail = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        self.stdout.total() + tail.total
    }

    /// Resolves when the outermost process has ended and its error output is read.
    pub fn exited(&self) -> impl Future<Output = Exit> + Send + 'static {
        let mut exit = self.exit.clone();
        let mut stderr_read = self.stderr_read.clone();
        async move {
            let ended = match exit.wait_for(Option::is_some).await {
                Ok(exit) => exit.unwrap_or(Exit { code: None, signal: None }),
                Err(_) => Exit { code: None, signal: None },
            };
            let _ = tokio::time::timeout(LAST_WORDS, stderr_read.wait_for(|read| *read)).await;
            ended
        }
    }

    pub(super) fn has_exited(&self) -> bool {
        self.exit.borrow().is_some()
    }

    /// Signals the outermost process, unless its number may already be somebody else's.
    pub(super) fn signal(&self, with: Signal) {
        signal(self.pid, &self.reaped, with);
    }
}

impl Drop for Contained {
    fn drop(&mut self) {
        end(self.wall, self.pid, &self.reaped);
    }
}

/// Ends what is inside without looking whether that is true.
pub(super) fn end(wall: Wall, pid: i32, reaped: &Mutex<bool>) {
    match wall {
        Wall::Namespace => signal(pid, reaped, Signal::SIGKILL),
        Wall::Supervisor => signal(pid, reaped, Signal::SIGTERM),
        Wall::Group => {
            for process in super::process::descendants(pid) {
                let _ = kill(Pid::from_raw(process.pid), Signal::SIGKILL);
            }
            signal(pid, reaped, Signal::SIGKILL);
        }
    }
}

fn signal(pid: i32, reaped: &Mutex<bool>, with: Signal) {
    let reaped = reaped.lock().unwrap_or_else(PoisonError::into_inner);
    if !*reaped {
        let _ = kill(Pid::from_raw(pid), with);
    }
}

/// Waits for the end without reaping first, so that a kill never meets a number used again.
fn reap(mut child: Child, reaped: &Mutex<bool>) -> Exit {
    #[cfg(target_os = "linux")]
    {
        use nix::sys::wait::{Id, WaitPidFlag, waitid};
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX));
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
        while let Err(nix::errno::Errno::EINTR) = waitid(Id::Pid(pid), flags) {}
        *reaped.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }
    let status = child.wait();
    *reaped.lock().unwrap_or_else(PoisonError::into_inner) = true;
    use std::os::unix::process::ExitStatusExt;
    match status {
        Ok(status) => Exit { code: status.code(), signal: status.signal() },
        Err(_) => Exit { code: None, signal: None },
    }
}

/// Reads what bubblewrap says of itself: the first process inside and its pid namespace.
fn read_about(read: OwnedFd) -> Option<Namespace> {
    #[derive(serde::Deserialize)]
    struct About {
        #[serde(rename = "child-pid")]
        child_pid: i32,
        #[serde(rename = "pid-namespace")]
        pid_namespace: Option<u64>,
    }
    let (mut file, mut text) = (std::fs::File::from(read), Vec::new());
    let mut chunk = [0u8; 512];
    while !text.contains(&b'}') && text.len() < 8192 {
        match file.read(&mut chunk) {
            Ok(0) | Err(_) => break,
            Ok(count) => text.extend_from_slice(&chunk[..count]),
        }
    }
    let about: About = serde_json::from_slice(&text).ok()?;
    let inode = about.pid_namespace.or_else(|| {
        let link = std::fs::read_link(format!("/proc/{}/ns/pid", about.child_pid)).ok()?;
        link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok()
    })?;
    Some(Namespace { init: about.child_pid, inode })
}

fn feed(fd: Option<OwnedFd>, bytes: Vec<u8>) -> Result<(), SandboxError> {
    let Some(fd) = fd else { return Ok(()) };
    let mut pipe = pipe::Sender::from_owned_fd(fd).map_err(SandboxError::Start)?;
    tokio::spawn(async move {
        // A process that does not read its input is no error.
        let _ = pipe.write_all(&bytes).await;
    });
    Ok(())
}

/// The end of a stream.
#[derive(Debug, Default)]
pub(super) struct Tail {
    /// At most twice the cap; the front is dropped when that is reached.
    bytes: Vec<u8>,
    total: u64,
}

impl Tail {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() > 2 * STDERR_CAP {
            let over = self.bytes.len() - STDERR_CAP;
            self.bytes.drain(..over);
        }
    }
}

fn drain(mut pipe: pipe::Receiver, tail: Arc<Mutex<Tail>>) -> watch::Receiver<bool> {
    let (read, heard) = watch::channel(false);
    tokio::spawn(async move {
        let mut chunk = vec![0u8; 16 * 1024];
        while let Ok(count) = pipe.read(&mut chunk).await {
            if count == 0 {
                break;
            }
            tail.lock().unwrap_or_else(PoisonError::into_inner).add(&chunk[..count]);
        }
        let _ = read.send(true);
    });
    heard
}
