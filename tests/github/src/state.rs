//! What this GitHub knows: people, tokens, repositories, threads, checks. Routes read it, verbs move it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

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
}

#[derive(Debug, Clone)]
pub(crate) struct Suite {
    pub id: u64,
    pub app: String,
    pub workflow: String,
    pub sha: String,
    pub created: Moment,
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
    next: u64,
}

impl Repo {
    pub(crate) fn owner(&self) -> &str {
        self.name.split_once('/').map_or("", |(owner, _)| owner)
    }

    pub(crate) fn short(&self) -> &str {
        self.name.split_once('/').map_or("", |(_, short)| short)
    }

    pub(crate) fn thread(&self, number: u64) -> Option<&Thread> {
        self.threads.get(&number)
    }

    pub(crate) fn role(&self, login: &str) -> Option<Role> {
        if self.owner().eq_ignore_ascii_case(login) {
            return Some(Role::Admin);
        }
        let named =
            self.roles.iter().find(|(name, _)| name.eq_ignore_ascii_case(login)).map(|(_, role)| *role);
        named.or((!self.private).then_some(Role::Read))
    }

    /// Newest run for each suite and name: what `filter=latest` answers.
    pub(crate) fn latest_checks(&self, sha: &str) -> Vec<&Check> {
        let mut newest: BTreeMap<(u64, &str), &Check> = BTreeMap::new();
        for check in self.checks.iter().filter(|check| check.sha == sha) {
            newest.insert((check.suite, &check.name), check);
        }
        let mut list: Vec<&Check> = newest.into_values().collect();
        list.sort_by_key(|check| std::cmp::Reverse(check.id));
        list
    }

    /// Newest status for each context.
    pub(crate) fn latest_statuses(&self, sha: &str) -> Vec<&Status> {
        let mut newest: BTreeMap<&str, &Status> = BTreeMap::new();
        for status in self.statuses.iter().filter(|status| status.sha == sha) {
            newest.insert(&status.context, status);
        }
        newest.into_values().collect()
    }

    /// Where a pull's base is to be read: before it landed, or the branch now.
    pub(crate) fn base_of<'a>(&'a self, pull: &'a Pull) -> &'a str {
        match &pull.landed {
            Some(landed) => &landed.base_before,
            None => self.bare.branch(&pull.base_ref).unwrap_or(&pull.base),
        }
    }

    pub(crate) fn fork_point(&self, pull: &Pull) -> String {
        self.bare.merge_base(self.base_of(pull), &pull.head).unwrap_or_else(|| pull.base.clone())
    }

    pub(crate) fn merges_cleanly(&self, pull: &Pull) -> bool {
        self.bare.merged_tree(self.base_of(pull), &pull.head).is_some()
    }

