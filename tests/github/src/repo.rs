//! Verbs on one repository, so that a test reads aloud.

use std::path::PathBuf;
use std::sync::MutexGuard;

use serde_json::{Value, json};

use crate::bare::{Bare, Edit};
use crate::payload;
use crate::routes::land;
use crate::state::{Check, Protection, Repo, Review, Role, State, Status, Suite, Thread};
use crate::verbs::{self, Opening};
use crate::world::World;

/// One repository of the world, as its people act in it.
#[derive(Clone)]
pub struct RepoVerbs<'w> {
    world: &'w World,
    name: String,
}

fn make(state: &mut State, name: &str, fork_of: Option<&str>) {
    let (id, at) = (state.fresh_id(), state.happens());
    let parent = fork_of.map(|parent| (state.repo(parent).id, state.repo(parent).bare.path().to_path_buf()));
    let default_branch =
        fork_of.map_or("main".to_owned(), |parent| state.repo(parent).default_branch.clone());
    let mut bare = Bare::init(state.folder.join(format!("{id}.git")), &default_branch);
    match &parent {
        Some((_, path)) => {
            bare.must(&["fetch", "--quiet", &path.to_string_lossy(), "+refs/heads/*:refs/heads/*"]);
            bare.refresh();
        }
        None => {
            let owner = name.split('/').next().unwrap_or("octo").to_owned();
            let content = format!("# {name}\n").into_bytes();
            let readme = Edit::Write { path: "README.md".into(), mode: "100644", content };
            bare.commit(
                &default_branch,
                None,
                "chore: first commit",
                &state.signature(&owner, at),
                &[readme],
            );
        }
    }
    state.repos.push(Repo {
        id,
        name: name.to_owned(),
        private: false,
        archived: false,
        default_branch,
        bare,
        fork_of: parent.map(|(id, _)| id),
        roles: Default::default(),
        threads: Default::default(),
        checks: Vec::new(),
        suites: Vec::new(),
        statuses: Vec::new(),
        labels: Vec::new(),
        protections: Default::default(),
        refused_methods: Default::default(),
        settles_after: 0,
        created: at,
        pushed: at,
    });
}

impl<'w> RepoVerbs<'w> {
    pub(crate) fn of(world: &'w World, name: &str) -> Self {
        let owner = name.split_once('/').unwrap_or_else(|| panic!("{name} is not owner/name")).0;
        world.user(owner);
        if world.state().find(name).is_none() {
            make(&mut world.state(), name, None);
        }
        Self { world, name: name.to_owned() }
    }

