//! What every loop works with.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use crate::clock::SharedClock;
use crate::config::{self, Config};
use crate::git::{Git, GitError};
use crate::home::Home;
use crate::store::Store;

/// The home, the store, the clock, the configuration in force and git. Cheap to clone.
#[derive(Clone)]
pub struct Ctx {
    pub home: Home,
    pub store: Store,
    pub clock: SharedClock,
    /// The command-line binary: it serves the tools inside the boundary.
    pub steward: PathBuf,
    shared: Arc<Shared>,
}

struct Shared {
    git: Mutex<Option<Git>>,
    config: Mutex<InForce>,
}

struct InForce {
    stamp: Option<(SystemTime, u64)>,
    config: Arc<Config>,
}

impl Ctx {
    pub fn new(home: Home, store: Store, clock: SharedClock, steward: PathBuf) -> Self {
        let config = Arc::new(
            config::check("", None)
                .map(|checked| checked.config)
                .expect("BUG: an empty file is a valid configuration"),
        );
        let shared = Shared { git: Mutex::new(None), config: Mutex::new(InForce { stamp: None, config }) };
        Self { home, store, clock, steward, shared: Arc::new(shared) }
    }

    /// The configuration in force, re-read when its file changed; the last good one when it does not parse.
    pub fn config(&self) -> Arc<Config> {
        let path = self.home.config_file();
        let stamp = std::fs::metadata(&path).ok().and_then(|meta| Some((meta.modified().ok()?, meta.len())));
        let mut force = self.shared.config.lock().unwrap_or_else(PoisonError::into_inner);
        if force.stamp != stamp {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let person = std::env::var_os("HOME").map(PathBuf::from);
            if let Ok(checked) = config::check(&text, person.as_deref()) {
                force.config = Arc::new(checked.config);
            }
            force.stamp = stamp;
        }
        Arc::clone(&force.config)
    }

    /// Git, found once.
    pub fn git(&self) -> Result<Git, GitError> {
        let mut found = self.shared.git.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(git) = &*found {
            return Ok(git.clone());
        }
        let git = Git::find(&self.home.clones())?;
        *found = Some(git.clone());
        Ok(git)
    }

    /// The GitHub hosts of the configured accounts.
    pub fn hosts(&self) -> Vec<String> {
        self.config().accounts.iter().map(|account| account.host.clone()).collect()
    }
}
