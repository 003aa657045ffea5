//! What watching agents' panes costs, and how well it judges them.
//!
//! Forty real panes at rest, watched tick after tick: subprocesses counted by the tmux adapter, processor time
//! of this process and its children by the system. Then every capture of the corpus. Run with
//! `cargo xtask bench questions`; it writes `benches/results/questions.json` and
//! `docs/benchmarks-questions.md`, and fails when a goal is missed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use chrono::{DateTime, Utc};
use nix::sys::resource::{UsageWho, getrusage};
use serde::Deserialize;
use serde_json::json;
use steward_core::clock::Clock;
use steward_core::config::ConfigWatch;
use steward_core::home::Home;
use steward_core::keychain::Keychain;
use steward_core::loops::Ctx;
use steward_core::loops::questions::Watch;
use steward_core::store::Store;
use steward_core::tmux::Tmux;
use steward_kit::tmux::{TmuxServer, is_there_or_say};
use steward_rules::questions::pane::{Agent, PaneState, Screen, Seen, judge};

const PANES: usize = 40;
/// Ticks that are measured.
const TICKS: u32 = 200;
/// The goals of questions.md 3 and 10.
const SHARE: f64 = 0.01;
const RIGHT: f64 = 0.95;
const STATES: usize = 60;

/// A clock that is moved by hand.
struct Hand(Mutex<DateTime<Utc>>);

impl Clock for Hand {
    fn now(&self) -> DateTime<Utc> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What ticks over panes at rest cost.
struct Cost {
    subprocesses: f64,
    /// Processor seconds of one tick, of this process and of what it started.
    seconds: f64,
    /// Of one core, at the shortest and at the usual cadence.
    at_15_s: f64,
    at_180_s: f64,
}

/// How the corpus was judged.
#[derive(Default)]
struct Judged {
    states: usize,
    recorded: usize,
    right: usize,
    unknown: usize,
    wrong: usize,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let corpus = corpus()?;
    let cost = if is_there_or_say() { Some(cost().await?) } else { None };
    write(&corpus, cost.as_ref())?;
    ensure!(corpus.states >= STATES, "the corpus has {} states", corpus.states);
    ensure!(corpus.wrong == 0, "{} captures are judged wrong", corpus.wrong);
    let share = corpus.right as f64 / corpus.states as f64;
    ensure!(share >= RIGHT, "{:.1} % of the states are right", share * 100.0);
    if let Some(cost) = cost {
        ensure!(cost.subprocesses <= 1.0, "{} subprocesses a tick", cost.subprocesses);
        ensure!(cost.at_15_s <= SHARE, "{:.2} % of a core", cost.at_15_s * 100.0);
    }
    Ok(())
}

fn processor() -> Result<Duration> {
    let mut sum = Duration::ZERO;
    for who in [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN] {
        let usage = getrusage(who)?;
        for time in [usage.user_time(), usage.system_time()] {
            sum += Duration::from_secs(u64::try_from(time.tv_sec())?)
                + Duration::from_micros(u64::try_from(time.tv_usec())?);
        }
    }
    Ok(sum)
}

async fn cost() -> Result<Cost> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?;
    let home = Home::under(&root.join("home"));
    home.create()?;
    let server = TmuxServer::new();
    std::fs::copy("/bin/sh", server.folder().join("agent"))?;
    let agent = server.folder().join("agent").to_string_lossy().into_owned();
    let script = server.folder().join("script");
    let rule = "─".repeat(98);
    std::fs::write(
        &script,
        format!(
            "printf '%s\\n' '⏺ It is done.' '' '{rule}' '❯ ' '{rule}' '  ? for shortcuts'\nexec sleep 3600\n"
        ),
    )?;
    let script = script.to_string_lossy().into_owned();
    let mut roster = String::new();
    for number in 0..PANES {
        let pane = server.start((100, 30), &[&agent, &script]);
        server.until_shows(&pane, |text| text.contains("for shortcuts"));
        roster.push_str(&format!(
            "    - {{agent: agent{number}, project: app, pane: \"{pane}\", adapter: claude}}\n"
        ));
    }
    std::fs::write(home.config_file(), format!("questions:\n  enabled: true\n  roster:\n{roster}"))?;
    // Past what tmux says of when each pane last drew something.
    let clock = Arc::new(Hand(Mutex::new(Utc::now() + chrono::Duration::days(1))));
    let store = Store::open(&home, clock.clone())?;
    let watch = ConfigWatch::watch(&home, Some(root.clone()))?;
    let ctx = Ctx::new(home, store, clock, Arc::new(watch), PathBuf::from("steward"))
        .with_keychain(Keychain::with_environment(Some("made-up-credential".to_owned().into())));
    ctx.use_tmux(Tmux::at(&server.socket())?);
    let tmux = ctx.tmux()?;
    let mut panes = Watch::default();
    panes.tick(&ctx).await?;
    let (started, before, at) = (tmux.started(), processor()?, Instant::now());
    for _ in 0..TICKS {
        panes.tick(&ctx).await?;
    }
    let spent = processor()?.saturating_sub(before).as_secs_f64() / f64::from(TICKS);
    println!("{TICKS} ticks over {PANES} panes took {:.1} s", at.elapsed().as_secs_f64());
    let subprocesses = (tmux.started() - started) as f64 / f64::from(TICKS);
    Ok(Cost { subprocesses, seconds: spent, at_15_s: spent / 15.0, at_180_s: spent / 180.0 })
}