    fn state(&self) -> MutexGuard<'w, State> {
        self.world.state()
    }

    fn change<T>(&self, change: impl FnOnce(&mut Repo) -> T) -> T {
        change(self.state().repo_mut(&self.name))
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The bare repository on disk, for asking git directly.
    pub fn path(&self) -> PathBuf {
        self.state().repo(&self.name).bare.path().to_path_buf()
    }

    pub fn private(self) -> Self {
        self.change(|repo| repo.private = true);
        self
    }

    pub fn archived(self) -> Self {
        self.change(|repo| repo.archived = true);
        self
    }

    /// Makes a fork under another owner and answers its verbs.
    pub fn fork(&self, owner: &str) -> Self {
        self.world.user(owner);
        let short = self.name.rsplit('/').next().unwrap_or_default();
        let name = format!("{owner}/{short}");
        make(&mut self.state(), &name, Some(&self.name));
        Self { world: self.world, name }
    }

    /// Deletes the repository: pulls that came from it show `head.repo: null`.
    pub fn delete(self) {
        let name = self.name.clone();
        self.state().repos.retain(|repo| repo.name != name);
    }

    /// Gives the repository another name; the old one answers 301.
    pub fn rename(self, to: &str) -> Self {
        let mut state = self.state();
        let repo = state.repo_mut(&self.name);
        let (old, id) = (std::mem::replace(&mut repo.name, to.to_owned()), repo.id);
        state.moved.insert(old, id);
        drop(state);
        Self { world: self.world, name: to.to_owned() }
    }

    pub fn collaborator(self, login: &str, role: Role) -> Self {
        self.world.user(login);
        self.change(|repo| repo.roles.insert(login.to_owned(), role));
        self
    }

    pub fn protect(self, branch: &str, rule: Protection) -> Self {
        self.change(|repo| repo.protections.insert(branch.to_owned(), rule));
        self.state().repo(&self.name).guard_pushes();
        self
    }

    /// Switches a way of merging off: `merge`, `squash` or `rebase`.
    pub fn refuse_method(self, method: &str) -> Self {
        self.change(|repo| repo.refused_methods.insert(method.to_owned()));
        self
    }

    /// After each push to a pull, `mergeable` is null for this many reads.
    pub fn settles_after(self, reads: u32) -> Self {
        self.change(|repo| repo.settles_after = reads);
        self
    }

    /// Where a branch stands.
    pub fn tip(&self, branch: &str) -> String {
        let state = self.state();
        let tip = state.repo(&self.name).bare.branch(branch).map(str::to_owned);
        tip.unwrap_or_else(|| panic!("{} has no branch {branch}", self.name))
    }

    /// Commits files on a branch (made off the default branch when new) and answers the commit.
    pub fn push(&self, branch: &str, message: &str, files: &[(&str, &str)]) -> String {
        files
            .iter()
            .fold(self.commit(branch, message), |commit, (path, text)| commit.write(path, text))
            .push()
    }

    /// A commit with more to it than text files.
    pub fn commit(&self, branch: &str, message: &str) -> CommitVerbs<'w> {
        CommitVerbs {
            repo: self.clone(),
            branch: branch.to_owned(),
            message: message.to_owned(),
            from: None,
            author: self.name.split('/').next().unwrap_or_default().to_owned(),
            edits: Vec::new(),
        }
    }

    pub fn delete_branch(&self, branch: &str) {
        self.change(|repo| {
            repo.bare.must(&["update-ref", "-d", &format!("refs/heads/{branch}")]);
            repo.bare.refresh();
        });
        let actor = self.name.split('/').next().unwrap_or_default().to_owned();
        self.state().settle(&self.name, &actor);
    }

    /// Opens a pull request of a branch against the default branch.
    pub fn open_pull(&self, author: &str, head: &str, title: &str) -> PullVerbs<'w> {
        let base = self.state().repo(&self.name).default_branch.clone();
        self.open_pull_from(author, &self.name, head, &base, title)
    }

    /// Opens a pull request of any repository's branch against any branch.
    pub fn open_pull_from(
        &self,
        author: &str,
        head_repo: &str,
        head: &str,
        base: &str,
        title: &str,
    ) -> PullVerbs<'w> {
        self.world.user(author);
        let opening = Opening {
            author: author.to_owned(),
            head_repo: head_repo.to_owned(),
            head: head.to_owned(),
            base: base.to_owned(),
            title: title.to_owned(),
            body: String::new(),
            draft: false,
        };
        let number = verbs::open_pull(&mut self.state(), &self.name, opening);
        self.pull(number)
    }

    pub fn pull(&self, number: u64) -> PullVerbs<'w> {
        PullVerbs { repo: self.clone(), number }
    }

    pub fn open_issue(&self, author: &str, title: &str, body: &str) -> PullVerbs<'w> {
        self.world.user(author);
        let number = verbs::open_issue(&mut self.state(), &self.name, author, title, body);
        self.pull(number)
    }

    /// A check of this name at a commit, by GitHub Actions unless `.app(..)` says otherwise.
    pub fn check(&self, head: &str, name: &str) -> CheckVerbs<'w> {
        let (app, workflow) = ("github-actions".to_owned(), "CI".to_owned());
        CheckVerbs {
            repo: self.clone(),
            sha: head.to_owned(),
            name: name.to_owned(),
            app,
            workflow,
            summary: None,
        }
    }

    /// Sets a commit status: `success`, `pending`, `failure` or `error`.
    pub fn status(&self, head: &str, context: &str, word: &str) -> &Self {
        let mut state = self.state();
        let (id, at) = (state.fresh_id(), state.happens());
        let creator = state.repo(&self.name).owner().to_owned();
        let (sha, context) = (head.to_owned(), context.to_owned());
        let status =
            Status { id, sha, context, state: word.to_owned(), description: String::new(), creator, at };
        state.repo_mut(&self.name).statuses.push(status);
        drop(state);
        self
    }
}

/// A commit being put together.
#[must_use = "a commit is made by `.push()`"]
pub struct CommitVerbs<'w> {
    repo: RepoVerbs<'w>,
    branch: String,
    message: String,
    from: Option<String>,
    author: String,
    edits: Vec<Edit>,
}

impl CommitVerbs<'_> {
    fn file(mut self, path: &str, mode: &'static str, content: &[u8]) -> Self {
        self.edits.push(Edit::Write { path: path.to_owned(), mode, content: content.to_vec() });
        self
    }

    pub fn write(self, path: &str, text: &str) -> Self {
        self.file(path, "100644", text.as_bytes())
    }

    pub fn bytes(self, path: &str, content: &[u8]) -> Self {
        self.file(path, "100644", content)
    }

    pub fn executable(self, path: &str, text: &str) -> Self {
        self.file(path, "100755", text.as_bytes())
    }

    pub fn symlink(self, path: &str, target: &str) -> Self {
        self.file(path, "120000", target.as_bytes())
    }

    pub fn submodule(mut self, path: &str, sha: &str) -> Self {
        self.edits.push(Edit::Submodule { path: path.to_owned(), sha: sha.to_owned() });
        self
    }

    pub fn remove(mut self, path: &str) -> Self {
        self.edits.push(Edit::Delete { path: path.to_owned() });
        self
    }

    pub fn by(mut self, login: &str) -> Self {
        self.repo.world.user(login);
        login.clone_into(&mut self.author);
        self
    }

    /// Starts from this commit or branch instead of the branch's tip: a force push when the branch is there.
    pub fn from(mut self, start: &str) -> Self {
        self.from = Some(start.to_owned());
        self
    }

    /// Makes the commit, moves the branch, and lets the world follow.
    pub fn push(self) -> String {
        let mut state = self.repo.state();
        let at = state.happens();
        let who = state.signature(&self.author, at);
        let repo = state.repo_mut(&self.repo.name);
        let start = self.from.clone().or_else(|| repo.bare.branch(&self.branch).map(str::to_owned));
        let start = start.unwrap_or_else(|| repo.default_branch.clone());
        let parent = repo.bare.resolve(&start);
        let sha = repo.bare.commit(&self.branch, parent.as_deref(), &self.message, &who, &self.edits);
        state.settle(&self.repo.name, &self.author);
        sha
    }
}

