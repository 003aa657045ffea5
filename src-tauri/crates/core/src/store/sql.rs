//! How values lie in columns: times as UTC text of fixed width, words and JSON through serde.

use chrono::{DateTime, NaiveDateTime, SecondsFormat, Utc};
use rusqlite::Row;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, Type, ValueRef};
use serde::Serialize;
use serde::de::DeserializeOwned;
use steward_rules::ids::{RepoName, Sha};

/// A time as a column holds it: `2026-11-30T08:56:44.123Z`, so that text order is time order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct At(pub DateTime<Utc>);

/// The fixed-width text of a time.
pub fn utc_text(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Reads a text of [`utc_text`]; nothing else is accepted.
pub fn parse_utc(text: &str) -> Option<DateTime<Utc>> {
    if text.len() != 24 {
        return None;
    }
    NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.3fZ").ok().map(|naive| naive.and_utc())
}

impl ToSql for At {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from(utc_text(self.0)))
    }
}

impl FromSql for At {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        parse_utc(value.as_str()?).map(At).ok_or(FromSqlError::InvalidType)
    }
}

/// The time of a column.
pub fn time(row: &Row<'_>, column: &str) -> rusqlite::Result<DateTime<Utc>> {
    row.get::<_, At>(column).map(|at| at.0)
}

/// The time of a column that may be NULL.
pub fn time_opt(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<DateTime<Utc>>> {
    row.get::<_, Option<At>>(column).map(|at| at.map(|at| at.0))
}

/// The commit id of a column.
pub fn sha(row: &Row<'_>, column: &str) -> rusqlite::Result<Sha> {
    let text: String = row.get(column)?;
    Sha::new(&text).map_err(|error| bad(column, error))
}

/// The commit id of a column that may be NULL.
pub fn sha_opt(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<Sha>> {
    let text: Option<String> = row.get(column)?;
    text.map(|text| Sha::new(&text).map_err(|error| bad(column, error))).transpose()
}

/// The `owner/name` of a column.
pub fn repo_name(row: &Row<'_>, column: &str) -> rusqlite::Result<RepoName> {
    let text: String = row.get(column)?;
    RepoName::parse(&text).ok_or_else(|| bad(column, "not owner/name"))
}

/// One of our own words (an enum that serde writes as a string).
pub fn word<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_value(serde_json::Value::String(text)).map_err(|error| bad(column, error))
}

/// A word of a column that may be NULL.
pub fn word_opt<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<T>> {
    let text: Option<String> = row.get(column)?;
    text.map(|text| {
        serde_json::from_value(serde_json::Value::String(text)).map_err(|error| bad(column, error))
    })
    .transpose()
}

/// A structure of a JSON column.
pub fn json<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|error| bad(column, error))
}

/// A structure of a JSON column that may be NULL.
pub fn json_opt<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<T>> {
    let text: Option<String> = row.get(column)?;
    text.map(|text| serde_json::from_str(&text).map_err(|error| bad(column, error))).transpose()
}

/// The text of one of our own enums, as a column holds it.
pub fn to_word<T: Serialize>(value: &T) -> rusqlite::Result<String> {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => Ok(text),
        Ok(other) => Err(rusqlite::Error::ToSqlConversionFailure(format!("not a word: {other}").into())),
        Err(error) => Err(rusqlite::Error::ToSqlConversionFailure(Box::new(error))),
    }
}

/// The JSON text of a structure, as a column holds it.
pub fn to_json<T: Serialize>(value: &T) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

fn bad(column: &str, error: impl std::fmt::Display) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Text, format!("column {column}: {error}").into())
}
