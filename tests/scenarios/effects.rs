//! Effects on the GitHub double: what goes out, once; what does not, and why.

mod deeds;
mod faults;
mod flow;
mod kill;
mod powers;
mod two;
mod vain;
mod whole;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use steward_core::clock::{Clock, SharedClock};
use steward_core::config::ConfigWatch;
use steward_core::github::{Options, Pace, Retry};
use steward_core::home::Home;
use steward_core::keychain::Keychain;
use steward_core::loops::Ctx;
use steward_core::loops::effects::{self as loops, Progress, Sending, powers as in_force};
use steward_core::store::audit::Chain;
use steward_core::store::effects::{self, EffectRow, State};
use steward_core::store::inbox::{EntryRow, Kind, Shelf};
use steward_core::store::reviews::{NewReview, Outcome, RunStart, Submitted, Trigger};
use steward_core::store::tasks::{NewPullTask, PullHead, RunState};
use steward_core::store::{Durability, Store, StoreError, audit, inbox, reviews, tasks};
use steward_github_double::World;
use steward_rules::ids::{PullNumber, RepoName, ReviewId, Sha};
use steward_rules::review::coverage::Coverage;
use steward_rules::review::verdict::Verdict;
use steward_rules::untrusted::Untrusted;

use crate::store::Hand;

const TOKEN: &str = "made-up-token-of-the-effects";
/// The one call under test.
const POST: &str = "POST /repos/{owner}/{repo}/issues/{issue_number}/comments";
const LIST: &str = "GET /repos/{owner}/{repo}/issues/{issue_number}/comments";
const DELETE: &str = "DELETE /repos/{owner}/{repo}/issues/comments/{comment_id}";

/// A world with a repository of `octo` and one pull request of `maria`.
fn world() -> World {
    furnished(World::start())
}

fn furnished(world: World) -> World {
    world.token("octo", TOKEN, &["repo"]);
    let app = world.repo("octo/app");
    app.push("feat", "feat: x", &[("src/x.rs", "x\n")]);
    app.open_pull("maria", "feat", "feat: x");
    world
}

fn host(world: &World) -> String {
    world.base().trim_start_matches("http://").to_owned()
}

fn repo() -> RepoName {
    RepoName::parse("octo/app").unwrap()
}

/// Waits of a test take no time; what GitHub may take is counted on the clock of the test.
fn quick() -> Options {
    let retry = Retry { first: Duration::from_millis(1), jitter: Arc::new(|| 1.0), ..Retry::default() };
    let pace = Pace { apart: Duration::ZERO, per_minute: usize::MAX };
    Options { retry, timeout: Duration::from_secs(20), pace, ..Options::default() }
}

/// One installation of the maintainer `octo`.
struct Office {
    home: Home,
    ctx: Ctx,
    hand: Arc<Hand>,
    host: String,
    _folder: tempfile::TempDir,
}

const ACT: &str = "mode: act, act: [comment_review]";
const SUGGEST: &str = "mode: suggest";

fn config(host: &str, power: &str) -> String {
    format!(
        "accounts: [{{host: \"{host}\", login: octo}}]\n\
         repositories: [{{name: octo/app, account: octo, {power}}}]\n\
         review: {{enabled: true}}\n\
         engine: {{enabled: true}}\n"
    )
}

fn context(home: &Home, clock: SharedClock, options: Options) -> Ctx {
    let store = Store::open(home, clock.clone()).unwrap();
    let watch = ConfigWatch::watch(home, None).unwrap();
    Ctx::new(home.clone(), store, clock, Arc::new(watch), PathBuf::from("/nonexistent/steward"))
        .with_keychain(Keychain::default().with_github_token(Some(TOKEN.to_owned().into())))
        .with_github(options)
}

impl Office {
    /// With these powers, confirmed.
    async fn new(world: &World, power: &str) -> Self {
        Self::with(world, power, quick()).await
    }

    async fn with(world: &World, power: &str, options: Options) -> Self {
        let office = Self::unconfirmed(world, power, options);
        office.confirm().await;
        office
    }

