//! Accounts on GitHub: who is signed in, what the tokens may do, and signing in and out. A token goes in
//! and never comes out to a client.

use chrono::{DateTime, Utc};
use secrecy::SecretString;
use steward_rules::github::scopes::{self, Granted, System};

use super::error::{ApiError, ErrorCode};
use super::requests::{AccountBy, AccountFromGh, AccountSignOut, Nothing};
use super::views as v;
use super::{Api, convert};
use crate::config::{Account, Config};
use crate::keychain::KeyringState;
use crate::loops::accounts::sign_in::{self, Entry};
use crate::loops::accounts::standing::{self, Lifetime, Standing, TokenFault};
use crate::loops::accounts::{NoAccount, gh};
use crate::store::api_budget::{self, BudgetRow, Limit};

const SIGN_IN: &str = "`steward auth login` signs in";
const NEW_TOKEN: &str = "`steward auth login` takes a new token";

/// Every account of the config file, where `gh` is signed in, and how much may still be asked. No server
/// is asked for it.
pub async fn list(api: &Api, _: Nothing) -> Result<v::AccountPage, ApiError> {
    let config = api.context().config();
    let mut accounts = Vec::new();
    for account in &config.accounts {
        accounts.push(view(api, &config, account).await?);
    }
    let hosts = tokio::task::spawn_blocking(gh::hosts).await.unwrap_or_default();
    let watched = |host: &gh::GhHost| {
        config.accounts.iter().any(|account| {
            account.host.eq_ignore_ascii_case(&host.host)
                && host.login.as_ref().is_none_or(|login| account.login.eq_ignore_ascii_case(login))
        })
    };
    let gh = hosts.into_iter().map(|host| v::GhView {
        watched: watched(&host),
        host: host.host,
        login: host.login,
    });
    let keyring = match api.context().keychain.state().await {
        KeyringState::Ready => None,
        state => Some(keyring(&state)),
    };
    let rows = api.store().read(api_budget::all).await?;
    Ok(v::AccountPage {
        accounts,
        gh: gh.collect(),
        keyring,
        budgets: rows.iter().map(|row| budget(row, api.now())).collect(),
    })
}

/// Takes the token that `gh` holds for a host.
pub async fn from_gh(api: &Api, request: AccountFromGh) -> Result<v::AccountView, ApiError> {
    api.person("sign in")?;
    let host = sign_in::host_name(&request.host).map_err(sign_in::SignInError::from)?;
    let token = gh::token(&host).await.map_err(sign_in::SignInError::from)?;
    sign_in(api, &host, token).await
}

/// Signs in with a token that a shell or the command line read from the person; it has no name among the
/// commands, so that no page can hand one in.
pub async fn sign_in(api: &Api, host: &str, token: SecretString) -> Result<v::AccountView, ApiError> {
    api.person("sign in")?;
    let account = sign_in::with_token(api.context(), host, token).await?;
    view(api, &api.context().config(), &account).await
}

/// Signs in with `STEWARD_GITHUB_TOKEN` of this process, which is kept nowhere.
pub async fn sign_in_from_environment(api: &Api, host: &str) -> Result<v::AccountView, ApiError> {
    api.person("sign in")?;
    let account = sign_in::from_environment(api.context(), host).await?;
    view(api, &api.context().config(), &account).await
}

/// Refuses whoever may not sign in, before a token is asked for.
pub fn may_sign_in(api: &Api) -> Result<(), ApiError> {
    api.person("sign in")
}

/// True when this process was started with a token for GitHub.
pub fn environment_has_token(api: &Api) -> bool {
    api.context().keychain.github_token().is_some()
}

/// Asks GitHub what it knows of an account's token now.
pub async fn check(api: &Api, request: AccountBy) -> Result<v::AccountView, ApiError> {
    let config = api.context().config();
    let account = named(&config, &request.host, &request.login)?;
    match sign_in::check(api.context(), account).await {
        // The view says why a token is not there.
        Ok(_) | Err(NoAccount::SignedOut { .. } | NoAccount::Keyring(_)) => {}
        Err(error) => return Err(error.into()),
    }
    view(api, &config, account).await
}

