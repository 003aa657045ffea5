//! Signing in and out: a token is kept only after GitHub said whose it is.

use secrecy::{ExposeSecret, SecretString};
use steward_rules::untrusted::Untrusted;

use super::NoAccount;
use super::gh::GhError;
use super::standing::{self, Standing};
use crate::config::Account;
use crate::config::edit::{self, Edit, EditError};
use crate::github::{Address, Client, GitHubError, NotAHost, OpenError};
use crate::keychain::{self, KeychainError, KeyringState};
use crate::loops::Ctx;
use crate::store::{Durability, StoreError, audit, http_cache};

/// Longest token; GitHub's own have at most some 100 characters, those of apps more.
const MAX_TOKEN: usize = 1024;

/// How old GitHub's word on a token may become.
const CHECKED_EVERY: chrono::Duration = chrono::Duration::days(1);

/// Why nobody was signed in.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    #[error(transparent)]
    Host(#[from] NotAHost),
    #[error("a token is one word without spaces, of at most {MAX_TOKEN} characters")]
    NotAToken,
    #[error("STEWARD_GITHUB_TOKEN is set for this process and goes before the keyring")]
    Shadowed,
    #[error("STEWARD_GITHUB_TOKEN is not set for this process")]
    NoneInEnvironment,
    #[error("STEWARD_GITHUB_TOKEN belongs to {0}, the host of the first account")]
    OtherHost(String),
    #[error("GitHub names the user of this token `{0}`, which is no login")]
    NotALogin(String),
    #[error(transparent)]
    Way(#[from] NoAccount),
    #[error(transparent)]
    Gh(#[from] GhError),
    #[error(transparent)]
    Keyring(#[from] KeychainError),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    GitHub(#[from] GitHubError),
    #[error("the token is good, but the account could not be written into the config file: {0}")]
    Config(#[from] EditError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What becomes of the config file at a sign-out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// The account stays there, signed out.
    Kept,
    Removed,
}

/// What a sign-out found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignedOut {
    /// The keyring held a token, and it is deleted.
    pub had_token: bool,
    /// The environment still gives one.
    pub in_environment: bool,
}

/// Signs in with a token that was given, and keeps it in the keyring.
pub async fn with_token(ctx: &Ctx, host: &str, token: SecretString) -> Result<Account, SignInError> {
    let host = host_name(host)?;
    let token = one_word(&token)?;
    if ctx.environment_holds_token_of(&host) {
        return Err(SignInError::Shadowed);
    }
    // Asked first: a token that cannot be kept need not travel.
    match ctx.keychain.state().await {
        KeyringState::Ready => {}
        KeyringState::Locked => return Err(KeychainError::Locked.into()),
        KeyringState::Absent(why) => return Err(KeychainError::Absent(why).into()),
        KeyringState::Denied => return Err(KeychainError::Denied.into()),
    }
    let (account, standing) = whose(ctx, &host, token.clone()).await?;
    let name = keychain::github(&account.host, &account.login);
    // What the environment gives for another host is no token of this account.
    let before = ctx.keychain.clone().with_github_token(None).get(&name).await?;
    ctx.keychain.set(&name, token).await?;
    if let Err(error) = enter(ctx, &account) {
        // A token without its account would lie there unseen.
        match before {
            Some(before) => ctx.keychain.set(&name, before.secret).await?,
            None => drop(ctx.keychain.delete(&name).await?),
        }
        return Err(error.into());
    }
    record(ctx, &account, standing, "keyring").await?;
    Ok(account)
}

/// Signs in with the token of `STEWARD_GITHUB_TOKEN`, which is kept nowhere.
pub async fn from_environment(ctx: &Ctx, host: &str) -> Result<Account, SignInError> {
    let host = host_name(host)?;
    let token = ctx.keychain.github_token().ok_or(SignInError::NoneInEnvironment)?;
    if !ctx.environment_holds_token_of(&host) {
        let first = ctx.config().accounts.first().map(|account| account.host.clone());
        return Err(SignInError::OtherHost(first.unwrap_or(host)));
    }
    let (account, standing) = whose(ctx, &host, one_word(&token)?).await?;
    enter(ctx, &account)?;
    record(ctx, &account, standing, "environment").await?;
    Ok(account)
}

/// Deletes the token of an account and everything that was read with it.
pub async fn sign_out(ctx: &Ctx, account: &Account, entry: Entry) -> Result<SignedOut, SignInError> {
    let in_environment = ctx.environment_holds_token_of(&account.host);
    let deleted = ctx.keychain.delete(&keychain::github(&account.host, &account.login)).await;
    let had_token = match deleted {
        Ok(had) => had,
        // Without a keyring there is nothing to delete; the environment's token is not ours.
        Err(KeychainError::Absent(_)) if in_environment => false,
        Err(error) => return Err(error.into()),
    };
    if entry == Entry::Removed {
        let edit = Edit::RemoveAccount { host: account.host.clone(), login: account.login.clone() };
        edit::edit_file(&ctx.home, person().as_deref(), &edit)?;
        ctx.config.reread();
    }
    let gone = account.clone();
    ctx.store
        .write(Durability::Full, move |tx| {
            let name = format!("{}@{}", gone.login, gone.host.to_ascii_lowercase());
            http_cache::forget_account(tx, &name)?;
            standing::remove(tx, &gone)?;
            standing::next_turn(tx)?;
            audit::append(tx, "person", "account", &name, "signed out")?;
            tx.topic("status")
        })
        .await?;
    ctx.accounts.forget(account).await;
    Ok(SignedOut { had_token, in_environment })
}

/// Asks GitHub again about the token of an account, and keeps what it said. A token that GitHub rejects
/// is an answer too; the error is one that says nothing about the token.
pub async fn check(ctx: &Ctx, account: &Account) -> Result<Standing, NoAccount> {
    let client = ctx.client(account).await?;
    let now = ctx.clock.now();
    let standing = match client.reader().whoami().await {
        Ok(user) => Standing::of(account, &user, now),
        Err(GitHubError::Auth) => {
            let of = account.clone();
            let before = ctx.store.read(move |tx| standing::get(tx, &of)).await.map_err(OpenError::from)?;
            let before =
                before.unwrap_or(Standing { checked_at: now, scopes: None, expires_at: None, fault: None });
            Standing { checked_at: now, fault: Some(standing::TokenFault::Rejected), ..before }
        }
        Err(error) => return Err(OpenError::from(error).into()),
    };
    let (of, kept) = (account.clone(), standing.clone());
    let written = ctx.store.write(Durability::Normal, move |tx| standing::put(tx, &of, &kept)).await;
    written.map_err(OpenError::from)?;
    Ok(standing)
}

/// Asks again about tokens of which GitHub last said something more than a day ago, so that an end that
/// comes nearer is told in time. What cannot be asked now is asked at the next call.
pub async fn check_old(ctx: &Ctx) {
    for account in &ctx.config().accounts {
        let of = account.clone();
        let kept = ctx.store.read(move |tx| standing::get(tx, &of)).await;
        let old = |kept: &Standing| ctx.clock.now() - kept.checked_at >= CHECKED_EVERY;
        if !matches!(kept, Ok(Some(kept)) if old(&kept)) {
            continue;
        }
        if let Err(error) = check(ctx, account).await {
            tracing::info!(%error, login = account.login, "a token could not be asked about");
        }
    }
}

/// The host as the configuration names it; a pasted address and the API's own name lead to it too.
pub fn host_name(text: &str) -> Result<String, NotAHost> {
    let text = text.trim();
    let bare = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")).unwrap_or(text);
    let address = Address::of_host(bare.strip_suffix('/').unwrap_or(bare))?;
    Ok(match address.host() {
        "api.github.com" | "www.github.com" => "github.com".to_owned(),
        host => host.to_owned(),
    })
}

/// A name as GitHub gives them to users; a bot's has brackets.
pub fn is_login(text: &str) -> bool {
    let bare = text.strip_suffix("[bot]").unwrap_or(text);
    (1..=100).contains(&bare.len())
        && bare.starts_with(|c: char| c.is_ascii_alphanumeric())
        && bare.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

fn one_word(token: &SecretString) -> Result<SecretString, SignInError> {
    let text = token.expose_secret().trim();
    let fits = (1..=MAX_TOKEN).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
    if fits { Ok(SecretString::from(text.to_owned())) } else { Err(SignInError::NotAToken) }
}

/// Whose token it is, by GitHub's own word.
async fn whose(ctx: &Ctx, host: &str, token: SecretString) -> Result<(Account, Standing), SignInError> {
    let budget = ctx.host_budget(host).await?;
    let options = ctx.github_options()?;
    let client = Client::open(host, None, token, budget, &ctx.store, &options).await?;
    let user = client.reader().whoami().await?;
    if !is_login(&user.user.login) {
        return Err(SignInError::NotALogin(Untrusted::new(user.user.login).one_line(80)));
    }
    let account = Account { host: host.to_owned(), login: user.user.login.clone() };
    let standing = Standing::of(&account, &user, ctx.clock.now());
    Ok((account, standing))
}

/// Writes the account into the config file, when it is not there.
fn enter(ctx: &Ctx, account: &Account) -> Result<(), EditError> {
    let is_there = |known: &Account| {
        known.host.eq_ignore_ascii_case(&account.host) && known.login.eq_ignore_ascii_case(&account.login)
    };
    if ctx.config().accounts.iter().any(is_there) {
        return Ok(());
    }
    let edit = Edit::AddAccount { host: account.host.clone(), login: account.login.clone() };
    edit::edit_file(&ctx.home, person().as_deref(), &edit)?;
    ctx.config.reread();
    Ok(())
}

async fn record(
    ctx: &Ctx,
    account: &Account,
    standing: Standing,
    place: &'static str,
) -> Result<(), StoreError> {
    let of = account.clone();
    ctx.store
        .write(Durability::Full, move |tx| {
            standing::put(tx, &of, &standing)?;
            standing::next_turn(tx)?;
            let detail = format!("signed in, token from the {place}");
            audit::append(tx, "person", "account", &format!("{}@{}", of.login, of.host), &detail)?;
            tx.topic("status")
        })
        .await?;
    ctx.accounts.forget(account).await;
    Ok(())
}

/// The home that `~` of the config file stands for.
fn person() -> Option<std::path::PathBuf> {
    std::env::var_os("HOME").map(std::path::PathBuf::from)
}
