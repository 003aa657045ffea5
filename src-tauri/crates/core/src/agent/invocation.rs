//! One start of an agent: arguments, environment, files, and the fixed prompt.

use std::ffi::OsString;

use secrecy::{ExposeSecret, SecretString};

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
