//! The merge gate: one next step for a pull request, in the order of engine.md 4.5.
//!
//! [`ORDER`] is that order as data: the first step that has something to say decides. Whether a pull request
//! is ready is said only when none has, and what is ready is read again before a [`MergePermit`] exists.

use chrono::{DateTime, Duration, Utc};

use super::checks::{Aggregate, aggregate};
use super::classify::{Class, classify};
use super::decision::{Decision, Missing, Ready};
use super::facts::{Labelled, PrObs};
use super::memory::Memory;
use super::policy::{MergeMethod, Policy, VerdictPolicy};
use super::steps::ORDER;
use super::verdict_label::{self, HeadVerdict};
use crate::ids::{PullNumber, RepoName, Sha};

/// The longest a second reading may be ago when the merge goes out.
const REREAD_WITHIN: Duration = Duration::minutes(1);

/// A pull request under judgement: what was observed, what is remembered, and what follows at once.
pub(super) struct Case<'a> {
    pub pr: &'a PrObs,
    pub memory: &'a Memory,
    pub policy: &'a Policy,
    pub now: DateTime<Utc>,
    pub class: Class,
    /// What the gate looks at, or what of it was not read whole.
    pub read: Result<Whole<'a>, Vec<Missing>>,
}

/// The facts of the gate, all of them read to their end.
pub(super) struct Whole<'a> {
    pub labels: &'a [String],
    /// Commits the head lacks of its base; 0 where the policy does not mind.
    pub behind_by: u32,
    pub checks: Aggregate<'a>,
    pub verdict: Option<Verdict<'a>>,
}

/// The verdict job's word on this head.
pub(super) struct Verdict<'a> {
    pub policy: &'a VerdictPolicy,
    pub of_head: HeadVerdict<'a>,
    pub labelled: &'a [Labelled],
}

impl<'a> Case<'a> {
    pub fn new(pr: &'a PrObs, memory: &'a Memory, policy: &'a Policy, now: DateTime<Utc>) -> Self {
        Self { pr, memory, policy, now, class: classify(pr, policy), read: whole(pr, policy) }
    }
}

/// Decides the one next step of a pull request.
pub fn assess(pr: &PrObs, memory: &Memory, policy: &Policy, now: DateTime<Utc>) -> Decision {
    let case = Case::new(pr, memory, policy, now);
    match ORDER.iter().find_map(|step| (step.judge)(&case)) {
        Some(halt) => halt.decision,
        None => Decision::Merge(Ready {
            repo: pr.base.name.clone(),
            number: pr.number,
            sha: pr.head.sha.clone(),
            read_at: pr.read_at,
        }),
    }
}

/// Judges a second, later reading just before the merge call (engine.md 4.1, 8): the same head, the same
/// pull request, and every condition holds again. Else what is to be done instead.
///
/// The second reading is newer than the first, and no more than a minute old.
pub fn reread(
    ready: Ready,
    fresh: &PrObs,
    memory: &Memory,
    policy: &Policy,
    now: DateTime<Utc>,
) -> Result<MergePermit, Decision> {
    let again = match assess(fresh, memory, policy, now) {
        Decision::Merge(again) => again,
        other => return Err(other),
    };
    let is_same = again.repo == ready.repo && again.number == ready.number && again.sha == ready.sha;
    let is_fresh =
        again.read_at > ready.read_at && again.read_at <= now && now - again.read_at <= REREAD_WITHIN;
    if !is_same || !is_fresh {
        return Err(Decision::Merge(again));
    }
    Ok(MergePermit { repo: again.repo, number: again.number, sha: again.sha, method: policy.merge_method })
}

/// Leave to merge one pull request at one commit. Only [`reread`] makes one, it cannot be copied, and the
/// merge call uses it up.
///
/// ```
/// use steward_rules::engine::merge::MergePermit;
/// fn used(permit: MergePermit) -> String {
///     permit.sha().to_string()
/// }
/// ```
///
/// ```compile_fail
/// use steward_rules::engine::merge::MergePermit;
/// fn twice(permit: MergePermit) -> [MergePermit; 2] {
///     [MergePermit::clone(&permit), permit]
/// }
/// ```
///
/// ```compile_fail
/// use steward_rules::engine::merge::MergePermit;
/// use steward_rules::ids::Sha;
/// fn moved(permit: MergePermit, sha: Sha) -> MergePermit {
///     MergePermit { sha, ..permit }
/// }
/// ```
///
/// ```compile_fail
/// use steward_rules::engine::merge::MergePermit;
/// fn read(text: &str) -> MergePermit {
///     serde_json::from_str(text).unwrap()
/// }
/// ```
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a permit that is not used merges nothing"]
pub struct MergePermit {
    repo: RepoName,
    number: PullNumber,
    sha: Sha,
    method: MergeMethod,
}

impl MergePermit {
    pub fn repo(&self) -> &RepoName {
        &self.repo
    }

    pub fn number(&self) -> PullNumber {
        self.number
    }

    /// The judged head; the merge request carries it.
    pub fn sha(&self) -> &Sha {
        &self.sha
    }

    pub fn method(&self) -> MergeMethod {
        self.method
    }
}

/// Takes the facts of the gate together, when all of them were read whole.
fn whole<'a>(pr: &'a PrObs, policy: &'a Policy) -> Result<Whole<'a>, Vec<Missing>> {
    let mut missing = Vec::new();
    let mut need = |is_read: bool, what: Missing| {
        if !is_read {
            missing.push(what);
        }
    };
    need(pr.labels.get().is_ok(), Missing::Labels);
    need(pr.check_runs.complete, Missing::CheckRuns);
    need(pr.statuses.complete, Missing::Statuses);
    if policy.verdict.is_some() {
        need(pr.verdict_runs.complete, Missing::VerdictRuns);
        need(pr.labelled.get().is_ok(), Missing::LabelEvents);
    }
    need(pr.compare.get().is_ok(), Missing::Compare);
    need(pr.reviews.complete, Missing::Reviews);
    if policy.require_seat_accepted {
        need(pr.seat.get().is_ok(), Missing::SeatReview);
    }
    need(pr.linked_issues.complete, Missing::LinkedIssues);
    let (Ok(labels), Ok(compare), true) = (pr.labels.get(), pr.compare.get(), missing.is_empty()) else {
        return Err(missing);
    };
    let verdict = match &policy.verdict {
        None => None,
        Some(verdict) => match pr.labelled.get() {
            Ok(labelled) => Some(Verdict {
                policy: verdict,
                of_head: verdict_label::of_head(pr, policy, verdict),
                labelled,
            }),
            Err(_) => return Err(vec![Missing::LabelEvents]),
        },
    };
    Ok(Whole {
        labels,
        behind_by: if policy.require_up_to_date { compare.behind_by } else { 0 },
        checks: aggregate(pr, policy),
        verdict,
    })
}
