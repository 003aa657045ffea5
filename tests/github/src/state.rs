//! What this GitHub knows: people, tokens, repositories, threads, checks. Routes read it, verbs move it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

use crate::bare::{Bare, Signature};
use crate::clock::Clock;

pub(crate) type Moment = DateTime<Utc>;

/// What someone may do in a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    Read,
    Triage,
    Write,
    Maintain,
    Admin,
}

/// How a token was made, which decides how it is limited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grant {
    /// A classic token: scopes such as `repo`, shown in `x-oauth-scopes`.
    Classic(Vec<String>),
    /// A fine-grained token: `contents=write`, and the repositories it reaches (none named: all).
    FineGrained { permissions: Vec<(String, String)>, repositories: Vec<String> },
}

#[derive(Debug, Clone)]
pub(crate) struct Person {
    pub id: u64,
    pub login: String,
    pub kind: &'static str,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Budget {
    pub used: u64,
    pub reset: i64,
}

#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub login: String,
    pub grant: Grant,
    /// When it stops being accepted; many never do.
    pub ends: Option<DateTime<Utc>>,
    pub core: Budget,
    pub graphql: Budget,
    pub search: Budget,
}

#[derive(Debug, Clone)]
pub(crate) struct Comment {
    pub id: u64,
    pub author: String,
    pub body: String,
    pub created: Moment,
    pub updated: Moment,
}

#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub id: u64,
    pub name: String,
    pub actor: String,
    pub at: Moment,
    pub extra: Value,
}

#[derive(Debug, Clone)]
pub(crate) struct Review {
    pub id: u64,
    pub author: String,
    pub state: &'static str,
    pub sha: String,
    pub body: String,
    pub at: Moment,
}

#[derive(Debug, Clone)]
pub(crate) struct Landed {
    pub sha: String,
    pub by: String,
    pub at: Moment,
    /// Where the base branch stood before.
    pub base_before: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Pull {
    pub head_repo: u64,
    pub head_ref: String,
    pub head: String,
    pub base_ref: String,
    /// The base branch when the head was last pushed, as GitHub keeps it.
    pub base: String,
    pub draft: bool,
    pub landed: Option<Landed>,
    pub reviews: Vec<Review>,
    /// Reads that still answer `mergeable: null`.
    pub unsettled: u32,
}

#[derive(Debug, Clone)]
pub(crate) struct Thread {
    pub id: u64,
    pub number: u64,
    pub title: String,
    pub body: String,
    pub author: String,
    pub labels: Vec<String>,
    /// Edits of its text: who, and when.
    pub edits: Vec<(String, Moment)>,
    pub comments: Vec<Comment>,
    pub events: Vec<Event>,
    pub open: bool,
    pub locked: bool,
    pub reason: Option<String>,
    pub created: Moment,
    pub updated: Moment,
    pub closed: Option<Moment>,
    pub pull: Option<Pull>,
}

#[derive(Debug, Clone)]
pub(crate) struct Check {
    pub id: u64,
    pub suite: u64,
    pub name: String,
    pub app: String,
    pub sha: String,
    pub status: String,
    pub conclusion: Option<String>,
    pub started: Option<Moment>,
    pub completed: Option<Moment>,
    pub summary: Option<String>,
    /// Of a job: the attempt of its workflow run that it belongs to.
    pub attempt: u64,
    /// What a job printed; `None` once the log is gone.
    pub log: Option<String>,
}

/// All checks of one app at one head; those of GitHub Actions are the jobs of one workflow run.
#[derive(Debug, Clone)]
pub(crate) struct Suite {
    pub id: u64,
    /// The workflow run, which has a number of its own.
    pub run: u64,
    pub app: String,
    pub workflow: String,
    /// What started the run: `pull_request`, `push`, `workflow_dispatch`.
    pub event: String,
    pub sha: String,
    pub branch: Option<String>,
    pub created: Moment,
    pub attempt: u64,
    /// Who asked for this attempt.
    pub asked_by: String,
    /// GitHub runs it no more.
    pub is_too_old: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Status {
    pub id: u64,
    pub sha: String,
    pub context: String,
    pub state: String,
    pub description: String,
    pub creator: String,
    pub at: Moment,
}

#[derive(Debug, Clone)]
pub(crate) struct Label {
    pub id: u64,
    pub name: String,
    pub color: String,
    pub description: Option<String>,
}

/// What a branch asks before something lands on it.
#[derive(Debug, Clone, Default)]
pub struct Protection {
    pub required_checks: Vec<String>,
    pub up_to_date: bool,
    pub approvals: u64,
    /// Logins that may push; nobody named means everybody with write access.
    pub only: Vec<String>,
    /// Enforced by a ruleset instead of a classic protection: other texts, other endpoints.
    pub ruleset: bool,
}

#[derive(Debug)]
pub(crate) struct Repo {
    pub id: u64,
    pub name: String,
    pub private: bool,
    pub archived: bool,
    pub default_branch: String,
    pub bare: Bare,
    pub fork_of: Option<u64>,
    pub roles: BTreeMap<String, Role>,
    pub threads: BTreeMap<u64, Thread>,
    pub checks: Vec<Check>,
    pub suites: Vec<Suite>,
    pub statuses: Vec<Status>,
    pub labels: Vec<Label>,
    pub protections: BTreeMap<String, Protection>,
    pub refused_methods: BTreeSet<String>,
    /// Reads that answer `mergeable: null` after each push.
    pub settles_after: u32,
    pub created: Moment,
    pub pushed: Moment,
}

#[derive(Debug)]
pub(crate) struct State {
    pub base: String,
    pub folder: PathBuf,
    pub clock: Clock,
    pub people: Vec<Person>,
    pub tokens: BTreeMap<String, Token>,
    pub repos: Vec<Repo>,
    /// Names repositories had before.
    pub moved: BTreeMap<String, u64>,
    pub limit: u64,
    /// What the search index knows, by repository, while it lags behind.
    pub index: Option<BTreeMap<u64, BTreeMap<u64, Thread>>>,
    next: u64,
}

impl State {
    pub(crate) fn new(base: String, folder: PathBuf, clock: Clock) -> Self {
        Self {
            base,
            folder,
            clock,
            people: Vec::new(),
            tokens: BTreeMap::new(),
            repos: Vec::new(),
            moved: BTreeMap::new(),
            limit: 5000,
            index: None,
            next: 1000,
        }
    }

