//! What one tick of the engine over everything costs: 2,000 open pull requests in 50 repositories, one in a
//! hundred changed (security.md 6).
//!
//! Processor time and memory of this process, the GitHub double in it, without its gits; requests as the double
//! counts them. Run with `cargo xtask bench engine`; it writes `benches/results/engine.json` and
//! `docs/benchmarks-engine.md`, and fails when a goal is missed.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use chrono::{DateTime, Utc};
use nix::sys::resource::{UsageWho, getrusage};
use secrecy::SecretString;
use serde_json::json;
use steward_core::clock::Clock;
use steward_core::config::ConfigWatch;
use steward_core::github::Options;
use steward_core::home::Home;
use steward_core::keychain::Keychain;
use steward_core::loops::observer::Observer;
use steward_core::loops::{Ctx, engine};
use steward_core::store::{Store, engine_items, repositories};
use steward_github_double::{Tally, World};
use steward_rules::ids::RepoName;
use tokio_util::sync::CancellationToken;

const TOKEN: &str = "made-up-token-of-this-benchmark";
const REPOSITORIES: usize = 50;
const PULLS: u64 = 40;
/// Seconds of processor time, and megabytes (security.md 6).
const GOAL: (f64, u64) = (60.0, 250);

/// A clock that is moved by hand.
struct Hand(Mutex<DateTime<Utc>>);

impl Hand {
    fn pass(&self, time: chrono::Duration) {
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) += time;
    }
}

impl Clock for Hand {
    fn now(&self) -> DateTime<Utc> {
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

struct Desk {
    world: World,
    names: Vec<String>,
    host: String,
    hand: Arc<Hand>,
    ctx: Ctx,
    observer: Observer,
    _folder: tempfile::TempDir,
}

/// One tick over everything.
struct Tick {
    cpu: f64,
    wall: f64,
    look: Tally,
    engine: Tally,
}

#[tokio::main]
async fn main() -> Result<()> {
    // `cargo test --benches` and nextest's listing start us too; they want no measurement.
    if !std::env::args().any(|argument| argument == "--bench") {
        return Ok(());
    }
    let mut desk = Desk::new()?;
    // The first readings take some hours of GitHub's quota.
    for round in 0..48 {
        desk.tick(60).await?;
        let left = desk.unread().await?;
        eprintln!("after {} ticks: {left} not read yet", round + 1);
        if left == 0 {
            break;
        }
    }
    ensure!(desk.unread().await? == 0, "not everything was read");
    desk.tick(60).await?;
    let quiet = desk.tick(10).await?;
    let changed = REPOSITORIES as u64 * PULLS / 100;
    desk.change(changed);
    let before = memory("VmRSS:");
    let busy = desk.tick(10).await?;
    let after = memory("VmRSS:");
    report(&quiet, &busy, changed, before, after)?;
    ensure!(quiet.engine.requests == 0, "a quiet tick asked {} times", quiet.engine.requests);
    ensure!(busy.cpu < GOAL.0, "the tick took {:.1} s of work", busy.cpu);
    ensure!(after.saturating_sub(before) < GOAL.1, "the tick took {} MB more", after.saturating_sub(before));
    Ok(())
}

impl Desk {
    fn new() -> Result<Self> {
        let world = World::start();
        world.token("octo", TOKEN, &["repo"]);
        let names: Vec<String> = (0..REPOSITORIES).map(|at| format!("octo/app{at}")).collect();
        for name in &names {
            world.repo(name).open_pulls("octo", PULLS);
        }
        let folder = tempfile::tempdir()?;
        let home = Home::under(folder.path());
        home.create()?;
        let listed: String =
            names.iter().map(|name| format!("  - {{name: {name}, preset: docs-site}}\n")).collect();
        let host = world.base().trim_start_matches("http://").to_owned();
        std::fs::write(
            home.config_file(),
            format!(
                "accounts:\n  - {{host: \"{host}\", login: octo}}\nengine: {{enabled: true}}\nrepositories:\n{listed}"
            ),
        )?;
        let hand = Arc::new(Hand(Mutex::new(Utc::now())));
        let store = Store::open(&home, hand.clone())?;
        let config = Arc::new(ConfigWatch::open(&home, None));
        let keychain = Keychain::default().with_github_token(Some(SecretString::from(TOKEN)));
        let ctx = Ctx::new(home, store, hand.clone(), config, "steward".into())
            .with_keychain(keychain)
            .with_github(Options { timeout: Duration::from_secs(120), ..Options::default() });
        let observer = Observer::new(ctx.clone());
        Ok(Self { world, names, host, hand, ctx, observer, _folder: folder })
    }

    /// A look and the tick after it, so many minutes later.
    async fn tick(&mut self, minutes: i64) -> Result<Tick> {
        let time = chrono::Duration::minutes(minutes);
        self.hand.pass(time);
        self.world.advance(time.to_std()?);
        self.world.mark();
        self.observer.whole_turn().await?;
        let look = self.world.tally();
        self.world.mark();
        let (cpu_before, started) = (cpu()?, Instant::now());
        engine::pass(&self.ctx, &CancellationToken::new()).await?;
        let spent = (cpu()? - cpu_before).as_secs_f64();
        Ok(Tick { cpu: spent, wall: started.elapsed().as_secs_f64(), look, engine: self.world.tally() })
    }

    /// How many of the open pull requests were never read whole.
    async fn unread(&self) -> Result<usize> {
        let (names, host) = (self.names.clone(), self.host.clone());
        let known = self
            .ctx
            .store
            .read(move |tx| {
                let mut known = 0;
                for name in &names {
                    let Some(name) = RepoName::parse(name) else { continue };
                    if let Some(row) = repositories::find(tx, &host, &name)? {
                        known += engine_items::open_of(tx, row.id)?.len();
                    }
                }
                Ok::<_, steward_core::store::StoreError>(known)
            })
            .await?;
        Ok(REPOSITORIES * PULLS as usize - known)
    }

    /// Changes so many pull requests, over all repositories in turn.
    fn change(&self, count: u64) {
        let all = (1..=PULLS).flat_map(|number| self.names.iter().map(move |name| (name, number)));
        for (name, number) in all.take(count as usize) {
            self.world.repo(name).pull(number).title("docs: changed");
        }
    }
}

/// The work of this process, the double in it, without its gits.
fn cpu() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let mut sum = Duration::ZERO;
    for time in [usage.user_time(), usage.system_time()] {
        sum += Duration::from_secs(u64::try_from(time.tv_sec())?)
            + Duration::from_micros(u64::try_from(time.tv_usec())?);
    }
    Ok(sum)
}

/// Megabytes of this process, as the system counts them.
fn memory(which: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(which)).unwrap_or_default();
    line.split_whitespace().next().and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) / 1024
}

