//! A den whose tasks run behind the real wall, by the real agent CLI with a scripted model.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use chrono::Duration;
use sha2::{Digest, Sha256};
use steward_core::keychain::Keychain;
use steward_core::loops::Ctx;
use steward_core::loops::engine::tasks::{self, Given};
use steward_core::loops::landed;
use steward_core::store::engine_tasks::State;
use steward_kit::binary;
use steward_kit::git::Repo;
use steward_kit::model::{ScriptedModel, Turn};
use steward_rules::engine::retry::TaskEnd;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::*;
use crate::engine_tasks::desk::CREDENTIAL;

/// How long an agent may take here.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(120);

/// A validator that refuses the word BROKEN in the data, as the policy names it.
fn validator(folder: &Path) -> String {
    let path = folder.join("metacheck");
    std::fs::write(&path, "#!/bin/sh\nif grep -rn BROKEN data; then exit 3; fi\n").unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let pin = hex::encode(Sha256::digest(std::fs::read(&path).unwrap()));
    format!(
        "validate: {{check: ['{}'], pin: '{pin}', timeoutSecs: 60, heavy: false}}, agent: {{minAvailableMb: 1}}",
        path.display()
    )
}

/// The context with everything a task needs.
pub(super) fn armed(ctx: Ctx) -> Ctx {
    let keychain = Keychain::with_environment(Some(CREDENTIAL.to_owned().into()));
    let mut ctx = ctx.with_keychain(keychain.with_github_token(Some(TOKEN.to_owned().into())));
    ctx.steward = binary::steward();
    ctx
}

/// A runner of tasks at work.
pub(super) struct Runner {
    topics: watch::Sender<i64>,
    stop: CancellationToken,
    work: JoinHandle<()>,
}

impl Runner {
    pub fn start(ctx: Ctx) -> Self {
        let (topics, heard) = watch::channel(0);
        let stop = CancellationToken::new();
        let given = Given::in_force(Arc::new(|_, _| Ok(0)));
        let work = tokio::spawn(tasks::run(ctx, stop.clone(), heard, given, |turn| turn.unwrap()));
        Self { topics, stop, work }
    }

    pub fn wake(&self) {
        self.topics.send_modify(|topic| *topic += 1);
    }

    pub async fn close(self) {
        self.stop.cancel();
        self.work.await.unwrap();
    }
}

impl Den {
    /// In `act` with the preset's values, a validator of its own and the real wall.
    pub async fn walled(folder: &Path) -> Self {
        Self::walled_with(folder, "mergeMethod: merge").await
    }

    /// The same with one more key of the policy.
    pub async fn walled_with(folder: &Path, key: &str) -> Self {
        let mut den = Self::new(ACT, &format!("{CHECKS}, {}, {key}", validator(folder))).await;
        den.desk.ctx = armed(den.desk.ctx.clone());
        den
    }

    /// Makes the real agent CLI with a model that plays these turns the seat of a role.
    pub async fn seat(&self, role: &str, program: &Path, turns: Vec<Turn>) -> ScriptedModel {
        let model = ScriptedModel::start(turns).await;
        let seat = self.desk.home.seat_file(role);
        std::fs::create_dir_all(seat.parent().unwrap()).unwrap();
        let text = format!(
            "adapter: claude\nmodel: claude-sonnet-4-5\ncommand: [\"{}\"]\nendpoint: {}\n",
            program.display(),
            model.url()
        );
        std::fs::write(seat, text).unwrap();
        model
    }

    /// A pull request of the intake whose data is broken: red, red again after its re-run, and handed to a fixer.
    pub async fn red(&self, issue: u64) -> PullVerbs<'_> {
        let pull = self.intake(issue, "b");
        let broken = ("data/works/b.json", "{\"b\": {\"v\": \"BROKEN\"}}\n");
        self.app().push(&format!("intake/issue-{issue}"), "data: the title of b", &[broken]);
        self.red_twice(&pull).await;
        pull
    }

    /// A pull request of the intake that changes an entry which the base deletes meanwhile, until it is to be
    /// put onto the base.
    pub async fn conflicting(&self, issue: u64) -> PullVerbs<'_> {
        let works = |text: &'static str| [("data/works/a.json", text)];
        let branch = format!("intake/issue-{issue}");
        self.app().push(&branch, "data: a", &works("{\"a\": {\"v\": 2}}\n"));
        let pull = self.app().open_pull("maria", &branch, "[intake] a").label("data").label("bot-intake");
        self.well(&pull);
        self.tick().await;
        self.app().push("main", "data: c for a", &works("{\"c\": {\"v\": 3}}\n"));
        for _ in 0..4 {
            self.tick().await;
        }
        pull
    }

    /// A check of it fails, and fails again when it is run again, until an agent is to mend it.
    pub async fn red_twice(&self, pull: &PullVerbs<'_>) {
        let (number, head) = (pull.number(), pull.head());
        let fails = || self.app().check(&head, "check").printing("error: b is BROKEN\n").fails();
        fails();
        self.tick().await;
        self.later(Duration::seconds(121)).await;
        self.send().await;
        assert_eq!(self.effects(EffectClass::RerunCheck).await[0].state, effects::State::Done);
        self.desk.pass(Duration::seconds(20));
        fails();
        self.tick().await;
        self.later(Duration::minutes(31)).await;
        assert_eq!(self.tasks(number).await.len(), 1, "{:?}", self.decided(number).await);
    }

    /// The newest task of an item.
    pub async fn task(&self, kind: engine_tasks::ItemKind, number: u64) -> TaskRow {
        let id = self.id().await;
        let all = self.read(move |tx| engine_tasks::of_item(tx, id, kind, number as i64)).await;
        all.into_iter().next().unwrap_or_else(|| panic!("#{number} has no task"))
    }

    /// Waits until the newest task of an item is as wanted.
    pub async fn until(
        &self,
        runner: &Runner,
        kind: engine_tasks::ItemKind,
        number: u64,
        is_it: impl Fn(&TaskRow) -> bool,
    ) -> TaskRow {
        let begun = Instant::now();
        loop {
            let task = self.task(kind, number).await;
            if is_it(&task) {
                return task;
            }
            assert!(begun.elapsed() < PATIENCE, "it never came: {task:?}");
            runner.wake();
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    }

    /// Runs the newest task of an item to its end, which is this one.
    pub async fn worked(&self, kind: engine_tasks::ItemKind, number: u64, end: TaskEnd) -> TaskRow {
        let runner = Runner::start(self.desk.ctx.clone());
        let task = self.until(&runner, kind, number, |task| task.state == State::Ended).await;
        runner.close().await;
        assert_eq!(task.end, Some(end), "{:?} {:?}", task.fault, task.detail);
        self.desk.pass(Duration::seconds(1));
        task
    }

    /// So many rounds of everything that runs by itself: a look, a tick, what goes out, the proof of what landed.
    pub async fn steps(&self, rounds: usize) {
        for _ in 0..rounds {
            self.tick().await;
            self.send().await;
            landed::pass(&self.desk.ctx, &CancellationToken::new()).await.unwrap();
        }
    }

    /// The works of the catalogue's first file, as the base has them.
    pub fn works(&self) -> serde_json::Value {
        let text = Repo::at(self.app().path()).git(&["show", "main:data/works/a.json"]);
        serde_json::from_str(&text).unwrap()
    }
}
