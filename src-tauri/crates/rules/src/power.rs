//! What Steward may do by itself: what the config file asks for, and what of it a person confirmed.
//!
//! Only the meet of both is in force. Taking a power away holds at once; a wider one waits (product.md,
//! *Modes and powers*).

mod caps;

use std::collections::{BTreeMap, BTreeSet};

pub use caps::Caps;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::engine::policy::Policy;
use crate::ids::RepoName;

macro_rules! classes {
    ($($(#[$doc:meta])* $name:ident = $word:literal),* $(,)?) => {
        /// One kind of outward effect; each has its own switch.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum EffectClass { $($(#[$doc])* $name),* }

        impl EffectClass {
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The word of the config file.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word),* }
            }
        }
    };
}

classes! {
    /// The verdict of a review as a comment.
    CommentReview = "comment_review",
    RerunCheck = "rerun_check",
    RetryVerdict = "retry_verdict",
    Rebase = "rebase",
    PushFix = "push_fix",
    OpenPr = "open_pr",
    Supersede = "supersede",
    Merge = "merge",
    DeleteBranch = "delete_branch",
    Label = "label",
    CloseIssue = "close_issue",
    CommentIssue = "comment_issue",
    Report = "report",
    Reply = "reply",
    RequestApproval = "request_approval",
    DispatchWork = "dispatch_work",
    Claim = "claim",
}

impl EffectClass {
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|class| class.as_str() == word)
    }

    /// True for what puts something onto a base branch: it rests while merging is frozen (engine.md 4.7).
    pub fn lands(self) -> bool {
        match self {
            Self::Merge => true,
            Self::CommentReview
            | Self::RerunCheck
            | Self::RetryVerdict
            | Self::Rebase
            | Self::PushFix
            | Self::OpenPr
            | Self::Supersede
            | Self::DeleteBranch
            | Self::Label
            | Self::CloseIssue
            | Self::CommentIssue
            | Self::Report
            | Self::Reply
            | Self::RequestApproval
            | Self::DispatchWork
            | Self::Claim => false,
        }
    }
}

/// How far Steward goes in a repository. The order is the order of power.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Everything is computed and shown; nothing outward happens.
    #[default]
    Observe,
    /// Each effect waits in the inbox for the person.
    Suggest,
    /// The listed classes run by themselves.
    Act,
}

impl Mode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Suggest => "suggest",
            Self::Act => "act",
        }
    }
}

/// What may happen in one repository.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepoPower {
    mode: Mode,
    /// Empty unless the mode is `act`.
    act: BTreeSet<EffectClass>,
    /// Those that need no confirmation while nothing goes out. Absent in what an older Steward kept: the same.
    #[serde(default)]
    caps: Caps,
}

impl RepoPower {
    /// Classes that are listed mean something in `act` only.
    pub fn new(mode: Mode, act: impl IntoIterator<Item = EffectClass>) -> Self {
        let act = if mode == Mode::Act { act.into_iter().collect() } else { BTreeSet::new() };
        Self { mode, act, caps: Caps::default() }
    }

    /// With the caps of the policy; they mean nothing in `observe`.
    #[must_use]
    pub fn with_caps(self, caps: Caps) -> Self {
        let caps = if self.mode == Mode::Observe { Caps::default() } else { caps };
        Self { caps, ..self }
    }

    pub fn caps(&self) -> &Caps {
        &self.caps
    }

    /// The policy by which a repository is judged under this power. While it is observed that is the one
    /// asked for, so that what would happen can be seen before anything is confirmed.
    pub fn policy(&self, asked: &Policy) -> Policy {
        match self.mode {
            Mode::Observe => asked.clone(),
            Mode::Suggest | Mode::Act => self.caps.bind(asked),
        }
    }

    pub fn mode(&self) -> Mode {
        self.mode
    }

    pub fn act(&self) -> &BTreeSet<EffectClass> {
        &self.act
    }

    /// True when this class runs by itself.
    pub fn acts(&self, class: EffectClass) -> bool {
        self.mode == Mode::Act && self.act.contains(&class)
    }

    /// What both allow.
    pub fn meet(&self, other: &Self) -> Self {
        Self::new(self.mode.min(other.mode), self.act.intersection(&other.act).copied())
            .with_caps(self.caps.meet(&other.caps))
    }
}

/// What may happen with agents' panes (questions.md 6 and 7).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PanePower {
    /// Keys are typed into panes of this machine.
    pub keys: bool,
    /// Other machines whose panes are captured through ssh, and whether keys are typed there.
    pub hosts: BTreeMap<String, bool>,
}

impl PanePower {
    /// What both allow.
    pub fn meet(&self, other: &Self) -> Self {
        let hosts = self.hosts.iter().filter_map(|(host, keys)| {
            let theirs = *other.hosts.get(host)?;
            Some((host.clone(), *keys && theirs))
        });
        Self { keys: self.keys && other.keys, hosts: hosts.collect() }
    }

