//! One account on one host.

use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use steward_rules::guard::Patience;

use super::address::{Address, NotAHost};
use super::budget::{Budget, HostBudget, Pace};
use super::connect::{self, Route};
use super::error::GitHubError;
use super::reader::Reader;
use super::retry::Retry;
use super::wire::{Parts, Wire};
use super::writer::Writer;
use crate::store::{Store, StoreError};

/// How a client behaves; the defaults are right outside of tests.
#[derive(Clone)]
pub struct Options {
    pub route: Route,
    pub retry: Retry,
    /// For one request with its answer.
    pub timeout: Duration,
    /// The longest answer that is read, unpacked.
    pub max_body: usize,
    /// How fast writes on one host may follow each other.
    pub pace: Pace,
    /// How long GitHub may take to do what it did not answer, and to show what it did.
    pub patience: Patience,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            route: Route::default(),
            retry: Retry::default(),
            timeout: Duration::from_secs(30),
            max_body: 16 * 1024 * 1024,
            pace: Pace::default(),
            patience: Patience::default(),
        }
    }
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Host(#[from] NotAHost),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    GitHub(#[from] GitHubError),
}

/// The line to GitHub of one account.
#[derive(Clone)]
pub struct Client {
    wire: Arc<Wire>,
}

impl Client {
    /// Makes the client of one account. Nothing is asked yet. `login` is `None` while signing in: then
    /// nothing is kept, since nobody knows whose it would be. Clients of one host share its `budget`.
    pub async fn open(
        host: &str,
        login: Option<&str>,
        token: SecretString,
        budget: Arc<HostBudget>,
        store: &Store,
        options: &Options,
    ) -> Result<Self, OpenError> {
        let address = Address::of_host(host)?;
        let route = options.route.clone();
        // Certificates are files; the runtime does not wait for a disk.
        let octocrab = tokio::runtime::Handle::current();
        let octocrab = tokio::task::spawn_blocking(move || {
            let _inside = octocrab.enter();
            connect::transport(&route)
        });
        let octocrab = octocrab.await.map_err(|_| StoreError::Stopped)??;
        let wire = Wire::new(Parts {
            address,
            login: login.map(str::to_owned),
            octocrab,
            token,
            store: store.clone(),
            budget,
            retry: options.retry.clone(),
            timeout: options.timeout,
            max_body: options.max_body,
            pace: options.pace,
        })?;
        Ok(Self { wire: Arc::new(wire) })
    }

    /// The half of it that reads. No method of it writes.
    pub fn reader(&self) -> Reader {
        Reader::new(Arc::clone(&self.wire))
    }

    /// The half of it that writes, each time with a permit.
    pub fn writer(&self) -> Writer {
        Writer::new(Arc::clone(&self.wire))
    }

    /// How much may still be asked of this host, and until when nothing is.
    pub fn budget(&self) -> Vec<Budget> {
        self.wire.budget.now()
    }
}
