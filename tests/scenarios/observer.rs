//! The observer on the GitHub double: what it sees, what it costs, and what it does when GitHub fails.

mod apart;
mod cost;
mod faults;
mod hosted;

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use secrecy::SecretString;
use steward_core::clock::Clock;
use steward_core::config::ConfigWatch;
use steward_core::github::{Options, Pace, Retry};
use steward_core::home::Home;
use steward_core::keychain::Keychain;
use steward_core::loops::Ctx;
use steward_core::loops::observer::Observer;
use steward_core::loops::observer::standing::{self, Standing};
use steward_core::store::issues::IssueState;
use steward_core::store::pulls::{PullRow, PullState};
use steward_core::store::repositories::RepositoryRow;
use steward_core::store::tasks::{RunState, TaskRow};
use steward_core::store::{Store, issues, outbox, pulls, repositories, tasks};
use steward_github_double::{RepoVerbs, World};
use steward_rules::ids::{PullNumber, RepoName};
use steward_rules::observing::ObserverState;

use crate::store::{Hand, fresh};

const TOKEN: &str = "made-up-token-of-this-test";

/// A maintainer who watches repositories of the double.
pub(crate) struct Desk {
    pub world: World,
    pub home: Home,
    pub hand: Arc<Hand>,
    pub ctx: Ctx,
    pub observer: tokio::sync::Mutex<Observer>,
    _folder: tempfile::TempDir,
}

/// Waits of a test take no time, but are counted in tries as ever.
pub(crate) fn quick() -> Options {
    let retry = Retry { first: Duration::from_millis(1), jitter: Arc::new(|| 1.0), ..Retry::default() };
    // The steady clock of this machine does not pass with a test's hand; writes are kept apart by the guard.
    let pace = Pace { apart: Duration::ZERO, per_minute: usize::MAX };
    Options { retry, timeout: Duration::from_secs(60), pace, ..Options::default() }
}

fn name(text: &str) -> RepoName {
    RepoName::parse(text).unwrap()
}

impl Desk {
    /// A desk that watches these repositories of a new world.
    pub(crate) fn watching(names: &[&str]) -> Self {
        let world = World::start();
        world.token("octo", TOKEN, &["repo"]);
        for name in names {
            world.repo(name);
        }
        Self::of(world, names)
    }

    pub(crate) fn of(world: World, names: &[&str]) -> Self {
        let (_folder, home) = fresh();
        let hand = Hand::at("2026-11-30T10:00:00Z");
        let store = Store::open(&home, hand.clone()).unwrap();
        write_config(&home, &world, names);
        let config = Arc::new(ConfigWatch::open(&home, None));
        assert!(config.current().problems.is_empty(), "{:?}", config.current().problems);
        let keychain = Keychain::default().with_github_token(Some(SecretString::from(TOKEN)));
        let ctx = Ctx::new(home.clone(), store, hand.clone(), config, "/nowhere/steward".into())
            .with_keychain(keychain)
            .with_github(quick());
        let observer = tokio::sync::Mutex::new(Observer::new(ctx.clone()));
        Self { world, home, hand, ctx, observer, _folder }
    }

    /// The host as the config file names it.
    pub(crate) fn host(&self) -> String {
        host_of(&self.world)
    }

    /// Lets the interval pass and looks.
    pub(crate) async fn tick(&self) -> Standing {
        self.pass(chrono::Duration::minutes(10));
        self.turn().await
    }

    /// Time passes here and on GitHub.
    pub(crate) fn pass(&self, time: chrono::Duration) {
        self.hand.pass(time);
        self.world.advance(time.to_std().unwrap());
    }

    /// Looks at whatever is due.
    pub(crate) async fn turn(&self) -> Standing {
        self.observer.lock().await.whole_turn().await.unwrap();
        self.standing().await
    }

    pub(crate) async fn standing(&self) -> Standing {
        self.ctx.store.read(standing::current).await.unwrap()
    }

    pub(crate) async fn repository(&self, repo: &str) -> RepositoryRow {
        let (host, name) = (self.host(), name(repo));
        let found = self.ctx.store.read(move |tx| repositories::find(tx, &host, &name)).await;
        found.unwrap().unwrap()
    }

