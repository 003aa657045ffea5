//! What can go wrong with the database, each with its next step.

use std::path::PathBuf;

/// Why the database did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("another process holds the database for longer than we wait; try again in a moment")]
    Busy,
    #[error("the disk is full, so nothing was written; free some space and try again")]
    DiskFull,
    #[error("the database is open for reading only: {0}")]
    ReadOnly(String),
    #[error("the database is damaged ({0}); quit Steward everywhere and run `steward restore`")]
    Corrupt(String),
    #[error("{} is not a database; quit Steward everywhere and run `steward restore`", .0.display())]
    NotADatabase(PathBuf),
    #[error("{} is a database of another program; move it away", .0.display())]
    Foreign(PathBuf),
    #[error("another Steward has the database open; quit it everywhere first")]
    InUse,
    #[error("the row is refused: {0}")]
    Refused(String),
    #[error("there is already such a row: {0}")]
    Exists(String),
    #[error("a stored value cannot be read: {0}")]
    Value(String),
    #[error("could not {doing} {path}: {source}", path = path.display())]
    Io { doing: &'static str, path: PathBuf, source: std::io::Error },
    #[error("migration {0} failed and was rolled back: {1}")]
    Migration(usize, String),
    #[error("the backup {path} cannot be used: {why}", path = path.display())]
    Backup { path: PathBuf, why: String },
    #[error("the work on the database was stopped before it ran")]
    Stopped,
    #[error("the database refused: {0}")]
    Sql(#[source] rusqlite::Error),
}

impl StoreError {
    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| match source.kind() {
            std::io::ErrorKind::StorageFull => Self::DiskFull,
            _ => Self::Io { doing, path, source },
        }
    }

    /// What is wrong, without the next step.
    pub(super) fn cause(&self) -> String {
        match self {
            Self::Corrupt(text) => text.clone(),
            Self::NotADatabase(_) => "it is not a database".to_owned(),
            other => other.to_string(),
        }
    }

    /// True when the file itself is beyond use.
    pub(super) fn is_damage(&self) -> bool {
        matches!(self, Self::Corrupt(_) | Self::NotADatabase(_))
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode as Code;
        match &error {
            rusqlite::Error::SqliteFailure(failure, text) => {
                let text = || text.clone().unwrap_or_else(|| failure.to_string());
                match failure.code {
                    Code::DatabaseBusy | Code::DatabaseLocked => Self::Busy,
                    Code::DiskFull => Self::DiskFull,
                    Code::ReadOnly => Self::ReadOnly("the file or its folder cannot be written".to_owned()),
                    Code::DatabaseCorrupt => Self::Corrupt(text()),
                    Code::NotADatabase => Self::NotADatabase(PathBuf::from("the database file")),
                    Code::ConstraintViolation => match failure.extended_code {
                        rusqlite::ffi::SQLITE_CONSTRAINT_UNIQUE
                        | rusqlite::ffi::SQLITE_CONSTRAINT_PRIMARYKEY => Self::Exists(text()),
                        _ => Self::Refused(text()),
                    },
                    _ => Self::Sql(error),
                }
            }
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::IntegralValueOutOfRange(..) => Self::Value(error.to_string()),
            _ => Self::Sql(error),
        }
    }
}
