//! Debian packages: which are needed, which are missing, how they come in.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::shell::{must, on_path, output};

/// What the app is built from.
const BUILD: &[&str] = &[
    "build-essential",
    "file",
    "git",
    "libayatana-appindicator3-dev",
    "librsvg2-dev",
    "libssl-dev",
    "libwebkit2gtk-4.1-dev",
    "libxdo-dev",
    "pkg-config",
];

/// What it runs on: the boundary of a seat, panes, the keyring.
const RUN: &[&str] = &["bubblewrap", "dbus", "gnome-keyring", "tmux"];

/// What its tests look through. Not `dbus-x11`: it starts a bus of its own that outlives the test.
const TEST: &[&str] = &[
    "chromium",
    "fonts-dejavu-core",
    "gh",
    "libegl1",
    "libgl1-mesa-dri",
    "libsecret-tools",
    "webkit2gtk-driver",
    "xauth",
    "xclip",
    "xvfb",
];

/// What the packages are wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To build the app and run it.
    App,
    /// To test it as well.
    Tests,
}

/// Installs the missing packages on Debian and Ubuntu; elsewhere names the missing programs.
pub fn install(purpose: Purpose) -> Result<()> {
    if !cfg!(target_os = "linux") {
        println!("system packages: none are installed by this script on {}", std::env::consts::OS);
        return Ok(());
    }
    if !is_debian() {
        return name_missing_programs(purpose);
    }
    let tests = match purpose {
        Purpose::App => &[],
        Purpose::Tests => TEST,
    };
    let missing: Vec<&str> =
        [BUILD, RUN, tests].concat().into_iter().filter(|package| !is_installed(package)).collect();
    if missing.is_empty() {
        println!("system packages: all installed");
        return Ok(());
    }
    let list = missing.join(" ");
    let Some(mut prefix) = root_prefix() else {
        bail!(
            "these packages are missing and this is not root: run\n  sudo apt-get install -y --no-install-recommends {list}"
        );
    };
    println!("system packages: installing {list}");
    prefix.extend(["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]);
    must(words(&prefix).args(["-q", "update"]))?;
    must(words(&prefix).args(["-q", "install", "-y", "--no-install-recommends"]).args(&missing))
}

fn is_debian() -> bool {
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let family = release
        .lines()
        .filter_map(|line| line.strip_prefix("ID=").or_else(|| line.strip_prefix("ID_LIKE=")))
        .any(|names| names.trim_matches('"').split(' ').any(|name| name == "debian" || name == "ubuntu"));
    family && on_path("apt-get").is_some()
}

fn is_installed(package: &str) -> bool {
    output(Command::new("dpkg-query").args(["-W", "-f=${Status}", package]))
        .is_some_and(|status| status.ends_with(" installed"))
}

/// The words before `apt-get`: none for root, `sudo` where it exists.
fn root_prefix() -> Option<Vec<&'static str>> {
    let is_root = output(Command::new("id").arg("-u")).is_some_and(|id| id == "0");
    if is_root { Some(Vec::new()) } else { on_path("sudo").map(|_| vec!["sudo"]) }
}

fn words(list: &[&str]) -> Command {
    let mut command = Command::new(list[0]);
    command.args(&list[1..]);
    command
}

fn name_missing_programs(purpose: Purpose) -> Result<()> {
    let app = [("pkg-config", "pkg-config"), ("git", "git"), ("bwrap", "bubblewrap"), ("tmux", "tmux")];
    let tests = [
        ("chromium", "Chromium"),
        ("Xvfb", "the virtual X server"),
        ("WebKitWebDriver", "the WebKitGTK 4.1 web driver"),
        ("xclip", "xclip"),
        ("gnome-keyring-daemon", "gnome-keyring"),
        ("dbus-run-session", "D-Bus"),
    ];
    let wanted = match purpose {
        Purpose::App => &[],
        Purpose::Tests => &tests[..],
    };
    let mut missing: Vec<String> = app
        .iter()
        .chain(wanted)
        .filter(|(program, _)| on_path(program).is_none())
        .map(|(program, what)| format!("{what} ({program})"))
        .collect();
    for library in ["webkit2gtk-4.1", "ayatana-appindicator3-0.1", "librsvg-2.0"] {
        if output(Command::new("pkg-config").args(["--exists", library])).is_none() {
            missing.push(format!("development files of {library}"));
        }
    }
    if missing.is_empty() {
        println!("system packages: everything needed is here");
        return Ok(());
    }
    let known = if Path::new("/etc/os-release").exists() { "this distribution" } else { "this system" };
    bail!("{known} is not set up by this script; install: {}", missing.join(", "))
}
