//! `steward auth`: accounts on GitHub, and the credential of the agent that seats run.

use std::io::{BufRead, IsTerminal};

use chrono::{DateTime, Utc};
use steward_core::api::error::{ApiError, ErrorCode};
use steward_core::api::requests::{AccountBy, AccountFromGh, AccountSignOut, Nothing};
use steward_core::api::views::{AccountPage, AccountView, BudgetView, StatusReason, TokenPlace};
use steward_core::api::{Api, accounts, credentials};
use steward_rules::github::scopes::{Held, Need, ScopeRow};

use crate::args::{AgentAuthCommand, AuthCommand};
use crate::output::{Output, Tone};
use crate::table::Table;
use crate::tasks::age;

/// A credential is one line; more than this is a file pasted by mistake.
const KEY_LIMIT: usize = 4096;

pub async fn run(api: &Api, command: AuthCommand, out: &Output) -> Result<(), ApiError> {
    match command {
        AuthCommand::Login { host, with_token, from_gh } => {
            let how = match (from_gh, with_token) {
                (true, _) => How::Gh,
                (false, true) => How::Read,
                (false, false) if accounts::environment_has_token(api) => How::Environment,
                (false, false) => How::Read,
            };
            login(api, &host, how, out).await
        }
        AuthCommand::Status { check } => status(api, check, out).await,
        AuthCommand::Logout { login, host, remove } => {
            let account = one_account(api, login.as_deref(), host.as_deref()).await?;
            let request = AccountSignOut { host: account.host, login: account.login, remove: Some(remove) };
            let done = accounts::sign_out(api, request).await?;
            out.answer(&done, |d| d.message.clone());
            Ok(())
        }
        AuthCommand::Agent { command } => agent(api, command.unwrap_or(AgentAuthCommand::Set), out).await,
    }
}

/// Where the token comes from.
enum How {
    Gh,
    Environment,
    /// Typed, or from a pipe.
    Read,
}

async fn login(api: &Api, host: &str, how: How, out: &Output) -> Result<(), ApiError> {
    // Nobody is asked for a token that would not be taken.
    accounts::may_sign_in(api)?;
    let account = match how {
        How::Gh => accounts::from_gh(api, AccountFromGh { host: host.to_owned() }).await?,
        How::Environment => accounts::sign_in_from_environment(api, host).await?,
        How::Read => {
            if std::io::stdin().is_terminal() {
                offer_gh(api, host, out).await?;
            }
            let token = read_line(&format!(
                "Token for {host} (https://{host}/settings/tokens makes one), not shown: "
            ))?;
            accounts::sign_in(api, host, token.into()).await?
        }
    };
    out.answer(&account, |a| render_account(a, api.now(), out));
    Ok(())
}

async fn offer_gh(api: &Api, host: &str, out: &Output) -> Result<(), ApiError> {
    let page = accounts::list(api, Nothing {}).await?;
    if let Some(gh) = page.gh.iter().find(|gh| gh.host.eq_ignore_ascii_case(host)) {
        let whom = gh.login.as_deref().map(|login| format!(" as {login}")).unwrap_or_default();
        out.note(&format!(
            "gh is signed in here{whom}: `steward auth login --host {host} --from-gh` takes its token."
        ));
    }
    Ok(())
}

async fn status(api: &Api, check: bool, out: &Output) -> Result<(), ApiError> {
    let mut page = accounts::list(api, Nothing {}).await?;
    if check {
        for account in &mut page.accounts {
            let by = AccountBy { host: account.host.clone(), login: account.login.clone() };
            *account = accounts::check(api, by).await?;
        }
    }
    out.answer(&page, |page| render(page, api.now(), out));
    Ok(())
}

