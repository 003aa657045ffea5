//! A runner at work on the catalogue: tasks are queued, and what they come to is waited for.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use steward_core::clock::SystemClock;
use steward_core::config::ConfigWatch;
use steward_core::git::BareClone;
use steward_core::keychain::Keychain;
use steward_core::loops::Ctx;
use steward_core::loops::engine::tasks::{self, Given};
use steward_core::store::engine_tasks::{self, ItemKind, NewTask, Piece, State, TaskResult, TaskRow, What};
use steward_core::store::repositories::{self, RepositoryId};
use steward_core::store::{Durability, Store, StoreError};
use steward_kit::git::Repo;
use steward_kit::model::{ScriptedModel, Turn};
use steward_kit::{binary, claude};
use steward_rules::engine::policy::Policy;
use steward_rules::ids::{RepoName, Sha};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::stage::{CHECK, FORMAT, NAME, Stage, sha, works};

const CONFIG: &str =
    "engine: {enabled: true}\ncommit: {name: Octo Steward, email: steward@example.org}\nrepositories: []\n";
/// A made-up credential; its form says that it is one of a subscription.
pub const CREDENTIAL: &str = "sk-ant-oat01-made-up-for-tests-0123456789";
/// How long a task may take here.
const PATIENCE: Duration = Duration::from_secs(120);

/// A home with a runner over it.
pub struct Desk {
    pub stage: Stage,
    pub ctx: Ctx,
    pub repository: RepositoryId,
    pub clone: BareClone,
    pub policy: Arc<Mutex<Policy>>,
    pub on: Arc<AtomicBool>,
    topics: watch::Sender<i64>,
    stop: CancellationToken,
    runner: Option<JoinHandle<()>>,
}

pub fn context(home: &Path) -> Ctx {
    let home = steward_core::home::Home::under(home);
    home.create().expect("a home");
    let store = Store::open(&home, Arc::new(SystemClock)).expect("the store");
    let watch = ConfigWatch::open(&home, None);
    Ctx::new(home, store, Arc::new(SystemClock), Arc::new(watch), binary::steward())
        .with_keychain(Keychain::with_environment(Some(CREDENTIAL.to_owned().into())))
}

/// What the loop gives the runner: this policy while it is on.
pub fn given(policy: Arc<Mutex<Policy>>, on: Arc<AtomicBool>) -> Given {
    Given {
        policy: Arc::new(move |_, _, _| {
            Ok(on.load(Ordering::SeqCst).then(|| policy.lock().expect("the policy").clone()))
        }),
        parked: Arc::new(|_, _| Ok(0)),
    }
}

/// The pull request of most tests: it adds `delta`, whose title the validator refuses.
pub fn broken(stage: &Stage) -> (Sha, Sha) {
    let base = stage.repo.git(&["rev-parse", "main"]);
    stage.repo.git(&["checkout", "--quiet", "-b", "intake/issue-7", "main"]);
    let text = works(&[("alpha", "Alpha"), ("beta", "Beta"), ("delta", "BROKEN"), ("gamma", "Gamma")]);
    let head = stage.repo.commit("add delta", &[("data/works/a.json", Some(&text))]);
    stage.repo.git(&["checkout", "--quiet", "main"]);
    (sha(&head), sha(&base))
}

/// A change of an entry that the base changed otherwise meanwhile: the driver refuses to settle it.
pub fn contradicting(stage: &Stage) -> (Sha, Sha) {
    stage.repo.git(&["checkout", "--quiet", "-b", "intake/issue-7"]);
    let mine = works(&[("alpha", "Alpha"), ("beta", "Beta of mine"), ("gamma", "Gamma")]);
    let head = sha(&stage.repo.commit("beta is mine", &[("data/works/a.json", Some(&mine))]));
    stage.repo.git(&["checkout", "--quiet", "main"]);
    let theirs = works(&[("alpha", "Alpha"), ("beta", "Beta of theirs"), ("gamma", "Gamma")]);
    let base = sha(&stage.repo.commit("beta is theirs", &[("data/works/a.json", Some(&theirs))]));
    (head, base)
}

