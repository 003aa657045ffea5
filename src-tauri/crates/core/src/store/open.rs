//! Opening the file: connections, the version gate, and one opener at a time.

use std::fs::{File, OpenOptions as FileOptions};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};

use super::health::{self, Recovery};
use super::{Mode, StoreError, backup, migrate};
use crate::clock::SharedClock;
use crate::home::Home;

/// How a store is opened; tests play older and newer Stewards and small disks with it.
#[derive(Debug, Clone, Copy)]
pub struct OpenOptions {
    /// The steps this Steward knows.
    pub steps: &'static [&'static str],
    /// How long a write waits for another process.
    pub busy_timeout: Duration,
    /// The most pages the file may have.
    pub max_pages: Option<u32>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { steps: migrate::STEPS, busy_timeout: Duration::from_secs(5), max_pages: None }
    }
}

/// Locks that the OS drops when the process dies.
pub(super) struct FileLock {
    _file: File,
}

impl FileLock {
    fn file(path: &Path) -> Result<File, StoreError> {
        let mut options = FileOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(path).map_err(StoreError::io("open the lock", path))
    }

    /// Held by every open store, shared with other processes.
    pub(super) fn shared(path: &Path) -> Result<Self, StoreError> {
        let file = Self::file(path)?;
        file.try_lock_shared().map_err(|_| StoreError::InUse)?;
        Ok(Self { _file: file })
    }

    /// Held alone, at once or not at all.
    pub(super) fn alone(path: &Path) -> Result<Self, StoreError> {
        let file = Self::file(path)?;
        file.try_lock().map_err(|_| StoreError::InUse)?;
        Ok(Self { _file: file })
    }

    /// Held alone, waiting for others to finish opening.
    pub(super) fn in_turn(path: &Path, patience: Duration) -> Result<Self, StoreError> {
        let file = Self::file(path)?;
        let since = Instant::now();
        while file.try_lock().is_err() {
            if since.elapsed() > patience {
                return Err(StoreError::Busy);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(Self { _file: file })
    }
}

/// Where the locks of the database lie: one for those who have it open, one for who is opening it.
pub(super) fn users_lock(home: &Home) -> PathBuf {
    home.data_dir().join("store.lock")
}

pub(super) fn opening_lock(home: &Home) -> PathBuf {
    home.data_dir().join("store.opening")
}

/// A connection that may write.
pub(super) fn writer(path: &Path, options: &OpenOptions) -> Result<Connection, StoreError> {
    let fresh = !path.exists();
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if fresh {
        // SQLite gives -wal and -shm the mode of the file, so this one decides for all three.
        let mut file = FileOptions::new();
        file.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut file, 0o600);
        file.open(path).map_err(StoreError::io("create", path))?;
    }
    let conn = Connection::open_with_flags(path, flags).map_err(|error| named(error, path))?;
    prepare(&conn, options).map_err(|error| named(error, path))?;
    conn.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get::<_, String>(0))
        .map_err(|error| named(error, path))?;
    if let Some(pages) = options.max_pages {
        conn.pragma_update_and_check(None, "max_page_count", pages, |row| row.get::<_, i64>(0))?;
    }
    Ok(conn)
}

/// A connection that only reads.
pub(super) fn reader(path: &Path, options: &OpenOptions) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || -> rusqlite::Result<Connection> {
        let conn = Connection::open_with_flags(path, flags)?;
        prepare(&conn, options)?;
        conn.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(conn)
    };
    match open() {
        Ok(conn) => Ok(conn),
        // On a disk that cannot be written the shared-memory file cannot be made. Without a journal
        // the file alone is whole, and nobody can change it under us.
        Err(error) if !has_journal(path) && is_cannot_open(&error) => {
            let uri = format!("file:{}?immutable=1", uri_path(path));
            let conn = Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)?;
            prepare(&conn, options)?;
            Ok(conn)
        }
        Err(error) => Err(named(error, path)),
    }
}

fn is_cannot_open(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::CannotOpen | rusqlite::ErrorCode::ReadOnly))
}

fn has_journal(path: &Path) -> bool {
    beside(path, "-wal").metadata().is_ok_and(|meta| meta.len() > 0)
}

fn uri_path(path: &Path) -> String {
    path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23")
}

