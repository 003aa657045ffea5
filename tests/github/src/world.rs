//! One GitHub for one test: started on a free port, moved by verbs, asked over the wire.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, TimeZone, Utc};
use serde_json::Value;

use crate::clock::Clock;
use crate::fault::{Fault, Plan};
use crate::gate::{Gate, Held};
use crate::state::{Budget, Grant, Person, State, Token};
use crate::verbs::RepoVerbs;
use crate::wire;

/// One question and its answer, as they went over the wire.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// `GET /repos/{owner}/{repo}/pulls`, `POST /graphql`, `git-upload-pack` or `git-receive-pack`.
    pub operation: String,
    pub method: String,
    /// Path and query.
    pub target: String,
    pub login: String,
    pub status: u16,
    pub request: Value,
    pub response: Value,
    pub faulted: bool,
}

/// What the exchanges since the last `mark` cost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// REST and GraphQL requests.
    pub requests: u64,
    /// Primary points: REST requests that cost one, and what GraphQL queries cost.
    pub points: u64,
    pub graphql_requests: u64,
    pub graphql_points: u64,
    pub not_modified: u64,
    pub writes: u64,
    pub git_requests: u64,
    pub by_operation: BTreeMap<String, u64>,
}

pub(crate) struct Inner {
    pub state: Mutex<State>,
    pub plans: Mutex<Vec<Plan>>,
    pub held: Mutex<Vec<Held>>,
    pub log: Mutex<Vec<Exchange>>,
    pub tally: Mutex<Tally>,
    pub violations: Mutex<Vec<String>>,
    /// Texts that mark a breach as meant.
    pub allowed: Mutex<Vec<String>>,
    /// What each address answered last, for stale reads.
    pub answered: Mutex<BTreeMap<String, wire::Raw>>,
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A verb that panics ends its test; what it leaves is still worth reporting on.
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A GitHub on loopback; it ends with the value, and fails the test when the contract was broken.
pub struct World {
    pub(crate) inner: Arc<Inner>,
    base: String,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
    _folder: tempfile::TempDir,
}

impl World {
    /// Starts with a clock that stands at 2026-01-05 09:00 UTC and moves a second with each happening.
    pub fn start() -> Self {
        let monday = Utc.with_ymd_and_hms(2026, 1, 5, 9, 0, 0).single().expect("BUG: a valid date");
        Self::with(Clock::still(monday))
    }

    /// Starts with a clock that runs from this instant.
    pub fn start_at(now: DateTime<Utc>) -> Self {
        Self::with(Clock::running(now))
    }