    fn unconfirmed(world: &World, power: &str, options: Options) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::under(folder.path());
        home.create().unwrap();
        let host = host(world);
        std::fs::write(home.config_file(), config(&host, power)).unwrap();
        let hand = Hand::at("2026-11-30T09:00:00Z");
        let ctx = context(&home, hand.clone(), options);
        Self { home, ctx, hand, host, _folder: folder }
    }

    /// Another file in the place of the config.
    fn config(&self, power: &str) {
        std::fs::write(self.home.config_file(), config(&self.host, power)).unwrap();
        self.ctx.config.reread();
    }

    /// The person confirms whatever waits.
    async fn confirm(&self) {
        let waits = in_force::settle(&self.ctx).await.unwrap();
        if let Some(change) = waits.change() {
            in_force::confirm(&self.ctx, &change).await.unwrap();
        }
    }

    /// A review of a pull request is published now, with this summary.
    async fn review_of(&self, number: u64, head: &str, summary: &str) -> ReviewId {
        let new = NewPullTask {
            host: self.host.clone(),
            repository: repo(),
            pull: PullNumber(number as i64),
            seen: PullHead {
                title: Untrusted::new("feat: x"),
                branch: "feat".to_owned(),
                head: Sha::new(head).unwrap(),
                state: RunState::Done,
                updated_at: None,
            },
        };
        let (sha, summary, config) = (new.seen.head.clone(), summary.to_owned(), self.ctx.config());
        self.ctx
            .store
            .write(Durability::Full, move |tx| {
                let (task, _) = tasks::ensure_for_pull(tx, &new)?;
                let id = reviews::insert_queued(
                    tx,
                    &NewReview {
                        task,
                        sha,
                        contract_version: None,
                        ci_fingerprint: "none".to_owned(),
                        trigger: Trigger::Manual,
                        budget_usd: 1.5,
                    },
                )?;
                let start = RunStart {
                    model: None,
                    adapter: "command".to_owned(),
                    boundary: "none".to_owned(),
                    budget_usd: 1.5,
                };
                let said = Submitted {
                    seat_verdict: Verdict::Accepted,
                    summary,
                    coverage: Coverage::default(),
                    lowered_because: Vec::new(),
                };
                let outcome = Outcome {
                    verdict: Verdict::Accepted,
                    cap: Verdict::Accepted,
                    lowered_by: Vec::new(),
                    lowered_because: Vec::new(),
                };
                assert!(reviews::begin_digest(tx, id)?);
                assert!(reviews::begin_run(tx, id, &start)?);
                assert!(reviews::submit(tx, id, &said)?);
                assert!(reviews::publish(tx, id, &outcome)?);
                loops::want_comment(tx, &config, id)?;
                Ok::<_, StoreError>(id)
            })
            .await
            .unwrap()
    }

    /// A review of pull request 1 as it is now.
    async fn review(&self, world: &World) -> ReviewId {
        let head = world.repo("octo/app").pull(1).head();
        self.review_of(1, &head, "Well done.").await
    }

    async fn rows(&self) -> Vec<EffectRow> {
        self.ctx.store.read(|tx| effects::page(tx, false, None, 200)).await.unwrap()
    }

    /// The one effect there is.
    async fn row(&self) -> EffectRow {
        let mut rows = self.rows().await;
        assert_eq!(rows.len(), 1, "{rows:?}");
        rows.remove(0)
    }

    async fn get(&self, id: i64) -> EffectRow {
        self.ctx.store.read(move |tx| effects::get(tx, id)).await.unwrap().unwrap()
    }

    async fn approve(&self, id: i64) {
        let done = self.ctx.store.write(Durability::Full, move |tx| effects::approve(tx, id)).await;
        assert!(done.unwrap());
    }

    /// Takes an effect as far as it goes now.
    async fn drive(&self, id: i64) -> EffectRow {
        let began = self.hand.now();
        let mut sending = Sending::new(id);
        while sending.step(&self.ctx).await.unwrap() == Progress::More {}
        let row = self.get(id).await;
        // Whatever was decided: what is not over has no time that is past, or it would be taken up without a pause.
        assert!(row.state.is_final() || row.retry_at.is_none_or(|at| at > began), "{row:?}");
        row
    }

    /// Takes it to its end, moving the clock to each time it waits for.
    async fn carry(&self, id: i64) -> EffectRow {
        for _ in 0..40 {
            let row = self.drive(id).await;
            let Some(at) = row.retry_at.filter(|_| !row.state.is_final()) else { return row };
            let left = at - self.hand.now();
            self.hand.pass(left.max(chrono::Duration::zero()));
        }
        panic!("it does not come to an end: {:?}", self.get(id).await);
    }

    async fn entries(&self, shelf: Shelf) -> Vec<EntryRow> {
        self.ctx.store.read(move |tx| inbox::page(tx, shelf, None, None, 50)).await.unwrap()
    }

    /// The open suggestions as (title, chip).
    async fn suggestions(&self) -> Vec<(String, String)> {
        let open = self.entries(Shelf::Open).await;
        let mine = open.into_iter().filter(|entry| entry.kind == Kind::Suggestion);
        mine.map(|entry| (entry.title, entry.chip)).collect()
    }

    /// The states the journal went through, oldest first, and that chain and rows agree.
    async fn trail(&self) -> Vec<String> {
        let (chain, other, rows) = self
            .ctx
            .store
            .read(|tx| {
                let rows = audit::page(tx, Some("effect"), None, 500)?;
                Ok::<_, StoreError>((audit::verify(tx)?, effects::disagreement(tx)?, rows))
            })
            .await
            .unwrap();
        assert!(matches!(chain, Chain::Whole { .. }), "{chain:?}");
        assert_eq!(other, None, "the journal and its chain disagree");
        rows.into_iter().rev().map(|row| row.kind.trim_start_matches("effect.").to_owned()).collect()
    }
}

/// Our own comments below a pull request, by id.
fn own(world: &World, number: u64) -> Vec<u64> {
    let all = world.repo("octo/app").pull(number).comments();
    all.into_iter()
        .filter(|(_, author, body)| author == "octo" && body.starts_with("<!-- steward:review"))
        .map(|(id, ..)| id)
        .collect()
}

/// How often something was posted, done or not.
fn posts(world: &World) -> usize {
    world.exchanges().iter().filter(|exchange| exchange.operation == POST).count()
}

async fn eventually(what: &str, mut done: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !done().await {
        assert!(Instant::now() < deadline, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// What a test says of a row: its state and reason.
fn stands(row: &EffectRow) -> (State, Option<&str>) {
    (row.state, row.why.as_deref())
}

fn home_of(path: &Path) -> Home {
    Home::under(path)
}
