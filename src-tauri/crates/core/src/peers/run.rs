//! Runs one outside command, bounded.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use steward_rules::untrusted::Untrusted;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use crate::group::Group;

/// Bytes of one answer.
const ANSWER_CAP: usize = 4 << 20;
const WORDS_CAP: usize = 4 << 10;
/// Characters of a command's own words that are kept.
const SHOWN: usize = 200;

/// Why an outside command gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    #[error("{0} is not installed")]
    Missing(&'static str),
    #[error("{program} did not answer within {seconds} s")]
    Timeout { program: &'static str, seconds: u64 },
    #[error("{program} printed more than {limit} bytes")]
    TooLarge { program: &'static str, limit: usize },
    /// It ended with a failure; its own words, on one line.
    #[error("{program}: {words}")]
    Refused { program: &'static str, words: String },
    /// It was ended from outside, so what it did is not known.
    #[error("{program} was ended before it was done ({how})")]
    Ended { program: &'static str, how: String },
    #[error("{program} printed what Steward does not understand: {why}")]
    Odd { program: &'static str, why: String },
    #[error("starting {program}: {source}")]
    Start { program: &'static str, source: std::io::Error },
}

/// The first program of this name on PATH.
pub(super) fn find(program: &'static str) -> Result<PathBuf, PeerError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
        .ok_or(PeerError::Missing(program))
}

/// One command to be run.
pub(super) struct Line<'a> {
    pub program: &'static str,
    pub path: &'a Path,
    pub args: Vec<&'a OsStr>,
    pub folder: &'a Path,
    /// Names of this process's environment that it gets.
    pub kept: &'a [&'a str],
    pub set: Vec<(&'a str, &'a str)>,
    /// What it reads.
    pub input: Option<&'a str>,
    pub time: Duration,
}

/// Runs it to its end and gives what it printed; past its time it is ended with everything it started.
pub(super) async fn run(line: Line<'_>) -> Result<Vec<u8>, PeerError> {
    let (program, time) = (line.program, line.time);
    tokio::time::timeout(time, talk(line))
        .await
        .map_err(|_elapsed| PeerError::Timeout { program, seconds: time.as_secs() })?
}

async fn talk(line: Line<'_>) -> Result<Vec<u8>, PeerError> {
    let program = line.program;
    let start = |source| PeerError::Start { program, source };
    let environment = line.kept.iter().filter_map(|name| std::env::var_os(name).map(|value| (*name, value)));
    let mut command = Command::new(line.path);
    command
        .args(&line.args)
        .current_dir(line.folder)
        .env_clear()
        .envs(environment)
        .envs(line.set.iter().copied())
        .stdin(if line.input.is_some() { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    let mut child = command.spawn().map_err(start)?;
    let mut group = Group::of(&child);
    let (out, words) =
        (child.stdout.take().expect("BUG: piped above"), child.stderr.take().expect("BUG: piped above"));
    let (input, text) = (child.stdin.take(), line.input.unwrap_or_default().as_bytes());
    let feed = async move {
        if let Some(mut input) = input {
            // A program that does not read to the end says so by how it ends.
            let _ = input.write_all(text).await;
        }
    };
    let (out, words, ()) = tokio::join!(read_capped(out, ANSWER_CAP), read_capped(words, WORDS_CAP), feed);
    let out = out.map_err(start)?;
    if out.len() > ANSWER_CAP {
        return Err(PeerError::TooLarge { program, limit: ANSWER_CAP });
    }
    let status = child.wait().await.map_err(start)?;
    group.has_ended();
    if status.success() {
        return Ok(out);
    }
    if status.code().is_none() {
        return Err(PeerError::Ended { program, how: status.to_string() });
    }
    let mut said = String::from_utf8_lossy(&words.unwrap_or_default()).into_owned();
    if said.trim().is_empty() {
        said = String::from_utf8_lossy(&out[..out.len().min(WORDS_CAP)]).into_owned();
    }
    let words = match said.trim() {
        "" => format!("it ended with {status}"),
        said => Untrusted::new(said).one_line(SHOWN),
    };
    Err(PeerError::Refused { program, words })
}

/// Reads to the end or one byte past the cap; what comes after is left unread.
async fn read_capped(pipe: impl AsyncRead + Unpin, cap: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    pipe.take(cap as u64 + 1).read_to_end(&mut bytes).await?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn past_its_time_a_command_ends_with_everything_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let (started, script) = (folder.path().join("started"), folder.path().join("slow"));
        let lines =
            format!("sleep 600 &\necho $! > '{0}.new'\nmv '{0}.new' '{0}'\nwait\n", started.display());
        std::fs::write(&script, lines).unwrap();
        let running = tokio::spawn({
            let (script, folder) = (script.clone(), folder.path().to_owned());
            async move {
                run(Line {
                    program: "slow",
                    path: Path::new("/bin/sh"),
                    args: vec![script.as_os_str()],
                    folder: &folder,
                    kept: &["PATH"],
                    set: Vec::new(),
                    input: None,
                    time: Duration::from_secs(3),
                })
                .await
            }
        });
        assert!(matches!(running.await.unwrap(), Err(PeerError::Timeout { .. })));
        let sleeper: i32 = std::fs::read_to_string(&started).unwrap().trim().parse().unwrap();
        let until = std::time::Instant::now() + Duration::from_secs(20);
        // Ended is what is gone, or waits only for whoever collects it.
        let runs = || {
            let stat = std::fs::read_to_string(format!("/proc/{sleeper}/stat")).unwrap_or_default();
            stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
        };
        while runs() {
            assert!(std::time::Instant::now() < until, "what it started goes on");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    #[tokio::test]
    async fn what_a_command_did_that_was_ended_from_outside_is_not_known() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("dies");
        std::fs::write(&script, "kill -9 $$\n").unwrap();
        let ended = run(Line {
            program: "dies",
            path: Path::new("/bin/sh"),
            args: vec![script.as_os_str()],
            folder: folder.path(),
            kept: &["PATH"],
            set: Vec::new(),
            input: None,
            time: Duration::from_secs(20),
        })
        .await;
        assert!(matches!(ended, Err(PeerError::Ended { .. })), "{ended:?}");
    }
}
