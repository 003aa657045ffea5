//! The whole way with nobody there: real git, the real boundary, the real agent CLI with a scripted model, and the
//! GitHub double.

use std::sync::Arc;
use std::time::Instant;

use chrono::Duration;
use sha2::{Digest, Sha256};
use steward_core::keychain::Keychain;
use steward_core::loops::engine::tasks::{self, Given};
use steward_core::store::effects::State;
use steward_core::store::engine_tasks::{State as TaskState, What};
use steward_kit::git::Repo;
use steward_kit::model::ScriptedModel;
use steward_kit::{binary, claude};
use steward_rules::engine::retry::TaskEnd;
use steward_rules::power::EffectClass;
use tokio::sync::watch;

use super::*;
use crate::engine_tasks::desk::{CREDENTIAL, done, edit, get_task, has_own_names, read, say_fixed};

const FILE: &str = "/review/tree/data/works/b.json";
/// How long the agent may take here.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(120);

/// A validator that refuses the word BROKEN in the data, as the policy names it.
fn validator(folder: &std::path::Path) -> String {
    let path = folder.join("metacheck");
    std::fs::write(&path, "#!/bin/sh\nif grep -rn BROKEN data; then exit 3; fi\n").unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let pin = hex::encode(Sha256::digest(std::fs::read(&path).unwrap()));
    format!(
        "validate: {{check: ['{}'], pin: '{pin}', timeoutSecs: 60, heavy: false}}, \
         agent: {{minAvailableMb: 1}}",
        path.display()
    )
}

/// A den whose tasks run behind the real wall.
async fn walled(policy: &str) -> Den {
    let mut den = Den::new(ACT, policy).await;
    let keychain = Keychain::with_environment(Some(CREDENTIAL.to_owned().into()));
    let keychain = keychain.with_github_token(Some(TOKEN.to_owned().into()));
    let mut ctx = den.desk.ctx.clone().with_keychain(keychain);
    ctx.steward = binary::steward();
    den.desk.ctx = ctx;
    den
}

/// Runs the one task of a pull request to its end.
async fn worked(den: &Den, number: u64) -> TaskRow {
    let (topics, heard) = watch::channel(0);
    let stop = CancellationToken::new();
    let given = Given::in_force(Arc::new(|_, _| Ok(0)));
    let run = tasks::run(den.desk.ctx.clone(), stop.clone(), heard, given, |turn| turn.unwrap());
    let runner = tokio::spawn(run);
    let begun = Instant::now();
    let task = loop {
        let task = den.tasks(number).await.remove(0);
        if task.state == TaskState::Ended {
            break task;
        }
        assert!(begun.elapsed() < PATIENCE, "the task never ended: {task:?}");
        topics.send_modify(|topic| *topic += 1);
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    };
    stop.cancel();
    runner.await.unwrap();
    assert_eq!(task.end, Some(TaskEnd::Pushed), "{:?} {:?}", task.fault, task.detail);
    task
}

#[tokio::test]
async fn a_red_pull_request_is_run_again_fixed_by_an_agent_pushed_verified_and_merged() {
    let Some(program) = claude::find_or_say().filter(|_| has_own_names()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let den = walled(&format!("{CHECKS}, {}", validator(folder.path()))).await;
    let turns = vec![get_task(), read(FILE), edit(FILE, "BROKEN", "Bravo"), say_fixed(), done()];
    let model = ScriptedModel::start(turns).await;
    let seat = den.desk.home.seat_file("fixer");
    std::fs::create_dir_all(seat.parent().unwrap()).unwrap();
    let text = format!(
        "adapter: claude\nmodel: claude-sonnet-4-5\ncommand: [\"{}\"]\nendpoint: {}\n",
        program.display(),
        model.url()
    );
    std::fs::write(seat, text).unwrap();

    // It comes in broken, and is red; run again, it is red still.
    let pull = den.intake(101, "b");
    let broken = ("data/works/b.json", "{\"b\": {\"v\": \"BROKEN\"}}\n");
    den.app().push("intake/issue-101", "data: the title of b", &[broken]);
    let (number, head) = (pull.number(), pull.head());
    let red = || den.app().check(&head, "check").printing("error: b is BROKEN\n").fails();
    red();
    den.tick().await;
    den.later(Duration::seconds(121)).await;
    den.send().await;
    assert_eq!(den.effects(EffectClass::RerunCheck).await[0].state, State::Done);
    den.desk.pass(Duration::seconds(20));
    red();
    den.tick().await;
    den.later(Duration::minutes(31)).await;
    assert_eq!(den.tasks(number).await.len(), 1, "{:?}", den.decided(number).await);

    // The agent mends it, within its walls, in a commit of ours that nobody has seen yet.
    worked(&den, number).await;
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
    let den = walled(&format!("{CHECKS}, {}", validator(folder.path()))).await;
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
    worked(&den, number).await;
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
    let main = Repo::at(den.app().path());
    let merged: serde_json::Value =
        serde_json::from_str(&main.git(&["show", "main:data/works/a.json"])).unwrap();
    assert_eq!(merged, serde_json::json!({"a": {"v": 1}, "b": {"v": 2}, "c": {"v": 3}}));
    den.desk.world.assert_contract();
}
