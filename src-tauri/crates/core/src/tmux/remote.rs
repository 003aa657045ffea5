//! The tmux of another machine, through ssh: the same commands, guards and proofs as here.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use steward_rules::questions::roster::is_host;

use super::{Inner, Tmux, TmuxError, found, typing};

/// A machine that needs longer than this for one command is not reached.
const TIME: Duration = Duration::from_secs(15);
/// What ssh needs to find its keys and its configuration.
const KEPT: &[&str] = &["PATH", "HOME", "USER", "LOGNAME", "SSH_AUTH_SOCK"];
/// No question of ssh's own is ever answered, and a host that does not answer is given up soon.
const OPTIONS: &[&str] =
    &["-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=8", "-o", "ClearAllForwardings=yes", "--"];

impl Tmux {
    /// The default tmux server of the person's account on `host`.
    pub fn over_ssh(host: &str) -> Result<Self, TmuxError> {
        if !is_host(host) {
            return Err(TmuxError::Refused { words: "this is no host".to_owned() });
        }
        let exe: PathBuf = found("ssh").ok_or(TmuxError::NoSsh)?;
        let before = OPTIONS.iter().copied().chain([host, "tmux"]).map(OsString::from).collect();
        let environment =
            KEPT.iter().filter_map(|name| std::env::var_os(name).map(|value| (*name, value))).collect();
        Ok(Self {
            inner: Arc::new(Inner {
                exe,
                before,
                is_remote: true,
                environment,
                time: TIME,
                started: AtomicU64::new(0),
                senders: typing::Senders::default(),
            }),
        })
    }
}

/// One word for the shell that ssh starts there: nothing is special inside single quotes.
pub(super) fn quoted(word: &OsStr) -> OsString {
    let text = word.to_string_lossy();
    OsString::from(format!("'{}'", text.replace('\'', "'\\''")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_stays_one_word_in_the_shell_of_another_machine() {
        assert_eq!(quoted(OsStr::new("it's; $(rm) `x`")), "'it'\\''s; $(rm) `x`'");
        assert_eq!(quoted(OsStr::new(";")), "';'");
    }

    #[test]
    fn an_option_is_no_host() {
        assert!(matches!(Tmux::over_ssh("-oProxyCommand=x"), Err(TmuxError::Refused { .. })));
        assert!(matches!(Tmux::over_ssh("build host"), Err(TmuxError::Refused { .. })));
    }
}