/// A check about to report.
pub struct CheckVerbs<'w> {
    repo: RepoVerbs<'w>,
    sha: String,
    name: String,
    app: String,
    workflow: String,
    summary: Option<String>,
}

impl CheckVerbs<'_> {
    pub fn app(mut self, slug: &str) -> Self {
        slug.clone_into(&mut self.app);
        self
    }

    /// Checks of one name in two workflows are two checks.
    pub fn workflow(mut self, name: &str) -> Self {
        name.clone_into(&mut self.workflow);
        self
    }

    pub fn saying(mut self, summary: &str) -> Self {
        self.summary = Some(summary.to_owned());
        self
    }

    pub fn queued(self) -> u64 {
        self.report("queued", None)
    }

    pub fn runs(self) -> u64 {
        self.report("in_progress", None)
    }

    pub fn succeeds(self) -> u64 {
        self.report("completed", Some("success"))
    }

    pub fn fails(self) -> u64 {
        self.report("completed", Some("failure"))
    }

    /// Ends in any word, known to GitHub's description or not.
    pub fn concludes(self, conclusion: &str) -> u64 {
        self.report("completed", Some(conclusion))
    }

    /// The newest attempt moves on while it runs; after its end another attempt begins.
    fn report(self, status: &str, conclusion: Option<&str>) -> u64 {
        let mut state = self.repo.state();
        let (fresh, suite_id, at) = (state.fresh_id(), state.fresh_id(), state.happens());
        let repo = state.repo_mut(&self.repo.name);
        let known = repo
            .suites
            .iter()
            .find(|suite| suite.sha == self.sha && suite.app == self.app && suite.workflow == self.workflow)
            .map(|suite| suite.id);
        let suite = known.unwrap_or_else(|| {
            let (app, workflow, sha) = (self.app.clone(), self.workflow.clone(), self.sha.clone());
            repo.suites.push(Suite { id: suite_id, app, workflow, sha, created: at });
            suite_id
        });
        let mine = |check: &&mut Check| check.suite == suite && check.name == self.name;
        let newest = repo.checks.iter_mut().rev().find(mine).filter(|check| check.conclusion.is_none());
        let check = match newest {
            Some(check) => check,
            None => {
                let (name, app, sha) = (self.name.clone(), self.app.clone(), self.sha.clone());
                let (status, conclusion) = (String::new(), None);
                let (started, completed, summary) = (None, None, None);
                repo.checks.push(Check {
                    id: fresh,
                    suite,
                    name,
                    app,
                    sha,
                    status,
                    conclusion,
                    started,
                    completed,
                    summary,
                });
                repo.checks.last_mut().expect("BUG: it was just pushed")
            }
        };
        status.clone_into(&mut check.status);
        check.conclusion = conclusion.map(str::to_owned);
        if status != "queued" {
            check.started.get_or_insert(at);
        }
        check.completed = conclusion.map(|_| at);
        check.summary = self.summary.or(check.summary.take());
        check.id
    }
}

/// One pull request or issue, as its people act in it.
#[derive(Clone)]
pub struct PullVerbs<'w> {
    repo: RepoVerbs<'w>,
    number: u64,
}

impl PullVerbs<'_> {
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
        verbs::put_label(&mut self.repo.state(), &self.repo.name, self.number, name, &owner);
        self
    }

    pub fn unlabel(self, name: &str) -> Self {
        let owner = self.repo.name.split('/').next().unwrap_or_default().to_owned();
        verbs::take_label(&mut self.repo.state(), &self.repo.name, self.number, name, &owner);
        self
    }

    /// Somebody comments; answers the comment's id.
    pub fn comment(&self, author: &str, text: &str) -> u64 {
        self.repo.world.user(author);
        verbs::add_comment(&mut self.repo.state(), &self.repo.name, self.number, author, text)
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

    pub fn reopen(&self, who: &str) {
        self.change(|thread| {
            thread.open = true;
            thread.closed = None;
        });
        self.event("reopened", who, json!({}));
    }

    /// Somebody merges it on the web, whatever protects the base; answers the merge commit.
    pub fn merge(&self, who: &str) -> String {
        self.repo.world.user(who);
        let landed = land(&mut self.repo.state(), &self.repo.name, self.number, who, "merge", (None, None));
        landed.unwrap_or_else(|| panic!("#{} does not merge cleanly", self.number))
    }
}
