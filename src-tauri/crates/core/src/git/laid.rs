//! A commit's files laid out to be worked on, without `.git`, and what is different afterwards. Links are
//! never followed, and every name that stands there is looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use steward_rules::diff::{Kind, RepoPath};
use steward_rules::ids::Sha;
use tokio_util::sync::CancellationToken;

use super::clone::BareClone;
use super::error::GitError;
use super::export::Caps;
use super::names::refused;
use super::objects::{self, Piece};

/// A tree on disk, and what it was made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Laid {
    pub root: PathBuf,
    pub commit: Sha,
    files: BTreeMap<RepoPath, (Kind, [u8; 32])>,
    /// Links, submodules and names no file system should hold: they stay as they are in the commit.
    pub left_out: BTreeSet<RepoPath>,
}

/// A path that is not as it was laid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    pub path: RepoPath,
    /// What stands there now. A hard link, a device and a pipe count as a link: no regular file of its own.
    pub kind: Kind,
    /// Of a regular file.
    pub bytes: Option<Vec<u8>>,
}

/// What one tree may hold to be worked on.
pub const CAPS: Caps = Caps { file: 64 << 20, total: 4 << 30, files: 500_000 };

/// Writes every regular file of a commit below `root`, which must not exist yet.
pub fn lay(
    clone: &BareClone,
    commit: &Sha,
    root: &Path,
    caps: Caps,
    cancel: &CancellationToken,
) -> Result<Laid, GitError> {
    let too_large = || GitError::TooLarge { what: "ls-tree".to_owned(), limit: caps.total };
    let mut left_out = BTreeSet::new();
    let mut wanted = Vec::new();
    for file in clone.files(commit, cancel)? {
        let is_file = matches!(file.kind, Kind::File | Kind::Executable);
        if is_file && refused(file.path.raw()).is_none() {
            wanted.push(file);
        } else {
            left_out.insert(file.path);
        }
    }
    if wanted.len() > caps.files {
        return Err(too_large());
    }
    folder(root)?;
    let ids: Vec<&Sha> = wanted.iter().map(|file| &file.id).collect();
    let (mut files, mut content, mut total) = (BTreeMap::new(), Vec::new(), 0_u64);
    objects::read(clone, &ids, cancel, |index, piece| {
        match piece {
            Piece::Start { size } => {
                content.clear();
                total = total.saturating_add(size);
                if size > caps.file || total > caps.total {
                    return Err(too_large());
                }
            }
            Piece::Bytes(bytes) => content.extend_from_slice(bytes),
            Piece::End => {
                if let Some(file) = wanted.get(index) {
                    put(root, &file.path, file.kind, &content)?;
                    files.insert(file.path.clone(), (file.kind, Sha256::digest(&content).into()));
                }
            }
        }
        Ok(())
    })?;
    Ok(Laid { root: root.to_owned(), commit: commit.clone(), files, left_out })
}

fn folder(path: &Path) -> Result<(), GitError> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(GitError::io("make a folder to work in"))
}

fn put(root: &Path, path: &RepoPath, kind: Kind, content: &[u8]) -> Result<(), GitError> {
    let file = root.join(OsStr::from_bytes(path.raw()));
    if let Some(above) = file.parent() {
        folder(above)?;
    }
    let mode = if kind == Kind::Executable { 0o755 } else { 0o644 };
    let mut out = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&file)
        .map_err(GitError::io("lay out a file"))?;
    out.write_all(content).map_err(GitError::io("lay out a file"))
}

impl Laid {
    /// Where a path of the tree lies.
    pub fn on_disk(&self, path: &RepoPath) -> PathBuf {
        self.root.join(OsStr::from_bytes(path.raw()))
    }

    /// Every path that was laid.
    pub fn paths(&self) -> impl Iterator<Item = &RepoPath> {
        self.files.keys()
    }

    /// Everything that differs from what was laid, untracked and ignored files too. More than `most` bytes of
    /// changed files are refused.
    pub fn changes(&self, most: u64) -> Result<Vec<Left>, GitError> {
        let (mut changes, mut seen, mut total) = (Vec::new(), BTreeSet::new(), 0_u64);
        let mut todo = vec![self.root.clone()];
        while let Some(inside) = todo.pop() {
            for entry in open_folder(&inside)? {
                let place = entry.map_err(GitError::io("look through the tree"))?.path();
                let meta = std::fs::symlink_metadata(&place).map_err(GitError::io("look at a file"))?;
                if meta.is_dir() {
                    todo.push(place);
                    continue;
                }
                let below = place.strip_prefix(&self.root).unwrap_or(&place);
                let path = RepoPath::new(below.as_os_str().as_bytes());
                let was = self.files.get(&path);
                let kind = kind(&meta);
                if !matches!(kind, Kind::File | Kind::Executable) {
                    seen.insert(path.clone());
                    changes.push(Left { path, kind, bytes: None });
                    continue;
                }
                let bytes = read(&place, &meta)?;
                let is_same = was.is_some_and(|(known, hash)| {
                    *known == kind && *hash == <[u8; 32]>::from(Sha256::digest(&bytes))
                });
                seen.insert(path.clone());
                if !is_same {
                    total = total.saturating_add(bytes.len() as u64);
                    if total > most {
                        return Err(GitError::TooLarge { what: "the changed files".to_owned(), limit: most });
                    }
                    changes.push(Left { path, kind, bytes: Some(bytes) });
                }
            }
        }
        let gone = self.files.keys().filter(|path| !seen.contains(*path));
        changes.extend(gone.map(|path| Left { path: path.clone(), kind: Kind::Absent, bytes: None }));
        changes.sort_by(|a, b| a.path.raw().cmp(b.path.raw()));
        Ok(changes)
    }

    /// Every path of the tree as it would be with these changes.
    pub fn with(&self, changes: &[Left]) -> Vec<RepoPath> {
        let mut all: BTreeSet<&RepoPath> = self.files.keys().chain(&self.left_out).collect();
        for change in changes {
            if change.kind == Kind::Absent {
                all.remove(&change.path);
            } else {
                all.insert(&change.path);
            }
        }
        all.into_iter().cloned().collect()
    }
}

/// Opens a folder to be read, even one whose owner bits were taken away.
fn open_folder(path: &Path) -> Result<std::fs::ReadDir, GitError> {
    std::fs::read_dir(path)
        .or_else(|_| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))?;
            std::fs::read_dir(path)
        })
        .map_err(GitError::io("look through the tree"))
}

fn kind(meta: &std::fs::Metadata) -> Kind {
    if !meta.is_file() || meta.nlink() > 1 {
        return Kind::Symlink;
    }
    if meta.mode() & 0o7111 == 0 { Kind::File } else { Kind::Executable }
}

fn read(path: &Path, meta: &std::fs::Metadata) -> Result<Vec<u8>, GitError> {
    let too_large = || GitError::TooLarge { what: "a changed file".to_owned(), limit: CAPS.file };
    if meta.len() > CAPS.file {
        return Err(too_large());
    }
    let open = || {
        std::fs::OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)
    };
    let file = open()
        .or_else(|_| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600 | meta.mode() & 0o111))?;
            open()
        })
        .map_err(GitError::io("read a file of the tree"))?;
    let mut bytes = Vec::new();
    file.take(CAPS.file + 1).read_to_end(&mut bytes).map_err(GitError::io("read a file of the tree"))?;
    if bytes.len() as u64 > CAPS.file { Err(too_large()) } else { Ok(bytes) }
}
