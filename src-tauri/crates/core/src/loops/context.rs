//! What every loop works with.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::accounts::Accounts;
use super::task::Origins;
use crate::clock::SharedClock;
use crate::config::{Config, ConfigWatch};
use crate::git::{Git, GitError};
use crate::github::Options;
use crate::home::Home;
use crate::keychain::Keychain;
use crate::sandbox::Boundary;
use crate::store::Store;
use crate::tmux::{Tmux, TmuxError};

/// The home, the store, the clock, the configuration in force and git. Cheap to clone.
#[derive(Clone)]
pub struct Ctx {
    pub home: Home,
    pub store: Store,
    pub clock: SharedClock,
    pub config: Arc<ConfigWatch>,
    /// Where the agent's credential lies.
    pub keychain: Keychain,
    /// The command-line binary: it serves the tools inside the boundary.
    pub steward: PathBuf,
    /// The lines to GitHub.
    pub accounts: Arc<Accounts>,
    found: Arc<Found>,
}

/// What is looked for once.
#[derive(Default)]
struct Found {
    git: Mutex<Option<Git>>,
    boundary: Mutex<Option<Boundary>>,
    tmux: Mutex<Option<Tmux>>,
    remotes: Mutex<HashMap<String, Tmux>>,
    origins: Arc<Origins>,
}

impl Ctx {
    pub fn new(
        home: Home,
        store: Store,
        clock: SharedClock,
        config: Arc<ConfigWatch>,
        steward: PathBuf,
    ) -> Self {
        Self {
            home,
            store,
            clock,
            config,
            keychain: Keychain::from_env(),
            steward,
            accounts: Arc::default(),
            found: Arc::default(),
        }
    }

    /// The same with another keyring before it.
    pub fn with_keychain(self, keychain: Keychain) -> Self {
        Self { keychain, ..self }
    }

    /// The same with clients that behave so.
    pub fn with_github(self, options: Options) -> Self {
        Self { accounts: Arc::new(Accounts::new(options)), ..self }
    }

    /// The configuration in force, read again now: what is decided by it spends money or speaks.
    pub fn config(&self) -> Config {
        self.config.reread().config.clone()
    }

    /// Git, found once.
    pub fn git(&self) -> Result<Git, GitError> {
        let mut found = self.found.git.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(git) = &*found {
            return Ok(git.clone());
        }
        let git = Git::find(&self.home.clones())?;
        *found = Some(git.clone());
        Ok(git)
    }

    /// The origins of checkouts, as they were read.
    pub(in crate::loops) fn origins(&self) -> Arc<Origins> {
        Arc::clone(&self.found.origins)
    }

    /// The boundary around seats, chosen once.
    pub fn boundary(&self) -> Boundary {
        let mut found = self.found.boundary.lock().unwrap_or_else(PoisonError::into_inner);
        found.get_or_insert_with(|| Boundary::choose(&self.steward)).clone()
    }

    /// The person's tmux, found once: there is one sender per pane over the whole process.
    pub fn tmux(&self) -> Result<Tmux, TmuxError> {
        let mut found = self.found.tmux.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tmux) = &*found {
            return Ok(tmux.clone());
        }
        let tmux = Tmux::find()?;
        *found = Some(tmux.clone());
        Ok(tmux)
    }

    /// The tmux of another machine, through ssh; one for each, as there is one sender per pane.
    pub fn tmux_of(&self, host: &str) -> Result<Tmux, TmuxError> {
        let mut found = self.found.remotes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tmux) = found.get(host) {
            return Ok(tmux.clone());
        }
        let tmux = Tmux::over_ssh(host)?;
        found.insert(host.to_owned(), tmux.clone());
        Ok(tmux)
    }

    /// Talks to this tmux from now on.
    pub fn use_tmux(&self, tmux: Tmux) {
        *self.found.tmux.lock().unwrap_or_else(PoisonError::into_inner) = Some(tmux);
    }

    /// Takes this boundary from now on, as the person or a test demands a certain one.
    pub fn use_boundary(&self, boundary: Boundary) {
        *self.found.boundary.lock().unwrap_or_else(PoisonError::into_inner) = Some(boundary);
    }

    /// The GitHub hosts of the configured accounts.
    pub fn hosts(&self) -> Vec<String> {
        self.config.current().config.accounts.iter().map(|account| account.host.clone()).collect()
    }
}
