//! One tick of one repository: what is known, what must be read, one decision for each, and what follows.
//!
//! What did not move since its last whole reading is judged from that; what moved, what a time is due for and
//! what is about to be acted on is read whole (engine.md 2).

use std::collections::BTreeSet;

use chrono::{DateTime, Duration, Utc};
use steward_rules::engine::facts::PrObs;
use steward_rules::engine::hold::{self, Round};
use steward_rules::engine::merge::assess;
use steward_rules::engine::triage::IssueObs;
use steward_rules::ids::{PullNumber, Sha};
use steward_rules::power::Mode;
use steward_rules::wording::items as say;
use tokio_util::sync::CancellationToken;

use super::judging::Judged;
use super::place::{Known, Watched, by_number, known};
use super::reading::{self, ReadFault};
use super::{act, after, issue, notices, results, stops};
use crate::config::Config;
use crate::github::GitHubError;
use crate::loops::{Ctx, forge};
use crate::sandbox::Boundary;
use crate::store::engine_items::{ItemKind, ItemRow};
use crate::store::pulls::PullRow;
use crate::store::{Durability, StoreError, engine, engine_items, observations};

/// One tick.
pub(super) struct Tick<'a> {
    pub ctx: &'a Ctx,
    pub stop: &'a CancellationToken,
    pub config: &'a Config,
    pub place: &'a Watched,
    pub now: DateTime<Utc>,
    pub known: Known,
    /// Why nothing more is read in this tick.
    pub halt: Option<ReadFault>,
    /// Rows of the memory that cannot be read.
    pub unreadable: Vec<(ItemKind, i64, String)>,
    /// The branches of the open pull requests of this very repository.
    pub heads: Vec<(PullNumber, String)>,
    /// Every open pull request, whoever's branch it has.
    pub open: BTreeSet<PullNumber>,
    /// What had to be read and could not be: what it wants is not known.
    pub unread: BTreeSet<(ItemKind, i64)>,
    /// The id of the account that acts, once it is known.
    pub account: Option<u64>,
    pub incidents: Vec<notices::Incident>,
    /// A review was refused in this tick.
    pub is_review_refused: bool,
    /// The calls for a try that this tick fulfils. They are taken at its end: one that dies fulfilled none.
    pub tried: Vec<(ItemKind, i64, DateTime<Utc>)>,
}

/// Judges everything in a repository, and takes the next steps.
pub(super) async fn one(
    ctx: &Ctx,
    config: &Config,
    place: &Watched,
    stop: &CancellationToken,
) -> Result<(), StoreError> {
    let now = ctx.clock.now();
    let found = {
        let (config, place) = (config.clone(), place.clone());
        ctx.store.read(move |tx| known(tx, &config, &place, now)).await?
    };
    let Some(known) = found else { return Ok(()) };
    let id = known.repository.id;
    ctx.store.write(Durability::Normal, move |tx| engine::set_round(tx, id, Round::Active)).await?;
    let own = known.names();
    let is_own = |pull: &&PullRow| {
        pull.head_repository
            .as_ref()
            .is_some_and(|from| own.iter().any(|name| name.eq_ignore_ascii_case(from)))
    };
    let heads =
        known.pulls.iter().filter(is_own).map(|pull| (pull.number, pull.head_branch.clone())).collect();
    let open = known.pulls.iter().map(|pull| pull.number).collect();
    let tick = Tick {
        ctx,
        stop,
        config,
        place,
        now,
        known,
        halt: None,
        unreadable: Vec::new(),
        heads,
        open,
        unread: BTreeSet::new(),
        account: None,
        incidents: Vec::new(),
        is_review_refused: false,
        tried: Vec::new(),
    };
    let done = tick.run().await;
    ctx.store.write(Durability::Normal, move |tx| engine::set_round(tx, id, Round::Idle)).await?;
    done
}

