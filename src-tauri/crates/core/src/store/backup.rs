//! Copies of the database with their hashes, and the way back from them.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use chrono::{DateTime, NaiveDateTime, Utc};
use rusqlite::{Connection, OpenFlags};
use sha2::{Digest, Sha256};

use super::open::{FileLock, beside, opening_lock, users_lock};
use super::{Mode, Store, StoreError, migrate};
use crate::home::Home;

/// How many copies of each kind are kept.
const KEPT: usize = 7;

/// Why a copy was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    Daily,
    /// Before the step to this shape.
    BeforeMigration(usize),
}

/// One copy in the backups folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    pub path: PathBuf,
    pub at: DateTime<Utc>,
    pub why: Why,
}

/// What a restore did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// Where the database that was in use lies now, if there was one.
    pub aside: Option<PathBuf>,
}

impl Store {
    /// Copies the database to `target`, which must not exist, with its hash beside it.
    pub async fn backup(&self, target: &Path) -> Result<(), StoreError> {
        let (database, target) = (self.inner.path.clone(), target.to_owned());
        tokio::task::spawn_blocking(move || copy(&database, &target))
            .await
            .unwrap_or(Err(StoreError::Stopped))
    }

    /// Makes the copy of the day unless it is there, and removes all but the newest seven.
    pub async fn daily_backup(&self) -> Result<Option<PathBuf>, StoreError> {
        if let Mode::ReadOnly(_) = self.mode() {
            return Ok(None);
        }
        let (home, now) = (self.inner.home.clone(), self.inner.clock.now());
        tokio::task::spawn_blocking(move || daily(&home, now)).await.unwrap_or(Err(StoreError::Stopped))
    }
}

fn daily(home: &Home, now: DateTime<Utc>) -> Result<Option<PathBuf>, StoreError> {
    let made_today = |backup: &Backup| backup.why == Why::Daily && backup.at.date_naive() == now.date_naive();
    if list(home)?.iter().any(made_today) {
        return Ok(None);
    }
    let path = path_for(home, now, &Why::Daily);
    copy(&home.database(), &path)?;
    prune(home)?;
    Ok(Some(path))
}

/// Copies the database before it takes the step to `version`.
pub(super) fn before_migration(home: &Home, now: DateTime<Utc>, version: usize) -> Result<(), StoreError> {
    copy(&home.database(), &path_for(home, now, &Why::BeforeMigration(version)))?;
    prune(home)
}

fn path_for(home: &Home, now: DateTime<Utc>, why: &Why) -> PathBuf {
    let why = match why {
        Why::Daily => "daily".to_owned(),
        Why::BeforeMigration(version) => format!("before-{version:04}"),
    };
    home.backups().join(format!("steward-{}-{why}.db", now.format(STAMP)))
}

const STAMP: &str = "%Y%m%dT%H%M%S%3fZ";

/// The copies in the backups folder, newest first. Files of other names are not ours.
pub fn list(home: &Home) -> Result<Vec<Backup>, StoreError> {
    let folder = home.backups();
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(StoreError::io("read", folder)(error)),
    };
    let mut backups: Vec<Backup> = entries.filter_map(|entry| parse_name(&entry.ok()?.path())).collect();
    backups.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| b.path.cmp(&a.path)));
    Ok(backups)
}

fn parse_name(path: &Path) -> Option<Backup> {
    let name = path.file_name()?.to_str()?.strip_prefix("steward-")?.strip_suffix(".db")?;
    let (stamp, why) = name.split_once('-')?;
    let at = NaiveDateTime::parse_from_str(stamp, STAMP).ok()?.and_utc();
    let why = match why.strip_prefix("before-") {
        Some(version) => Why::BeforeMigration(version.parse().ok()?),
        None if why == "daily" => Why::Daily,
        None => return None,
    };
    Some(Backup { path: path.to_owned(), at, why })
}

fn prune(home: &Home) -> Result<(), StoreError> {
    let (mut daily, mut before) = (0, 0);
    for backup in list(home)? {
        let count = match backup.why {
            Why::Daily => &mut daily,
            Why::BeforeMigration(_) => &mut before,
        };
        *count += 1;
        if *count > KEPT {
            std::fs::remove_file(&backup.path).map_err(StoreError::io("remove", &backup.path))?;
            let hash = beside(&backup.path, ".sha256");
            match std::fs::remove_file(&hash) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(StoreError::io("remove", hash)(error));
                }
                Ok(()) | Err(_) => {}
            }
        }
    }
    Ok(())
}

