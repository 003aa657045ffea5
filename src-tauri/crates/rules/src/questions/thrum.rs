//! The files and answers of thrum, as its own commands and agents write them (questions.md 1 and 7).
//! Steward reads them and writes none.

use serde::Deserialize;

use super::roster::{Absent, Member};

/// The folder that `.thrum/redirect` names; `None` when it is empty.
pub fn redirect(text: &str) -> Option<&str> {
    let line = text.lines().next().unwrap_or_default().trim();
    (!line.is_empty()).then_some(line)
}

/// The part of `.thrum/config.json` that Steward reads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct ThrumConfig {
    #[serde(default)]
    pub permission_supervisors: Vec<String>,
    #[serde(default)]
    pub project_name: Option<String>,
}

impl ThrumConfig {
    /// The owner's name: of the first supervisor that begins with `@user:`. With none nothing is sent.
    pub fn owner(&self) -> Option<&str> {
        let first = self.permission_supervisors.iter().find_map(|entry| entry.strip_prefix("@user:"))?;
        let is_name = !first.is_empty()
            && first.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
        is_name.then_some(first)
    }
}

/// A roster entry: a name alone, or a name with more.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Rostered {
    Name(String),
    Entry {
        #[serde(alias = "name")]
        agent: String,
        #[serde(default)]
        project: Option<String>,
        #[serde(default)]
        host: Option<String>,
    },
}

impl Rostered {
    fn agent(&self) -> &str {
        match self {
            Self::Name(name) => name,
            Self::Entry { agent, .. } => agent,
        }
        .trim_start_matches('@')
    }
}

/// `.thrum/agents/<agent>/watch_params.json`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct WatchParams {
    #[serde(default)]
    pub roster: Vec<Rostered>,
    #[serde(default)]
    pub expected_inactive_roster: Vec<Rostered>,
    #[serde(default)]
    pub sleeping_roster: Vec<Rostered>,
    /// Whom the watcher tells of its own end.
    #[serde(default)]
    pub parent: Option<String>,
    /// Seconds.
    #[serde(default, alias = "cadence_active")]
    pub cadence_active_secs: Option<f64>,
    /// Seconds.
    #[serde(default, alias = "cadence_idle")]
    pub cadence_idle_secs: Option<f64>,
    /// At how much of its context a watcher begins anew; Steward has none.
    #[serde(default)]
    pub restart_ctx_pct: Option<f64>,
}

impl WatchParams {
    /// The members, each once, with those that are absent on purpose marked.
    pub fn members(&self, folder: &str, project: Option<&str>) -> Vec<Member> {
        let listed = |list: &[Rostered], agent: &str| list.iter().any(|entry| entry.agent() == agent);
        let mut members: Vec<Member> = Vec::new();
        let all = self.roster.iter().chain(&self.expected_inactive_roster).chain(&self.sleeping_roster);
        for entry in all {
            let agent = entry.agent();
            if agent.is_empty() || members.iter().any(|member| member.agent == agent) {
                continue;
            }
            let absent = if listed(&self.sleeping_roster, agent) {
                Some(Absent::Sleeping)
            } else if listed(&self.expected_inactive_roster, agent) {
                Some(Absent::Inactive)
            } else {
                None
            };
            let (own, host) = match entry {
                Rostered::Name(_) => (None, None),
                Rostered::Entry { project, host, .. } => (project.clone(), host.clone()),
            };
            members.push(Member {
                agent: agent.to_owned(),
                project: own.or_else(|| project.map(str::to_owned)),
                host,
                pane: None,
                adapter: None,
                absent,
                thrum: Some(folder.to_owned()),
            });
        }
        members
    }
}

/// What `thrum inbox --unread --json` prints.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Inbox {
    #[serde(default)]
    pub messages: Vec<Message>,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Message {
    pub message_id: String,
    #[serde(default)]
    pub reply_to: Option<String>,
    /// The author: `coord`, `user:leon`, or an id with the host behind `@`.
    pub agent_id: String,
    #[serde(default)]
    pub body: Body,
    #[serde(default)]
    pub deleted: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Body {
    #[serde(default)]
    pub content: String,
}

/// What a message is to Steward.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind<'m> {
    /// A question of an agent.
    Need,
    /// The owner's reply to the message `to`.
    Answer { to: &'m str },
    /// Nothing that Steward carries.
    Other,
}

/// Reads what a message is. Only the owner's own replies are answers; a deleted message is nothing.
pub fn kind<'m>(message: &'m Message, owner: &str) -> Kind<'m> {
    if message.deleted {
        return Kind::Other;
    }
    let author = message.agent_id.trim_start_matches('@');
    if author.strip_prefix("user:") == Some(owner) {
        return match message.reply_to.as_deref() {
            Some(to) => Kind::Answer { to },
            None => Kind::Other,
        };
    }
    let first = message.body.content.trim_start_matches('\u{feff}').trim_start();
    if first.starts_with("NEED") { Kind::Need } else { Kind::Other }
}

/// The agent and the host of an author: `coord@build` is `coord` on `build`.
pub fn author(agent_id: &str) -> (&str, Option<&str>) {
    let id = agent_id.trim_start_matches('@');
    match id.split_once('@') {
        Some((agent, host)) if !agent.is_empty() && !host.is_empty() => (agent, Some(host)),
        Some(_) | None => (id, None),
    }
}

/// What a refusal of thrum means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThrumRefusal {
    /// The licence does not cover this surface: it is off until the next start.
    NotEntitled,
    /// Anything else.
    Other,
}

/// Reads the words of a command that failed. *Capability disabled* is another refusal than a licence.
pub fn refusal(words: &str) -> ThrumRefusal {
    if words.to_lowercase().contains("not entitled") {
        ThrumRefusal::NotEntitled
    } else {
        ThrumRefusal::Other
    }
}
