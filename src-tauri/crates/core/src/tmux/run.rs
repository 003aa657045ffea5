//! Runs one tmux command with nothing inherited, a time limit and a cap on what it prints.

use std::ffi::{OsStr, OsString};
use std::process::Stdio;
use std::sync::atomic::Ordering;

use steward_rules::questions::pane::PaneId;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

use super::remote::quoted;
use super::{Tmux, TmuxError};
use crate::group::Group;

/// Bytes of one answer: a screen of 500 lines with colours fits many times.
const ANSWER_CAP: usize = 4 << 20;
const WORDS_CAP: usize = 4 << 10;

impl Tmux {
    /// Runs one command line and gives back what it printed. `pane` is the one it is about.
    pub(super) async fn run<I, S>(&self, args: I, pane: Option<&PaneId>) -> Result<Vec<u8>, TmuxError>
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let args: Vec<OsString> = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
        let time = self.inner.time;
        tokio::time::timeout(time, self.talk(args, pane))
            .await
            .map_err(|_elapsed| TmuxError::Timeout { seconds: time.as_secs() })?
    }

    async fn talk(&self, args: Vec<OsString>, pane: Option<&PaneId>) -> Result<Vec<u8>, TmuxError> {
        let inner = &self.inner;
        let mut command = Command::new(&inner.exe);
        command.args(&inner.before);
        if inner.is_remote {
            command.args(["-u", "-N"]).args(args.iter().map(|arg| quoted(arg)));
        } else {
            command.args(args);
        }
        command
            .current_dir("/")
            .env_clear()
            .envs(inner.environment.iter().map(|(name, value)| (*name, value.as_os_str())))
            .env("LC_ALL", "C.UTF-8")
            .env("TERM", "dumb")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        inner.started.fetch_add(1, Ordering::Relaxed);
        let mut child = command.spawn().map_err(|source| TmuxError::Start { source })?;
        let mut group = Group::of(&child);
        let (out, words) =
            (child.stdout.take().expect("BUG: piped above"), child.stderr.take().expect("BUG: piped above"));
        let (out, words) = tokio::join!(read_capped(out, ANSWER_CAP), read_capped(words, WORDS_CAP));
        let out = out.map_err(|source| TmuxError::Start { source })?;
        if out.len() > ANSWER_CAP {
            return Err(TmuxError::TooLarge { limit: ANSWER_CAP });
        }
        let status = child.wait().await.map_err(|source| TmuxError::Start { source })?;
        group.has_ended();
        if status.success() {
            return Ok(out);
        }
        Err(TmuxError::from_words(&words.unwrap_or_default(), pane))
    }
}

/// Reads to the end or one byte past the cap; what comes after is left unread.
async fn read_capped(pipe: impl AsyncRead + Unpin, cap: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    pipe.take(cap as u64 + 1).read_to_end(&mut bytes).await?;
    Ok(bytes)
}
