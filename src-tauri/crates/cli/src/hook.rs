//! `steward hook`: what agents' own hooks call, and how they come to.

use std::io::{BufRead, IsTerminal, Read, Write};

use steward_core::api::error::{ApiError, ErrorCode};
use steward_core::api::requests as rq;
use steward_core::api::{Api, hooks as api_hooks};

use crate::args::HookCommand;
use crate::needs::who;
use crate::output::Output;

/// The largest event that is read.
const EVENT: u64 = 4 << 20;

pub async fn run(api: &Api, command: HookCommand, out: &Output) -> Result<(), ApiError> {
    match command {
        HookCommand::Claude { agent } => {
            let mut text = String::new();
            let wrong = |why: String| ApiError::new(ErrorCode::Internal, format!("standard input: {why}"));
            std::io::stdin()
                .take(EVENT)
                .read_to_string(&mut text)
                .map_err(|error| wrong(error.to_string()))?;
            // Whatever goes wrong here is no reason to block the agent: exit code 2 would.
            api_hooks::claude(api, who(agent), &text).await.map(drop).map_err(|error| match error.code {
                ErrorCode::BadRequest => wrong(error.message),
                _ => error,
            })
        }
        HookCommand::Install { workspace, yes } => install(api, workspace, yes, out).await,
    }
}

async fn install(api: &Api, title: String, yes: bool, out: &Output) -> Result<(), ApiError> {
    let shown = api_hooks::preview(api, rq::WorkspaceByTitle { title: title.clone() }).await?;
    if shown.installed {
        out.answer(&shown, |shown| format!("the hook stands in {} already", shown.path));
        return Ok(());
    }
    out.note(&format!("{}\n{}", shown.path, shown.diff));
    if !yes && !agreed()? {
        return Err(ApiError::new(ErrorCode::Refused, "nothing is written"));
    }
    let written = api_hooks::install(api, rq::HookInstall { title, text: shown.text }).await?;
    out.answer(&written, |written| format!("written: {}", written.path));
    Ok(())
}

/// Asks at the terminal.
fn agreed() -> Result<bool, ApiError> {
    if !std::io::stdin().is_terminal() {
        return Err(ApiError::new(ErrorCode::Refused, "nothing is written: there is no terminal to ask at")
            .hint("look at the lines above, then run it with `--yes`"));
    }
    eprint!("Write it? [y/N] ");
    let _ = std::io::stderr().flush();
    let mut line = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut line)
        .map_err(|error| ApiError::new(ErrorCode::Internal, error.to_string()))?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}
