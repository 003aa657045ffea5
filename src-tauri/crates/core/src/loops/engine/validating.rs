//! The repository's own formatter and validator: programs that the config file names and pins, never ones of a
//! branch (engine.md 9, 5).

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};
use steward_rules::engine::policy::ValidatePolicy;
use steward_rules::engine::verify::ToolEnd;
use steward_rules::untrusted::Untrusted;
use tokio_util::sync::CancellationToken;

use crate::home::Home;
use crate::sandbox::{self, Boundary, Limits, SandboxError, Tool};
use crate::store::engine_tasks::Fault;

/// Bytes a tool may print.
const OUTPUT: u64 = 64 << 20;
/// Largest program that is hashed.
const PROGRAM: u64 = 2 << 30;
/// How long a program may take to say its version.
const VERSION: Duration = Duration::from_secs(20);
/// The time of a run where the policy says nothing.
const TIME: Duration = Duration::from_secs(600);
/// How often a lock that is held is asked for again.
const AGAIN: Duration = Duration::from_millis(200);
/// Where a program without a folder is looked for.
const PLACES: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];
/// Longest piece of a tool's words that is kept, in characters.
const SAID: usize = 2_000;

/// The tools of a repository, each the very program that was pinned.
#[derive(Debug, Clone)]
pub struct Tools {
    format: Option<Pinned>,
    check: Pinned,
    time: Duration,
    is_heavy: bool,
    closed: Vec<PathBuf>,
    lock: PathBuf,
    boundary: Boundary,
}

#[derive(Debug, Clone)]
struct Pinned {
    name: String,
    program: PathBuf,
    args: Vec<OsString>,
}

/// Why there are no tools: a fault of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoTools {
    #[error("policy.engine.validate.check names no program, so nothing of Steward's own is pushed")]
    None,
    #[error("the validator {0} is not there, or is no program; name it by its whole path")]
    Missing(String),
    #[error("policy.engine.validate.pin is missing: give the version or the SHA-256 of {0}")]
    NoPin(String),
    #[error("{0} is not the program that policy.engine.validate.pin names")]
    WrongPin(String),
    #[error("the validator could not be asked for its version: {0}")]
    NotAsked(String),
}

impl NoTools {
    pub fn fault(&self) -> Fault {
        match self {
            Self::None | Self::Missing(_) => Fault::NoValidator,
            Self::NoPin(_) | Self::WrongPin(_) | Self::NotAsked(_) => Fault::Pin,
        }
    }
}

/// A run of one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    pub end: ToolEnd,
    /// The last of what it said; untrusted.
    pub said: String,
}

/// Why a tool did not run to an end of its own.
#[derive(Debug, thiserror::Error)]
pub enum NotRun {
    #[error("it was stopped")]
    Cancelled,
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    #[error("could not {doing}: {source}")]
    Io { doing: &'static str, source: std::io::Error },
    #[error("a process of {0} could not be ended")]
    Left(String),
}

/// The one lock of everything heavy that Steward runs; it is let go when this is dropped, and when we die.
#[derive(Debug)]
pub struct HeavyLock {
    _file: File,
}

impl HeavyLock {
    fn open(file: &Path) -> Result<File, NotRun> {
        File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(file)
            .map_err(|source| NotRun::Io { doing: "open the heavy-tool lock", source })
    }

    /// Takes it now, or not at all.
    pub fn try_take(home: &Home) -> Result<Option<Self>, NotRun> {
        Self::try_at(&lock_file(home))
    }

    fn try_at(path: &Path) -> Result<Option<Self>, NotRun> {
        let file = Self::open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(NotRun::Io { doing: "take the heavy-tool lock", source }),
        }
    }

    async fn wait(path: &Path, cancel: &CancellationToken) -> Result<Self, NotRun> {
        loop {
            if let Some(held) = Self::try_at(path)? {
                return Ok(held);
            }
            tokio::select! {
                () = cancel.cancelled() => return Err(NotRun::Cancelled),
                () = tokio::time::sleep(AGAIN) => {}
            }
        }
    }
}

fn lock_file(home: &Home) -> PathBuf {
    home.data_dir().join("heavy.lock")
}

impl Tools {
    /// Finds the tools and holds them against their pin.
    pub async fn find(
        policy: Option<&ValidatePolicy>,
        home: &Home,
        boundary: &Boundary,
        cancel: &CancellationToken,
    ) -> Result<Self, NoTools> {
        let policy = policy.filter(|policy| !policy.check.is_empty()).ok_or(NoTools::None)?;
        let check = pinned("the validator", &policy.check)?;
        let format =
            if policy.format.is_empty() { None } else { Some(pinned("the formatter", &policy.format)?) };
        let time = match policy.timeout_secs {
            0 => TIME,
            secs => Duration::from_secs(u64::from(secs)),
        };
        let tools = Self {
            format,
            check,
            time,
            is_heavy: policy.heavy,
            closed: vec![home.data_dir().to_owned(), home.config_dir().to_owned()],
            lock: lock_file(home),
            boundary: boundary.clone(),
        };
        let shown = tools.check.program.display().to_string();
        let pins: Vec<&str> = policy
            .pin
            .iter()
            .flat_map(|pin| pin.split([',', ' ', '\n']))
            .filter(|pin| !pin.is_empty())
            .collect();
        if pins.is_empty() {
            return Err(NoTools::NoPin(shown));
        }
        for one in tools.format.iter().chain([&tools.check]) {
            tools.holds(one, &pins, cancel).await?;
        }
        Ok(tools)
    }

