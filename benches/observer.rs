//! What a look at all watched repositories costs, beside a client that asks for each pull request alone.
//!
//! Requests and points as the GitHub double counts them: counts, no timings. Run with
//! `cargo xtask bench observer`; it writes `benches/results/observer.json` and `docs/benchmarks-observer.md`,
//! and fails when a goal is missed.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use chrono::{DateTime, Utc};
use nix::sys::resource::{UsageWho, getrusage};
use secrecy::SecretString;
use serde_json::{Value, json};
use steward_core::clock::Clock;
use steward_core::config::ConfigWatch;
use steward_core::github::{Client, HostBudget, Options};
use steward_core::home::Home;
use steward_core::keychain::Keychain;
use steward_core::loops::Ctx;
use steward_core::loops::observer::Observer;
use steward_core::store::Store;
use steward_github_double::{Tally, World};
use steward_rules::ids::{PullNumber, RepoName};

const TOKEN: &str = "made-up-token-of-this-benchmark";

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

/// A world of some repositories with some open pull requests each, and an observer of it.
struct Desk {
    world: World,
    names: Vec<String>,
    pulls: u64,
    hand: Arc<Hand>,
    store: Store,
    observer: Observer,
    _folder: tempfile::TempDir,
}

/// What was measured once.
struct Row {
    world: String,
    client: &'static str,
    what: String,
    requests: u64,
    points: u64,
    /// At most so many of each.
    goal: Option<(u64, u64)>,
}

#[tokio::main]
async fn main() -> Result<()> {
    // `cargo test --benches` and nextest's listing start us too; they want no measurement.
    if !std::env::args().any(|argument| argument == "--bench") {
        return Ok(());
    }
    let mut rows = Vec::new();
    let mut desk = Desk::new(10, 20)?;
    desk.observed(&mut rows, true).await?;
    desk.naive(&mut rows).await?;
    drop(desk);
    let mut desk = Desk::new(50, 40)?;
    let load = desk.load(&mut rows).await?;
    report(&rows, &load)?;
    for row in &rows {
        let met = row.goal.is_none_or(|(requests, points)| row.requests <= requests && row.points <= points);
        ensure!(met, "{}, {}: {} requests, {} points", row.world, row.what, row.requests, row.points);
    }
    Ok(())
}

impl Desk {
    fn new(repositories: usize, pulls: u64) -> Result<Self> {
        let world = World::start();
        world.token("octo", TOKEN, &["repo"]);
        let names: Vec<String> = (0..repositories).map(|at| format!("octo/app{at}")).collect();
        for name in &names {
            let repo = world.repo(name);
            repo.open_pulls("octo", pulls);
            for number in 0..5 {
                repo.open_issue("maria", &format!("issue {number}"), "");
            }
        }
        let folder = tempfile::tempdir()?;
        let home = Home::under(folder.path());
        home.create()?;
        let listed: String = names.iter().map(|name| format!("  - name: {name}\n")).collect();
        let host = world.base().trim_start_matches("http://");
        std::fs::write(
            home.config_file(),
            format!("accounts:\n  - {{host: \"{host}\", login: octo}}\nrepositories:\n{listed}"),
        )?;
        let hand = Arc::new(Hand(Mutex::new(Utc::now())));
        let store = Store::open(&home, hand.clone())?;
        let config = Arc::new(ConfigWatch::open(&home, None));
        let keychain = Keychain::default().with_github_token(Some(SecretString::from(TOKEN)));
        let ctx = Ctx::new(home, store.clone(), hand.clone(), config, "steward".into())
            .with_keychain(keychain)
            .with_github(options());
        Ok(Self { world, names, pulls, hand, store, observer: Observer::new(ctx), _folder: folder })
    }

    fn called(&self) -> String {
        format!("{} pull requests in {} repositories", self.names.len() as u64 * self.pulls, self.names.len())
    }

    fn pass(&self, minutes: i64) -> Result<()> {
        let time = chrono::Duration::minutes(minutes);
        self.hand.pass(time);
        self.world.advance(time.to_std()?);
        Ok(())
    }

    /// One look after the interval, and what it cost.
    async fn look(&mut self) -> Result<Tally> {
        self.pass(10)?;
        self.world.mark();
        self.observer.whole_turn().await?;
        self.world.assert_contract();
        Ok(self.world.tally())
    }

    fn row(&self, rows: &mut Vec<Row>, what: &str, cost: &Tally, goal: Option<(u64, u64)>) {
        let (requests, points) = (cost.requests, cost.points);
        eprintln!("{}: {what}: {requests} requests, {points} points", self.called());
        let row =
            Row { world: self.called(), client: "Steward", what: what.to_owned(), requests, points, goal };
        rows.push(row);
    }

    /// Changes the titles of the first `count` pull requests, over all repositories in turn.
    fn change(&self, count: u64) {
        let all = (1..=self.pulls).flat_map(|number| self.names.iter().map(move |name| (name, number)));
        for (name, number) in all.take(count as usize) {
            self.world.repo(name).pull(number).title(&format!("feat: changed with {count}"));
        }
    }

    async fn observed(&mut self, rows: &mut Vec<Row>, whole: bool) -> Result<()> {
        let first = self.look().await?;
        self.row(rows, "first look", &first, None);
        // What was opened a moment ago is found by searches for a while.
        self.look().await?;
        self.look().await?;
        let quiet = self.look().await?;
        let goal = whole.then_some((4, 5));
        self.row(rows, "nothing changed", &quiet, goal);
        if !whole {
            return Ok(());
        }
        for name in &self.names {
            let repo = self.world.repo(name);
            repo.check(&repo.pull(1).head(), "build").succeeds();
        }
        let checks = self.look().await?;
        self.row(rows, "checks of 10 moved", &checks, goal);
        for (changed, parts) in [(1, 1), (25, 1), (50, 2), (200, 8)] {
            self.change(changed);
            let cost = self.look().await?;
            self.row(rows, &format!("{changed} changed"), &cost, Some((4 + parts, 5 + parts)));
            // The searches of the next looks show them once more.
            self.look().await?;
            self.look().await?;
        }
        self.pass(23 * 60)?;
        let old = self.look().await?;
        self.row(rows, "once a day and repository: its lists again", &old, None);
        Ok(())
    }