/// Copies the whole database to `target`, with its hash beside it. The copy is there whole or not at all.
pub(super) fn copy(database: &Path, target: &Path) -> Result<(), StoreError> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let unfit = |why: &str| StoreError::Backup { path: target.to_owned(), why: why.to_owned() };
    if target.exists() {
        return Err(unfit("there is already a file of this name"));
    }
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    make_folder(folder)?;
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let temporary = folder.join(format!(".steward-backup-{}-{count}.new", std::process::id()));
    let _ = std::fs::remove_file(&temporary);
    let result = (|| {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(database, flags)?;
        conn.busy_timeout(Duration::from_secs(5))?;
        let name = temporary.to_str().ok_or_else(|| unfit("its path is not valid UTF-8"))?;
        conn.execute("VACUUM INTO ?1", [name])?;
        drop(conn);
        private(&temporary)?;
        let file = File::open(&temporary).map_err(StoreError::io("open", &temporary))?;
        file.sync_all().map_err(StoreError::io("sync", &temporary))?;
        let hash = hash_of(&temporary)?;
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let beside = beside(target, ".sha256");
        std::fs::write(&beside, format!("{hash}  {name}\n")).map_err(StoreError::io("write", &beside))?;
        private(&beside)?;
        File::open(&beside).and_then(|file| file.sync_all()).map_err(StoreError::io("sync", &beside))?;
        std::fs::rename(&temporary, target).map_err(StoreError::io("rename", target))?;
        sync_folder(folder)
    })();
    if result.is_err() {
        let _ = std::fs::remove_file(&temporary);
        if !target.exists() {
            let _ = std::fs::remove_file(beside(target, ".sha256"));
        }
    }
    result
}

/// Checks that a copy is what was written, that it is whole, and that this Steward knows its shape.
pub fn verify(path: &Path) -> Result<(), StoreError> {
    let unfit = |why: String| StoreError::Backup { path: path.to_owned(), why };
    let list = beside(path, ".sha256");
    let text = std::fs::read_to_string(&list)
        .map_err(|error| unfit(format!("its hash {} cannot be read: {error}", list.display())))?;
    let expected = text.split_whitespace().next().unwrap_or_default();
    if hash_of(path)? != expected {
        return Err(unfit("its content is not what its hash was made from".to_owned()));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let sql = |error: rusqlite::Error| unfit(error.to_string());
    let conn = Connection::open_with_flags(path, flags).map_err(sql)?;
    let version = migrate::version(&conn)?;
    if version == 0 || version > migrate::STEPS.len() {
        return Err(unfit(format!("its shape {version} is not one that this Steward knows")));
    }
    let answer: String = conn.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0)).map_err(sql)?;
    if answer != "ok" {
        return Err(unfit(answer));
    }
    Ok(())
}

/// Puts a verified copy in the place of the database. Refused while any process has it open; the file
/// that was in use is moved aside, never deleted.
pub fn restore(home: &Home, path: &Path, now: DateTime<Utc>) -> Result<Restored, StoreError> {
    verify(path)?;
    make_folder(home.data_dir())?;
    let _turn = FileLock::in_turn(&opening_lock(home), Duration::from_secs(10))?;
    let _alone = FileLock::alone(&users_lock(home))?;
    put_in_place(home, path, now, "replaced")
}

/// Newest copy that passes [`verify`].
pub(super) fn newest_good(home: &Home) -> Result<Option<Backup>, StoreError> {
    Ok(list(home)?.into_iter().find(|backup| verify(&backup.path).is_ok()))
}

/// Call it only while holding both locks.
pub(super) fn put_in_place(
    home: &Home,
    copy: &Path,
    now: DateTime<Utc>,
    word: &str,
) -> Result<Restored, StoreError> {
    let database = home.database();
    // Copied before anything moves: a full disk must leave everything as it was.
    let temporary = beside(&database, ".restoring");
    std::fs::copy(copy, &temporary).map_err(StoreError::io("copy", copy))?;
    private(&temporary)?;
    File::open(&temporary).and_then(|file| file.sync_all()).map_err(StoreError::io("sync", &temporary))?;
    let aside = move_aside(home, now, word)?;
    std::fs::rename(&temporary, &database).map_err(StoreError::io("rename", &database))?;
    sync_folder(home.data_dir())?;
    Ok(Restored { aside })
}

/// Moves the database and its journal to a name of their own.
pub(super) fn move_aside(home: &Home, now: DateTime<Utc>, word: &str) -> Result<Option<PathBuf>, StoreError> {
    let database = home.database();
    if !database.exists() {
        return Ok(None);
    }
    let aside = beside(&database, &format!(".{word}-{}", now.format(STAMP)));
    // The journal first: beside another database it would be taken for its own.
    for suffix in ["-wal", "-shm", ""] {
        let from = beside(&database, suffix);
        match std::fs::rename(&from, beside(&aside, suffix)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(StoreError::io("move aside", from)(error));
            }
            Ok(()) | Err(_) => {}
        }
    }
    sync_folder(home.data_dir())?;
    Ok(Some(aside))
}

pub(super) fn make_folder(folder: &Path) -> Result<(), StoreError> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(StoreError::io("create", folder))
}

fn private(path: &Path) -> Result<(), StoreError> {
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(path, mode).map_err(StoreError::io("make private", path))?;
    }
    Ok(())
}

fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    #[cfg(unix)]
    File::open(folder).and_then(|dir| dir.sync_all()).map_err(StoreError::io("sync", folder))?;
    Ok(())
}

fn hash_of(path: &Path) -> Result<String, StoreError> {
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
