//! Is an agent installed, and can it be confined?

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::claude::{self, ClaudeFeatures};
use super::command::CommandNetwork;
use super::relay::SocketFolder;
use crate::sandbox::{Bind, Boundary, BoundarySpec, Limits, Line, Network, spawn};

const PATIENCE: Duration = Duration::from_secs(20);
/// Longest help text that is read.
const HELP_CAP: usize = 1 << 20;

/// Which agent a seat is configured with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentChoice {
    /// Claude Code, at a path or where it is usually installed.
    Claude { program: Option<PathBuf> },
    /// Any command that speaks the contract of `docs/agents.md`.
    Command { program: PathBuf, args: Vec<String>, network: CommandNetwork },
}

/// An agent that was looked at and can be confined. Only `probe` makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adapter(pub(super) Kind);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Claude { program: PathBuf, features: ClaudeFeatures },
    Command { program: PathBuf, args: Vec<String>, network: CommandNetwork },
}

/// Why an agent cannot be a seat.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("no agent is installed: {0} was not found")]
    NotInstalled(String),
    #[error("{0} is not an executable file")]
    NotExecutable(PathBuf),
    #[error("this agent cannot be confined, it has no {}", missing.join(", no "))]
    TooOld { missing: Vec<&'static str> },
    #[error("the agent does not start inside the boundary: {0}")]
    DoesNotStart(String),
}

/// What was found.
#[derive(Debug, Clone)]
pub struct AgentReport {
    pub adapter: &'static str,
    pub program: Option<PathBuf>,
    pub version: Option<String>,
    /// Optional abilities that are there.
    pub features: Vec<&'static str>,
    /// The agent, ready to be run, or why not.
    pub confinable: Result<Adapter, Refusal>,
    /// What the person can do about a refusal.
    pub hint: Option<String>,
    /// What stays open even so.
    pub residual: Vec<&'static str>,
}

const INSTALL: &str = "install Claude Code, or name another command in seats/reviewer.yaml";
const UPDATE: &str = "update Claude Code, so that Steward can switch project settings off and name its tools";

/// Looks at the configured agent, from inside the boundary where there is one.
pub async fn probe(choice: &AgentChoice, boundary: &Boundary) -> AgentReport {
    match choice {
        AgentChoice::Claude { program } => claude_report(program.as_deref(), boundary).await,
        AgentChoice::Command { program, args, network } => {
            let confinable = executable(program)
                .map(|program| Adapter(Kind::Command { program, args: args.clone(), network: *network }));
            AgentReport {
                adapter: "command",
                program: confinable.is_ok().then(|| program.clone()),
                version: None,
                features: Vec::new(),
                hint: confinable.is_err().then(|| "correct the command in seats/reviewer.yaml".to_owned()),
                confinable,
                residual: match network {
                    CommandNetwork::None => Vec::new(),
                    CommandNetwork::Host => vec![OPEN_NETWORK],
                },
            }
        }
    }
}

const OPEN_NETWORK: &str =
    "the seat has network and could leak the model credential it holds: use a separate, revocable one";

async fn claude_report(program: Option<&Path>, boundary: &Boundary) -> AgentReport {
    let mut report = AgentReport {
        adapter: "claude",
        program: None,
        version: None,
        features: Vec::new(),
        confinable: Err(Refusal::NotInstalled("claude".to_owned())),
        hint: Some(INSTALL.to_owned()),
        residual: Vec::new(),
    };
    let found = match program.map_or_else(find_claude, |path| Some(path.to_owned())) {
        Some(path) => path,
        None => return report,
    };
    let program = match executable(&found) {
        Ok(program) => program,
        Err(refusal) => {
            report.confinable = Err(refusal);
            return report;
        }
    };
    report.program = Some(program.clone());
    let help = match ask(boundary, &program, "--help").await {
        Ok(help) => help,
        Err(why) => {
            report.confinable = Err(Refusal::DoesNotStart(why));
            report.hint = Some("run it once in a terminal to see what it says".to_owned());
            return report;
        }
    };
    report.version = ask(boundary, &program, "--version")
        .await
        .ok()
        .and_then(|text| text.split_whitespace().next().map(str::to_owned))
        .filter(|word| word.len() < 40);
    let missing: Vec<&'static str> =
        claude::REQUIRED.into_iter().filter(|flag| !claude::mentions(&help, flag)).collect();
    if !missing.is_empty() {
        report.confinable = Err(Refusal::TooOld { missing });
        report.hint = Some(UPDATE.to_owned());
        return report;
    }
    let mut features = ClaudeFeatures::of_help(&help);
    features.unix_socket = speaks_unix(boundary, &program).await;
    for (has, name) in [
        (features.restricted, "restricted"),
        (features.permission_prompts, "permission_prompts"),
        (features.budget, "budget"),
        (features.slash_commands, "slash_commands"),
        (features.unix_socket, "unix_socket"),
    ] {
        if has {
            report.features.push(name);
        }
    }
    if !features.unix_socket {
        report.residual.push(OPEN_NETWORK);
    }
    report.hint = None;
    report.confinable = Ok(Adapter(Kind::Claude { program, features }));
    report
}

