//! The folders of one run, as the loop prepares them.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where one run lives on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeatFolders {
    /// Read-only for the seat: `tree/` (the export of the head), `frames/` and `base/` (base blobs).
    pub review: PathBuf,
    /// Read-only for the seat.
    pub digest: PathBuf,
    /// The only folder it may write in, beside `writable`.
    pub inbox: PathBuf,
    /// What of `tree/` it may write.
    pub writable: Vec<Writable>,
    /// Steward's own files of the run, and home and temporary files where the boundary has no
    /// private ones.
    pub scratch: PathBuf,
}

/// A folder or file of the tree that the seat may write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Writable {
    /// Below `tree/`; empty is the whole of it.
    pub path: String,
    /// A file is written in place: nothing can be put in its stead.
    pub is_folder: bool,
}

impl SeatFolders {
    /// The names under one run folder.
    pub fn under(run: &Path) -> Self {
        Self {
            review: run.join("review"),
            digest: run.join("digest.json"),
            inbox: run.join("inbox"),
            writable: Vec::new(),
            scratch: run.join("scratch"),
        }
    }

    /// Makes the folders, for this user alone.
    pub fn create(&self) -> std::io::Result<()> {
        for path in [&self.tree(), &self.frames(), &self.base(), &self.inbox, &self.scratch] {
            let mut builder = std::fs::DirBuilder::new();
            builder.recursive(true);
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(path)?;
        }
        Ok(())
    }

    pub fn tree(&self) -> PathBuf {
        self.review.join("tree")
    }

    /// Where a writable part lies.
    pub fn written(&self, part: &Writable) -> PathBuf {
        if part.path.is_empty() { self.tree() } else { self.tree().join(&part.path) }
    }

    /// The bytes and names below everything it may write; links are counted, not followed.
    pub fn written_size(&self) -> (u64, usize) {
        let mut todo: Vec<PathBuf> = self.writable.iter().map(|part| self.written(part)).collect();
        let (mut bytes, mut names) = (0_u64, 0_usize);
        while let Some(place) = todo.pop() {
            let Ok(meta) = std::fs::symlink_metadata(&place) else { continue };
            names += 1;
            if meta.is_dir() {
                todo.extend(std::fs::read_dir(&place).into_iter().flatten().flatten().map(|one| one.path()));
            } else {
                bytes = bytes.saturating_add(meta.len().max(meta.blocks().saturating_mul(512)));
            }
        }
        (bytes, names)
    }

    pub fn frames(&self) -> PathBuf {
        self.review.join("frames")
    }

    pub fn base(&self) -> PathBuf {
        self.review.join("base")
    }
}

/// What a folder looked like, so that a change shows: every name with kind, size, times and inode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrozenTree(Vec<(PathBuf, Stamp)>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    mode: u32,
    size: u64,
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FrozenTree {
    /// Looks at every name below `root`; links are looked at, never followed.
    pub fn of(root: &Path) -> std::io::Result<Self> {
        let mut names = Vec::new();
        let mut todo = vec![root.to_owned()];
        while let Some(folder) = todo.pop() {
            for entry in std::fs::read_dir(&folder)? {
                let path = entry?.path();
                let meta = std::fs::symlink_metadata(&path)?;
                if meta.is_dir() {
                    todo.push(path.clone());
                }
                let stamp = Stamp {
                    mode: meta.mode(),
                    size: meta.size(),
                    inode: meta.ino(),
                    modified: (meta.mtime(), meta.mtime_nsec()),
                    changed: (meta.ctime(), meta.ctime_nsec()),
                };
                names.push((path, stamp));
            }
        }
        names.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(Self(names))
    }

    /// The first name that differs from an earlier look.
    pub fn first_change(&self, earlier: &Self) -> Option<PathBuf> {
        let (now, then) = (&self.0, &earlier.0);
        let differs = now.iter().zip(then).find(|(a, b)| a != b).map(|(a, b)| a.0.clone().min(b.0.clone()));
        differs.or_else(|| match now.len().cmp(&then.len()) {
            std::cmp::Ordering::Equal => None,
            std::cmp::Ordering::Greater => now.get(then.len()).map(|(path, _)| path.clone()),
            std::cmp::Ordering::Less => then.get(now.len()).map(|(path, _)| path.clone()),
        })
    }
}
