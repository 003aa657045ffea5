//! Another automation that comes first: whether it is busy now (engine.md 14).

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use steward_rules::engine::policy::Priority;
use steward_rules::reading::{Cause, Reading};
use tokio_util::sync::CancellationToken;

use crate::sandbox::{Boundary, Limits, Tool, run_tool};

/// How long a status command may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whether it is busy. Where none is named nothing comes first.
pub async fn busy(priority: Option<&Priority>) -> Reading<bool> {
    match priority {
        None => Reading::known(false),
        Some(Priority::LockFile(path)) => {
            let path = PathBuf::from(path);
            match tokio::task::spawn_blocking(move || is_locked(&path)).await {
                Ok(Ok(locked)) => Reading::known(locked),
                Ok(Err(error)) => unread(&error.to_string()),
                Err(error) => unread(&error.to_string()),
            }
        }
        Some(Priority::StatusCommand(words)) => status(words).await,
    }
}

fn unread(why: &str) -> Reading<bool> {
    Reading::unread(Cause::NotReadYet, format!("the automation that comes first cannot be asked: {why}"))
}

/// True while somebody holds a lock of either kind on the file. A file that is not there is not locked.
fn is_locked(path: &Path) -> std::io::Result<bool> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    if has_record_lock(&file)? {
        return Ok(true);
    }
    // Asked for, and let go at once: a shared lock is refused only while an exclusive one is held.
    match file.try_lock_shared() {
        Ok(()) => file.unlock().map(|()| false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// True while a process holds a record lock (`fcntl`, `lockf`) on any part of it.
fn has_record_lock(file: &File) -> std::io::Result<bool> {
    let mut lock = libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    nix::fcntl::fcntl(file, nix::fcntl::FcntlArg::F_GETLK(&mut lock))?;
    Ok(lock.l_type != libc::F_UNLCK as libc::c_short)
}

/// Asks the command: 0 is busy, another code is not, and no code is no answer.
async fn status(words: &[String]) -> Reading<bool> {
    let Some((program, args)) = words.split_first() else {
        return unread("its status command is empty");
    };
    if !Path::new(program).is_absolute() {
        return unread("its status command needs the whole path of a program");
    }
    let tool = Tool {
        program: PathBuf::from(program),
        args: args.iter().map(Into::into).collect(),
        folder: PathBuf::from("/"),
        closed: Vec::new(),
        time: PATIENCE,
        output: 1 << 20,
        limits: Limits::default(),
    };
    // It looks at this machine, so there is no wall around it.
    let bare = Boundary::None { reason: String::new() };
    match run_tool(&bare, &tool, &CancellationToken::new()).await {
        Ok(ended) => match ended.exit {
            Some(code @ 0..=125) => Reading::known(code == 0),
            Some(_) | None => unread("its status command did not end by itself"),
        },
        Err(error) => unread(&error.to_string()),
    }
}
