//! Issues, comments, labels and the events of a timeline.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use steward_rules::untrusted::Untrusted;

use super::user::User;
use crate::github::page::Listed;

/// An issue, or a pull request seen as one.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Issue {
    pub id: u64,
    #[serde(default)]
    pub node_id: String,
    pub number: i64,
    pub state: String,
    #[serde(default)]
    pub state_reason: Option<String>,
    pub title: Untrusted,
    #[serde(default)]
    pub body: Option<Untrusted>,
    pub user: Option<User>,
    #[serde(default, deserialize_with = "super::or_default")]
    pub labels: Vec<IssueLabel>,
    #[serde(default)]
    pub comments: u64,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    #[serde(default)]
    pub closed_at: Option<DateTime<Utc>>,
    /// Set when it is a pull request.
    #[serde(default)]
    pub pull_request: Option<IssuePull>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct IssuePull {
    #[serde(default)]
    pub merged_at: Option<DateTime<Utc>>,
}

/// A label; old issues name one by text alone.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum IssueLabel {
    Name(String),
    Label(Label),
}

impl IssueLabel {
    pub fn name(&self) -> &str {
        match self {
            Self::Name(name) => name,
            Self::Label(label) => &label.name,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Label {
    /// Labels of a timeline have none.
    #[serde(default)]
    pub id: Option<u64>,
    pub name: String,
    #[serde(default)]
    pub color: Option<String>,
    #[serde(default)]
    pub description: Option<Untrusted>,
}

/// A comment below an issue or pull request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Comment {
    pub id: u64,
    #[serde(default)]
    pub node_id: String,
    #[serde(default)]
    pub body: Option<Untrusted>,
    pub user: Option<User>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    /// What the author is to the repository: `OWNER`, `MEMBER`, `NONE`, or a word to come.
    #[serde(default)]
    pub author_association: Option<String>,
    #[serde(default)]
    pub html_url: Option<String>,
}

/// One entry of a timeline. Each kind has other fields, and new kinds appear.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Event {
    #[serde(default)]
    pub event: Option<String>,
    #[serde(default)]
    pub id: Option<u64>,
    #[serde(default)]
    pub node_id: Option<String>,
    #[serde(default)]
    pub sha: Option<String>,
    #[serde(default)]
    pub actor: Option<User>,
    #[serde(default)]
    pub user: Option<User>,
    #[serde(default)]
    pub created_at: Option<DateTime<Utc>>,
    #[serde(default)]
    pub label: Option<Label>,
    #[serde(default)]
    pub commit_id: Option<String>,
    #[serde(default)]
    pub body: Option<Untrusted>,
    /// `cross-referenced`: who points here.
    #[serde(default)]
    pub source: Option<Source>,
    /// `reviewed`: `approved`, `changes_requested`, `commented`, `dismissed`.
    #[serde(default)]
    pub state: Option<String>,
    #[serde(default)]
    pub submitted_at: Option<DateTime<Utc>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Source {
    #[serde(default)]
    pub issue: Option<Box<Issue>>,
}

impl Listed for Issue {
    fn key(&self) -> Option<String> {
        Some(self.id.to_string())
    }
}

impl Listed for Label {
    fn key(&self) -> Option<String> {
        Some(self.name.clone())
    }
}

impl Listed for Comment {
    fn key(&self) -> Option<String> {
        Some(self.id.to_string())
    }
}

impl Listed for Event {
    /// A commit has its id, a cross-reference nothing at all.
    fn key(&self) -> Option<String> {
        let kind = self.event.as_deref().unwrap_or_default();
        let name =
            self.node_id.clone().or_else(|| self.id.map(|id| id.to_string())).or_else(|| self.sha.clone())?;
        Some(format!("{kind} {name}"))
    }
}
