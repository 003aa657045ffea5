//! A head without a verdict: what is asked for again, what is only listed, and what wants a person.

use chrono::Duration;
use steward_core::store::effects::State;
use steward_core::store::inbox::Kind;
use steward_github_double::Fault;

use super::*;

const RERUN: &str = "POST /repos/{owner}/{repo}/actions/runs/{run_id}/rerun-failed-jobs";

#[tokio::test]
async fn a_head_without_any_run_of_the_verdict_job_is_listed_and_read_no_more_often_for_it() {
    let den = Den::new(ACT, CHECKS).await;
    let pull = den.intake(101, "b");
    den.app().check(&pull.head(), "check").succeeds();
    den.tick().await;
    den.desk.pass(Duration::hours(31));
    den.tick().await;
    let (decision, why) = den.decided(pull.number()).await;
    assert_eq!(decision, "list_only", "{why}");
    let told = den.entries(Kind::Stuck).await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].title.contains("no run of the verdict job"), "{}", told[0].title);
    let files = || {
        let all = den.desk.world.exchanges();
        all.iter()
            .filter(|one| one.operation == "GET /repos/{owner}/{repo}/pulls/{pull_number}/files")
            .count()
    };
    let before = files();
    den.tick().await;
    den.tick().await;
    assert_eq!(files(), before, "it is not read whole at each tick");
    assert!(den.effects(EffectClass::RetryVerdict).await.is_empty());
    assert_eq!(den.writes(), [""; 0]);
    assert!(pull.is_open());
    // Its first run, and nobody is wanted any more.
    den.well(&pull);
    den.tick().await;
    assert_eq!(den.decided(pull.number()).await.0, "merge");
    assert_eq!(den.entries(Kind::Stuck).await, []);
}

#[tokio::test]
async fn a_verdict_run_that_github_does_not_run_again_is_listed_and_asked_for_once() {
    let den = Den::new(ACT, CHECKS).await;
    let pull = den.intake(101, "b");
    den.app().check(&pull.head(), "check").succeeds();
    den.app().check(&pull.head(), "verify").workflow(VERIFY).fails();
    den.tick().await;
    den.desk.world.when(RERUN).always().answers(Fault::Status(404));
    den.later(Duration::minutes(10)).await;
    den.send().await;
    let asked = den.effects(EffectClass::RetryVerdict).await;
    assert_eq!(
        (asked.len(), asked[0].state, asked[0].why.as_deref()),
        (1, State::Failed, Some("cannot_rerun"))
    );
    den.later(Duration::minutes(61)).await;
    den.send().await;
    let (decision, why) = den.decided(pull.number()).await;
    assert_eq!(decision, "list_only", "{why}");
    assert!(den.entries(Kind::Stuck).await[0].title.contains("could be run again"));
    assert_eq!(den.effects(EffectClass::RetryVerdict).await.len(), 1);
    // A new run of it, by whoever pushed or asked.
    den.well(&pull);
    den.tick().await;
    assert_eq!(den.decided(pull.number()).await.0, "merge");
}
