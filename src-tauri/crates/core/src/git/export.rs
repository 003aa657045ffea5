//! Writes what a reviewer may read: the head's text files and the base of the changed ones, without
//! `.git`, without a link, read-only, with a hash of each.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use steward_rules::diff::{Diff, Kind, RepoPath};
use steward_rules::ids::Sha;
use tokio_util::sync::CancellationToken;

use super::clone::BareClone;
use super::error::GitError;
use super::names::{Folded, LeftOut, refused};
use super::objects::{self, Depth, Piece};

/// How much an export may hold.
#[derive(Debug, Clone, Copy)]
pub struct Caps {
    /// Bytes of one file.
    pub file: u64,
    /// Bytes of all files.
    pub total: u64,
    pub files: usize,
}

impl Default for Caps {
    fn default() -> Self {
        Self { file: 2 << 20, total: 512 << 20, files: 100_000 }
    }
}

/// One file of the export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    pub path: RepoPath,
    pub bytes: u64,
    /// SHA-256 of the content.
    pub hash: String,
}

/// What was written where, and what was left out and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub head: Sha,
    /// The folder that holds `tree/` and `base/`.
    pub root: PathBuf,
    /// The head, below `tree/`.
    pub tree: Vec<Written>,
    /// The old side of changed files, below `base/`.
    pub base: Vec<Written>,
    pub left_out: Vec<(RepoPath, LeftOut)>,
}

impl Manifest {
    pub fn tree_dir(&self) -> PathBuf {
        self.root.join("tree")
    }

    pub fn base_dir(&self) -> PathBuf {
        self.root.join("base")
    }
}

/// A folder for exports that lives in memory where there is room for one: `$XDG_RUNTIME_DIR` or
/// `/dev/shm` with at least 1 GiB free; else `fallback`.
pub fn place(fallback: &Path) -> PathBuf {
    let roomy = |path: &Path| {
        nix::sys::statfs::statfs(path).is_ok_and(|fs| {
            let free = fs.blocks_available() * u64::try_from(fs.block_size()).unwrap_or(0);
            is_memory(&fs) && free >= 1 << 30
        })
    };
    let user = nix::unistd::getuid();
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|p| p.is_absolute());
    let candidates =
        [runtime.map(|p| p.join("steward")), Some(PathBuf::from(format!("/dev/shm/steward-{user}")))];
    for candidate in candidates.into_iter().flatten() {
        if candidate.parent().is_some_and(roomy) && own_folder(&candidate) {
            return candidate;
        }
    }
    fallback.to_owned()
}

#[cfg(target_os = "linux")]
fn is_memory(fs: &nix::sys::statfs::Statfs) -> bool {
    fs.filesystem_type() == nix::sys::statfs::TMPFS_MAGIC
}

#[cfg(not(target_os = "linux"))]
fn is_memory(_fs: &nix::sys::statfs::Statfs) -> bool {
    false
}

/// Makes the folder, or takes an existing one that is ours alone and no link.
fn own_folder(path: &Path) -> bool {
    let _exists = std::fs::DirBuilder::new().mode(0o700).create(path);
    std::fs::symlink_metadata(path).is_ok_and(|meta| {
        use std::os::unix::fs::MetadataExt;
        meta.is_dir() && meta.uid() == nix::unistd::getuid().as_raw() && meta.mode() & 0o077 == 0
    })
}