#[derive(Deserialize)]
struct Table {
    pane: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    name: String,
    agent: String,
    foreground: String,
    looks: usize,
    state: String,
    truth: Option<String>,
}

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3);
    root.unwrap_or_else(|| Path::new(".")).to_owned()
}

fn corpus() -> Result<Judged> {
    let folder = root().join("tests/fixtures/panes");
    let table: Table = toml::from_str(&std::fs::read_to_string(folder.join("table.toml"))?)?;
    let mut found = Judged::default();
    for row in table.pane {
        let look = |number: usize| -> Result<Screen> {
            Ok(Screen::parse(&std::fs::read(folder.join(format!("{}.{number}.txt", row.name)))?))
        };
        let agent = Agent::named(&row.agent).context("an agent of the table")?;
        let second = if row.looks == 2 { Some(look(2)?) } else { None };
        let seen = Seen::Looked { first: look(1)?, second };
        let judged = judge(agent, &row.foreground, &seen).state;
        let truth = row.truth.as_deref().unwrap_or(&row.state);
        found.states += 1;
        found.recorded += usize::from(!row.name.starts_with("drawn-"));
        match &judged {
            state if state.word() == truth => found.right += 1,
            PaneState::Unknown { .. } => found.unknown += 1,
            _other => found.wrong += 1,
        }
    }
    Ok(found)
}

fn write(corpus: &Judged, cost: Option<&Cost>) -> Result<()> {
    let share = corpus.right as f64 / corpus.states as f64;
    let day = Utc::now().format("%Y-%m-%d");
    let results = json!({
        "date": day.to_string(),
        "corpus": {"states": corpus.states, "recordedFromRealAgents": corpus.recorded, "right": corpus.right,
            "unknown": corpus.unknown, "wrong": corpus.wrong},
        "idle": cost.map(|cost| json!({"panes": PANES, "ticks": TICKS, "subprocessesPerTick": cost.subprocesses,
            "processorSecondsPerTick": cost.seconds, "shareOfACoreAt15s": cost.at_15_s,
            "shareOfACoreAt180s": cost.at_180_s})),
    });
    std::fs::create_dir_all(root().join("benches/results"))?;
    std::fs::write(
        root().join("benches/results/questions.json"),
        serde_json::to_string_pretty(&results)? + "\n",
    )?;
    let idle = match cost {
        None => "No tmux was installed, so nothing was watched.".to_owned(),
        Some(cost) => format!(
            "| what | measured | goal |\n|---|---|---|\n\
             | subprocesses of a tick | {:.2} | ≤ 1 |\n\
             | of a core, at the shortest cadence (15 s) | {:.3} % | ≤ 1 % |\n\
             | of a core, at the usual cadence (3 min) | {:.3} % | ≤ 1 % |\n\n\
             Processor time is that of Steward and of the commands it starts, over {TICKS} ticks; everything is built \
             without optimisation, so a release build stays below. A capture of each pane at each tick would start {} \
             times as many commands.",
            cost.subprocesses,
            cost.at_15_s * 100.0,
            cost.at_180_s * 100.0,
            PANES + 1,
        ),
    };
    let page = format!(
        "# What watching panes costs, and how well it judges\n\n\
         `cargo xtask bench questions`, {day}. The numbers are in `benches/results/questions.json`.\n\n\
         ## {PANES} agents at rest\n\n{idle}\n\n\
         ## The corpus\n\n\
         Captures of real agents with a scripted model, and drawings of what they show, each with what a person sees in \
         it. A miss may only ever be `unknown`: nothing is done about it.\n\n\
         | | states | of real agents | right | `unknown` instead | wrong |\n|---|---|---|---|---|---|\n\
         | measured | {} | {} | {} ({:.1} %) | {} | {} |\n\
         | goal | ≥ {STATES} | ≥ 20 | ≥ {:.0} % | – | 0 |\n",
        corpus.states,
        corpus.recorded,
        corpus.right,
        share * 100.0,
        corpus.unknown,
        corpus.wrong,
        RIGHT * 100.0,
    );
    std::fs::write(root().join("docs/benchmarks-questions.md"), page)?;
    println!("{}", serde_json::to_string_pretty(&results)?);
    Ok(())
}
