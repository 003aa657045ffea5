//! One workflow run, as GitHub keeps it.

use super::RepoVerbs;
use crate::state::Suite;

/// One workflow run, as GitHub keeps it.
#[derive(Clone)]
pub struct RunVerbs<'w> {
    repo: RepoVerbs<'w>,
    id: u64,
}

impl<'w> RunVerbs<'w> {
    pub(super) fn of(repo: &RepoVerbs<'w>, id: u64) -> Self {
        Self { repo: repo.clone(), id }
    }

    fn change<T>(&self, change: impl FnOnce(&mut Suite) -> T) -> T {
        let mut state = self.repo.state();
        let repo = state.repo_mut(&self.repo.name);
        let found = repo.suites.iter_mut().find(|suite| suite.is_run() && suite.run == self.id);
        change(found.unwrap_or_else(|| panic!("{} has no workflow run {}", self.repo.name, self.id)))
    }

    pub fn id(&self) -> u64 {
        self.id
    }

    /// 1, and one more for each re-run.
    pub fn attempt(&self) -> u64 {
        self.change(|suite| suite.attempt)
    }

    /// Who asked for the newest attempt.
    pub fn asked_by(&self) -> String {
        self.change(|suite| suite.asked_by.clone())
    }

    /// It was created over a month ago: GitHub does not re-run it any more.
    pub fn too_old(self) -> Self {
        self.change(|suite| suite.is_too_old = true);
        self
    }

    /// GitHub deleted what its jobs printed.
    pub fn forget_logs(self) -> Self {
        let suite = self.change(|suite| suite.id);
        let mut state = self.repo.state();
        let jobs = state.repo_mut(&self.repo.name).checks.iter_mut().filter(|check| check.suite == suite);
        jobs.for_each(|job| job.log = None);
        drop(state);
        self
    }
}