    /// What may be done with panes of a host, in one word.
    fn word(&self, host: &str) -> &'static str {
        match self.hosts.get(host) {
            None => "none",
            Some(false) => "captures",
            Some(true) => "captures and keys",
        }
    }
}

/// Every power of an installation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PowerSet {
    /// By [`repo_key`]. A repository that is not here is observed.
    pub repositories: BTreeMap<String, RepoPower>,
    /// Absent in what an older Steward kept: nothing.
    #[serde(default)]
    pub panes: PanePower,
    /// Caps on what agents cost.
    pub daily_usd: f64,
    pub monthly_usd: f64,
}

/// Under which name the powers of a repository lie: names are compared without case.
pub fn repo_key(host: &str, repo: &RepoName) -> String {
    format!("{host}/{repo}").to_ascii_lowercase()
}

impl PowerSet {
    /// The power in a repository; nothing where it is not named.
    pub fn of(&self, host: &str, repo: &RepoName) -> RepoPower {
        self.repositories.get(&repo_key(host, repo)).cloned().unwrap_or_default()
    }

    /// What both allow.
    pub fn meet(&self, other: &Self) -> Self {
        let repositories = self.repositories.iter().filter_map(|(key, power)| {
            let both = power.meet(other.repositories.get(key)?);
            Some((key.clone(), both))
        });
        Self {
            repositories: repositories.collect(),
            panes: self.panes.meet(&other.panes),
            daily_usd: self.daily_usd.min(other.daily_usd),
            monthly_usd: self.monthly_usd.min(other.monthly_usd),
        }
    }

    /// What counts as confirmed before anybody confirmed anything: no power in any repository or pane, and
    /// the caps of the file as it was first seen.
    pub fn first(asked: &Self) -> Self {
        Self {
            repositories: BTreeMap::new(),
            panes: PanePower::default(),
            daily_usd: asked.daily_usd,
            monthly_usd: asked.monthly_usd,
        }
    }
}

/// One power that is asked for and not in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Widening {
    /// As the config file names it.
    pub key: String,
    pub now: String,
    pub asked: String,
}

/// What the file asks for beyond what is in force, in the file's own words; empty when all of it is.
pub fn pending(asked: &PowerSet, confirmed: &PowerSet) -> Vec<Widening> {
    let mut lines = Vec::new();
    for (key, wanted) in &asked.repositories {
        let now = confirmed.repositories.get(key).map(|power| wanted.meet(power)).unwrap_or_default();
        let name = key.strip_prefix("github.com/").unwrap_or(key);
        if now.mode() != wanted.mode() {
            lines.push(Widening {
                key: format!("repositories[{name}].mode"),
                now: now.mode().as_str().to_owned(),
                asked: wanted.mode().as_str().to_owned(),
            });
        }
        if now.act() != wanted.act() {
            lines.push(Widening {
                key: format!("repositories[{name}].act"),
                now: words(now.act()),
                asked: words(wanted.act()),
            });
        }
        lines.extend(now.caps().beyond(wanted.caps(), &format!("repositories[{name}]")));
    }
    if asked.panes.keys && !confirmed.panes.keys {
        lines.push(Widening {
            key: "questions.keys".to_owned(),
            now: "false".to_owned(),
            asked: "true".to_owned(),
        });
    }
    let now = confirmed.panes.meet(&asked.panes);
    for host in asked.panes.hosts.keys().filter(|host| now.hosts.get(*host) != asked.panes.hosts.get(*host)) {
        lines.push(Widening {
            key: format!("questions.ssh[{host}]"),
            now: now.word(host).to_owned(),
            asked: asked.panes.word(host).to_owned(),
        });
    }
    for (key, now, wanted) in [
        ("spend.dailyUsd", confirmed.daily_usd, asked.daily_usd),
        ("spend.monthlyUsd", confirmed.monthly_usd, asked.monthly_usd),
    ] {
        if wanted > now {
            lines.push(Widening {
                key: key.to_owned(),
                now: format!("{now:.2}"),
                asked: format!("{wanted:.2}"),
            });
        }
    }
    lines
}

/// Names exactly this change, so that another one is never confirmed in its place.
pub fn change_id(lines: &[Widening]) -> Option<String> {
    if lines.is_empty() {
        return None;
    }
    let mut hash = Sha256::new();
    for line in lines {
        for field in [&line.key, &line.now, &line.asked] {
            hash.update((field.len() as u64).to_le_bytes());
            hash.update(field.as_bytes());
        }
    }
    Some(hex::encode(&hash.finalize()[..8]))
}

/// The change as it is kept in the audit log: one line for each power.
pub fn diff_text(lines: &[Widening]) -> String {
    let lines: Vec<String> =
        lines.iter().map(|line| format!("{}: {} -> {}", line.key, line.now, line.asked)).collect();
    lines.join("; ")
}

fn words(classes: &BTreeSet<EffectClass>) -> String {
    if classes.is_empty() {
        return "none".to_owned();
    }
    classes.iter().map(|class| class.as_str()).collect::<Vec<_>>().join(", ")
}
