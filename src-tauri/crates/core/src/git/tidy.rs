//! Keeps the clones of ours quick: every fetch and every pinned head leaves a pack or loose objects.

use std::collections::BTreeSet;
use std::path::Path;

use steward_rules::ids::RepoName;

use super::clone::BareClone;
use super::error::GitError;
use super::runner::{Git, Limits};

/// Packs above this are put together; each one more is looked into for every object.
const PACKS: usize = 30;
/// Loose objects above this are packed, counted in one of their 256 folders.
const LOOSE_IN_ONE: usize = 8;

/// What is still needed of the refs that come and go in the clone of a repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needed {
    /// Pull requests whose head is looked at again.
    pub pulls: BTreeSet<i64>,
    /// Tasks whose result is to go out yet.
    pub work: BTreeSet<i64>,
    /// The newest task that was known then. What is newer is not judged by this.
    pub newest_work: i64,
}

impl BareClone {
    /// The clone of a repository that has no workspace here, when there is one.
    pub fn find_alone(git: &Git, clones: &Path, host: &str, name: &RepoName) -> Option<Self> {
        let folders = (1_u32..).map(|number| Self::folder_alone(clones, host, name, number));
        folders.take_while(|dir| dir.exists()).find_map(|dir| Self::at(git, &dir))
    }

    /// Lets go of the heads of pull requests and the results of tasks that are not needed; how many. Their
    /// objects stay.
    pub fn let_go(&self, needed: &Needed) -> Result<usize, GitError> {
        let said = self
            .call(&["for-each-ref", "--format=%(refname)", "refs/steward/pull/", "refs/steward/work/"])
            .limits(Limits::LIST)
            .bytes()?;
        let is_needed = |name: &str| {
            let number = |prefix: &str| name.strip_prefix(prefix).and_then(|rest| rest.parse::<i64>().ok());
            match (number("refs/steward/pull/"), number("refs/steward/work/")) {
                (Some(pull), _) => needed.pulls.contains(&pull),
                (None, Some(task)) => needed.work.contains(&task) || task > needed.newest_work,
                // No name of ours: it is left alone.
                (None, None) => true,
            }
        };
        let text = String::from_utf8_lossy(&said);
        let gone: Vec<&str> = text.lines().filter(|name| !is_needed(name)).collect();
        if gone.is_empty() {
            return Ok(0);
        }
        let _held = self.guard()?;
        let orders: String = gone.iter().map(|name| format!("delete {name}\n")).collect();
        self.call(&["update-ref", "--stdin"]).stdin(orders.into_bytes()).bytes()?;
        Ok(gone.len())
    }

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