/// The one account that is meant.
async fn one_account(api: &Api, login: Option<&str>, host: Option<&str>) -> Result<AccountBy, ApiError> {
    let page = accounts::list(api, Nothing {}).await?;
    let fits = |account: &&AccountView| {
        login.is_none_or(|login| account.login.eq_ignore_ascii_case(login))
            && host.is_none_or(|host| account.host.eq_ignore_ascii_case(host))
    };
    let found: Vec<&AccountView> = page.accounts.iter().filter(fits).collect();
    match found.as_slice() {
        [one] => Ok(AccountBy { host: one.host.clone(), login: one.login.clone() }),
        [] => Err(ApiError::new(ErrorCode::NotFound, "there is no such account in the config file")
            .hint("`steward auth status` lists them")),
        several => {
            let names: Vec<String> = several.iter().map(|a| format!("{} on {}", a.login, a.host)).collect();
            Err(ApiError::new(ErrorCode::BadRequest, format!("which one: {}?", names.join(", ")))
                .hint("`steward auth logout LOGIN --host HOST`"))
        }
    }
}

async fn agent(api: &Api, command: AgentAuthCommand, out: &Output) -> Result<(), ApiError> {
    let done = match command {
        AgentAuthCommand::Set => {
            let key = read_line("Agent key (an API key, or the token of `claude setup-token`), not shown: ")?;
            credentials::set_agent(api, key).await?
        }
        AgentAuthCommand::Status => credentials::agent_status(api).await?,
        AgentAuthCommand::Clear => credentials::clear_agent(api).await?,
    };
    out.answer(&done, |d| d.message.clone());
    Ok(())
}

fn render(page: &AccountPage, now: DateTime<Utc>, out: &Output) -> String {
    let mut text = String::new();
    if page.accounts.is_empty() {
        text += "No account yet. Sign in: steward auth login\n";
    }
    let shown: Vec<String> = page.accounts.iter().map(|account| render_account(account, now, out)).collect();
    text += &shown.join("\n");
    if !page.budgets.is_empty() {
        text += &format!("\n{}", budgets(&page.budgets, now, out));
    }
    for gh in page.gh.iter().filter(|gh| !gh.watched) {
        let whom = gh.login.as_deref().map(|login| format!(" as {login}")).unwrap_or_default();
        text += &format!(
            "gh is signed in to {}{whom}: steward auth login --host {} --from-gh\n",
            gh.host, gh.host
        );
    }
    if let Some(problem) = &page.keyring {
        text += &format!("No token can be kept: {}\n", sentence(problem));
    }
    text
}

/// How much may still be asked; a row without an account holds for its whole host.
fn budgets(all: &[BudgetView], now: DateTime<Utc>, out: &Output) -> String {
    let mut table = Table::new(&["host", "account", "quota", "left", "until"]);
    for row in all {
        let left = match (row.remaining, row.limit) {
            (Some(left), Some(limit)) => format!("{left} of {limit}"),
            (Some(left), None) => left.to_string(),
            (None, _) => "-".to_owned(),
        };
        let until = match (row.paused_until, row.reset_at) {
            (Some(until), _) => {
                out.paint(Tone::Warn, &format!("nothing is asked before {}", until.format("%H:%M:%S UTC")))
            }
            (None, Some(reset)) if reset > now => format!("full again at {}", reset.format("%H:%M UTC")),
            (None, _) => format!("seen {}", age(now, row.seen_at)),
        };
        let or_all = |text: &str| if text.is_empty() { "all".to_owned() } else { text.to_owned() };
        table.row([row.host.clone(), or_all(&row.account), or_all(&row.resource), left, until]);
    }
    table.render()
}

