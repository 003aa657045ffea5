//! A private session bus with or without a real keyring on it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

/// What lies behind `org.freedesktop.secrets` in the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keyring {
    /// gnome-keyring, open.
    Unlocked,
    /// gnome-keyring, which the bus starts when asked; nobody unlocked it.
    Locked,
    /// A bus without a Secret Service.
    NoService,
    /// No bus at all.
    NoBus,
}

/// The programs this needs that are not installed, so that a test can say why it is skipped.
pub fn missing() -> Option<&'static str> {
    ["dbus-run-session", "dbus-send", "gnome-keyring-daemon"].into_iter().find(|program| !installed(program))
}

fn installed(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|paths| std::env::split_paths(&paths).any(|folder| folder.join(program).is_file()))
}

/// A bus that knows no services to start.
const EMPTY_BUS: &str = r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:tmpdir=/tmp</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"#;

/// Starts the keyring in the foreground, waits until it owns its name, runs the command, ends both.
const WITH_OPEN_KEYRING: &str = r#"
printf 'pw\n' | gnome-keyring-daemon --unlock --components=secrets --foreground >/dev/null 2>&1 &
keyring=$!
tries=0
until dbus-send --session --print-reply --dest=org.freedesktop.DBus / \
        org.freedesktop.DBus.NameHasOwner string:org.freedesktop.secrets 2>/dev/null | grep -q true; do
    tries=$((tries + 1))
    [ "$tries" -gt 200 ] && { echo "the keyring did not start" >&2; exit 97; }
    sleep 0.05
done
"$@"
code=$?
kill "$keyring" 2>/dev/null
exit "$code"
"#;

/// A command that runs `program` in a session of its own, with `home` as its home and nothing of this
/// process's environment but `PATH`.
pub fn command(keyring: Keyring, home: &Path, program: &Path) -> Result<Command> {
    let folders: Vec<(&str, PathBuf)> = [
        ("HOME", "."),
        ("XDG_CONFIG_HOME", "config"),
        ("XDG_DATA_HOME", "data"),
        ("XDG_STATE_HOME", "state"),
        ("XDG_CACHE_HOME", "cache"),
        ("XDG_RUNTIME_DIR", "run"),
    ]
    .map(|(name, folder)| (name, home.join(folder)))
    .into();
    for (_, folder) in &folders {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder).with_context(|| format!("create {}", folder.display()))?;
    }
    let mut command = match keyring {
        Keyring::Unlocked => {
            let mut command = Command::new("dbus-run-session");
            command.args(["--", "sh", "-c", WITH_OPEN_KEYRING, "sh"]).arg(program);
            command
        }
        Keyring::Locked => {
            let mut command = Command::new("dbus-run-session");
            command.arg("--").arg(program);
            command
        }
        Keyring::NoService => {
            let config = home.join("empty-bus.conf");
            std::fs::write(&config, EMPTY_BUS)?;
            let mut command = Command::new("dbus-run-session");
            command.arg(format!("--config-file={}", config.display())).arg("--").arg(program);
            command
        }
        Keyring::NoBus => Command::new(program),
    };
    command.env_clear().envs(folders);
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    Ok(command)
}
