//! Runs one of the person's own tools (a formatter, a validator) over a folder: no shell, nothing inherited,
//! bounded, and nothing of it left running. Where bubblewrap is, it writes that folder only, reaches no
//! network, and ends with us even when we are killed.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::child::{Prepared, Wall, start};
use super::lines::Line;
use super::spec::Limits;
use super::{Boundary, SandboxError};

/// How often the size of what it said is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// How much of what it said is kept.
const TAIL: usize = 16 << 10;

/// One run of a tool.
#[derive(Debug, Clone)]
pub struct Tool {
    /// Absolute.
    pub program: PathBuf,
    pub args: Vec<OsString>,
    /// Where it works: the only folder it writes in.
    pub folder: PathBuf,
    /// Folders it does not see, where the boundary can hide them.
    pub closed: Vec<PathBuf>,
    pub time: Duration,
    /// Bytes it may print.
    pub output: u64,
    pub limits: Limits,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolEnd {
    /// `None` when it was killed, ran out of time or said too much.
    pub exit: Option<i32>,
    /// The last of what it said, both outputs together, as it came.
    pub said: String,
    /// It was stopped from outside: this says nothing of the folder.
    pub is_cancelled: bool,
    /// Verified: nothing of it runs any more.
    pub is_gone: bool,
}

impl Tool {
    pub(super) fn env(&self) -> Vec<(&'static str, OsString)> {
        vec![
            ("PATH", "/usr/local/bin:/usr/bin:/bin".into()),
            ("HOME", "/tmp".into()),
            ("TMPDIR", "/tmp".into()),
            ("LANG", "C.UTF-8".into()),
            ("TERM", "dumb".into()),
        ]
    }
}

/// Runs a tool to its end.
pub async fn run_tool(
    boundary: &Boundary,
    tool: &Tool,
    cancel: &CancellationToken,
) -> Result<ToolEnd, SandboxError> {
    let mut running = start(prepare(boundary, tool)?, Vec::new(), tool.limits, true)?;
    let exited = running.exited();
    tokio::pin!(exited);
    let (mut said, mut is_cancelled, mut exit, mut is_silent) = (Vec::new(), false, None, false);
    let deadline = tokio::time::Instant::now() + tool.time;
    let mut look = tokio::time::interval(LOOK);
    loop {
        tokio::select! {
            biased;
            () = cancel.cancelled() => {
                is_cancelled = true;
                break;
            }
            () = tokio::time::sleep_until(deadline) => break,
            _ = look.tick() => if running.output_bytes() > tool.output {
                break;
            },
            line = running.stdout().next(), if !is_silent => match line {
                None => is_silent = true,
                Some(line) => {
                    if let Line::Whole(line) = line {
                        said.extend_from_slice(&line);
                        said.push(b'\n');
                        let over = said.len().saturating_sub(TAIL);
                        said.drain(..over);
                    }
                }
            },
            ended = &mut exited => {
                exit = ended.code;
                break;
            }
        }
    }
    let is_gone = running.kill().await.is_clean();
    if running.output_bytes() > tool.output {
        exit = None;
    }
    said.extend_from_slice(&running.stderr_tail());
    let over = said.len().saturating_sub(TAIL);
    said.drain(..over);
    Ok(ToolEnd { exit, said: String::from_utf8_lossy(&said).into_owned(), is_cancelled, is_gone })
}

fn prepare(boundary: &Boundary, tool: &Tool) -> Result<Prepared, SandboxError> {
    match boundary {
        #[cfg(target_os = "linux")]
        Boundary::Bubblewrap { bwrap } => super::bubblewrap::prepare_tool(bwrap, tool),
        #[cfg(not(target_os = "linux"))]
        Boundary::Bubblewrap { .. } => Ok(bare(tool)),
        Boundary::Landlock { .. } | Boundary::SandboxProfile | Boundary::None { .. } => Ok(bare(tool)),
    }
}

/// Without namespaces: a process group that is walked when it has to end.
fn bare(tool: &Tool) -> Prepared {
    let mut command = Command::new(&tool.program);
    command.args(&tool.args).env_clear().envs(tool.env()).current_dir(&tool.folder);
    Prepared { command, wall: Wall::Group, inherit: Vec::new(), about: None }
}
