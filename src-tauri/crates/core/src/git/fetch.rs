//! Fetching exactly the refs that are needed from a GitHub host into a clone of ours.
//!
//! The token reaches git as a header in the child's environment alone: no URL, no argument and no
//! file holds it, and no word of git is passed on before it is looked through for it.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use base64::Engine as _;
use secrecy::{ExposeSecret, SecretString};
use steward_rules::ids::{PullNumber, RepoName, Sha};
use tokio_util::sync::CancellationToken;

use super::clone::BareClone;
use super::error::GitError;
use super::runner::{Call, Limits};

/// The first fetch of a large repository takes its time; every later one is quick.
const FETCH: Limits = Limits { time: Duration::from_secs(30 * 60), bytes: 1 << 20 };

/// Commits that git did not take in, one in a line.
const REFUSED: &str = "steward-refused";

/// How git reaches a host.
#[derive(Clone)]
pub enum Access {
    /// HTTPS with a token; plain HTTP to this machine alone.
    Https { token: SecretString, way: Way },
    /// SSH as the person's own agent and `~/.ssh` have it.
    Ssh { agent: Option<OsString> },
}

/// What lies between here and an HTTPS host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Way {
    /// The proxy for every host.
    pub proxy: Option<String>,
    /// The proxy settings of the environment, where they shall count.
    pub environment: Vec<(String, OsString)>,
    /// The certificates that are trusted, in place of the system's.
    pub ca_file: Option<PathBuf>,
}

/// One repository on a host, and how git reaches it.
#[derive(Clone)]
pub struct Line {
    /// As in `accounts[].host`.
    pub host: String,
    pub name: RepoName,
    pub access: Access,
}

/// A ref of the remote, where it is kept here, and the commit that GitHub says it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    from: String,
    into: String,
    is: Sha,
}

impl Wanted {
    /// True when it is this commit that is wanted.
    pub fn is(&self, commit: &Sha) -> bool {
        self.is == *commit
    }

    /// A branch, as the base something is measured against.
    pub fn branch(name: &str, is: &Sha) -> Self {
        Self { from: format!("refs/heads/{name}"), into: format!("refs/steward/base/{name}"), is: is.clone() }
    }

    /// A commit that no ref needs to point at any more.
    pub fn commit(is: &Sha) -> Self {
        Self { from: is.to_string(), into: format!("refs/steward/commit/{is}"), is: is.clone() }
    }

    /// The head of a pull request, wherever it comes from.
    pub fn pull(number: PullNumber, is: &Sha) -> Self {
        Self {
            from: format!("refs/pull/{number}/head"),
            into: format!("refs/steward/pull/{number}"),
            is: is.clone(),
        }
    }
}

impl Line {
    pub(super) fn url(&self) -> String {
        match &self.access {
            Access::Https { .. } => format!("{}{}.git", self.root(), self.name),
            // The port of the API is not that of SSH.
            Access::Ssh { .. } => {
                format!("ssh://git@{}/{}.git", self.host.split(':').next().unwrap_or(&self.host), self.name)
            }
        }
    }

    fn root(&self) -> String {
        let scheme = if is_this_machine(&self.host) { "http" } else { "https" };
        format!("{scheme}://{}/", self.host)
    }

    /// The repository for people.
    fn shown(&self) -> String {
        format!("{}/{}", self.host, self.name)
    }

