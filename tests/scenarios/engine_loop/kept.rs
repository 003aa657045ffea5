//! What is kept of what is over, and for how long.

use std::collections::BTreeSet;

use chrono::Duration;
use steward_core::git::{BareClone, Git, Needed};
use steward_core::store::engine_tasks::{Ended, Fault, NewTask, TaskResult, What};
use steward_rules::engine::retry::TaskEnd;
use steward_rules::ids::Sha;

use super::*;

impl Den {
    fn clone_of_ours(&self) -> BareClone {
        let clones = self.desk.home.clones();
        let git = Git::find(&clones).unwrap();
        BareClone::find_alone(&git, &clones, &self.desk.host(), &name()).expect("a clone of ours")
    }

    /// The refs below `refs/steward/` that come and go.
    fn refs(&self) -> BTreeSet<String> {
        let dir = self.clone_of_ours().dir().to_owned();
        let names = ["refs/steward/pull/", "refs/steward/work/"];
        let said = std::process::Command::new("git")
            .args(["for-each-ref", "--format=%(refname)"])
            .args(names)
            .env("GIT_DIR", dir)
            .output()
            .unwrap();
        String::from_utf8(said.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    /// A task of a pull request that ended now, with the commit that it wants pushed.
    async fn ended_task(&self, number: u64, fault: Option<Fault>) -> i64 {
        let head = Sha::new(&self.app().pull(number).head()).unwrap();
        let new = NewTask {
            repository: self.id().await,
            kind: engine_tasks::ItemKind::Pr,
            number: number as i64,
            what: What::Rebase,
            head: Some(head.clone()),
            base: head.clone(),
            branch: "intake/issue-101".to_owned(),
            lease: None,
            evidence: Vec::new(),
        };
        let result =
            TaskResult::Push { branch: new.branch.clone(), from: None, to: head.clone(), note: None };
        let ended = Ended { end: TaskEnd::Pushed, fault, detail: "done".to_owned(), result: Some(result) };
        let store = &self.desk.ctx.store;
        let id = store
            .write(Durability::Full, move |tx| {
                let id = engine_tasks::queue(tx, &new)?.expect("no other is open");
                engine_tasks::end(tx, id, &ended)?;
                Ok::<_, StoreError>(id)
            })
            .await
            .unwrap();
        self.clone_of_ours().keep_work(id, &head).unwrap();
        id
    }

    async fn prune(&self, age: Duration) -> usize {
        let before = self.desk.ctx.clock.now() - age;
        let store = &self.desk.ctx.store;
        store.write(Durability::Normal, move |tx| engine_tasks::prune(tx, before)).await.unwrap()
    }

    async fn let_go(&self) -> usize {
        engine::upkeep::run(&self.desk.ctx).await.unwrap()
    }
}

fn names(pulls: &[u64], work: &[i64]) -> BTreeSet<String> {
    let pulls = pulls.iter().map(|number| format!("refs/steward/pull/{number}"));
    pulls.chain(work.iter().map(|id| format!("refs/steward/work/{id}"))).collect()
}

#[tokio::test]
async fn the_heads_of_closed_pull_requests_and_results_that_are_out_are_let_go() {
    let den = Den::new("mode: observe", CHECKS).await;
    let (open, closed) = (den.intake(101, "b"), den.intake(102, "c"));
    let (open, closing) = (open.number(), closed.number());
    den.tick().await;
    assert_eq!(den.refs(), names(&[open, closing], &[]));
    assert_eq!(den.let_go().await, 0, "both are open");
    let (seen, fresh) = (den.ended_task(open, None).await, den.ended_task(open, None).await);
    let of_closed = den.ended_task(closing, None).await;
    assert_eq!(den.let_go().await, 0, "none of them was taken into account");
    den.change_item(open, |item| item.task_seen = seen).await;
    closed.close("maria");
    den.tick().await;
    assert_eq!(den.let_go().await, 3, "{:?}", den.refs());
    assert_eq!(den.refs(), names(&[open], &[fresh]));
    let _ = of_closed;
    // What was let go is fetched again when it is needed.
    closed.reopen("maria");
    den.tick().await;
    den.app().push("intake/issue-102", "data: more", &[("data/works/d.json", "{\"d\": {\"v\": 1}}\n")]);
    den.tick().await;
    assert_eq!(den.refs(), names(&[open, closing], &[fresh]));
}

#[tokio::test]
async fn a_result_that_waits_for_a_yes_is_kept_and_so_is_one_that_came_meanwhile() {
    let den = Den::new("mode: suggest", &format!("{CHECKS}, {VALIDATE}")).await;
    let pull = den.intake(101, "b");
    den.app().check(&pull.head(), "check").runs();
    den.tick().await;
    let id = den.ended_task(pull.number(), None).await;
    den.tick().await;
    assert_eq!(den.entries(Kind::Suggestion).await.len(), 1, "its push waits");
    den.change_item(pull.number(), |item| item.task_seen = id).await;
    assert_eq!(den.let_go().await, 0);
    let clone = den.clone_of_ours();
    let head = Sha::new(&pull.head()).unwrap();
    clone.keep_work(id + 1, &head).unwrap();
    clone.keep_work(id - 1, &head).unwrap();
    let needed = Needed { pulls: [pull.number() as i64].into(), work: BTreeSet::new(), newest_work: id };
    assert_eq!(clone.let_go(&needed).unwrap(), 2);
    assert_eq!(den.refs(), names(&[pull.number()], &[id + 1]), "a task newer than the judgement");
}

#[tokio::test]
async fn ended_tasks_go_after_their_time_and_no_id_is_given_twice() {
    let den = Den::new("mode: observe", CHECKS).await;
    let pull = den.intake(101, "b");
    den.tick().await;
    let number = pull.number();
    let old = den.ended_task(number, None).await;
    let broken = den.ended_task(number, Some(Fault::Pin)).await;
    let unseen = den.ended_task(number, None).await;
    den.change_item(number, |item| item.task_seen = broken).await;
    let month = Duration::days(30);
    assert_eq!(den.prune(month).await, 0);
    den.desk.pass(month + Duration::hours(1));
    let newest = den.ended_task(number, None).await;
    assert_eq!(den.prune(month).await, 1, "what was not seen, and what a person must mend, stays");
    let left = async || den.tasks(number).await.iter().map(|task| task.id).collect::<Vec<_>>();
    assert_eq!(left().await, [newest, unseen, broken], "{old}");
    // Once the pull request is over everything goes but the newest, whose id must not come again.
    pull.close("maria");
    den.tick().await;
    den.desk.pass(month + Duration::hours(1));
    assert_eq!(den.prune(month).await, 2);
    assert_eq!(left().await, [newest]);
    pull.reopen("maria");
    den.tick().await;
    assert!(den.ended_task(number, None).await > newest);
}
