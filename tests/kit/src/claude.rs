//! Finds the real agent CLI that the tests drive.

use std::path::PathBuf;

/// Where `cargo xtask` installs it, under the workspace root.
const INSTALLED: &str = ".cache/claude/node_modules/@anthropic-ai/claude-code-linux-x64/claude";

/// The real CLI: `STEWARD_TEST_CLAUDE`, else the installed one, else nothing.
pub fn find() -> Option<PathBuf> {
    let named = std::env::var_os("STEWARD_TEST_CLAUDE").filter(|v| !v.is_empty()).map(PathBuf::from);
    let installed = crate::binary::workspace_root().join(INSTALLED);
    [named, Some(installed)].into_iter().flatten().find(|path| path.is_file())
}

/// The real CLI, or a line that says why the test is left out.
pub fn find_or_say() -> Option<PathBuf> {
    let found = find();
    if found.is_none() {
        eprintln!("skipped: no claude (set STEWARD_TEST_CLAUDE, or let `cargo xtask test` install it)");
    }
    found
}
