//! `steward`: the command line. Parses, asks the API, prints.

mod args;
mod auth;
mod config;
mod contain;
mod effects;
mod hook;
mod inbox;
mod items;
mod mcp;
mod mcp_need;
mod mcp_task;
mod mcp_watch;
mod merge_driver;
mod needs;
mod notices;
mod output;
mod person;
mod repos;
mod reviews;
mod serve;
mod setup;
mod system;
mod table;
mod tasks;
mod workspaces;

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use steward_core::api::Api;
use steward_core::api::error::{ApiError, ErrorCode};
use steward_core::home::Home;

use args::{Cli, Command, McpCommand};
use output::Output;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == "contain") {
        return contained(&words[1..]);
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return wrong_use(&error),
    };
    if let Command::MergeDriver(args) = &cli.command {
        return merge_driver::run(args);
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("steward: could not start: {error}");
            return ExitCode::from(1);
        }
    };
    let out = Output::new(cli.json);
    let code = match runtime.block_on(run(cli, &out)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            out.error(&error);
            ExitCode::from(error.exit_code())
        }
    };
    runtime.shutdown_background();
    code
}

async fn run(cli: Cli, out: &Output) -> Result<(), ApiError> {
    match cli.command {
        Command::Completions { shell } => {
            system::completions(shell);
            Ok(())
        }
        Command::Mcp(McpCommand::Review) => {
            mcp::review().await.map_err(|e| ApiError::new(ErrorCode::Internal, format!("{e:#}")))
        }
        Command::Mcp(McpCommand::Watch) => {
            mcp_watch::run().await.map_err(|e| ApiError::new(ErrorCode::Internal, format!("{e:#}")))
        }
        Command::Mcp(McpCommand::Fix) => {
            mcp_task::fix().await.map_err(|e| ApiError::new(ErrorCode::Internal, format!("{e:#}")))
        }
        Command::Mcp(McpCommand::Triage) => {
            mcp_task::triage().await.map_err(|e| ApiError::new(ErrorCode::Internal, format!("{e:#}")))
        }
        Command::Config(command) => config::run(&home()?, command, out).await,
        Command::Restore { from } => system::restore(&home()?, &from, out),
        command => with_api(command, out).await,
    }
}

fn home() -> Result<Home, ApiError> {
    let home = Home::from_env()
        .and_then(|home| home.create().map(|()| home))
        .map_err(|e| ApiError::new(ErrorCode::Config, e.to_string()))?;
    Ok(home)
}

async fn with_api(command: Command, out: &Output) -> Result<(), ApiError> {
    let pane = std::env::var("TMUX_PANE").ok();
    let api = Api::open(&home()?, person::caller_of_this_process()).await?.in_pane(pane.as_deref());
    match command {
        Command::Workspace(command) => workspaces::run(&api, command, out).await,
        Command::Task(command) => tasks::run(&api, command, out).await,
        Command::Review(args) => reviews::start(&api, args, out).await,
        Command::List(args) => reviews::list(&api, args, out).await,
        Command::Show(args) => reviews::show(&api, args, out).await,
        Command::Cancel { review } => reviews::cancel(&api, review, out).await,
        Command::Mark(args) => reviews::mark(&api, args, out).await,
        Command::Inbox { list, command } => inbox::run(&api, list, command, out).await,
        Command::Need(args) => needs::need(&api, args, out).await,
        Command::Needs(command) => needs::run(&api, command, out).await,
        Command::Hook(command) => hook::run(&api, command, out).await,
        Command::Mcp(McpCommand::Need { agent, project }) => mcp_need::run(api, agent, project).await,
        Command::Seats(command) => system::seats(&api, command, out).await,
        Command::Status => system::status(&api, out).await,
        Command::Budget => system::budget(&api, out).await,
        Command::Doctor => system::doctor(&api, out).await,
        Command::Pause { why } => system::pause(&api, why, out).await,
        Command::Resume => system::resume(&api, out).await,
        Command::Auth(command) => auth::run(&api, command, out).await,
        Command::Repo(command) => repos::run(&api, command, out).await,
        Command::Items { repository, command } => items::items(&api, repository, command, out).await,
        Command::Why(args) => items::why(&api, args, out).await,
        Command::Backup { to } => system::backup(&api, to, out).await,
        Command::Log(command) => effects::log(&api, command, out).await,
        Command::Serve { listen } => serve::run(api, listen, out).await,
        Command::Completions { .. }
        | Command::Mcp(McpCommand::Review | McpCommand::Watch | McpCommand::Fix | McpCommand::Triage)
        | Command::MergeDriver(_)
        | Command::Config(_)
        | Command::Restore { .. } => {
            unreachable!("BUG: run() handles these before a store is opened")
        }
    }
}

/// Help and version go to stdout with 0; wrong use exits 2, as JSON when it was asked for.
fn wrong_use(error: &clap::Error) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    if std::env::args().any(|arg| arg == "--json") {
        let text = error.render().to_string();
        let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        Output::new(true).error(&ApiError::new(ErrorCode::BadRequest, first).hint("see `steward help`"));
    } else {
        let _ = error.print();
    }
    ExitCode::from(2)
}

/// The boundary's own helpers: what runs around and inside it. They know no home and no database.
fn contained(words: &[String]) -> ExitCode {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match contain::run_words(&words) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("steward contain: {error:#}");
            ExitCode::from(1)
        }
    }
}
