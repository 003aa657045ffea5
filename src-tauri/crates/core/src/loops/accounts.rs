//! The lines to GitHub: one client per account, made when it is first needed, from a token that only
//! the keyring or the environment holds.

pub mod gh;
pub mod sign_in;
pub mod standing;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use secrecy::SecretString;
use steward_rules::ids::RepoName;
use steward_rules::reading::{Cause, Why};
use tokio::sync::Mutex;

use super::Ctx;
use crate::config::{Account, Config, NetworkProxy};
use crate::github::{Client, HostBudget, OpenError, Options, Proxy, Route};
use crate::keychain::{self, KeychainError};
use crate::store::StoreError;

/// Every client that is open, and the budgets they share by host.
#[derive(Default)]
pub struct Accounts {
    options: Options,
    clients: Mutex<Clients>,
    budgets: std::sync::Mutex<HashMap<String, Arc<HostBudget>>>,
}

/// The clients of one count of sign-ins: after the next one all of them are opened anew.
#[derive(Default)]
struct Clients {
    turn: u64,
    route: Route,
    open: HashMap<(String, String), Client>,
}

/// Why GitHub cannot be asked as an account.
#[derive(Debug, thiserror::Error)]
pub enum NoAccount {
    #[error("no account on {0} is configured; `steward auth login` adds one")]
    NotConfigured(String),
    #[error("nobody is signed in as {login} on {host}; `steward auth login` does it")]
    SignedOut { host: String, login: String },
    #[error("the way to GitHub is not in force: {0}")]
    Network(String),
    #[error(transparent)]
    Keyring(#[from] KeychainError),
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl NoAccount {
    /// The same as the cause of an unread fact.
    pub fn why(&self) -> Why {
        match self {
            Self::NotConfigured(_) | Self::SignedOut { .. } => {
                Why::new(Cause::SignedOut, "sign in to GitHub")
            }
            Self::Network(_) => Why::new(Cause::NotReadYet, self.to_string()),
            Self::Keyring(error) => Why::new(Cause::SignedOut, error.to_string()),
            Self::Open(error) => Why::new(Cause::NotReadYet, error.to_string()),
        }
    }
}

impl Accounts {
    pub fn new(options: Options) -> Self {
        Self { options, ..Self::default() }
    }

    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Forgets the client of an account: its token changed, or it signed out.
    pub async fn forget(&self, account: &Account) {
        self.clients.lock().await.open.remove(&key(account));
    }

    fn budget(&self, host: &str) -> Option<Arc<HostBudget>> {
        self.budgets.lock().unwrap_or_else(PoisonError::into_inner).get(host).cloned()
    }
}

fn key(account: &Account) -> (String, String) {
    (account.host.to_ascii_lowercase(), account.login.to_ascii_lowercase())
}

/// The account that reads a repository: the one its block names, else the first of its host.
pub fn account_of<'c>(config: &'c Config, host: &str, repo: &RepoName) -> Option<&'c Account> {
    let named = config.repository(repo).and_then(|found| found.account.as_deref());
    let mut there = config.accounts.iter().filter(|account| account.host.eq_ignore_ascii_case(host));
    there.find(|account| named.is_none_or(|named| account.is_named(named)))
}

impl Ctx {
    /// The budget that all clients of a host share, also while nobody is signed in to it yet.
    pub async fn host_budget(&self, host: &str) -> Result<Arc<HostBudget>, StoreError> {
        let host = host.to_ascii_lowercase();
        if let Some(budget) = self.accounts.budget(&host) {
            return Ok(budget);
        }
        let loaded = Arc::new(HostBudget::load(&host, &self.store).await?);
        let mut budgets = self.accounts.budgets.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(budgets.entry(host).or_insert(loaded)))
    }

    /// The token of an account, for git and for the client alone.
    pub async fn token(&self, account: &Account) -> Result<SecretString, NoAccount> {
        let name = keychain::github(&account.host, &account.login);
        let found = if self.environment_holds_token_of(&account.host) {
            self.keychain.get(&name).await?
        } else {
            self.keychain.clone().with_github_token(None).get(&name).await?
        };
        match found {
            Some(found) => Ok(found.secret),
            None => Err(NoAccount::SignedOut { host: account.host.clone(), login: account.login.clone() }),
        }
    }

    /// True when `STEWARD_GITHUB_TOKEN` gives the token of this host's accounts: it belongs to the host of
    /// the first account, and no other host ever gets it.
    pub fn environment_holds_token_of(&self, host: &str) -> bool {
        let given = self.keychain.github_token().is_some();
        let config = self.config.current();
        let first = config.config.accounts.first();
        given && first.is_none_or(|first| first.host.eq_ignore_ascii_case(host))
    }

    /// How clients behave: as they were made to, on the way that the config file names.
    pub fn github_options(&self) -> Result<Options, NoAccount> {
        let network = &self.config.current().config.network;
        if let Some(problem) = &network.disabled_by {
            return Err(NoAccount::Network(problem.clone()));
        }
        let mut options = self.accounts.options().clone();
        match &network.proxy {
            NetworkProxy::Environment => {}
            NetworkProxy::Only(address) => options.route.proxy = Proxy::Only(address.clone()),
            NetworkProxy::None => options.route.proxy = Proxy::Direct,
        }
        if let Some(file) = &network.ca_file {
            options.route.ca_file = Some(file.clone());
        }
        Ok(options)
    }

    /// The client of an account, opened when it is first asked for and after each sign-in or sign-out of
    /// any process.
    pub async fn client(&self, account: &Account) -> Result<Client, NoAccount> {
        let key = key(account);
        let options = self.github_options()?;
        let turn = self.store.read(standing::turn).await.map_err(OpenError::from)?;
        let mut clients = self.accounts.clients.lock().await;
        if clients.turn != turn || clients.route != options.route {
            *clients = Clients { turn, route: options.route.clone(), open: HashMap::new() };
        }
        if let Some(client) = clients.open.get(&key) {
            return Ok(client.clone());
        }
        let token = self.token(account).await?;
        let budget = self.host_budget(&account.host).await.map_err(OpenError::from)?;
        let client =
            Client::open(&account.host, Some(&account.login), token, budget, &self.store, &options).await?;
        clients.open.insert(key, client.clone());
        Ok(client)
    }

    /// The client that reads this repository.
    pub async fn client_of(&self, host: &str, repo: &RepoName) -> Result<Client, NoAccount> {
        let config = self.config();
        let account =
            account_of(&config, host, repo).ok_or_else(|| NoAccount::NotConfigured(host.to_owned()))?;
        self.client(account).await
    }
}
