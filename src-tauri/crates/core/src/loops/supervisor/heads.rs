//! Notices that a branch moved, by looking at files alone: a git is started only when they changed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::git::common_dir;

/// What a branch's files looked like.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp(Vec<Option<(SystemTime, u64)>>);

/// The stamps of the branches that are watched.
#[derive(Debug, Default)]
pub(super) struct Heads {
    seen: HashMap<(PathBuf, String), Stamp>,
    folders: HashMap<PathBuf, PathBuf>,
}

impl Heads {
    /// True when the branch may have moved since the last look, or is looked at for the first time.
    pub fn moved(&mut self, workspace: &Path, branch: &str) -> bool {
        let folder = match self.folders.get(workspace) {
            Some(folder) => folder.clone(),
            None => {
                let Some(folder) = common_dir(workspace) else { return false };
                self.folders.insert(workspace.to_owned(), folder.clone());
                folder
            }
        };
        let files = [
            folder.join("refs/heads").join(branch),
            folder.join("packed-refs"),
            folder.join("reftable/tables.list"),
        ];
        let stamp = Stamp(
            files
                .iter()
                .map(|file| {
                    std::fs::metadata(file).ok().and_then(|meta| Some((meta.modified().ok()?, meta.len())))
                })
                .collect(),
        );
        let key = (workspace.to_owned(), branch.to_owned());
        let moved = self.seen.get(&key) != Some(&stamp);
        if moved {
            self.seen.insert(key, stamp);
        }
        moved
    }

    /// Forgets what is not watched any more.
    pub fn keep(&mut self, watched: &[(PathBuf, String)]) {
        self.seen.retain(|key, _| watched.contains(key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_moved_when_its_file_changed_and_not_otherwise() {
        let root = tempfile::tempdir().expect("a folder");
        let refs = root.path().join(".git/refs/heads/fix");
        std::fs::create_dir_all(&refs).expect("made");
        let branch = refs.join("etag");
        std::fs::write(&branch, "a\n").expect("written");
        let mut heads = Heads::default();
        assert!(heads.moved(root.path(), "fix/etag"), "the first look reads it");
        assert!(!heads.moved(root.path(), "fix/etag"));
        std::fs::write(&branch, "longer\n").expect("written");
        assert!(heads.moved(root.path(), "fix/etag"));
        std::fs::remove_file(&branch).expect("removed");
        assert!(heads.moved(root.path(), "fix/etag"), "a branch that went has moved");
        std::fs::write(root.path().join(".git/packed-refs"), "x").expect("written");
        assert!(heads.moved(root.path(), "fix/etag"));
    }

    #[test]
    fn a_linked_worktree_is_watched_where_its_refs_are() {
        let root = tempfile::tempdir().expect("a folder");
        let common = root.path().join("main/.git");
        std::fs::create_dir_all(common.join("worktrees/w")).expect("made");
        std::fs::create_dir_all(common.join("refs/heads")).expect("made");
        std::fs::write(common.join("worktrees/w/commondir"), "../..\n").expect("written");
        let linked = root.path().join("w");
        std::fs::create_dir(&linked).expect("made");
        let pointer = format!("gitdir: {}\n", common.join("worktrees/w").display());
        std::fs::write(linked.join(".git"), pointer).expect("written");
        let mut heads = Heads::default();
        assert!(heads.moved(&linked, "x"));
        std::fs::write(common.join("refs/heads/x"), "a").expect("written");
        assert!(heads.moved(&linked, "x"));
    }
}
