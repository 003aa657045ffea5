//! A41 with the real agent CLI in the middle of its work: a pause, the switch and the death of the runtime each end
//! every process of it, push nothing and spend no attempt; afterwards its task is done all the same.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use steward_core::config::ConfigWatch;
use steward_core::home::Home;
use steward_core::loops::engine::tasks;
use steward_core::loops::{Ctx, pause};
use steward_core::store::Store;
use steward_core::store::engine_tasks::ItemKind::Pr;
use steward_core::store::engine_tasks::State;
use steward_kit::claude;
use steward_kit::git::Repo;
use steward_kit::model::{ScriptedModel, Turn};
use steward_kit::process::Running;
use steward_rules::engine::retry::TaskEnd;

use super::walled::{Runner, armed};
use super::*;
use crate::engine_tasks::desk::{done, edit, get_task, has_own_names, read, say_fixed};
use crate::store::Hand;

const FILE: &str = "/review/tree/data/works/b.json";
const CHILD: &str = "STEWARD_TEST_WALLED";
const NOW: &str = "STEWARD_TEST_WALLED_NOW";
/// Turns until the agent has mended the file and waits for its model.
const MENDED: usize = 4;
/// How long an agent may take here.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(120);

fn mends() -> Vec<Turn> {
    vec![get_task(), read(FILE), edit(FILE, "BROKEN", "Bravo"), say_fixed(), done()]
}

/// It mends the file, and then waits for a word of its model that does not come.
fn lingers() -> Vec<Turn> {
    let never = Turn::text("never said").sleeping(std::time::Duration::from_secs(3_600));
    vec![get_task(), read(FILE), edit(FILE, "BROKEN", "Bravo"), never]
}

/// A process: its id, and when it started, so that another one of this id is another.
type Process = (u32, u64);

/// Parent and start of a process that runs.
fn stat(pid: u32) -> Option<(u32, u64)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let rest: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    if matches!(*rest.first()?, "Z" | "X") {
        return None;
    }
    Some((rest.get(1)?.parse().ok()?, rest.get(19)?.parse().ok()?))
}

/// Every process that another one started, and whatever they started.
fn started_by(root: u32) -> Vec<Process> {
    let all: Vec<(u32, u32, u64)> = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid| stat(pid).map(|(parent, start)| (pid, parent, start)))
        .collect();
    let (mut found, mut at) = (vec![(root, 0)], 0);
    while at < found.len() {
        let of = found[at].0;
        found.extend(all.iter().filter(|(_, parent, _)| *parent == of).map(|(pid, _, start)| (*pid, *start)));
        at += 1;
    }
    found.split_off(1)
}

