//! How long an item rests whose last start came to nothing, so that none is started in a loop, whatever it was
//! that put it back (engine.md 14, 18).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use steward_rules::engine::policy::Policy;
use steward_rules::engine::retry::TaskEnd;
use steward_rules::ids::{PullNumber, Sha};

use crate::store::engine_tasks::{Ended, ItemKind, TaskRow};
use crate::store::{ReadTx, StoreError, pulls, repositories};

/// How long after the first start that came to nothing. Each further one in a row doubles it.
const FIRST: Duration = Duration::from_secs(5);
/// The longest rest: a tick comes as often.
const LONGEST: Duration = Duration::from_secs(600);

/// What a start came to.
pub(super) enum Came {
    /// To an end of its own.
    Through,
    /// Nothing was made, and nothing says that the next start makes more.
    Nothing,
    /// It was put back, perhaps since the driver refuses and no agent may take over.
    Back(Option<Box<Refused>>),
}

impl Came {
    /// What an end says of the next start. What is parked or has a condition of its own needs no rest.
    pub fn of(ended: &Ended) -> Self {
        match ended.end {
            TaskEnd::NotStarted | TaskEnd::ForgeFailed | TaskEnd::BoundaryLost | TaskEnd::Preempted
                if ended.fault.is_none() =>
            {
                Self::Nothing
            }
            TaskEnd::NotStarted
            | TaskEnd::ForgeFailed
            | TaskEnd::BoundaryLost
            | TaskEnd::Preempted
            | TaskEnd::Pushed
            | TaskEnd::Answered
            | TaskEnd::NoChange
            | TaskEnd::Refused
            | TaskEnd::BadAnswer
            | TaskEnd::Timeout
            | TaskEnd::TurnLimit
            | TaskEnd::Crashed
            | TaskEnd::UsageLimit
            | TaskEnd::Killed
            | TaskEnd::LeaseRejected
            | TaskEnd::PushRefused
            | TaskEnd::PullClosed => Self::Through,
        }
    }
}

/// A rebase that the driver refused: of this head, onto this base, by this policy.
#[derive(Debug)]
pub(super) struct Refused {
    head: Option<Sha>,
    base: Sha,
    /// Where the base ended as a look showed it then: that may be older than what the driver saw.
    seen: Option<Sha>,
    policy: Policy,
}

impl Refused {
    pub fn new(tx: &ReadTx<'_>, row: &TaskRow, policy: Policy, base: Sha) -> Result<Self, StoreError> {
        Ok(Self { head: row.head.clone(), base, seen: base_seen(tx, row)?, policy })
    }

    /// True while the driver would refuse again.
    pub fn stands(&self, tx: &ReadTx<'_>, row: &TaskRow, policy: &Policy) -> Result<bool, StoreError> {
        let seen = base_seen(tx, row)?;
        let is_same_base = seen == self.seen || seen.as_ref() == Some(&self.base);
        Ok(is_same_base && self.head == row.head && self.policy == *policy)
    }
}

/// Where the base of a task's pull request ends, as the last look showed it.
fn base_seen(tx: &ReadTx<'_>, row: &TaskRow) -> Result<Option<Sha>, StoreError> {
    let Some(pull) = pulls::get(tx, row.repository, PullNumber(row.number))? else { return Ok(None) };
    let seen = repositories::find(tx, &row.host, &row.name)?.and_then(|repository| repository.seen);
    let tip = seen
        .filter(|seen| seen.default_branch.as_ref() == Some(&pull.base_branch))
        .and_then(|seen| seen.default_tip);
    Ok(Some(tip.unwrap_or(pull.base)))
}

/// One pull request or issue of a repository. Its next task is another row.
pub(super) type Item = (i64, ItemKind, i64);

pub(super) fn item(row: &TaskRow) -> Item {
    (row.repository.0, row.kind, row.number)
}

struct Rest {
    until: Instant,
    times: u32,
    refused: Option<std::sync::Arc<Refused>>,
}

/// The items that rest.
#[derive(Default)]
pub(super) struct Rests(BTreeMap<Item, Rest>);

impl Rests {
    /// Takes in what a start came to; an error of the store, or a defect, is nothing.
    pub fn note(&mut self, item: Item, came: Came) {
        let refused = match came {
            Came::Through => {
                self.0.remove(&item);
                return;
            }
            Came::Nothing => None,
            Came::Back(refused) => refused,
        };
        let times = self.0.get(&item).map_or(0, |rest| rest.times);
        let long = FIRST.saturating_mul(2_u32.saturating_pow(times)).min(LONGEST);
        let rest = Rest {
            until: Instant::now() + long,
            times: times.saturating_add(1),
            refused: refused.map(Into::into),
        };
        self.0.insert(item, rest);
    }

    /// True while it rests.
    pub fn holds(&self, item: &Item) -> bool {
        self.0.get(item).is_some_and(|rest| Instant::now() < rest.until)
    }

    /// The refusal by the driver that its last start met.
    pub fn refused(&self, item: &Item) -> Option<std::sync::Arc<Refused>> {
        self.0.get(item)?.refused.clone()
    }

    /// Forgets what rested long ago and has no task any more.
    pub fn forget(&mut self, open: &[TaskRow]) {
        self.0.retain(|of, rest| rest.until.elapsed() < LONGEST || open.iter().any(|row| item(row) == *of));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ITEM: Item = (1, ItemKind::Pr, 12);

    fn left(rests: &Rests) -> Duration {
        rests.0.get(&ITEM).map_or(Duration::ZERO, |rest| rest.until.duration_since(Instant::now()))
    }

    #[test]
    fn each_start_in_a_row_that_comes_to_nothing_rests_twice_as_long_up_to_a_bound() {
        let mut rests = Rests::default();
        assert!(!rests.holds(&ITEM));
        for (times, most) in [5, 10, 20, 40, 80, 160, 320, 600, 600].into_iter().enumerate() {
            rests.note(ITEM, if times % 2 == 0 { Came::Nothing } else { Came::Back(None) });
            let left = left(&rests);
            assert!(left <= Duration::from_secs(most), "{times}: {left:?}");
            assert!(left > Duration::from_secs(most) * 9 / 10, "{times}: {left:?}");
            assert!(rests.holds(&ITEM) && !rests.holds(&(1, ItemKind::Issue, 12)));
        }
        for _ in 0..40 {
            rests.note(ITEM, Came::Nothing);
        }
        assert!(left(&rests) <= LONGEST, "it does not overflow");
        rests.note(ITEM, Came::Through);
        assert!(!rests.holds(&ITEM));
        rests.note(ITEM, Came::Nothing);
        assert!(left(&rests) <= FIRST, "it begins anew");
    }

    #[test]
    fn an_end_without_a_reason_that_lasts_rests_and_one_with_a_fault_is_parked_instead() {
        let ended = |end, fault| Ended { end, fault, detail: String::new(), result: None };
        let fault = Some(crate::store::engine_tasks::Fault::Pin);
        for (end, fault, rests) in [
            (TaskEnd::ForgeFailed, None, true),
            (TaskEnd::NotStarted, None, true),
            (TaskEnd::Preempted, None, true),
            (TaskEnd::NotStarted, fault, false),
            (TaskEnd::Pushed, None, false),
            (TaskEnd::UsageLimit, None, false),
        ] {
            let came = Came::of(&ended(end, fault));
            assert_eq!(matches!(came, Came::Nothing), rests, "{end:?} {fault:?}");
        }
    }
}
