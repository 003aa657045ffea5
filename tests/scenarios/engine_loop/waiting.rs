//! What waits for an agent, or is of no use to one, in the loop: it holds up nothing that needs none, spends nothing,
//! and a person hears why it stands still.

use chrono::Duration;
use steward_core::sandbox::Boundary;
use steward_core::store::engine_tasks::ItemKind::Pr;
use steward_core::store::engine_tasks::{Ended, Fault, NewTask, State, What};
use steward_core::store::inbox::Kind;
use steward_rules::engine::retry::TaskEnd;
use steward_rules::ids::Sha;

use super::walled::Runner;
use super::*;

#[tokio::test]
async fn a39_a_refused_rebase_that_waits_for_an_agent_holds_no_merge() {
    let folder = tempfile::tempdir().unwrap();
    let den = Den::walled(folder.path()).await;
    den.desk.ctx.use_boundary(Boundary::None { reason: "none here".to_owned() });
    let pull = den.conflicting(103).await;
    let number = pull.number();
    let runner = Runner::start(den.desk.ctx.clone());
    let waits = |task: &TaskRow| task.state == State::Queued && task.waits.is_some();
    let task = den.until(&runner, Pr, number, waits).await;
    assert!(task.waits.is_some_and(|why| why.contains("none here")));
    let ready = den.intake(102, "d");
    den.well(&ready);
    den.tick().await;
    den.later(Duration::seconds(121)).await;
    den.send().await;
    assert!(ready.is_merged(), "{:?}", den.decided(ready.number()).await);
    assert_eq!((den.tasks(number).await.len(), den.item(number).await.attempts.spent), (1, 0));
    runner.close().await;
}

#[tokio::test]
async fn a_rebase_of_which_nothing_is_left_spends_nothing_and_is_listed_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let den = Den::walled(folder.path()).await;
    let pull = den.intake(104, "b");
    let number = pull.number();
    den.well(&pull);
    den.tick().await;
    den.app().push("main", "data: b as well", &[("data/works/b.json", "{\"b\": {\"v\": 1}}\n")]);
    for _ in 0..4 {
        den.tick().await;
    }
    let task = den.worked(Pr, number, TaskEnd::NoChange).await;
    assert_eq!((task.what, task.agent_at), (What::Rebase, None));
    for _ in 0..3 {
        den.steps(1).await;
        den.later(Duration::hours(2)).await;
    }
    let item = den.item(number).await;
    assert_eq!((item.attempts.spent, item.stuck), (0, false), "no agent ran");
    assert_eq!(den.tasks(number).await.len(), 1, "nothing more is made of this head on this base");
    let told = den.entries(Kind::Stuck).await;
    assert!(told.iter().any(|one| one.title.contains("holds the whole change already")), "{told:?}");
    // Its author goes on, and so does the engine.
    den.app().push("intake/issue-104", "data: more", &[("data/works/b.json", "{\"b\": {\"v\": 2}}\n")]);
    for _ in 0..5 {
        den.tick().await;
    }
    assert_eq!(den.entries(Kind::Stuck).await, []);
    assert_eq!(den.tasks(number).await.len(), 2, "{:?}", den.decided(number).await);
}

#[tokio::test]
async fn what_no_further_try_mends_is_tried_once_and_shown_until_a_person_asks() {
    let folder = tempfile::tempdir().unwrap();
    let den = Den::walled(folder.path()).await;
    let pull = den.red(101).await;
    let number = pull.number();
    let ends = async |fault| {
        let task = den.task(Pr, number).await;
        assert_eq!(task.state, State::Queued);
        let detail = "a file of this tree is too large".to_owned();
        let ended = Ended { end: TaskEnd::NotStarted, fault: Some(fault), detail, result: None };
        let end = move |tx: &steward_core::store::WriteTx<'_>| engine_tasks::end(tx, task.id, &ended);
        assert!(den.desk.ctx.store.write(Durability::Full, end).await.unwrap());
        den.desk.pass(Duration::seconds(1));
    };
    ends(Fault::TooLarge).await;
    for _ in 0..3 {
        den.later(Duration::hours(5)).await;
        den.tick().await;
    }
    let item = den.item(number).await;
    assert_eq!((item.attempts.spent, item.stuck, den.tasks(number).await.len()), (0, false, 1));
    let told = den.entries(Kind::Stuck).await;
    let of_it = |one: &&EntryRow| one.title.contains("a file of this tree is too large");
    assert_eq!(told.iter().filter(of_it).count(), 1, "{told:?}");
    let (id, at) = (den.id().await, number as i64);
    let ask = move |tx: &steward_core::store::WriteTx<'_>| {
        engine_items::ask_try(tx, id, ItemKind::Pr, at).map(drop)
    };
    den.desk.ctx.store.write(Durability::Full, ask).await.unwrap();
    den.judge().await;
    assert_eq!(den.tasks(number).await.len(), 2, "{:?}", den.decided(number).await);
    ends(Fault::Local).await;
    den.tick().await;
    assert_eq!(den.tasks(number).await.len(), 2);
}

#[tokio::test]
async fn a_rebase_that_failed_is_one_comment_on_its_pull_request_for_each_head() {
    let den = Den::new(ACT, &format!("{CHECKS}, {VALIDATE}")).await;
    let pull = den.intake(101, "b");
    den.app().check(&pull.head(), "check").runs();
    den.tick().await;
    for reason in ["the validator says no", "no key for @maria"] {
        den.ended_rebase(pull.number(), TaskEnd::Refused, reason).await;
        den.later(Duration::hours(30)).await;
        den.tick().await;
        den.send().await;
    }
    let said: Vec<String> = pull
        .comments()
        .into_iter()
        .map(|said| said.2)
        .filter(|body| body.contains("rebase-failed"))
        .collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("the validator says no") && said[0].contains(&pull.head()), "{said:?}");
    assert_eq!(den.item(pull.number()).await.attempts.spent, 2, "its agent ran twice");
    // What ended for another reason than its content is nothing to tell.
    den.app().push("intake/issue-101", "data: more", &[("data/works/d.json", "{\"d\": {\"v\": 1}}\n")]);
    den.tick().await;
    den.ended_rebase(pull.number(), TaskEnd::Preempted, "somebody else comes first").await;
    den.later(Duration::hours(30)).await;
    den.send().await;
    assert_eq!(pull.comments().iter().filter(|said| said.2.contains("rebase-failed")).count(), 1);
}

impl Den {
    /// A rebase of this head on which an agent worked to this end.
    async fn ended_rebase(&self, number: u64, end: TaskEnd, detail: &str) {
        let head = Sha::new(&self.app().pull(number).head()).unwrap();
        let new = NewTask {
            repository: self.id().await,
            kind: Pr,
            number: number as i64,
            what: What::Rebase,
            head: Some(head.clone()),
            base: head,
            branch: "intake/issue-101".to_owned(),
            lease: None,
            evidence: Vec::new(),
        };
        let ended = Ended { end, fault: None, detail: detail.to_owned(), result: None };
        let store = &self.desk.ctx.store;
        store
            .write(Durability::Full, move |tx| -> Result<_, StoreError> {
                let id = engine_tasks::queue(tx, &new)?.unwrap();
                assert!(engine_tasks::start(tx, id)?);
                engine_tasks::agent_starts(tx, id)?;
                engine_tasks::end(tx, id, &ended).map(drop)
            })
            .await
            .unwrap();
    }
}
