//! What one tick of the engine over everything costs: 2,000 open pull requests in 50 repositories, one in a
//! hundred changed (security.md 6).
//!
//! The engine runs in a process of its own, so that its processor time (with its gits) and its memory are not
//! those of the GitHub double, which lives here and counts the requests. Run with `cargo xtask bench engine`; it
//! writes `benches/results/engine.json` and `docs/benchmarks-engine.md`, and fails when a goal is missed.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use chrono::{DateTime, Utc};
use nix::sys::resource::{UsageWho, getrusage};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::json;
use steward_core::clock::Clock;
use steward_core::config::ConfigWatch;
use steward_core::github::Options;
use steward_core::home::Home;
use steward_core::keychain::Keychain;
use steward_core::loops::effects::powers;
use steward_core::loops::observer::Observer;
use steward_core::loops::{Ctx, engine};
use steward_core::store::{Store, StoreError, effects, engine_items, repositories};
use steward_github_double::{RepoVerbs, Tally, World};
use steward_rules::ids::RepoName;
use steward_rules::power::EffectClass;
use tokio_util::sync::CancellationToken;

const TOKEN: &str = "made-up-token-of-this-benchmark";
const VERIFY: &str = ".github/workflows/ai-verify.yml";
const BOT: &str = "github-actions[bot]";
const REPOSITORIES: usize = 50;
const PULLS: u64 = 40;
/// Seconds of processor time, and megabytes (security.md 6).
const GOAL: (f64, u64) = (60.0, 250);

#[tokio::main]
async fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().collect();
    if let Some(at) = words.iter().position(|word| word == "--desk") {
        let [base, folder] = words.get(at + 1..).unwrap_or_default() else { bail!("--desk BASE FOLDER") };
        return Desk::new(base, Path::new(folder)).await?.serve().await;
    }
    // `cargo test --benches` and nextest's listing start us too; they want no measurement.
    if !words.iter().any(|word| word == "--bench") {
        return Ok(());
    }
    let mut bench = Bench::new()?;
    // The first readings take some hours of GitHub's quota.
    for round in 0..48 {
        let first = bench.tick(60)?;
        eprintln!(
            "after {} ticks: {} not read yet, {:.0} s by the clock",
            round + 1,
            first.unread,
            first.wall()
        );
        if first.unread == 0 {
            break;
        }
    }
    // What waited for the two minutes of a new head is judged once more.
    bench.tick(60)?;
    bench.tick(60)?;
    let quiet = bench.tick(10)?;
    let changed = REPOSITORIES as u64 * PULLS / 100;
    bench.change(changed);
    let busy = bench.tick(10)?;
    let ready = bench.tick(10)?;
    let ticks = [
        ("nothing changed".to_owned(), &quiet),
        (format!("{changed} got a new head"), &busy),
        (format!("these {changed} became ready and are to be merged"), &ready),
    ];
    report(&ticks, changed)?;
    ensure!(quiet.unread == 0, "not everything was read");
    ensure!(quiet.engine.requests == 0, "a quiet tick asked {} times", quiet.engine.requests);
    ensure!(ready.merges == changed as usize, "{} of {changed} merges were wanted", ready.merges);
    for (what, tick) in &ticks {
        ensure!(tick.cpu() < GOAL.0, "{what}: the tick took {:.1} s of work", tick.cpu());
        ensure!(tick.peak() < GOAL.1, "{what}: the tick took {} MB", tick.peak());
    }
    Ok(())
}

/// What one half of a tick cost its process.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Spent {
    own: f64,
    gits: f64,
    wall: f64,
    peak: u64,
    unread: usize,
    merges: usize,
}

/// One tick over everything: the observer's look, and the judging after it.
struct Tick {
    looked: Spent,
    judged: Spent,
    look: Tally,
    engine: Tally,
    unread: usize,
    merges: usize,
}

impl Tick {
    fn cpu(&self) -> f64 {
        self.looked.own + self.looked.gits + self.judged.own + self.judged.gits
    }

    fn wall(&self) -> f64 {
        self.looked.wall + self.judged.wall
    }

    fn peak(&self) -> u64 {
        self.looked.peak.max(self.judged.peak)
    }
}

/// The world, and the process of the engine.
struct Bench {
    world: World,
    desk: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
    _folder: tempfile::TempDir,
}

/// The required checks and the verdict job are well at this head.
fn well(repo: &RepoVerbs<'_>, head: &str) {
    repo.check(head, "check").succeeds();
    repo.check(head, "verify").workflow(VERIFY).succeeds();
}

fn name_of(at: usize) -> String {
    format!("octo/app{at}")
}

