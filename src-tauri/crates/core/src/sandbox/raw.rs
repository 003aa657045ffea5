//! The one place with `unsafe`: what a child does between fork and exec.

use std::os::fd::{BorrowedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::resource::{Resource, setrlimit};

use super::spec::Limits;

/// Lets `fds` stay open across exec in this one child, and limits its resources. Every other child
/// of this process still loses them, since the flag is cleared after the fork.
#[allow(unsafe_code, reason = "pre_exec has no safe form")]
pub(super) fn keep_and_limit(command: &mut Command, fds: Vec<RawFd>, limits: Limits, dies: bool) {
    let work = move || {
        for &fd in &fds {
            // SAFETY: the parent owns `fd` until `spawn` returns, so it is open in the child.
            let fd = unsafe { BorrowedFd::borrow_raw(fd) };
            fcntl(fd, FcntlArg::F_SETFD(FdFlag::empty()))?;
        }
        #[cfg(target_os = "linux")]
        if dies {
            nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
        }
        #[cfg(not(target_os = "linux"))]
        let _ = dies;
        apply(&limits)?;
        Ok(())
    };
    // SAFETY: between fork and exec only fcntl, prctl and setrlimit run; all are async-signal-safe system
    // calls, and the closure allocates nothing.
    unsafe { command.pre_exec(work) };
}

/// Limits the resources of this process and its children.
pub(super) fn apply(limits: &Limits) -> nix::Result<()> {
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    setrlimit(Resource::RLIMIT_FSIZE, limits.file_bytes, limits.file_bytes)?;
    setrlimit(Resource::RLIMIT_NOFILE, limits.open_files, limits.open_files)?;
    if let Some(bytes) = limits.memory_bytes {
        setrlimit(Resource::RLIMIT_AS, bytes, bytes)?;
    }
    Ok(())
}
