//! Finds the real Codex CLI that the pane tests drive.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::unistd::Pid;

/// The real CLI that `STEWARD_TEST_CODEX` names, or a line that says why the test is left out.
pub fn find_or_say() -> Option<PathBuf> {
    let named = std::env::var_os("STEWARD_TEST_CODEX").filter(|v| !v.is_empty()).map(PathBuf::from);
    let found = named.filter(|path| path.is_file());
    if found.is_none() {
        eprintln!("skipped: no codex (set STEWARD_TEST_CODEX, or let `cargo xtask test` install it)");
    }
    found
}

/// Ends every process that has this folder as its `CODEX_HOME`: Codex leaves a daemon of its own behind.
pub fn end_all_of(home: &Path) {
    let mark = format!("CODEX_HOME={}", home.display()).into_bytes();
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let ours: Vec<Pid> = processes().filter(|pid| environment_holds(*pid, &mark)).collect();
        if ours.is_empty() {
            return;
        }
        for pid in ours {
            let _gone_already = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
        }
        if Instant::now() >= deadline {
            eprintln!("a process of {} does not end", home.display());
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn processes() -> impl Iterator<Item = Pid> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).map(Pid::from_raw)
}

/// True for a running process with this variable; one that has ended and waits for its parent has none.
fn environment_holds(pid: Pid, mark: &[u8]) -> bool {
    let read = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    pid != Pid::this() && read.split(|byte| *byte == 0).any(|one| one == mark)
}
