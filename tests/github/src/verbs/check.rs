//! A check that reports, attempt by attempt.

use super::RepoVerbs;
use crate::state::{Check, Suite};

/// A check about to report.
pub struct CheckVerbs<'w> {
    repo: RepoVerbs<'w>,
    sha: String,
    name: String,
    app: String,
    workflow: String,
    summary: Option<String>,
}

impl<'w> CheckVerbs<'w> {
    pub(super) fn of(repo: &RepoVerbs<'w>, head: &str, name: &str) -> Self {
        let (app, workflow) = ("github-actions".to_owned(), "CI".to_owned());
        Self { repo: repo.clone(), sha: head.to_owned(), name: name.to_owned(), app, workflow, summary: None }
    }

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
