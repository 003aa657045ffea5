//! Starting other programs: where the tree is, which programs exist, what a command said.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, Result, bail};

use crate::tally::Tally;

/// The folder of the workspace's `Cargo.toml`.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(3).unwrap_or(here).to_path_buf()
}

/// The folder cargo builds into.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The cargo that runs this command.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// A program started in a folder of the tree.
pub fn program(name: &str, folder: &Path) -> Command {
    let mut command = Command::new(name);
    command.current_dir(folder);
    command
}

/// Where a program stands on PATH.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    std::env::split_paths(&paths).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Runs a command with its output on ours, and fails when it does.
pub fn must(command: &mut Command) -> Result<()> {
    let said = spell(command);
    let status = command.status().with_context(|| format!("starting {said}"))?;
    if !status.success() {
        bail!("{said}: {status}");
    }
    Ok(())
}

/// What a command prints, when it succeeds.
pub fn output(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Runs a test runner: its output goes to ours line by line, and its counts into the tally.
pub fn must_counting(command: &mut Command, tally: &mut Tally) -> Result<()> {
    let said = spell(command);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("starting {said}"))?;
    let out = child.stdout.take().map(|pipe| thread::spawn(move || relay(pipe, Channel::Out)));
    let err = child.stderr.take().map(|pipe| thread::spawn(move || relay(pipe, Channel::Err)));
    let status = child.wait().with_context(|| format!("waiting for {said}"))?;
    let mut counted = Tally::default();
    for reader in [out, err].into_iter().flatten() {
        counted.add(reader.join().unwrap_or_default());
    }
    let ran = counted.passed + counted.failed;
    tally.add(counted);
    if !status.success() {
        bail!("{said}: {status}");
    }
    if ran == 0 {
        bail!("{said} ended well, but ran no test");
    }
    Ok(())
}

enum Channel {
    Out,
    Err,
}

fn relay(pipe: impl Read, channel: Channel) -> Tally {
    let mut tally = Tally::default();
    let mut reader = BufReader::new(pipe);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
        let text = String::from_utf8_lossy(&line);
        match channel {
            Channel::Out => print!("{text}"),
            Channel::Err => eprint!("{text}"),
        }
        tally.read(&text);
        line.clear();
    }
    tally
}

fn spell(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let spelled: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    spelled.join(" ")
}