    pub(super) fn equip<'a>(&self, call: Call<'a>) -> Call<'a> {
        match &self.access {
            Access::Https { token, way } => {
                let scheme = if is_this_machine(&self.host) { "http" } else { "https" };
                let call = call
                    .over(scheme)
                    .setting(
                        &format!("http.{}.extraHeader", self.root()),
                        format!("Authorization: Basic {}", basic(token)),
                    )
                    // The header would go along to wherever an answer points.
                    .setting("http.followRedirects", "false")
                    .setting("http.lowSpeedLimit", "1000")
                    .setting("http.lowSpeedTime", "60");
                if scheme == "http" {
                    return call;
                }
                let call = way.environment.iter().fold(call, |call, (name, value)| call.env(name, value));
                let call = match &way.proxy {
                    Some(proxy) => call.setting("http.proxy", proxy),
                    None => call,
                };
                match &way.ca_file {
                    Some(file) => call.setting("http.sslCAInfo", file.to_string_lossy()),
                    None => call,
                }
            }
            Access::Ssh { agent } => {
                let call = call
                    .over("ssh")
                    .env("GIT_SSH_COMMAND", "ssh -o BatchMode=yes -o ConnectTimeout=20")
                    .env("GIT_SSH_VARIANT", "ssh");
                match agent {
                    Some(agent) => call.env("SSH_AUTH_SOCK", agent),
                    None => call,
                }
            }
        }
    }

    /// Git's words without the token in any form it could stand in.
    pub(super) fn scrubbed(&self, words: &str) -> String {
        match &self.access {
            Access::Https { token, .. } => {
                words.replace(token.expose_secret(), "***").replace(&basic(token), "***")
            }
            Access::Ssh { .. } => words.to_owned(),
        }
    }
}

/// A token as git sends it; the name before it says that it is one.
fn basic(token: &SecretString) -> String {
    let pair = format!("x-access-token:{}", token.expose_secret());
    base64::engine::general_purpose::STANDARD.encode(pair)
}

/// A loopback address with a port: the only host that is spoken to in clear.
fn is_this_machine(host: &str) -> bool {
    let Some((name, port)) = host.rsplit_once(':') else { return false };
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    port.parse::<u16>().is_ok()
        && (name == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback()))
}

impl BareClone {
    /// Fetches those of the refs that are not here as they should be, in one go, and checks that each
    /// came as the commit it was said to be. `haves` are commits that a workspace lends, so that a new
    /// clone does not ask for all history again.
    pub fn fetch(
        &self,
        line: &Line,
        wanted: &[Wanted],
        haves: &[Sha],
        cancel: &CancellationToken,
    ) -> Result<(), GitError> {
        if self.is_as_wanted(wanted)?.is_empty() {
            return Ok(());
        }
        let failed = |detail: String| GitError::Fetch { from: line.shown(), detail };
        if let Some(odd) = wanted.iter().find(|one| !is_plain(&one.from)) {
            let shown = steward_rules::untrusted::Untrusted::new(odd.from.as_str()).one_line(100);
            return Err(failed(format!("{shown} is no name of a ref")));
        }
        let _held = self.guard()?;
        let missing = self.is_as_wanted(wanted)?;
        if missing.is_empty() {
            return Ok(());
        }
        let specs: String = missing.iter().map(|one| format!("+{}:{}\n", one.from, one.into)).collect();
        let tips: Vec<String> = haves.iter().map(|have| format!("--negotiation-tip={have}")).collect();
        let mut args = vec![
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--no-auto-maintenance",
            "--no-show-forced-updates",
            "--refmap=",
            "--stdin",
        ];
        // Named tips replace our own refs; those are better once there are some.
        if !self.has_refs()? {
            args.extend(tips.iter().map(String::as_str));
        }
        let url = line.url();
        args.extend(["--", &url]);
        let call = self.call(&args).stdin(specs.into_bytes()).limits(FETCH).cancel(cancel);
        match line.equip(call).exit_code()? {
            (Some(0), _) => {}
            (_, words) => return Err(failed(line.scrubbed(&words))),
        }
        match self.is_as_wanted(&missing)?.first() {
            None => self.write_graph(),
            Some(other) => Err(failed(format!("{} moved while it was fetched", other.from))),
        }
    }

    /// Fetches those of many refs that git takes in. One whose objects are faulty is left out, and is not
    /// asked for again: it must not hold up the others.
    pub fn fetch_sound(
        &self,
        line: &Line,
        wanted: &[Wanted],
        cancel: &CancellationToken,
    ) -> Result<(), GitError> {
        let refused = std::fs::read_to_string(self.dir().join(REFUSED)).unwrap_or_default();
        let refused: std::collections::HashSet<&str> = refused.lines().collect();
        let sound: Vec<Wanted> =
            wanted.iter().filter(|one| !refused.contains(one.is.as_str())).cloned().collect();
        self.fetch_halves(line, &sound, cancel)
    }