/// Deletes the token of an account and what was read with it.
pub async fn sign_out(api: &Api, request: AccountSignOut) -> Result<v::Done, ApiError> {
    api.person("sign out")?;
    let config = api.context().config();
    let account = named(&config, &request.host, &request.login)?;
    let entry = if request.remove.unwrap_or_default() { Entry::Removed } else { Entry::Kept };
    if entry == Entry::Removed {
        let users: Vec<String> = config
            .repositories
            .iter()
            .filter(|repository| repository.account.as_deref().is_some_and(|named| account.is_named(named)))
            .map(|repository| repository.name.to_string())
            .collect();
        if !users.is_empty() {
            let message = format!("{} is read as {}", users.join(", "), account.login);
            return Err(ApiError::new(ErrorCode::Refused, message)
                .hint("take it out of the config file first, or give it another account"));
        }
    }
    let done = sign_in::sign_out(api.context(), account, entry).await?;
    let mut message = format!("{} is signed out of {}", account.login, account.host);
    message.push_str(match (done.had_token, entry) {
        (true, Entry::Kept) => "; its token is deleted, what was observed stays",
        (true, Entry::Removed) => "; its token is deleted, and it is out of the config file",
        (false, Entry::Kept) => "; the keyring held no token",
        (false, Entry::Removed) => "; the keyring held no token, and it is out of the config file",
    });
    if done.in_environment {
        message.push_str(". STEWARD_GITHUB_TOKEN still gives one: unset it");
    }
    Ok(v::Done { message })
}

/// What is wrong with the tokens of accounts, by what GitHub said last.
pub(super) async fn reasons(api: &Api, config: &Config) -> Result<Vec<v::StatusReason>, ApiError> {
    let mut reasons = Vec::new();
    for account in &config.accounts {
        let kept = kept(api, account).await?;
        reasons.extend(kept.and_then(|standing| of_token(account, &standing, api.now())));
    }
    Ok(reasons)
}

/// How much may still be asked of a host.
pub(super) fn budget(row: &BudgetRow, now: DateTime<Utc>) -> v::BudgetView {
    let pause = row.pause.filter(|pause| pause.until > now);
    v::BudgetView {
        host: convert::line(&row.host),
        account: convert::line(&row.account),
        resource: convert::line(&row.resource),
        remaining: row.remaining,
        limit: row.quota,
        reset_at: row.reset_at,
        paused_until: pause.map(|pause| pause.until),
        why: pause.map(|pause| {
            match pause.limit {
                Limit::Primary => "primary",
                Limit::Secondary => "secondary",
            }
            .to_owned()
        }),
        seen_at: row.seen_at,
    }
}

/// An account of the config file.
fn named<'c>(config: &'c Config, host: &str, login: &str) -> Result<&'c Account, ApiError> {
    let fits = |account: &&Account| {
        account.host.eq_ignore_ascii_case(host.trim()) && account.login.eq_ignore_ascii_case(login.trim())
    };
    config.accounts.iter().find(fits).ok_or_else(|| {
        let shown = format!("{}@{}", convert::line(login), convert::line(host));
        ApiError::new(ErrorCode::NotFound, format!("there is no account {shown} in the config file"))
            .hint("`steward auth status` lists them")
    })
}

async fn kept(api: &Api, account: &Account) -> Result<Option<Standing>, ApiError> {
    let of = account.clone();
    Ok(api.store().read(move |tx| standing::get(tx, &of)).await?)
}

/// The systems whose wants count: those that are on. Watching a repository wants what reviews want.
fn systems(config: &Config) -> Vec<System> {
    let on = [
        (System::Review, config.review.enabled || !config.repositories.is_empty()),
        (System::Engine, config.engine.enabled),
        (System::Memory, config.memory.enabled),
        (System::Questions, config.questions.enabled),
        (System::Pipeline, config.pipelines.enabled),
    ];
    on.into_iter().filter(|(_, on)| *on).map(|(system, _)| system).collect()
}

