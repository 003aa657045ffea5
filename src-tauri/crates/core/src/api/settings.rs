//! The config file: what is in force, what is wrong, and the few edits the app makes for a person.

use std::path::PathBuf;

use super::Api;
use super::error::{ApiError, ErrorCode};
use super::requests::{Nothing, Switch};
use super::views as v;
use crate::config::edit::{self, Edit, Scalar};
use crate::config::{self, ConfigWatch, Effective, Loaded, LoadedFrom, Origin, Severity};
use crate::home::Home;

pub async fn check(api: &Api, _: Nothing) -> Result<v::ConfigView, ApiError> {
    api.context().config.reread();
    Ok(view(api.home(), &api.config()))
}

/// The same for a command that opens no database.
pub fn check_file(home: &Home) -> Result<v::ConfigView, ApiError> {
    let person = std::env::var_os("HOME").map(PathBuf::from);
    let watch = ConfigWatch::open(home, person);
    Ok(view(home, &watch.current()))
}

pub async fn enable_review(api: &Api, request: Switch) -> Result<v::Done, ApiError> {
    api.person("switch reviews on or off")?;
    change(api, &Edit::Set { block: "review", key: "enabled", value: Scalar::Bool(request.on) })?;
    let word = if request.on { "on" } else { "off" };
    Ok(v::Done { message: format!("reviews are {word}") })
}

/// The JSON Schema of the file, for editors.
pub fn schema() -> String {
    serde_json::to_string_pretty(&config::schema()).unwrap_or_default()
}

/// The file, made from the commented template when there is none.
pub fn ensure_file(home: &Home) -> Result<PathBuf, ApiError> {
    edit::ensure_file(home).map_err(|e| ApiError::new(ErrorCode::Config, e.to_string()))?;
    Ok(home.config_file())
}

/// Makes one edit that keeps comments, and puts it in force.
pub(super) fn change(api: &Api, wanted: &Edit) -> Result<(), ApiError> {
    change_at_once(api, std::slice::from_ref(wanted))
}

/// Makes several edits together, or none of them.
pub(super) fn change_at_once(api: &Api, wanted: &[Edit]) -> Result<(), ApiError> {
    let person = std::env::var_os("HOME").map(PathBuf::from);
    edit::edit_file_at_once(api.home(), person.as_deref(), wanted)?;
    api.context().config.reread();
    Ok(())
}

fn view(home: &Home, loaded: &Loaded) -> v::ConfigView {
    let path = home.config_file();
    v::ConfigView {
        exists: path.is_file(),
        path: path.display().to_string(),
        problems: loaded
            .problems
            .iter()
            .map(|p| v::ProblemView {
                severity: match p.severity {
                    Severity::Fatal | Severity::Error => "error",
                    Severity::Warning => "warning",
                }
                .to_owned(),
                line: (p.line > 0).then_some(p.line),
                column: (p.column > 0).then_some(p.column),
                key: p.key.clone(),
                message: p.message.clone(),
                hint: p.hint.clone(),
                snippet: p.snippet.clone(),
            })
            .collect(),
        effective: loaded.effective.iter().map(effective).collect(),
        last_good_in_force: loaded.from == LoadedFrom::LastGood,
    }
}

/// A value in force and where it comes from.
pub(super) fn effective(found: &Effective) -> v::EffectiveView {
    v::EffectiveView {
        key: found.key.clone(),
        value: super::convert::line(&found.shown()),
        origin: origin(&found.origin),
    }
}

fn origin(origin: &Origin) -> String {
    match origin {
        Origin::Default => "default".to_owned(),
        Origin::Preset => "preset".to_owned(),
        Origin::Unconfirmed => "more waits for a confirmation".to_owned(),
        Origin::File { line } => format!("line {line}"),
        Origin::Clamped { line } => format!("line {line}, lowered to the ceiling"),
        Origin::Refused { line } => format!("line {line}, refused"),
    }
}
