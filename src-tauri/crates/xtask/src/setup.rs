//! Everything that must be there before the app can be built and tested.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result, bail};

use crate::packages::{self, Purpose};
use crate::shell::{must, on_path, output, program, root};

const NODE_MAJOR: u32 = 20;
const NODE_MINOR: u32 = 19;
const CLAUDE_VERSION: &str = "2.1.332";
const CODEX_VERSION: &str = "0.171.0";

/// What set-up found or made, for those who test.
pub struct Ready {
    /// The agent that the seat's tests run, where one exists for this machine.
    pub claude: Option<PathBuf>,
    /// The second agent whose screens the pane tests read, likewise.
    pub codex: Option<PathBuf>,
}

/// Installs what is missing to build and run the app, and says so.
pub fn for_app() -> Result<()> {
    window_ready(Purpose::App)
}

/// Installs what is missing to test it as well.
pub fn setup() -> Result<Ready> {
    window_ready(Purpose::Tests)?;
    Ok(Ready { claude: claude()?, codex: codex()? })
}

fn window_ready(purpose: Purpose) -> Result<()> {
    packages::install(purpose)?;
    check_node()?;
    npm_install()?;
    build_ui()
}

fn check_node() -> Result<()> {
    let version = output(program("node", &root()).arg("--version"))
        .context("node is not installed: Node 20.19 or newer is needed")?;
    let mut numbers = version.trim_start_matches('v').split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let (major, minor) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if (major, minor) < (NODE_MAJOR, NODE_MINOR) {
        bail!("node {version} is too old: {NODE_MAJOR}.{NODE_MINOR} or newer is needed");
    }
    println!("node: {version}");
    Ok(())
}

/// Installs the window's packages when the lock file is not the one they came from.
fn npm_install() -> Result<()> {
    let ui = root().join("ui");
    let lock = std::fs::read(ui.join("package-lock.json")).context("reading ui/package-lock.json")?;
    let stamp = ui.join("node_modules/.steward-lock");
    if std::fs::read(&stamp).is_ok_and(|stamped| stamped == lock) {
        println!("npm packages: as the lock file says");
        return Ok(());
    }
    println!("npm packages: npm install in ui, as the lock file says");
    // Not `npm ci`: it refuses a lock file without the entry of an optional package for another system.
    // This takes every version from the lock file all the same, and writes nothing back.
    must(program("npm", &ui).args(["install", "--no-save", "--no-audit", "--no-fund"]))?;
    std::fs::write(&stamp, lock).context("noting which lock file was installed")
}

/// Puts the Claude CLI's native package beside other caches, outside the tree, shared by every clone.
fn claude() -> Result<Option<PathBuf>> {
    let package = match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => "@anthropic-ai/claude-code-linux-x64",
        ("linux", "aarch64") => "@anthropic-ai/claude-code-linux-arm64",
        (os, arch) => {
            println!("agent for the seat's tests: skipped: none is pinned for {os} {arch}");
            return Ok(None);
        }
    };
    let binary = format!("node_modules/{package}/claude");
    agent("claude", CLAUDE_VERSION, &format!("{package}@{CLAUDE_VERSION}"), &binary).map(Some)
}

/// Puts the Codex CLI's native package there, too.
fn codex() -> Result<Option<PathBuf>> {
    let (platform, triple) = match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => ("linux-x64", "x86_64-unknown-linux-musl"),
        ("linux", "aarch64") => ("linux-arm64", "aarch64-unknown-linux-musl"),
        (os, arch) => {
            println!("second agent for the pane tests: skipped: none is pinned for {os} {arch}");
            return Ok(None);
        }
    };
    let package = format!("@openai/codex@{CODEX_VERSION}-{platform}");
    let binary = format!("node_modules/@openai/codex/vendor/{triple}/bin/codex");
    // Only the pane tests drive it, and their recorded screens are judged without it.
    agent("codex", CODEX_VERSION, &package, &binary).map(Some).or_else(|error| {
        println!("second agent for the pane tests: skipped: {error:#}");
        Ok(None)
    })
}

/// Installs one package of an agent into a cache folder of its own, without running any of its scripts.
fn agent(name: &str, version: &str, package: &str, inside: &str) -> Result<PathBuf> {
    let folder = cache()?.join(format!("{name}-{version}"));
    let binary = folder.join(inside);
    if !binary.is_file() {
        println!("agent for the tests: npm install {package}");
        std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        must(
            program("npm", &folder)
                .args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--prefix"])
                .arg(&folder)
                .arg(package),
        )?;
    }
    if !binary.is_file() {
        bail!("{package} has no file {}", binary.display());
    }
    println!("agent for the tests: {name} {version}");
    Ok(binary)
}

fn cache() -> Result<PathBuf> {
    let base = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")))
        .context("neither XDG_CACHE_HOME nor HOME says where caches go")?;
    Ok(base.join("steward-dev"))
}

/// Builds the window's pages when one of their sources is newer than the built page.
pub fn build_ui() -> Result<()> {
    let ui = root().join("ui");
    let built = modified(&ui.join("dist/index.html"));
    let newest = newest_source(&ui)?;
    if built.is_some_and(|built| built >= newest) {
        println!("window pages: built already");
        return Ok(());
    }
    println!("window pages: npm run build in ui");
    must(program("npm", &ui).args(["run", "--silent", "build"]))
}

fn modified(file: &Path) -> Option<SystemTime> {
    std::fs::metadata(file).and_then(|meta| meta.modified()).ok()
}

fn newest_source(folder: &Path) -> Result<SystemTime> {
    let mut newest = SystemTime::UNIX_EPOCH;
    for entry in std::fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let entry = entry?;
        let name = entry.file_name();
        if name == "node_modules" || name == "dist" {
            continue;
        }
        let time = if entry.file_type()?.is_dir() {
            newest_source(&entry.path())?
        } else {
            entry.metadata()?.modified()?
        };
        newest = newest.max(time);
    }
    Ok(newest)
}

/// Whether the faster test runner is installed; without it `cargo test` does the same work.
pub fn has_nextest() -> bool {
    on_path("cargo-nextest").is_some()
}
