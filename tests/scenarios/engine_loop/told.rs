//! Whom the person hears of, and when not any more.

use chrono::Duration;
use steward_core::store::inbox::Kind;
use steward_core::store::notices;
use steward_rules::engine::retry::Attempts;

use super::*;

#[tokio::test]
async fn a23_three_failures_are_stuck_with_their_evidence_told_once_and_never_closed() {
    let den = Den::new(ACT, CHECKS).await;
    let pull = den.intake(101, "b");
    den.app().check(&pull.head(), "check").runs();
    den.tick().await;
    let number = pull.number();
    den.change_item(number, |item| {
        item.attempts = Attempts { spent: 3, ..Attempts::default() };
        item.evidence = Some("step one\nerror: b has no author".to_owned());
    })
    .await;
    den.tick().await;
    let stuck = den.entries(Kind::Stuck).await;
    assert_eq!(stuck.len(), 1, "{stuck:?}");
    assert!(stuck[0].title.contains("error: b has no author") && stuck[0].title.contains("3 attempts"));
    let target = stuck[0].target.clone();
    assert_eq!(target, format!("repository/{REPO}?item=pr-{number}"));
    den.tick().await;
    assert_eq!(den.read(move |tx| notices::count_for(tx, &target)).await, 1);
    assert!(pull.is_open());
    pull.close("maria");
    den.tick().await;
    assert_eq!(den.entries(Kind::Stuck).await, []);
}

#[tokio::test]
async fn a12_a_required_name_that_never_appears_is_told_of_after_six_hours() {
    let den = Den::new("mode: observe", "requiredChecks: [chekc, verify], skippable: []").await;
    let pull = den.intake(101, "b");
    den.well(&pull);
    den.tick().await;
    assert_eq!(den.entries(Kind::Stuck).await, []);
    den.desk.pass(Duration::hours(7));
    den.app().check(&pull.head(), "lint").succeeds();
    den.tick().await;
    let told = den.entries(Kind::Stuck).await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].title.contains("chekc"), "{}", told[0].title);
    assert_eq!(den.decided(pull.number()).await.0, "wait");
    // The name is mended.
    den.config("mode: observe", CHECKS).await;
    den.judge().await;
    assert_eq!(den.entries(Kind::Stuck).await, []);
}

#[tokio::test]
async fn a_memory_that_cannot_be_read_stops_its_item_alone_and_is_said() {
    let den = Den::new(ACT, CHECKS).await;
    let (broken, fine) = (den.intake(101, "b"), den.intake(102, "c"));
    den.app().check(&broken.head(), "check").fails();
    den.well(&fine);
    den.tick().await;
    let sql = format!("UPDATE engine_items SET attempts = '' WHERE number = {}", broken.number());
    crate::store::beside(&den.desk.home).execute(&sql, []).unwrap();
    den.later(Duration::seconds(121)).await;
    den.tick().await;
    let stuck = den.entries(Kind::Stuck).await;
    assert_eq!(stuck.len(), 1, "{stuck:?}");
    assert!(stuck[0].title.contains(&format!("#{}", broken.number())));
    assert!(den.effects(EffectClass::RerunCheck).await.is_empty());
    assert_eq!(den.decided(fine.number()).await.0, "merge");
}