async fn view(api: &Api, config: &Config, account: &Account) -> Result<v::AccountView, ApiError> {
    let ctx = api.context();
    let (token, absent) = match ctx.token(account).await {
        Ok(_) if ctx.environment_holds_token_of(&account.host) => (v::TokenPlace::Environment, None),
        Ok(_) => (v::TokenPlace::Keyring, None),
        Err(NoAccount::Keyring(error)) => {
            let reason = match error.state() {
                Some(state) => keyring(&state),
                None => reason("keyring", error.to_string(), None),
            };
            (v::TokenPlace::Unreadable, Some(reason))
        }
        Err(error) => (v::TokenPlace::Missing, Some(reason("signed_out", error.to_string(), Some(SIGN_IN)))),
    };
    let kept = kept(api, account).await?;
    let systems = systems(config);
    let granted = kept.as_ref().map(Standing::granted);
    let rows = scopes::judge(granted.as_ref().unwrap_or(&Granted::Untold), &systems);
    let lacking = || {
        let lacking = scopes::missing(&rows);
        (!lacking.is_empty()).then(|| {
            let message = format!("the token lacks the scope {}", lacking.join(", "));
            reason(
                "scope_missing",
                message,
                Some("tick it on GitHub, or take a new token: `steward auth login`"),
            )
        })
    };
    let said = || kept.as_ref().and_then(|standing| of_token(account, standing, api.now()));
    let problem = absent.or_else(said).or_else(lacking);
    let unneeded = granted.as_ref().map(|granted| scopes::unneeded(granted, &systems)).unwrap_or_default();
    Ok(v::AccountView {
        host: convert::line(&account.host),
        login: convert::line(&account.login),
        token,
        kind: granted.as_ref().map(|granted| {
            match granted {
                Granted::Scopes(_) => "classic",
                Granted::Untold => "fine_grained",
            }
            .to_owned()
        }),
        checked_at: kept.as_ref().map(|standing| standing.checked_at),
        expires_at: kept.as_ref().and_then(|standing| standing.expires_at),
        expires_soon: kept
            .as_ref()
            .is_some_and(|standing| matches!(standing.lifetime(api.now()), Lifetime::EndsSoon(_))),
        unneeded: unneeded.into_iter().map(convert::line).collect(),
        scopes: rows,
        problem,
    })
}

/// What GitHub's last word on a token means for the person.
fn of_token(account: &Account, standing: &Standing, now: DateTime<Utc>) -> Option<v::StatusReason> {
    let who = format!("{}@{}", convert::line(&account.login), convert::line(&account.host));
    let of_fault = standing.fault.as_ref().map(|fault| match fault {
        TokenFault::Rejected => reason(
            "token_rejected",
            format!("GitHub does not accept the token of {who} any more"),
            Some(NEW_TOKEN),
        ),
        TokenFault::OtherUser(other) => reason(
            "token_of_another",
            format!("the token of {who} belongs to {}", convert::line(other)),
            Some("sign in as the right user, or correct the account in the config file"),
        ),
    });
    of_fault.or_else(|| match standing.lifetime(now) {
        Lifetime::Long => None,
        Lifetime::Over(end) => {
            let message = format!("the token of {who} ended on {}", end.format("%Y-%m-%d %H:%M UTC"));
            Some(reason("token_expired", message, Some(NEW_TOKEN)))
        }
        Lifetime::EndsSoon(end) => {
            let message = format!("the token of {who} ends on {}", end.format("%Y-%m-%d %H:%M UTC"));
            Some(reason("token_expires", message, Some(NEW_TOKEN)))
        }
    })
}

fn keyring(state: &KeyringState) -> v::StatusReason {
    let (code, message) = match state {
        KeyringState::Ready => ("keyring", "the keyring is open".to_owned()),
        KeyringState::Locked => ("keyring_locked", "the keyring is locked".to_owned()),
        KeyringState::Absent(why) => {
            ("keyring_absent", format!("there is no keyring here ({})", convert::line(why)))
        }
        KeyringState::Denied => ("keyring_denied", "the keyring refused".to_owned()),
    };
    reason(code, message, state.next_step())
}

fn reason(code: &str, message: String, hint: Option<&str>) -> v::StatusReason {
    v::StatusReason { code: code.to_owned(), message, hint: hint.map(str::to_owned) }
}
