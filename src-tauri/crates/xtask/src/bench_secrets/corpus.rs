//! The inputs: diffs between consecutive releases of crates, and of this repository's commits.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{fresh, names};
use crate::shell;

/// How many crates stand in `benches/crates.txt`.
const CRATES: usize = 50;

/// One patch per crate and pair of consecutive releases.
pub fn releases(folder: &Path) -> Result<PathBuf> {
    let diffs = folder.join("release-diffs");
    if folder.join("release-diffs-done").is_file() {
        return Ok(diffs);
    }
    let crates = crates()?;
    let rounds = crates.first().map_or(0, |(_, versions)| versions.len());
    for round in 0..rounds {
        fetch(&folder.join(format!("releases/{}", round + 1)), &crates, round)?;
    }
    fresh(&diffs)?;
    for (name, versions) in &crates {
        for (round, pair) in versions.windows(2).enumerate() {
            let unpacked = |round: usize, version: &str| {
                folder.join(format!("releases/{}/vendor/{name}-{version}", round + 1))
            };
            let (old, new) = (unpacked(round, &pair[0]), unpacked(round + 1, &pair[1]));
            let patch = difference(&old, &new)?;
            fs::write(diffs.join(format!("{name}-{}.diff", pair[1])), patch)?;
        }
    }
    fs::write(folder.join("release-diffs-done"), "")?;
    Ok(diffs)
}

/// One patch per commit of this repository.
pub fn history(folder: &Path) -> Result<PathBuf> {
    let diffs = fresh(&folder.join("history-diffs"))?;
    let said = shell::output(shell::program("git", &shell::root()).args(["rev-list", "--no-merges", "HEAD"]));
    for commit in said.context("git lists this repository's commits")?.lines() {
        let patch = Command::new("git")
            .args(["show", "--no-color", "--no-ext-diff", "--format=%B", commit])
            .current_dir(shell::root())
            .output()?;
        fs::write(diffs.join(format!("{commit}.diff")), patch.stdout)?;
    }
    Ok(diffs)
}

/// A folder that holds every diff so many times.
pub fn repeated(folder: &Path, diffs: &Path, times: usize) -> Result<PathBuf> {
    let many = fresh(&folder.join("repeated-diffs"))?;
    for name in names(diffs)? {
        for copy in 0..times {
            fs::copy(diffs.join(&name), many.join(format!("{copy}-{name}")))?;
        }
    }
    Ok(many)
}

/// A diff of about the size, cut from the release diffs at a file's end.
pub fn cut(releases: &Path, bytes: usize) -> Result<Vec<u8>> {
    let mut diff = Vec::new();
    for name in names(releases)? {
        let patch = fs::read(releases.join(name))?;
        for file in String::from_utf8_lossy(&patch).split_inclusive("\ndiff --git ") {
            diff.extend_from_slice(file.as_bytes());
            if diff.len() >= bytes {
                diff.truncate(bytes);
                return Ok(diff);
            }
        }
    }
    bail!("the release diffs are smaller than {bytes} bytes")
}

/// All files below a folder.
pub fn walk(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { found.extend(walk(&path)?) } else { found.push(path) }
    }
    Ok(found)
}

fn crates() -> Result<Vec<(String, Vec<String>)>> {
    let listed = fs::read_to_string(shell::root().join("benches/crates.txt"))?;
    let rows = listed.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let mut words = line.split_whitespace().map(str::to_owned);
        (words.next().unwrap_or_default(), words.collect())
    });
    let rows: Vec<(String, Vec<String>)> = rows.collect();
    if rows.len() != CRATES {
        bail!("benches/crates.txt lists {} crates, not {CRATES}", rows.len());
    }
    Ok(rows)
}

/// Has cargo fetch and unpack one release of each crate.
fn fetch(folder: &Path, crates: &[(String, Vec<String>)], round: usize) -> Result<()> {
    if folder.join("vendor").is_dir() {
        return Ok(());
    }
    fs::create_dir_all(folder.join("src"))?;
    fs::write(folder.join("src/lib.rs"), "")?;
    let mut manifest = String::from(
        "[package]\nname = \"releases\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[workspace]\n[dependencies]\n",
    );
    for (name, versions) in crates {
        manifest.push_str(&format!(
            "{name} = {{ version = \"={}\", default-features = false }}\n",
            versions[round]
        ));
    }
    fs::write(folder.join("Cargo.toml"), manifest)?;
    let vendored =
        shell::cargo().current_dir(folder).args(["vendor", "-q", "--versioned-dirs", "vendor"]).output()?;
    if !vendored.status.success() {
        bail!("cargo vendor, round {round}: {}", String::from_utf8_lossy(&vendored.stderr));
    }
    Ok(())
}

fn difference(old: &Path, new: &Path) -> Result<Vec<u8>> {
    let ran = Command::new("git")
        .args(["diff", "--no-index", "--no-color", "--no-ext-diff"])
        .args([old, new])
        .output()?;
    // 1 says that they differ.
    match ran.status.code() {
        Some(0 | 1) => Ok(ran.stdout),
        _ => bail!("git diff {} {}: {}", old.display(), new.display(), String::from_utf8_lossy(&ran.stderr)),
    }
}
