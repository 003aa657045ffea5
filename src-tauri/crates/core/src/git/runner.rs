//! Runs the person's own git with nothing inherited: no configuration, hook, filter, pager or prompt.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use tokio_util::sync::CancellationToken;

use super::error::GitError;

/// The tree without entries. Attributes are read from it, so those of any branch are not.
pub(super) const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
/// That of Debian 12. Its bare repositories read attributes from no tree; newer ones are told to read
/// them from the empty one.
const OLDEST: (u32, u32) = (2, 39);
/// Git's words beyond this are dropped.
const STDERR_CAP: usize = 16 * 1024;
/// How often a silent git is looked at for the deadline and the cancel sign.
const LOOK: Duration = Duration::from_millis(50);

/// Settings that win over every configuration file, since git takes them as from its command line.
const FORCED: &[(&str, &str)] = &[
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.pager", "cat"),
    ("core.quotePath", "true"),
    ("core.alternateRefsCommand", "true"),
    ("core.bigFileThreshold", "32m"),
    ("core.commitGraph", "true"),
    ("credential.helper", ""),
    // A diff that forgets `--no-ext-diff` fails instead of running what a checkout configured.
    ("diff.external", ""),
    ("fetch.fsckObjects", "true"),
    // Old, harmless faults of well-known repositories.
    ("fetch.fsck.badTimezone", "ignore"),
    ("fetch.fsck.missingSpaceBeforeDate", "ignore"),
    ("fetch.fsck.zeroPaddedFilemode", "ignore"),
    ("fetch.recurseSubmodules", "false"),
    ("gc.auto", "0"),
    ("log.showSignature", "false"),
    ("maintenance.auto", "false"),
    ("protocol.allow", "never"),
    ("protocol.file.allow", "user"),
    ("protocol.ext.allow", "never"),
    ("submodule.recurse", "false"),
    ("transfer.fsckObjects", "true"),
];

/// The git found on PATH, and the empty places it is given instead of the person's own. All calls
/// block: async callers use `spawn_blocking`.
#[derive(Debug, Clone)]
pub struct Git {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    exe: PathBuf,
    version: String,
    path: OsString,
    room: PathBuf,
}

/// What a call may use up.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub time: Duration,
    /// Bytes of standard output.
    pub bytes: u64,
}

impl Limits {
    /// For answers of a few lines.
    pub const SHORT: Self = Self { time: Duration::from_secs(30), bytes: 1 << 20 };
    /// For lists of refs and paths.
    pub const LIST: Self = Self { time: Duration::from_secs(60), bytes: 256 << 20 };
    /// For patches, which are parsed as they come.
    pub const STREAM: Self = Self { time: Duration::from_secs(300), bytes: 2 << 30 };
}

impl Git {
    /// Finds git on PATH, checks its version, and makes the empty home, hooks folder and
    /// configuration it will see, under `room`.
    pub fn find(room: &Path) -> Result<Self, GitError> {
        Self::find_on(room, &std::env::var_os("PATH").unwrap_or_default())
    }

    /// As [`Self::find`], on a given search path.
    pub fn find_on(room: &Path, path: &OsStr) -> Result<Self, GitError> {
        let exe = std::env::split_paths(path)
            .filter(|dir| dir.is_absolute())
            .map(|dir| dir.join("git"))
            .find(|file| file.is_file())
            .ok_or(GitError::GitMissing)?;
        let room = room.join(".room");
        for folder in ["home", "hooks"] {
            std::fs::create_dir_all(room.join(folder)).map_err(GitError::io("make git's empty home"))?;
        }
        // Real empty files, not /dev/null: git and its children may lock or replace them. Every
        // repository is treated as hostile anyway, so its owner is not asked for.
        put(&room.join("config"), b"[safe]\n\tdirectory = *\n")?;
        put(&room.join("attributes"), b"")?;
        let mut git =
            Self { inner: Arc::new(Inner { exe, version: String::new(), path: path.to_owned(), room }) };
        let said = git.call(Path::new("/"), ["--version"]).line()?;
        let version = said.trim_start_matches("git version ").to_owned();
        let mut numbers = version.split(['.', ' ', '-']).map(|n| n.parse::<u32>().unwrap_or(0));
        if (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) < OLDEST {
            return Err(GitError::GitTooOld { found: version });
        }
        if let Some(inner) = Arc::get_mut(&mut git.inner) {
            inner.version = version;
        }
        Ok(git)
    }

