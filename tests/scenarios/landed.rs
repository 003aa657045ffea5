//! The proof of merges on real git and the GitHub double: what is let through, what is caught, what is said.

mod clean;
mod incident;
mod kill;
mod undecided;

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use secrecy::SecretString;
use steward_core::clock::SharedClock;
use steward_core::config::ConfigWatch;
use steward_core::github::{Options, Retry};
use steward_core::home::Home;
use steward_core::keychain::Keychain;
use steward_core::loops::{Ctx, landed};
use steward_core::store::inbox::{EntryRow, Kind, Shelf};
use steward_core::store::landings::{self, Freeze, LandingRow, State};
use steward_core::store::{ReadTx, Store, StoreError, audit, inbox, notices, repositories};
use steward_github_double::RepoVerbs;
use steward_rules::ids::{PullNumber, RepoName};
use tokio_util::sync::CancellationToken;

use crate::observer::{Desk, open_pull};

const REPO: &str = "octo/app";

fn name() -> RepoName {
    RepoName::parse(REPO).unwrap()
}

/// A desk that watches one repository, in which two pull requests were seen: each adds a file.
async fn two_open() -> (Desk, [u64; 2]) {
    let desk = Desk::watching(&[REPO]);
    let app = desk.world.repo(REPO);
    let numbers = [open_pull(&app, "one"), open_pull(&app, "two")];
    desk.turn().await;
    (desk, numbers)
}

/// Proves what is due; when the next is.
async fn prove(desk: &Desk) -> Option<DateTime<Utc>> {
    landed::pass(&desk.ctx, &CancellationToken::new()).await.unwrap()
}

/// One tick of the observer, and the proofs it calls for.
async fn tick(desk: &Desk) {
    desk.tick().await;
    prove(desk).await;
}

async fn read<T: Send + 'static>(
    desk: &Desk,
    read: impl FnOnce(&ReadTx<'_>) -> Result<T, StoreError> + Send + 'static,
) -> T {
    desk.ctx.store.read(read).await.unwrap()
}

async fn landing(desk: &Desk, number: u64) -> Option<LandingRow> {
    let host = desk.host();
    read(desk, move |tx| {
        let row = repositories::find(tx, &host, &name())?.unwrap();
        landings::get(tx, row.id, PullNumber(number as i64))
    })
    .await
}

/// How the proof of a pull request stands: its state, its method, and where it differs.
async fn said(desk: &Desk, number: u64) -> (State, String, Vec<String>) {
    let row = landing(desk, number).await.unwrap();
    (row.state, row.method.unwrap_or_default(), row.paths)
}

async fn frozen(desk: &Desk) -> Option<Freeze> {
    let host = desk.host();
    read(desk, move |tx| landings::frozen(tx, &host, &name())).await
}

async fn entries(desk: &Desk, kind: Kind, shelf: Shelf) -> Vec<EntryRow> {
    let all = read(desk, move |tx| inbox::page(tx, shelf, None, None, 100)).await;
    all.into_iter().filter(|entry| entry.kind == kind).collect()
}

async fn audited(desk: &Desk, kind: &'static str) -> Vec<String> {
    let rows = read(desk, move |tx| audit::page(tx, Some(kind), None, 100)).await;
    rows.into_iter().map(|row| format!("{} {}", row.actor, row.subject)).collect()
}

/// That one alarm was raised, over this pull request and these paths, and said once everywhere.
async fn one_alarm(desk: &Desk, number: u64, paths: &[&str]) {
    let (state, _, found) = said(desk, number).await;
    assert_eq!((state, found), (State::Different, paths.iter().map(|path| (*path).to_owned()).collect()));
    let freeze = frozen(desk).await.expect("merging is frozen");
    let incidents = entries(desk, Kind::Incident, Shelf::Open).await;
    let [entry] = incidents.as_slice() else { panic!("one entry: {incidents:?}") };
    assert_eq!((entry.title.as_str(), entry.chip.as_str()), (freeze.why.as_str(), "FROZEN"));
    assert_eq!(entry.target, format!("repository/{REPO}?landed={number}"));
    for said in [&format!("#{number} "), paths[0]] {
        assert!(entry.title.contains(said), "{said}: {}", entry.title);
    }
    let target = entry.target.clone();
    assert_eq!(read(desk, move |tx| notices::count_for(tx, &target)).await, 1);
    let subject = format!("runtime {}/{REPO}#{number}", desk.host());
    assert_eq!(audited(desk, "landed.different").await, [subject]);
}

/// That nothing was said to anybody.
async fn all_quiet(desk: &Desk) {
    assert_eq!(frozen(desk).await, None);
    for kind in [Kind::Incident, Kind::Stuck] {
        assert_eq!(entries(desk, kind, Shelf::Open).await, []);
    }
    assert_eq!(audited(desk, "landed").await, Vec::<String>::new());
}

/// Another process of the same installation, with a token of its own.
fn beside(desk: &Desk, token: &'static str) -> Ctx {
    desk.world.token("octo", token, &["repo"]);
    context(&desk.home, desk.hand.clone(), token)
}

fn context(home: &Home, clock: SharedClock, token: &'static str) -> Ctx {
    let store = Store::open(home, clock.clone()).unwrap();
    let retry = Retry { first: Duration::from_millis(1), jitter: Arc::new(|| 1.0), ..Retry::default() };
    let options = Options { retry, timeout: Duration::from_secs(60), ..Options::default() };
    Ctx::new(home.clone(), store, clock, Arc::new(ConfigWatch::open(home, None)), "/nowhere/steward".into())
        .with_keychain(Keychain::default().with_github_token(Some(SecretString::from(token))))
        .with_github(options)
}

/// Opens a pull request of these commits, each with its files.
fn open_of(repo: &RepoVerbs<'_>, branch: &str, commits: &[&[(&str, &str)]]) -> u64 {
    for (at, files) in commits.iter().enumerate() {
        repo.push(branch, &format!("feat: {branch} {at}"), files);
    }
    repo.open_pull("octo", branch, &format!("feat: {branch}")).number()
}