/// Writes the export into `dest`, which must not exist yet. `diff` names the files whose old side is
/// wanted.
pub fn tree(
    clone: &BareClone,
    head: &Sha,
    diff: Option<&Diff>,
    dest: &Path,
    caps: Caps,
    cancel: &CancellationToken,
) -> Result<Manifest, GitError> {
    let mut listed = Vec::new();
    objects::tree(clone, head, Depth::AllSized, &[], cancel, |entry| {
        listed.push(entry);
        Ok(())
    })?;
    let mut left_out = Vec::new();
    let mut spellings = HashSet::new();
    let mut folded = Folded::default();
    for entry in &listed {
        folded.count(&mut spellings, entry.path.raw());
    }
    let mut wanted = Vec::new();
    let (mut total, mut count) = (0_u64, 0_usize);
    for entry in listed {
        let size = entry.size.unwrap_or(0);
        let refusal = refused(entry.path.raw()).or(match Kind::from_mode(&entry.mode) {
            Some(Kind::Symlink) | None => Some(LeftOut::Symlink),
            Some(Kind::Submodule | Kind::Absent) => Some(LeftOut::Submodule),
            Some(Kind::File | Kind::Executable) => None,
        });
        let refusal = refusal.or_else(|| {
            if folded.collides(entry.path.raw()) {
                Some(LeftOut::Collides)
            } else if size > caps.file {
                Some(LeftOut::TooLarge)
            } else if total + size > caps.total || count >= caps.files {
                Some(LeftOut::OverBudget)
            } else {
                None
            }
        });
        match refusal {
            Some(reason) => left_out.push((entry.path, reason)),
            None => {
                total += size;
                count += 1;
                wanted.push((entry.path, entry.id));
            }
        }
    }
    folder(dest)?;
    let tree = write(clone, &dest.join("tree"), &wanted, caps, &mut left_out, cancel)?;
    let old: Vec<(RepoPath, Sha)> = diff
        .into_iter()
        .flat_map(|diff| &diff.files)
        .filter(|file| matches!(file.old_kind, Kind::File | Kind::Executable) && file.content_changed())
        .map(|file| (file.old_path.clone().unwrap_or_else(|| file.path.clone()), file.old_blob.clone()))
        .filter(|(path, _)| refused(path.raw()).is_none() && !folded.collides(path.raw()))
        .collect();
    // The old side has no listing with sizes; its caps hold while it is written.
    let base = write(clone, &dest.join("base"), &old, caps, &mut Vec::new(), cancel)?;
    Ok(Manifest { head: head.clone(), root: dest.to_owned(), tree, base, left_out })
}

fn folder(path: &Path) -> Result<(), GitError> {
    std::fs::DirBuilder::new()
        .recursive(path.parent().is_some_and(|p| !p.exists()))
        .mode(0o700)
        .create(path)
        .map_err(GitError::io(format!("make the export folder {}", path.display())))
}

/// Writes blobs below `root`, each exclusively created, then makes everything read-only.
fn write(
    clone: &BareClone,
    root: &Path,
    files: &[(RepoPath, Sha)],
    caps: Caps,
    left_out: &mut Vec<(RepoPath, LeftOut)>,
    cancel: &CancellationToken,
) -> Result<Vec<Written>, GitError> {
    std::fs::DirBuilder::new().mode(0o700).create(root).map_err(GitError::io("make the export"))?;
    let ids: Vec<&Sha> = files.iter().map(|(_, id)| id).collect();
    let mut written = Vec::with_capacity(files.len());
    let mut folders: HashSet<PathBuf> = HashSet::from([root.to_owned()]);
    let mut content = Vec::new();
    let (mut total, mut over) = (0_u64, false);
    objects::read(clone, &ids, cancel, |index, piece| {
        let Some((path, _)) = files.get(index) else { return Ok(()) };
        match piece {
            Piece::Start { size } => {
                content.clear();
                over = size > caps.file || total + size > caps.total;
            }
            Piece::Bytes(bytes) if !over => content.extend_from_slice(bytes),
            Piece::Bytes(_) => {}
            Piece::End if over => left_out.push((path.clone(), LeftOut::TooLarge)),
            Piece::End if content[..content.len().min(8000)].contains(&0) => {
                left_out.push((path.clone(), LeftOut::Binary));
            }
            Piece::End => {
                total += content.len() as u64;
                if put(root, path, &content, &mut folders)? {
                    let hash = hex::encode(Sha256::digest(&content));
                    written.push(Written { path: path.clone(), bytes: content.len() as u64, hash });
                } else {
                    left_out.push((path.clone(), LeftOut::Blocked));
                }
            }
        }
        Ok(())
    })?;
    for folder in &folders {
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o500))
            .map_err(GitError::io("make the export read-only"))?;
    }
    Ok(written)
}