    pub(crate) async fn pull(&self, repo: &str, number: u64) -> Option<PullRow> {
        let (host, name, number) = (self.host(), name(repo), PullNumber(number as i64));
        self.ctx.store.read(move |tx| pulls::find(tx, &host, &name, number)).await.unwrap()
    }

    /// The open pull requests and issues of a repository, by number.
    pub(crate) async fn open(&self, repo: &str) -> (Vec<i64>, Vec<i64>) {
        let id = self.repository(repo).await.id;
        let read = move |tx: &steward_core::store::ReadTx<'_>| {
            Ok::<_, steward_core::store::StoreError>((pulls::open_of(tx, id)?, issues::open_of(tx, id)?))
        };
        let (pulls, issues) = self.ctx.store.read(read).await.unwrap();
        let mut pulls: Vec<i64> = pulls.iter().map(|pull| pull.number.0).collect();
        let mut issues: Vec<i64> = issues.iter().map(|issue| issue.number).collect();
        pulls.sort_unstable();
        issues.sort_unstable();
        (pulls, issues)
    }

    pub(crate) async fn task(&self, repo: &str, number: u64) -> Option<TaskRow> {
        let (host, name, number) = (self.host(), name(repo), PullNumber(number as i64));
        self.ctx.store.read(move |tx| tasks::find_by_pull(tx, &host, &name, number)).await.unwrap()
    }

    pub(crate) async fn last_topic(&self) -> i64 {
        self.ctx.store.last_topic().await.unwrap()
    }

    /// The tasks told of since this topic.
    pub(crate) async fn told(&self, since: i64) -> Vec<String> {
        let names = self.ctx.store.read(move |tx| outbox::since(tx, since)).await.unwrap().names;
        let mut tasks: Vec<String> = names.into_iter().filter(|name| name.starts_with("task:")).collect();
        tasks.sort();
        tasks
    }

    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.hand.now()
    }
}

pub(crate) fn host_of(world: &World) -> String {
    world.base().trim_start_matches("http://").to_owned()
}

pub(crate) fn write_config(home: &Home, world: &World, names: &[&str]) {
    let repositories: String = names.iter().map(|name| format!("  - name: {name}\n")).collect();
    let text = format!(
        "accounts:\n  - host: \"{}\"\n    login: octo\nrepositories:\n{repositories}",
        host_of(world)
    );
    std::fs::write(home.config_file(), text).unwrap();
}

/// Opens a pull request with one new file.
pub(crate) fn open_pull(repo: &RepoVerbs<'_>, branch: &str) -> u64 {
    repo.push(branch, &format!("feat: {branch}"), &[(&format!("{branch}.txt"), "x\n")]);
    repo.open_pull("octo", branch, &format!("feat: {branch}")).number()
}

