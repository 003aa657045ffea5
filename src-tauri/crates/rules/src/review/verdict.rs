//! The three verdicts, and how the gates lower the seat's one.

use chrono::{DateTime, Duration, Utc};
use serde::{Deserialize, Serialize};

use super::lifecycle::ReviewState;
use crate::ids::{ReviewId, Sha};
use crate::reading::Reading;

/// What a review says. The order is the clamp's order: `Blocked < Changes < Accepted`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum Verdict {
    Blocked,
    Changes,
    Accepted,
}

impl Verdict {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Blocked => "BLOCKED",
            Self::Changes => "CHANGES",
            Self::Accepted => "ACCEPTED",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "BLOCKED" => Some(Self::Blocked),
            "CHANGES" => Some(Self::Changes),
            "ACCEPTED" => Some(Self::Accepted),
            _ => None,
        }
    }
}

/// Lowers a seat's verdict to what the gates allow. The seat can lower, never raise (review.md 6).
pub fn clamp(seat: Verdict, cap: Verdict) -> Verdict {
    seat.min(cap)
}

/// The seat's verdict, the cap and what is published; all three are kept and shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Final {
    pub seat: Verdict,
    pub cap: Verdict,
    pub verdict: Verdict,
    pub lowered: bool,
}

/// Puts the seat's verdict under the cap.
pub fn finish(seat: Verdict, cap: Verdict) -> Final {
    let verdict = clamp(seat, cap);
    Final { seat, cap, verdict, lowered: verdict < seat }
}

/// Why a review no longer speaks of the task as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum StaleReason {
    HeadMoved,
    NewerContract,
    NewerReview,
    HoldExpired,
}

impl StaleReason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::HeadMoved => "head_moved",
            Self::NewerContract => "newer_contract",
            Self::NewerReview => "newer_review",
            Self::HoldExpired => "hold_expired",
        }
    }
}

/// How long a review may be held before it goes stale.
pub const HOLD_AT_MOST: Duration = Duration::hours(24);

/// What decides whether a review is stale.
#[derive(Debug, Clone, PartialEq)]
pub struct StaleFacts<'a> {
    /// What was found before. It is set once and never cleared.
    pub already: Option<StaleReason>,
    pub reviewed: &'a Sha,
    /// The task's head now; `Known(None)` when its branch is gone. An unread head moves nothing.
    pub head: &'a Reading<Option<Sha>>,
    pub reviewed_contract: Option<u32>,
    pub contract: Option<u32>,
    /// A newer review of the task that was published; see [`newer_published`].
    pub newer: Option<ReviewId>,
    /// Since when the review is held, if it is.
    pub held_since: Option<DateTime<Utc>>,
}

/// Why a review is stale, if it is. Once set, the first reason stays: a force-push back to the
/// reviewed head does not clear it.
pub fn stale(facts: &StaleFacts<'_>, now: DateTime<Utc>) -> Option<StaleReason> {
    if facts.already.is_some() {
        return facts.already;
    }
    if facts.head.get().is_ok_and(|head| head.as_ref() != Some(facts.reviewed)) {
        return Some(StaleReason::HeadMoved);
    }
    if facts.contract > facts.reviewed_contract {
        return Some(StaleReason::NewerContract);
    }
    if facts.newer.is_some() {
        return Some(StaleReason::NewerReview);
    }
    facts.held_since.filter(|since| now - *since > HOLD_AT_MOST).map(|_| StaleReason::HoldExpired)
}

/// The newest published review after `review`. One that crashed hides no older good one.
pub fn newer_published(review: ReviewId, others: &[(ReviewId, ReviewState)]) -> Option<ReviewId> {
    others
        .iter()
        .filter(|(id, state)| *id > review && *state == ReviewState::Published)
        .map(|(id, _)| *id)
        .max()
}