impl Desk {
    pub async fn new() -> Self {
        Self::with(Stage::new()).await
    }

    pub async fn with(stage: Stage) -> Self {
        stage.home.write_config(CONFIG);
        let ctx = context(&stage.home.path());
        let name = RepoName::parse(NAME).expect("a name");
        let row = ctx
            .store
            .write(Durability::Full, move |tx| repositories::ensure(tx, "github.com", &name))
            .await
            .expect("the repository is known");
        let mut policy = stage.policy(FORMAT, CHECK);
        policy.agent.min_available_mb = 1;
        let clone = stage.clone();
        let (policy, on) = (Arc::new(Mutex::new(policy)), Arc::new(AtomicBool::new(true)));
        let (topics, heard) = watch::channel(0);
        let stop = CancellationToken::new();
        let given = given(Arc::clone(&policy), Arc::clone(&on));
        let note = |result: Result<(), StoreError>| result.expect("the runner's tick");
        let runner = tokio::spawn(tasks::run(ctx.clone(), stop.clone(), heard, given, note));
        Self { stage, ctx, repository: row.id, clone, policy, on, topics, stop, runner: Some(runner) }
    }

    pub fn git(&self) -> Repo {
        Repo::at(self.clone.dir())
    }

    /// Makes a script of these lines the seat of a role. It hands in by `hand_in JSON`.
    pub fn script(&self, role: &str, lines: &str) {
        let hand_in = "hand_in() {\n  hash=$(sha256sum \"$STEWARD_DIGEST\" | cut -d' ' -f1)\n  \
                       printf '{\"digestHash\":\"%s\",\"submission\":%s}' \"$hash\" \"$1\" > \"$STEWARD_SUBMISSION.new\"\n  \
                       mv \"$STEWARD_SUBMISSION.new\" \"$STEWARD_SUBMISSION\"\n}\n";
        let program =
            self.stage.program(role, &format!("#!/bin/bash\ncd \"$STEWARD_TREE\"\n{hand_in}{lines}"));
        self.stage
            .home
            .write_seat(role, &format!("adapter: command\ncommand: [\"{}\"]\n", program.display()));
    }

    /// Makes the real agent CLI with this model the seat of a role; false where it is not installed.
    pub fn claude(&self, role: &str, model: &ScriptedModel) -> bool {
        let Some(program) = claude::find_or_say() else { return false };
        let seat = format!(
            "adapter: claude\nmodel: claude-sonnet-4-5\ncommand: [\"{}\"]\nendpoint: {}\n",
            program.display(),
            model.url()
        );
        self.stage.home.write_seat(role, &seat);
        true
    }

    pub fn wake(&self) {
        self.topics.send_modify(|topic| *topic += 1);
    }

    pub async fn queue(&self, new: NewTask) -> i64 {
        let id = self
            .ctx
            .store
            .write(Durability::Full, move |tx| tasks::queue(tx, new))
            .await
            .expect("queued")
            .expect("the item has no other task");
        self.wake();
        id
    }

    pub fn fix(&self, head: &Sha, base: &Sha) -> NewTask {
        NewTask {
            repository: self.repository,
            kind: ItemKind::Pr,
            number: 12,
            what: What::Fix { checks: vec!["check".to_owned()], flag: false },
            head: Some(head.clone()),
            base: base.clone(),
            branch: "intake/issue-7".to_owned(),
            lease: Some(head.clone()),
            evidence: vec![Piece { what: "log of check".to_owned(), text: "delta: BROKEN".to_owned() }],
        }
    }

    pub fn rebase(&self, head: &Sha, base: &Sha) -> NewTask {
        NewTask { what: What::Rebase, evidence: Vec::new(), ..self.fix(head, base) }
    }

