//! Merges that GitHub refuses: nothing is spent, nothing is asked again at once, and a person hears of it in time.

use chrono::Duration;
use steward_core::store::effects::State;
use steward_core::store::inbox::Kind;
use steward_github_double::Fault;
use steward_rules::power::EffectClass;

use super::*;

pub(super) const MERGE: &str = "PUT /repos/{owner}/{repo}/pulls/{pull_number}/merge";
const RERUN: &str = "POST /repos/{owner}/{repo}/actions/runs/{run_id}/rerun-failed-jobs";

impl Den {
    /// How often GitHub was asked for it.
    pub(super) fn asked(&self, operation: &str) -> usize {
        self.desk.world.exchanges().iter().filter(|one| one.operation == operation).count()
    }

    /// Everything that an ended effect makes due at once.
    pub(super) async fn at_once(&self) {
        for _ in 0..4 {
            self.judge().await;
            self.send().await;
        }
    }
}

#[tokio::test]
async fn a8_a_409_and_a_405_wait_for_the_next_tick_and_spend_nothing() {
    let den = Den::new(ACT, CHECKS).await;
    let pull = den.intake(101, "b");
    den.well(&pull);
    den.tick().await;
    den.desk.pass(Duration::seconds(121));
    for (status, calls) in [(409, 1), (405, 2), (404, 3)] {
        den.desk.world.when(MERGE).answers(Fault::Status(status));
        den.tick().await;
        den.send().await;
        // The end of the effect makes a tick due; that one asks for nothing.
        den.at_once().await;
        assert_eq!(den.asked(MERGE), calls, "{status}: {:?}", den.effects(EffectClass::Merge).await);
        assert!(!pull.is_merged());
        let item = den.item(pull.number()).await;
        assert_eq!((item.attempts.spent, item.unprocessable, item.stuck), (0, 0, false), "{status}");
        let merges = den.effects(EffectClass::Merge).await;
        assert_eq!((merges.len(), merges[0].state), (1, State::Obsolete), "{status}: {merges:?}");
        assert_eq!((den.entries(Kind::Stuck).await, den.entries(Kind::Suggestion).await), (vec![], vec![]));
    }
    den.tick().await;
    den.send().await;
    assert!(pull.is_merged(), "{:?}", den.effects(EffectClass::Merge).await);
    assert_eq!(den.asked(MERGE), 4);
    assert_eq!(den.effects(EffectClass::Merge).await[0].state, State::Done);
}

#[tokio::test]
async fn three_422_in_a_row_list_it_with_what_github_said_and_not_before_three() {
    let den = Den::new(ACT, CHECKS).await;
    let pull = den.intake(101, "b");
    den.well(&pull);
    den.tick().await;
    den.desk.pass(Duration::seconds(121));
    den.desk.world.when(MERGE).times(3).answers(Fault::Status(422));
    for times in 1..=3 {
        den.tick().await;
        den.send().await;
        den.at_once().await;
        assert_eq!(den.asked(MERGE), times, "{:?}", den.effects(EffectClass::Merge).await);
        let told = den.entries(Kind::Stuck).await;
        assert_eq!(told.len(), usize::from(times == 3), "{times}: {told:?}");
    }
    let said = den.effects(EffectClass::Merge).await[0].detail.clone().unwrap();
    let told = den.entries(Kind::Stuck).await.remove(0).title;
    assert!(told.contains("3 merges in a row") && told.contains(&said), "{told} | {said}");
    assert_eq!(den.decided(pull.number()).await.0, "list_only");
    den.tick().await;
    den.send().await;
    assert_eq!((den.asked(MERGE), den.item(pull.number()).await.attempts.spent), (3, 0));
    // A person who wants it tried once more has it tried.
    let (id, number) = (den.id().await, pull.number() as i64);
    let ask = move |tx: &steward_core::store::WriteTx<'_>| {
        engine_items::ask_try(tx, id, ItemKind::Pr, number).map(drop)
    };
    den.desk.ctx.store.write(Durability::Full, ask).await.unwrap();
    den.judge().await;
    den.send().await;
    assert!(pull.is_merged(), "{:?}", den.decided(pull.number()).await);
    den.tick().await;
    assert_eq!(den.entries(Kind::Stuck).await, []);
}

#[tokio::test]
async fn refusals_that_are_not_in_a_row_list_nothing() {
    let den = Den::new(ACT, CHECKS).await;
    let pull = den.intake(101, "b");
    den.well(&pull);
    den.tick().await;
    den.desk.pass(Duration::seconds(121));
    for status in [422, 422, 409, 422, 422] {
        den.desk.world.when(MERGE).answers(Fault::Status(status));
        den.tick().await;
        den.send().await;
        den.at_once().await;
    }
    assert_eq!(den.entries(Kind::Stuck).await, []);
    den.tick().await;
    den.send().await;
    assert!(pull.is_merged(), "{:?}", den.decided(pull.number()).await);
}

#[tokio::test]
async fn a_rerun_that_github_does_not_make_now_is_not_asked_for_again_at_once() {
    let den = Den::new(ACT, CHECKS).await;
    let pull = den.intake(101, "b");
    den.app().check(&pull.head(), "check").fails();
    den.tick().await;
    den.desk.world.when(RERUN).answers(Fault::Status(409));
    den.later(Duration::seconds(121)).await;
    den.send().await;
    den.at_once().await;
    assert_eq!(den.asked(RERUN), 1, "{:?}", den.effects(EffectClass::RerunCheck).await);
    den.tick().await;
    den.send().await;
    assert_eq!(den.asked(RERUN), 2);
    assert_eq!(den.effects(EffectClass::RerunCheck).await[0].state, State::Done);
}