fn report(quiet: &Tick, busy: &Tick, changed: u64, before: u64, after: u64) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().context("the root")?;
    let date = Utc::now().format("%Y-%m-%d");
    let round = |seconds: f64| (seconds * 10.0).round() / 10.0;
    let total = REPOSITORIES as u64 * PULLS;
    let row = |what: &str, tick: &Tick| {
        format!(
            "| {what} | {} | {} | {:.1} s | {:.1} s |\n",
            tick.look.requests, tick.engine.requests, tick.cpu, tick.wall
        )
    };
    let page = format!(
        "# What a tick of the engine costs\n\n`cargo xtask bench engine`, {date}: {total} open pull requests in {REPOSITORIES} repositories. \
         Processor time of the engine's tick alone, with the GitHub double in the same process and without the gits; everything built \
         without optimisation. The numbers are in `benches/results/engine.json`.\n\n\
         | since the tick before | requests of the look | requests of the engine | processor | by the clock |\n|---|---|---|---|---|\n{}{}\n\
         The tick with {changed} changed took the process from {before} MB to {after} MB, the double's world of {total} pull requests \
         in it. Goals: under {} s of work, under {} MB more.\n",
        row("nothing changed", quiet),
        row(&format!("{changed} changed"), busy),
        GOAL.0,
        GOAL.1,
    );
    let one = |tick: &Tick| {
        json!({
            "lookRequests": tick.look.requests, "engineRequests": tick.engine.requests,
            "cpuSecondsWithTheDouble": round(tick.cpu), "wallSeconds": round(tick.wall),
        })
    };
    let json = json!({
        "date": date.to_string(), "pullRequests": total, "repositories": REPOSITORIES, "changed": changed,
        "quiet": one(quiet), "busy": one(busy), "residentMbBefore": before, "residentMbAfter": after,
    });
    std::fs::create_dir_all(root.join("benches/results"))?;
    std::fs::write(root.join("benches/results/engine.json"), serde_json::to_string_pretty(&json)? + "\n")?;
    std::fs::create_dir_all(root.join("docs"))?;
    std::fs::write(root.join("docs/benchmarks-engine.md"), &page)?;
    print!("{page}");
    Ok(())
}
