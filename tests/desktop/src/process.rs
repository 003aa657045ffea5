//! Programs a test starts: found, watched, and ended with their test.

use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A program that ends when this value does.
pub struct Running {
    child: Child,
    what: String,
}

impl Running {
    pub fn start(command: &mut Command) -> Result<Self> {
        let what = command.get_program().to_string_lossy().into_owned();
        let child = command.spawn().with_context(|| format!("starting {what}"))?;
        Ok(Self { child, what })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// The way it ended, when it has.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        self.child.try_wait().with_context(|| format!("asking after {}", self.what))
    }

    /// Asks it to end and waits; a program that does not is a failed test.
    pub fn end(mut self) -> Result<ExitStatus> {
        signal(self.id(), Signal::SIGTERM)?;
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(10) {
            if let Some(status) = self.ended()? {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        bail!("{} did not end when it was asked to", self.what)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Already gone is as good.
        let _gone = self.child.kill();
        let _status = self.child.wait();
    }
}

fn signal(id: u32, signal: Signal) -> Result<()> {
    let id = i32::try_from(id).context("a process id")?;
    kill(Pid::from_raw(id), signal).context("sending a signal")
}

/// A binary of this workspace, which `cargo build --workspace` has made.
pub fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("BUG: a test has a file");
    let folder = test.ancestors().nth(2).expect("BUG: tests stand in target/<profile>/deps");
    let file = folder.join(name);
    assert!(file.is_file(), "{} is missing: run cargo build --workspace first", file.display());
    file
}

/// Where screens go: `target/screens`.
pub fn screens() -> PathBuf {
    let test = std::env::current_exe().expect("BUG: a test has a file");
    let target = test.ancestors().nth(3).expect("BUG: tests stand in target/<profile>/deps");
    let folder = target.join("screens");
    std::fs::create_dir_all(&folder).expect("BUG: target can be written");
    folder
}
