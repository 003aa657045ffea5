//! One pull request or issue, as its people act in it.

use serde_json::{Value, json};

use super::RepoVerbs;
use crate::routes::{Landing, closes, land};
use crate::state::{Landed, Review, Thread};
use crate::{happening, payload};

/// One pull request or issue, as its people act in it.
#[derive(Clone)]
pub struct PullVerbs<'w> {
    repo: RepoVerbs<'w>,
    number: u64,
}

impl<'w> PullVerbs<'w> {
    pub(super) fn of(repo: &RepoVerbs<'w>, number: u64) -> Self {
        Self { repo: repo.clone(), number }
    }

    fn change<T>(&self, change: impl FnOnce(&mut Thread) -> T) -> T {
        let mut state = self.repo.state();
        let at = state.happens();
        let thread = state.repo_mut(&self.repo.name).threads.get_mut(&self.number);
        let thread = thread.unwrap_or_else(|| panic!("{} has no thread {}", self.repo.name, self.number));
        thread.updated = at;
        change(thread)
    }

    fn read<T>(&self, read: impl FnOnce(&Thread) -> T) -> T {
        let state = self.repo.state();
        let thread = state.repo(&self.repo.name).thread(self.number);
        read(thread.unwrap_or_else(|| panic!("{} has no thread {}", self.repo.name, self.number)))
    }

    fn pull<T>(&self, change: impl FnOnce(&mut crate::state::Pull) -> T) -> T {
        self.change(|thread| change(thread.pull.as_mut().expect("the thread is a pull request")))
    }

    pub fn number(&self) -> u64 {
        self.number
    }

    pub fn head(&self) -> String {
        self.read(|thread| thread.pull.as_ref().expect("the thread is a pull request").head.clone())
    }

    pub fn node_id(&self) -> String {
        self.read(|thread| payload::node_id(if thread.pull.is_some() { "PR" } else { "I" }, thread.id))
    }

    pub fn is_merged(&self) -> bool {
        self.read(|thread| thread.pull.as_ref().is_some_and(|pull| pull.landed.is_some()))
    }

    pub fn body(self, text: &str) -> Self {
        self.change(|thread| text.clone_into(&mut thread.body));
        self
    }

    pub fn title(self, text: &str) -> Self {
        self.change(|thread| text.clone_into(&mut thread.title));
        self
    }

    /// Somebody edits its text.
    pub fn edit_by(&self, who: &str, text: &str) {
        self.repo.world.user(who);
        let at = self.repo.state().happens();
        self.change(|thread| {
            text.clone_into(&mut thread.body);
            thread.edits.push((who.to_owned(), at));
        });
    }

    pub fn draft(self) -> Self {
        self.pull(|pull| pull.draft = true);
        self
    }

    pub fn ready(self) -> Self {
        self.pull(|pull| pull.draft = false);
        self
    }

    pub fn locked(self) -> Self {
        self.change(|thread| thread.locked = true);
        self
    }

    /// `mergeable` is null for this many more reads.
    pub fn settles_after(self, reads: u32) -> Self {
        self.pull(|pull| pull.unsettled = reads);
        self
    }

    pub fn label(self, name: &str) -> Self {
        let owner = self.repo.name.split('/').next().unwrap_or_default().to_owned();
        happening::put_label(&mut self.repo.state(), &self.repo.name, self.number, name, &owner);
        self
    }

    pub fn unlabel(self, name: &str) -> Self {
        let owner = self.repo.name.split('/').next().unwrap_or_default().to_owned();
        happening::take_label(&mut self.repo.state(), &self.repo.name, self.number, name, &owner);
        self
    }

    /// Somebody puts a label on it.
    pub fn label_by(&self, who: &str, name: &str) {
        self.repo.world.user(who);
        happening::put_label(&mut self.repo.state(), &self.repo.name, self.number, name, who);
    }

    /// Somebody takes a label off it.
    pub fn unlabel_by(&self, who: &str, name: &str) {
        self.repo.world.user(who);
        happening::take_label(&mut self.repo.state(), &self.repo.name, self.number, name, who);
    }

    /// The labels on it, in the order they were put there.
    pub fn labels(&self) -> Vec<String> {
        self.read(|thread| thread.labels.clone())
    }

    pub fn is_open(&self) -> bool {
        self.read(|thread| thread.open)
    }