/// Waits until none of them runs any more.
async fn gone(processes: &[Process]) {
    let begun = Instant::now();
    while processes.iter().any(|(pid, start)| stat(*pid).is_some_and(|(_, now)| now == *start)) {
        assert!(begun.elapsed() < std::time::Duration::from_secs(10), "it lives on: {processes:?}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

/// Waits until the agent has mended the file and waits for its model; its processes.
async fn mended(runtime: &Running, model: &ScriptedModel) -> Vec<Process> {
    let begun = Instant::now();
    while model.turns_asked().len() < MENDED {
        assert!(begun.elapsed() < PATIENCE, "the agent never came so far");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let processes = started_by(runtime.id());
    assert!(processes.len() >= 2, "the wall and the agent: {processes:?}");
    processes
}

/// Nothing of a task is out, or on its way.
async fn nothing_went_out(den: &Den, pull: &PullVerbs<'_>, head: &str) {
    assert_eq!(pull.head(), head);
    let sent = den.writes();
    assert!(sent.iter().all(|one| one.contains("rerun-failed-jobs")), "{sent:?}");
    assert_eq!(den.effects(EffectClass::PushFix).await, []);
    let work = den.clone().git(&["for-each-ref", "--format=%(refname)", "refs/steward/work"]);
    assert_eq!(work, "", "no commit is kept");
}

impl Den {
    /// Our own clone.
    fn clone(&self) -> Repo {
        let ctx = &self.desk.ctx;
        let git = ctx.git().unwrap();
        let host = self.desk.host();
        let clone = steward_core::git::BareClone::open_alone(&git, &ctx.home.clones(), &host, &name());
        Repo::at(clone.unwrap().dir())
    }

    /// The task is done after all, by an agent that is let work, and pushed.
    async fn is_mended_after_all(&self, program: &Path, pull: &PullVerbs<'_>, head: &str) {
        let _model = self.seat("fixer", program, mends()).await;
        self.worked(Pr, pull.number(), TaskEnd::Pushed).await;
        self.steps(2).await;
        assert_ne!(pull.head(), head);
        let item = self.item(pull.number()).await;
        assert_eq!((item.attempts.spent, item.stuck), (1, false), "one attempt, the one that ran to its end");
        self.desk.world.assert_contract();
    }
}

#[tokio::test]
async fn a41_a_pause_and_the_switch_end_the_real_agent_with_all_its_processes_and_nothing_is_spent() {
    let Some(program) = claude::find_or_say().filter(|_| has_own_names()) else { return };
    for is_switch in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let den = Den::walled(folder.path()).await;
        let pull = den.red(101).await;
        let (number, head) = (pull.number(), pull.head());
        let model = den.seat("fixer", &program, lingers()).await;
        let mut runtime = runtime(&den);
        let processes = mended(&runtime, &model).await;
        let file = den.desk.home.config_file();
        let on = std::fs::read_to_string(&file).unwrap();
        if is_switch {
            std::fs::write(&file, on.replace("enabled: true", "enabled: false")).unwrap();
            den.desk.ctx.config.reread();
        } else {
            drop(pause::pause(&den.desk.ctx, "dinner").await.unwrap());
        }
        gone(&processes).await;
        let begun = Instant::now();
        while den.task(Pr, number).await.state != State::Ended {
            assert!(begun.elapsed() < PATIENCE, "its row never ended");
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        let task = den.task(Pr, number).await;
        assert_eq!((task.end, task.result), (Some(TaskEnd::Killed), None), "{:?}", task.detail);
        // Meanwhile it goes nowhere, and the runtime lives on.
        for _ in 0..2 {
            den.tick().await;
            den.send().await;
        }
        nothing_went_out(&den, &pull, &head).await;
        assert_eq!(started_by(runtime.id()), [], "nothing is left, and nothing starts");
        assert!(runtime.try_wait().unwrap().is_none());
        runtime.kill().unwrap();
        runtime.wait().unwrap();
        if is_switch {
            std::fs::write(&file, on).unwrap();
            den.desk.ctx.config.reread();
        } else {
            assert!(pause::resume(&den.desk.ctx).await.unwrap());
        }
        den.tick().await;
        den.tick().await;
        assert_eq!(den.item(number).await.attempts.spent, 0);
        den.is_mended_after_all(&program, &pull, &head).await;
    }
}

#[tokio::test]
async fn a_real_agent_whose_pull_request_is_closed_or_pushed_to_meanwhile_is_ended_and_nothing_is_spent() {
    let Some(program) = claude::find_or_say().filter(|_| has_own_names()) else { return };
    for (is_closed, end) in [(true, TaskEnd::PullClosed), (false, TaskEnd::LeaseRejected)] {
        let folder = tempfile::tempdir().unwrap();
        let den = Den::walled(folder.path()).await;
        let pull = den.red(101).await;
        let model = den.seat("fixer", &program, lingers()).await;
        let mut runtime = runtime(&den);
        let processes = mended(&runtime, &model).await;
        if is_closed {
            pull.close("maria");
        } else {
            let mine = ("data/works/b.json", "{\"b\": {\"v\": 3}}\n");
            den.app().push("intake/issue-101", "data: mine", &[mine]);
        }
        let head = pull.head();
        den.tick().await;
        gone(&processes).await;
        let begun = Instant::now();
        while den.task(Pr, pull.number()).await.state != State::Ended {
            assert!(begun.elapsed() < PATIENCE, "its row never ended");
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        runtime.kill().unwrap();
        runtime.wait().unwrap();
        let task = den.task(Pr, pull.number()).await;
        assert_eq!((task.end, task.result), (Some(end), None), "{:?}", task.detail);
        for _ in 0..2 {
            den.tick().await;
            den.send().await;
        }
        nothing_went_out(&den, &pull, &head).await;
        let item = den.kept(ItemKind::Pr, pull.number()).await.unwrap();
        assert_eq!((item.attempts.spent, den.tasks(pull.number()).await.len()), (0, 1), "{}", item.state);
        den.desk.world.assert_contract();
    }
}

/// The child: runs tasks until it is killed.
#[test]
fn child_runner() {
    let (Some(root), Some(now)) = (std::env::var_os(CHILD), std::env::var(NOW).ok()) else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let home = Home::under(Path::new(&root));
        let hand = Hand::at(&now);
        let store = Store::open(&home, hand.clone()).unwrap();
        let config = Arc::new(ConfigWatch::open(&home, None));
        let ctx = armed(Ctx::new(home, store, hand, config, "/nowhere/steward".into()));
        tasks::recover(&ctx).await.unwrap();
        let runner = Runner::start(ctx);
        loop {
            runner.wake();
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    });
}

/// A runtime of its own over the den.
fn runtime(den: &Den) -> Running {
    Running::start(
        Command::new(std::env::current_exe().unwrap())
            .args(["engine_loop::stopped::child_runner", "--exact", "--nocapture"])
            .env(CHILD, den.desk.home.data_dir())
            .env(NOW, den.desk.now().to_rfc3339())
            .stdout(Stdio::null())
            .stderr(Stdio::null()),
    )
}

#[tokio::test]
async fn a_runtime_that_is_killed_takes_the_real_agent_with_it_and_the_next_one_does_its_task() {
    let Some(program) = claude::find_or_say().filter(|_| has_own_names()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let den = Den::walled(folder.path()).await;
    let pull = den.red(101).await;
    let (number, head) = (pull.number(), pull.head());
    let model = den.seat("fixer", &program, lingers()).await;
    let mut first = runtime(&den);
    let processes = mended(&first, &model).await;
    first.kill().unwrap();
    first.wait().unwrap();
    gone(&processes).await;
    assert_eq!(den.task(Pr, number).await.state, State::Running, "nobody was left to say that it ended");
    nothing_went_out(&den, &pull, &head).await;
    // The next one finds it, and puts it back before anything else.
    tasks::recover(&den.desk.ctx).await.unwrap();
    let task = den.task(Pr, number).await;
    assert_eq!((task.state, task.waits.is_some()), (State::Queued, true));
    let left = std::fs::read_dir(den.desk.home.seat_runs()).unwrap().flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    assert!(!left.iter().any(|one| one.starts_with("task-")), "its folder is swept: {left:?}");
    den.tick().await;
    assert_eq!((den.tasks(number).await.len(), den.item(number).await.attempts.spent), (1, 0));
    den.is_mended_after_all(&program, &pull, &head).await;
    assert_eq!(den.tasks(number).await.len(), 1, "one task, from its begin to its end");
}
