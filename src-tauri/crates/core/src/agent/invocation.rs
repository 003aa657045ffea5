//! One start of an agent: arguments, environment, files, and the fixed prompt.

use std::ffi::OsString;

use secrecy::{ExposeSecret, SecretString};

use super::folders::{SeatFolders, Writable};
use crate::sandbox::{Bind, Network};

/// Everything that is started, before the boundary is put around it.
#[derive(Debug, Clone)]
pub struct Invocation {
    pub program: Bind,
    pub args: Vec<OsString>,
    /// The whole environment; the credential is added at the start and is not in here.
    pub env: Vec<(String, OsString)>,
    pub read_only: Vec<Bind>,
    pub writable: Vec<Bind>,
    pub sockets: Vec<Bind>,
    pub cwd: std::path::PathBuf,
    pub network: Network,
    /// Fixed text only: no title, path or diff of anybody.
    pub stdin: String,
}

/// The inbox, and the parts of the tree that may be written.
pub(super) fn writable(folders: &SeatFolders, inbox: Bind) -> Vec<Bind> {
    let tree = std::path::Path::new("/review/tree");
    let part = |part: &Writable| {
        let inside = if part.path.is_empty() { tree.to_owned() } else { tree.join(&part.path) };
        Bind::new(folders.written(part), inside)
    };
    std::iter::once(inbox).chain(folders.writable.iter().map(part)).collect()
}

/// The one credential an agent gets.
#[derive(Debug, Clone)]
pub struct Credential(SecretString);

impl Credential {
    pub fn new(secret: impl Into<String>) -> Self {
        Self(SecretString::from(secret.into()))
    }

    pub(super) fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}
