//! The observer: looks at every watched repository in turn, and records what it saw.
//!
//! Each account has a lane of its own: a host that is slow, gone or limits us holds back no other. In a lane
//! one look never overlaps another, and however long the machine slept, one look catches up.

mod look;
mod place;
mod reads;
mod record;
pub mod standing;

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use steward_rules::ids::RepoName;
use steward_rules::observing::{self, ObserverState, Outcome, Waited};
use tokio::sync::watch;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Ctx;
use super::accounts::standing::turn as sign_ins;
use crate::config::{Account, Config};
use crate::github::tally::Cost;
use crate::store::{Durability, ReadTx, StoreError};
use look::Report;
use standing::{Problem, Standing};

/// How often it is asked whether a look is due: the wall clock may jump and the machine may sleep.
const EVERY: Duration = Duration::from_millis(500);

/// Which account a lane looks as: host and login, lower case.
type Key = (String, String);

/// The observer of one runtime.
pub struct Observer {
    ctx: Ctx,
    lanes: BTreeMap<Key, Lane>,
    running: JoinSet<Result<Report, StoreError>>,
    /// Whose looks they are.
    keys: HashMap<Id, Key>,
    last_tick: Option<DateTime<Utc>>,
    /// The count of sign-ins when it was last looked at.
    signed_in: Option<u64>,
}

/// The looks as one account.
struct Lane {
    account: Account,
    names: Vec<RepoName>,
    is_running: bool,
    /// It was called for while it looked: what that look sees may be older than the call.
    again: bool,
    /// `None`: at once.
    next: Option<Next>,
    failures: u32,
    report: Option<Report>,
}

/// When a lane is due, counted from its last look.
struct Next {
    since: DateTime<Utc>,
    steadily_since: Instant,
    wait: TimeDelta,
}

impl Lane {
    /// Makes the next look due at once.
    fn hurry(&mut self) {
        self.next = None;
        self.again = self.is_running;
    }

    fn is_due(&self, now: DateTime<Utc>) -> bool {
        self.next.as_ref().is_none_or(|next| {
            let waited = Waited { by_wall: now - next.since, steadily: next.steadily_since.elapsed() };
            observing::is_due(waited, next.wait)
        })
    }
}

impl Observer {
    pub fn new(ctx: Ctx) -> Self {
        Self {
            ctx,
            lanes: BTreeMap::new(),
            running: JoinSet::new(),
            keys: HashMap::new(),
            last_tick: None,
            signed_in: None,
        }
    }

    /// Runs until `stop`. `topics` tells when a table changed, and `heard` what each turn came to.
    pub async fn run(
        mut self,
        stop: CancellationToken,
        mut topics: watch::Receiver<i64>,
        heard: impl Fn(Result<(), StoreError>),
    ) {
        let mut every = tokio::time::interval(EVERY);
        every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut config = self.ctx.config.changes();
        let mut told = true;
        loop {
            heard(self.step(std::mem::take(&mut told)).await);
            // Off means absent: with nothing to look at, only the config file is waited for.
            let on = !self.lanes.is_empty();
            tokio::select! {
                () = stop.cancelled() => return,
                changed = config.changed() => match changed {
                    // Whatever stood in the way may be mended.
                    Ok(()) => {
                        told = true;
                        self.hurry(|outcome| outcome != Outcome::Whole);
                    }
                    Err(_) => return,
                },
                Some(done) = self.running.join_next_with_id() => heard(self.done(done).await),
                _ = topics.changed(), if on => told = true,
                _ = every.tick(), if on => {}
            }
        }
    }

    /// Starts the looks that are due and waits for none. The database is asked for wishes and sign-ins only
    /// when it told of something.
    async fn step(&mut self, told: bool) -> Result<(), StoreError> {
        let config = self.ctx.config.current().config.clone();
        self.plan(&config);
        if self.lanes.is_empty() {
            return self.say(&config, false).await;
        }
        let now = self.ctx.clock.now();
        if !told && !self.lanes.values().any(|lane| !lane.is_running && lane.is_due(now)) {
            return Ok(());
        }
        let read = |tx: &ReadTx<'_>| Ok::<_, StoreError>((standing::asked(tx)?, sign_ins(tx)?));
        let (asked, signed_in) = self.ctx.store.read(read).await?;
        if self.signed_in.replace(signed_in).is_some_and(|before| before != signed_in) {
            self.hurry(|outcome| outcome == Outcome::SignedOut);
        }
        // A wish that comes while every lane looks is kept until one is done.
        let takes_wish = asked.is_some() && self.lanes.values().any(|lane| !lane.is_running);
        let mut begun = false;
        for (key, lane) in &mut self.lanes {
            if takes_wish && lane.is_running {
                lane.hurry();
            }
            if lane.is_running || !(asked.is_some() || lane.is_due(now)) {
                continue;
            }
            (lane.is_running, lane.again, begun) = (true, false, true);
            let (ctx, account, names, key) =
                (self.ctx.clone(), lane.account.clone(), lane.names.clone(), key.clone());
            let running = self.running.spawn(async move { look::look(&ctx, &account, &names).await });
            self.keys.insert(running.id(), key);
        }
        if begun { self.say(&config, takes_wish).await } else { Ok(()) }
    }

