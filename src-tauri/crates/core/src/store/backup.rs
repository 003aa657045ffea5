//! Copies of the database with their hashes.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OpenFlags};
use sha2::{Digest, Sha256};

use super::StoreError;
use super::open::beside;
use crate::home::Home;

/// Copies the database before it changes shape.
pub(super) fn before_migration(
    home: &Home,
    now: DateTime<Utc>,
    version: usize,
) -> Result<PathBuf, StoreError> {
    copy_to(home, &backup_path(home, now, &format!("before-{:04}", version + 1)))
}

pub(super) fn backup_path(home: &Home, now: DateTime<Utc>, why: &str) -> PathBuf {
    home.backups().join(format!("steward-{}-{why}.db", now.format("%Y%m%dT%H%M%S%3fZ")))
}

/// Copies the whole database to `target`, with its hash beside it. The copy is there whole or not at all.
pub(super) fn copy_to(home: &Home, target: &Path) -> Result<PathBuf, StoreError> {
    let folder = target.parent().unwrap_or(Path::new("."));
    make_folder(folder)?;
    let temporary = tempfile_in(folder);
    let result = (|| {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(home.database(), flags)?;
        conn.busy_timeout(std::time::Duration::from_secs(5))?;
        let name = temporary.to_str().ok_or_else(|| StoreError::Backup {
            path: target.to_owned(),
            why: "its path is not valid UTF-8".to_owned(),
        })?;
        conn.execute("VACUUM INTO ?1", [name])?;
        private(&temporary)?;
        let file = File::open(&temporary).map_err(StoreError::io("open", &temporary))?;
        file.sync_all().map_err(StoreError::io("sync", &temporary))?;
        let hash = hash_of(&temporary)?;
        let name = target.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        write_whole(&beside(target, ".sha256"), format!("{hash}  {name}\n").as_bytes())?;
        std::fs::rename(&temporary, target).map_err(StoreError::io("rename", target))?;
        sync_folder(folder)
    })();
    if result.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    result.map(|()| target.to_owned())
}

fn tempfile_in(folder: &Path) -> PathBuf {
    folder.join(format!(".backup-{}.tmp", std::process::id()))
}

pub(super) fn make_folder(folder: &Path) -> Result<(), StoreError> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(StoreError::io("create", folder))
}

pub(super) fn private(path: &Path) -> Result<(), StoreError> {
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(path, mode).map_err(StoreError::io("make private", path))?;
    }
    Ok(())
}

fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    std::fs::write(path, bytes).map_err(StoreError::io("write", path))?;
    private(path)?;
    File::open(path).and_then(|file| file.sync_all()).map_err(StoreError::io("sync", path))
}

pub(super) fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    #[cfg(unix)]
    File::open(folder).and_then(|dir| dir.sync_all()).map_err(StoreError::io("sync", folder))?;
    Ok(())
}

/// The SHA-256 of a file, as hexadecimal text.
pub(super) fn hash_of(path: &Path) -> Result<String, StoreError> {
    let mut file = File::open(path).map_err(StoreError::io("open", path))?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0_u8; 1 << 16];
    loop {
        let count = file.read(&mut buffer).map_err(StoreError::io("read", path))?;
        if count == 0 {
            break;
        }
        hash.update(&buffer[..count]);
    }
    Ok(hex::encode(hash.finalize()))
}
