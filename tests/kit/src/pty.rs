//! Runs a command as a person (its standard input is a terminal) or as a script (it has none).

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
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

/// Runs a command of a person who pipes `input` into it: the terminal is behind standard error, of which
/// nothing is kept.
pub fn piped(command: &mut Command, input: &str) -> Ran {
    let terminal = nix::pty::openpty(None, None).expect("a pseudo terminal");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::from(terminal.slave));
    let mut child = command.spawn().expect("the program can be started");
    let mut stdin = child.stdin.take().expect("BUG: stdin is piped");
    // A program that refuses before it reads has closed the pipe.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let seen = drained(terminal.master);
    let mut ran = end(child);
    // The program and this command hold the other end; both are gone before the rest is read.
    command.stderr(Stdio::null());
    ran.stderr = seen.join().unwrap_or_default();
    ran
}

/// Runs a command of a person who types `text` and Enter once `prompt` shows on standard error. The second
/// value is what the terminal showed of the typing.
pub fn typed(command: &mut Command, prompt: &str, text: &str) -> (Ran, String) {
    let terminal = nix::pty::openpty(None, None).expect("a pseudo terminal");
    command.stdin(Stdio::from(terminal.slave)).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program can be started");
    let mut err = child.stderr.take().expect("BUG: stderr is piped");
    let mut said = Vec::new();
    let mut byte = [0];
    while !said.ends_with(prompt.as_bytes()) && err.read(&mut byte).is_ok_and(|read| read == 1) {
        said.extend(byte);
    }
    let mut master = std::fs::File::from(terminal.master.try_clone().expect("a second handle"));
    master.write_all(format!("{text}\n").as_bytes()).expect("a terminal takes what is typed");
    let seen = drained(terminal.master);
    let mut ran = end(child);
    command.stdin(Stdio::null());
    let _ = err.read_to_end(&mut said);
    ran.stderr = String::from_utf8_lossy(&said).into_owned();
    (ran, seen.join().unwrap_or_default())
}

/// Reads what a terminal shows until nobody holds its other end.
fn drained(master: OwnedFd) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let (mut master, mut text) = (std::fs::File::from(master), Vec::new());
        let mut part = [0; 1024];
        // A terminal whose other end is closed answers with an error.
        while let Ok(read @ 1..) = master.read(&mut part) {
            text.extend_from_slice(&part[..read]);
        }
        String::from_utf8_lossy(&text).into_owned()
    })
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
    end(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program can be started"))
}

/// Reads what is piped and waits for the end.
fn end(mut child: Child) -> Ran {
    let read_out = whole(child.stdout.take());
    let read_err = whole(child.stderr.take());
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
    let text = |reading: std::thread::JoinHandle<Vec<u8>>| {
        let bytes = reading.join();
        String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
    };
    Ran { code: status.code().unwrap_or(-1), stdout: text(read_out), stderr: text(read_err) }
}

fn whole(stream: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(mut stream) = stream {
            let _ = stream.read_to_end(&mut text);
        }
        text
    })
}
