//! `steward doctor`: whether the data is well, and what to do when it is not.

use std::path::Path;

use chrono::Duration;
use serde::Serialize;

use super::audit::{self, Chain};
use super::{Mode, ReadTx, Store, StoreError, backup, health};

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    Well,
    /// It works, and something should be done.
    Warn,
    Bad,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    pub id: &'static str,
    pub state: CheckState,
    pub detail: String,
    pub next_step: Option<String>,
}

impl Check {
    fn well(id: &'static str, detail: impl Into<String>) -> Self {
        Self { id, state: CheckState::Well, detail: detail.into(), next_step: None }
    }

    fn not_well(
        id: &'static str,
        state: CheckState,
        detail: impl Into<String>,
        next_step: impl Into<String>,
    ) -> Self {
        Self { id, state, detail: detail.into(), next_step: Some(next_step.into()) }
    }
}

const RESTORE: &str = "quit Steward everywhere, then run `steward restore` with the newest good backup";

impl Store {
    /// Looks at the whole database and at where it lies. Takes as long as reading it all does.
    pub async fn doctor(&self) -> Result<Vec<Check>, StoreError> {
        let mut checks = self
            .read(|tx| {
                Ok::<_, StoreError>(vec![integrity(tx)?, foreign_keys(tx)?, audit_chain(tx)?, recovery(tx)?])
            })
            .await?;
        checks.insert(0, self.mode_check());
        let (home, now) = (self.inner.home.clone(), self.inner.clock.now());
        let outside = tokio::task::spawn_blocking(move || {
            let mut checks = vec![free_disk(home.data_dir())];
            let mut paths = vec![home.data_dir().to_owned(), home.database()];
            paths.extend([home.config_dir().to_owned(), home.config_file()]);
            paths.sort();
            paths.dedup();
            checks.push(permissions(&paths));
            checks.push(backups(&home, now)?);
            Ok::<_, StoreError>(checks)
        });
        checks.extend(outside.await.unwrap_or(Err(StoreError::Stopped))?);
        Ok(checks)
    }

    fn mode_check(&self) -> Check {
        match self.mode() {
            Mode::ReadWrite => Check::well("mode", "the database can be read and written"),
            Mode::ReadOnly(why) => Check::not_well(
                "mode",
                CheckState::Bad,
                format!("the database is open for reading only: {why}"),
                "put right what the reason names; until then nothing is changed",
            ),
        }
    }
}

fn integrity(tx: &ReadTx<'_>) -> Result<Check, StoreError> {
    let found = tx
        .query_all("PRAGMA integrity_check(20)", [], |row| row.get::<_, String>(0))
        .or_else(|error| if error.is_damage() { Ok(vec![error.cause()]) } else { Err(error) })?;
    Ok(match found.as_slice() {
        [answer] if answer == "ok" => Check::well("integrity", "every page and index is whole"),
        found => Check::not_well("integrity", CheckState::Bad, found.join("; "), RESTORE),
    })
}

fn foreign_keys(tx: &ReadTx<'_>) -> Result<Check, StoreError> {
    let found = tx.query_all("PRAGMA foreign_key_check", [], |row| row.get::<_, String>(0))?;
    Ok(match found.as_slice() {
        [] => Check::well("foreign_keys", "every row that refers to another finds it"),
        [first, ..] => {
            let detail = format!("{} rows refer to rows that are gone, the first in {first}", found.len());
            Check::not_well("foreign_keys", CheckState::Bad, detail, RESTORE)
        }
    })
}

fn audit_chain(tx: &ReadTx<'_>) -> Result<Check, StoreError> {
    Ok(match audit::verify(tx)? {
        Chain::Whole { rows } => Check::well("audit", format!("the chain of {rows} rows is whole")),
        Chain::Broken { at } => Check::not_well(
            "audit",
            CheckState::Bad,
            format!("row {at} of the audit log was changed, removed or added from outside"),
            "compare with a backup; what was done before this row can be trusted",
        ),
    })
}

fn recovery(tx: &ReadTx<'_>) -> Result<Check, StoreError> {
    Ok(match health::last_recovery(tx)? {
        None => Check::well("recovery", "the database never had to be recovered"),
        Some(last) => Check::not_well(
            "recovery",
            CheckState::Warn,
            last.message(),
            "look through the tasks and reviews since then; remove the file kept aside when it is not needed",
        ),
    })
}

#[cfg(unix)]
fn free_disk(folder: &Path) -> Check {
    match nix::sys::statvfs::statvfs(folder) {
        Ok(disk) => {
            // The fields have different widths on different systems.
            #[allow(clippy::unnecessary_cast)]
            let free = disk.blocks_available() as u64 * disk.fragment_size() as u64 / 1_000_000;
            let detail = format!("{free} MB are free where the data lies");
            match free {
                0..=100 => Check::not_well(
                    "disk",
                    CheckState::Bad,
                    detail,
                    "free some space; writing will fail soon",
                ),
                101..=1000 => Check::not_well("disk", CheckState::Warn, detail, "free some space"),
                _ => Check::well("disk", detail),
            }
        }
        Err(error) => Check::not_well(
            "disk",
            CheckState::Warn,
            format!("the free space of {} cannot be read: {error}", folder.display()),
            "look at it yourself",
        ),
    }
}

#[cfg(not(unix))]
fn free_disk(_folder: &Path) -> Check {
    Check::well("disk", "not looked at on this system")
}

#[cfg(unix)]
fn permissions(paths: &[std::path::PathBuf]) -> Check {
    use std::os::unix::fs::PermissionsExt;
    let open: Vec<String> = paths
        .iter()
        .filter(|path| path.metadata().is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0))
        .map(|path| path.display().to_string())
        .collect();
    if open.is_empty() {
        return Check::well("permissions", "only you can read the configuration and the data");
    }
    Check::not_well(
        "permissions",
        CheckState::Warn,
        format!("others on this machine can reach {}", open.join(", ")),
        format!("chmod go= {}", open.join(" ")),
    )
}

#[cfg(not(unix))]
fn permissions(_paths: &[std::path::PathBuf]) -> Check {
    Check::well("permissions", "not looked at on this system")
}

fn backups(home: &crate::home::Home, now: chrono::DateTime<chrono::Utc>) -> Result<Check, StoreError> {
    let list = backup::list(home)?;
    let Some(newest) = list.first() else {
        return Ok(Check::not_well(
            "backups",
            CheckState::Warn,
            "there is no backup yet",
            "run `steward backup`, or leave Steward running: it makes one each day",
        ));
    };
    let made = newest.at.format("%Y-%m-%d %H:%M UTC");
    if let Err(error) = backup::verify(&newest.path) {
        return Ok(Check::not_well("backups", CheckState::Bad, error.to_string(), "run `steward backup`"));
    }
    if now - newest.at > Duration::days(3) {
        let detail = format!("the newest of {} backups is of {made}", list.len());
        return Ok(Check::not_well("backups", CheckState::Warn, detail, "run `steward backup`"));
    }
    Ok(Check::well("backups", format!("{} backups; the newest, of {made}, is whole", list.len())))
}
