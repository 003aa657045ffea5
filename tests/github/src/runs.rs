//! Workflow runs: each is the check suite of GitHub Actions for one workflow, one event and one head.

use crate::state::{Check, Moment, Repo, State, Suite};

impl Suite {
    /// Whether a workflow run stands behind it: other apps have none.
    pub(crate) fn is_run(&self) -> bool {
        self.app == "github-actions"
    }

    /// The workflow's file.
    pub(crate) fn file(&self) -> String {
        if self.workflow.starts_with(".github/") {
            return self.workflow.clone();
        }
        format!(".github/workflows/{}.yml", self.workflow.to_lowercase().replace(' ', "-"))
    }
}

impl Check {
    /// One that nobody has begun.
    pub(crate) fn queued(id: u64, suite: u64, name: &str, app: &str, sha: &str, attempt: u64) -> Self {
        Self {
            id,
            suite,
            name: name.to_owned(),
            app: app.to_owned(),
            sha: sha.to_owned(),
            status: "queued".to_owned(),
            conclusion: None,
            started: None,
            completed: None,
            summary: None,
            attempt,
            log: None,
        }
    }
}

impl Repo {
    /// The newest job of each name, as of an attempt; jobs that were not run again keep their old number.
    pub(crate) fn jobs_of(&self, suite: &Suite, attempt: Option<u64>) -> Vec<&Check> {
        let upto = attempt.unwrap_or(u64::MAX);
        let mut found: Vec<&Check> = Vec::new();
        for check in self.checks.iter().filter(|check| check.suite == suite.id && check.attempt <= upto) {
            found.retain(|other| other.name != check.name);
            found.push(check);
        }
        found
    }

    /// How an attempt stands: its status and, at its end, its conclusion.
    pub(crate) fn run_state(&self, suite: &Suite, attempt: u64) -> (&'static str, Option<String>) {
        let jobs = self.jobs_of(suite, Some(attempt));
        if jobs.iter().any(|job| job.conclusion.is_none()) {
            let begun = jobs.iter().any(|job| job.attempt == attempt && job.status != "queued");
            return (if begun { "in_progress" } else { "queued" }, None);
        }
        let any = |word: &str| jobs.iter().any(|job| job.conclusion.as_deref() == Some(word));
        let order = ["failure", "timed_out", "startup_failure", "action_required", "cancelled", "success"];
        let worst = order.into_iter().find(|word| any(word)).unwrap_or("skipped");
        ("completed", Some(worst.to_owned()))
    }
}

impl State {
    /// The suite of an app (and workflow, and event) at a head, made when it is not there.
    pub(crate) fn suite_of(&mut self, full: &str, [sha, app, workflow, event]: [&str; 4], at: Moment) -> u64 {
        let same = |suite: &&Suite| {
            suite.sha == sha && suite.app == app && suite.workflow == workflow && suite.event == event
        };
        if let Some(known) = self.repo(full).suites.iter().find(same) {
            return known.id;
        }
        let (id, run) = (self.fresh_id(), self.fresh_id());
        let repo = self.repo_mut(full);
        let of_pull = repo.threads.values().filter_map(|thread| thread.pull.as_ref());
        let branch = of_pull.filter(|pull| pull.head == sha).map(|pull| pull.head_ref.clone()).next();
        let branch = branch.or_else(|| {
            let tip = repo.bare.tips.iter().find(|(_, tip)| *tip == sha)?.0;
            tip.strip_prefix("refs/heads/").map(str::to_owned)
        });
        let asked_by = repo.owner().to_owned();
        repo.suites.push(Suite {
            id,
            run,
            app: app.to_owned(),
            workflow: workflow.to_owned(),
            event: event.to_owned(),
            sha: sha.to_owned(),
            branch,
            created: at,
            attempt: 1,
            asked_by,
            is_too_old: false,
        });
        id
    }
}
