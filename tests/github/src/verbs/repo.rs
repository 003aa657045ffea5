//! One repository, as its people act in it.

use std::path::PathBuf;
use std::sync::MutexGuard;

use super::{CheckVerbs, CommitVerbs, PullVerbs, RunVerbs};
use crate::bare::{Bare, Edit, Planned};
use crate::happening::{self, Opening};
use crate::state::{Protection, Repo, Role, State, Status};
use crate::world::World;

/// One repository of the world, as its people act in it.
#[derive(Clone)]
pub struct RepoVerbs<'w> {
    pub(super) world: &'w World,
    pub(super) name: String,
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
            let who = state.signature(&owner, at);
            bare.commit(Planned {
                branch: default_branch.clone(),
                parent: None,
                message: "chore: first commit".to_owned(),
                who,
                edits: vec![readme],
                kept: None,
            });
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

    pub(super) fn state(&self) -> MutexGuard<'w, State> {
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

    /// Takes the rule of a branch away.
    pub fn unprotect(&self, branch: &str) {
        self.change(|repo| repo.protections.remove(branch));
        self.state().repo(&self.name).guard_pushes();
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
        CommitVerbs::of(self, branch, message)
    }

    /// From now on this is the default branch. One that does not exist is none.
    pub fn makes_default(&self, branch: &str) {
        self.change(|repo| repo.default_branch = branch.to_owned());
    }

    pub fn delete_branch(&self, branch: &str) {
        self.change(|repo| {
            repo.bare.drop_branch(branch);
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
            kept: false,
        };
        let number = happening::open_pull(&mut self.state(), &self.name, opening);
        self.pull(number)
    }

    /// Opens many pull requests at once, each with one new file on a branch of its own: `many/1`, `many/2`, …
    pub fn open_pulls(&self, author: &str, count: u64) -> Vec<PullVerbs<'w>> {
        self.world.user(author);
        let mut state = self.state();
        let at = state.happens();
        let who = state.signature(author, at);
        let repo = state.repo_mut(&self.name);
        let base = repo.default_branch.clone();
        let parent = repo.bare.branch(&base).map(str::to_owned);
        let first = repo.threads.keys().next_back().map_or(1, |last| last + 1);
        let plan = |number: u64| Planned {
            branch: format!("many/{number}"),
            parent: parent.clone(),
            message: format!("feat: change {number}"),
            who: who.clone(),
            edits: vec![Edit::Write {
                path: format!("many/{number}.txt"),
                mode: "100644",
                content: format!("{number}\n").into_bytes(),
            }],
            kept: Some(format!("refs/pull/{number}/head")),
        };
        repo.bare.commits(&(first..first + count).map(plan).collect::<Vec<_>>());
        repo.pushed = at;
        for number in first..first + count {
            let opening = Opening {
                author: author.to_owned(),
                head_repo: self.name.clone(),
                head: format!("many/{number}"),
                base: base.clone(),
                title: format!("feat: change {number}"),
                body: String::new(),
                draft: false,
                kept: true,
            };
            happening::open_pull(&mut state, &self.name, opening);
        }
        drop(state);
        (first..first + count).map(|number| self.pull(number)).collect()
    }

    /// Whether there is an issue or pull request of this number.
    pub fn has(&self, number: u64) -> bool {
        self.state().repo(&self.name).thread(number).is_some()
    }

    pub fn pull(&self, number: u64) -> PullVerbs<'w> {
        PullVerbs::of(self, number)
    }

    pub fn open_issue(&self, author: &str, title: &str, body: &str) -> PullVerbs<'w> {
        self.world.user(author);
        let number = happening::open_issue(&mut self.state(), &self.name, author, title, body);
        self.pull(number)
    }

    /// A check of this name at a commit, by GitHub Actions unless `.app(..)` says otherwise.
    pub fn check(&self, head: &str, name: &str) -> CheckVerbs<'w> {
        CheckVerbs::of(self, head, name)
    }

    /// The workflow run of this number, as the jobs that were reported made it.
    pub fn run(&self, id: u64) -> RunVerbs<'w> {
        RunVerbs::of(self, id)
    }

    /// The numbers of the workflow runs at a head, oldest first.
    pub fn runs_at(&self, head: &str) -> Vec<u64> {
        let state = self.state();
        let runs = state.repo(&self.name).suites.iter().filter(|suite| suite.is_run() && suite.sha == head);
        runs.map(|suite| suite.run).collect()
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