    pub fn triage(&self, base: &Sha, asked: &[&str]) -> NewTask {
        NewTask {
            repository: self.repository,
            kind: ItemKind::Issue,
            number: 9,
            what: What::Triage { asked: asked.iter().map(|one| (*one).to_owned()).collect() },
            head: None,
            base: base.clone(),
            branch: "steward/issue-9".to_owned(),
            lease: None,
            evidence: vec![Piece { what: "the issue".to_owned(), text: "please add epsilon".to_owned() }],
        }
    }

    pub async fn row(&self, id: i64) -> TaskRow {
        self.ctx.store.read(move |tx| engine_tasks::get(tx, id)).await.expect("read").expect("the task")
    }

    /// Waits until a row is as wanted.
    pub async fn until(&self, id: i64, what: &str, is_it: impl Fn(&TaskRow) -> bool) -> TaskRow {
        let begun = Instant::now();
        loop {
            let row = self.row(id).await;
            if is_it(&row) {
                return row;
            }
            assert!(begun.elapsed() < PATIENCE, "{what} never came: {row:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    pub async fn ended(&self, id: i64) -> TaskRow {
        self.until(id, "the end", |row| row.state == State::Ended).await
    }

    /// Queues a task and waits for its end.
    pub async fn run(&self, new: NewTask) -> TaskRow {
        let id = self.queue(new).await;
        self.ended(id).await
    }

    /// Stops the runner and waits for it.
    pub async fn close(&mut self) {
        self.stop.cancel();
        if let Some(runner) = self.runner.take() {
            runner.await.expect("the runner ends");
        }
    }

    pub fn work_refs(&self) -> String {
        self.git().git(&["for-each-ref", "--format=%(refname)", "refs/steward/work"])
    }

    pub fn folders(&self) -> Vec<PathBuf> {
        let runs = self.ctx.home.seat_runs();
        let entries = std::fs::read_dir(runs).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.to_string_lossy().contains("task-")).collect()
    }
}

/// The commit that a task wants pushed.
pub fn pushed(row: &TaskRow) -> Sha {
    match &row.result {
        Some(TaskResult::Push { to, .. }) => to.clone(),
        other => panic!("a push: {other:?}, {:?} {:?}", row.end, row.detail),
    }
}

pub fn get_task() -> Turn {
    Turn::tool("mcp__steward__task_get", json!({}))
}

pub fn read(path: &str) -> Turn {
    Turn::tool("Read", json!({"file_path": path}))
}

pub fn edit(path: &str, from: &str, to: &str) -> Turn {
    Turn::tool("Edit", json!({"file_path": path, "old_string": from, "new_string": to}))
}

pub fn write(path: &str, text: &str) -> Turn {
    Turn::tool("Write", json!({"file_path": path, "content": text}))
}

pub fn say_fixed() -> Turn {
    Turn::tool("mcp__steward__fix_submit", json!({"note": "The title was a placeholder; it is Delta now."}))
}

pub fn decide(decision: Value) -> Turn {
    Turn::tool("mcp__steward__triage_submit", decision)
}

pub fn done() -> Turn {
    Turn::text("Handed in.")
}

/// The file of most tests, as an agent behind bubblewrap sees it.
pub const FILE: &str = "/review/tree/data/works/a.json";

/// True where the boundary gives files names of its own, as the scripts of these tests expect.
pub fn has_own_names() -> bool {
    let boundary = steward_core::sandbox::Boundary::choose(&binary::steward());
    let has = matches!(boundary, steward_core::sandbox::Boundary::Bubblewrap { .. });
    if !has {
        eprintln!("skipped: no bubblewrap ({})", boundary.name());
    }
    has
}

/// True while a process has this word in its command line.
pub fn runs(word: &str) -> bool {
    std::fs::read_dir("/proc").expect("the process table").flatten().any(|entry| {
        std::fs::read(entry.path().join("cmdline"))
            .is_ok_and(|line| line.split(|byte| *byte == 0).any(|part| part == word.as_bytes()))
    })
}
