//! Reads and writes the panes of the person's own tmux.
//!
//! Panes are addressed by their number (`%12`) alone. Every keystroke is guarded inside the server: the
//! command that checks the pane, and that it shows what the last look saw, is the command that types, so that
//! nothing can come between them.

mod capture;
mod error;
mod list;
mod pressing;
mod remote;
mod run;
mod send;
mod sight;
mod typing;
mod watch;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub use capture::Capture;
pub use error::TmuxError;
pub use list::Pane;
pub use pressing::{Press, Pressed};
pub use typing::{Answer, Delivery, Journal, Reached, Undelivered};
pub use watch::Watched;

/// The tmux found on PATH and the server it talks to. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Tmux {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    exe: PathBuf,
    /// `-S` and its path, or nothing for the person's default server; of another machine, what ssh is
    /// started with before tmux's own words.
    before: Vec<OsString>,
    /// A shell of another machine reads the words.
    is_remote: bool,
    environment: Vec<(&'static str, OsString)>,
    time: Duration,
    started: AtomicU64,
    senders: typing::Senders,
}

/// A server that needs longer than this hangs.
const TIME: Duration = Duration::from_secs(5);

/// The first program of this name on PATH.
fn found(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(program))
        .find(|file| file.is_file())
}

/// The socket of the server that tmux talks to when nothing names another one.
pub fn usual_socket() -> PathBuf {
    let folder = std::env::var_os("TMUX_TMPDIR").filter(|folder| !folder.is_empty());
    let folder = folder.map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    folder.join(format!("tmux-{}", nix::unistd::getuid())).join("default")
}

/// What tmux needs of the environment to find its server and its locale.
const KEPT: &[&str] = &["PATH", "HOME", "TMUX_TMPDIR", "TMPDIR"];

impl Tmux {
    /// Finds tmux on PATH; it talks to the server Steward was started in, else to the default one.
    pub fn find() -> Result<Self, TmuxError> {
        let inside = std::env::var_os("TMUX").filter(|value| !value.is_empty());
        let socket = inside.and_then(|value| {
            let text = value.to_string_lossy().into_owned();
            text.split(',').next().map(PathBuf::from)
        });
        Self::make(socket.as_deref())
    }

    /// As [`Self::find`], for the server behind one socket.
    pub fn at(socket: &Path) -> Result<Self, TmuxError> {
        Self::make(Some(socket))
    }

    fn make(socket: Option<&Path>) -> Result<Self, TmuxError> {
        let exe = found("tmux").ok_or(TmuxError::Missing)?;
        // UTF-8 whatever the locale says, and never a server of our own making.
        let mut before: Vec<OsString> = vec!["-u".into(), "-N".into()];
        if let Some(path) = socket {
            before.extend(["-S".into(), path.as_os_str().to_owned()]);
        }
        let environment =
            KEPT.iter().filter_map(|name| std::env::var_os(name).map(|value| (*name, value))).collect();
        Ok(Self {
            inner: Arc::new(Inner {
                exe,
                before,
                is_remote: false,
                environment,
                time: TIME,
                started: AtomicU64::new(0),
                senders: typing::Senders::default(),
            }),
        })
    }

    /// The socket of its server; nothing for one of another machine.
    pub fn socket(&self) -> Option<PathBuf> {
        if self.inner.is_remote {
            return None;
        }
        let named = self.inner.before.iter().skip_while(|word| *word != "-S").nth(1);
        Some(named.map_or_else(usual_socket, PathBuf::from))
    }

    /// How many tmux commands were started so far.
    pub fn started(&self) -> u64 {
        self.inner.started.load(Ordering::Relaxed)
    }
}