#[tokio::test]
async fn a_first_look_sees_everything_that_is_open_and_makes_a_task_of_each_pull_request() {
    let desk = Desk::watching(&["octo/app", "octo/empty"]);
    let app = desk.world.repo("octo/app");
    let one = open_pull(&app, "one");
    let two = open_pull(&app, "two");
    app.pull(two).draft().label("bug").title("feat: \u{202e}two");
    let closed = open_pull(&app, "closed");
    app.pull(closed).close("octo");
    let issue = app.open_issue("maria", "it breaks", "").label("bug").number();
    let head = app.pull(one).head();
    app.check(&head, "build").succeeds();

    let standing = desk.turn().await;
    assert_eq!((standing.state, standing.problem), (ObserverState::Waiting, None));
    assert_eq!(standing.last_tick, Some(desk.now()));
    assert_eq!(standing.next_tick, Some(desk.now() + chrono::Duration::minutes(10)));
    assert_eq!(desk.open("octo/app").await, (vec![one as i64, two as i64], vec![issue as i64]));
    assert_eq!(desk.open("octo/empty").await, (vec![], vec![]));
    let row = desk.repository("octo/app").await;
    assert_eq!((row.observed_at, row.fault.as_ref()), (Some(desk.now()), None));
    let seen = row.seen.unwrap();
    assert_eq!((seen.default_branch.as_deref(), seen.now_called), (Some("main"), None));
    assert_eq!((seen.private, seen.archived, seen.permission.as_deref()), (false, false, Some("ADMIN")));

    let pull = desk.pull("octo/app", one).await.unwrap();
    assert_eq!((pull.head.as_str(), pull.rollup.as_deref()), (head.as_str(), Some("SUCCESS")));
    assert_eq!((pull.head_branch.as_str(), pull.base_branch.as_str()), ("one", "main"));
    assert_eq!((pull.author.as_str(), pull.head_repository.as_deref()), ("octo", Some("octo/app")));
    assert_eq!((pull.head_seen_at, pull.seen_at), (desk.now(), desk.now()));
    let pull = desk.pull("octo/app", two).await.unwrap();
    assert_eq!((pull.draft, pull.labels), (true, vec!["bug".to_owned()]));
    assert!(desk.pull("octo/app", closed).await.is_none());

    let task = desk.task("octo/app", one).await.unwrap();
    assert_eq!((task.state, task.branch.as_deref()), (RunState::Done, Some("one")));
    assert_eq!(task.head.map(|head| head.to_string()), Some(head));
    let task = desk.task("octo/app", two).await.unwrap();
    assert!(task.state == RunState::Running && !task.title.contains('\u{202e}'), "{task:?}");
    assert!(desk.task("octo/app", closed).await.is_none());
    desk.world.assert_contract();
}

#[tokio::test]
async fn a_look_tells_the_tasks_of_what_moved_and_no_others() {
    let desk = Desk::watching(&["octo/app"]);
    let app = desk.world.repo("octo/app");
    let numbers: Vec<u64> = ["quiet", "pushed", "checked", "renamed", "merged", "closed"]
        .map(|branch| open_pull(&app, branch))
        .to_vec();
    desk.turn().await;
    let id =
        async |desk: &Desk, number: u64| format!("task:{}", desk.task("octo/app", number).await.unwrap().id);
    let first = desk.now();

    let pushed = app.push("pushed", "feat: more", &[("more.txt", "x\n")]);
    app.check(&app.pull(numbers[2]).head(), "build").fails();
    app.pull(numbers[3]).title("feat: another name");
    app.pull(numbers[4]).merge("octo");
    app.pull(numbers[5]).close("octo");
    let fresh = open_pull(&app, "fresh");
    let issue = app.open_issue("maria", "new", "").number();
    let before = desk.last_topic().await;
    let standing = desk.tick().await;
    assert_eq!(standing.state, ObserverState::Waiting);

    let open = [numbers[0], numbers[1], numbers[2], numbers[3], fresh].map(|number| number as i64).to_vec();
    assert_eq!(desk.open("octo/app").await, (open, vec![issue as i64]));
    let mut told = Vec::new();
    for number in [1, 2, 3, 4, 5].map(|index| numbers[index]).into_iter().chain([fresh]) {
        told.push(id(&desk, number).await);
    }
    told.sort();
    // The base moved by the merge, which is news for everybody who is judged against it.
    let quiet = id(&desk, numbers[0]).await;
    let found: Vec<String> = desk.told(before).await.into_iter().filter(|name| *name != quiet).collect();
    assert_eq!(found, told);
    let state = async |desk: &Desk, number| desk.pull("octo/app", number).await.unwrap().state;
    assert_eq!(state(&desk, numbers[4]).await, PullState::Merged);
    assert_eq!(state(&desk, numbers[5]).await, PullState::Closed);
    let row = desk.pull("octo/app", numbers[1]).await.unwrap();
    assert_eq!((row.head.as_str(), row.head_seen_at), (pushed.as_str(), desk.now()));
    assert_eq!(desk.task("octo/app", numbers[1]).await.unwrap().head.unwrap().as_str(), pushed);
    let row = desk.pull("octo/app", numbers[2]).await.unwrap();
    assert_eq!((row.rollup.as_deref(), row.head_seen_at), (Some("FAILURE"), first));
    assert_eq!(desk.task("octo/app", numbers[3]).await.unwrap().title, "feat: another name");

    // A second look at the same says nothing to anybody.
    let before = desk.last_topic().await;
    desk.tick().await;
    assert_eq!(desk.told(before).await, Vec::<String>::new());
    assert_eq!(desk.pull("octo/app", numbers[0]).await.unwrap().seen_at, desk.now());
    // Reopened, it is followed again by the task it had.
    let task = id(&desk, numbers[5]).await;
    app.pull(numbers[5]).reopen("octo");
    desk.tick().await;
    assert_eq!(state(&desk, numbers[5]).await, PullState::Open);
    assert_eq!(id(&desk, numbers[5]).await, task);
}