    /// A client that lists and then asks for each pull request, its checks and its statuses.
    async fn naive(&mut self, rows: &mut Vec<Row>) -> Result<()> {
        let host = self.world.base().trim_start_matches("http://").to_owned();
        for (client, login) in [("naive, without ETags", None), ("naive, with ETags", Some("octo"))] {
            let budget = Arc::new(HostBudget::load(&host, &self.store).await?);
            let token = SecretString::from(TOKEN);
            let line = Client::open(&host, login, token, budget, &self.store, &options()).await?;
            // The second pass is a quiet one, with whatever the first one kept.
            for pass in 0..2 {
                self.world.mark();
                for name in &self.names {
                    let repo = RepoName::parse(name).context("a name")?;
                    let reader = line.reader();
                    reader.open_issues(&repo).await?;
                    for pull in reader.open_pulls(&repo).await? {
                        reader.pull(&repo, PullNumber(pull.number)).await?;
                        reader.check_runs(&repo, &pull.head.sha).await?;
                        reader.statuses(&repo, &pull.head.sha).await?;
                    }
                }
                if pass == 1 {
                    let cost = self.world.tally();
                    let (world, what) = (self.called(), "nothing changed".to_owned());
                    let (requests, points) = (cost.requests, cost.points);
                    eprintln!("{world}: {client}: {requests} requests, {points} points");
                    rows.push(Row { world, client, what, requests, points, goal: None });
                }
            }
        }
        Ok(())
    }

    /// The load that Steward has to hold (security.md 6), with one in a hundred changed.
    async fn load(&mut self, rows: &mut Vec<Row>) -> Result<Value> {
        self.observed(rows, false).await?;
        let changed = self.names.len() as u64 * self.pulls / 100;
        self.change(changed);
        let before = cpu()?;
        let cost = self.look().await?;
        let spent = (cpu()? - before).as_secs_f64();
        self.row(rows, &format!("{changed} changed"), &cost, None);
        ensure!(spent < 60.0, "the look took {spent:.1} s of work");
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let peak =
            status.lines().find_map(|line| line.strip_prefix("VmHWM:")).map(str::trim).unwrap_or("unknown");
        Ok(
            json!({ "world": self.called(), "cpuSecondsWithTheDouble": (spent * 10.0).round() / 10.0, "peakMemoryWithTheDouble": peak }),
        )
    }
}

fn options() -> Options {
    Options { timeout: Duration::from_secs(120), ..Options::default() }
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

fn report(rows: &[Row], load: &Value) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize()?;
    let date = Utc::now().format("%Y-%m-%d");
    let mut page = format!(
        "# What looking at GitHub costs\n\n`cargo xtask bench observer`, {date}. Requests and primary points of one look, counted by the GitHub \
         double with GitHub's published formula for GraphQL; an authorised 304 costs no point. A look comes every ten minutes. *Naive* lists the \
         open pull requests and issues of each repository and asks for each pull request, its check runs and its statuses. The numbers are in \
         `benches/results/observer.json`.\n\n\
         | world | client | what happened since | requests | points | goal |\n|---|---|---|---|---|---|\n"
    );
    let mut results = Vec::new();
    for row in rows {
        let goal =
            row.goal.map_or_else(|| "–".to_owned(), |(requests, points)| format!("≤ {requests}, ≤ {points}"));
        let Row { world, client, what, requests, points, .. } = row;
        writeln!(page, "| {world} | {client} | {what} | {requests} | {points} | {goal} |")?;
        let goal = row.goal.map(|(requests, points)| json!({ "requests": requests, "points": points }));
        results.push(json!({
            "world": world, "client": client, "what": what, "requests": requests, "points": points, "goal": goal,
        }));
    }
    let quiet = |client: &str| {
        let found = rows.iter().find(|row| row.client == client && row.what == "nothing changed");
        found.map(|row| (row.requests, row.points)).context("a quiet look")
    };
    let (ours, naive) = (quiet("Steward")?, quiet("naive, without ETags")?);
    let kept = quiet("naive, with ETags")?;
    writeln!(
        page,
        "\nA quiet look asks {:.0} times less often than the naive client, and uses {:.0} times fewer points; a naive client with ETags uses {} \
         points and as many requests. The last look, over {}, took {} s of work and at most {} of memory, the double in the same process \
         counted, its gits not, and everything built without optimisation (goal: under 60 s).",
        naive.0 as f64 / ours.0 as f64,
        naive.1 as f64 / ours.1 as f64,
        kept.1,
        load["world"].as_str().unwrap_or_default(),
        load["cpuSecondsWithTheDouble"],
        load["peakMemoryWithTheDouble"].as_str().unwrap_or_default(),
    )?;
    let json = json!({ "date": date.to_string(), "results": results, "load": load });
    std::fs::create_dir_all(root.join("benches/results"))?;
    std::fs::write(root.join("benches/results/observer.json"), serde_json::to_string_pretty(&json)? + "\n")?;
    std::fs::create_dir_all(root.join("docs"))?;
    std::fs::write(root.join("docs/benchmarks-observer.md"), &page)?;
    print!("{page}");
    Ok(())
}