    fn with(clock: Clock) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port on loopback");
        let address = listener.local_addr().expect("a bound address");
        listener.set_nonblocking(true).expect("a listener for tokio");
        let base = format!("http://{address}");
        let inner = Arc::new(Inner {
            state: Mutex::new(State::new(base.clone(), folder.path().to_path_buf(), clock)),
            plans: Mutex::default(),
            held: Mutex::default(),
            log: Mutex::default(),
            tally: Mutex::default(),
            violations: Mutex::default(),
            allowed: Mutex::default(),
            answered: Mutex::default(),
        });
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let served = Arc::clone(&inner);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
            let runtime = runtime.expect("a runtime for the double");
            runtime.block_on(async {
                tokio::select! {
                    () = wire::serve(listener, served) => {}
                    _ = stopped => {}
                }
            });
            runtime.shutdown_timeout(Duration::from_secs(1));
        });
        Self { inner, base, stop: Some(stop), thread: Some(thread), _folder: folder }
    }

    /// Where the REST API, `/graphql` and the repositories for git are: `http://127.0.0.1:PORT`.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// The address git clones a repository from.
    pub fn clone_url(&self, repo: &str) -> String {
        format!("{}/{repo}.git", self.base)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.inner.state)
    }

    /// Makes an account, once.
    pub fn user(&self, login: &str) -> &Self {
        self.account(login, "User")
    }

    /// Makes an organisation, once.
    pub fn organisation(&self, login: &str) -> &Self {
        self.account(login, "Organization")
    }

    /// Makes a machine account, once.
    pub fn bot(&self, login: &str) -> &Self {
        self.account(login, "Bot")
    }

    fn account(&self, login: &str, kind: &'static str) -> &Self {
        let mut state = self.state();
        if state.person(login).is_none() {
            let id = state.fresh_id();
            state.people.push(Person { id, login: login.to_owned(), kind });
        }
        drop(state);
        self
    }

    /// Deletes an account: what it wrote stays, its author shows as `null`.
    pub fn forget_user(&self, login: &str) {
        self.state().people.retain(|person| person.login != login);
    }

    /// Gives a user a classic token with these scopes.
    pub fn token(&self, login: &str, secret: &str, scopes: &[&str]) -> &Self {
        self.grant(login, secret, Grant::Classic(scopes.iter().map(|scope| (*scope).to_owned()).collect()))
    }

    /// Gives a user a token of any kind.
    pub fn grant(&self, login: &str, secret: &str, grant: Grant) -> &Self {
        self.user(login);
        let (core, graphql, search) = (Budget::default(), Budget::default(), Budget::default());
        let token = Token { login: login.to_owned(), grant, ends: None, core, graphql, search };
        self.state().tokens.insert(secret.to_owned(), token);
        self
    }

    /// Lets a token end at this time; until then each answer says so.
    pub fn ends(&self, secret: &str, at: DateTime<Utc>) -> &Self {
        let mut state = self.state();
        state.tokens.get_mut(secret).unwrap_or_else(|| panic!("no token {secret}")).ends = Some(at);
        drop(state);
        self
    }

    pub fn revoke(&self, secret: &str) {
        self.state().tokens.remove(secret);
    }

    /// Leaves a token this many primary points of REST and of GraphQL.
    pub fn leave_points(&self, secret: &str, points: u64) {
        let mut state = self.state();
        let (limit, reset) = (state.limit, state.clock.now().timestamp() + 3600);
        let token = state.tokens.get_mut(secret).unwrap_or_else(|| panic!("no token {secret}"));
        let budget = Budget { used: limit.saturating_sub(points), reset };
        (token.core, token.graphql) = (budget.clone(), budget);
    }

    /// From now on the search index lags: it shows everything as it is at this moment.
    pub fn index_stops(&self) {
        let mut state = self.state();
        let index = state.repos.iter().map(|repo| (repo.id, repo.threads.clone())).collect();
        state.index = Some(index);
    }

    /// The search index catches up.
    pub fn index_goes_on(&self) {
        self.state().index = None;
    }

    /// The repository of this name, made on first use (public, `main`, one first commit).
    pub fn repo(&self, name: &str) -> RepoVerbs<'_> {
        RepoVerbs::of(self, name)
    }

    pub fn now(&self) -> DateTime<Utc> {
        self.state().clock.now()
    }

    pub fn advance(&self, by: Duration) {
        self.state().clock.advance(TimeDelta::from_std(by).expect("BUG: tests move the clock by sane spans"));
    }

    /// Sets the clock back, as a server behind another one shows.
    pub fn turn_back(&self, by: Duration) {
        self.state()
            .clock
            .advance(-TimeDelta::from_std(by).expect("BUG: tests move the clock by sane spans"));
    }

    /// Plans a fault for an operation: `GET /repos/{owner}/{repo}/pulls`, `POST /graphql`,
    /// `git-upload-pack`, `GET *` or `*`. Nothing happens before one of the ending verbs is called.
    pub fn when(&self, operation: &str) -> FaultVerbs<'_> {
        let plan = Plan {
            operation: operation.to_owned(),
            containing: None,
            page: None,
            skip: 0,
            left: Some(1),
            fault: Fault::Cut,
        };
        FaultVerbs { world: self, plan }
    }

    /// Drops every planned fault.
    pub fn calm(&self) {
        locked(&self.inner.plans).clear();
    }

    /// Faults planned and not yet met; a test that planned one wants to know that it happened.
    pub fn faults_left(&self) -> usize {
        locked(&self.inner.plans).len()
    }

    /// Starts counting anew.
    pub fn mark(&self) {
        *locked(&self.inner.tally) = Tally::default();
    }

    pub fn tally(&self) -> Tally {
        locked(&self.inner.tally).clone()
    }

    pub fn exchanges(&self) -> Vec<Exchange> {
        locked(&self.inner.log).clone()
    }

    /// Lets breaches with this text pass: for a word GitHub may send tomorrow and does not describe today.
    pub fn allow(&self, text: &str) {
        locked(&self.inner.allowed).push(text.to_owned());
    }

    /// Takes what broke the contract so far, for tests that break it on purpose.
    pub fn take_violations(&self) -> Vec<String> {
        std::mem::take(&mut *locked(&self.inner.violations))
    }

    /// Fails when any exchange so far broke GitHub's description of its API.
    pub fn assert_contract(&self) {
        let broken = self.take_violations();
        assert!(broken.is_empty(), "the contract with GitHub was broken:\n  {}", broken.join("\n  "));
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        // Nobody can forget to ask.
        if !std::thread::panicking() {
            self.assert_contract();
        }
    }
}

/// A fault being planned.
#[must_use = "a fault is planned by `.answers(..)`"]
pub struct FaultVerbs<'w> {
    world: &'w World,
    plan: Plan,
}

impl FaultVerbs<'_> {
    /// Only when the path and query contain this.
    pub fn containing(mut self, part: &str) -> Self {
        self.plan.containing = Some(part.to_owned());
        self
    }

    /// Only this page of a list.
    pub fn page(mut self, page: u64) -> Self {
        self.plan.page = Some(page);
        self
    }

    /// Lets this many pass first.
    pub fn after(mut self, passing: u64) -> Self {
        self.plan.skip = passing;
        self
    }

    pub fn times(mut self, times: u64) -> Self {
        self.plan.left = Some(times);
        self
    }

    pub fn always(mut self) -> Self {
        self.plan.left = None;
        self
    }

    /// Holds the exchange before anything of it is done, until the gate opens: what happens meanwhile happens
    /// for certain before it.
    pub fn holds(self) -> Gate {
        let (gate, held) = Gate::of(self.plan);
        locked(&self.world.inner.held).push(held);
        gate
    }

    /// Plans it.
    pub fn answers(mut self, fault: Fault) {
        self.plan.fault = fault;
        locked(&self.world.inner.plans).push(self.plan);
    }
}