#[tokio::test]
async fn issues_are_followed_by_the_search_alone() {
    let desk = Desk::watching(&["octo/app", "octo/lib"]);
    let (app, lib) = (desk.world.repo("octo/app"), desk.world.repo("octo/lib"));
    let old = app.open_issue("maria", "old", "");
    desk.turn().await;
    desk.world.mark();
    let new = lib.open_issue("maria", "new", "").label("bug");
    old.close("maria");
    desk.tick().await;
    assert_eq!(desk.open("octo/app").await.1, Vec::<i64>::new());
    assert_eq!(desk.open("octo/lib").await.1, [new.number() as i64]);
    assert_eq!(desk.world.tally().requests, 2, "{:?}", desk.world.tally().by_operation);
    old.reopen("maria");
    desk.tick().await;
    assert_eq!(desk.open("octo/app").await.1, [1]);
}

#[tokio::test]
async fn what_a_lagging_index_hides_is_found_by_githubs_own_counts() {
    let desk = Desk::watching(&["octo/app"]);
    let app = desk.world.repo("octo/app");
    let closing = app.open_issue("maria", "closing", "");
    desk.turn().await;
    desk.world.index_stops();
    let pull = open_pull(&app, "hidden");
    let issue = app.open_issue("maria", "hidden", "").number();
    closing.close("maria");
    let standing = desk.tick().await;
    assert_eq!(standing.state, ObserverState::Waiting);
    assert_eq!(desk.open("octo/app").await, (vec![pull as i64], vec![issue as i64]));
    // And once it is known, nothing more is asked than in any quiet look.
    desk.world.mark();
    desk.tick().await;
    assert_eq!(desk.world.tally().requests, 2, "{:?}", desk.world.tally().by_operation);
    desk.world.index_goes_on();
    desk.tick().await;
    assert_eq!(desk.open("octo/app").await, (vec![pull as i64], vec![issue as i64]));
}

#[tokio::test]
async fn a_repository_that_moved_keeps_its_rows_and_says_its_new_name() {
    let desk = Desk::watching(&["octo/app"]);
    let app = desk.world.repo("octo/app");
    let number = open_pull(&app, "one");
    desk.turn().await;
    let task = desk.task("octo/app", number).await.unwrap().id;
    let moved = app.rename("octo/renamed");
    let more = open_pull(&moved, "two");
    let standing = desk.tick().await;
    assert_eq!(standing.state, ObserverState::Waiting, "{standing:?}");
    let row = desk.repository("octo/app").await;
    assert_eq!(row.seen.unwrap().now_called.as_deref(), Some("octo/renamed"));
    assert_eq!(desk.open("octo/app").await.0, [number as i64, more as i64]);
    assert_eq!(desk.task("octo/app", number).await.unwrap().id, task);
}