fn render_account(account: &AccountView, now: DateTime<Utc>, out: &Output) -> String {
    let mut table = Table::bare();
    let token = match account.token {
        TokenPlace::Keyring => "in the keyring",
        TokenPlace::Environment => "from STEWARD_GITHUB_TOKEN, kept nowhere",
        TokenPlace::Missing => "none",
        TokenPlace::Unreadable => "cannot be read",
    };
    let kind = match account.kind.as_deref() {
        Some("classic") => ", classic",
        Some(_) => ", fine-grained",
        None => "",
    };
    table.row(["token".to_owned(), format!("{token}{kind}")]);
    if let Some(problem) = &account.problem {
        let tone = if problem.code == "token_expires" { Tone::Warn } else { Tone::Bad };
        table.row(["problem".to_owned(), out.paint(tone, &sentence(problem))]);
    }
    if let Some(end) = account.expires_at {
        table.row(["ends".to_owned(), end.format("%Y-%m-%d %H:%M UTC").to_string()]);
    }
    if let Some(at) = account.checked_at {
        table.row(["checked".to_owned(), age(now, at)]);
    }
    for row in &account.scopes {
        table.row(["scope".to_owned(), scope(row, out)]);
    }
    if !account.unneeded.is_empty() {
        let list = account.unneeded.join(", ");
        table.row(["unneeded".to_owned(), format!("{list}: nobody asks for it, and a thief could use it")]);
    }
    let who = out.paint(Tone::Bold, &format!("{} on {}", account.login, account.host));
    let lines: String = table.render().lines().map(|line| format!("  {line}\n")).collect();
    format!("{who}\n{lines}")
}

fn scope(row: &ScopeRow, out: &Output) -> String {
    let need = match row.need {
        Need::Required => "required",
        Need::Recommended => "recommended",
    };
    let held = match (row.held, row.need) {
        (Held::Granted, _) => out.paint(Tone::Good, "granted"),
        (Held::Missing, Need::Required) => out.paint(Tone::Bad, "MISSING"),
        (Held::Missing, Need::Recommended) => out.paint(Tone::Warn, "missing"),
        (Held::Unknown, _) => "not told; as a fine-grained token".to_owned(),
    };
    let uses: Vec<String> = row
        .wanted_by
        .iter()
        .map(|one| match row.held {
            Held::Unknown => format!("{} ({})", one.permission, one.why),
            Held::Granted | Held::Missing => one.why.clone(),
        })
        .collect();
    format!("{} {need}, {held}: {}", row.scope, uses.join("; "))
}

fn sentence(problem: &StatusReason) -> String {
    let hint = problem.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
    format!("{}{hint}", problem.message)
}

/// Reads one line from the terminal with echo off, or from a pipe.
fn read_line(prompt: &str) -> Result<String, ApiError> {
    let wrong = |what: String| ApiError::new(ErrorCode::BadRequest, what);
    let stdin = std::io::stdin();
    let _echo_off = if stdin.is_terminal() {
        let quiet = EchoOff::new()
            .map_err(|e| wrong(format!("the terminal's echo could not be switched off: {e}")))?;
        eprint!("{prompt}");
        Some(quiet)
    } else {
        None
    };
    let mut line = String::new();
    // A pipe that never ends its line is not read for ever.
    let mut limited = std::io::Read::take(stdin.lock(), KEY_LIMIT as u64 + 2);
    limited.read_line(&mut line).map_err(|e| wrong(format!("the key could not be read: {e}")))?;
    if stdin.is_terminal() {
        eprintln!();
    }
    let key = line.trim();
    if key.is_empty() || key.len() > KEY_LIMIT || key.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(wrong("a key is one word without spaces".to_owned()).hint("paste it and press Enter"));
    }
    Ok(key.to_owned())
}

/// Keeps the terminal from showing what is typed, until dropped.
struct EchoOff {
    before: nix::sys::termios::Termios,
}

impl EchoOff {
    fn new() -> nix::Result<Self> {
        use nix::sys::termios::{LocalFlags, SetArg, tcgetattr, tcsetattr};
        let before = tcgetattr(std::io::stdin())?;
        let mut quiet = before.clone();
        quiet.local_flags.remove(LocalFlags::ECHO);
        tcsetattr(std::io::stdin(), SetArg::TCSANOW, &quiet)?;
        Ok(Self { before })
    }
}

impl Drop for EchoOff {
    fn drop(&mut self) {
        let _ =
            nix::sys::termios::tcsetattr(std::io::stdin(), nix::sys::termios::SetArg::TCSANOW, &self.before);
    }
}