    fn fetch_halves(
        &self,
        line: &Line,
        wanted: &[Wanted],
        cancel: &CancellationToken,
    ) -> Result<(), GitError> {
        match (self.fetch(line, wanted, &[], cancel), wanted) {
            (Err(GitError::Fetch { detail, .. }), [only]) if is_fault(&detail) => {
                tracing::warn!(from = line.shown(), what = only.from, detail, "not taken in");
                let mut file = File::options()
                    .create(true)
                    .append(true)
                    .open(self.dir().join(REFUSED))
                    .map_err(GitError::io("note a refused commit"))?;
                writeln!(file, "{}", only.is).map_err(GitError::io("note a refused commit"))
            }
            (Err(GitError::Fetch { detail, .. }), _) if is_fault(&detail) => {
                let (some, others) = wanted.split_at(wanted.len() / 2);
                self.fetch_halves(line, some, cancel)?;
                self.fetch_halves(line, others, cancel)
            }
            (result, _) => result,
        }
    }

    /// The refs that do not hold what they should.
    fn is_as_wanted(&self, wanted: &[Wanted]) -> Result<Vec<Wanted>, GitError> {
        let said = self
            .call(&[
                "for-each-ref",
                "--format=%(objectname) %(refname)",
                "refs/steward/base/",
                "refs/steward/commit/",
                "refs/steward/pull/",
            ])
            .limits(Limits::LIST)
            .bytes()?;
        let text = String::from_utf8_lossy(&said);
        let here: std::collections::HashSet<(&str, &str)> =
            text.lines().filter_map(|line| line.split_once(' ')).collect();
        Ok(wanted
            .iter()
            .filter(|one| !here.contains(&(one.is.as_str(), one.into.as_str())))
            .cloned()
            .collect())
    }

    fn has_refs(&self) -> Result<bool, GitError> {
        Ok(!self.call(&["for-each-ref", "--count=1"]).bytes()?.is_empty())
    }
}

/// True for a name that means itself in a list of refs to fetch: no wildcard, no second side, one line.
fn is_plain(name: &str) -> bool {
    !name.bytes().any(|b| b <= b' ' || b == 0x7f || b"*?[\\^~:".contains(&b)) && !name.contains("..")
}

/// True when it is the objects that git does not take in, not the way to them.
fn is_fault(detail: &str) -> bool {
    detail.starts_with("object ") || detail.contains("fsck error")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(host: &str, access: Access) -> Line {
        Line { host: host.to_owned(), name: RepoName::parse("octo/app").expect("a name"), access }
    }

    #[test]
    fn only_this_machine_is_spoken_to_in_clear_and_no_address_holds_the_token() {
        let https = || Access::Https { token: "made-up".to_owned().into(), way: Way::default() };
        for (host, url) in [
            ("github.com", "https://github.com/octo/app.git"),
            ("git.example.org:8443", "https://git.example.org:8443/octo/app.git"),
            ("127.0.0.1:4000", "http://127.0.0.1:4000/octo/app.git"),
            ("[::1]:4000", "http://[::1]:4000/octo/app.git"),
            ("127.0.0.1.example.org:80", "https://127.0.0.1.example.org:80/octo/app.git"),
            ("localhost", "https://localhost/octo/app.git"),
        ] {
            assert_eq!(line(host, https()).url(), url);
        }
        let ssh = line("git.example.org:8443", Access::Ssh { agent: None });
        assert_eq!(ssh.url(), "ssh://git@git.example.org/octo/app.git");
    }

    #[test]
    fn what_git_says_is_passed_on_without_the_token() {
        let line =
            line("github.com", Access::Https { token: "made-up".to_owned().into(), way: Way::default() });
        let said = format!("header {} and made-up", basic(&"made-up".to_owned().into()));
        assert_eq!(line.scrubbed(&said), "header *** and ***");
    }

    #[test]
    fn a_name_that_would_ask_for_more_than_itself_is_none() {
        assert!(is_plain("refs/heads/feat/\u{e4}#1") && is_plain("refs/pull/1/head"));
        for odd in ["refs/heads/*", "refs/heads/a:b", "refs/heads/a\n+refs/heads/b", "refs/heads/..", "a b"] {
            assert!(!is_plain(odd), "{odd:?}");
        }
    }
}
