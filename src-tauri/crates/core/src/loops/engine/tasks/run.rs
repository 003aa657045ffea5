//! The runner: one task at a time in a repository, started when nothing speaks against it, and ended within a
//! second when something does (engine.md 14, 16).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use steward_rules::engine::hold::{self, Start};
use steward_rules::engine::policy::Policy;
use steward_rules::ids::PullNumber;
use steward_rules::power::Mode;
use steward_rules::reading::{Cause, Reading};
use steward_rules::wording;
use tokio::sync::watch as channel;
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use super::drive::{self, MayStart, Outcome};
use super::rests::{self, Came, Item, Refused, Rests};
use super::seat;
use super::stop::{Stop, StopWhy};
use super::watch::{self, LOOK};
use crate::config::Config;
use crate::loops::effects::powers;
use crate::loops::engine::validating::HeavyLock;
use crate::loops::engine::{is_on, priority};
use crate::loops::{Ctx, failpoint, pause};
use crate::store::engine_tasks::{self, Ended, ItemKind, State, TaskRow, What};
use crate::store::issues::{self, IssueState};
use crate::store::pulls::{self, PullState};
use crate::store::repositories::RepositoryId;
use crate::store::{Durability, ReadTx, StoreError};

/// How often a task that waits is looked at again, and no sooner: a look asks the wall and the tools.
const AGAIN: Duration = Duration::from_secs(5);

type PolicyOf = dyn Fn(&ReadTx<'_>, &Config, &TaskRow) -> Result<Option<Policy>, StoreError> + Send + Sync;
type Parked = dyn Fn(&ReadTx<'_>, RepositoryId) -> Result<u32, StoreError> + Send + Sync;

/// What the engine's loop knows and a runner of tasks asks for.
#[derive(Clone)]
pub struct Given {
    /// The policy in force of a task's repository; `None` where no task may run: the engine is off, the
    /// repository is not watched any more, or its mode is to observe.
    pub policy: Arc<PolicyOf>,
    /// How many items of a repository wait on faults of the configuration.
    pub parked: Arc<Parked>,
}

/// A task that is driven here.
struct Driven {
    item: Item,
    stop: Stop,
    handle: JoinHandle<Result<Came, StoreError>>,
}

/// Whoever lets go of a task ends it: nothing of it runs on without a runner.
impl Drop for Driven {
    fn drop(&mut self) {
        self.stop.stop(StopWhy::Closing);
    }
}

/// What the runner knows of the tasks, beside their rows.
#[derive(Default)]
struct Hands {
    /// By repository.
    driven: BTreeMap<i64, Driven>,
    /// When a task that waits was last looked at.
    looked_at: BTreeMap<i64, Instant>,
    rests: Rests,
}

impl Given {
    /// What the config file says, as far as a person confirmed it.
    pub fn in_force(parked: Arc<Parked>) -> Self {
        let policy = |tx: &ReadTx<'_>, config: &Config, row: &TaskRow| {
            let Some(repository) = config.repository(&row.name).filter(|_| is_on(config)) else {
                return Ok(None);
            };
            let powers = powers::read(tx, config)?;
            let mode = powers.in_force.of(&row.host, &row.name).mode();
            Ok((mode != Mode::Observe).then(|| powers.policy(&row.host, repository)))
        };
        Self { policy: Arc::new(policy), parked }
    }
}

/// Runs queued tasks until stopped. With nothing queued there is no timer: a topic wakes it.
pub async fn run(
    ctx: Ctx,
    stop: CancellationToken,
    mut topics: channel::Receiver<i64>,
    given: Given,
    note: impl Fn(Result<(), StoreError>),
) {
    let mut hands = Hands::default();
    let mut config = ctx.config.changes();
    loop {
        let turn = async {
            reap(&mut hands).await?;
            look(&ctx, &given, &mut hands).await
        };
        // A look asks the wall and the status command of who comes first: the end of the runtime waits for neither.
        let looked = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            looked = turn => looked,
        };
        let waits = matches!(&looked, Ok(true) | Err(_));
        note(looked.map(drop));
        let again = if hands.driven.is_empty() && !waits { None } else { Some(AGAIN) };
        let finished = async {
            // A task that ended makes room for the next.
            while !hands.driven.values().any(|one| one.handle.is_finished()) {
                tokio::time::sleep(LOOK).await;
            }
        };
        tokio::select! {
            () = stop.cancelled() => break,
            changed = topics.changed() => if changed.is_err() { break },
            // An error is a watch that ended with its home.
            changed = config.changed() => if changed.is_err() { break },
            () = finished, if !hands.driven.is_empty() => {}
            () = tokio::time::sleep(again.unwrap_or(AGAIN)), if again.is_some() => {}
        }
    }
    for one in hands.driven.values() {
        one.stop.stop(StopWhy::Closing);
    }
    for one in hands.driven.values_mut() {
        if let Ok(Err(error)) = (&mut one.handle).await {
            tracing::warn!(%error, "a task was not ended cleanly");
        }
    }
}