    /// Makes the lanes due at once whose last look ended so.
    fn hurry(&mut self, which: impl Fn(Outcome) -> bool) {
        for lane in self.lanes.values_mut() {
            if lane.is_running || lane.report.as_ref().is_some_and(|report| which(report.outcome)) {
                lane.hurry();
            }
        }
    }

    /// One turn with all its looks, for whoever drives the observer by hand.
    pub async fn whole_turn(&mut self) -> Result<(), StoreError> {
        self.step(true).await?;
        while let Some(done) = self.running.join_next_with_id().await {
            self.done(done).await?;
        }
        Ok(())
    }

    /// Takes what a look came to. One that panicked is a failed one, so that its lane looks again.
    async fn done(
        &mut self,
        done: Result<(Id, Result<Report, StoreError>), JoinError>,
    ) -> Result<(), StoreError> {
        let (id, result) = match done {
            Ok(done) => done,
            Err(error) => (error.id(), Err(StoreError::Value(format!("a look ended badly: {error}")))),
        };
        match self.keys.remove(&id) {
            Some(key) => self.ended(key, result).await,
            None => result.map(drop),
        }
    }

    /// Brings the lanes in line with the config file; a new one is due at once.
    fn plan(&mut self, config: &Config) {
        let mut wanted: BTreeMap<Key, (Account, Vec<RepoName>)> = BTreeMap::new();
        for repository in &config.repositories {
            let Some(account) = config.account_of(repository) else { continue };
            let key = (account.host.to_ascii_lowercase(), account.login.to_ascii_lowercase());
            let lane = wanted.entry(key).or_insert_with(|| (account.clone(), Vec::new()));
            lane.1.push(repository.name.clone());
        }
        self.lanes.retain(|key, lane| lane.is_running || wanted.contains_key(key));
        for (key, (account, names)) in wanted {
            let lane = self.lanes.entry(key).or_insert_with(|| Lane {
                account: account.clone(),
                names: Vec::new(),
                is_running: false,
                again: false,
                next: None,
                failures: 0,
                report: None,
            });
            if names.iter().any(|name| !lane.names.contains(name)) {
                lane.hurry();
            }
            lane.account = account;
            lane.names = names;
        }
    }

    async fn ended(&mut self, key: Key, result: Result<Report, StoreError>) -> Result<(), StoreError> {
        let config = self.ctx.config.current().config.clone();
        let now = self.ctx.clock.now();
        self.last_tick = Some(now);
        let Some(lane) = self.lanes.get_mut(&key) else { return Ok(()) };
        lane.is_running = false;
        // A database that cannot be written is tried again like a network that is not there.
        let outcome = result.as_ref().map_or(Outcome::Failed, |report| report.outcome);
        lane.failures = if outcome.is_failure() { lane.failures.saturating_add(1) } else { 0 };
        let wait = observing::wait(
            outcome,
            config.engine.interval,
            lane.failures,
            crate::github::any_fraction(),
            now,
        );
        lane.next = (!std::mem::take(&mut lane.again)).then(|| Next {
            since: now,
            steadily_since: Instant::now(),
            wait,
        });
        let kept = match result {
            Ok(report) => {
                lane.report = Some(report);
                Ok(())
            }
            Err(error) => Err(error),
        };
        self.say(&config, false).await?;
        kept
    }

    /// Says how the observer stands; takes a wish that is being fulfilled in the same moment.
    async fn say(&self, config: &Config, takes_wish: bool) -> Result<(), StoreError> {
        let lanes = || self.lanes.values();
        let reports = || lanes().filter_map(|lane| lane.report.as_ref());
        let state = if config.repositories.is_empty() {
            ObserverState::Off
        } else if config.accounts.is_empty() {
            ObserverState::SignedOut
        } else if lanes().any(|lane| lane.is_running) {
            ObserverState::Looking
        } else {
            observing::overall(reports().map(|report| report.outcome))
        };
        let cost = reports().map(|report| report.cost).fold(Cost::default(), |all, one| all + one);
        let worst = reports().filter(|report| report.problem.is_some());
        let worst = worst.max_by_key(|report| observing::overall([report.outcome]) == state);
        let problem = match state {
            ObserverState::Off => None,
            ObserverState::SignedOut if config.accounts.is_empty() => Some(Problem {
                code: "signed_out".to_owned(),
                message: "repositories are watched and no account is configured".to_owned(),
                hint: "run `steward auth login`".to_owned(),
            }),
            ObserverState::Looking
            | ObserverState::Waiting
            | ObserverState::Offline
            | ObserverState::Limited
            | ObserverState::SignedOut
            | ObserverState::Incomplete => worst.and_then(|report| report.problem.clone()),
        };
        let next = lanes().filter_map(|lane| lane.next.as_ref().map(|next| next.since + next.wait)).min();
        let last_tick = self.last_tick;
        self.ctx
            .store
            .write(Durability::Normal, move |tx| {
                if takes_wish {
                    standing::take_wish(tx)?;
                }
                let before = standing::current(tx)?;
                let last_tick = last_tick.or(before.last_tick);
                let (requests, points) = (cost.requests, cost.points);
                standing::say(tx, &Standing { state, last_tick, next_tick: next, problem, requests, points })
            })
            .await
    }
}
