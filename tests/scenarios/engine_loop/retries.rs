//! The verdict job through the loop: what is skipped gives none, and what gave none is asked again by its schedule.

use chrono::Duration;
use steward_core::loops::observer::standing;
use steward_core::store::effects::State;
use steward_core::store::inbox::Kind;
use steward_rules::deed::Deed;
use steward_rules::power::EffectClass;

use super::*;

impl Den {
    /// A look at once, and the tick that follows.
    async fn look(&self) {
        let ask = |tx: &steward_core::store::WriteTx<'_>| standing::ask(tx).map(drop);
        self.desk.ctx.store.write(Durability::Normal, ask).await.unwrap();
        self.desk.turn().await;
        self.judge().await;
    }
}

#[tokio::test]
async fn a5_a_skipped_run_on_a_head_whose_real_run_failed_asks_the_real_one_again_and_merges_nothing() {
    let den = Den::new(ACT, CHECKS).await;
    let pull = den.intake(101, "b");
    let (number, head) = (pull.number(), pull.head());
    den.app().check(&head, "check").succeeds();
    den.app().check(&head, "verify").workflow(VERIFY).fails();
    pull.label_by(BOT, "ai-verified");
    let failed = *den.app().runs_at(&head).last().unwrap();
    den.desk.pass(Duration::seconds(5));
    den.app().check(&head, "verify").workflow(VERIFY).on("pull_request_target").concludes("skipped");
    den.tick().await;
    den.later(Duration::minutes(11)).await;
    let (decision, why) = den.decided(number).await;
    assert_eq!(decision, "retry_verify", "{why}");
    den.send().await;
    let asked = den.effects(EffectClass::RetryVerdict).await;
    assert_eq!((asked.len(), asked[0].state), (1, State::Done), "{asked:?}");
    assert!(
        matches!(asked[0].deed, Some(Deed::RetryVerdict { run, n: 1, .. }) if run == failed),
        "{asked:?}"
    );
    assert!(den.effects(EffectClass::Merge).await.is_empty() && !pull.is_merged());
    // The real one gives its verdict; the skipped one says nothing.
    den.desk.pass(Duration::seconds(5));
    den.app().check(&head, "verify").workflow(VERIFY).succeeds();
    den.tick().await;
    den.later(Duration::minutes(31)).await;
    den.send().await;
    assert!(pull.is_merged(), "{:?}", den.decided(number).await);
}

#[tokio::test]
async fn a6_no_verdict_is_asked_again_after_10_30_60_and_60_minutes_then_listed_and_asked_daily() {
    let den = Den::new(ACT, CHECKS).await;
    let pull = den.intake(101, "b");
    let (number, head) = (pull.number(), pull.head());
    den.app().check(&head, "check").succeeds();
    let fails = || den.app().check(&head, "verify").workflow(VERIFY).fails();
    fails();
    den.look().await;
    let asked = async || den.effects(EffectClass::RetryVerdict).await;
    for (before, minutes) in [10, 30, 60, 60].into_iter().enumerate() {
        den.later(Duration::minutes(minutes) - Duration::seconds(40)).await;
        den.send().await;
        let (decision, why) = den.decided(number).await;
        assert_eq!((asked().await.len(), decision.as_str()), (before, "wait"), "{minutes}: {why}");
        den.later(Duration::seconds(60)).await;
        den.send().await;
        let rows = asked().await;
        assert_eq!(rows.len(), before + 1, "{minutes}: {:?}", den.decided(number).await);
        let n = before as u32 + 1;
        assert!(matches!(rows[before].deed, Some(Deed::RetryVerdict { n: its, .. }) if its == n), "{rows:?}");
        assert_eq!(rows[before].state, State::Done);
        assert_eq!(den.entries(Kind::Stuck).await, []);
        fails();
        den.look().await;
    }
    assert_eq!(den.decided(number).await.0, "list_only");
    let told = den.entries(Kind::Stuck).await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].title.contains("no verdict after 4 tries"), "{told:?}");
    den.later(Duration::hours(23)).await;
    den.send().await;
    assert_eq!(asked().await.len(), 4);
    den.later(Duration::hours(1) + Duration::minutes(1)).await;
    den.send().await;
    assert_eq!(asked().await.len(), 5, "{:?}", den.decided(number).await);
    assert!(pull.is_open() && !pull.is_merged());
    assert_eq!(den.item(number).await.attempts.spent, 0);
}
