//! Asks the boundary whether it holds, from inside.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::lines::Line;
use super::spec::{Bind, BoundarySpec, Limits, Network};
use super::{Boundary, Contained, KillReport, SandboxError, spawn};
use crate::home::Home;

const PATIENCE: Duration = Duration::from_secs(20);

/// What is asked of the boundary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckId {
    Starts,
    CanarySecret,
    OtherEnvironments,
    OtherCommandLines,
    CloneRoot,
    GitFolder,
    DataFolder,
    ConfigFolder,
    Loopback,
    ReadOnlyTree,
    InboxWritable,
    NothingLeftRunning,
}

/// How one question was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome", content = "why")]
pub enum CheckOutcome {
    Holds,
    /// Holds in part, as this kind of wall does.
    Weaker(String),
    Fails(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    pub id: CheckId,
    #[serde(flatten)]
    pub outcome: CheckOutcome,
}

/// What the probe found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BoundaryReport {
    /// Name of the wall.
    pub boundary: String,
    pub checks: Vec<Check>,
    pub residual: Vec<String>,
}

impl BoundaryReport {
    /// True when agents may be started.
    pub fn holds(&self) -> bool {
        self.failure().is_none()
    }

    /// The first thing that does not hold, as a sentence.
    pub fn failure(&self) -> Option<String> {
        if self.checks.is_empty() {
            return Some("the boundary was not asked".to_owned());
        }
        self.checks.iter().find_map(|check| match &check.outcome {
            CheckOutcome::Fails(why) => Some(format!("{:?}: {why}", check.id)),
            CheckOutcome::Holds | CheckOutcome::Weaker(_) => None,
        })
    }
}

/// The questions, sent to the process inside through its input.
#[derive(Debug, Serialize, Deserialize)]
struct Questions {
    canary: PathBuf,
    /// Stands in the environment and the command line of a process outside.
    marker: String,
    /// Host paths that must not appear in any command line.
    host_folder: PathBuf,
    closed: Vec<(CheckId, PathBuf)>,
    port: u16,
    tree: PathBuf,
    inbox: PathBuf,
    /// Environment value of the processes left running for the kill.
    lingering: String,
}

/// Starts a process inside `boundary` that tries to get out. `steward` is the command-line binary.
pub async fn probe(boundary: &Boundary, home: &Home, steward: &Path) -> BoundaryReport {
    let mut report = BoundaryReport {
        boundary: boundary.name().to_owned(),
        checks: Vec::new(),
        residual: boundary.residual().into_iter().map(str::to_owned).collect(),
    };
    match try_probe(boundary, home, steward).await {
        Ok(checks) => report.checks = checks,
        Err(error) => {
            let outcome = CheckOutcome::Fails(error.to_string());
            report.checks.push(Check { id: CheckId::Starts, outcome });
        }
    }
    report
}