/// False when a file stands where a folder must be, or the other way round.
fn put(
    root: &Path,
    path: &RepoPath,
    content: &[u8],
    folders: &mut HashSet<PathBuf>,
) -> Result<bool, GitError> {
    let file = root.join(OsStr::from_bytes(path.raw()));
    let mut missing = Vec::new();
    let mut above = file.parent();
    while let Some(folder) = above.filter(|f| !folders.contains(*f)) {
        missing.push(folder.to_owned());
        above = folder.parent();
    }
    for folder in missing.into_iter().rev() {
        match std::fs::DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => {}
            Err(e)
                if matches!(
                    e.kind(),
                    std::io::ErrorKind::AlreadyExists | std::io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(false);
            }
            Err(source) => return Err(GitError::Io { doing: "write the export".to_owned(), source }),
        }
        folders.insert(folder);
    }
    let opened = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o400).open(&file);
    match opened {
        Ok(mut file) => file.write_all(content).map(|()| true).map_err(GitError::io("write the export")),
        Err(e)
            if matches!(e.kind(), std::io::ErrorKind::AlreadyExists | std::io::ErrorKind::NotADirectory) =>
        {
            Ok(false)
        }
        Err(source) => Err(GitError::Io { doing: "write the export".to_owned(), source }),
    }
}

/// How an export differs from its manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed {
    Gone(PathBuf),
    Content(PathBuf),
    /// A file, folder or link that Steward did not write.
    New(PathBuf),
}

/// Compares the export with its manifest. Links are never followed.
pub fn verify(manifest: &Manifest) -> Result<Vec<Changed>, GitError> {
    let mut changed = Vec::new();
    for (root, files) in [(manifest.tree_dir(), &manifest.tree), (manifest.base_dir(), &manifest.base)] {
        let mut known: HashSet<PathBuf> = HashSet::new();
        for file in files {
            let path = root.join(OsStr::from_bytes(file.path.raw()));
            let mut above = path.parent();
            while let Some(folder) = above.filter(|f| f.starts_with(&root)) {
                known.insert(folder.to_owned());
                above = folder.parent();
            }
            match read_file(&path) {
                Ok(Some(bytes)) if hex::encode(Sha256::digest(&bytes)) == file.hash => {}
                Ok(_) => changed.push(Changed::Content(path.clone())),
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                    changed.push(Changed::Gone(path.clone()))
                }
                Err(_) => changed.push(Changed::Content(path.clone())),
            }
            known.insert(path);
        }
        strangers(&root, &known, &mut changed)?;
    }
    Ok(changed)
}

/// The bytes of a plain file; `None` for anything else that stands there. A link is not followed, and a pipe not
/// waited for.
fn read_file(path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    let flags = nix::fcntl::OFlag::O_NOFOLLOW | nix::fcntl::OFlag::O_NONBLOCK;
    let mut file = std::fs::OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)?;
    if !file.metadata()?.is_file() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut file, &mut bytes)?;
    Ok(Some(bytes))
}

fn strangers(folder: &Path, known: &HashSet<PathBuf>, changed: &mut Vec<Changed>) -> Result<(), GitError> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            changed.push(Changed::Gone(folder.to_owned()));
            return Ok(());
        }
        Err(source) => return Err(GitError::Io { doing: "look through the export".to_owned(), source }),
    };
    for entry in entries {
        let entry = entry.map_err(GitError::io("look through the export"))?;
        let path = entry.path();
        if !known.contains(&path) {
            changed.push(Changed::New(path));
        } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            strangers(&path, known, changed)?;
        }
    }
    Ok(())
}

/// Removes an export, read-only as it is.
pub fn remove(root: &Path) -> Result<(), GitError> {
    fn open_up(folder: &Path) {
        let _refused_below = std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700));
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open_up(&entry.path());
            }
        }
    }
    match std::fs::symlink_metadata(root) {
        Err(_) => Ok(()),
        Ok(_) => {
            open_up(root);
            std::fs::remove_dir_all(root).map_err(GitError::io("remove the export"))
        }
    }
}
