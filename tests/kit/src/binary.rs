//! Binaries of this build, for tests of other crates.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

/// The folder with the workspace's manifest.
pub fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the workspace").to_owned()
}

/// The built `steward`, built now when its sources are newer.
pub fn steward() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT
        .get_or_init(|| match std::env::var_os("STEWARD_TEST_BIN").filter(|v| !v.is_empty()) {
            Some(named) => PathBuf::from(named),
            None => locate(
                "steward-cli",
                "steward",
                &["cli", "core", "rules"].map(|n| format!("src-tauri/crates/{n}")),
            ),
        })
        .clone()
}

/// The program that plays an agent in a terminal, likewise.
pub fn scripted_agent() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let name = "steward-scripted-agent";
    BUILT.get_or_init(|| locate("steward-kit", name, &["tests/kit/src/bin".to_owned()])).clone()
}

fn locate(package: &str, name: &str, sources: &[String]) -> PathBuf {
    let test = std::env::current_exe().expect("this test's own path");
    let profile = test.ancestors().nth(2).expect("target/<profile>/deps/<test>");
    let binary = profile.join(name);
    let newest = sources.iter().filter_map(|folder| newest(&workspace_root().join(folder))).max();
    let built = binary.metadata().and_then(|meta| meta.modified()).ok();
    if built.is_none() || built < newest {
        let mut cargo = Command::new(option_env!("CARGO").unwrap_or("cargo"));
        cargo.args(["build", "--quiet", "--package", package, "--bin", name]);
        if profile.ends_with("release") {
            cargo.arg("--release");
        }
        if let Some(target) = profile.parent() {
            cargo.arg("--target-dir").arg(target);
        }
        let done = cargo.current_dir(workspace_root()).status().expect("cargo starts");
        assert!(done.success(), "{name} could not be built");
    }
    binary
}

fn newest(folder: &Path) -> Option<SystemTime> {
    let entries = std::fs::read_dir(folder).ok()?;
    entries
        .flatten()
        .filter_map(|entry| {
            let meta = entry.metadata().ok()?;
            if meta.is_dir() { newest(&entry.path()) } else { meta.modified().ok() }
        })
        .max()
}