    pub(crate) fn fresh_id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// The moment of one more thing that happens: never two at once.
    pub(crate) fn happens(&mut self) -> Moment {
        self.clock.advance(TimeDelta::seconds(1));
        self.clock.now()
    }

    pub(crate) fn person(&self, login: &str) -> Option<&Person> {
        self.people.iter().find(|person| person.login.eq_ignore_ascii_case(login))
    }

    pub(crate) fn signature(&self, login: &str, at: Moment) -> Signature {
        Signature {
            name: login.to_owned(),
            email: format!("{login}@users.noreply.github.com"),
            date: at.timestamp().to_string(),
        }
    }

    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.repos.iter().position(|repo| repo.name.eq_ignore_ascii_case(name))
    }

    pub(crate) fn by_id(&self, id: u64) -> Option<&Repo> {
        self.repos.iter().find(|repo| repo.id == id)
    }

    pub(crate) fn repo(&self, name: &str) -> &Repo {
        let at = self.find(name).unwrap_or_else(|| panic!("the world has no repository {name}"));
        &self.repos[at]
    }

    pub(crate) fn repo_mut(&mut self, name: &str) -> &mut Repo {
        let at = self.find(name).unwrap_or_else(|| panic!("the world has no repository {name}"));
        &mut self.repos[at]
    }

    pub(crate) fn event(&mut self, repo: &str, number: u64, name: &str, actor: &str, extra: Value) {
        let (id, at) = (self.fresh_id(), self.happens());
        let thread = self.repo_mut(repo).threads.get_mut(&number).expect("BUG: the thread was looked up");
        thread.updated = at;
        thread.events.push(Event { id, name: name.to_owned(), actor: actor.to_owned(), at, extra });
    }
}
