//! What the local gates cost, as a ratio to one plain `git diff` of the same head in the same run.
//!
//! CPU seconds of this process and its children; wall time means little on a busy machine. Run with
//! `cargo bench -p steward-core --bench gates`; it writes `benches/results/gates.json` and
//! `docs/benchmarks-gates.md`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use nix::sys::resource::{UsageWho, getrusage};
use serde_json::json;
use steward_core::git::{BareClone, FactsRequest, Flow, Git, Limits, SecretPass, Tip, Workspace, facts};
use steward_kit::git::Repo;
use steward_rules::diff::Diff;
use steward_rules::ids::Sha;
use steward_rules::reading::{Cause, Reading};
use steward_rules::review::facts::{BaseSource, Evidence, Forge};
use steward_rules::review::gate;
use steward_rules::review::policy::ReviewPolicy;
use steward_rules::secret::{Engine, Options};
use tokio_util::sync::CancellationToken;

const ROUNDS: usize = 3;
const HEADS: usize = 100;
const FILES: u64 = 3000;

fn main() -> Result<()> {
    // `cargo test --benches` and nextest's listing start us too; they want no measurement.
    if !std::env::args().any(|a| a == "--bench") {
        return Ok(());
    }
    let room = tempfile::tempdir()?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize()?;
    let mut corpora = vec![
        measure("synthetic", &synthetic(room.path())?, room.path())?,
        measure("50,000 changed lines", &large_change(room.path())?, room.path())?,
    ];
    match own_history(&root) {
        Ok(corpus) => corpora.push(measure("own history", &corpus, room.path())?),
        Err(why) => eprintln!("own history: skipped, {why}"),
    }
    report(&root, &corpora)
}

/// Pairs of integration tip and head in one repository.
struct Corpus {
    repo: PathBuf,
    pairs: Vec<(Sha, Sha)>,
}

/// The CPU time of each head, best of the rounds.
struct Measured {
    name: &'static str,
    bytes: Vec<u64>,
    plain: Vec<f64>,
    diff: Vec<f64>,
    gates: Vec<f64>,
}

