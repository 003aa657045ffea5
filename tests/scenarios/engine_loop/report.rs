//! The report issue (engine.md 16): replaced when what it says changed, never triaged, and no more than the mode
//! allows.

use chrono::Duration;
use serde_json::json;
use steward_core::store::effects::State;
use steward_core::store::inbox::Kind;

use super::*;

const REPLACE: &str = "PATCH /repos/{owner}/{repo}/issues/{issue_number}";

/// A den with a report issue, which would be in scope by its label.
async fn den(power: &str) -> (Den, u64) {
    let den = Den::new("mode: observe", &format!("{CHECKS}, {VALIDATE}")).await;
    let number = den.app().open_issue("octo", "What Steward follows", "nothing yet").label("data").number();
    den.config(power, &format!("{CHECKS}, {VALIDATE}, report: '{REPO}#{number}'")).await;
    (den, number)
}

async fn round(den: &Den) {
    den.tick().await;
    den.send().await;
}

#[tokio::test]
async fn the_report_is_replaced_only_when_what_it_says_changed_and_is_no_issue_to_triage() {
    let (den, number) = den(ACT).await;
    let report = den.app().pull(number);
    round(&den).await;
    assert_eq!(den.writes(), [REPLACE], "{:?}", den.effects(EffectClass::Report).await);
    assert!(
        report.title_and_body().1.starts_with("<!-- steward:report -->"),
        "{:?}",
        report.title_and_body()
    );
    let about = format!("#{number} ");
    assert!(!report.title_and_body().1.contains(&about), "it does not speak of itself");
    for _ in 0..5 {
        round(&den).await;
    }
    assert_eq!(den.writes().len(), 1, "time alone changes nothing");

    let issue = den.app().open_issue("maria", "add b", "please").label("data:add-work").number();
    let pull = den.intake(101, "c");
    den.app().check(&pull.head(), "check").runs();
    round(&den).await;
    let body = report.title_and_body().1;
    let said = [format!("#{issue} issue: "), format!("#{} data: ", pull.number())];
    assert!(said.iter().all(|one| body.contains(one)), "{body}");
    assert_eq!(den.writes(), [REPLACE, REPLACE]);
    den.later(Duration::minutes(50)).await;
    round(&den).await;
    let writes = den.writes().len();
    for _ in 0..4 {
        round(&den).await;
    }
    assert_eq!(den.writes().len(), writes, "{:?}", report.title_and_body());
    let item = den.kept(ItemKind::Issue, number).await.unwrap();
    assert_eq!(item.decision, "skip");
    let id = den.id().await;
    let tasks =
        den.read(move |tx| engine_tasks::of_item(tx, id, engine_tasks::ItemKind::Issue, number as i64));
    assert!(tasks.await.is_empty());
    den.desk.world.assert_contract();
}

#[tokio::test]
async fn observed_there_is_no_report_and_suggested_it_is_an_entry_that_does_exactly_what_it_shows() {
    let (den, number) = den("mode: observe").await;
    for _ in 0..3 {
        round(&den).await;
    }
    assert_eq!((den.writes(), den.effects(EffectClass::Report).await.len()), (Vec::new(), 0));

    let policy = format!("{CHECKS}, {VALIDATE}, report: '{REPO}#{number}'");
    den.config("mode: suggest", &policy).await;
    for _ in 0..3 {
        round(&den).await;
    }
    let reports = den.effects(EffectClass::Report).await;
    assert_eq!((reports.len(), reports[0].state), (1, State::Suggested));
    assert_eq!(den.entries(Kind::Suggestion).await.len(), 1);
    // Another state of things takes its place, and is one entry still.
    let pull = den.intake(101, "c");
    den.app().check(&pull.head(), "check").runs();
    round(&den).await;
    assert_eq!((den.entries(Kind::Suggestion).await.len(), den.writes()), (1, Vec::new()));
    let open = den.effects(EffectClass::Report).await.into_iter().find(|row| row.state == State::Suggested);
    let open = open.unwrap();
    assert!(open.content.contains(&format!("#{} data: ", pull.number())), "{}", open.content);
    let request = json!({ "id": open.id, "hash": open.hash() });
    super::asked::call(&den, "effect_send", request).await;
    den.send().await;
    assert_eq!(den.writes(), [REPLACE]);
    assert_eq!(den.app().pull(number).title_and_body().1.trim(), open.content.trim());
    den.desk.world.assert_contract();
}