    /// True when a program is what one of the pins says: its SHA-256, or a word of its `--version`.
    async fn holds(&self, one: &Pinned, pins: &[&str], cancel: &CancellationToken) -> Result<(), NoTools> {
        let shown = || one.program.display().to_string();
        let (hashes, versions): (Vec<&str>, Vec<&str>) = pins.iter().partition(|pin| hash_of(pin).is_some());
        if !hashes.is_empty() {
            let program = one.program.clone();
            let found = tokio::task::spawn_blocking(move || hash_file(&program)).await;
            let found = found.ok().and_then(Result::ok).ok_or_else(|| NoTools::Missing(shown()))?;
            if hashes.iter().filter_map(|pin| hash_of(pin)).any(|pin| pin == found) {
                return Ok(());
            }
        }
        if versions.is_empty() {
            return Err(NoTools::WrongPin(shown()));
        }
        let folder = Scratch::create().map_err(|error| NoTools::NotAsked(error.to_string()))?;
        let tool = Tool {
            args: vec!["--version".into()],
            time: VERSION,
            output: 1 << 20,
            ..self.tool(one, &folder.0)
        };
        let said = sandbox::run_tool(&self.boundary, &tool, cancel)
            .await
            .map_err(|error| NoTools::NotAsked(error.to_string()))?;
        let words: Vec<&str> =
            said.said.split(|c: char| c.is_whitespace() || matches!(c, ',' | '(' | ')')).collect();
        let is_it =
            |pin: &&&str| words.iter().any(|word| word == *pin || word.strip_prefix('v') == Some(pin));
        if said.exit == Some(0) && versions.iter().find(is_it).is_some() {
            Ok(())
        } else {
            Err(NoTools::WrongPin(shown()))
        }
    }

    fn tool(&self, one: &Pinned, folder: &Path) -> Tool {
        Tool {
            program: one.program.clone(),
            args: one.args.clone(),
            folder: folder.to_owned(),
            closed: self.closed.clone(),
            time: self.time,
            output: OUTPUT,
            limits: Limits { file_bytes: 1 << 30, scratch_bytes: 1 << 30, ..Limits::default() },
        }
    }

    async fn run(&self, one: &Pinned, folder: &Path, cancel: &CancellationToken) -> Result<Ran, NotRun> {
        let _held = if self.is_heavy { Some(HeavyLock::wait(&self.lock, cancel).await?) } else { None };
        let ended = sandbox::run_tool(&self.boundary, &self.tool(one, folder), cancel).await?;
        if ended.is_cancelled {
            return Err(NotRun::Cancelled);
        }
        if !ended.is_gone {
            return Err(NotRun::Left(one.name.clone()));
        }
        let said = steward_rules::secret::Engine::shared().redact(&ended.said);
        let count = said.chars().count();
        let said: String = said.chars().skip(count.saturating_sub(SAID)).collect();
        let end = ToolEnd { name: one.name.clone(), exit: ended.exit };
        Ok(Ran { end, said: Untrusted::new(said).escaped(SAID) })
    }

    /// Runs the formatter in write mode; `None` where there is none.
    pub async fn format(&self, folder: &Path, cancel: &CancellationToken) -> Result<Option<Ran>, NotRun> {
        match &self.format {
            None => Ok(None),
            Some(format) => self.run(format, folder, cancel).await.map(Some),
        }
    }

    /// Runs the validator.
    pub async fn check(&self, folder: &Path, cancel: &CancellationToken) -> Result<Ran, NotRun> {
        self.run(&self.check, folder, cancel).await
    }
}

/// The program of an argument list. A path that is not whole would be one of the branch.
fn pinned(name: &str, words: &[String]) -> Result<Pinned, NoTools> {
    let (first, args) = words.split_first().ok_or(NoTools::None)?;
    let missing = || NoTools::Missing(Untrusted::new(first.as_str()).one_line(200));
    let found = if Path::new(first).is_absolute() {
        PathBuf::from(first)
    } else if first.contains('/') || first.is_empty() {
        return Err(missing());
    } else {
        let mut places = PLACES.iter().map(|place| Path::new(place).join(first));
        places.find(|path| path.is_file()).ok_or_else(missing)?
    };
    let program = found.canonicalize().map_err(|_| missing())?;
    let meta = program.metadata().map_err(|_| missing())?;
    if !meta.is_file() || meta.permissions().mode() & 0o111 == 0 {
        return Err(missing());
    }
    Ok(Pinned { name: name.to_owned(), program, args: args.iter().map(Into::into).collect() })
}

fn hash_of(pin: &str) -> Option<String> {
    let hex = pin.strip_prefix("sha256:").unwrap_or(pin).to_ascii_lowercase();
    (hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(hex)
}

fn hash_file(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?.take(PROGRAM);
    let mut hash = Sha256::new();
    std::io::copy(&mut file, &mut hash)?;
    Ok(hex::encode(hash.finalize()))
}

/// An empty folder, gone afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn create() -> std::io::Result<Self> {
        use std::sync::atomic::{AtomicU64, Ordering};
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("steward-tool-{}-{number}", std::process::id()));
        let mut builder = std::fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _gone_already = std::fs::remove_dir_all(&self.0);
    }
}