async fn reap(hands: &mut Hands) -> Result<(), StoreError> {
    let done: Vec<i64> =
        hands.driven.iter().filter(|(_, one)| one.handle.is_finished()).map(|(key, _)| *key).collect();
    for key in done {
        let Some(mut one) = hands.driven.remove(&key) else { continue };
        let ended = (&mut one.handle).await;
        let ended = ended.map_err(|error| StoreError::Value(format!("a defect of Steward: {error}")));
        match ended.and_then(|ended| ended) {
            Ok(came) => hands.rests.note(one.item, came),
            Err(error) => {
                hands.rests.note(one.item, Came::Nothing);
                return Err(error);
            }
        }
    }
    Ok(())
}

/// Starts what may start; true when something waits.
async fn look(ctx: &Ctx, given: &Given, hands: &mut Hands) -> Result<bool, StoreError> {
    let open = ctx.store.read(engine_tasks::open).await?;
    hands.looked_at.retain(|id, at| at.elapsed() < AGAIN && open.iter().any(|row| row.id == *id));
    hands.rests.forget(&open);
    let mut taken_up: BTreeSet<(i64, bool)> = BTreeSet::new();
    let mut waits = false;
    for row in open {
        let key = row.repository.0;
        if hands.driven.contains_key(&key) {
            if row.state == State::Queued {
                waits = true;
            }
            continue;
        }
        if row.state == State::Running {
            // Nobody drives it here: what drove it failed by the store.
            let (id, why) = (row.id, wording::task::restarted());
            hands.rests.note(rests::item(&row), Came::Back(None));
            ctx.store.write(Durability::Full, move |tx| engine_tasks::put_back(tx, id, why)).await?;
            waits = true;
            continue;
        }
        if let Some((end, detail)) =
            of_no_use(ctx, &row).await?.and_then(|why| Some((why.end()?, why.detail())))
        {
            let (id, ended) = (row.id, Ended { end, fault: None, detail, result: None });
            ctx.store.write(Durability::Full, move |tx| engine_tasks::end(tx, id, &ended)).await?;
            continue;
        }
        let is_agent = needs_agent(&row.what) || is_refused(ctx, given, &hands.rests, &row).await?;
        // The oldest comes first, and while it waits nothing else of its repository starts, but for what needs no
        // agent while the oldest one waits for an agent.
        if !taken_up.insert((key, is_agent)) {
            continue;
        }
        if hands.looked_at.contains_key(&row.id) {
            waits = true;
            continue;
        }
        if hands.rests.holds(&rests::item(&row)) {
            waits = true;
            if row.waits.is_none() {
                let (id, why) = (row.id, wording::task::rests());
                ctx.store.write(Durability::Normal, move |tx| engine_tasks::wait(tx, id, why)).await?;
            }
            continue;
        }
        let Some(policy) = allowed(ctx, given, &row).await? else { continue };
        if let Err(why) = may_start(ctx, &row, &policy, given, is_agent).await? {
            waits = true;
            let id = row.id;
            hands.looked_at.insert(id, Instant::now());
            ctx.store.write(Durability::Normal, move |tx| engine_tasks::wait(tx, id, &why)).await?;
            continue;
        }
        let id = row.id;
        if ctx.store.write(Durability::Full, move |tx| engine_tasks::start(tx, id)).await? {
            let (item, stop) = (rests::item(&row), Stop::default());
            let (ctx, given, handed) = (ctx.clone(), given.clone(), stop.clone());
            let handle = tokio::spawn(async move { one(&ctx, row, policy, given, handed).await });
            hands.driven.insert(key, Driven { item, stop, handle });
        }
    }
    Ok(waits)
}

/// True for a rebase that the driver refused, and would refuse again: an agent has to take it over.
async fn is_refused(ctx: &Ctx, given: &Given, rests: &Rests, row: &TaskRow) -> Result<bool, StoreError> {
    let Some(refused) = rests.refused(&rests::item(row)) else { return Ok(false) };
    let Some(policy) = allowed(ctx, given, row).await? else { return Ok(true) };
    let row = row.clone();
    ctx.store.read(move |tx| refused.stands(tx, &row, &policy)).await
}

fn needs_agent(what: &What) -> bool {
    match what {
        What::Fix { .. } | What::Triage { .. } => true,
        What::Rebase => false,
    }
}

/// The policy of a task's repository, while it may work there at all.
pub(super) async fn allowed(ctx: &Ctx, given: &Given, row: &TaskRow) -> Result<Option<Policy>, StoreError> {
    let (given, row, config) = (given.clone(), row.clone(), ctx.config());
    ctx.store
        .read(move |tx| {
            if pause::current(tx)?.is_some() {
                return Ok(None);
            }
            (given.policy)(tx, &config, &row)
        })
        .await
}

