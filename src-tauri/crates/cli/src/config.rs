//! `steward config`.

use std::process::Command;

use steward_core::api::error::{ApiError, ErrorCode};
use steward_core::api::views::ConfigView;
use steward_core::api::{Api, settings as api_settings};
use steward_core::home::Home;
use steward_rules::caller::Caller;

use crate::args::ConfigCommand;
use crate::effects;
use crate::output::{Output, Tone};
use crate::person::caller_of_this_process;
use crate::table::Table;

pub async fn run(home: &Home, command: ConfigCommand, out: &Output) -> Result<(), ApiError> {
    match command {
        ConfigCommand::Path => {
            let path = home.config_file().display().to_string();
            out.answer(&serde_json::json!({ "path": path }), |_| path.clone());
            Ok(())
        }
        ConfigCommand::Schema => {
            out.verbatim(&api_settings::schema());
            Ok(())
        }
        ConfigCommand::Check => check(home, out),
        ConfigCommand::Confirm { change } => {
            let api = Api::open(home, caller_of_this_process()).await?;
            effects::confirm(&api, change, out).await
        }
        ConfigCommand::Edit => {
            edit(home, out)?;
            check(home, out)
        }
    }
}

fn check(home: &Home, out: &Output) -> Result<(), ApiError> {
    let view = api_settings::check_file(home)?;
    out.answer(&view, |v| render(v, out));
    if view.problems.iter().any(|p| p.severity == "error") {
        std::process::exit(1);
    }
    Ok(())
}

fn render(view: &ConfigView, out: &Output) -> String {
    let mut text = String::new();
    for p in &view.problems {
        let tone = if p.severity == "error" { Tone::Bad } else { Tone::Warn };
        let at = match (p.line, p.column) {
            (Some(line), Some(column)) => format!(":{line}:{column}"),
            _ => String::new(),
        };
        text += &format!("{}{at}: {}: {}\n", view.path, out.paint(tone, &p.severity), p.message);
        if let Some(snippet) = &p.snippet {
            text += &format!("{}\n", snippet.trim_end());
        }
        if let Some(hint) = &p.hint {
            text += &format!("  {hint}\n");
        }
    }
    if view.last_good_in_force {
        text += "the last valid file is still in force\n";
    }
    if !view.exists {
        text += &format!("{} does not exist; everything has its default\n", view.path);
    }
    let mut table = Table::new(&["key", "value", "origin"]);
    for e in &view.effective {
        table.row([e.key.clone(), e.value.clone(), e.origin.clone()]);
    }
    text + &table.render()
}

/// Opens the file in the person's editor; made from the template when it does not exist.
fn edit(home: &Home, out: &Output) -> Result<(), ApiError> {
    if let Caller::Agent(why) = caller_of_this_process() {
        return Err(ApiError::new(
            ErrorCode::NotAPerson,
            format!("only a person edits the config file: {why}"),
        )
        .hint("run it in a terminal of your own"));
    }
    let path = api_settings::ensure_file(home)?;
    let editor = ["VISUAL", "EDITOR"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|v| !v.trim().is_empty()))
        .ok_or_else(|| {
            ApiError::new(ErrorCode::BadRequest, "neither VISUAL nor EDITOR is set")
                .hint(format!("export EDITOR=vi, or open {} yourself", path.display()))
        })?;
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let status =
        Command::new(program).args(words).arg(&path).status().map_err(|e| {
            ApiError::new(ErrorCode::BadRequest, format!("{program} could not be started: {e}"))
        })?;
    if !status.success() {
        out.note(&format!("{program} ended with {status}"));
    }
    Ok(())
}
