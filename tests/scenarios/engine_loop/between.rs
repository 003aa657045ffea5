//! What happens between the two readings of a merge: the second one is what counts.

use chrono::Duration;
use steward_core::loops::pause;
use steward_core::store::effects::State;
use steward_rules::power::EffectClass;

use super::refused::MERGE;
use super::*;

const PULL: &str = "GET /repos/{owner}/{repo}/pulls/{pull_number}";

/// A den in which a merge is wanted, and nothing of it was sent.
async fn wanted() -> (Den, u64) {
    let den = Den::new(ACT, CHECKS).await;
    let pull = den.intake(101, "b");
    den.well(&pull);
    let number = pull.number();
    den.tick().await;
    den.later(Duration::seconds(121)).await;
    assert_eq!(den.effects(EffectClass::Merge).await.len(), 1);
    (den, number)
}

impl Den {
    /// Sends what is wanted, and lets this happen after the first reading of the merge and before the second.
    async fn sends_while(&self, happens: impl AsyncFnOnce()) {
        // Its look, the first reading, the second.
        let gate = self.desk.world.when(PULL).after(2).holds();
        let meanwhile = async {
            gate.reached().await;
            happens().await;
            gate.opens();
        };
        tokio::join!(self.send(), meanwhile);
    }

    async fn merge_stands(&self) -> (State, Option<String>) {
        let row = self.effects(EffectClass::Merge).await.remove(0);
        (row.state, row.why)
    }
}

#[tokio::test]
async fn a_label_that_forbids_it_between_the_two_readings_merges_nothing() {
    for (label, by, decision) in [("hold", "carol", "list_only"), ("ai-flagged", BOT, "wait")] {
        let (den, number) = wanted().await;
        let pull = den.app().pull(number);
        den.sends_while(async || pull.label_by(by, label)).await;
        assert_eq!(den.merge_stands().await, (State::Obsolete, Some("not_ready".to_owned())), "{label}");
        den.at_once().await;
        den.tick().await;
        den.send().await;
        assert_eq!(den.decided(number).await.0, decision, "{label}: {:?}", den.decided(number).await);
        assert_eq!((den.asked(MERGE), pull.is_merged()), (0, false), "{label}");
        // It is taken off again.
        pull.unlabel_by(by, label);
        den.tick().await;
        den.send().await;
        assert!(pull.is_merged(), "{label}: {:?}", den.decided(number).await);
    }
}

#[tokio::test]
async fn a13_a_script_pushed_between_the_two_readings_makes_it_code() {
    let (den, number) = wanted().await;
    let script = [("tools/x.sh", "rm -rf /\n")];
    den.sends_while(async || drop(den.app().push("intake/issue-101", "feat: tool", &script))).await;
    assert_eq!(den.merge_stands().await, (State::Obsolete, Some("not_ready".to_owned())));
    den.at_once().await;
    den.tick().await;
    den.later(Duration::seconds(121)).await;
    den.send().await;
    assert_eq!(den.item(number).await.class, "code");
    assert_eq!((den.asked(MERGE), den.app().pull(number).is_merged()), (0, false));
}

#[tokio::test]
async fn a_pause_in_the_middle_of_a_merge_holds_it_and_it_goes_on_afterwards() {
    let (den, number) = wanted().await;
    den.sends_while(async || drop(pause::pause(&den.desk.ctx, "dinner").await.unwrap())).await;
    assert_eq!(den.merge_stands().await, (State::Wanted, Some("paused".to_owned())));
    den.tick().await;
    den.send().await;
    assert_eq!(den.writes(), Vec::<String>::new());
    assert!(pause::resume(&den.desk.ctx).await.unwrap());
    den.send().await;
    assert!(den.app().pull(number).is_merged());
    assert_eq!(den.asked(MERGE), 1);
}

#[tokio::test]
async fn the_engine_switched_off_in_the_middle_of_a_merge_holds_it_and_everything_else_it_wanted() {
    let (den, number) = wanted().await;
    let red = den.intake(102, "c");
    den.app().check(&red.head(), "check").fails();
    den.tick().await;
    den.later(Duration::seconds(121)).await;
    assert_eq!(den.effects(EffectClass::RerunCheck).await.len(), 1);
    let off = den.text(ACT, CHECKS).replace("enabled: true", "enabled: false");
    den.sends_while(async || {
        std::fs::write(den.desk.home.config_file(), &off).unwrap();
        assert_eq!(den.desk.ctx.config.reread().problems, []);
    })
    .await;
    assert_eq!(den.merge_stands().await, (State::Wanted, Some("off".to_owned())));
    den.tick().await;
    den.send().await;
    assert_eq!(den.writes(), Vec::<String>::new());
    assert_eq!(den.effects(EffectClass::RerunCheck).await[0].why.as_deref(), Some("off"));
    // On again, what was left to do is judged again, and done.
    den.config(ACT, CHECKS).await;
    den.tick().await;
    den.send().await;
    assert!(den.app().pull(number).is_merged(), "{:?}", den.effects(EffectClass::Merge).await);
    assert_eq!(den.effects(EffectClass::RerunCheck).await[0].state, State::Done);
}

#[tokio::test]
async fn a_power_taken_away_in_the_middle_of_a_merge_stops_it() {
    let (den, number) = wanted().await;
    den.sends_while(async || {
        std::fs::write(den.desk.home.config_file(), den.text("mode: observe", CHECKS)).unwrap();
        assert_eq!(den.desk.ctx.config.reread().problems, []);
    })
    .await;
    assert_eq!(den.merge_stands().await, (State::Obsolete, Some("observed".to_owned())));
    den.tick().await;
    den.send().await;
    assert_eq!((den.writes(), den.app().pull(number).is_merged()), (Vec::new(), false));
}
