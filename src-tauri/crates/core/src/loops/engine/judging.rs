//! What a tick makes of one pull request: judged by its last whole reading, or read whole again.

use std::collections::BTreeMap;

use chrono::Duration;
use steward_rules::engine::classify::{Class, Unreadable, classify};
use steward_rules::engine::decision::{Decision, Listed, Wait, WaitFor};
use steward_rules::engine::facts::{Compare, PrObs};
use steward_rules::engine::memory::Memory;
use steward_rules::engine::merge::assess;
use steward_rules::engine::retry::News;
use steward_rules::ids::{PullNumber, Sha};
use steward_rules::power::Mode;
use steward_rules::reading::Reading;
use steward_rules::review::lifecycle::PastReview;

use super::stops::Stops;
use super::tick::Tick;
use super::{act, base, evidence, memory, reading};
use crate::store::effects::EffectRow;
use crate::store::engine_items::{BaseMove, ItemKind, ItemRow};
use crate::store::engine_tasks::{self, TaskRow};
use crate::store::pulls::PullRow;
use crate::store::reviews::ReviewState;
use crate::store::{StoreError, effects, observations, reviews, tasks};

/// How soon what passes by itself is read again.
const PASSING: Duration = Duration::minutes(2);
/// How soon what may change without the observer seeing it is read again.
const UNSEEN: Duration = Duration::minutes(30);
/// How soon what rests after a failure is read again: another check may have failed beside the known one.
const NEWS: Duration = Duration::hours(2);
/// Everything is read whole once a day.
pub(super) const DAY: Duration = Duration::hours(24);

/// A pull request with everything it is judged by.
pub(super) struct Judged {
    pub pull: PullRow,
    pub item: ItemRow,
    pub seen: PrObs,
    pub memory: Memory,
    pub journal: Vec<EffectRow>,
    pub tasks: Vec<TaskRow>,
    pub reviews: Vec<PastReview>,
    pub class: Class,
    pub decision: Decision,
    /// Read whole in this tick.
    pub is_fresh: bool,
    /// What stands in the repository for somebody to mend.
    pub stops: Stops,
}

