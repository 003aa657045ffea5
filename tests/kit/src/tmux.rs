//! A tmux server of a test's own, and screens drawn in it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A private tmux server: its socket and files lie in a folder that goes with it.
pub struct TmuxServer {
    dir: TempDir,
    drawn: AtomicU32,
}

/// True when tmux is on PATH; else a line says why the test is left out.
pub fn is_there_or_say() -> bool {
    let found = Command::new("tmux").arg("-V").output().is_ok_and(|out| out.status.success());
    if !found {
        eprintln!("skipped: no tmux on PATH (`cargo xtask test` installs it)");
    }
    found
}

impl Default for TmuxServer {
    fn default() -> Self {
        Self::new()
    }
}

impl TmuxServer {
    pub fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("steward-tmux-").tempdir().expect("a temporary folder");
        Self { dir, drawn: AtomicU32::new(0) }
    }

    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("socket")
    }

    /// A folder of this server's own.
    pub fn folder(&self) -> &Path {
        self.dir.path()
    }

    /// Runs one tmux command and gives back what it printed.
    pub fn tmux(&self, args: &[&str]) -> String {
        let out = Command::new("tmux")
            .args(["-u", "-f", "/dev/null", "-S"])
            .arg(self.socket())
            .args(args)
            .env_remove("TMUX")
            .env("LC_ALL", "C.UTF-8")
            .output()
            .expect("tmux starts");
        let words = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "tmux {args:?}: {words}");
        String::from_utf8_lossy(&out.stdout).trim_end_matches('\n').to_owned()
    }

    /// Keeps panes whose program ended, so that a test shows what it said last.
    pub fn keep_ended_panes(&self) {
        self.tmux(&["set-option", "-g", "remain-on-exit", "on"]);
    }

    /// Starts a program in a new window of the given size; the pane's number.
    pub fn start(&self, size: (u16, u16), program: &[&str]) -> String {
        let (width, height) = (size.0.to_string(), size.1.to_string());
        let mut args = vec!["new-session", "-d", "-P", "-F", "#{pane_id}", "-x", &width, "-y", &height, "--"];
        args.extend(program);
        self.tmux(&args)
    }

    /// Draws bytes in a new pane, waits until tmux shows their last line, and leaves them there with
    /// `sleep` in front.
    pub fn draw(&self, size: (u16, u16), bytes: &[u8]) -> String {
        let number = self.drawn.fetch_add(1, Ordering::Relaxed) + 1;
        let file = self.dir.path().join(format!("drawing-{number}"));
        let end = bytes.iter().rposition(|byte| *byte != b'\n').map_or(0, |at| at + 1);
        let mark = format!("drawn-{number}");
        // The title comes after the drawing, so that it tells when the drawing is there.
        let mut all = bytes[..end].to_vec();
        all.extend(format!("\x1b]2;{mark}\x07").bytes());
        std::fs::write(&file, all).expect("a writable folder");
        let script = format!("cat '{}'; exec sleep 600", file.display());
        let pane = self.start(size, &["sh", "-c", &script]);
        self.until(&pane, "#{pane_title} #{pane_current_command}", |text| text == format!("{mark} sleep"));
        pane
    }

    /// Waits until a format of a pane satisfies a condition.
    pub fn until(&self, pane: &str, format: &str, is_so: impl Fn(&str) -> bool) -> String {
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            let text = self.tmux(&["display-message", "-p", "-t", pane, format]);
            if is_so(&text) {
                return text;
            }
            assert!(Instant::now() < until, "{pane} {format} stays {text:?}\n{}", self.plain(pane));
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// Waits until the pane's text satisfies a condition.
    pub fn until_shows(&self, pane: &str, is_so: impl Fn(&str) -> bool) -> String {
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            let text = self.plain(pane);
            if is_so(&text) {
                return text;
            }
            assert!(Instant::now() < until, "{pane} never showed what was awaited:\n{text}");
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// What the pane shows, without colours.
    pub fn plain(&self, pane: &str) -> String {
        self.tmux(&["capture-pane", "-p", "-J", "-t", pane])
    }

    /// What a capture is made of: text with its colours.
    pub fn coloured(&self, pane: &str) -> String {
        self.tmux(&["capture-pane", "-p", "-J", "-e", "-t", pane, "-S", "-40"])
    }

    /// Types as a person does.
    pub fn type_keys(&self, pane: &str, text: &str) {
        self.tmux(&["send-keys", "-t", pane, "-l", "--", text]);
    }

    /// Presses a named key, such as `Enter`.
    pub fn key(&self, pane: &str, name: &str) {
        self.tmux(&["send-keys", "-t", pane, name]);
    }
}

impl Drop for TmuxServer {
    fn drop(&mut self) {
        // Ends this server alone: it is named by its socket.
        let _gone_already =
            Command::new("tmux").arg("-S").arg(self.socket()).arg("kill-server").env_remove("TMUX").output();
    }
}
