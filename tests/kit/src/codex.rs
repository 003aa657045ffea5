//! Finds the real Codex CLI that the pane tests drive.

use std::path::PathBuf;

/// The real CLI that `STEWARD_TEST_CODEX` names, or a line that says why the test is left out.
pub fn find_or_say() -> Option<PathBuf> {
    let named = std::env::var_os("STEWARD_TEST_CODEX").filter(|v| !v.is_empty()).map(PathBuf::from);
    let found = named.filter(|path| path.is_file());
    if found.is_none() {
        eprintln!("skipped: no codex (set STEWARD_TEST_CODEX, or let `cargo xtask test` install it)");
    }
    found
}
