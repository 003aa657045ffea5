//! The queue: picks reviews up, stops them on cancel, pause and switch-off. Never waits for git.

use std::collections::HashMap;
use std::time::Duration;

use steward_rules::ids::ReviewId;
use steward_rules::review::lifecycle::ReviewState;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{Trouble, recover};
use crate::loops::Ctx;
use crate::loops::pause::{self, Paused};
use crate::loops::review::{self, DriveError, Stop, StopWhy};
use crate::store::{Durability, StoreError, outbox, reviews};

/// A queued review is picked up, and a pause takes hold, within two of these.
const EVERY: Duration = Duration::from_millis(200);
/// The tables are looked at when a topic changed, and every so many ticks anyway.
const PATIENCE: u32 = 25;
/// Seats at once.
const SEATS: usize = 2;

/// The loop that drives reviews.
pub(super) struct Queue {
    ctx: Ctx,
    stop: CancellationToken,
    /// The one review a command hosts the runtime for.
    only: Option<ReviewId>,
    trouble: Trouble,
    driven: HashMap<ReviewId, (Stop, JoinHandle<Result<(), DriveError>>)>,
    last_topic: i64,
    idle: u32,
    /// Tells the other loops the newest topic, so that one of them alone asks the database.
    topics: watch::Sender<i64>,
}

/// What the tables say, in one small read.
struct Seen {
    topic: i64,
    paused: Option<Paused>,
    open: Vec<(ReviewId, ReviewState, bool)>,
}

impl Queue {
    pub fn new(ctx: Ctx, stop: CancellationToken, only: Option<ReviewId>, trouble: Trouble) -> Self {
        let topics = watch::Sender::new(-1);
        Self { ctx, stop, only, trouble, driven: HashMap::new(), last_topic: -1, idle: 0, topics }
    }

    /// The newest topic, as this loop last saw it.
    pub fn topics(&self) -> watch::Receiver<i64> {
        self.topics.subscribe()
    }

    pub async fn run(mut self) {
        let mut every = tokio::time::interval(EVERY);
        every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut config = self.ctx.config.changes();
        loop {
            tokio::select! {
                () = self.stop.cancelled() => break,
                _ = every.tick() => {}
                _ = config.changed() => self.last_topic = -1,
            }
            let result = self.tick().await;
            self.trouble.note("queue", result);
        }
        self.close().await;
    }

    async fn tick(&mut self) -> Result<(), StoreError> {
        self.reap().await?;
        let topic = self.ctx.store.last_topic().await?;
        self.topics.send_if_modified(|known| std::mem::replace(known, topic) != topic);
        self.idle += 1;
        if topic == self.last_topic && self.idle < PATIENCE {
            return Ok(());
        }
        self.idle = 0;
        let seen = self
            .ctx
            .store
            .read(|tx| {
                Ok::<_, StoreError>(Seen {
                    topic: outbox::last(tx)?,
                    paused: pause::current(tx)?,
                    open: reviews::open(tx)?,
                })
            })
            .await?;
        self.last_topic = seen.topic;
        self.act(seen).await
    }

    async fn act(&mut self, seen: Seen) -> Result<(), StoreError> {
        let is_on = review::settings(&self.ctx.config()).is_on();
        for (id, state, cancel_asked) in &seen.open {
            let why = if *cancel_asked {
                Some(StopWhy::Person)
            } else if !is_on {
                Some(StopWhy::SwitchedOff)
            } else {
                match (&seen.paused, state) {
                    (Some(paused), ReviewState::Digesting | ReviewState::Running) => {
                        Some(StopWhy::Paused(paused.why.clone()))
                    }
                    (Some(_) | None, _) => None,
                }
            };
            if let Some(why) = why {
                self.end(*id, *state, why).await?;
            }
        }
        if seen.paused.is_some() || !is_on {
            return Ok(());
        }
        for (id, state, cancel_asked) in seen.open {
            let is_mine = self.only.is_none_or(|only| only == id);
            let waits = matches!(state, ReviewState::Queued | ReviewState::Submitted);
            if is_mine
                && waits
                && !cancel_asked
                && self.driven.len() < SEATS
                && !self.driven.contains_key(&id)
            {
                self.drive(id);
            }
        }
        Ok(())
    }

    fn drive(&mut self, id: ReviewId) {
        let (ctx, stop) = (self.ctx.clone(), Stop::default());
        let handle = tokio::spawn({
            let stop = stop.clone();
            async move { review::drive(&ctx, id, &stop).await }
        });
        self.driven.insert(id, (stop, handle));
    }

    /// Stops a review that is driven here; ends one that nobody drives.
    async fn end(&mut self, id: ReviewId, state: ReviewState, why: StopWhy) -> Result<(), StoreError> {
        if let Some((stop, _)) = self.driven.get(&id) {
            stop.stop(why);
            return Ok(());
        }
        match state {
            ReviewState::Queued | ReviewState::Submitted | ReviewState::Held => {
                review::end_unstarted(&self.ctx, id, why).await
            }
            // Nobody drives it here: another process does, or it is being taken up.
            ReviewState::Digesting | ReviewState::Running | ReviewState::Published | ReviewState::Ended => {
                Ok(())
            }
        }
    }

    /// Takes finished drives off the list. One that failed by the store is taken up again.
    async fn reap(&mut self) -> Result<(), StoreError> {
        let done: Vec<ReviewId> =
            self.driven.iter().filter(|(_, (_, handle))| handle.is_finished()).map(|(id, _)| *id).collect();
        for id in done {
            let Some((stop, handle)) = self.driven.remove(&id) else { continue };
            let why = match handle.await {
                Ok(Ok(())) => {
                    self.last_topic = -1;
                    continue;
                }
                Ok(Err(error)) => error.to_string(),
                Err(error) => format!("a defect of Steward: {error}"),
            };
            tracing::error!(review = %id, why, "a review was not driven to its end");
            let taken = self.take_up(id, why.clone()).await;
            if taken.is_err() {
                // The store still fails: it stays on the list and is taken up at the next tick.
                let handle = tokio::spawn(async move { Err(DriveError::Store(StoreError::Value(why))) });
                self.driven.insert(id, (stop, handle));
            }
            taken?;
            self.last_topic = -1;
        }
        Ok(())
    }

    async fn take_up(&self, id: ReviewId, why: String) -> Result<(), StoreError> {
        self.ctx
            .store
            .write(Durability::Full, move |tx| {
                let Some(found) = reviews::get(tx, id)? else { return Ok(()) };
                recover::one(tx, id, found.state, &why)
            })
            .await
    }

    async fn close(mut self) {
        for (stop, _) in self.driven.values() {
            stop.stop(StopWhy::Closing);
        }
        for (id, (_, handle)) in self.driven.drain() {
            if let Ok(Err(error)) = handle.await {
                tracing::warn!(review = %id, %error, "a review was not ended cleanly");
            }
        }
    }
}
