//! The configuration in force: every value checked, every default filled in.

use std::path::PathBuf;
use std::time::Duration;

use chrono::NaiveTime;
use serde::Serialize;
use steward_rules::engine::policy::Policy;
use steward_rules::ids::RepoName;
use steward_rules::questions::need::Origin;
use steward_rules::questions::roster::{Member, Remote};
use steward_rules::review::policy::ReviewPolicy;

/// Everything the person allows.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    pub accounts: Vec<Account>,
    /// The way to GitHub.
    pub network: Network,
    pub workspaces: Vec<Workspace>,
    pub review: Review,
    pub agents: Vec<(Role, AgentChoice)>,
    pub spend: Spend,
    pub commit: CommitIdentity,
    pub repositories: Vec<Repository>,
    pub notifications: Notifications,
    pub retention: Retention,
    /// The command that opens a file at a line, split into words.
    pub editor: Option<Vec<String>>,
    pub engine: Engine,
    pub memory: Switch,
    pub questions: Questions,
    pub pipelines: Switch,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    pub host: String,
    pub login: String,
}

impl Account {
    /// True for `login` and for `login@host`, in any case.
    pub fn is_named(&self, text: &str) -> bool {
        match text.split_once('@') {
            None => self.login.eq_ignore_ascii_case(text),
            Some((login, host)) => {
                self.login.eq_ignore_ascii_case(login) && self.host.eq_ignore_ascii_case(host)
            }
        }
    }
}

/// How GitHub is reached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Network {
    pub proxy: NetworkProxy,
    /// Certificates trusted beside those of the system, as PEM.
    pub ca_file: Option<PathBuf>,
    /// The problem for which nothing goes out at all.
    pub disabled_by: Option<String>,
}

/// Which proxy leads out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum NetworkProxy {
    /// What `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` say.
    #[default]
    Environment,
    /// This one, `http://[user:password@]host:port`.
    Only(String),
    /// None, whatever the environment says.
    None,
}

/// A titled local checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    pub title: String,
    pub path: PathBuf,
    pub forge: ForgeChoice,
    /// Its own policy for reviews, when the file gives one; else its repository's holds.
    pub policy: Option<ReviewPolicy>,
    /// The integration branch, when the file names one; else the repository's default branch holds.
    pub integration_branch: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForgeChoice {
    /// GitHub is asked when a remote is there.
    GitHub,
    /// Judged without GitHub.
    None,
}

/// The `review:` block after defaults and ceilings (review.md 2).
#[derive(Debug, Clone, PartialEq)]
pub struct Review {
    pub enabled: bool,
    /// The problem that holds the feature off although the file may say `enabled: true`.
    pub disabled_by: Option<String>,
    pub auto_review: Vec<String>,
    pub budget_usd: f64,
    pub max_budget_usd: f64,
    pub max_minutes: u32,
    pub max_reviews_per_hour: u32,
    pub max_reviews_per_task: u32,
    pub max_turns: u32,
    pub max_tokens: u64,
    pub annotate: bool,
}

/// What a seat is started as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Reviewer,
    Fixer,
    Triager,
    Responder,
    Safety,
    Watcher,
    Inspector,
    Conductor,
}

impl Role {
    pub const ALL: [Self; 8] = [
        Self::Reviewer,
        Self::Fixer,
        Self::Triager,
        Self::Responder,
        Self::Safety,
        Self::Watcher,
        Self::Inspector,
        Self::Conductor,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reviewer => "reviewer",
            Self::Fixer => "fixer",
            Self::Triager => "triager",
            Self::Responder => "responder",
            Self::Safety => "safety",
            Self::Watcher => "watcher",
            Self::Inspector => "inspector",
            Self::Conductor => "conductor",
        }
    }
}

/// How an agent is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Adapter {
    /// Claude Code.
    Claude,
    /// Any program that speaks the small contract.
    Command,
}

impl Adapter {
    pub const WORDS: [&'static str; 2] = ["claude", "command"];

    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "claude" => Some(Self::Claude),
            "command" => Some(Self::Command),
            _ => None,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Command => "command",
        }
    }
}

/// What `agents.<role>` says; it goes before the seat file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentChoice {
    pub adapter: Option<Adapter>,
    pub model: Option<String>,
    pub command: Option<Vec<String>>,
}

/// Caps on money. With a bad value in the block both are 0, so that nothing that costs starts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spend {
    pub daily_usd: f64,
    pub monthly_usd: f64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommitIdentity {
    pub name: Option<String>,
    pub email: Option<String>,
    pub signoff: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    pub name: RepoName,
    pub account: Option<String>,
    pub preset: Option<String>,
    pub mode: RepoMode,
    pub act: Vec<String>,
    pub fetch: Fetch,
    pub policy: ReviewPolicy,
    pub integration_branch: Option<String>,
    /// The engine's policy: the preset's values under the file's own. What of it is in force says
    /// [`Powers::policy`](crate::loops::effects::powers::Powers::policy).
    pub engine: Policy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepoMode {
    Observe,
    Suggest,
    Act,
}

/// How Steward's own clone is filled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Fetch {
    /// With the account's token.
    #[default]
    Https,
    /// With the person's own ssh keys and agent.
    Ssh,
}

impl Fetch {
    pub const WORDS: [&'static str; 2] = ["https", "ssh"];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::Ssh => "ssh",
        }
    }
}

impl RepoMode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Suggest => "suggest",
            Self::Act => "act",
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notifications {
    pub quiet_hours: Option<QuietHours>,
}