/// `steward.db` and `-wal` give `steward.db-wal`.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn prepare(conn: &Connection, options: &OpenOptions) -> rusqlite::Result<()> {
    conn.busy_timeout(options.busy_timeout)?;
    conn.pragma_update(None, "foreign_keys", true)?;
    conn.pragma_update(None, "trusted_schema", false)?;
    conn.pragma_update(None, "temp_store", "memory")?;
    conn.pragma_update(None, "synchronous", "normal")?;
    conn.set_prepared_statement_cache_capacity(128);
    Ok(())
}

fn named(error: rusqlite::Error, path: &Path) -> StoreError {
    match StoreError::from(error) {
        StoreError::NotADatabase(_) => StoreError::NotADatabase(path.to_owned()),
        other => other,
    }
}

/// What opening gave.
pub(super) struct Opened {
    pub(super) writer: Option<Connection>,
    pub(super) mode: Mode,
    pub(super) users: Option<FileLock>,
    pub(super) recovery: Option<Recovery>,
}

/// Opens the file and brings it to this Steward's shape. One process opens at a time.
pub(super) fn open(home: &Home, clock: &SharedClock, options: &OpenOptions) -> Result<Opened, StoreError> {
    let path = home.database();
    let _turn = match FileLock::in_turn(&opening_lock(home), Duration::from_secs(60)) {
        Ok(turn) => turn,
        Err(StoreError::Io { source, .. }) if path.exists() && is_unwritable(&source) => {
            reader(&path, options)?;
            let mode = Mode::ReadOnly(format!("{} cannot be written ({source})", home.data_dir().display()));
            return Ok(Opened { writer: None, mode, users: None, recovery: None });
        }
        Err(error) => return Err(error),
    };
    match whole(home, options) {
        Ok(conn) => shape(home, clock, options, conn, None),
        Err(error) if error.is_damage() => {
            // Others who have it open would go on writing into the file that is moved aside.
            let alone = FileLock::alone(&users_lock(home)).map_err(|_| error_in_use(&error))?;
            let recovery = health::recover(home, clock.now(), error.cause())?;
            drop(alone);
            shape(home, clock, options, whole(home, options)?, Some(recovery))
        }
        Err(StoreError::ReadOnly(_)) => {
            reader(&path, options)?;
            let mode = Mode::ReadOnly(format!("{} cannot be written", path.display()));
            Ok(Opened { writer: None, mode, users: None, recovery: None })
        }
        Err(error) => Err(error),
    }
}

fn error_in_use(damage: &StoreError) -> StoreError {
    StoreError::Corrupt(format!("{}, and another Steward has it open", damage.cause()))
}

/// A connection to a file that shows no damage.
fn whole(home: &Home, options: &OpenOptions) -> Result<Connection, StoreError> {
    let path = home.database();
    if health::is_emptied(home)? {
        return Err(StoreError::Corrupt("the file is empty".to_owned()));
    }
    let conn = writer(&path, options)?;
    let objects: i64 = conn
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(|error| named(error, &path))?;
    if let Some(damage) = health::hidden_damage(home, &conn)? {
        return Err(StoreError::Corrupt(damage));
    }
    if objects > 0 && migrate::version(&conn)? == 0 {
        // A database of somebody else is not damage, and not ours to move.
        return Err(StoreError::Foreign(path));
    }
    Ok(conn)
}

/// Takes the steps that are missing, each after a copy.
fn shape(
    home: &Home,
    clock: &SharedClock,
    options: &OpenOptions,
    mut conn: Connection,
    recovery: Option<Recovery>,
) -> Result<Opened, StoreError> {
    let users = Some(FileLock::shared(&users_lock(home))?);
    let found = migrate::version(&conn)?;
    if found > options.steps.len() {
        let mode = Mode::ReadOnly(format!(
            "it was written by a newer Steward (shape {found}, this one knows {}); update Steward to change anything",
            options.steps.len()
        ));
        return Ok(Opened { writer: None, mode, users, recovery });
    }
    for version in found..options.steps.len() {
        // A file that begins now has nothing to lose.
        if found > 0 {
            backup::before_migration(home, clock.now(), version + 1)?;
        }
        migrate::step(&mut conn, options.steps, version)?;
    }
    if let Some(recovery) = &recovery {
        health::remember(&conn, recovery)?;
    }
    Ok(Opened { writer: Some(conn), mode: Mode::ReadWrite, users, recovery })
}

fn is_unwritable(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem)
}
