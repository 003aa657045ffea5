//! The token that GitHub's own command line holds, taken over when the person asks for it.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use secrecy::SecretString;
use tokio::io::AsyncReadExt;
use tokio::process::Command;

use super::sign_in;
use crate::config::raw::{self, Value};

/// `gh` reads a file or asks the keyring; it asks no server for this.
const PATIENCE: Duration = Duration::from_secs(15);
const MAX_ANSWER: u64 = 8 * 1024;
const MAX_HOSTS_FILE: u64 = 256 * 1024;

/// What `gh` needs to find its own settings and the keyring. Tokens of this process's environment are
/// not among it: they are not what `gh` holds.
const ENVIRONMENT: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "TMPDIR",
    "GH_CONFIG_DIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "SYSTEMROOT",
];

/// Why `gh` gave no token.
#[derive(Debug, thiserror::Error)]
pub enum GhError {
    #[error("gh is not installed, or not on PATH")]
    NotInstalled,
    #[error("gh holds no token for {0}; `gh auth login --hostname {0}` signs it in")]
    NotSignedIn(String),
    #[error("gh did not answer within {} seconds", PATIENCE.as_secs())]
    Slow,
    #[error("gh could not be asked: {0}")]
    Io(#[from] std::io::Error),
}

/// A host on which `gh` is signed in, by its own file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GhHost {
    pub host: String,
    pub login: Option<String>,
}

/// The program, when it is on PATH. A relative folder of PATH would be whatever folder we stand in.
pub fn program() -> Option<PathBuf> {
    let name = format!("gh{}", std::env::consts::EXE_SUFFIX);
    let path = std::env::var_os("PATH")?;
    let mut folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    folders.find_map(|folder| Some(folder.join(&name)).filter(|program| program.is_file()))
}

/// The token that `gh` holds for a host.
pub async fn token(host: &str) -> Result<SecretString, GhError> {
    let program = program().ok_or(GhError::NotInstalled)?;
    let mut command = Command::new(program);
    command.args(["auth", "token", "--hostname", host]).env_clear();
    command.envs(ENVIRONMENT.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command.env("GH_PROMPT_DISABLED", "1").env("GH_NO_UPDATE_NOTIFIER", "1").env("NO_COLOR", "1");
    // What it says beside the token is for a terminal, and is not repeated anywhere.
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let asked = async {
        let mut child = command.spawn()?;
        let mut answer = Vec::new();
        if let Some(out) = child.stdout.take() {
            out.take(MAX_ANSWER).read_to_end(&mut answer).await?;
        }
        Ok::<_, std::io::Error>((child.wait().await?, answer))
    };
    let (status, answer) = tokio::time::timeout(PATIENCE, asked).await.map_err(|_| GhError::Slow)??;
    let token = String::from_utf8(answer).unwrap_or_default().trim().to_owned();
    if !status.success() || token.is_empty() {
        return Err(GhError::NotSignedIn(host.to_owned()));
    }
    Ok(SecretString::from(token))
}

/// The hosts `gh` is signed in to, and as whom, when the program is there. Blocks on one small file.
pub fn hosts() -> Vec<GhHost> {
    let folder = |name: &str, below: &str| {
        let value = std::env::var_os(name).filter(|value| !value.is_empty())?;
        Some(Path::new(&value).join(below))
    };
    let settings = folder("GH_CONFIG_DIR", "")
        .or_else(|| folder("XDG_CONFIG_HOME", "gh"))
        .or_else(|| if cfg!(windows) { folder("APPDATA", "GitHub CLI") } else { None })
        .or_else(|| folder("HOME", ".config/gh"));
    match (program(), settings) {
        (Some(_), Some(settings)) => listed(&settings.join("hosts.yml")),
        (None, _) | (_, None) => Vec::new(),
    }
}

/// Only names of hosts and users are kept of that file; a token that stands in it is dropped.
fn listed(file: &Path) -> Vec<GhHost> {
    let mut text = String::new();
    let read = std::fs::File::open(file).and_then(|file| {
        std::io::Read::read_to_string(&mut std::io::Read::take(file, MAX_HOSTS_FILE), &mut text)
    });
    let Ok(root) = read.map_err(|_| ()).and_then(|_| raw::parse(&text).map_err(|_| ())) else {
        return Vec::new();
    };
    let Value::Map(entries) = root.value else { return Vec::new() };
    let hosts = entries.into_iter().filter_map(|entry| {
        let login = match entry.node.get("user").map(|node| &node.value) {
            Some(Value::Text(login)) if sign_in::is_login(login) => Some(login.clone()),
            _ => None,
        };
        Some(GhHost { host: sign_in::host_name(&entry.key).ok()?, login })
    });
    hosts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_from_the_file_of_gh_and_tokens_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("hosts.yml");
        std::fs::write(
            &file,
            "github.com:\n    user: octo\n    oauth_token: made-up\n    git_protocol: https\n\
             git.example.org:\n    oauth_token: made-up\n    users:\n        anna: {}\n\
             \"not a host\":\n    user: x\n",
        )
        .unwrap();
        let found = listed(&file);
        assert_eq!(
            found,
            [
                GhHost { host: "github.com".to_owned(), login: Some("octo".to_owned()) },
                GhHost { host: "git.example.org".to_owned(), login: None },
            ]
        );
        assert!(!format!("{found:?}").contains("made-up"));
        for broken in ["[a, b]", "a: [", "", "github.com: {user: \"o\\e[31mcto\"}"] {
            std::fs::write(&file, broken).unwrap();
            assert!(listed(&file).iter().all(|host| host.login.is_none()), "{broken}");
        }
        assert_eq!(listed(&folder.path().join("absent.yml")), []);
    }
}
