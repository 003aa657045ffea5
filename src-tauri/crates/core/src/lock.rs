//! One runtime per data folder, held by a lock that the OS drops when the process dies.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::home::Home;

/// Who hosts the runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HolderKind {
    /// The window.
    Desktop,
    /// `steward serve`.
    Serve,
    /// A command that hosts a runtime for its own work.
    Command,
}

/// The process that holds the lock, as others may show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub pid: u32,
    pub kind: HolderKind,
    pub started: DateTime<Utc>,
}

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("another Steward is running for this data folder{}", named(.0.as_ref()))]
    Held(Option<Holder>),
    #[error("could not {doing} {path}: {source}", path = path.display())]
    Io { doing: &'static str, path: PathBuf, source: std::io::Error },
}

fn named(holder: Option<&Holder>) -> String {
    holder.map(|holder| format!(" (process {})", holder.pid)).unwrap_or_default()
}

/// Proof that this process alone runs loops on the data folder. Dropping it lets the next one in.
#[derive(Debug)]
pub struct RuntimeLock {
    _file: File,
    name: PathBuf,
}

/// A looking process holds the lock for an instant; this many tries outlast it.
const TRIES: u32 = 20;

impl RuntimeLock {
    /// Takes the lock, or says who has it.
    pub fn take(home: &Home, kind: HolderKind, now: DateTime<Utc>) -> Result<Self, LockError> {
        let file = open(&home.runtime_lock())?;
        for attempt in 1.. {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if attempt < TRIES => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(TryLockError::WouldBlock) => return Err(LockError::Held(read(home))),
                Err(TryLockError::Error(source)) => {
                    return Err(LockError::Io { doing: "lock", path: home.runtime_lock(), source });
                }
            }
        }
        let name = holder_file(home);
        let holder = Holder { pid: std::process::id(), kind, started: now };
        write(&name, &holder)?;
        Ok(Self { _file: file, name })
    }
}

impl Drop for RuntimeLock {
    fn drop(&mut self) {
        // While the lock is still held, so that the next holder's name is never removed.
        let _ = std::fs::remove_file(&self.name);
    }
}

/// The process that runs the loops now, if any does.
pub fn holder(home: &Home) -> Result<Option<Holder>, LockError> {
    if !home.runtime_lock().exists() {
        return Ok(None);
    }
    let file = open(&home.runtime_lock())?;
    match file.try_lock_shared() {
        // The name a killed process left behind says nothing.
        Ok(()) => Ok(None),
        Err(TryLockError::WouldBlock) => Ok(Some(read(home).unwrap_or(Holder {
            pid: 0,
            kind: HolderKind::Command,
            started: DateTime::UNIX_EPOCH,
        }))),
        Err(TryLockError::Error(source)) => {
            Err(LockError::Io { doing: "look at", path: home.runtime_lock(), source })
        }
    }
}

/// The name lies beside the lock: on some systems a locked file cannot be read.
fn holder_file(home: &Home) -> PathBuf {
    home.runtime_lock().with_extension("json")
}

fn read(home: &Home) -> Option<Holder> {
    serde_json::from_slice(&std::fs::read(holder_file(home)).ok()?).ok()
}

fn write(name: &Path, holder: &Holder) -> Result<(), LockError> {
    let failed = |source| LockError::Io { doing: "write", path: name.to_owned(), source };
    let temporary = name.with_extension("json.new");
    let text = serde_json::to_vec(holder).map_err(|error| failed(error.into()))?;
    std::fs::write(&temporary, text).map_err(failed)?;
    std::fs::rename(&temporary, name).map_err(failed)
}

fn open(path: &Path) -> Result<File, LockError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|source| LockError::Io { doing: "open", path: path.to_owned(), source })
}