    /// Why it was closed: `completed`, `not_planned`.
    pub fn close_reason(&self) -> Option<String> {
        self.read(|thread| thread.reason.clone())
    }

    pub fn title_and_body(&self) -> (String, String) {
        self.read(|thread| (thread.title.clone(), thread.body.clone()))
    }

    /// Every timeline event as (name, actor), oldest first.
    pub fn events(&self) -> Vec<(String, String)> {
        self.read(|thread| thread.events.iter().map(|one| (one.name.clone(), one.actor.clone())).collect())
    }

    /// Somebody comments; answers the comment's id.
    pub fn comment(&self, author: &str, text: &str) -> u64 {
        self.repo.world.user(author);
        happening::add_comment(&mut self.repo.state(), &self.repo.name, self.number, author, text)
    }

    /// Somebody deletes a comment.
    pub fn delete_comment(&self, who: &str, id: u64) {
        self.repo.world.user(who);
        happening::delete_comment(&mut self.repo.state(), &self.repo.name, self.number, id, who);
    }

    /// Every comment as (id, author, text), oldest first.
    pub fn comments(&self) -> Vec<(u64, String, String)> {
        let state = self.repo.state();
        let thread = state.repo(&self.repo.name).thread(self.number);
        let all = thread.into_iter().flat_map(|thread| &thread.comments);
        all.map(|comment| (comment.id, comment.author.clone(), comment.body.clone())).collect()
    }

    fn review(&self, author: &str, state: &'static str) {
        self.repo.world.user(author);
        let id = self.repo.state().fresh_id();
        let at = self.repo.state().happens();
        let (author, body) = (author.to_owned(), String::new());
        self.pull(|pull| {
            let sha = pull.head.clone();
            pull.reviews.push(Review { id, author, state, sha, body, at });
        });
    }

    pub fn approve(&self, author: &str) {
        self.review(author, "APPROVED");
    }

    pub fn request_changes(&self, author: &str) {
        self.review(author, "CHANGES_REQUESTED");
    }

    /// Adds a timeline event of any name, known to GitHub's description or not.
    pub fn event(&self, name: &str, actor: &str, extra: Value) {
        self.repo.world.user(actor);
        self.repo.state().event(&self.repo.name, self.number, name, actor, extra);
    }

    pub fn close(&self, who: &str) {
        let at = self.repo.state().happens();
        self.change(|thread| {
            thread.open = false;
            thread.closed = Some(at);
        });
        self.event("closed", who, json!({}));
    }

    /// GitHub takes it away altogether, as it does with what spammers opened.
    pub fn vanish(self) {
        let mut state = self.repo.state();
        state.repo_mut(&self.repo.name).threads.remove(&self.number);
    }

    pub fn reopen(&self, who: &str) {
        self.change(|thread| {
            thread.open = true;
            thread.closed = None;
        });
        self.event("reopened", who, json!({}));
    }

    /// Somebody merges it on the web, whatever protects the base; answers the merge commit.
    pub fn merge(&self, who: &str) -> String {
        self.lands(who, &Landing { method: "merge", ..Landing::default() })
    }

    /// The same by `merge`, `squash` or `rebase`.
    pub fn merge_by(&self, who: &str, method: &str) -> String {
        self.lands(who, &Landing { method, ..Landing::default() })
    }

    /// The same, but its tree is made over an older commit of the base, so that what landed since is dropped.
    pub fn merge_over(&self, who: &str, method: &str, older: &str) -> String {
        self.lands(who, &Landing { method, over: Some(older), ..Landing::default() })
    }

    fn lands(&self, who: &str, how: &Landing<'_>) -> String {
        self.repo.world.user(who);
        let landed = land(&mut self.repo.state(), &self.repo.name, self.number, who, how);
        landed.unwrap_or_else(|| panic!("#{} does not merge cleanly", self.number))
    }

    /// GitHub counts it as merged by this commit, which somebody pushed.
    pub fn merged_as(&self, who: &str, commit: &str) {
        self.repo.world.user(who);
        let mut state = self.repo.state();
        let at = state.happens();
        let base = state.repo(&self.repo.name).default_branch.clone();
        let base_before = state.repo(&self.repo.name).bare.branch(&base).unwrap_or_default().to_owned();
        let landed = Landed { sha: commit.to_owned(), by: who.to_owned(), at, base_before };
        closes(&mut state, &self.repo.name, self.number, landed);
    }
}
