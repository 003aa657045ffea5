//! A commit with anything in it.

use super::RepoVerbs;
use crate::bare::{Edit, Planned};

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

impl<'w> CommitVerbs<'w> {
    pub(super) fn of(repo: &RepoVerbs<'w>, branch: &str, message: &str) -> Self {
        let author = repo.name.split('/').next().unwrap_or_default().to_owned();
        let (branch, message) = (branch.to_owned(), message.to_owned());
        Self { repo: repo.clone(), branch, message, from: None, author, edits: Vec::new() }
    }

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
        let sha = repo.bare.commit(Planned {
            branch: self.branch.clone(),
            parent,
            message: self.message.clone(),
            who,
            edits: self.edits.clone(),
            kept: None,
        });
        state.settle(&self.repo.name, &self.author);
        sha
    }
}
