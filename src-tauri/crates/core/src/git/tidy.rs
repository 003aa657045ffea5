//! Keeps the clones of ours quick: every fetch and every pinned head leaves a pack or loose objects.

use std::path::Path;

use super::clone::BareClone;
use super::error::GitError;
use super::runner::{Git, Limits};

/// Packs above this are put together; each one more is looked into for every object.
const PACKS: usize = 30;
/// Loose objects above this are packed, counted in one of their 256 folders.
const LOOSE_IN_ONE: usize = 8;

impl BareClone {
    /// Puts together what lies about in the clones under this folder. Nothing is lost by it.
    pub fn tidy_all(git: &Git, clones: &Path) {
        for entry in std::fs::read_dir(clones).into_iter().flatten().flatten() {
            let Some(clone) = Self::at(git, &entry.path()) else { continue };
            match clone.tidy() {
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(clone = %clone.dir().display(), %error, "a clone was not tidied")
                }
            }
        }
    }

    /// Puts the packs and loose objects together, when they have become many; true when it did.
    ///
    /// What a workspace lends is packed as well where it was copied before: a pinned head must outlive
    /// that workspace, so nothing here is left out for being there too.
    pub fn tidy(&self) -> Result<bool, GitError> {
        let count = |folder: &str, end: &str| {
            let entries = std::fs::read_dir(self.dir().join("objects").join(folder)).into_iter().flatten();
            entries.flatten().filter(|entry| entry.file_name().to_string_lossy().ends_with(end)).count()
        };
        if count("pack", ".pack") <= PACKS && count("17", "") <= LOOSE_IN_ONE {
            return Ok(false);
        }
        let _held = self.guard()?;
        self.call(&["repack", "--quiet", "-d", "--geometric=2"]).limits(Limits::STREAM).bytes()?;
        self.call(&["pack-refs", "--all"]).bytes()?;
        self.write_graph()?;
        Ok(true)
    }
}
