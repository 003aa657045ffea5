//! The process group of a command that was started as its leader.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Ends a command and everything it started, unless it came to its own end before. To be dropped while its
/// leader is not waited for yet: so long nobody else has its number.
#[derive(Debug)]
pub(crate) struct Group(Option<Pid>);

impl Group {
    /// The group that this child leads; nothing for one that was waited for.
    pub fn of(child: &tokio::process::Child) -> Self {
        Self(child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw))
    }

    /// Its leader came to its end: what it left behind on purpose goes on.
    pub fn has_ended(&mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            let _gone_already = kill(Pid::from_raw(-leader.as_raw()), Signal::SIGKILL);
        }
    }
}
