//! A check that reports, attempt by attempt.

use super::RepoVerbs;
use crate::state::Check;

/// A check about to report.
pub struct CheckVerbs<'w> {
    repo: RepoVerbs<'w>,
    sha: String,
    name: String,
    app: String,
    workflow: String,
    event: String,
    log: Option<String>,
    summary: Option<String>,
}

impl<'w> CheckVerbs<'w> {
    pub(super) fn of(repo: &RepoVerbs<'w>, head: &str, name: &str) -> Self {
        Self {
            repo: repo.clone(),
            sha: head.to_owned(),
            name: name.to_owned(),
            app: "github-actions".to_owned(),
            workflow: "CI".to_owned(),
            event: "pull_request".to_owned(),
            log: None,
            summary: None,
        }
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

    /// Runs of one workflow that different events started are different runs.
    pub fn on(mut self, event: &str) -> Self {
        event.clone_into(&mut self.event);
        self
    }

    /// What the job printed.
    pub fn printing(mut self, log: &str) -> Self {
        self.log = Some(log.to_owned());
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
        let at = state.happens();
        let of = [&self.sha, &self.app, &self.workflow, &self.event].map(String::as_str);
        let suite = state.suite_of(&self.repo.name, of, at);
        let fresh = state.fresh_id();
        let repo = state.repo_mut(&self.repo.name);
        let mine = |check: &&mut Check| check.suite == suite && check.name == self.name;
        let newest = repo.checks.iter_mut().rev().find(mine);
        let next = newest.as_ref().map_or(1, |check| check.attempt + 1);
        let check = match newest.filter(|check| check.conclusion.is_none()) {
            Some(check) => check,
            None => {
                let found = repo.suites.iter_mut().find(|one| one.id == suite);
                let found = found.expect("BUG: the suite was just looked up");
                let first = !repo.checks.iter().any(|check| check.suite == suite && check.name == self.name);
                let attempt = if first { found.attempt } else { next };
                found.attempt = found.attempt.max(attempt);
                repo.checks.push(Check::queued(fresh, suite, &self.name, &self.app, &self.sha, attempt));
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
        check.log = self.log.or(check.log.take());
        check.id
    }
}