#[tokio::test]
async fn a_repository_that_cannot_be_seen_keeps_its_pull_requests_and_holds_up_no_other() {
    let world = World::start();
    world.token("octo", TOKEN, &["repo"]);
    let (theirs, ours) = (world.repo("maria/tool"), world.repo("octo/app"));
    let (hidden, seen) = (open_pull(&theirs, "theirs"), open_pull(&ours, "ours"));
    let desk = Desk::of(world, &["maria/tool", "octo/app", "octo/never"]);
    let standing = desk.turn().await;
    assert_eq!(standing.state, ObserverState::Incomplete);
    let fault = async |desk: &Desk, repo: &str| desk.repository(repo).await.fault.map(|fault| fault.slug);
    assert_eq!(fault(&desk, "octo/never").await.as_deref(), Some("not_found"));
    assert_eq!(desk.repository("octo/never").await.observed_at, None);
    assert_eq!(standing.problem.unwrap().code, "not_found");
    assert_eq!(fault(&desk, "octo/app").await, None);

    let first = desk.now();
    desk.world.repo("maria/tool").private();
    let more = open_pull(&desk.world.repo("octo/app"), "more");
    let before = desk.last_topic().await;
    let standing = desk.tick().await;
    assert_eq!(standing.state, ObserverState::Incomplete);
    assert_eq!(fault(&desk, "maria/tool").await.as_deref(), Some("not_found"));
    assert_eq!(desk.repository("maria/tool").await.observed_at, Some(first));
    assert_eq!(desk.open("maria/tool").await.0, [hidden as i64], "nothing leaves the list");
    assert_eq!(desk.open("octo/app").await.0, [seen as i64, more as i64]);
    let task = desk.task("maria/tool", hidden).await.unwrap().id;
    assert!(!desk.told(before).await.contains(&format!("task:{task}")));
}

#[tokio::test]
async fn a_fork_and_its_deleted_home_are_seen_as_they_are() {
    let desk = Desk::watching(&["octo/app"]);
    let app = desk.world.repo("octo/app");
    let fork = app.fork("maria");
    fork.push("idea", "feat: idea", &[("idea.txt", "x\n")]);
    let number = app.open_pull_from("maria", "maria/app", "idea", "main", "feat: idea").number();
    desk.turn().await;
    let row = desk.pull("octo/app", number).await.unwrap();
    assert_eq!((row.author.as_str(), row.head_repository.as_deref()), ("maria", Some("maria/app")));
    fork.delete();
    desk.world.forget_user("maria");
    app.pull(number).title("feat: an idea of nobody");
    desk.tick().await;
    let row = desk.pull("octo/app", number).await.unwrap();
    assert_eq!((row.author.as_str(), row.head_repository, row.state), ("ghost", None, PullState::Open));
}

#[tokio::test]
async fn an_issue_that_left_the_list_is_asked_for_before_it_goes() {
    let desk = Desk::watching(&["octo/app"]);
    let app = desk.world.repo("octo/app");
    let issue = app.open_issue("maria", "one", "");
    desk.turn().await;
    desk.tick().await;
    desk.tick().await;
    desk.world.index_stops();
    issue.close("maria");
    desk.world.mark();
    desk.tick().await;
    assert_eq!(desk.world.tally().by_operation["GET /repos/{owner}/{repo}/issues/{issue_number}"], 1);
    let id = desk.repository("octo/app").await.id;
    let row = desk.ctx.store.read(move |tx| issues::get(tx, id, 1)).await.unwrap().unwrap();
    assert_eq!(row.state, IssueState::Closed);
}

#[tokio::test]
async fn lists_are_read_again_once_a_day_one_repository_at_a_time() {
    let desk = Desk::watching(&["octo/a", "octo/b", "octo/c"]);
    for repo in ["octo/a", "octo/b", "octo/c"] {
        open_pull(&desk.world.repo(repo), "one");
    }
    desk.turn().await;
    let first = desk.now();
    desk.pass(chrono::Duration::hours(23));
    desk.turn().await;
    desk.pass(chrono::Duration::minutes(61));
    desk.world.mark();
    let mut requests = Vec::new();
    for _ in 0..4 {
        desk.turn().await;
        requests.push(desk.world.tally().requests);
        desk.world.mark();
        desk.pass(chrono::Duration::minutes(10));
    }
    assert_eq!(requests, [4, 4, 4, 2], "a list of pull requests and one of issues more");
    for repo in ["octo/a", "octo/b", "octo/c"] {
        let row = desk.repository(repo).await;
        assert!(row.progress.listed_at.unwrap() > first, "{repo}");
    }
    // After a week away everything is listed at once, since a search would have to go too far back.
    desk.pass(chrono::Duration::days(7));
    desk.turn().await;
    let now = desk.now();
    for repo in ["octo/a", "octo/b", "octo/c"] {
        assert_eq!(desk.repository(repo).await.progress.listed_at, Some(now), "{repo}");
    }
}
