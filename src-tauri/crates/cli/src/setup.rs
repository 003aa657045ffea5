//! `steward repo shadow` and `steward repo checks`: what the gate would do, and which checks to require.

use chrono::{DateTime, Utc};
use steward_core::api::error::{ApiError, ErrorCode};
use steward_core::api::requests::{RepositoryByName, RepositoryChecks};
use steward_core::api::views::{ChecksView, EditSide, EditView, ShadowView};
use steward_core::api::{Api, checks, shadow};

use crate::output::{Output, Tone};
use crate::table::Table;
use crate::tasks::age;

/// Says how far it is; Ctrl-C stops it, and what was judged until then is shown.
pub async fn shadow(api: &Api, name: String, out: &Output) -> Result<(), ApiError> {
    let by = || RepositoryByName { name: name.clone() };
    out.progress("reading which checks are usual");
    let running = shadow::run_telling(api, by(), |read, of| {
        if of > 0 {
            out.progress(&format!("{read} of {of} merges read"));
        }
    });
    let mut running = std::pin::pin!(running);
    let mut interrupt = std::pin::pin!(tokio::signal::ctrl_c());
    let mut is_stopped = false;
    let ended = loop {
        tokio::select! {
            ended = &mut running => break ended,
            _ = &mut interrupt, if !is_stopped => {
                is_stopped = true;
                // One that has just ended needs no stop.
                let _ = shadow::stop(api, by()).await;
            }
        }
    };
    out.progress("");
    let found = ended?;
    let fault = found.ended.as_ref().filter(|why| why.code != "stopped");
    let error = fault.map(|why| {
        let error = ApiError::new(ErrorCode::GitHub, why.message.clone());
        why.hint.iter().fold(error, |error, hint| error.hint(hint.clone()))
    });
    match error {
        None => out.answer(&found, |found| render_shadow(found, api.now())),
        // A script gets one object; a person also what was read.
        Some(error) if out.is_json() => return Err(error),
        Some(error) => {
            out.text(&render_shadow(&found, api.now()));
            return Err(error);
        }
    }
    Ok(())
}

/// Shows which checks could be required, or writes them.
pub async fn checks(
    api: &Api,
    name: String,
    write: bool,
    require: Option<Vec<String>>,
    out: &Output,
) -> Result<(), ApiError> {
    let wanted = match require {
        Some(checks) => checks.into_iter().filter(|check| !check.is_empty()).collect(),
        None => {
            let found = checks::propose(api, RepositoryByName { name: name.clone() }).await?;
            if !write {
                out.answer(&found, render_checks);
                return Ok(());
            }
            if found.proposed.is_empty() {
                return Err(ApiError::new(ErrorCode::Refused, found.proposal)
                    .hint("name them yourself: --require CHECK,…"));
            }
            found.proposed
        }
    };
    let request = RepositoryChecks { name, checks: wanted.clone() };
    let edit = checks::preview(api, request.clone()).await?;
    let changed = checks::set(api, request).await?;
    out.answer(&changed, |changed| {
        let names = if wanted.is_empty() { "no check".to_owned() } else { wanted.join(", ") };
        let waits = if changed.unconfirmed {
            "; what widens it waits for your confirmation: steward config confirm"
        } else {
            ""
        };
        format!("{}{} requires {names}{waits}", render_edit(&edit, out), changed.name)
    });
    Ok(())
}

/// The changed lines of the config file, as a diff.
fn render_edit(edit: &EditView, out: &Output) -> String {
    let mut text = String::new();
    for line in edit.parts.iter().flat_map(|part| &part.lines) {
        let line = match line.side {
            EditSide::Same => format!("  {}", line.text),
            EditSide::Removed => out.paint(Tone::Bad, &format!("- {}", line.text)),
            EditSide::Added => out.paint(Tone::Good, &format!("+ {}", line.text)),
        };
        text += &format!("{line}\n");
    }
    if text.is_empty() { text } else { format!("{}\n{text}\n", edit.path) }
}

fn render_checks(found: &ChecksView) -> String {
    let required = match found.required.as_slice() {
        [] => "no check is required: nothing of it is merged".to_owned(),
        names => format!("required: {}", names.join(", ")),
    };
    let hint = match found.proposed.as_slice() {
        [] => String::new(),
        _ => format!("\n`steward repo checks {} --write` requires them", found.repository),
    };
    format!("{required}\n{} {}{hint}", found.proposal, found.proposed.join(", "))
}

fn render_shadow(found: &ShadowView, now: DateTime<Utc>) -> String {
    let would = found.rows.iter().filter(|row| row.would_merge).count();
    let mut table = Table::new(&["PR", "MERGED", "CLASS", "GATE", "WHY", "TITLE"]);
    for row in &found.rows {
        table.row([
            format!("#{}", row.number),
            age(now, row.merged_at),
            row.class.clone(),
            row.decision.clone(),
            row.message.clone(),
            row.title.clone(),
        ]);
    }
    let sum = match found.rows.len() {
        0 if found.ended.is_some() => "nothing was judged".to_owned(),
        0 => "nothing was merged yet that could be judged".to_owned(),
        all => {
            let merges = if all == 1 { "merge" } else { "merges" };
            format!("the gate would have let {would} of the last {all} {merges} through by itself")
        }
    };
    let stopped = match &found.ended {
        Some(why) if why.code == "stopped" => format!("\n{}", why.message),
        Some(_) | None => String::new(),
    };
    let checks = found.proposed_checks.join(", ");
    format!(
        "{}{sum}{stopped}\n{} {checks}",
        if found.rows.is_empty() { String::new() } else { table.render() },
        found.proposal
    )
}
