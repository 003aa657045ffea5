//! What is red: one re-run, then a task; what is behind; what holds merges; what many share.

use chrono::Duration;
use steward_core::store::effects::State;
use steward_core::store::engine_tasks::What;
use steward_core::store::inbox::Kind;
use steward_rules::power::EffectClass;

use super::*;

const RERUN: &str = "POST /repos/{owner}/{repo}/actions/runs/{run_id}/rerun-failed-jobs";

#[tokio::test]
async fn a10_a_red_check_is_run_again_once_and_then_a_fix_is_queued_with_the_end_of_its_log() {
    let den = Den::new(ACT, &format!("{CHECKS}, {VALIDATE}")).await;
    let pull = den.intake(101, "b");
    let head = pull.head();
    den.app().check(&head, "check").printing("step one\nerror: b has no author\n").fails();
    den.tick().await;
    den.later(Duration::seconds(121)).await;
    assert_eq!(den.decided(pull.number()).await.0, "rerun");
    den.later(Duration::seconds(30)).await;
    den.send().await;
    let asked = den.effects(EffectClass::RerunCheck).await;
    assert_eq!((asked.len(), asked[0].state), (1, State::Done), "{asked:?}");
    assert_eq!(den.writes(), [RERUN]);
    assert!(den.tasks(pull.number()).await.is_empty());
    // Red again after it.
    den.desk.pass(Duration::seconds(20));
    den.app().check(&head, "check").printing("step one\nerror: b has no author\n").fails();
    den.tick().await;
    den.later(Duration::minutes(31)).await;
    let tasks = den.tasks(pull.number()).await;
    assert_eq!(tasks.len(), 1, "{:?}", den.decided(pull.number()).await);
    assert_eq!(tasks[0].what, What::Fix { checks: vec!["check".to_owned()], flag: false });
    assert_eq!(
        (tasks[0].branch.as_str(), tasks[0].lease.as_ref()),
        ("intake/issue-101", tasks[0].head.as_ref())
    );
    assert!(tasks[0].evidence[0].text.contains("error: b has no author"), "{:?}", tasks[0].evidence);
    den.tick().await;
    assert_eq!(den.tasks(pull.number()).await.len(), 1, "one at a time");
    assert_eq!(den.writes(), [RERUN]);
}

#[tokio::test]
async fn a9_a_red_check_behind_the_base_waits_for_the_sweep_and_is_not_run_again() {
    let den = Den::new(ACT, &format!("{CHECKS}, {VALIDATE}")).await;
    let pull = den.intake(101, "b");
    den.app().check(&pull.head(), "check").fails();
    den.tick().await;
    den.app().push("main", "docs: more", &[("README.md", "more\n")]);
    den.tick().await;
    let item = den.item(pull.number()).await;
    assert_eq!(item.decision, "wait", "{}", item.state);
    assert!(item.behind_since.is_some(), "the base moved, and nothing was read of it but a fetch");
    assert!(den.effects(EffectClass::RerunCheck).await.is_empty());
    den.tick().await;
    den.tick().await;
    den.tick().await;
    let tasks = den.tasks(pull.number()).await;
    assert_eq!(
        tasks.iter().map(|task| task.what.clone()).collect::<Vec<_>>(),
        [What::Rebase],
        "nobody swept"
    );
}

#[tokio::test]
async fn a6_a_verdict_without_a_result_is_asked_for_again_when_it_is_due() {
    let den = Den::new(ACT, CHECKS).await;
    let pull = den.intake(101, "b");
    let head = pull.head();
    den.app().check(&head, "check").succeeds();
    den.app().check(&head, "verify").workflow(VERIFY).fails();
    den.tick().await;
    assert!(den.effects(EffectClass::RetryVerdict).await.is_empty());
    den.later(Duration::minutes(10)).await;
    den.send().await;
    let asked = den.effects(EffectClass::RetryVerdict).await;
    assert_eq!(
        (asked.len(), asked[0].state),
        (1, State::Done),
        "{asked:?} {:?}",
        den.decided(pull.number()).await
    );
    den.app().check(&head, "verify").workflow(VERIFY).fails();
    den.tick().await;
    assert_eq!(den.effects(EffectClass::RetryVerdict).await.len(), 1, "the second is due later");
    den.later(Duration::minutes(31)).await;
    den.send().await;
    assert_eq!(den.effects(EffectClass::RetryVerdict).await.len(), 2);
}

#[tokio::test]
async fn a24_after_a_merge_a_fix_waits_and_nothing_merges_until_it_started_or_half_an_hour_passed() {
    let den = Den::new(ACT, &format!("{CHECKS}, {VALIDATE}")).await;
    let red = den.intake(101, "b");
    den.app().check(&red.head(), "check").fails();
    den.tick().await;
    den.later(Duration::seconds(121)).await;
    den.send().await;
    den.app().check(&red.head(), "check").runs();
    let ready = den.intake(102, "c");
    den.well(&ready);
    den.tick().await;
    // One tick in which one is ready, and the other needs a fix.
    den.app().check(&red.head(), "check").fails();
    den.tick().await;
    assert_eq!(den.decided(ready.number()).await.0, "merge");
    assert_eq!(den.effects(EffectClass::Merge).await.len(), 1);
    assert!(den.tasks(red.number()).await.is_empty(), "the fix waits");
    let id = den.id().await;
    let hold = den.read(move |tx| steward_core::store::engine::get(tx, id)).await.hold.unwrap();
    assert_eq!(hold.pull.0, red.number() as i64);
    // The merge itself is not held back; another that is ready meanwhile is.
    den.send().await;
    assert!(ready.is_merged(), "{:?}", den.effects(EffectClass::Merge).await);
    let next = den.intake(103, "d");
    den.well(&next);
    den.tick().await;
    den.later(Duration::seconds(121)).await;
    let (decision, why) = den.decided(next.number()).await;
    assert_eq!(decision, "wait", "{why}");
    assert!(
        den.effects(EffectClass::Merge).await.iter().all(|row| row.number == Some(ready.number() as i64))
    );
}

