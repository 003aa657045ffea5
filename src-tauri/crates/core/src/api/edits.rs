//! What an edit of the config file would change, before it is written: its lines, and what it widens.

use std::path::PathBuf;

use super::error::ApiError;
use super::views as v;
use super::{Api, convert};
use crate::config;
use crate::config::difference::{self, Line, Side};
use crate::config::edit::{self, Edit};
use crate::loops::effects::powers;
use crate::store::StoreError;

/// The difference that the edits would make in the file, and the powers among it that would wait for a
/// confirmation. Nothing is written.
pub(super) async fn preview(api: &Api, edits: &[Edit]) -> Result<v::EditView, ApiError> {
    let person = std::env::var_os("HOME").map(PathBuf::from);
    let changed = edit::preview(api.home(), person.as_deref(), edits)?;
    let checked = |text: &str| config::check(text, person.as_deref()).map(|checked| checked.config).ok();
    let (now, then) = (checked(&changed.before), checked(&changed.after));
    let pending = api
        .store()
        .read(move |tx| {
            let pending = |config: Option<config::Config>| match config {
                Some(config) => Ok::<_, StoreError>(powers::read(tx, &config)?.pending),
                None => Ok(Vec::new()),
            };
            let (before, mut after) = (pending(now)?, pending(then)?);
            after.retain(|line| !before.contains(line));
            Ok::<_, StoreError>(after)
        })
        .await?;
    Ok(v::EditView {
        path: api.home().config_file().display().to_string(),
        parts: difference::between(&changed.before, &changed.after)
            .iter()
            .map(|part| v::EditPart { lines: part.iter().map(line).collect() })
            .collect(),
        pending: pending.iter().map(super::effects::power_line).collect(),
    })
}

fn line(line: &Line) -> v::EditLine {
    let number = |at: Option<usize>| at.and_then(|at| u32::try_from(at).ok());
    v::EditLine {
        side: match line.side {
            Side::Same => v::EditSide::Same,
            Side::Removed => v::EditSide::Removed,
            Side::Added => v::EditSide::Added,
        },
        before: number(line.before),
        after: number(line.after),
        text: convert::line(&line.text),
    }
}
