//! Where a task's repository lives on GitHub, and whether it can be asked there.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use steward_rules::ids::RepoName;
use steward_rules::reading::Why;
use steward_rules::review::facts::Forge;

use super::Ctx;
use super::accounts::{NoAccount, account_of};
use crate::config::Fetch;
use crate::git::{Access, Line, Way};
use crate::github::{Proxy, Reader, Route};

/// Variables of the environment that name a proxy, as git knows them too.
const PROXY_VARIABLES: [&str; 6] =
    ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"];
/// Where systems keep the certificates they trust, as one file.
const SYSTEM_CERTIFICATES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Whether GitHub can be asked about a repository.
pub enum Asking {
    /// The repository is not on GitHub, or is judged without it.
    Not,
    /// Nobody is signed in to its host.
    SignedOut,
    /// Somebody is, and it cannot be asked now all the same.
    Shut(Why),
    Open(Box<Open>),
}

/// A repository that can be asked about and fetched from.
pub struct Open {
    pub reader: Reader,
    pub line: Line,
}

impl Asking {
    pub fn forge(&self) -> Forge {
        match self {
            Self::Not => Forge::None,
            Self::SignedOut => Forge::SignedOut,
            Self::Shut(_) | Self::Open(_) => Forge::GitHub,
        }
    }
}

/// Finds out whether this repository can be asked about.
pub async fn ask(ctx: &Ctx, host: &str, name: &RepoName) -> Asking {
    match open(ctx, host, name).await {
        Ok(open) => Asking::Open(Box::new(open)),
        Err(NoAccount::NotConfigured(_) | NoAccount::SignedOut { .. }) => Asking::SignedOut,
        Err(error @ (NoAccount::Keyring(_) | NoAccount::Network(_) | NoAccount::Open(_))) => {
            Asking::Shut(error.why())
        }
    }
}

/// The reader of this repository and its line for git, as the account that reads it.
pub async fn open(ctx: &Ctx, host: &str, name: &RepoName) -> Result<Open, NoAccount> {
    let config = ctx.config();
    let account = account_of(&config, host, name).ok_or_else(|| NoAccount::NotConfigured(host.to_owned()))?;
    let reader = ctx.client(account).await?.reader();
    let fetch = config.repository(name).map_or(Fetch::Https, |watched| watched.fetch);
    let access = match fetch {
        Fetch::Https => Access::Https { token: ctx.token(account).await?, way: way(ctx)? },
        Fetch::Ssh => Access::Ssh { agent: std::env::var_os("SSH_AUTH_SOCK") },
    };
    let line = Line { host: account.host.to_ascii_lowercase(), name: name.clone(), access };
    Ok(Open { reader, line })
}

/// The line by which a repository is pushed to: always as the account whose token it is, whatever keys the
/// person fetches with.
pub async fn push_line(ctx: &Ctx, host: &str, name: &RepoName) -> Result<Line, NoAccount> {
    let config = ctx.config();
    let account = account_of(&config, host, name).ok_or_else(|| NoAccount::NotConfigured(host.to_owned()))?;
    let access = Access::Https { token: ctx.token(account).await?, way: way(ctx)? };
    Ok(Line { host: account.host.to_ascii_lowercase(), name: name.clone(), access })
}

/// The way to hosts as the client goes it, in git's terms.
fn way(ctx: &Ctx) -> Result<Way, NoAccount> {
    let Route { proxy, ca_file, .. } = ctx.github_options()?.route;
    let (proxy, environment) = match proxy {
        Proxy::Environment => (None, from_environment()),
        Proxy::Only(proxy) => (Some(proxy), Vec::new()),
        Proxy::Direct => (None, Vec::new()),
    };
    let system = std::env::var_os("SSL_CERT_FILE").map(PathBuf::from).filter(|file| file.is_file());
    let ca_file = match ca_file {
        Some(own) => trusted(&ctx.home.clones(), &own, system.as_deref()).or(Some(own)),
        None => system,
    };
    Ok(Way { proxy, environment, ca_file })
}

fn from_environment() -> Vec<(String, OsString)> {
    PROXY_VARIABLES.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var_os(name)?))).collect()
}

/// The system's certificates and the configured ones as one file: git takes only one.
fn trusted(clones: &Path, own: &Path, system: Option<&Path>) -> Option<PathBuf> {
    let known = || SYSTEM_CERTIFICATES.iter().map(Path::new).find(|file| file.is_file());
    let mut all = std::fs::read(system.or_else(known)?).ok()?;
    all.push(b'\n');
    all.extend(std::fs::read(own).ok()?);
    let file = clones.join("certificates.pem");
    if std::fs::read(&file).ok().as_deref() != Some(&all) {
        std::fs::create_dir_all(clones).ok()?;
        let fresh = clones.join(format!("certificates.{}", std::process::id()));
        std::fs::write(&fresh, &all).ok()?;
        std::fs::rename(&fresh, &file).ok()?;
    }
    Some(file)
}
