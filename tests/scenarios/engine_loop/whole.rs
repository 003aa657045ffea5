//! The whole way with nobody there: real git, the real boundary, the real agent CLI with a scripted model, and the
//! GitHub double.

use chrono::Duration;
use serde_json::json;
use steward_core::store::effects::State;
use steward_core::store::engine_tasks::ItemKind::Pr;
use steward_core::store::engine_tasks::What;
use steward_kit::claude;
use steward_kit::git::Repo;
use steward_rules::engine::retry::TaskEnd;
use steward_rules::engine::supersede::Stage;
use steward_rules::power::EffectClass;

use super::*;
use crate::engine_tasks::desk::{CREDENTIAL, done, edit, get_task, has_own_names, read, say_fixed, write};

const FILE: &str = "/review/tree/data/works/b.json";

#[tokio::test]
async fn a_red_pull_request_is_run_again_fixed_by_an_agent_pushed_verified_and_merged() {
    let Some(program) = claude::find_or_say().filter(|_| has_own_names()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let den = Den::walled(folder.path()).await;
    let turns = vec![get_task(), read(FILE), edit(FILE, "BROKEN", "Bravo"), say_fixed(), done()];
    let model = den.seat("fixer", &program, turns).await;

    // It comes in broken, and is red; run again, it is red still.
    let pull = den.red(101).await;
    let (number, head) = (pull.number(), pull.head());

    // The agent mends it, within its walls, in a commit of ours that nobody has seen yet.
    den.worked(Pr, number, TaskEnd::Pushed).await;
    assert_eq!(pull.head(), head, "an agent pushes nothing");

    // The loop pushes it with a lease on the head that was judged.
    den.later(Duration::seconds(1)).await;
    den.send().await;
    let pushed = den.effects(EffectClass::PushFix).await;
    assert_eq!((pushed.len(), pushed[0].state), (1, State::Done), "{pushed:?}");
    assert_ne!(pull.head(), head);
    assert!(!pull.is_merged());

    // The new head has to go through everything anew.
    den.well(&pull);
    den.tick().await;
    assert_eq!(den.decided(number).await.0, "wait", "its two minutes begin anew");
    den.later(Duration::seconds(121)).await;
    den.send().await;
    assert!(pull.is_merged(), "{:?} {:?}", den.decided(number).await, den.effects(EffectClass::Merge).await);
    let main = Repo::at(den.app().path());
    assert_eq!(main.git(&["show", "main:data/works/b.json"]), "{\"b\": {\"v\": \"Bravo\"}}");
    let mut writes = den.writes();
    // A push is two exchanges: what is there, and what comes.
    writes.dedup();
    let sent: Vec<&str> = writes.iter().map(String::as_str).take(3).collect();
    assert_eq!(
        sent,
        [
            "POST /repos/{owner}/{repo}/actions/runs/{run_id}/rerun-failed-jobs",
            "git-receive-pack",
            "PUT /repos/{owner}/{repo}/pulls/{pull_number}/merge"
        ]
    );
    for secret in [CREDENTIAL, TOKEN] {
        assert!(!model.turns_asked().iter().any(|one| one.raw.contains(secret)), "no credential is told");
    }
    den.desk.world.assert_contract();
}

#[tokio::test]
async fn a_conflicting_pull_request_is_rebased_by_the_driver_pushed_and_merged() {
    if !has_own_names() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let den = Den::walled(folder.path()).await;
    let works = |text: &'static str| [("data/works/a.json", text)];
    den.app().push("intake/issue-102", "data: b", &works("{\"a\": {\"v\": 1}, \"b\": {\"v\": 2}}\n"));
    let pull =
        den.app().open_pull("maria", "intake/issue-102", "[intake] b").label("data").label("bot-intake");
    let (number, head) = (pull.number(), pull.head());
    den.well(&pull);
    den.tick().await;
    // The same line of the same file, so that git alone could not.
    den.app().push("main", "data: c", &works("{\"a\": {\"v\": 1}, \"c\": {\"v\": 3}}\n"));
    for _ in 0..4 {
        den.tick().await;
    }
    let queued = den.tasks(number).await;
    assert_eq!(queued.iter().map(|task| &task.what).collect::<Vec<_>>(), [&What::Rebase], "nobody swept");
    den.worked(Pr, number, TaskEnd::Pushed).await;
    den.later(Duration::seconds(1)).await;
    den.send().await;
    let pushed = den.effects(EffectClass::Rebase).await;
    assert_eq!((pushed.len(), pushed[0].state), (1, State::Done), "{pushed:?}");
    assert_ne!(pull.head(), head);
    den.well(&pull);
    den.tick().await;
    den.later(Duration::seconds(121)).await;
    den.send().await;
    assert!(pull.is_merged(), "{:?}", den.decided(number).await);
    assert_eq!(den.works(), json!({"a": {"v": 1}, "b": {"v": 2}, "c": {"v": 3}}));
    den.desk.world.assert_contract();
}

#[tokio::test]
async fn a_red_pull_request_of_somebody_else_is_superseded_by_the_agents_fix_merged_and_closed_with_a_link() {
    let Some(program) = claude::find_or_say().filter(|_| has_own_names()) else { return };
    for method in ["squash", "merge"] {
        let folder = tempfile::tempdir().unwrap();
        let den = Den::walled_with(folder.path(), &format!("mergeMethod: {method}")).await;
        let turns = vec![get_task(), read(FILE), edit(FILE, "BROKEN", "Bravo"), say_fixed(), done()];
        let _model = den.seat("fixer", &program, turns).await;
        let app = den.app();
        app.push("change", "data: b", &[("data/works/b.json", "{\"b\": {\"v\": \"BROKEN\"}}\n")]);
        let original = app.open_pull("maria", "change", "add b");
        let (number, head) = (original.number(), original.head());
        den.red_twice(&original).await;
        let task = den.worked(Pr, number, TaskEnd::Pushed).await;
        assert_eq!((task.branch, task.lease), (format!("steward/pr-{number}"), None));
        den.steps(6).await;

        let Some(Stage::Opened { pull, .. }) = den.item(number).await.supersede else {
            panic!("{:?} {:?}", den.decided(number).await, den.effects(EffectClass::Supersede).await)
        };
        let ours = app.pull(pull.0 as u64);
        assert!(original.is_open() && !ours.is_merged());
        assert_eq!((original.head(), app.tip("change")), (head.clone(), head), "its branch is not touched");
        assert!(ours.labels().contains(&"bot-steward".to_owned()), "{:?}", ours.labels());
        assert_eq!(ours.title_and_body().0, "[steward] add b");
        // Nobody has verified it: green checks alone merge nothing.
        app.check(&ours.head(), "check").succeeds();
        den.steps(2).await;
        assert!(!ours.is_merged(), "{:?}", den.decided(pull.0 as u64).await);

        den.well(&ours);
        den.steps(8).await;
        assert!(ours.is_merged(), "{:?}", den.decided(pull.0 as u64).await);
        let main = Repo::at(app.path());
        assert_eq!(main.git(&["show", "main:data/works/b.json"]), "{\"b\": {\"v\": \"Bravo\"}}");
        assert!(!original.is_open(), "{:?}", den.kept(ItemKind::Pr, number).await);
        let closes = |one: &&String| one.ends_with("/pulls/{pull_number}");
        let closed = den.writes().iter().filter(closes).count();
        if method == "squash" {
            // Closed by us, once the content was seen on the base.
            let stage = den.kept(ItemKind::Pr, number).await.unwrap().supersede;
            let is_seen = matches!(stage, Some(Stage::ContentVerified { .. } | Stage::OriginalClosed { .. }));
            assert!(is_seen && closed == 1 && !original.is_merged(), "{stage:?} {closed}");
        } else {
            // Its very commit came onto the base with ours, so GitHub itself shows it as merged.
            assert!(original.is_merged() && closed == 0);
        }
        let [(_, author, said)] = <[_; 1]>::try_from(original.comments()).unwrap();
        assert!(author == "octo" && said.contains(&format!("#{pull}")), "{said}");
        den.desk.world.assert_contract();
    }
}

#[tokio::test]
async fn a26_a_conflict_that_the_driver_refuses_is_handed_to_the_agent_pushed_with_a_lease_and_merged() {
    let Some(program) = claude::find_or_say().filter(|_| has_own_names()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let den = Den::walled(folder.path()).await;
    let file = "/review/tree/data/works/a.json";
    let both = "{\"a\": {\"v\": 2}, \"c\": {\"v\": 3}}\n";
    let turns = vec![get_task(), read(file), write(file, both), say_fixed(), done()];
    let model = den.seat("fixer", &program, turns).await;
    let pull = den.conflicting(103).await;
    let (number, head) = (pull.number(), pull.head());
    let task = den.worked(Pr, number, TaskEnd::Pushed).await;
    assert_eq!((task.what, task.lease.map(|at| at.to_string())), (What::Rebase, Some(head.clone())));
    assert!(task.agent_at.is_some(), "the driver cannot");
    let told = model.turns_asked().pop().unwrap().results();
    let digest: serde_json::Value = serde_json::from_str(&told[0]).unwrap();
    let why = digest["notRebased"]["text"].as_str().unwrap_or_default();
    assert!(
        digest["task"] == "reapply" && why.contains("a was deleted on one side and changed on the other"),
        "{digest}"
    );
    assert_eq!(pull.head(), head, "an agent pushes nothing");

    den.later(Duration::seconds(1)).await;
    den.send().await;
    let pushed = den.effects(EffectClass::Rebase).await;
    assert_eq!((pushed.len(), pushed[0].state), (1, State::Done), "{pushed:?}");
    assert_ne!(pull.head(), head);
    den.well(&pull);
    den.steps(4).await;
    assert!(pull.is_merged(), "{:?}", den.decided(number).await);
    assert_eq!(den.works(), json!({"a": {"v": 2}, "c": {"v": 3}}));
    let item = den.kept(ItemKind::Pr, number).await.unwrap();
    assert_eq!((item.attempts.spent, item.rebases), (1, 1), "the agent ran, so it counts");
    den.desk.world.assert_contract();
}
