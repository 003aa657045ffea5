//! The first of the two commands of the README, as a person types it.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use steward_desktop_tests::desk::{Desk, Furniture};
use steward_desktop_tests::process::Running;
use steward_desktop_tests::until;

/// Set-up looks at every package and the build finds everything built.
const START: Duration = Duration::from_secs(240);

#[tokio::test]
async fn the_first_command_opens_the_app() -> Result<()> {
    let desk = Desk::new(Furniture::All).await?;
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    desk.dress(&mut command);
    // The tools of the machine, not its person's Steward.
    for name in ["CARGO_HOME", "RUSTUP_HOME", "CARGO_TARGET_DIR"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    let person = std::env::var_os("HOME").map(PathBuf::from).context("HOME is not set")?;
    if std::env::var_os("CARGO_HOME").is_none() {
        command.env("CARGO_HOME", person.join(".cargo")).env("RUSTUP_HOME", person.join(".rustup"));
    }
    command.args(["xtask", "run"]).current_dir(root).stdin(Stdio::null()).process_group(0);
    let mut running = Running::start(&mut command)?;
    let group = Pid::from_raw(i32::try_from(running.id())?);
    until("the window that `cargo xtask run` opens", START, async || {
        if let Ok(Some(status)) = running.ended() {
            panic!("cargo xtask run ended with {status}");
        }
        desk.display.shows_window().ok()?.then_some(())
    })
    .await;
    // The command is over when the app is.
    killpg(group, Signal::SIGTERM)?;
    until("the app to end", Duration::from_secs(15), async || running.ended().ok().flatten()).await;
    Ok(())
}
