//! `cargo xtask test`: set up, then every check and every test, in the order that finds faults soonest.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::generate::GENERATED;
use crate::setup::{self, Ready};
use crate::shell::{cargo, must, must_counting, on_path, output, program, root, target};
use crate::stages::{Stages, Step};
use crate::tally::Tally;

/// Variables of the person's own session that no test may see.
const PRIVATE: &[&str] =
    &["ANTHROPIC_", "CLAUDE", "GH_", "GITHUB_", "GIT_", "OPENAI_", "STEWARD_", "SSH_", "DBUS_", "TMUX"];

pub fn test(words: &[String]) -> Result<()> {
    if let Some(word) = words.first() {
        bail!("test takes no words, and got {word}; for one test use cargo nextest run");
    }
    let mut stages = Stages::new();
    let mut ready = Ready { claude: None, codex: None };
    stages.stage("set-up", &[], |_| {
        ready = setup::setup()?;
        Ok(Step::Done)
    });
    let home = Home::make()?;
    stages.stage("format", &[], |_| done(must(cargo().args(["fmt", "--all", "--check"]))));
    stages.stage("clippy", &["set-up"], |_| {
        done(must(cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])))
    });
    stages.stage("licences", &[], |_| licences());
    stages.stage("build", &["set-up"], |_| done(must(cargo().args(["build", "--workspace"]))));
    stages.stage("rust tests", &["build"], |tally| rust_tests(&home, &ready, Suite::AllButWindow, tally));
    // Permits that cannot be forged: code that must not compile is in the examples of `rules`.
    stages.stage("forgeries", &["set-up"], |_| {
        done(must(cargo().args(["test", "--quiet", "--doc", "--package", "steward-rules"])))
    });
    stages.stage("generated files", &["rust tests"], |_| generated());
    stages.stage("window check", &["set-up"], |_| npm("check"));
    stages.stage("window tests", &["set-up"], |tally| npm_counting(&home, "test", tally));
    stages.stage("window on the bridge", &["build"], |tally| bridge(&home, tally));
    stages.stage("desktop", &["build"], |tally| desktop(&home, &ready, tally));
    stages.close()
}

fn done(result: Result<()>) -> Result<Step> {
    result.map(|()| Step::Done)
}

enum Suite {
    AllButWindow,
    Window,
}

/// Runs the Rust tests. The workspace is always built as one, so that nothing is compiled twice.
fn rust_tests(home: &Home, ready: &Ready, suite: Suite, tally: &mut Tally) -> Result<Step> {
    let mut command = cargo();
    if setup::has_nextest() {
        command.args(["nextest", "run", "--workspace", "--no-fail-fast", "-E"]).arg(match suite {
            Suite::AllButWindow => "not package(steward-desktop-tests)",
            Suite::Window => "package(steward-desktop-tests)",
        });
    } else {
        println!("cargo-nextest is not installed: cargo test runs the same tests, more slowly");
        command.args(["test", "--no-fail-fast"]);
        match suite {
            Suite::AllButWindow => command.args(["--workspace", "--exclude", "steward-desktop-tests"]),
            Suite::Window => command.args(["--package", "steward-desktop-tests", "--", "--test-threads=1"]),
        };
    }
    home.enter(&mut command);
    if let Some(claude) = &ready.claude {
        command.env("STEWARD_TEST_CLAUDE", claude);
    }
    if let Some(codex) = &ready.codex {
        command.env("STEWARD_TEST_CODEX", codex);
    }
    done(must_counting(&mut command, tally))
}

fn licences() -> Result<Step> {
    if on_path("cargo-deny").is_none() {
        return Ok(Step::Skipped("cargo-deny is not installed".to_owned()));
    }
    done(must(cargo().args(["deny", "--offline", "check", "licenses", "bans", "sources"])))
}

/// The tests have just written every generated file again; none may differ from what is committed.
fn generated() -> Result<Step> {
    if output(program("git", &root()).args(["rev-parse", "--git-dir"])).is_none() {
        return Ok(Step::Skipped("this is not a git checkout".to_owned()));
    }
    must(program("git", &root()).args(["diff", "--exit-code", "--"]).args(GENERATED))
        .context("generated files differ from the committed ones; run cargo xtask generate and commit")?;
    let new = output(
        program("git", &root()).args(["ls-files", "--others", "--exclude-standard", "--"]).args(GENERATED),
    );
    match new.as_deref() {
        Some("") => Ok(Step::Done),
        Some(files) => bail!("these generated files are not committed:\n{files}"),
        None => bail!("git could not list new files"),
    }
}

fn npm(script: &str) -> Result<Step> {
    done(must(program("npm", &root().join("ui")).args(["run", "--silent", script])))
}

fn npm_counting(home: &Home, script: &str, tally: &mut Tally) -> Result<Step> {
    let mut command = program("npm", &root().join("ui"));
    command.args(["run", "--silent", script]);
    home.enter(&mut command);
    done(must_counting(&mut command, tally))
}

fn bridge(home: &Home, tally: &mut Tally) -> Result<Step> {
    npm_counting(home, "test:bridge", tally)
}

/// The built app in a real window. Each test brings its own display and bus.
fn desktop(home: &Home, ready: &Ready, tally: &mut Tally) -> Result<Step> {
    if !cfg!(target_os = "linux") {
        return Ok(Step::Skipped("the window is driven through WebKitGTK, on Linux only".to_owned()));
    }
    rust_tests(home, ready, Suite::Window, tally)
}

/// A home of its own for the tests, so that they read and write nothing of the person's.
struct Home {
    folder: PathBuf,
}

impl Home {
    fn make() -> Result<Self> {
        let folder = target().join("test-home");
        if folder.exists() {
            std::fs::remove_dir_all(&folder).with_context(|| format!("clearing {}", folder.display()))?;
        }
        for part in ["", ".config", ".local/share", ".local/state", ".cache"] {
            std::fs::create_dir_all(folder.join(part))?;
        }
        Ok(Self { folder })
    }

    /// Starts a command in this home, with the tools of the person's own.
    fn enter(&self, command: &mut Command) {
        for (name, _) in std::env::vars_os() {
            let spelled = name.to_string_lossy();
            if PRIVATE.iter().any(|prefix| spelled.starts_with(prefix)) {
                command.env_remove(&name);
            }
        }
        let person = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        let kept = |name: &str, folder: &str| -> PathBuf {
            std::env::var_os(name).map_or_else(|| person.join(folder), PathBuf::from)
        };
        command
            .env("CARGO_HOME", kept("CARGO_HOME", ".cargo"))
            .env("RUSTUP_HOME", kept("RUSTUP_HOME", ".rustup"))
            .env("HOME", &self.folder)
            .env("XDG_CONFIG_HOME", self.folder.join(".config"))
            .env("XDG_DATA_HOME", self.folder.join(".local/share"))
            .env("XDG_STATE_HOME", self.folder.join(".local/state"))
            .env("XDG_CACHE_HOME", self.folder.join(".cache"))
            .env("CARGO_TERM_COLOR", "never")
            .env("NO_COLOR", "1")
            .env_remove("XDG_RUNTIME_DIR")
            .env_remove("WAYLAND_DISPLAY")
            .env_remove("DISPLAY");
    }
}
