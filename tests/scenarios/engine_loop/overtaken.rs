//! What was decided before something else happened: the end of a task, a close, another head, our own push.

use chrono::Duration;
use steward_core::store::effects::State;
use steward_core::store::engine_tasks::{Ended, NewTask, TaskResult, What};
use steward_core::store::inbox::Kind;
use steward_rules::engine::retry::TaskEnd;
use steward_rules::ids::Sha;
use steward_rules::power::EffectClass;

use super::*;

#[tokio::test]
async fn the_end_of_a_task_that_is_seen_with_news_of_its_pull_request_rests_all_the_same() {
    let den = Den::new(ACT, &format!("{CHECKS}, {VALIDATE}")).await;
    let pull = den.intake(101, "b");
    let (number, head) = (pull.number(), pull.head());
    den.app().check(&head, "check").printing("error: b has no author\n").fails();
    den.tick().await;
    den.later(Duration::seconds(121)).await;
    den.send().await;
    den.desk.pass(Duration::seconds(20));
    den.app().check(&head, "check").printing("error: b has no author\n").fails();
    den.tick().await;
    den.later(Duration::minutes(31)).await;
    let task = den.tasks(number).await[0].id;
    let ended =
        Ended { end: TaskEnd::NoChange, fault: None, detail: "nothing to do".to_owned(), result: None };
    let end = move |tx: &steward_core::store::WriteTx<'_>| {
        engine_tasks::start(tx, task)?;
        engine_tasks::agent_starts(tx, task)?;
        engine_tasks::end(tx, task, &ended).map(drop)
    };
    den.desk.ctx.store.write(Durability::Full, end).await.unwrap();
    den.desk.pass(Duration::seconds(1));
    pull.comment("maria", "any news?");
    den.tick().await;
    assert_eq!(den.tasks(number).await.len(), 1, "{:?}", den.decided(number).await);
    assert_eq!((den.item(number).await.attempts.spent, den.decided(number).await.0.as_str()), (1, "wait"));
    den.later(Duration::minutes(70)).await;
    assert_eq!(den.tasks(number).await.len(), 2, "the second comes an hour later");
}

#[tokio::test]
async fn what_is_suggested_of_a_pull_request_ends_with_it_and_with_its_head() {
    let den = Den::new("mode: suggest", CHECKS).await;
    let closed = den.intake(101, "b");
    let moved = den.intake(102, "c");
    for pull in [&closed, &moved] {
        den.well(pull);
    }
    den.tick().await;
    den.later(Duration::seconds(121)).await;
    assert_eq!(den.entries(Kind::Suggestion).await.len(), 2);
    closed.close("maria");
    den.app().push("intake/issue-102", "data: more of c", &[("data/works/c.json", "{\"c\": {\"v\": 2}}\n")]);
    den.tick().await;
    assert_eq!(den.entries(Kind::Suggestion).await, []);
    let merges = den.effects(EffectClass::Merge).await;
    let ends: Vec<_> = merges.iter().map(|row| (row.state, row.why.as_deref().unwrap())).collect();
    assert_eq!(ends.len(), 2, "{merges:?}");
    assert!(ends.contains(&(State::Obsolete, "closed")) && ends.contains(&(State::Obsolete, "head_moved")));
}

#[tokio::test]
async fn a_push_of_ours_is_none_of_somebody_else_when_it_is_seen_before_its_own_tick() {
    let den = Den::new(ACT, &format!("{CHECKS}, {VALIDATE}")).await;
    let pull = den.intake(101, "b");
    let number = pull.number();
    den.app().check(&pull.head(), "check").runs();
    den.tick().await;
    for round in 1..=3 {
        let head = pull.head();
        let to = den.made(&head, "data/works/b.json", &format!("{{\"b\": {{\"v\": {}}}}}\n", round + 1));
        let lease = Some(Sha::new(&head).unwrap());
        let branch = "intake/issue-101".to_owned();
        let new = NewTask {
            repository: den.id().await,
            kind: engine_tasks::ItemKind::Pr,
            number: number as i64,
            what: What::Rebase,
            head: lease.clone(),
            base: Sha::new(&den.app().tip("main")).unwrap(),
            branch: branch.clone(),
            lease: lease.clone(),
            evidence: Vec::new(),
        };
        let result = Some(TaskResult::Push { branch, from: lease, to: to.clone(), note: None });
        let ended = Ended { end: TaskEnd::Pushed, fault: None, detail: "put onto it".to_owned(), result };
        let write = move |tx: &steward_core::store::WriteTx<'_>| {
            let task = engine_tasks::queue(tx, &new)?.unwrap();
            engine_tasks::end(tx, task, &ended).map(drop)
        };
        den.desk.ctx.store.write(Durability::Full, write).await.unwrap();
        den.desk.pass(Duration::seconds(1));
        den.judge().await;
        den.send().await;
        assert_eq!(pull.head(), to.as_str(), "{:?}", den.effects(EffectClass::Rebase).await);
        // The look comes first: one tick sees the new head and the end of the push.
        den.tick().await;
        assert_eq!(den.item(number).await.rebases, round);
    }
    den.app().push("main", "docs: more", &[("README.md", "more\n")]);
    for _ in 0..5 {
        den.tick().await;
    }
    let (decision, why) = den.decided(number).await;
    assert_eq!(decision, "list_only", "{why}");
}
