//! What people and the seat say of it (engine.md 4.1, 10, and the seat as a further condition).

use chrono::{DateTime, Utc};

use super::{Halt, Shown, shown};
use crate::engine::decision::{Missing, SeatGap, WaitFor};
use crate::engine::facts::{PersonReview, ReviewState};
use crate::engine::merge::Case;
use crate::review::verdict::Verdict;

pub(super) fn people(case: &Case<'_>) -> Option<Halt> {
    let standing = standing(&case.pr.reviews.items);
    let mut by: Vec<(&str, Option<DateTime<Utc>>)> = standing
        .iter()
        .filter(|review| review.state == ReviewState::ChangesRequested)
        .map(|review| (review.by.login.as_str(), review.at))
        .collect();
    by.sort_unstable();
    if !by.is_empty() {
        let items: Vec<Shown> =
            by.iter().map(|(login, at)| shown("changes requested by", *login, *at)).collect();
        let by = by.into_iter().map(|(login, _)| login.to_owned()).collect();
        return Some(Halt::wait(WaitFor::ChangesRequested { by }, None).with(items));
    }
    let need = case.policy.required_approvals;
    let says_yes = |review: &&&PersonReview| {
        review.state == ReviewState::Approved
            && review.head.as_ref() == Some(&case.pr.head.sha)
            && review.by.id != case.pr.author.id
    };
    let counted = |reviews: &[&PersonReview]| u32::try_from(reviews.len()).unwrap_or(u32::MAX);
    let yes: Vec<&PersonReview> = standing.iter().filter(says_yes).copied().collect();
    let (known, unread): (Vec<&PersonReview>, Vec<&PersonReview>) =
        yes.into_iter().partition(|review| review.can_write.get().is_ok());
    let approves: Vec<&PersonReview> =
        known.into_iter().filter(|review| review.can_write.get().is_ok_and(|can| *can)).collect();
    let have = counted(&approves);
    if have >= need {
        return None;
    }
    let approved: Vec<Shown> =
        approves.iter().map(|review| shown("approved by", review.by.login.as_str(), review.at)).collect();
    // Whose right was not read may be one of those that are needed: that is no known lack.
    let reason = if have.saturating_add(counted(&unread)) >= need {
        WaitFor::Incomplete(vec![Missing::Reviews])
    } else {
        WaitFor::Approvals { have, need }
    };
    Some(Halt::wait(reason, None).with(approved))
}

/// The newest word of each person: comments say nothing, and what is not submitted is not said.
fn standing(reviews: &[PersonReview]) -> Vec<&PersonReview> {
    let mut newest: std::collections::BTreeMap<u64, &PersonReview> = Default::default();
    let says = |state: ReviewState| match state {
        ReviewState::Pending | ReviewState::Commented => false,
        ReviewState::Approved | ReviewState::ChangesRequested | ReviewState::Dismissed => true,
    };
    // Of two at one time a request counts, then a dismissal, then an approval.
    let age = |review: &PersonReview| {
        let weight = match review.state {
            ReviewState::ChangesRequested => 2,
            ReviewState::Dismissed => 1,
            ReviewState::Approved | ReviewState::Pending | ReviewState::Commented => 0,
        };
        (review.at, review.id, weight)
    };
    for review in reviews.iter().filter(|review| says(review.state) && !review.by.is_bot) {
        let kept = newest.entry(review.by.id).or_insert(review);
        if age(review) > age(kept) {
            *kept = review;
        }
    }
    newest.into_values().collect()
}

pub(super) fn seat(case: &Case<'_>) -> Option<Halt> {
    if !case.policy.require_seat_accepted {
        return None;
    }
    let gap = match case.pr.seat.get() {
        Err(_) => return Some(Halt::wait(WaitFor::Incomplete(vec![Missing::SeatReview]), None)),
        Ok(None) => SeatGap::None,
        Ok(Some(review)) if review.head != case.pr.head.sha => SeatGap::OtherHead,
        Ok(Some(review)) if review.stale => SeatGap::Stale,
        Ok(Some(review)) if review.verdict != Verdict::Accepted => SeatGap::NotAccepted,
        Ok(Some(_)) => return None,
    };
    let at = Some(case.pr.read_at);
    let review = case.pr.seat.get().ok().and_then(Option::as_ref).map(|review| {
        shown("review of the seat", format!("{} at {}", review.verdict.as_str(), review.head.short()), at)
    });
    Some(Halt::wait(WaitFor::Seat(gap), None).with(review))
}
