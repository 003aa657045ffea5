//! A project folder of thrum: its files, read as its own agents read them, and its commands.

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use steward_rules::questions::thrum::{self, Inbox, ThrumConfig, WatchParams};

use super::PeerError;
use super::run::{Line, find, run};

const PROGRAM: &str = "thrum";
const TIME: Duration = Duration::from_secs(20);
const KEPT: &[&str] = &["PATH", "HOME", "USER", "LOGNAME", "TMUX", "TMUX_TMPDIR", "XDG_CONFIG_HOME"];
/// The largest file that is read.
const FILE: u64 = 1 << 20;

/// Why a folder's files give no roster.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("{path}: {why}", path = .path.display())]
    Unreadable { path: PathBuf, why: String },
    #[error("{0} is no agent's name")]
    Name(String),
}

/// What a project folder of thrum says.
#[derive(Debug, Clone, PartialEq)]
pub struct Project {
    /// The project folder.
    pub folder: PathBuf,
    /// Steward's own name there.
    pub agent: String,
    pub config: ThrumConfig,
    pub params: WatchParams,
}

impl Project {
    /// Reads `.thrum/redirect`, `config.json` and `agents/<agent>/watch_params.json`.
    pub fn read(folder: &Path, agent: &str) -> Result<Self, FolderError> {
        if !is_id(agent) {
            return Err(FolderError::Name(agent.to_owned()));
        }
        let own = folder.join(".thrum");
        let redirected = text(&own.join("redirect")).ok();
        let home = match redirected.as_deref().and_then(thrum::redirect) {
            Some(path) => folder.join(path),
            None => own,
        };
        Ok(Self {
            folder: folder.to_owned(),
            agent: agent.to_owned(),
            config: json(&home.join("config.json"))?,
            params: json(&home.join("agents").join(agent).join("watch_params.json"))?,
        })
    }
}

fn text(path: &Path) -> Result<String, FolderError> {
    let fault = |why: String| FolderError::Unreadable { path: path.to_owned(), why };
    let file = std::fs::File::open(path).map_err(|error| fault(error.to_string()))?;
    let mut text = String::new();
    file.take(FILE + 1).read_to_string(&mut text).map_err(|error| fault(error.to_string()))?;
    if text.len() as u64 > FILE { Err(fault("it is larger than 1 MB".to_owned())) } else { Ok(text) }
}

fn json<T: DeserializeOwned>(path: &Path) -> Result<T, FolderError> {
    let text = text(path)?;
    serde_json::from_str(&text)
        .map_err(|error| FolderError::Unreadable { path: path.to_owned(), why: error.to_string() })
}

/// True for a name or an id that can stand as an argument and as a file's name.
fn is_id(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':');
    (1..=200).contains(&text.len()) && !text.starts_with(['-', '.']) && text.bytes().all(fits)
}

/// The commands of thrum, as one agent of one folder.
#[derive(Debug, Clone)]
pub struct Thrum {
    path: PathBuf,
    folder: PathBuf,
    agent: String,
}

impl Thrum {
    /// Finds thrum on PATH.
    pub fn find(folder: &Path, agent: &str) -> Result<Self, PeerError> {
        Ok(Self { path: find(PROGRAM)?, folder: folder.to_owned(), agent: agent.to_owned() })
    }

    /// The unread messages; reading marks none as read.
    pub async fn inbox(&self) -> Result<Inbox, PeerError> {
        let out = self.run(&["inbox", "--unread", "--json"], None).await?;
        if out.trim_ascii().is_empty() {
            return Ok(Inbox::default());
        }
        serde_json::from_slice(&out)
            .map_err(|error| PeerError::Odd { program: PROGRAM, why: error.to_string() })
    }

    /// Sends one message to the owner alone, and gives its id when thrum says it.
    pub async fn send(&self, owner: &str, content: &str) -> Result<Option<String>, PeerError> {
        let to = format!("@user:{owner}");
        let out = self.run(&["send", "--to", &to, "--stdin", "--json"], Some(content)).await?;
        Ok(message_id(&String::from_utf8_lossy(&out)))
    }

    /// Replies to a message.
    pub async fn reply(&self, message: &str, content: &str) -> Result<Option<String>, PeerError> {
        self.id(message)?;
        let out = self.run(&["reply", message, "--stdin", "--json"], Some(content)).await?;
        Ok(message_id(&String::from_utf8_lossy(&out)))
    }

    /// What was sent and not read yet, as thrum prints it.
    pub async fn sent_unread(&self) -> Result<String, PeerError> {
        let out = self.run(&["sent", "--unread"], None).await?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    /// A pane, by its agent's name.
    pub async fn capture(&self, agent: &str) -> Result<Vec<u8>, PeerError> {
        self.id(agent)?;
        self.run(&["tmux", "capture", agent], None).await
    }

    /// Types one line into an agent's pane and sends it; thrum itself holds it back while a prompt is open
    /// there or the agent is at work.
    pub async fn type_line(&self, agent: &str, line: &str) -> Result<(), PeerError> {
        self.id(agent)?;
        self.run(&["tmux", "send", agent, line], None).await.map(drop)
    }

    fn id(&self, text: &str) -> Result<(), PeerError> {
        if is_id(text) {
            return Ok(());
        }
        Err(PeerError::Odd { program: PROGRAM, why: "this is no name and no message".to_owned() })
    }

    async fn run(&self, args: &[&str], input: Option<&str>) -> Result<Vec<u8>, PeerError> {
        run(Line {
            program: PROGRAM,
            path: &self.path,
            args: args.iter().map(OsStr::new).collect(),
            folder: &self.folder,
            kept: KEPT,
            set: vec![("THRUM_NAME", &self.agent)],
            input,
            time: TIME,
        })
        .await
    }
}

/// The id in what `send` printed: of its JSON, else the first word that looks like one.
fn message_id(out: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Sent {
        message_id: String,
    }
    if let Ok(sent) = serde_json::from_str::<Sent>(out) {
        return Some(sent.message_id).filter(|id| is_id(id));
    }
    let words = out.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-')));
    words.map(str::to_owned).find(|word| word.starts_with("msg_") && is_id(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_sent_message_is_found_in_json_and_in_prose() {
        assert_eq!(message_id(r#"{"message_id":"msg_01","x":1}"#).as_deref(), Some("msg_01"));
        assert_eq!(message_id("✓ Message sent: msg_02 (now)").as_deref(), Some("msg_02"));
        assert_eq!(message_id("sent"), None);
        assert_eq!(message_id(r#"{"message_id":"--help"}"#), None);
    }
}