#[derive(Debug, thiserror::Error)]
enum ProbeError {
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    #[error("could not set up the probe: {0}")]
    Setup(#[from] std::io::Error),
    #[error("the probe gave no answer from inside: {0}")]
    NoAnswer(String),
}

async fn try_probe(boundary: &Boundary, home: &Home, steward: &Path) -> Result<Vec<Check>, ProbeError> {
    let folder = ProbeFolder::create()?;
    let marker = random_word()?;
    let lingering = random_word()?;
    let canary = folder.0.join("canary");
    std::fs::write(&canary, &marker)?;
    for name in ["clone/.git", "review", "inbox", "scratch"] {
        std::fs::create_dir_all(folder.0.join(name))?;
    }
    std::fs::write(folder.0.join("clone/.git/config"), "")?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let decoy = Decoy::start(&marker)?;

    let program = Bind::new(steward, "/opt/steward/steward");
    let review = Bind::new(folder.0.join("review"), "/review");
    let inbox = Bind::new(folder.0.join("inbox"), "/inbox");
    let scratch = folder.0.join("scratch");
    let questions = Questions {
        canary,
        marker,
        host_folder: folder.0.clone(),
        closed: vec![
            (CheckId::CloneRoot, folder.0.join("clone")),
            (CheckId::GitFolder, folder.0.join("clone/.git")),
            (CheckId::DataFolder, home.data_dir().to_owned()),
            (CheckId::ConfigFolder, home.config_dir().to_owned()),
        ],
        port: listener.local_addr()?.port(),
        tree: boundary.place(&review).to_owned(),
        inbox: boundary.place(&inbox).to_owned(),
        lingering: lingering.clone(),
    };
    let home_inside = boundary.home(&scratch);
    let spec = BoundarySpec {
        cwd: boundary.place(&review).to_owned(),
        program,
        args: vec!["contain".into(), "probe".into()],
        env: vec![
            ("PATH".into(), "/usr/bin:/bin".into()),
            ("HOME".into(), home_inside.into()),
            (LINGERING.to_owned(), lingering.clone().into()),
        ],
        read_only: vec![review],
        writable: vec![inbox],
        sockets: Vec::new(),
        network: Network::None,
        stdin: serde_json::to_vec(&questions).map_err(std::io::Error::other)?,
        scratch,
        limits: Limits::default(),
    };
    let mut contained = spawn(boundary, spec)?;
    let answer = tokio::time::timeout(PATIENCE, contained.stdout().next()).await;
    let kill = contained.kill().await;
    drop(decoy);
    let mut checks = match answer {
        Ok(Some(Line::Whole(line))) => serde_json::from_slice::<Vec<Check>>(&line)
            .map_err(|error| ProbeError::NoAnswer(error.to_string()))?,
        Ok(Some(Line::TooLong { .. }) | None) | Err(_) => {
            return Err(ProbeError::NoAnswer(said(&contained)));
        }
    };
    checks.insert(0, Check { id: CheckId::Starts, outcome: CheckOutcome::Holds });
    checks.push(Check { id: CheckId::NothingLeftRunning, outcome: left(&kill, &lingering) });
    Ok(checks)
}

fn said(contained: &Contained) -> String {
    let tail = contained.stderr_tail();
    let text = String::from_utf8_lossy(&tail);
    text.lines().next().unwrap_or("it said nothing").to_owned()
}

/// The kill's own word, and a look at every environment of this user for the marker.
fn left(kill: &KillReport, lingering: &str) -> CheckOutcome {
    if let Some(survivor) = kill.survivors.first() {
        return CheckOutcome::Fails(format!(
            "process {} ({}) outlived the kill",
            survivor.pid, survivor.name
        ));
    }
    match holding(lingering, "environ").first() {
        Some(pid) => CheckOutcome::Fails(format!("process {pid} outlived the kill")),
        None if kill.found < LINGERERS => {
            CheckOutcome::Fails(format!("only {} processes were there to be killed", kill.found))
        }
        None => CheckOutcome::Holds,
    }
}

/// Environment variable by which the lingering processes are known.
const LINGERING: &str = "STEWARD_PROBE";
/// How many processes the script leaves running at least.
const LINGERERS: usize = 7;
/// Seven processes: two in the family, two in a new session, three in a session below a session,
/// with signals ignored.
const LINGER: &str = "trap '' TERM; sleep 300 & sleep 300 & \
    setsid sh -c 'trap \"\" TERM; sleep 300 & setsid sh -c \"trap : TERM; sleep 300 & sleep 300\" & sleep 300' & wait";

/// Answers the questions on standard input: the part of the probe that runs inside. It then leaves
/// processes running, to be killed.
pub fn answer_from_inside() -> std::io::Result<()> {
    let questions: Questions =
        serde_json::from_reader(std::io::stdin().lock()).map_err(std::io::Error::other)?;
    let mut checks = vec![
        Check {
            id: CheckId::CanarySecret,
            outcome: closed(std::fs::read(&questions.canary).is_ok(), "the canary file was read"),
        },
        Check {
            id: CheckId::OtherEnvironments,
            outcome: unseen(&holding(&questions.marker, "environ"), "environment"),
        },
        Check { id: CheckId::OtherCommandLines, outcome: command_lines(&questions) },
        Check { id: CheckId::Loopback, outcome: loopback(questions.port) },
        Check {
            id: CheckId::ReadOnlyTree,
            outcome: closed(
                std::fs::write(questions.tree.join("written"), "x").is_ok(),
                "the tree was written to",
            ),
        },
        Check { id: CheckId::InboxWritable, outcome: inbox(&questions.inbox) },
    ];
    for (id, path) in &questions.closed {
        // Opening, not looking: Landlock lets anybody look.
        let open = std::fs::read_dir(path).is_ok() || std::fs::File::open(path).is_ok();
        checks.push(Check { id: *id, outcome: closed(open, "it can be opened from inside") });
    }
    let mut sh = Command::new("/bin/sh");
    sh.args(["-c", LINGER]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = sh.env(LINGERING, &questions.lingering).spawn()?;
    std::thread::sleep(Duration::from_millis(150));
    println!("{}", serde_json::to_string(&checks).map_err(std::io::Error::other)?);
    child.wait().map(|_| ())
}

fn closed(open: bool, why: &str) -> CheckOutcome {
    if open { CheckOutcome::Fails(why.to_owned()) } else { CheckOutcome::Holds }
}

fn unseen(pids: &[i32], what: &str) -> CheckOutcome {
    match pids.first() {
        Some(pid) => CheckOutcome::Fails(format!("the {what} of process {pid} was read")),
        None => CheckOutcome::Holds,
    }
}

fn command_lines(questions: &Questions) -> CheckOutcome {
    let mut seen = holding(&questions.marker, "cmdline");
    if std::env::current_dir().is_ok_and(|cwd| !cwd.starts_with(&questions.host_folder)) {
        // With names of its own inside, no host path may be readable either.
        seen.extend(holding(&questions.host_folder.to_string_lossy(), "cmdline"));
    }
    unseen(&seen, "command line")
}

fn loopback(port: u16) -> CheckOutcome {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let open = TcpStream::connect_timeout(&address, Duration::from_millis(500)).is_ok();
    closed(open, "a port of this machine answered")
}

fn inbox(folder: &Path) -> CheckOutcome {
    match std::fs::write(folder.join("probe"), "x") {
        Ok(()) => CheckOutcome::Holds,
        Err(error) => CheckOutcome::Fails(format!("the inbox cannot be written: {error}")),
    }
}

/// Processes whose `/proc` file of that name can be read and holds the word.
fn holding(word: &str, file: &str) -> Vec<i32> {
    let me = i32::try_from(std::process::id()).unwrap_or(0);
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter(|&pid| pid != me)
        .filter(|pid| {
            std::fs::read(format!("/proc/{pid}/{file}"))
                .is_ok_and(|bytes| bytes.windows(word.len()).any(|part| part == word.as_bytes()))
        })
        .collect()
}

fn random_word() -> std::io::Result<String> {
    use std::io::Read;
    let mut bytes = [0u8; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(hex::encode(bytes))
}

/// A process outside that carries the marker in its environment and command line.
struct Decoy(std::process::Child);

impl Decoy {
    fn start(marker: &str) -> std::io::Result<Self> {
        let mut command = Command::new("/bin/sleep");
        std::os::unix::process::CommandExt::arg0(&mut command, marker);
        command.arg("120").env("STEWARD_CANARY", marker);
        Ok(Self(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?))
    }
}

impl Drop for Decoy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A folder of the probe, gone afterwards.
struct ProbeFolder(PathBuf);

impl ProbeFolder {
    fn create() -> std::io::Result<Self> {
        let path = std::env::temp_dir().join(format!("steward-probe-{}", random_word()?));
        let mut builder = std::fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for ProbeFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