/// From one time of day to another, over midnight when the second is earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuietHours {
    pub from: NaiveTime,
    pub to: NaiveTime,
}

impl QuietHours {
    pub fn contains(&self, time: NaiveTime) -> bool {
        if self.from <= self.to {
            self.from <= time && time < self.to
        } else {
            time >= self.from || time < self.to
        }
    }
}

/// How long things are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    pub logs_days: u32,
    pub seat_days: u32,
    pub observation_days: u32,
    pub observation_mb: u32,
    pub frame_days: u32,
    pub done_days: u32,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            logs_days: 14,
            seat_days: 7,
            observation_days: 30,
            observation_mb: 200,
            frame_days: 90,
            done_days: 365,
        }
    }
}

/// The `questions:` block (questions.md 1).
#[derive(Debug, Clone, PartialEq)]
pub struct Questions {
    pub enabled: bool,
    pub disabled_by: Option<String>,
    /// The name agents are told.
    pub owner: String,
    pub cadence_active: Duration,
    pub cadence_idle: Duration,
    pub remind_after: Duration,
    pub roster: Vec<Member>,
    /// Folders of thrum whose rosters are taken over.
    pub thrum: Vec<ThrumProject>,
    /// The ways in that are open.
    pub sources: Vec<Origin>,
    pub ssh: Vec<Remote>,
    /// Whether answers may be typed into panes of this machine.
    pub keys: bool,
    pub watcher: WatcherLimits,
}

/// What the watcher seat may cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WatcherLimits {
    /// Of one run, in US dollars.
    pub budget_usd: f64,
    /// Runs within an hour.
    pub max_per_hour: u32,
    /// Of one run.
    pub max_minutes: u32,
}

impl Default for WatcherLimits {
    fn default() -> Self {
        Self { budget_usd: 0.1, max_per_hour: 30, max_minutes: 3 }
    }
}

impl Default for Questions {
    fn default() -> Self {
        Self {
            enabled: false,
            disabled_by: None,
            owner: "the owner".to_owned(),
            cadence_active: Duration::from_secs(180),
            cadence_idle: Duration::from_secs(600),
            remind_after: Duration::from_secs(600),
            roster: Vec::new(),
            thrum: Vec::new(),
            sources: Vec::new(),
            ssh: Vec::new(),
            keys: false,
            watcher: WatcherLimits::default(),
        }
    }
}

/// A project folder of thrum, and the agent whose watch parameters are read there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThrumProject {
    pub folder: PathBuf,
    pub agent: String,
}

/// The `engine:` block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Engine {
    pub enabled: bool,
    /// The problem that holds the engine off although the file may say `enabled: true`.
    pub disabled_by: Option<String>,
    /// How often watched repositories are looked at, whether the engine is on or not.
    pub interval: Duration,
}

/// Whether a system is on. Its own keys are read by the system itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Switch {
    pub enabled: bool,
    pub disabled_by: Option<String>,
}

/// What a title of a workspace leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkspaceMatch<'c> {
    One(&'c Workspace),
    None,
    /// Two of one title match neither (review.md 2).
    Several,
}

impl Config {
    /// The workspace of this exact title.
    pub fn workspace(&self, title: &str) -> WorkspaceMatch<'_> {
        let mut found = self.workspaces.iter().filter(|workspace| workspace.title == title);
        match (found.next(), found.next()) {
            (None, _) => WorkspaceMatch::None,
            (Some(one), None) => WorkspaceMatch::One(one),
            (Some(_), Some(_)) => WorkspaceMatch::Several,
        }
    }

    /// True when finished branches of this workspace are reviewed by themselves.
    pub fn reviews_by_itself(&self, title: &str) -> bool {
        self.review.auto_review.iter().any(|listed| listed == title)
            && matches!(self.workspace(title), WorkspaceMatch::One(_))
    }

    /// What the file says of a role's agent.
    pub fn agent(&self, role: Role) -> Option<&AgentChoice> {
        self.agents.iter().find(|(found, _)| *found == role).map(|(_, choice)| choice)
    }

    /// The policy a task is reviewed by, and the integration branch when the file names one: those of
    /// its workspace, else of its repository (`owner/name`).
    pub fn review_policy(
        &self,
        workspace: Option<&Workspace>,
        repository: Option<&str>,
    ) -> (ReviewPolicy, Option<String>) {
        let repository = repository.and_then(RepoName::parse).and_then(|name| self.repository(&name));
        let policy = workspace.and_then(|found| found.policy.clone());
        let branch = workspace.and_then(|found| found.integration_branch.clone());
        (
            policy.or_else(|| repository.map(|found| found.policy.clone())).unwrap_or_default(),
            branch.or_else(|| repository.and_then(|found| found.integration_branch.clone())),
        )
    }

    /// The account that reads a repository: the one its block names as `login` or `login@host`, else the
    /// first one there is.
    pub fn account_of(&self, repository: &Repository) -> Option<&Account> {
        match repository.account.as_deref() {
            None => self.accounts.first(),
            Some(named) => self.accounts.iter().find(|account| account.is_named(named)),
        }
    }

    /// The host a watched repository lives on.
    pub fn host_of(&self, repository: &Repository) -> &str {
        self.account_of(repository).map_or("github.com", |account| account.host.as_str())
    }

    /// The repository of this name.
    pub fn repository(&self, name: &RepoName) -> Option<&Repository> {
        self.repositories.iter().find(|repository| repository.name == *name)
    }
}