fn cpu() -> Result<Duration> {
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

fn timed(best: &mut f64, work: impl FnOnce() -> Result<()>) -> Result<()> {
    let before = cpu()?;
    work()?;
    *best = best.min((cpu()? - before).as_secs_f64() * 1000.0);
    Ok(())
}

fn measure(name: &'static str, corpus: &Corpus, room: &Path) -> Result<Measured> {
    let clones = room.join("clones");
    let git = Git::find(&clones)?;
    let workspace = Workspace::open(&git, &corpus.repo, &[])?;
    let clone = BareClone::open(&git, &clones, &workspace)?;
    // The state a task is judged in: its head is pinned and the commit-graph written.
    let last = corpus.pairs.last().context("a corpus has heads")?;
    clone.pin(steward_rules::ids::TaskId(1), &last.1, Some(&last.0))?;
    clone.pin(steward_rules::ids::TaskId(1), &last.0, None)?;
    // Rules compile on first use, once per process.
    let _warm = Engine::shared();
    let cancel = CancellationToken::new();
    let count = corpus.pairs.len();
    let none = || vec![f64::MAX; count];
    let mut measured = Measured { name, bytes: vec![0; count], plain: none(), diff: none(), gates: none() };
    for round in 0..ROUNDS {
        for (index, (tip, head)) in corpus.pairs.iter().enumerate() {
            timed(&mut measured.plain[index], || {
                let range = format!("{tip}...{head}");
                let mut bytes = 0;
                git.call(clone.dir(), ["diff", "--no-ext-diff", "--raw", "--numstat", "-p", &range])
                    .env("GIT_DIR", clone.dir())
                    .limits(Limits::STREAM)
                    .stream(|chunk| {
                        bytes += chunk.len() as u64;
                        Ok(Flow::More)
                    })?;
                measured.bytes[index] = bytes;
                Ok(())
            })?;
            timed(&mut measured.diff[index], || {
                let diff: Diff = facts::diff(&clone, tip, head, &cancel)?;
                anyhow::ensure!(!diff.files.is_empty(), "a head without a change");
                Ok(())
            })?;
            timed(&mut measured.gates[index], || judge(&clone, tip, head, &cancel))?;
        }
        eprintln!("{name}: round {} of {ROUNDS}", round + 1);
    }
    Ok(measured)
}

/// Everything `steward task gates` does for a local branch once its integration branch is known.
fn judge(clone: &BareClone, tip: &Sha, head: &Sha, cancel: &CancellationToken) -> Result<()> {
    let now = chrono::Utc::now();
    let tip =
        Tip { branch: "main".into(), sha: tip.clone(), fetched_at: now, source: BaseSource::LocalBranch };
    let request = FactsRequest {
        head,
        branch: Some("work"),
        integration: "main",
        fork_point: None,
        forge: Forge::None,
        mutations: &[],
        claimed: &[],
        secrets: SecretPass { options: Options::default(), salt: "bench", exceptions: &[] },
    };
    let facts = facts::read_against(clone, Reading::known(tip), &request, cancel);
    let absent = || Reading::unread(Cause::NotReadYet, "no forge");
    let evidence = Evidence {
        head: head.clone(),
        branch: Some("work".into()),
        forge: Forge::None,
        base: facts.base,
        diff: facts.diff,
        commits: facts.commits,
        tree: facts.tree,
        secrets: facts.secrets,
        pushed: facts.pushed,
        checks: Reading::unread(Cause::NotReadYet, "no forge"),
        pull: Reading::known(None),
        other_pulls: absent(),
        contract: None,
        validator: Vec::new(),
        frames: Vec::new(),
        handoffs: Vec::new(),
    };
    anyhow::ensure!(
        evidence.secrets.get().is_ok(),
        "the pass over the commits failed: {:?}",
        evidence.secrets
    );
    let table = gate::evaluate(&evidence, &ReviewPolicy::default(), now);
    anyhow::ensure!(table.results.len() == 11, "eleven gates");
    Ok(())
}

/// A fixed sequence of numbers that looks random.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Standard normal, by the sum of twelve.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }

    fn line(&mut self) -> String {
        const WORDS: [&str; 16] = [
            "let", "value", "config", "reader", "match", "token", "index", "return", "stream", "branch",
            "result", "path", "error", "state", "const", "write",
        ];
        let mut line = String::from("    ");
        for _ in 0..5 + self.below(4) {
            line.push_str(WORDS[self.below(16) as usize]);
            line.push(if self.below(3) == 0 { '.' } else { ' ' });
        }
        let _infallible = write!(line, "{};", self.below(10_000));
        line
    }
}

