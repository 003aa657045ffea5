//! What an `origin` address points at.

use std::path::PathBuf;

use steward_rules::ids::RepoName;

/// Where a workspace's `origin` lives. Credentials in its address are never kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remote {
    /// No `origin`.
    None,
    /// A repository on GitHub or a GitHub Enterprise host, as `accounts[].host` names it.
    GitHub { host: String, name: RepoName },
    /// A repository on this machine.
    Path(PathBuf),
    /// Anything else, as `host/path` for people.
    Other(String),
}

impl Remote {
    /// Reads the address as git would; `relative_to` is the folder a relative path starts at.
    /// `hosts` are the hosts of the configured accounts; one named with a port is met at that port
    /// alone.
    pub fn parse(url: &str, relative_to: &std::path::Path, hosts: &[String]) -> Self {
        let url = url.trim();
        if url.is_empty() {
            return Self::None;
        }
        let (host, path) = if let Some((scheme, rest)) = url.split_once("://") {
            if scheme.eq_ignore_ascii_case("file") {
                return Self::Path(PathBuf::from(rest));
            }
            let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
            (host_of(authority, hosts), path)
        } else if let Some((authority, path)) = scp_like(url) {
            (host_of(authority, hosts), path)
        } else {
            return Self::Path(relative_to.join(url));
        };
        let known = matches!(host.as_str(), "github.com" | "www.github.com" | "ssh.github.com");
        if known || hosts.iter().any(|h| h.eq_ignore_ascii_case(&host)) {
            let path = path.trim_matches('/');
            let path = path.strip_suffix(".git").unwrap_or(path);
            if let Some(name) = RepoName::parse(path) {
                let host = if known { "github.com".to_owned() } else { host };
                return Self::GitHub { host, name };
            }
        }
        Self::Other(format!("{host}/{}", path.trim_start_matches('/')))
    }

    /// The remote for people, without credentials.
    pub fn shown(&self) -> String {
        match self {
            Self::None => "no remote".to_owned(),
            Self::GitHub { host, name } => format!("{host}/{name}"),
            Self::Path(path) => path.display().to_string(),
            Self::Other(shown) => shown.clone(),
        }
    }
}

/// `user@host:path`, unless a slash comes before the colon; then it is a path.
fn scp_like(url: &str) -> Option<(&str, &str)> {
    let colon = url.find(':')?;
    if url[..colon].contains('/') {
        return None;
    }
    Some((&url[..colon], &url[colon + 1..]))
}

/// The host of an authority in lower case: no user, no password, and no port unless a configured host
/// has just this one.
fn host_of(authority: &str, hosts: &[String]) -> String {
    let host = authority.rsplit('@').next().unwrap_or(authority).to_ascii_lowercase();
    if hosts.iter().any(|known| known.contains(':') && known.eq_ignore_ascii_case(&host)) {
        return host;
    }
    if host.starts_with('[') { host } else { host.split(':').next().unwrap_or(&host).to_owned() }
}