    pub fn version(&self) -> &str {
        &self.inner.version
    }

    /// Starts a call that works in `place`: a checkout, a git folder, or `/` for none.
    pub fn call<I, S>(&self, place: &Path, args: I) -> Call<'_>
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        Call {
            git: self,
            place: place.to_owned(),
            args: args.into_iter().map(|a| a.as_ref().to_owned()).collect(),
            env: Vec::new(),
            stdin: Vec::new(),
            limits: Limits::SHORT,
            cancel: None,
            settings: Vec::new(),
            transport: "none",
        }
    }

    /// The empty configuration's folder, for settings that must point at a file.
    pub(super) fn room(&self) -> &Path {
        &self.inner.room
    }
}

fn put(file: &Path, bytes: &[u8]) -> Result<(), GitError> {
    if std::fs::read(file).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    std::fs::write(file, bytes).map_err(GitError::io("write git's empty configuration"))
}

/// Whether the reader of a stream wants more of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    More,
    Enough,
}

/// One git command, not yet started.
pub struct Call<'a> {
    git: &'a Git,
    place: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    stdin: Vec<u8>,
    limits: Limits,
    cancel: Option<&'a CancellationToken>,
    settings: Vec<(String, String)>,
    /// `GIT_ALLOW_PROTOCOL`: with `none` not even a lazy fetch can start a program.
    transport: &'static str,
}

impl std::fmt::Debug for Call<'_> {
    /// The command alone: its settings and environment may hold a token.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Call({})", self.what())
    }
}