/// 3,000 files, 300 commits on `main`, and 100 branches whose patches follow the sizes of real pull
/// requests: half under 8 KB, one in twenty over 200 KB.
fn synthetic(room: &Path) -> Result<Corpus> {
    let repo = Repo::init(room.join("synthetic"));
    let mut dice = Dice(0x5eed_1234_5678_9abc);
    let mut files: Vec<Vec<String>> =
        (0..FILES).map(|_| (0..60 + dice.below(240)).map(|_| dice.line()).collect()).collect();
    let name = |n: u64| format!("src/part{}/area{}/file{n}.rs", n % 12, n % 60);
    let mut stream = String::new();
    let mut mark = 0_u64;
    let mut commit = |stream: &mut String, name: &str, from: Option<u64>, changes: &[(String, String)]| {
        mark += 1;
        let who = format!("Ada Author <ada@example.org> {} +0000", 1_700_000_000 + mark * 60);
        let message = format!("change {mark}");
        let _ok = write!(
            stream,
            "commit {name}\nmark :{mark}\nauthor {who}\ncommitter {who}\ndata {}\n{message}\n",
            message.len()
        );
        if let Some(from) = from {
            let _ok = writeln!(stream, "from :{from}");
        }
        for (path, text) in changes {
            let _ok = write!(stream, "M 100644 inline {path}\ndata {}\n{text}\n", text.len());
        }
        stream.push('\n');
        mark
    };
    let text = |lines: &[String]| lines.join("\n") + "\n";
    let all: Vec<_> = files.iter().enumerate().map(|(n, f)| (name(n as u64), text(f))).collect();
    let mut main = vec![commit(&mut stream, "refs/heads/main", None, &all)];
    for _ in 0..300 {
        let mut changes = Vec::new();
        for _ in 0..1 + dice.below(6) {
            let n = dice.below(FILES) as usize;
            let at = dice.below(files[n].len() as u64) as usize;
            files[n][at] = dice.line();
            changes.push((name(n as u64), text(&files[n])));
        }
        let from = main.last().copied();
        main.push(commit(&mut stream, "refs/heads/main", from, &changes));
    }
    for branch in 0..HEADS {
        let size = (8_000.0 * (1.96 * dice.normal()).exp()).clamp(200.0, 3_000_000.0);
        let commits = match dice.below(20) {
            0..9 => 1,
            9..16 => 2 + dice.below(4),
            _ => 6 + dice.below(15),
        };
        let mut from = main[main.len() - 1 - dice.below(50) as usize];
        let name_of = format!("refs/heads/work{branch}");
        for step in 0..commits {
            // A changed line is about 90 bytes of patch without context.
            let mut lines = (size / commits as f64 / 90.0).ceil() as u64;
            let mut changes: Vec<(String, String)> = Vec::new();
            while lines > 0 {
                let part = lines.min(1 + dice.below(60));
                lines -= part;
                if dice.below(5) == 0 {
                    let fresh: Vec<String> = (0..part).map(|_| dice.line()).collect();
                    changes.push((format!("src/new/b{branch}s{step}n{}.rs", changes.len()), text(&fresh)));
                    continue;
                }
                let n = dice.below(FILES) as usize;
                let mut file = files[n].clone();
                let at = dice.below(file.len() as u64) as usize;
                for line in file.iter_mut().skip(at).take(part as usize) {
                    *line = dice.line();
                }
                changes.push((name(n as u64), text(&file)));
            }
            from = commit(&mut stream, &name_of, Some(from), &changes);
        }
    }
    repo.git_with(&["fast-import", "--quiet"], stream.as_bytes());
    repo.git(&["repack", "-adq"]);
    let id = |name: &str| Sha::new(&repo.sha(name)).context("git prints ids");
    let tip = id("refs/heads/main")?;
    let pairs = (0..HEADS)
        .map(|n| Ok((tip.clone(), id(&format!("refs/heads/work{n}"))?)))
        .collect::<Result<Vec<_>>>()?;
    Ok(Corpus { repo: repo.path().to_owned(), pairs })
}

/// One commit that rewrites 25,000 lines in 250 files and adds 25,000 in 250 new ones.
fn large_change(room: &Path) -> Result<Corpus> {
    let repo = Repo::init(room.join("large"));
    let mut dice = Dice(0x1a26_e000_0000_0001);
    let mut file = || (0..100).map(|_| dice.line()).collect::<Vec<_>>().join("\n") + "\n";
    let names: Vec<String> = (0..500).map(|n| format!("src/area{}/file{n}.rs", n % 20)).collect();
    let old: Vec<String> = (0..250).map(|_| file()).collect();
    let new: Vec<String> = (0..500).map(|_| file()).collect();
    let changes = |texts: &[String]| -> Vec<(String, String)> {
        names.iter().cloned().zip(texts.iter().cloned()).collect()
    };
    let commit = |message: &str, texts: &[String]| {
        let changes = changes(texts);
        let files: Vec<(&str, Option<&[u8]>)> =
            changes.iter().map(|(name, text)| (name.as_str(), Some(text.as_bytes()))).collect();
        Sha::new(&repo.commit(message, &files)).context("git prints ids")
    };
    let tip = commit("feat: begin", &old)?;
    repo.branch("rewrite");
    let head = commit("feat: rewrite", &new)?;
    Ok(Corpus { repo: repo.path().to_owned(), pairs: vec![(tip, head)] })
}