/// The places where Claude Code is usually installed, the person's PATH first.
fn find_claude() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let usual = [".local/bin/claude", ".claude/local/claude", ".npm-global/bin/claude"];
    std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join("claude"))
        .chain(home.iter().flat_map(|home| usual.iter().map(|rest| home.join(rest))))
        .find(|candidate| executable(candidate).is_ok())
}

fn executable(path: &Path) -> Result<PathBuf, Refusal> {
    use std::os::unix::fs::PermissionsExt;
    let real = path.canonicalize().map_err(|_| Refusal::NotInstalled(path.display().to_string()))?;
    let meta = real.metadata().map_err(|_| Refusal::NotInstalled(path.display().to_string()))?;
    if meta.is_file() && meta.permissions().mode() & 0o111 != 0 {
        Ok(real)
    } else {
        Err(Refusal::NotExecutable(path.to_owned()))
    }
}

fn trial(boundary: &Boundary, program: &Path, args: Vec<OsString>, scratch: PathBuf) -> BoundarySpec {
    BoundarySpec {
        program: Bind::new(program, "/opt/agent/claude"),
        args,
        env: claude::environment(boundary, &scratch),
        read_only: Vec::new(),
        writable: Vec::new(),
        sockets: Vec::new(),
        cwd: boundary.tmp(&scratch),
        network: Network::None,
        stdin: Vec::new(),
        scratch,
        limits: Limits::default(),
    }
}

/// What the agent prints for one flag.
async fn ask(boundary: &Boundary, program: &Path, flag: &str) -> Result<String, String> {
    let folder = TrialFolder::create().map_err(|error| error.to_string())?;
    let spec = trial(boundary, program, vec![flag.into()], folder.0.clone());
    let mut contained = spawn(boundary, spec).map_err(|error| error.to_string())?;
    let read = async {
        let mut text = String::new();
        while let Some(line) = contained.stdout().next().await {
            if let Line::Whole(line) = line
                && text.len() < HELP_CAP
            {
                text.push_str(&String::from_utf8_lossy(&line));
                text.push('\n');
            }
        }
        (text, contained.exited().await)
    };
    let answer = tokio::time::timeout(PATIENCE, read).await;
    contained.kill().await;
    match answer {
        Ok((text, exit)) if exit.success() && !text.trim().is_empty() => Ok(text),
        Ok((_, exit)) => {
            let tail = contained.stderr_tail();
            let said = String::from_utf8_lossy(&tail);
            let said = said.lines().next().unwrap_or("it said nothing");
            Err(format!("{flag} ended with {:?}: {said}", exit.code))
        }
        Err(_) => Err(format!("{flag} gave no answer in {} s", PATIENCE.as_secs())),
    }
}

/// True when the agent connects to a unix socket instead of the network. Nothing answers it there.
async fn speaks_unix(boundary: &Boundary, program: &Path) -> bool {
    let Ok(folder) = TrialFolder::create() else { return false };
    let Ok(place) = SocketFolder::create().map(TrialFolder) else { return false };
    let socket = place.0.join("s");
    let Ok(listener) = tokio::net::UnixListener::bind(&socket) else { return false };
    let args = ["-p", "--max-turns", "1", "--tools", "", "--setting-sources", "", "--strict-mcp-config"];
    let mut spec = trial(boundary, program, args.iter().map(Into::into).collect(), folder.0.clone());
    let bind = Bind::new(&socket, "/opt/steward/model");
    spec.env.push(("ANTHROPIC_UNIX_SOCKET".into(), boundary.place(&bind).into()));
    spec.env.push(("ANTHROPIC_BASE_URL".into(), "http://127.0.0.1:1".into()));
    spec.env.push(("ANTHROPIC_API_KEY".into(), "made-up".into()));
    spec.sockets.push(bind);
    spec.stdin = b"ok".to_vec();
    let Ok(mut contained) = spawn(boundary, spec) else { return false };
    let exited = contained.exited();
    let came = tokio::select! {
        came = listener.accept() => came.is_ok(),
        _ = exited => false,
        () = tokio::time::sleep(PATIENCE) => false,
    };
    contained.kill().await;
    came
}

/// A private folder, gone afterwards.
struct TrialFolder(PathBuf);

impl TrialFolder {
    fn create() -> std::io::Result<Self> {
        SocketFolder::create().map(Self)
    }
}

impl Drop for TrialFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
