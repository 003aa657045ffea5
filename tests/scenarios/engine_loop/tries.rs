//! A person's call for a try: it is taken once, at the end of the tick that fulfils it, and a fault in its way makes
//! nothing due; what stood in the way before it counts no more.

use chrono::{DateTime, Duration, Utc};
use serde_json::json;
use steward_core::store::effects::State;
use steward_github_double::Fault;
use steward_rules::power::EffectClass;

use super::asked::call;
use super::refused::MERGE;
use super::*;

const PULL: &str = "GET /repos/{owner}/{repo}/pulls/{pull_number}";
const RERUN: &str = "POST /repos/{owner}/{repo}/actions/runs/{run_id}/rerun-failed-jobs";

impl Den {
    pub(super) async fn try_now(&self, number: u64) {
        call(self, "item_try", json!({ "item": format!("{REPO}#{number}") })).await;
        self.desk.pass(Duration::seconds(1));
    }

    /// Judges what is due; when the next is.
    async fn due(&self) -> Option<DateTime<Utc>> {
        let next = engine::pass(&self.desk.ctx, &CancellationToken::new()).await.unwrap();
        self.desk.pass(Duration::seconds(1));
        next
    }
}

#[tokio::test]
async fn a_try_of_what_nothing_is_done_about_is_taken_and_makes_nothing_due() {
    let den = Den::new(ACT, CHECKS).await;
    let issue = den.app().open_issue("maria", "the build is slow", "@octo look").number();
    den.tick().await;
    assert_eq!(den.kept(ItemKind::Issue, issue).await.unwrap().decision, "list_only");
    den.try_now(issue).await;
    den.due().await;
    let next = den.due().await;
    assert_eq!(den.kept(ItemKind::Issue, issue).await.unwrap().try_at, None);
    assert!(next.is_none_or(|at| at > den.desk.now()), "{next:?}");
}

#[tokio::test]
async fn a_try_that_a_fault_stands_in_the_way_of_waits_for_the_next_look() {
    for status in [503, 404] {
        let den = Den::new(ACT, CHECKS).await;
        let pull = den.intake(101, "b");
        den.well(&pull);
        den.tick().await;
        den.try_now(pull.number()).await;
        den.desk.world.when(PULL).always().answers(Fault::Status(status));
        den.due().await;
        let asked = den.asked(PULL);
        for _ in 0..4 {
            let next = den.due().await;
            assert!(next.is_none_or(|at| at > den.desk.now()), "{status}: {next:?}");
        }
        assert_eq!(den.asked(PULL), asked, "{status}: GitHub is not asked at each turn");
        assert!(den.item(pull.number()).await.try_at.is_some(), "{status}: it is not forgotten");
        den.desk.world.calm();
        den.tick().await;
        assert!(den.asked(PULL) > asked && den.item(pull.number()).await.try_at.is_none(), "{status}");
    }
}

#[tokio::test]
async fn a_try_right_after_a_fault_asks_again() {
    let den = Den::new(ACT, CHECKS).await;
    let pull = den.intake(101, "b");
    den.app().check(&pull.head(), "check").fails();
    den.tick().await;
    den.desk.world.when(RERUN).answers(Fault::Status(403));
    den.later(Duration::seconds(121)).await;
    den.send().await;
    den.at_once().await;
    assert_eq!(den.asked(RERUN), 1);
    den.desk.pass(Duration::minutes(1));
    den.try_now(pull.number()).await;
    den.judge().await;
    den.send().await;
    let asked = den.effects(EffectClass::RerunCheck).await;
    assert_eq!((den.asked(RERUN), asked[0].state), (2, State::Done), "{asked:?}");
    assert_eq!(den.item(pull.number()).await.try_at, None);
}

#[tokio::test]
async fn a_try_of_what_the_person_turned_down_suggests_it_again() {
    let den = Den::new("mode: suggest", CHECKS).await;
    let pull = den.intake(101, "b");
    den.well(&pull);
    den.tick().await;
    den.later(Duration::seconds(121)).await;
    let id = den.effects(EffectClass::Merge).await[0].id;
    call(&den, "effect_dismiss", json!({ "id": id })).await;
    den.desk.pass(Duration::hours(1));
    den.tick().await;
    let state = async || den.effects(EffectClass::Merge).await[0].state;
    assert_eq!(state().await, State::Dismissed, "by itself it is not");
    den.try_now(pull.number()).await;
    den.judge().await;
    assert_eq!(state().await, State::Suggested);
    assert_eq!(den.asked(MERGE), 0);
}