/// This repository: each of its last commits as a head against the one eight before it.
fn own_history(root: &Path) -> Result<Corpus> {
    let repo = Repo::at(root);
    anyhow::ensure!(repo.try_git(&["rev-parse", "--git-dir"]), "this is no git checkout");
    anyhow::ensure!(
        repo.git(&["rev-parse", "--is-shallow-repository"]) == "false",
        "this checkout is shallow"
    );
    let listed = repo.git(&["rev-list", "--first-parent", "--max-count=60", "HEAD"]);
    let ids = listed.lines().map(|l| Sha::new(l).context("git prints ids")).collect::<Result<Vec<_>>>()?;
    anyhow::ensure!(ids.len() > 8, "it has only {} commits", ids.len());
    let pairs = ids.iter().zip(ids.iter().skip(8)).map(|(head, tip)| (tip.clone(), head.clone())).collect();
    Ok(Corpus { repo: root.to_owned(), pairs })
}

fn at(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[((sorted.len() - 1) as f64 * share).round() as usize]
}

fn report(root: &Path, corpora: &[Measured]) -> Result<()> {
    let date = chrono::Utc::now().format("%Y-%m-%d");
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo
        .lines()
        .find_map(|l| l.strip_prefix("model name"))
        .map_or("unknown processor", |l| l.trim_start_matches(['\t', ' ', ':']));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let git = Repo::at(root).git(&["--version"]);
    let mut rows = Vec::new();
    let mut page = format!(
        "# What the local gates cost\n\nMeasured {date} on {cores} cores ({model}, {}), {git}, release build. CPU milliseconds of Steward and every git it \
         started, best of {ROUNDS} interleaved rounds. *Plain* is one `git diff --raw --numstat -p base...head` of the same head in the same run. \
         Written by `cargo bench -p steward-core --bench gates`.\n\n\
         | heads | what | p50 ms | p95 ms | ratio of p50 | ratio of p95 | p95 of the ratios | ratio of sums | goal |\n|---|---|---|---|---|---|---|---|---|\n",
        std::env::consts::OS
    );
    for m in corpora {
        let bytes: Vec<f64> = m.bytes.iter().map(|b| *b as f64).collect();
        let label = format!(
            "{} ({}; patch p50 {:.0} KB, p95 {:.0} KB)",
            m.name,
            m.plain.len(),
            at(&bytes, 0.5) / 1e3,
            at(&bytes, 0.95) / 1e3
        );
        for (what, values, goal) in [
            ("plain git diff", &m.plain, None),
            ("diff, modes, blobs", &m.diff, Some(1.3)),
            ("all local gates", &m.gates, Some(2.7)),
        ] {
            let ratios: Vec<f64> = values.iter().zip(&m.plain).map(|(v, p)| v / p).collect();
            let of = |share| at(values, share) / at(&m.plain, share);
            let sums = values.iter().sum::<f64>() / m.plain.iter().sum::<f64>();
            let goal_text = goal.map_or_else(|| "–".to_owned(), |g: f64| format!("≤ {g}"));
            let _ok = writeln!(
                page,
                "| {label} | {what} | {:.1} | {:.1} | {:.2} | {:.2} | {:.2} | {sums:.2} | {goal_text} |",
                at(values, 0.5),
                at(values, 0.95),
                of(0.5),
                of(0.95),
                at(&ratios, 0.95)
            );
            rows.push(json!({
                "corpus": m.name, "heads": m.plain.len(), "what": what, "goal": goal,
                "cpuMs": {"p50": at(values, 0.5), "p95": at(values, 0.95)},
                "ratio": {"ofP50": of(0.5), "ofP95": of(0.95), "p50": at(&ratios, 0.5), "p95": at(&ratios, 0.95), "ofSums": sums},
            }));
        }
    }
    let json = json!({
        "date": date.to_string(), "machine": {"os": std::env::consts::OS, "arch": std::env::consts::ARCH, "cores": cores, "cpu": model},
        "git": git, "rounds": ROUNDS, "results": rows,
    });
    std::fs::create_dir_all(root.join("benches/results"))?;
    std::fs::write(root.join("benches/results/gates.json"), serde_json::to_string_pretty(&json)? + "\n")?;
    std::fs::create_dir_all(root.join("docs"))?;
    std::fs::write(root.join("docs/benchmarks-gates.md"), &page)?;
    print!("{page}");
    Ok(())
}
