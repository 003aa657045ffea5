//! The shapes of the database, oldest first. Forward only; each step is one transaction.

use rusqlite::Connection;
use rusqlite_migration::{M, Migrations};

use super::StoreError;

/// Every step a released Steward has taken, in order. Append only.
pub const STEPS: &[&str] = &[
    include_str!("../../../../../migrations/0001_init.sql"),
    include_str!("../../../../../migrations/0002_github.sql"),
    include_str!("../../../../../migrations/0003_observer.sql"),
    include_str!("../../../../../migrations/0004_effects.sql"),
    include_str!("../../../../../migrations/0005_questions.sql"),
    include_str!("../../../../../migrations/0006_pull_age.sql"),
    include_str!("../../../../../migrations/0007_turned_down.sql"),
    include_str!("../../../../../migrations/0008_landings.sql"),
    include_str!("../../../../../migrations/0009_engine.sql"),
    include_str!("../../../../../migrations/0010_deeds.sql"),
    include_str!("../../../../../migrations/0011_engine_tasks.sql"),
    include_str!("../../../../../migrations/0012_engine_limit.sql"),
    include_str!("../../../../../migrations/0013_inbox_counts.sql"),
    include_str!("../../../../../migrations/0014_engine_mended.sql"),
];

/// The step the file stands at; 0 for a new file.
pub(super) fn version(conn: &Connection) -> Result<usize, StoreError> {
    let version: i64 = conn.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    usize::try_from(version).map_err(|_| StoreError::Value(format!("user_version {version}")))
}

/// Takes the next step from `version`.
pub(super) fn step(conn: &mut Connection, steps: &[&'static str], version: usize) -> Result<(), StoreError> {
    let list: Vec<M<'_>> = steps.iter().map(|sql| M::up(sql)).collect();
    Migrations::from_slice(&list).to_version(conn, version + 1).map_err(|error| match error {
        rusqlite_migration::Error::RusqliteError { err, .. } => match StoreError::from(err) {
            StoreError::Sql(error) => StoreError::Migration(version + 1, error.to_string()),
            known => known,
        },
        other => StoreError::Migration(version + 1, other.to_string()),
    })
}

/// The final shape as SQL text, for reading (`migrations/schema.sql`).
pub fn schema_sql() -> Result<String, StoreError> {
    let mut conn = Connection::open_in_memory()?;
    for version in 0..STEPS.len() {
        step(&mut conn, STEPS, version)?;
    }
    let mut statement = conn.prepare(
        "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'
         ORDER BY tbl_name, CASE type WHEN 'table' THEN 0 WHEN 'index' THEN 1 ELSE 2 END, name",
    )?;
    let parts = statement.query_map([], |row| row.get::<_, String>(0))?;
    let mut text = String::from("-- Generated from the migrations; for reading. Do not edit.\n");
    for part in parts {
        text.push('\n');
        text.push_str(part?.trim());
        text.push_str(";\n");
    }
    Ok(text)
}