impl<'a> Call<'a> {
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.into(), value.as_ref().to_owned()));
        self
    }

    pub fn stdin(mut self, bytes: Vec<u8>) -> Self {
        self.stdin = bytes;
        self
    }

    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    pub fn cancel(mut self, token: &'a CancellationToken) -> Self {
        self.cancel = Some(token);
        self
    }

    /// A further setting of this call alone.
    pub(super) fn setting(mut self, key: &str, value: impl Into<String>) -> Self {
        self.settings.push((key.to_owned(), value.into()));
        self
    }

    /// Lets this call read from a repository on this machine.
    pub(super) fn over_files(self) -> Self {
        self.over("file")
    }

    /// Lets this call speak this protocol, and no other.
    pub(super) fn over(mut self, transport: &'static str) -> Self {
        self.transport = transport;
        self
    }

    fn what(&self) -> String {
        self.args
            .iter()
            .find(|a| !a.as_encoded_bytes().starts_with(b"-"))
            .map_or_else(|| "--version".to_owned(), |a| a.to_string_lossy().into_owned())
    }

    fn command(&self) -> Command {
        let inner = &self.git.inner;
        let room = &inner.room;
        let mut command = Command::new(&inner.exe);
        command
            .args(&self.args)
            .current_dir(&self.place)
            .env_clear()
            .env("PATH", &inner.path)
            .env("HOME", room.join("home"))
            .env("XDG_CONFIG_HOME", room.join("home"))
            .env("LC_ALL", "C")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", room.join("config"))
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_ATTR_SOURCE", EMPTY_TREE)
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_ALLOW_PROTOCOL", self.transport)
            .env("GIT_PROTOCOL_FROM_USER", "1")
            .env("GIT_ASKPASS", "true")
            .env("SSH_ASKPASS", "true")
            .env("GIT_PAGER", "cat")
            .env("GIT_EDITOR", "true")
            .env("GIT_ADVICE", "0")
            .process_group(0);
        let hooks = room.join("hooks").to_string_lossy().into_owned();
        let attributes = room.join("attributes").to_string_lossy().into_owned();
        let paths = [("core.hooksPath", hooks.as_str()), ("core.attributesFile", attributes.as_str())];
        let own = self.settings.iter().map(|(k, v)| (k.as_str(), v.as_str()));
        let mut count = 0_usize;
        for (key, value) in FORCED.iter().copied().chain(paths).chain(own) {
            command
                .env(format!("GIT_CONFIG_KEY_{count}"), key)
                .env(format!("GIT_CONFIG_VALUE_{count}"), value);
            count += 1;
        }
        command.env("GIT_CONFIG_COUNT", count.to_string());
        for (name, value) in &self.env {
            command.env(name, value);
        }
        command
    }

    /// The whole output.
    pub fn bytes(self) -> Result<Vec<u8>, GitError> {
        let mut out = Vec::new();
        self.stream(|chunk| {
            out.extend_from_slice(chunk);
            Ok(Flow::More)
        })?;
        Ok(out)
    }

    /// The output as one trimmed line of text.
    pub fn line(self) -> Result<String, GitError> {
        let bytes = self.bytes()?;
        Ok(String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']).to_owned())
    }

    /// Succeeds or not; the error only when git could not be run at all or was stopped.
    pub fn ok(self) -> Result<bool, GitError> {
        match self.run(&mut |_| Ok(Flow::More))? {
            Ended::Well | Ended::Enough => Ok(true),
            Ended::Badly { .. } => Ok(false),
        }
    }

    /// The exit code, for commands that answer by it; `None` after a signal.
    pub fn exit_code(self) -> Result<(Option<i32>, String), GitError> {
        self.ended(|_| Ok(Flow::More))
    }

    /// Hands the output over, and tells the exit code and git's words.
    pub fn ended(
        self,
        mut sink: impl FnMut(&[u8]) -> Result<Flow, GitError>,
    ) -> Result<(Option<i32>, String), GitError> {
        match self.run(&mut sink)? {
            Ended::Well | Ended::Enough => Ok((Some(0), String::new())),
            Ended::Badly { code, stderr } => Ok((code, super::error::scrubbed(&stderr))),
        }
    }

    /// The whole output of a command that also answers by exit code 1; true when it did.
    pub fn answer(self) -> Result<(Vec<u8>, bool), GitError> {
        let (what, place, mut out) = (self.what(), self.place.clone(), Vec::new());
        let ended = self.run(&mut |chunk| {
            out.extend_from_slice(chunk);
            Ok(Flow::More)
        })?;
        match ended {
            Ended::Well | Ended::Enough => Ok((out, false)),
            Ended::Badly { code: Some(1), .. } => Ok((out, true)),
            Ended::Badly { stderr, .. } => Err(GitError::from_stderr(&what, &place, &stderr)),
        }
    }

    /// Hands the output over as it comes; memory does not grow with it.
    pub fn stream(self, mut sink: impl FnMut(&[u8]) -> Result<Flow, GitError>) -> Result<(), GitError> {
        let (what, place) = (self.what(), self.place.clone());
        match self.run(&mut sink)? {
            Ended::Well | Ended::Enough => Ok(()),
            Ended::Badly { stderr, .. } => Err(GitError::from_stderr(&what, &place, &stderr)),
        }
    }

    fn run(self, sink: &mut dyn FnMut(&[u8]) -> Result<Flow, GitError>) -> Result<Ended, GitError> {
        let what = self.what();
        let started = Instant::now();
        let mut child = self
            .command()
            .stdin(if self.stdin.is_empty() { Stdio::null() } else { Stdio::piped() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|source| match source.kind() {
                std::io::ErrorKind::NotFound if !self.place.exists() => {
                    GitError::NotARepository { path: self.place.clone() }
                }
                std::io::ErrorKind::NotFound => GitError::GitMissing,
                std::io::ErrorKind::NotADirectory => GitError::NotARepository { path: self.place.clone() },
                _ => GitError::Io { doing: format!("start git {what}"), source },
            })?;
        let answer = self.talk(&mut child, sink, &what, started);
        if !matches!(answer, Ok(Talked::Done { .. })) {
            kill_group(&mut child);
        }
        match answer? {
            Talked::Enough => Ok(Ended::Enough),
            Talked::Done { stderr } => {
                let status = self.wait(&mut child, &what, started)?;
                if status.success() {
                    Ok(Ended::Well)
                } else {
                    Ok(Ended::Badly { code: status.code(), stderr })
                }
            }
        }
    }

    fn check(&self, what: &str, started: Instant) -> Result<(), GitError> {
        if self.cancel.is_some_and(CancellationToken::is_cancelled) {
            return Err(GitError::Cancelled { what: what.to_owned() });
        }
        if started.elapsed() > self.limits.time {
            return Err(GitError::Timeout { what: what.to_owned(), seconds: self.limits.time.as_secs() });
        }
        Ok(())
    }

    /// Writes the input and reads both outputs until they end, on one thread.
    fn talk(
        &self,
        child: &mut Child,
        sink: &mut dyn FnMut(&[u8]) -> Result<Flow, GitError>,
        what: &str,
        started: Instant,
    ) -> Result<Talked, GitError> {
        let io = || GitError::io(format!("talk to git {what}"));
        let errno = |e: nix::errno::Errno| std::io::Error::from(e);
        let mut stdin = child.stdin.take();
        let mut stdout = child.stdout.take();
        let mut stderr = child.stderr.take();
        if let Some(pipe) = &stdin {
            fcntl(pipe.as_fd(), FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).map_err(errno).map_err(io())?;
        }
        let (mut written, mut read) = (0_usize, 0_u64);
        let mut words = Vec::new();
        let mut buffer = vec![0_u8; 64 * 1024];
        let ready = |fd: Option<&PollFd<'_>>| fd.and_then(PollFd::revents).is_some_and(|r| !r.is_empty());
        while stdout.is_some() || stderr.is_some() {
            self.check(what, started)?;
            let (can_in, can_out, can_err) = {
                let mut fds = Vec::with_capacity(3);
                let mut slots = [None; 3];
                if let Some(pipe) = &stdin {
                    slots[0] = Some(fds.len());
                    fds.push(PollFd::new(pipe.as_fd(), PollFlags::POLLOUT));
                }
                if let Some(pipe) = &stdout {
                    slots[1] = Some(fds.len());
                    fds.push(PollFd::new(pipe.as_fd(), PollFlags::POLLIN));
                }
                if let Some(pipe) = &stderr {
                    slots[2] = Some(fds.len());
                    fds.push(PollFd::new(pipe.as_fd(), PollFlags::POLLIN));
                }
                let wait = PollTimeout::try_from(LOOK).unwrap_or(PollTimeout::ZERO);
                match poll(&mut fds, wait) {
                    Ok(_) | Err(nix::errno::Errno::EINTR) => {}
                    Err(e) => return Err(io()(errno(e))),
                }
                let at = |slot: Option<usize>| ready(slot.and_then(|i| fds.get(i)));
                (at(slots[0]), at(slots[1]), at(slots[2]))
            };
            if can_in && let Some(pipe) = &mut stdin {
                match pipe.write(&self.stdin[written..]) {
                    Ok(n) => written += n,
                    Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {}
                    // It ended early; its exit code and words say why.
                    Err(_) => written = self.stdin.len(),
                }
                if written == self.stdin.len() {
                    stdin = None;
                }
            }
            if can_out && let Some(pipe) = &mut stdout {
                match pipe.read(&mut buffer).map_err(io())? {
                    0 => stdout = None,
                    n => {
                        read += n as u64;
                        if read > self.limits.bytes {
                            return Err(GitError::TooLarge {
                                what: what.to_owned(),
                                limit: self.limits.bytes,
                            });
                        }
                        if sink(&buffer[..n])? == Flow::Enough {
                            return Ok(Talked::Enough);
                        }
                    }
                }
            }
            if can_err && let Some(pipe) = &mut stderr {
                match pipe.read(&mut buffer).map_err(io())? {
                    0 => stderr = None,
                    n => {
                        let room = STDERR_CAP.saturating_sub(words.len());
                        words.extend_from_slice(&buffer[..n.min(room)]);
                    }
                }
            }
        }
        Ok(Talked::Done { stderr: words })
    }

    fn wait(
        &self,
        child: &mut Child,
        what: &str,
        started: Instant,
    ) -> Result<std::process::ExitStatus, GitError> {
        loop {
            match child.try_wait().map_err(GitError::io(format!("wait for git {what}")))? {
                Some(status) => return Ok(status),
                None => {
                    if let Err(error) = self.check(what, started) {
                        kill_group(child);
                        return Err(error);
                    }
                    std::thread::sleep(Duration::from_micros(200));
                }
            }
        }
    }
}

enum Talked {
    Done { stderr: Vec<u8> },
    Enough,
}

enum Ended {
    Well,
    Enough,
    Badly { code: Option<i32>, stderr: Vec<u8> },
}

/// Ends git and everything it started, and collects it.
fn kill_group(child: &mut Child) {
    if let Ok(pid) = i32::try_from(child.id()) {
        let _gone_already =
            nix::sys::signal::killpg(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL);
    }
    let _collected = child.wait();
}