    /// `None` when no check and no status exists: GitHub shows no rollup then.
    pub(crate) fn rollup(&self, sha: &str) -> Option<&'static str> {
        let mut states = Vec::new();
        for check in self.latest_checks(sha) {
            states.push(match check.conclusion.as_deref() {
                None => "PENDING",
                Some("success" | "neutral" | "skipped") => "SUCCESS",
                Some("stale") => "EXPECTED",
                Some(_) => "FAILURE",
            });
        }
        for status in self.latest_statuses(sha) {
            states.push(match status.state.as_str() {
                "success" => "SUCCESS",
                "pending" => "PENDING",
                "error" => "ERROR",
                _ => "FAILURE",
            });
        }
        ["ERROR", "FAILURE", "PENDING", "EXPECTED", "SUCCESS"]
            .into_iter()
            .find(|state| states.contains(state))
    }

    /// How a required check stands: well, not well, or not there.
    pub(crate) fn required(&self, sha: &str, name: &str) -> Option<bool> {
        let runs = self.latest_checks(sha);
        let run = runs
            .iter()
            .find(|check| check.name == name)
            .map(|check| matches!(check.conclusion.as_deref(), Some("success" | "neutral" | "skipped")));
        let status = self.latest_statuses(sha).into_iter().find(|status| status.context == name);
        run.or(status.map(|status| status.state == "success"))
    }

    pub(crate) fn review_decision(&self, pull: &Pull) -> Option<&'static str> {
        let mut newest: BTreeMap<&str, &str> = BTreeMap::new();
        for review in pull.reviews.iter().filter(|review| review.state != "COMMENTED") {
            newest.insert(&review.author, review.state);
        }
        let needed = self.protections.get(&pull.base_ref).map_or(0, |rule| rule.approvals);
        let approvals = newest.values().filter(|state| **state == "APPROVED").count() as u64;
        if newest.values().any(|state| *state == "CHANGES_REQUESTED") {
            return Some("CHANGES_REQUESTED");
        }
        if needed == 0 && approvals == 0 {
            return None;
        }
        Some(if approvals >= needed { "APPROVED" } else { "REVIEW_REQUIRED" })
    }

    pub(crate) fn merge_state(&self, pull: &Pull) -> &'static str {
        if pull.landed.is_some() || pull.unsettled > 0 {
            return "unknown";
        }
        if !self.merges_cleanly(pull) {
            return "dirty";
        }
        if pull.draft {
            return "draft";
        }
        let base = self.base_of(pull);
        if let Some(rule) = self.protections.get(&pull.base_ref) {
            let met = rule.required_checks.iter().all(|name| self.required(&pull.head, name) == Some(true));
            if !met || (rule.approvals > 0 && self.review_decision(pull) != Some("APPROVED")) {
                return "blocked";
            }
            if rule.up_to_date && !self.bare.is_ancestor(base, &pull.head) {
                return "behind";
            }
        }
        match self.rollup(&pull.head) {
            None | Some("SUCCESS") => "clean",
            Some(_) => "unstable",
        }
    }
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

    /// Lets everything follow a push: heads of pulls, their kept refs, and what landed by it.
    pub(crate) fn settle(&mut self, pushed: &str, actor: &str) {
        let at = self.happens();
        let source = {
            let repo = self.repo_mut(pushed);
            repo.pushed = at;
            (repo.id, repo.bare.path().to_path_buf(), repo.bare.tips.clone())
        };
        let (source_id, source_path, tips) = source;
        let mut events = Vec::new();
        for repo in &mut self.repos {
            let name = repo.name.clone();
            for (number, thread) in &mut repo.threads {
                let Some(pull) = thread.pull.as_mut().filter(|pull| thread.open && pull.landed.is_none())
                else {
                    continue;
                };
                if pull.head_repo == source_id {
                    let tip = tips.get(&format!("refs/heads/{}", pull.head_ref));
                    if let Some(tip) = tip.filter(|tip| **tip != pull.head) {
                        keep_head(&repo.bare, &source_path, *number, tip);
                        if !repo.bare.is_ancestor(&pull.head, tip) {
                            let extra = json!({ "commit_id": tip });
                            events.push((name.clone(), *number, "head_ref_force_pushed", extra));
                        }
                        pull.head.clone_from(tip);
                        pull.unsettled = repo.settles_after;
                        if let Some(base) = repo.bare.branch(&pull.base_ref) {
                            base.clone_into(&mut pull.base);
                        }
                        thread.updated = at;
                    }
                }
                let base_now = repo.bare.branch(&pull.base_ref).map(str::to_owned);
                if let Some(base) = base_now.filter(|_| repo.id == source_id)
                    && repo.bare.is_ancestor(&pull.head, &base)
                {
                    let (by, base_before) = (actor.to_owned(), pull.base.clone());
                    pull.landed = Some(Landed { sha: pull.head.clone(), by, at, base_before });
                    thread.open = false;
                    thread.closed = Some(at);
                    events.push((name.clone(), *number, "merged", json!({ "commit_id": pull.head })));
                }
            }
        }
        for (repo, number, event, extra) in events {
            self.event(&repo, number, event, actor, extra);
        }
    }
}

/// Brings a head into the base repository and keeps it under `refs/pull/N/head`, as GitHub does for ever.
pub(crate) fn keep_head(base: &Bare, source: &std::path::Path, number: u64, head: &str) {
    let kept = format!("refs/pull/{number}/head");
    if source == base.path() {
        base.set_ref(&kept, head);
    } else {
        let place = source.to_string_lossy();
        base.must(&["fetch", "--quiet", "--no-tags", &place, &format!("+{head}:{kept}")]);
    }
}

impl Repo {
    /// Makes git itself refuse what protection refuses: a push straight to a protected branch.
    pub(crate) fn guard_pushes(&self) {
        use std::os::unix::fs::PermissionsExt;
        let mut script = String::from("#!/bin/sh\ncase \"$1\" in\n");
        for branch in self.protections.keys() {
            script.push_str(&format!(
                "refs/heads/{branch}) echo 'error: GH006: Protected branch update failed for refs/heads/{branch}.' >&2; exit 1;;\n"
            ));
        }
        script.push_str("esac\nexit 0\n");
        let hooks = self.bare.path().join("hooks");
        let hook = hooks.join("update");
        let written = std::fs::create_dir_all(&hooks)
            .and_then(|()| std::fs::write(&hook, script))
            .and_then(|()| std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)));
        written.expect("the hook of a bare repository can be written");
    }
}