impl Tick<'_> {
    async fn run(mut self) -> Result<(), StoreError> {
        let mut pulls = std::mem::take(&mut self.known.pulls);
        by_number(&mut pulls);
        let moved = self.moved_bases(&pulls).await?;
        let mut judged = Vec::new();
        for pull in pulls {
            if self.stop.is_cancelled() {
                return Ok(());
            }
            let compare = moved.get(&pull.number).cloned();
            judged.extend(self.judge(pull, compare).await?);
        }
        self.record(&judged).await?;
        stops::end_moved(&self, &mut judged).await?;
        if self.known.mode != Mode::Observe {
            self.settle(&mut judged).await?;
            stops::end_merges(&self, &mut judged).await?;
        }
        act::pulls(&mut self, &mut judged).await?;
        if self.known.mode != Mode::Observe {
            after::supersede(&mut self, &mut judged).await?;
        }
        let left = self.known.items.keys().filter(|(kind, _)| *kind == ItemKind::Pr);
        stops::end_closed(&self, left.map(|(_, number)| *number).collect()).await?;
        after::ended(&mut self).await?;
        issue::all(&mut self).await?;
        notices::all(&mut self, &judged).await?;
        // What was cut short is not over: the next tick does it whole.
        if self.stop.is_cancelled() {
            return Ok(());
        }
        self.close().await
    }

    /// Where the base branch ends, as the last look showed it.
    pub fn base_now(&self) -> Option<Sha> {
        let seen = self.known.repository.seen.as_ref()?;
        let base = self.place.policy.base.as_deref()?;
        seen.default_tip.clone().filter(|_| seen.default_branch.as_deref() == Some(base))
    }

    /// Why no agent is started, when that is so.
    pub fn no_boundary(&self) -> Option<String> {
        match self.ctx.boundary() {
            Boundary::None { reason } => Some(reason),
            _ => None,
        }
    }

    /// Where the base of a pull request ends, as far as a look showed it.
    pub fn base_tip(&self, pull: &PullRow) -> Sha {
        let seen = self.known.repository.seen.as_ref();
        let of_default =
            seen.filter(|seen| seen.default_branch.as_deref() == Some(pull.base_branch.as_str()));
        of_default.and_then(|seen| seen.default_tip.clone()).unwrap_or_else(|| pull.base.clone())
    }

    /// False once nothing more is read in this tick: for a fault, or since the rest of this hour's quota is left
    /// to the person.
    async fn may_read(&mut self) -> bool {
        if self.halt.is_some() {
            return false;
        }
        match forge::open(self.ctx, &self.place.host, &self.place.name).await {
            Ok(open) => {
                if let Some(until) = open.reader.reserved() {
                    self.halt = Some(ReadFault::GitHub(GitHubError::RateLimited { until }));
                }
            }
            Err(error) => self.halt = Some(ReadFault::NoAccount(error)),
        }
        self.halt.is_none()
    }

    /// Reads a pull request whole; `None` when that is not possible now.
    pub async fn read(&mut self, number: PullNumber) -> Result<Option<PrObs>, StoreError> {
        if !self.may_read().await {
            return Ok(None);
        }
        let place = self.place.reading(self.known.repository.id);
        match reading::pull(self.ctx, &place, number).await {
            Ok(seen) => Ok(Some(seen)),
            Err(fault) => {
                tracing::info!(repository = %self.place.name, %number, why = %fault, "not read");
                self.unread.insert((ItemKind::Pr, number.0));
                // What is wrong with one alone holds up no other.
                if !is_of_one(&fault) {
                    self.halt = Some(fault);
                }
                Ok(None)
            }
        }
    }

    /// Reads an issue whole; `None` when that is not possible now.
    pub async fn read_issue(&mut self, number: i64) -> Result<Option<IssueObs>, StoreError> {
        if !self.may_read().await {
            return Ok(None);
        }
        let place = self.place.reading(self.known.repository.id);
        match reading::issue(self.ctx, &place, number).await {
            Ok(seen) => Ok(Some(seen)),
            Err(fault) => {
                tracing::info!(repository = %self.place.name, number, why = %fault, "not read");
                self.unread.insert((ItemKind::Issue, number));
                if !is_of_one(&fault) {
                    self.halt = Some(fault);
                }
                Ok(None)
            }
        }
    }

    /// Keeps what was judged, before anything is done.
    async fn record(&mut self, judged: &[Judged]) -> Result<(), StoreError> {
        let id = self.known.repository.id;
        let rows: Vec<(ItemRow, Option<PrObs>)> =
            judged.iter().map(|one| (one.item.clone(), one.is_fresh.then(|| one.seen.clone()))).collect();
        let tried = rows.iter().filter_map(|(item, _)| Some((item.kind, item.number, item.try_at?)));
        self.tried.extend(tried);
        self.ctx
            .store
            .write(Durability::Normal, move |tx| {
                for (item, seen) in &rows {
                    engine_items::put(tx, id, item)?;
                    if let Some(seen) = seen {
                        observations::keep_pull(tx, id, seen)?;
                    }
                }
                tx.topic(engine::TOPIC)
            })
            .await
    }

    /// Takes what tasks came to into their pull requests, and judges those anew: the delay of the next attempt counts
    /// from the end of the last (engine.md 6).
    async fn settle(&self, judged: &mut [Judged]) -> Result<(), StoreError> {
        let id = self.known.repository.id;
        for one in judged.iter_mut() {
            results::of_pull(self, one).await?;
            if one.item.try_at.is_some() {
                one.item.attempts.next_at = None;
            }
            if one.memory.attempts == one.item.attempts && one.memory.rebases == one.item.rebases {
                continue;
            }
            one.memory.attempts = one.item.attempts.clone();
            one.memory.rebases = one.item.rebases;
            one.decision = assess(&one.seen, &one.memory, &self.place.policy, self.now);
            self.tell(one);
            let item = one.item.clone();
            self.ctx.store.write(Durability::Full, move |tx| engine_items::put(tx, id, &item)).await?;
        }
        Ok(())
    }

    /// The end of a tick: when the next comes, and what is remembered of the repository.
    async fn close(self) -> Result<(), StoreError> {
        let Self { ctx, now, known, config, halt, tried, .. } = self;
        let id = known.repository.id;
        let interval = Duration::from_std(config.engine.interval).unwrap_or(Duration::minutes(10));
        let has_merged = known.merging.merged_this_tick;
        let looked = known.repository.observed_at != known.repo.observed_at;
        let refused = known.stops.refused.as_ref();
        let no_merges =
            refused.map(|one| (stops::MERGE_REFUSED.to_owned(), say::no_merges(one.number, &one.detail)));
        let fault = halt.as_ref().and_then(config_fault).or(no_merges);
        ctx.store
            .write(Durability::Normal, move |tx| {
                let mut row = engine::get(tx, id)?;
                row.hold = known.merging.hold;
                row.names = known.repo.names;
                row.report = known.repo.report;
                row.policy = Some(known.in_force);
                row.mended_at = known.stops.mended_at;
                if looked || has_merged {
                    let (wait, left) = hold::cadence(interval, row.fast_left, has_merged);
                    row.next_look = (wait < interval).then(|| now + wait);
                    row.fast_left = left;
                }
                row.observed_at = known.repository.observed_at;
                row.last_tick = Some(now);
                row.fault = match (fault, row.fault) {
                    (Some((slug, _)), Some(before)) if before.slug == slug => Some(before),
                    (Some((slug, detail)), _) => Some(engine::RepoFault { slug, detail, since: now }),
                    (None, before) => before.filter(|_| halt.is_some()),
                };
                engine::put(tx, id, &row)?;
                for (kind, number, asked_at) in tried {
                    engine_items::take_try(tx, id, kind, number, asked_at)?;
                }
                tx.topic(engine::TOPIC)
            })
            .await
    }
}

/// True for a fault that is about one thing alone: it holds up no other.
fn is_of_one(fault: &ReadFault) -> bool {
    match fault {
        ReadFault::GitHub(error) => match error {
            GitHubError::NotFound
            | GitHubError::Moved { .. }
            | GitHubError::Gone
            | GitHubError::Replaced
            | GitHubError::Validation { .. }
            | GitHubError::Conflict { .. }
            | GitHubError::Truncated(_)
            | GitHubError::Malformed(_)
            | GitHubError::TooLarge(_) => true,
            GitHubError::Auth
            | GitHubError::Forbidden { .. }
            | GitHubError::RateLimited { .. }
            | GitHubError::SecondaryLimited { .. }
            | GitHubError::Server { .. }
            | GitHubError::Timeout(_)
            | GitHubError::Tls(_)
            | GitHubError::CaptivePortal
            | GitHubError::Network(_) => false,
        },
        ReadFault::NoAccount(_) | ReadFault::Store(_) | ReadFault::Defect(_) => false,
    }
}

/// The fault of the configuration that a fault of reading is, if it is one.
pub(super) fn config_fault(fault: &ReadFault) -> Option<(String, String)> {
    fault.is_config().then(|| (fault.slug().to_owned(), fault.to_string()))
}
