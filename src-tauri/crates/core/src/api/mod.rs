//! What the window and the command line can ask: one list of commands, one dispatch, typed views.

pub mod accounts;
pub mod board;
pub mod checks;
mod convert;
pub mod credentials;
mod dispatch;
mod editor;
mod edits;
pub mod effects;
pub mod engine;
pub mod error;
mod failures;
pub mod hooks;
pub mod http;
pub mod inbox;
pub mod listen;
mod look;
pub mod offers;
pub mod policy;
pub mod questions;
pub mod repositories;
pub mod requests;
pub mod reviews;
pub mod roster;
mod runtime;
pub mod settings;
pub mod shadow;
pub mod system;
pub mod tasks;
mod topics;
pub mod tries;
pub mod views;
pub mod workspaces;

use std::path::PathBuf;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use steward_rules::caller::Caller;

pub use dispatch::{COMMANDS, dispatch, typescript_map};
pub use runtime::Hosted;
pub use topics::Topics;

use crate::clock::{SharedClock, SystemClock};
use crate::config::{ConfigWatch, Loaded};
use crate::home::Home;
use crate::keychain::Keychain;
use crate::loops::{Ctx, supervisor};
use crate::store::Store;
use error::{ApiError, ErrorCode};

/// One client's view of an installation: who calls, and everything a command needs.
pub struct Api {
    ctx: Ctx,
    caller: Caller,
    own: tokio::sync::Mutex<Option<runtime::OwnReview>>,
    shadows: shadow::Runs,
    listening: listen::Standing,
}

impl Api {
    /// Opens the installation of this home on the machine's clock.
    pub async fn open(home: &Home, caller: Caller) -> Result<Self, ApiError> {
        Self::open_at(home, caller, Arc::new(SystemClock)).await
    }

    /// Opens it on another clock.
    pub async fn open_at(home: &Home, caller: Caller, clock: SharedClock) -> Result<Self, ApiError> {
        let (home, opened) = (home.clone(), Arc::clone(&clock));
        let store = {
            let home = home.clone();
            tokio::task::spawn_blocking(move || Store::open(&home, opened))
                .await
                .map_err(|e| ApiError::new(ErrorCode::Internal, e.to_string()))??
        };
        let person = std::env::var_os("HOME").map(PathBuf::from);
        // Without a watch (no inotify left) the file is still read again at every decision.
        let config = ConfigWatch::watch(&home, person.clone()).unwrap_or_else(|error| {
            tracing::warn!(%error, "the config file is not watched");
            ConfigWatch::open(&home, person)
        });
        let ctx = Ctx::new(home, store, clock, Arc::new(config), steward_binary());
        // What a killed runtime left must not look alive to a client that starts none.
        if let Err(error) = supervisor::take_up_left_over(&ctx).await {
            tracing::warn!(%error, "what an earlier runtime left is not taken up");
        }
        Ok(Self::of(ctx, caller))
    }

    /// The same over a context that is there already.
    pub fn of(ctx: Ctx, caller: Caller) -> Self {
        Self {
            ctx,
            caller,
            own: tokio::sync::Mutex::default(),
            shadows: shadow::Runs::default(),
            listening: listen::Standing::default(),
        }
    }

    /// The same for a call from this tmux pane: in a pane of the roster nobody is taken for a person
    /// (review.md 4).
    pub fn in_pane(mut self, pane: Option<&str>) -> Self {
        let questions = &self.ctx.config.current().config.questions;
        let is_agents = questions.enabled
            && pane.is_some_and(|pane| {
                steward_rules::questions::roster::in_pane(&questions.roster, pane).is_some()
            });
        if is_agents && self.caller == Caller::Person {
            self.caller = Caller::Agent("its terminal is an agent's pane".to_owned());
        }
        self
    }

    /// The time by this installation's clock.
    pub fn now(&self) -> DateTime<Utc> {
        self.ctx.clock.now()
    }

    pub fn home(&self) -> &Home {
        &self.ctx.home
    }

    /// What the loops work with.
    pub fn context(&self) -> &Ctx {
        &self.ctx
    }

    /// A tail of the topics that change from now on.
    pub fn topics(&self) -> Topics {
        Topics::new(self.ctx.store.clone())
    }

    fn store(&self) -> &Store {
        &self.ctx.store
    }

    fn config(&self) -> Arc<Loaded> {
        self.ctx.config.current()
    }

    fn keychain(&self) -> &Keychain {
        &self.ctx.keychain
    }

    /// The caller as the start conditions take it.
    fn caller_facts(&self) -> steward_rules::review::lifecycle::Caller {
        use steward_rules::review::lifecycle::Caller as Facts;
        match &self.caller {
            Caller::Person => Facts::Person,
            Caller::Agent(mark) => Facts::Agent { mark: mark.clone() },
        }
    }

    fn is_person(&self) -> bool {
        matches!(self.caller, Caller::Person)
    }

    /// Refuses whoever is not a person (review.md 4).
    fn person(&self, what: &str) -> Result<(), ApiError> {
        match &self.caller {
            Caller::Person => Ok(()),
            Caller::Agent(why) => {
                tracing::warn!(what, why, "refused: not a person");
                Err(ApiError::new(ErrorCode::NotAPerson, format!("only a person can {what}: {why}"))
                    .hint("run it in a terminal of your own, or use the app"))
            }
        }
    }
}

/// The `steward` binary: this process itself, its neighbour, or the one on PATH. Seats get their tools
/// from it.
fn steward_binary() -> PathBuf {
    let name = format!("steward{}", std::env::consts::EXE_SUFFIX);
    let own = std::env::current_exe().ok();
    let neighbour = own.as_ref().and_then(|exe| exe.parent()).map(|folder| folder.join(&name));
    if let Some(path) = neighbour.filter(|path| path.is_file()) {
        return path;
    }
    // Test binaries lie one folder below.
    let above = own.as_ref().and_then(|exe| exe.parent()?.parent()).map(|folder| folder.join(&name));
    if let Some(path) = above.filter(|path| path.is_file()) {
        return path;
    }
    std::env::var_os("PATH")
        .iter()
        .flat_map(std::env::split_paths)
        .map(|folder| folder.join(&name))
        .find(|path| path.is_file())
        .unwrap_or_else(|| PathBuf::from(name))
}
