//! `config.yaml`: the only source of power. Read whole, checked whole, kept in force when a later
//! text does not parse (product.md, *config.yaml*).

pub mod blocks;
pub mod difference;
pub mod edit;
mod engine;
mod engine_blocks;
mod engine_values;
pub mod fields;
mod forge;
mod policy;
mod problem;
mod questions;
pub mod raw;
mod repositories;
mod resolve;
mod review;
pub mod seats;
mod splice;
mod step;
mod types;
mod watch;
mod workspaces;

use std::path::Path;

pub use policy::of_repository;
pub use problem::{Problem, Severity};
pub use repositories::{CLASSES, PRESETS};
pub use resolve::{Effective, Origin};
pub use types::{
    Account, Adapter, AgentChoice, CommitIdentity, Config, Engine, Fetch, ForgeChoice, Network, NetworkProxy,
    Notifications, Questions, QuietHours, RepoMode, Repository, Retention, Review, Role, Spend, Switch,
    ThrumProject, WatcherLimits, Workspace, WorkspaceMatch,
};
pub(crate) use watch::write_private;
pub use watch::{ConfigWatch, Loaded, LoadedFrom};

/// A text that was read: the configuration it gives, what is wrong with it, and where each value
/// comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    pub config: Config,
    pub problems: Vec<Problem>,
    pub effective: Vec<Effective>,
}

/// Reads and checks a whole file. `person` is the home that `~` stands for. The error is a file that
/// cannot be read at all.
pub fn check(text: &str, person: Option<&Path>) -> Result<Checked, Problem> {
    let root = raw::parse(text).map_err(|broken| {
        let spot = raw::Spot { line: broken.line, column: broken.column, ..Default::default() };
        Problem::at(Severity::Fatal, spot, "", broken.message).with_snippet(text)
    })?;
    let resolved = resolve::resolve(&root, person).map_err(|problem| problem.with_snippet(text))?;
    Ok(Checked {
        config: resolved.config,
        problems: resolved.problems.into_iter().map(|problem| problem.with_snippet(text)).collect(),
        effective: resolved.effective,
    })
}

/// The first `config.yaml`: nothing but comments that show what may stand in it.
pub const TEMPLATE: &str = include_str!("template.yaml");

/// The JSON Schema of `config.yaml`, for editors.
pub fn schema() -> serde_json::Value {
    titled(schemars::schema_for!(blocks::RawConfig), "Steward configuration")
}

fn titled(schema: schemars::Schema, title: &str) -> serde_json::Value {
    let mut schema = schema.to_value();
    if let Some(root) = schema.as_object_mut() {
        root.insert("title".to_owned(), title.into());
    }
    schema
}

/// The text of `config.schema.json`, with its keys in order.
pub fn schema_text() -> String {
    written(schema())
}

fn written(schema: serde_json::Value) -> String {
    let mut text = serde_json::to_string_pretty(&sorted(schema))
        .expect("BUG: a JSON value with text keys can always be written");
    text.push('\n');
    text
}

/// Another crate of the build may make JSON maps keep the order of their insertion.
fn sorted(value: serde_json::Value) -> serde_json::Value {
    match value {
        serde_json::Value::Object(map) => {
            let ordered: std::collections::BTreeMap<_, _> =
                map.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            ordered.into_iter().collect()
        }
        serde_json::Value::Array(items) => items.into_iter().map(sorted).collect(),
        other => other,
    }
}
