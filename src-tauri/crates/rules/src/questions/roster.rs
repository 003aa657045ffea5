//! The agents that ask the owner things, where their panes are, and who may be reached how
//! (questions.md 1 and 7).

use serde::{Deserialize, Serialize};

/// Why a member is absent on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Absent {
    Inactive,
    Sleeping,
}

impl Absent {
    pub const WORDS: [&'static str; 2] = ["inactive", "sleeping"];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Inactive => "inactive",
            Self::Sleeping => "sleeping",
        }
    }
}

/// One member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    pub agent: String,
    pub project: Option<String>,
    /// Another machine; absent: this one.
    pub host: Option<String>,
    /// The stored id of its pane, `%12`.
    pub pane: Option<String>,
    /// The CLI it runs, when the file names it.
    pub adapter: Option<String>,
    pub absent: Option<Absent>,
    /// The thrum folder that named it.
    pub thrum: Option<String>,
}

/// Another machine that the config names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remote {
    pub host: String,
    /// Whether keys may be typed there.
    pub keys: bool,
}

/// How a member's pane is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// A pane of this machine's tmux.
    Local { pane: String },
    /// Through thrum, by its name.
    Thrum { folder: String },
    /// A pane of another machine.
    Ssh { host: String, pane: String },
    /// Not at all, and that is no fault: its questions come as messages.
    Messages,
    /// Not at all, since the config does not allow it.
    Refused(String),
}

/// How a member's pane is read, in order: here, through thrum, then by ssh. `thrum_refused` says that
/// thrum answered *not entitled* since the start.
pub fn reach(member: &Member, ssh: &[Remote], thrum_refused: bool) -> Reach {
    if let (None, Some(pane)) = (&member.host, &member.pane) {
        return Reach::Local { pane: pane.clone() };
    }
    if let Some(folder) = member.thrum.as_ref().filter(|_| !thrum_refused) {
        return Reach::Thrum { folder: folder.clone() };
    }
    match (&member.host, &member.pane) {
        (Some(host), Some(pane)) if ssh.iter().any(|remote| remote.host == *host) => {
            Reach::Ssh { host: host.clone(), pane: pane.clone() }
        }
        (Some(host), Some(_)) => Reach::Refused(format!(
            "`questions.ssh` does not list {host}, or that waits for your confirmation"
        )),
        (Some(_), None) | (None, Some(_) | None) => Reach::Messages,
    }
}

/// True when the config lets keys be typed into a member's pane: here by `keys`, elsewhere by its host.
pub fn keys(host: Option<&str>, here: bool, ssh: &[Remote]) -> bool {
    match host {
        None => here,
        Some(host) => ssh.iter().any(|remote| remote.host == host && remote.keys),
    }
}

/// True for an id as tmux gives it: `%12`.
pub fn is_pane_id(text: &str) -> bool {
    let digits = text.strip_prefix('%').unwrap_or_default();
    (1..=9).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// True for a host name that can stand in a command line: no option, no space, nothing to expand.
pub fn is_host(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'@' | b':');
    (1..=253).contains(&text.len()) && !text.starts_with('-') && text.bytes().all(fits)
}

/// The member whose pane this is.
pub fn in_pane<'m>(members: &'m [Member], pane: &str) -> Option<&'m Member> {
    members.iter().find(|member| member.host.is_none() && member.pane.as_deref() == Some(pane))
}

/// How an agent is told to ask (questions.md 1). The last line is what a coordinator's own skill looks for.
pub fn briefing(agent: Option<&str>, owner: &str, steward: &str) -> String {
    let flag = agent.map(|agent| format!(" --agent {agent}")).unwrap_or_default();
    format!(
        "When you need a decision of {owner}, ask once and go on with other work until you have the answer:\n\
         \n  steward need \"<question>\" --topic <topic> [--option \"<option>\" …] [--project <project>]{flag} --wait\n\
         \nIt prints the answer in {owner}'s own words. One topic is one question: the same topic again changes it, \
         it does not ask twice.\nOr send a message whose first line is `NEED [<topic>]: <question>`, with options as \
         lines `A) …` and a line `Project: <project>`.\nGive pointers (issue ids, paths, message ids), never whole \
         documents.\nsteward: @{steward}\n"
    )
}
