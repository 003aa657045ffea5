//! Faults of the configuration: what they stop is said once, and goes on when somebody mended it (engine.md 4.6, 18).

use chrono::Duration;
use serde_json::json;
use steward_core::store::WriteTx;
use steward_core::store::engine_tasks::{Ended, Fault as TaskFault};
use steward_core::store::inbox::Kind;
use steward_github_double::Fault;
use steward_rules::engine::retry::TaskEnd;
use steward_rules::power::EffectClass;

use super::asked::call;
use super::refused::MERGE;
use super::*;

impl Den {
    async fn go_round(&self, times: usize) {
        for _ in 0..times {
            self.tick().await;
            self.send().await;
            self.at_once().await;
        }
    }

    async fn fault(&self) -> Option<String> {
        let id = self.id().await;
        self.read(move |tx| steward_core::store::engine::get(tx, id)).await.fault.map(|fault| fault.slug)
    }
}

/// Two that are ready, in a repository where nothing may be merged.
async fn two_ready(den: &Den) -> [PullVerbs<'_>; 2] {
    let pulls = [den.intake(101, "b"), den.intake(102, "c")];
    for pull in &pulls {
        den.well(pull);
    }
    den.tick().await;
    den.desk.pass(Duration::seconds(121));
    pulls
}

#[tokio::test]
async fn a_refused_merge_stops_merging_in_its_repository_until_somebody_mends_it() {
    let den = Den::new(ACT, CHECKS).await;
    let pulls = two_ready(&den).await;
    den.desk.world.when(MERGE).times(2).answers(Fault::Status(403));
    den.go_round(3).await;
    assert_eq!(den.asked(MERGE), 1, "{:?}", den.effects(EffectClass::Merge).await);
    assert_eq!(den.fault().await.as_deref(), Some("merge_refused"));
    assert_eq!(den.entries(Kind::Suggestion).await.len(), 1, "and one entry says it");
    let status = call(&den, "status", json!({})).await;
    assert_eq!(status["state"], "degraded", "{status}");
    for pull in &pulls {
        assert_eq!(den.item(pull.number()).await.attempts.spent, 0);
    }
    // A person wants the other one tried: it is, and meets the same.
    den.try_now(pulls[1].number()).await;
    den.judge().await;
    den.send().await;
    den.at_once().await;
    assert_eq!((den.asked(MERGE), den.fault().await.as_deref()), (2, Some("merge_refused")));
    // Another policy is another matter.
    den.config(ACT, &format!("{CHECKS}, stableSecs: 100")).await;
    den.go_round(2).await;
    let merged = pulls.iter().filter(|pull| pull.is_merged()).count();
    assert!(merged > 0, "{:?}", den.effects(EffectClass::Merge).await);
    assert_eq!(den.fault().await, None);
}

#[tokio::test]
async fn one_unread_answer_takes_no_entry_back() {
    const PULL: &str = "GET /repos/{owner}/{repo}/pulls/{pull_number}";
    let den = Den::new(ACT, CHECKS).await;
    let pull = den.intake(101, "b");
    den.app().check(&pull.head(), "check").succeeds();
    den.tick().await;
    den.later(Duration::hours(7)).await;
    den.tick().await;
    let told = den.entries(Kind::Stuck).await;
    assert_eq!(told.len(), 1, "{:?}", den.decided(pull.number()).await);
    pull.label("seen");
    den.desk.world.when(PULL).times(1).answers(Fault::Status(404));
    den.tick().await;
    assert_eq!(den.entries(Kind::Stuck).await, told, "it was not judged");
    den.tick().await;
    assert_eq!(den.entries(Kind::Stuck).await.len(), 1);
}

#[tokio::test]
async fn a_task_without_an_identity_for_its_commits_is_told_once_and_goes_on_when_there_is_one() {
    let den = Den::new(ACT, &format!("{CHECKS}, {VALIDATE}")).await;
    let pulls = [den.intake(101, "b"), den.intake(102, "c")];
    for pull in &pulls {
        den.app().check(&pull.head(), "check").runs();
    }
    den.tick().await;
    den.app().push("main", "docs: more", &[("README.md", "more\n")]);
    for _ in 0..5 {
        den.tick().await;
    }
    for pull in &pulls {
        let task = den.tasks(pull.number()).await.remove(0);
        assert_eq!(task.state, engine_tasks::State::Queued, "{:?}", den.decided(pull.number()).await);
        let ended = Ended {
            end: TaskEnd::NotStarted,
            fault: Some(TaskFault::NoIdentity),
            detail: "commit: names nobody".to_owned(),
            result: None,
        };
        let end = move |tx: &WriteTx<'_>| engine_tasks::end(tx, task.id, &ended).map(drop);
        den.desk.ctx.store.write(Durability::Full, end).await.unwrap();
    }
    den.desk.pass(Duration::seconds(1));
    for _ in 0..3 {
        den.tick().await;
    }
    let told = den.entries(Kind::Stuck).await;
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].title.contains("names nobody"), "{told:?}");
    for pull in &pulls {
        assert_eq!(den.tasks(pull.number()).await.len(), 1, "nothing mended it");
    }
    // Another name stands in the config file.
    let file = den.desk.home.config_file();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("name: Octo,", "name: Octavia,")).unwrap();
    assert_eq!(den.desk.ctx.config.reread().problems, []);
    den.judge().await;
    for pull in &pulls {
        let tasks = den.tasks(pull.number()).await;
        assert_eq!((tasks.len(), tasks[0].state), (2, engine_tasks::State::Queued));
    }
    den.tick().await;
    assert_eq!(den.entries(Kind::Stuck).await, []);
}
