//! Runs a command as a person (its standard input is a terminal) or as a script (it has none).

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::home::TestHome;

/// How a command ended and what it printed.
#[derive(Debug, Clone)]
pub struct Ran {
    /// The exit code; -1 when a signal ended it.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// Standard output as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|e| panic!("no JSON on stdout ({e}): {}\n{}", self.stdout, self.stderr))
    }

    /// Panics with everything printed unless it ended with 0.
    pub fn ok(self) -> Self {
        assert_eq!(self.code, 0, "exit code; stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }
}

/// Runs `program` in this home with a terminal as standard input, as a person would.
pub fn person(home: &TestHome, program: &Path, args: &[&str]) -> Ran {
    person_with(home, program, args, &[])
}

/// Like [`person`], with more environment.
pub fn person_with(home: &TestHome, program: &Path, args: &[&str], extra: &[(&str, &str)]) -> Ran {
    let terminal = nix::pty::openpty(None, None).expect("a pseudo terminal");
    let ran = run(command(home, program, args, extra).stdin(Stdio::from(terminal.slave)));
    drop(terminal.master);
    ran
}

/// Runs `program` without any terminal, as a hook or an agent's tool does.
pub fn script(home: &TestHome, program: &Path, args: &[&str], extra: &[(&str, &str)]) -> Ran {
    run(command(home, program, args, extra).stdin(Stdio::null()))
}

/// A command with this home's environment and no other.
pub fn command(home: &TestHome, program: &Path, args: &[&str], extra: &[(&str, &str)]) -> Command {
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(home.environment()).envs(extra.iter().copied());
    command
}

fn run(command: &mut Command) -> Ran {
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program can be started");
    let mut out = child.stdout.take().expect("BUG: stdout is piped");
    let mut err = child.stderr.take().expect("BUG: stderr is piped");
    let read_out = std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = out.read_to_end(&mut text);
        text
    });
    let read_err = std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = err.read_to_end(&mut text);
        text
    });
    let deadline = Instant::now() + Duration::from_secs(120);
    let status = loop {
        match child.try_wait().expect("the child can be waited for") {
            Some(status) => break status,
            None if Instant::now() > deadline => {
                let _ = child.kill();
                break child.wait().expect("the child can be waited for");
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let text = |bytes: std::thread::Result<Vec<u8>>| {
        String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
    };
    Ran { code: status.code().unwrap_or(-1), stdout: text(read_out.join()), stderr: text(read_err.join()) }
}