impl Bench {
    fn new() -> Result<Self> {
        let world = World::start();
        world.token("octo", TOKEN, &["repo", "workflow"]);
        world.bot(BOT);
        for at in 0..REPOSITORIES {
            let repo = world.repo(&name_of(at));
            // What is not ready stays so: a check that nobody requires failed.
            for pull in repo.open_pulls("octo", PULLS) {
                well(&repo, &pull.head());
                repo.check(&pull.head(), "lint").fails();
                pull.label_by(BOT, "ai-verified");
            }
        }
        let folder = tempfile::tempdir()?;
        let mut desk = Command::new(std::env::current_exe()?)
            .args(["--desk", world.base()])
            .arg(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let orders = desk.stdin.take().context("the desk's input")?;
        let answers = BufReader::new(desk.stdout.take().context("the desk's output")?);
        Ok(Self { world, desk, orders, answers, _folder: folder })
    }

    fn order(&mut self, order: &str) -> Result<Spent> {
        writeln!(self.orders, "{order}")?;
        let mut line = String::new();
        ensure!(self.answers.read_line(&mut line)? > 0, "the desk ended");
        Ok(serde_json::from_str(&line)?)
    }

    /// A look and the tick after it, so many minutes later.
    fn tick(&mut self, minutes: u64) -> Result<Tick> {
        self.world.advance(Duration::from_secs(minutes * 60));
        self.world.mark();
        let looked = self.order(&format!("look {}", minutes * 60))?;
        let look = self.world.tally();
        self.world.mark();
        let judged = self.order("judge 0")?;
        let (unread, merges) = (judged.unread, judged.merges);
        Ok(Tick { looked, judged, look, engine: self.world.tally(), unread, merges })
    }

    /// Pushes to so many pull requests, over all repositories in turn; every check is well then.
    fn change(&self, count: u64) {
        let all = (1..=PULLS).flat_map(|number| (0..REPOSITORIES).map(move |at| (at, number)));
        for (at, number) in all.take(count as usize) {
            let repo = self.world.repo(&name_of(at));
            let head = repo.push(
                &format!("many/{number}"),
                "docs: more",
                &[(&format!("many/{number}.txt"), "more\n")],
            );
            well(&repo, &head);
            repo.check(&head, "lint").succeeds();
        }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // It is ours, and ends with us whatever happened.
        let _ = self.desk.kill();
        let _ = self.desk.wait();
    }
}

/// A clock that is moved by hand.
struct Hand(Mutex<DateTime<Utc>>);

impl Clock for Hand {
    fn now(&self) -> DateTime<Utc> {
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// A maintainer's engine, in the process that is measured.
struct Desk {
    host: String,
    hand: Arc<Hand>,
    ctx: Ctx,
    observer: Observer,
}

impl Desk {
    async fn new(base: &str, folder: &Path) -> Result<Self> {
        let home = Home::under(folder);
        home.create()?;
        let policy = "{engine: {safePaths: ['many/**'], entries: {unit: files}, requiredChecks: [check, verify], \
                      skippable: [check, verify]}}";
        let listed: String = (0..REPOSITORIES)
            .map(|at| {
                format!(
                    "  - {{name: {}, account: octo, preset: data-catalogue, mode: act, act: [merge], policy: {policy}}}\n",
                    name_of(at)
                )
            })
            .collect();
        let host = base.trim_start_matches("http://").to_owned();
        std::fs::write(
            home.config_file(),
            format!(
                "accounts:\n  - {{host: \"{host}\", login: octo}}\nengine: {{enabled: true}}\nrepositories:\n{listed}"
            ),
        )?;
        let hand = Arc::new(Hand(Mutex::new(Utc::now())));
        let store = Store::open(&home, hand.clone())?;
        let config = Arc::new(ConfigWatch::open(&home, None));
        ensure!(config.current().problems.is_empty(), "{:?}", config.current().problems);
        let keychain = Keychain::default().with_github_token(Some(SecretString::from(TOKEN)));
        let ctx = Ctx::new(home, store, hand.clone(), config, PathBuf::from("steward"))
            .with_keychain(keychain)
            .with_github(Options { timeout: Duration::from_secs(120), ..Options::default() });
        if let Some(change) = powers::settle(&ctx).await?.change() {
            powers::confirm(&ctx, &change).await.map_err(|error| anyhow::anyhow!("{error:?}"))?;
        }
        let observer = Observer::new(ctx.clone());
        Ok(Self { host, hand, ctx, observer })
    }

    /// Does what each line says, and answers with what it cost.
    async fn serve(mut self) -> Result<()> {
        for line in std::io::stdin().lines() {
            let line = line?;
            let (what, seconds) = line.split_once(' ').context("an order and its seconds")?;
            *self.hand.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) +=
                chrono::Duration::seconds(seconds.parse()?);
            // The peak is counted anew from here (proc(5), clear_refs).
            std::fs::write("/proc/self/clear_refs", "5")?;
            let (own, gits, started) =
                (cpu(UsageWho::RUSAGE_SELF)?, cpu(UsageWho::RUSAGE_CHILDREN)?, Instant::now());
            match what {
                "look" => {
                    self.observer.whole_turn().await?;
                }
                "judge" => {
                    engine::pass(&self.ctx, &CancellationToken::new()).await?;
                }
                _ => bail!("an unknown order: {what}"),
            }
            let (unread, merges) = self.counts().await?;
            let spent = Spent {
                own: cpu(UsageWho::RUSAGE_SELF)? - own,
                gits: cpu(UsageWho::RUSAGE_CHILDREN)? - gits,
                wall: started.elapsed().as_secs_f64(),
                peak: memory("VmHWM:"),
                unread,
                merges,
            };
            println!("{}", serde_json::to_string(&spent)?);
        }
        Ok(())
    }

    /// How many of the open pull requests were never read whole, and how many merges are wanted.
    async fn counts(&self) -> Result<(usize, usize)> {
        let host = self.host.clone();
        let (known, merges) = self
            .ctx
            .store
            .read(move |tx| {
                let mut known = 0;
                for name in (0..REPOSITORIES).map(name_of) {
                    let Some(name) = RepoName::parse(&name) else { continue };
                    if let Some(row) = repositories::find(tx, &host, &name)? {
                        known += engine_items::open_of(tx, row.id)?.len();
                    }
                }
                let wanted = effects::to_do(tx)?;
                let merges = wanted.iter().filter(|row| row.class == EffectClass::Merge).count();
                Ok::<_, StoreError>((known, merges))
            })
            .await?;
        Ok((REPOSITORIES * PULLS as usize - known, merges))
    }
}

/// Seconds of work of this process, or of its gits that ended.
fn cpu(who: UsageWho) -> Result<f64> {
    let usage = getrusage(who)?;
    let mut sum = Duration::ZERO;
    for time in [usage.user_time(), usage.system_time()] {
        sum += Duration::from_secs(u64::try_from(time.tv_sec())?)
            + Duration::from_micros(u64::try_from(time.tv_usec())?);
    }
    Ok(sum.as_secs_f64())
}

/// Megabytes of this process, as the system counts them.
fn memory(which: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(which)).unwrap_or_default();
    line.split_whitespace().next().and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) / 1024
}

