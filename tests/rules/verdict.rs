//! The clamp, the published verdict, and when a review goes stale.

use chrono::Duration;
use rstest::rstest;
use steward_rules::ids::{ReviewId, Sha};
use steward_rules::reading::{Cause, Reading};
use steward_rules::review::lifecycle::ReviewState;
use steward_rules::review::verdict::{
    StaleFacts, StaleReason, Verdict, clamp, finish, newer_published, stale,
};

use crate::world::*;
use Verdict::{Accepted, Blocked, Changes};

#[rstest]
#[case(Accepted, Accepted, Accepted, false)]
#[case(Accepted, Changes, Changes, true)]
#[case(Accepted, Blocked, Blocked, true)]
#[case::c4(Changes, Accepted, Changes, false)]
#[case(Changes, Changes, Changes, false)]
#[case(Changes, Blocked, Blocked, true)]
#[case::c3(Blocked, Accepted, Blocked, false)]
#[case(Blocked, Changes, Blocked, false)]
#[case(Blocked, Blocked, Blocked, false)]
fn the_seat_can_lower_but_never_raise(
    #[case] seat: Verdict,
    #[case] cap: Verdict,
    #[case] verdict: Verdict,
    #[case] lowered: bool,
) {
    let end = finish(seat, cap);
    assert_eq!((end.seat, end.cap, end.verdict, end.lowered), (seat, cap, verdict, lowered));
    assert_eq!(clamp(seat, cap), verdict);
    assert!(verdict <= seat && verdict <= cap);
}

#[test]
fn verdicts_are_ordered_and_written_as_the_words_of_the_spec() {
    assert!(Blocked < Changes && Changes < Accepted);
    for verdict in [Blocked, Changes, Accepted] {
        assert_eq!(Verdict::parse(verdict.as_str()), Some(verdict));
        assert_eq!(serde_json::to_value(verdict).unwrap(), verdict.as_str());
    }
    assert_eq!(Verdict::parse("accepted"), None);
}

fn fresh<'a>(reviewed: &'a Sha, head: &'a Reading<Option<Sha>>) -> StaleFacts<'a> {
    StaleFacts {
        already: None,
        reviewed,
        head,
        reviewed_contract: Some(2),
        contract: Some(2),
        newer: None,
        held_since: None,
    }
}

#[test]
fn a_review_of_the_head_is_fresh() {
    assert_eq!(stale(&fresh(&head(), &Reading::known(Some(head()))), now()), None);
}

#[test]
fn c7_a_moved_head_or_a_branch_that_is_gone_makes_it_stale() {
    for other in [Some(sha(9)), None] {
        assert_eq!(stale(&fresh(&head(), &Reading::known(other)), now()), Some(StaleReason::HeadMoved));
    }
}

#[test]
fn an_unread_head_moves_nothing() {
    assert_eq!(stale(&fresh(&head(), &Reading::unread(Cause::GitFailed, "")), now()), None);
}

#[rstest]
#[case::c8_newer(Some(2), Some(3), Some(StaleReason::NewerContract))]
#[case::first_one(None, Some(1), Some(StaleReason::NewerContract))]
#[case::same(Some(2), Some(2), None)]
#[case::none(None, None, None)]
#[case::unread_as_none(Some(2), None, None)]
fn a_newer_contract_makes_it_stale(
    #[case] reviewed: Option<u32>,
    #[case] contract: Option<u32>,
    #[case] expected: Option<StaleReason>,
) {
    let (sha, head) = (head(), Reading::known(Some(head())));
    let facts = StaleFacts { reviewed_contract: reviewed, contract, ..fresh(&sha, &head) };
    assert_eq!(stale(&facts, now()), expected);
}

#[test]
fn a_newer_published_review_makes_it_stale_and_a_crashed_one_does_not() {
    let of =
        |state| newer_published(ReviewId(7), &[(ReviewId(6), ReviewState::Published), (ReviewId(8), state)]);
    for state in ReviewState::ALL {
        let expected = (state == ReviewState::Published).then_some(ReviewId(8));
        assert_eq!(of(state), expected, "{state:?}");
    }
    assert_eq!(newer_published(ReviewId(7), &[(ReviewId(7), ReviewState::Published)]), None, "itself");
    let (sha, head) = (head(), Reading::known(Some(head())));
    let facts = StaleFacts { newer: Some(ReviewId(8)), ..fresh(&sha, &head) };
    assert_eq!(stale(&facts, now()), Some(StaleReason::NewerReview));
}

#[rstest]
#[case(Duration::hours(24), None)]
#[case(Duration::hours(24) + Duration::seconds(1), Some(StaleReason::HoldExpired))]
#[case(Duration::hours(-3), None)]
fn a_hold_older_than_a_day_expires(#[case] age: Duration, #[case] expected: Option<StaleReason>) {
    let (sha, head) = (head(), Reading::known(Some(head())));
    let facts = StaleFacts { held_since: Some(now() - age), ..fresh(&sha, &head) };
    assert_eq!(stale(&facts, now()), expected);
}

#[test]
fn stale_is_set_once_and_a_force_push_back_does_not_clear_it() {
    let (sha, head) = (head(), Reading::known(Some(head())));
    for reason in [
        StaleReason::HeadMoved,
        StaleReason::NewerContract,
        StaleReason::NewerReview,
        StaleReason::HoldExpired,
    ] {
        let facts = StaleFacts { already: Some(reason), contract: Some(9), ..fresh(&sha, &head) };
        assert_eq!(stale(&facts, now()), Some(reason));
        assert_eq!(serde_json::to_value(reason).unwrap(), reason.as_str());
    }
}
