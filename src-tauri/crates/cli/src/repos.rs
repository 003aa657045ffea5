//! `steward repo`.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use clap::{Subcommand, ValueEnum};
use steward_core::api::error::{ApiError, ErrorCode};
use steward_core::api::requests::{ModeWord, Nothing, RepositoryAdd, RepositoryByName, RepositoryMode};
use steward_core::api::views::{
    BoardView, ChecksWord, OfferPage, PolicyView, PullRow, RepositoryOffer, RepositoryPage, RepositoryView,
};
use steward_core::api::{Api, board, offers, policy, repositories};
use steward_core::config::PRESETS;

use crate::output::{Output, Tone};
use crate::table::Table;
use crate::tasks::age;

#[derive(Debug, Subcommand)]
pub enum RepoCommand {
    /// Watch a repository. Nothing goes out there before its mode says so.
    Add {
        /// `owner/name`, or the repository's address.
        name: String,
        /// The account that reads it: LOGIN or LOGIN@HOST; the first one when absent.
        #[arg(long)]
        account: Option<String>,
        #[arg(long, value_parser = PRESETS)]
        preset: Option<String>,
        /// Its clone on this machine, which becomes a workspace.
        #[arg(long, value_name = "PATH")]
        workspace: Option<PathBuf>,
    },
    /// List watched repositories with what was seen of them last.
    List,
    /// Show what is open in a repository, by whose move it is.
    Show { name: String },
    /// Say what Steward may do in a repository. What widens waits for `steward config confirm`.
    Mode {
        name: String,
        #[arg(value_enum)]
        mode: ModeArg,
        /// The classes of effects that act by themselves, separated by commas; empty for none.
        #[arg(long, value_name = "CLASS,…", value_delimiter = ',')]
        act: Option<Vec<String>>,
    },
    /// Print the policy in force for a repository, and where each value comes from.
    Policy { name: String },
    /// Stop watching a repository; its tasks and reviews stay.
    Remove { name: String },
    /// List what could be watched: clones beside the workspaces, and the accounts' repositories.
    Offers,
    /// Let the runtime look at GitHub now.
    Look,
    /// Judge the last 50 merges by the gate as it would be now, and propose which checks to require. Ctrl-C stops
    /// it, and shows what was judged so far.
    Shadow { name: String },
    /// Propose which checks must be well before a merge, or write them to the config file.
    Checks {
        name: String,
        /// Write what is proposed.
        #[arg(long)]
        write: bool,
        /// Write these, separated by commas; empty for none.
        #[arg(long, value_name = "CHECK,…", value_delimiter = ',', conflicts_with = "write")]
        require: Option<Vec<String>>,
    },
    /// Allow merging again after something else landed than a merge makes.
    Unfreeze { name: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ModeArg {
    /// Look and judge; nothing goes out.
    Observe,
    /// Put each effect into the inbox with a button.
    Suggest,
    /// Let the listed classes act by themselves.
    Act,
}

pub async fn run(api: &Api, command: RepoCommand, out: &Output) -> Result<(), ApiError> {
    match command {
        RepoCommand::Add { name, account, preset, workspace } => {
            let workspace_path = match workspace {
                Some(path) => Some(
                    std::path::absolute(&path)
                        .map_err(|e| {
                            ApiError::new(ErrorCode::BadRequest, format!("{}: {e}", path.display()))
                        })?
                        .to_string_lossy()
                        .into_owned(),
                ),
                None => None,
            };
            let request = RepositoryAdd { name, account, preset, workspace_path };
            let added = repositories::add(api, request).await?;
            out.answer(&added, |r| {
                let clone =
                    r.workspace.as_deref().map(|title| format!(", workspace {title}")).unwrap_or_default();
                format!("{} on {} is watched, mode {}{clone}", r.name, r.host, r.mode)
            });
        }
        RepoCommand::List => {
            board::look_at_workspaces(api).await;
            let page = board::list(api, Nothing {}).await?;
            out.answer(&page, |page| render(page, api.now(), out));
        }
        RepoCommand::Show { name } => {
            board::look_at_workspaces(api).await;
            let found = board::show(api, RepositoryByName { name }).await?;
            out.answer(&found, |found| render_board(found, api.now(), out));
        }
        RepoCommand::Mode { name, mode, act } => {
            let mode = match mode {
                ModeArg::Observe => ModeWord::Observe,
                ModeArg::Suggest => ModeWord::Suggest,
                ModeArg::Act => ModeWord::Act,
            };
            let act = act.map(|classes| classes.into_iter().filter(|class| !class.is_empty()).collect());
            let changed = repositories::mode(api, RepositoryMode { name, mode, act }).await?;
            out.answer(&changed, |r| {
                let waits = waits_words(r).map(|waits| format!("; {waits}: steward config confirm"));
                format!("{}: {}{}", r.name, mode_words(&r.mode, &r.act), waits.unwrap_or_default())
            });
        }
        RepoCommand::Policy { name } => {
            let found = policy::show(api, RepositoryByName { name }).await?;
            out.answer(&found, render_policy);
        }
        RepoCommand::Shadow { name } => crate::setup::shadow(api, name, out).await?,
        RepoCommand::Checks { name, write, require } => {
            crate::setup::checks(api, name, write, require, out).await?;
        }
        RepoCommand::Remove { name } => {
            let done = repositories::remove(api, RepositoryByName { name }).await?;
            out.answer(&done, |d| d.message.clone());
        }
        RepoCommand::Offers => {
            let page = offers::list(api, Nothing {}).await?;
            out.answer(&page, |page| render_offers(page, api.now()));
        }
        RepoCommand::Unfreeze { name } => {
            let lifted = repositories::unfreeze(api, RepositoryByName { name }).await?;
            out.answer(&lifted, |r| format!("merging is not frozen any more in {}", r.name));
        }
        RepoCommand::Look => {
            let asked = board::observe_now(api, Nothing {}).await?;
            out.answer(&asked, |_| {
                "the runtime looks at GitHub now; steward repo list shows what it saw".to_owned()
            });
        }
    }
    Ok(())
}

fn mode_words(mode: &str, act: &[String]) -> String {
    match act {
        [] => mode.to_owned(),
        classes => format!("{mode} ({})", classes.join(", ")),
    }
}

/// What the file asks for beyond what is in force.
fn waits_words(r: &RepositoryView) -> Option<String> {
    let (asked, now) = (mode_words(&r.asked.mode, &r.asked.act), mode_words(&r.mode, &r.act));
    let what = if asked == now { "a wider limit".to_owned() } else { asked };
    r.unconfirmed.then(|| format!("{what} waits for your confirmation"))
}

fn seen(r: &RepositoryView, now: DateTime<Utc>) -> String {
    r.observed_at.map_or_else(|| "not yet".to_owned(), |at| age(now, at))
}

fn render(page: &RepositoryPage, now: DateTime<Utc>, out: &Output) -> String {
    if page.repositories.is_empty() {
        return "No repository is watched. Add one: steward repo add owner/name".to_owned();
    }
    let mut table = Table::new(&["repository", "mode", "pulls", "issues", "seen", "state"]);
    for r in &page.repositories {
        let count = |n: u32| if r.observed_at.is_some() { n.to_string() } else { "-".to_owned() };
        let frozen = r.frozen.as_ref().map(|_| out.paint(Tone::Bad, "merging is frozen"));
        let problem = r.problem.as_ref().map(|problem| out.paint(Tone::Warn, &problem.message));
        let waits = waits_words(r).map(|waits| out.paint(Tone::Warn, &waits));
        let state: Vec<String> = [frozen, problem, waits].into_iter().flatten().collect();
        let state = if state.is_empty() { "ok".to_owned() } else { state.join("; ") };
        let host = if r.host == "github.com" { String::new() } else { format!("{}/", r.host) };
        table.row([
            format!("{host}{}", r.name),
            mode_words(&r.mode, &r.act),
            count(r.open_pulls),
            count(r.open_issues),
            seen(r, now),
            state,
        ]);
    }
    table.render()
}

fn render_board(found: &BoardView, now: DateTime<Utc>, out: &Output) -> String {
    let r = &found.repository;
    let mut head = Table::bare();
    head.row(["repository".to_owned(), out.paint(Tone::Bold, &format!("{} on {}", r.name, r.host))]);
    head.row(["mode".to_owned(), mode_words(&r.mode, &r.act)]);
    if let Some(freeze) = &r.frozen {
        let words = format!("{}; steward repo unfreeze {}", freeze.why, r.name);
        head.row(["frozen".to_owned(), out.paint(Tone::Bad, &words)]);
    }
    if let Some(waits) = waits_words(r) {
        head.row(["waits".to_owned(), out.paint(Tone::Warn, &format!("{waits}: steward config confirm"))]);
    }
    for (name, value) in [
        ("account", &r.account),
        ("preset", &r.preset),
        ("workspace", &r.workspace),
        ("moved to", &r.now_called),
        ("default branch", &r.default_branch),
        ("permission", &r.permission),
    ] {
        if let Some(value) = value {
            head.row([name.to_owned(), value.clone()]);
        }
    }
    head.row(["seen".to_owned(), seen(r, now)]);
    if let Some(problem) = &r.problem {
        let hint = problem.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
        head.row(["problem".to_owned(), out.paint(Tone::Warn, &format!("{}{hint}", problem.message))]);
    }
    let mut text = head.render();
    if found.pulls.is_empty() && r.observed_at.is_some() {
        text += "\nNo open pull request.\n";
    }
    if !found.pulls.is_empty() {
        let mut table = Table::new(&["pull", "title", "author", "checks", "task", "verdict", "changed"]);
        for pull in &found.pulls {
            table.row(pull_cells(pull, now, out));
        }
        text += &format!("\n{}", table.render());
    }
    if !found.issues.is_empty() {
        let mut table = Table::new(&["issue", "title", "author", "changed"]);
        for issue in &found.issues {
            table.row([
                format!("#{}", issue.number),
                issue.title.clone(),
                issue.author.clone(),
                age(now, issue.updated_at),
            ]);
        }
        text += &format!("\n{}", table.render());
    }
    text
}

fn pull_cells(pull: &PullRow, now: DateTime<Utc>, out: &Output) -> [String; 7] {
    let checks = match pull.checks {
        ChecksWord::None => "none".to_owned(),
        ChecksWord::Pending => out.paint(Tone::Warn, "running"),
        ChecksWord::Failing => out.paint(Tone::Bad, "failing"),
        ChecksWord::Passing => out.paint(Tone::Good, "passing"),
        ChecksWord::Unknown => "unknown".to_owned(),
    };
    let verdict = pull.review.as_ref().and_then(|review| review.verdict);
    [
        format!("#{}{}", pull.number, if pull.draft { " draft" } else { "" }),
        pull.title.clone(),
        pull.author.clone(),
        checks,
        pull.task.map_or_else(|| "-".to_owned(), |task| task.to_string()),
        verdict.map_or_else(|| "-".to_owned(), |verdict| verdict.as_str().to_owned()),
        age(now, pull.updated_at),
    ]
}

fn render_policy(found: &PolicyView) -> String {
    let mut table = Table::new(&["key", "value", "origin"]);
    for value in &found.values {
        table.row([value.key.clone(), value.value.clone(), value.origin.clone()]);
    }
    table.render()
}

fn render_offers(page: &OfferPage, now: DateTime<Utc>) -> String {
    let mut text = String::new();
    let halves = [("Clones on this machine", &page.clones), ("Repositories of your accounts", &page.account)];
    for (title, offers) in halves {
        let new: Vec<&RepositoryOffer> = offers.iter().filter(|offer| !offer.watched).collect();
        if new.is_empty() {
            continue;
        }
        let mut table = Table::bare();
        for offer in new {
            let note = match (&offer.path, offer.archived) {
                (Some(path), _) => path.clone(),
                (None, true) => "archived".to_owned(),
                (None, false) => String::new(),
            };
            let used = offer.active_at.map_or_else(|| "-".to_owned(), |at| age(now, at));
            table.row([format!("  {}", offer.name), offer.host.clone(), used, note]);
        }
        text += &format!("{title}\n{}\n", table.render());
    }
    for problem in &page.problems {
        let hint = problem.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
        text += &format!("{}{hint}\n", problem.message);
    }
    if text.is_empty() {
        text += "Nothing more to watch was found. Sign in, or add a workspace beside your clones.";
    }
    text.trim_end().to_owned()
}