/// Why nothing that a task makes is of use any more, as far as the last look at GitHub shows.
pub(super) async fn of_no_use(ctx: &Ctx, row: &TaskRow) -> Result<Option<StopWhy>, StoreError> {
    let row = row.clone();
    ctx.store
        .read(move |tx| {
            Ok(match row.kind {
                ItemKind::Pr => match pulls::get(tx, row.repository, PullNumber(row.number))? {
                    Some(pull) if pull.state != PullState::Open => Some(StopWhy::Closed),
                    // The head a task names may be newer than the last look.
                    Some(pull)
                        if row.head.as_ref().is_some_and(|head| *head != pull.head)
                            && pull.head_seen_at > row.queued_at =>
                    {
                        Some(StopWhy::Moved)
                    }
                    Some(_) | None => None,
                },
                ItemKind::Issue => match issues::get(tx, row.repository, row.number)? {
                    Some(issue) if issue.state != IssueState::Open => Some(StopWhy::Closed),
                    Some(_) | None => None,
                },
            })
        })
        .await
}

/// Takes every reading and asks the rules.
async fn may_start(
    ctx: &Ctx,
    row: &TaskRow,
    policy: &Policy,
    given: &Given,
    is_agent: bool,
) -> Result<MayStart, StoreError> {
    let (repository, parked, config) = (row.repository, Arc::clone(&given.parked), ctx.config());
    let (started, limited, parked, caps) = ctx
        .store
        .read(move |tx| {
            Ok::<_, StoreError>((
                engine_tasks::started_today(tx, repository)?,
                seat::limited_until(tx)?,
                parked(tx, repository)?,
                seat::within_caps(tx, &config)?,
            ))
        })
        .await?;
    let home = ctx.home.clone();
    let free = tokio::task::spawn_blocking(move || HeavyLock::try_take(&home));
    let lock_free = matches!(free.await, Ok(Ok(Some(_))));
    let mut start = Start {
        boundary: Reading::known(()),
        priority_busy: priority::busy(policy.priority.as_ref()).await,
        lock_free,
        available_mb: available_mb(),
        started_today: if is_agent { started } else { 0 },
        limited_until: limited.filter(|_| is_agent),
        parked: if is_agent { parked } else { 0 },
    };
    let judge = |start: &Start| {
        let (runs, mb) = (policy.agent.daily_runs, policy.agent.min_available_mb);
        hold::may_start(start, runs, mb, ctx.clock.now()).map_err(|why| wording::engine::not_now(&why))
    };
    if let Err(why) = judge(&start) {
        return Ok(Err(why));
    }
    if !is_agent {
        return Ok(Ok(()));
    }
    if let Err(why) = caps {
        return Ok(Err(why));
    }
    // The wall is asked last, since that costs most; and before each task.
    if let Err(why) = seat::wall(ctx).await {
        start.boundary = Reading::unread(Cause::NotReadYet, why);
    }
    Ok(judge(&start))
}

/// Memory that is available, in MB, by the kernel's own estimate.
fn available_mb() -> Reading<u64> {
    let unread =
        |why: &str| Reading::unread(Cause::NotReadYet, format!("the available memory is not known: {why}"));
    let text = match std::fs::read_to_string("/proc/meminfo") {
        Ok(text) => text,
        Err(error) => return unread(&error.to_string()),
    };
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kb = line.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    match kb {
        Some(kb) => Reading::known(kb / 1024),
        None => unread("the kernel does not say"),
    }
}

/// Drives one task, and watches what may end it.
async fn one(ctx: &Ctx, row: TaskRow, policy: Policy, given: Given, stop: Stop) -> Result<Came, StoreError> {
    // They end with this.
    let mut watching = JoinSet::new();
    watching.spawn(watch::over(ctx.clone(), given.clone(), row.clone(), stop.clone()));
    watching.spawn(watch::for_priority(ctx.clone(), given.clone(), row.clone(), stop.clone()));
    let again = async || may_start(ctx, &row, &policy, &given, true).await;
    let outcome = drive::drive(ctx, &row, &policy, &stop, again).await;
    drop(watching);
    let outcome = outcome?;
    failpoint::reach("task_ended");
    ctx.store
        .write(Durability::Full, move |tx| match outcome {
            Outcome::Ended(ended) => {
                engine_tasks::end(tx, row.id, &ended)?;
                Ok(Came::of(&ended))
            }
            Outcome::PutBack { why, refused_on } => {
                engine_tasks::put_back(tx, row.id, &why)?;
                let refused = refused_on.map(|base| Refused::new(tx, &row, policy, base));
                Ok(Came::Back(refused.transpose()?.map(Box::new)))
            }
        })
        .await
}