impl Tick<'_> {
    /// Compares what did not move itself with a base that did.
    pub(super) async fn moved_bases(
        &self,
        pulls: &[PullRow],
    ) -> Result<BTreeMap<PullNumber, Reading<Compare>>, StoreError> {
        let mut heads: BTreeMap<Sha, Vec<(PullNumber, Sha)>> = BTreeMap::new();
        for pull in pulls {
            let Some(Reading::Known { value: item }) = self.known.items.get(&(ItemKind::Pr, pull.number.0))
            else {
                continue;
            };
            let tip = self.base_tip(pull);
            let is_same = item.sight.as_deref() == Some(sight(pull).as_str());
            let is_compared = item.compare.as_ref().is_none_or(|one| one.base == tip);
            let is_on_base = self.place.policy.base.as_ref() == Some(&pull.base_branch);
            if is_same && !is_compared && item.class == "data" && is_on_base {
                heads.entry(tip).or_default().push((pull.number, pull.head.clone()));
            }
        }
        let mut found = BTreeMap::new();
        for (tip, heads) in heads {
            found.extend(base::compared(self.ctx, self.place, &tip, &heads, self.stop).await?);
        }
        Ok(found)
    }

    /// Judges one pull request; `None` when it must be read and cannot be, so that what was decided stands.
    pub(super) async fn judge(
        &mut self,
        pull: PullRow,
        moved: Option<Reading<Compare>>,
    ) -> Result<Option<Judged>, StoreError> {
        let number = pull.number;
        let mut item = match self.known.items.remove(&(ItemKind::Pr, number.0)) {
            None => ItemRow::fresh(ItemKind::Pr, number.0, self.now),
            Some(Reading::Known { value }) => value,
            Some(Reading::Unread { why }) => {
                self.unreadable.push((ItemKind::Pr, number.0, why.detail));
                return Ok(None);
            }
        };
        let (id, host, name) = (self.known.repository.id, self.place.host.clone(), self.place.name.clone());
        let (stored, journal, tasks, reviewed, overtaken) = self
            .ctx
            .store
            .read(move |tx| {
                let reviewed = match tasks::find_by_pull(tx, &host, &name, number)? {
                    Some(task) => reviews::past(tx, task.id)?,
                    None => Vec::new(),
                };
                Ok::<_, StoreError>((
                    observations::pull(tx, id, number.0)?,
                    effects::of_item(tx, &host, &name, number.0)?,
                    engine_tasks::of_item(tx, id, engine_tasks::ItemKind::Pr, number.0)?,
                    reviewed,
                    memory::overtaken(tx, id, number)?,
                ))
            })
            .await?;
        memory::settle(&mut item, &journal);
        if item.try_at.is_some() {
            item.attempts.next_at = None;
            (item.unprocessable, item.rebases) = (0, 0);
        }
        // A stored reading that cannot be parsed is none.
        let mut seen = stored.and_then(|kept| match kept.seen {
            Reading::Known { value } => Some(value),
            Reading::Unread { .. } => None,
        });
        let said = seen.as_ref().filter(|_| item.sight.as_deref() == Some(sight(&pull).as_str()));
        let must = said.is_none_or(|seen| {
            self.now - seen.read_at >= DAY || seen.read_at > self.now || item.try_at.is_some()
        });
        let mut is_fresh = false;
        let tip = self.base_tip(&pull);
        for round in 0..2 {
            if must && round == 0 {
                let Some(read) = self.read(number).await? else { return Ok(None) };
                seen = Some(read);
                is_fresh = true;
            }
            let Some(mut now_seen) = seen.take() else { return Ok(None) };
            if is_fresh {
                let (base, head) = (tip.clone(), now_seen.head.sha.clone());
                item.compare = Some(BaseMove { base, head, compare: now_seen.compare.clone() });
                item.sight = Some(sight(&pull));
            } else if let Some(compare) = &moved {
                let (base, head) = (tip.clone(), now_seen.head.sha.clone());
                item.compare = Some(BaseMove { base, head, compare: compare.clone() });
            }
            if let Some(known) = item.compare.as_ref().filter(|known| known.head == now_seen.head.sha) {
                now_seen.compare = known.compare.clone();
                now_seen.base.sha = known.base.clone();
            }
            if !is_fresh && self.place.policy.require_seat_accepted {
                // What the seat said since stands in our own store, and GitHub shows nothing of it.
                now_seen.seat = reading::seat(self.ctx, &self.place.reading(id), number).await?;
            }
            self.notice_push(&mut item, &now_seen, &journal);
            let mut memory = memory::of(&item, &journal, self.known.merging.clone(), overtaken);
            // An agent takes over at once where the driver refuses, whatever the base is by then: so at this head it
            // is an attempt until the two are tasks of their own.
            let refused = memory::refused_rebase(&tasks).map(|(head, _)| head);
            memory.refused_rebase = refused.map(|head| (head, now_seen.base.sha.clone()));
            let behind = now_seen.compare.get().ok().map(|compare| compare.behind_by > 0);
            memory.observe(&now_seen.head.sha, behind, self.now);
            let is_reviewed =
                |past: &PastReview| past.sha == now_seen.head.sha && past.state == ReviewState::Published;
            if reviewed.iter().any(is_reviewed) {
                memory.reviewed_head = Some(now_seen.head.sha.clone());
            }
            let mut decision = assess(&now_seen, &memory, &self.place.policy, self.now);
            if is_fresh && self.notice_evidence(&mut item, &now_seen, &decision).await {
                memory.attempts = item.attempts.clone();
                decision = assess(&now_seen, &memory, &self.place.policy, self.now);
            }
            let class = classify(&now_seen, &self.place.policy);
            let judged = Judged {
                pull: pull.clone(),
                item: item.clone(),
                memory,
                journal: journal.clone(),
                tasks: tasks.clone(),
                reviews: reviewed.clone(),
                class,
                decision,
                is_fresh,
                stops: self.known.stops.clone(),
                seen: now_seen,
            };
            if is_fresh || !self.must_reread(&judged) {
                let mut judged = judged;
                self.tell(&mut judged);
                return Ok(Some(judged));
            }
            match self.read(number).await? {
                // Nothing is acted on from an older reading.
                None => return Ok(None),
                Some(read) => {
                    seen = Some(read);
                    is_fresh = true;
                }
            }
        }
        Ok(None)
    }

    /// What a decision from an older reading calls for: a whole one, before anything is done by it, and when
    /// what it waits for may have passed.
    fn must_reread(&self, judged: &Judged) -> bool {
        if act::acts(&judged.decision) {
            return self.known.mode != Mode::Observe && !act::is_under_way(judged, self.now);
        }
        let age = self.now - judged.seen.read_at;
        match &judged.decision {
            Decision::Wait(wait) => match &wait.reason {
                WaitFor::Rerun { .. }
                | WaitFor::WorkflowEnd { .. }
                | WaitFor::Running { .. }
                | WaitFor::VerdictRunning
                | WaitFor::Incomplete(_) => age >= PASSING,
                // Among other red checks what turned green is not seen.
                WaitFor::OtherFailed { .. }
                | WaitFor::Unbound(_)
                | WaitFor::Absent { .. }
                | WaitFor::VerdictAbsent => age >= UNSEEN,
                WaitFor::Backoff { .. } => age >= NEWS && judged.memory.attempts.may_wake(self.now),
                WaitFor::Stable { .. }
                | WaitFor::Sweep { .. }
                | WaitFor::VerdictRetry { .. }
                | WaitFor::ChangesRequested { .. }
                | WaitFor::Approvals { .. }
                | WaitFor::Seat(_)
                | WaitFor::Held(_)
                | WaitFor::Overtaken(_)
                | WaitFor::NextTick => false,
            },
            // The observer tells of the base.
            Decision::ListOnly(Listed::Class(Class::Unreadable(Unreadable::Base))) => false,
            Decision::ListOnly(Listed::Class(Class::Unreadable(_))) => age >= PASSING,
            Decision::ListOnly(
                Listed::NoValidator
                | Listed::NoBranch
                | Listed::Unbound(_)
                | Listed::NoVerdict { .. }
                | Listed::NoVerdictRun,
            ) => age >= UNSEEN,
            Decision::ListOnly(_)
            | Decision::Ignore(_)
            | Decision::Gone(_)
            | Decision::ConfigFault(_)
            | Decision::ReviewCode { .. }
            | Decision::Rerun { .. }
            | Decision::RetryVerify { .. }
            | Decision::Rebase(_)
            | Decision::Fix { .. }
            | Decision::Merge(_) => false,
        }
    }

    /// A push by somebody else makes the next attempt due, and our rebases count anew.
    fn notice_push(&self, item: &mut ItemRow, seen: &PrObs, journal: &[EffectRow]) {
        let before = item.head.as_ref().map(|known| &known.sha);
        let is_foreign = before.is_some_and(|known| *known != seen.head.sha)
            && item.pushed_head.as_ref() != Some(&seen.head.sha)
            && !journal.iter().any(|row| row.is_push_to(&seen.head.sha));
        if is_foreign {
            item.attempts = item.attempts.wake(&News::ForeignPush, self.now);
            item.rebases = 0;
            item.unprocessable = 0;
        }
    }

    /// What fails otherwise than what the last attempt started from makes the next one due (engine.md 6). True
    /// when it does.
    async fn notice_evidence(&self, item: &mut ItemRow, seen: &PrObs, decision: &Decision) -> bool {
        let Decision::Wait(Wait { reason: WaitFor::Backoff { what: Some(what), .. }, .. }) = decision else {
            return false;
        };
        if self.known.mode == Mode::Observe || !item.attempts.may_wake(self.now) {
            return false;
        }
        let prints = evidence::prints_of(self, seen, what).await;
        let woken = item.attempts.wake(&News::Evidence(prints), self.now);
        let is_woken = woken != item.attempts;
        item.attempts = woken;
        is_woken
    }

    /// Writes the decision into the item's row.
    pub(super) fn tell(&self, judged: &mut Judged) {
        let Judged { item, memory, decision, class, .. } = judged;
        item.class = class.slug().to_owned();
        item.class_reason = class.message();
        item.decision = decision.slug().to_owned();
        item.state = decision.message();
        item.not_before = decision.not_before();
        item.head = memory.head.clone();
        item.behind_since = memory.behind_since;
        item.reviewed_head = memory.reviewed_head.clone();
        item.stuck = item.attempts.is_stuck(&self.place.policy.retry);
        item.ended = None;
        item.settled = false;
        item.updated_at = self.now;
    }
}

/// What the observer shows of a pull request, but for its base: as long as it is the same, the last whole
/// reading stands.
pub(super) fn sight(pull: &PullRow) -> String {
    let labels = pull.labels.join("\u{1f}");
    let word = |text: &Option<String>| text.clone().unwrap_or_default();
    format!(
        "{} {} {} {} {} {} {}",
        pull.head,
        pull.draft,
        word(&pull.rollup),
        word(&pull.review_decision),
        pull.updated_at.timestamp_micros(),
        pull.base_branch,
        labels,
    )
}