fn report(ticks: &[(String, &Tick)], changed: u64) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().context("the root")?;
    let date = Utc::now().format("%Y-%m-%d");
    let round = |seconds: f64| (seconds * 10.0).round() / 10.0;
    let total = REPOSITORIES as u64 * PULLS;
    let rows: String = ticks
        .iter()
        .map(|(what, tick)| {
            format!(
                "| {what} | {} | {} | {:.1} s | {:.1} s | {:.2} of the goal | {} MB | {:.2} of the goal |\n",
                tick.look.requests,
                tick.engine.requests,
                tick.looked.own + tick.judged.own,
                tick.looked.gits + tick.judged.gits,
                tick.cpu() / GOAL.0,
                tick.peak(),
                tick.peak() as f64 / GOAL.1 as f64,
            )
        })
        .collect();
    let page = format!(
        "# What a tick of the engine costs\n\n`cargo xtask bench engine`, {date}: {total} open pull requests in {REPOSITORIES} repositories, \
         mode `act`. A tick is the observer's look and the engine's judging after it, in a process of its own; the GitHub double runs in \
         another one. Everything was built without optimisation. Goals: under {} s of work, gits included, and under {} MB. The numbers \
         are in `benches/results/engine.json`.\n\n\
         | since the tick before | requests of the look | requests of the engine | own work | its gits | both | peak memory | |\n\
         |---|---|---|---|---|---|---|---|\n{rows}",
        GOAL.0, GOAL.1,
    );
    let one = |(what, tick): &(String, &Tick)| {
        json!({
            "since": what, "lookRequests": tick.look.requests, "engineRequests": tick.engine.requests,
            "gitRequests": tick.look.git_requests + tick.engine.git_requests,
            "cpuSeconds": round(tick.looked.own + tick.judged.own),
            "gitCpuSeconds": round(tick.looked.gits + tick.judged.gits),
            "wallSeconds": round(tick.wall()), "peakMb": tick.peak(),
        })
    };
    let json = json!({
        "date": date.to_string(), "pullRequests": total, "repositories": REPOSITORIES, "changed": changed,
        "goal": {"cpuSeconds": GOAL.0, "peakMb": GOAL.1},
        "ticks": ticks.iter().map(one).collect::<Vec<_>>(),
    });
    std::fs::create_dir_all(root.join("benches/results"))?;
    std::fs::write(root.join("benches/results/engine.json"), serde_json::to_string_pretty(&json)? + "\n")?;
    std::fs::create_dir_all(root.join("docs"))?;
    std::fs::write(root.join("docs/benchmarks-engine.md"), &page)?;
    print!("{page}");
    Ok(())
}
