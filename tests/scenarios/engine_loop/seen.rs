//! What GitHub shows nothing of is seen all the same.

use chrono::Duration;
use steward_rules::review::verdict::Verdict;

use super::*;
use crate::engine_reading::seat::reviewed_in;

#[tokio::test]
async fn a_review_that_the_seat_published_lets_the_next_tick_merge() {
    let den = Den::new(ACT, &format!("{CHECKS}, requireSeatAccepted: true")).await;
    let pull = den.intake(101, "b");
    den.well(&pull);
    den.tick().await;
    den.later(Duration::seconds(121)).await;
    let (decision, why) = den.decided(pull.number()).await;
    assert_eq!(decision, "wait", "{why}");
    let head = pull.head();
    reviewed_in(&den.desk, REPO, pull.number(), &head, Some(Verdict::Changes)).await;
    den.tick().await;
    assert_eq!(den.decided(pull.number()).await.0, "wait");
    reviewed_in(&den.desk, REPO, pull.number(), &head, Some(Verdict::Accepted)).await;
    den.tick().await;
    let (decision, why) = den.decided(pull.number()).await;
    assert_eq!(decision, "merge", "{why}");
    den.send().await;
    assert!(pull.is_merged());
}

#[tokio::test]
async fn a_check_that_recovers_beside_an_ignored_red_one_is_seen_within_half_an_hour() {
    let den = Den::new(ACT, &format!("{CHECKS}, ignoredChecks: [lint]")).await;
    let pull = den.intake(101, "b");
    den.well(&pull);
    let head = pull.head();
    den.app().check(&head, "lint").fails();
    den.app().check(&head, "extra").fails();
    den.tick().await;
    den.later(Duration::seconds(121)).await;
    let (decision, why) = den.decided(pull.number()).await;
    assert_eq!((decision.as_str(), why.contains("extra")), ("wait", true), "{why}");
    den.app().check(&head, "extra").succeeds();
    for _ in 0..3 {
        den.tick().await;
    }
    let (decision, why) = den.decided(pull.number()).await;
    assert_eq!(decision, "merge", "{why}");
}