#[tokio::test]
async fn one_failure_of_three_is_one_incident_and_only_the_first_is_run_again() {
    let den = Den::new(ACT, CHECKS).await;
    let pulls: Vec<u64> = [(101, "b"), (102, "c"), (103, "d")]
        .into_iter()
        .map(|(issue, work)| {
            let pull = den.intake(issue, work);
            den.app().check(&pull.head(), "check").printing("error: the registry is down\n").fails();
            pull.number()
        })
        .collect();
    den.tick().await;
    den.later(Duration::seconds(121)).await;
    let asked: Vec<Option<i64>> =
        den.effects(EffectClass::RerunCheck).await.into_iter().map(|row| row.number).collect();
    assert_eq!(asked, [Some(pulls[0] as i64)]);
    let incidents = den.entries(Kind::Incident).await;
    assert_eq!(incidents.len(), 1, "{incidents:?}");
    for said in ["check", "the registry is down", &format!("#{}", pulls[2])] {
        assert!(incidents[0].title.contains(said), "{said}: {}", incidents[0].title);
    }
    // While the first is run again the others are held, and it stays one entry.
    den.send().await;
    den.tick().await;
    let first = den.app().pull(pulls[0]).head();
    den.app().check(&first, "check").runs();
    den.tick().await;
    assert_eq!(den.effects(EffectClass::RerunCheck).await.len(), 1);
    let still: Vec<_> = den.entries(Kind::Incident).await.into_iter().map(|entry| entry.id).collect();
    assert_eq!(still, [incidents[0].id]);
    // Once they are well nobody is wanted any more.
    for number in pulls {
        let head = den.app().pull(number).head();
        den.app().check(&head, "check").succeeds();
    }
    den.tick().await;
    assert_eq!(den.entries(Kind::Incident).await, []);
}

#[tokio::test]
async fn failures_whose_logs_cannot_be_read_are_no_one_incident() {
    let den = Den::new(ACT, CHECKS).await;
    for (issue, work) in [(101, "b"), (102, "c"), (103, "d")] {
        let head = den.intake(issue, work).head();
        den.app().check(&head, "check").printing("error: the registry is down\n").fails();
        for run in den.app().runs_at(&head) {
            den.app().run(run).forget_logs();
        }
    }
    den.tick().await;
    den.later(Duration::seconds(121)).await;
    assert_eq!(den.effects(EffectClass::RerunCheck).await.len(), 3);
    assert_eq!(den.entries(Kind::Incident).await, []);
}

#[tokio::test]
async fn a31_a_refused_rerun_is_a_fault_of_the_configuration_and_no_attempt() {
    let den = Den::new(ACT, CHECKS).await;
    let pull = den.intake(101, "b");
    den.app().check(&pull.head(), "check").fails();
    den.tick().await;
    den.desk.world.when(RERUN).always().answers(steward_github_double::Fault::Status(403));
    den.later(Duration::seconds(121)).await;
    den.send().await;
    den.tick().await;
    den.later(Duration::minutes(40)).await;
    den.send().await;
    let item = den.item(pull.number()).await;
    assert_eq!(item.attempts.spent, 0);
    assert_eq!(item.decision, "rerun");
    let asked = den.effects(EffectClass::RerunCheck).await;
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_ne!(asked[0].state, State::Done);
}

#[tokio::test]
async fn a_fix_of_a_flag_is_told_what_the_verdict_says_and_what_the_issue_asks_for() {
    let den = Den::new(ACT, &format!("{CHECKS}, {VALIDATE}")).await;
    let issue = den.app().open_issue("maria", "add b", "Please add b, by Ann.").label("data:add-work");
    let pull = den.intake(issue.number(), "b");
    let head = pull.head();
    den.app().check(&head, "check").succeeds();
    den.app().check(&head, "verify").workflow(VERIFY).succeeds();
    pull.label_by(BOT, "ai-flagged");
    pull.comment(BOT, "### AI verification: flagged\n\nAn older word.");
    pull.comment(BOT, "### AI verification: flagged\n\nThe author of b is Bob.");
    pull.comment("maria", "I do not think so.");
    den.tick().await;
    den.later(Duration::seconds(121)).await;
    let tasks = den.tasks(pull.number()).await;
    assert_eq!(tasks.len(), 1, "{:?}", den.decided(pull.number()).await);
    assert_eq!(tasks[0].what, What::Fix { checks: Vec::new(), flag: true });
    let told: Vec<&str> = tasks[0].evidence.iter().map(|piece| piece.text.as_str()).collect();
    let [named, said, asked] = told[..] else { panic!("{told:?}") };
    assert_eq!(named, "the whole change");
    assert!(said.contains("The author of b is Bob.") && !said.contains("older"), "{said}");
    assert!(asked.contains("add b") && asked.contains("by Ann"), "{asked}");
}
