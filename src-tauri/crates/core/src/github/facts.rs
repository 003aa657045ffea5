//! The facts that gates need of GitHub: each known as of a time, or why it is not.

use chrono::{DateTime, Utc};
use steward_rules::ids::{PullNumber, RepoName, Sha};
use steward_rules::reading::Reading;
use steward_rules::review::facts::{CheckFacts, PullFacts, Pushed};

use super::convert;
use super::error::GitHubError;
use super::reader::Reader;
use super::types::{ChangedFile, Commit, Pull};

/// One pull request, as a listing gives it.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenPull {
    pub facts: PullFacts,
    pub node_id: String,
    pub head_branch: String,
    /// `owner/name` of where it comes from; `None` when that was deleted.
    pub head_repo: Option<String>,
    pub labels: Vec<String>,
}

/// The fact, or the cause as gates show it.
fn reading<T>(answer: Result<T, GitHubError>) -> Reading<T> {
    answer.map_err(|error| error.why()).into()
}

impl Reader {
    /// One pull request.
    pub async fn pull_facts(&self, repo: &RepoName, number: PullNumber) -> Reading<PullFacts> {
        let read = async {
            let pull = self.pull(repo, number).await?.value;
            convert::pull(&pull, self.now())
        };
        reading(read.await)
    }

    /// All open pull requests, or none of them.
    pub async fn open_pull_facts(&self, repo: &RepoName) -> Reading<Vec<OpenPull>> {
        let read = async {
            let pulls = self.open_pulls(repo).await?;
            let now = self.now();
            pulls.iter().map(|pull| open(pull, now)).collect()
        };
        reading(read.await)
    }

    /// The pull request of a branch of this repository: the newest open one, else the newest.
    pub async fn pull_of_branch(&self, repo: &RepoName, branch: &str) -> Reading<Option<OpenPull>> {
        let read = async {
            let mut pulls = self.pulls_of_head(repo, branch).await?;
            // GitHub lists every pull request when it does not understand whose head is meant.
            pulls.retain(|pull| {
                let home = pull.head.repo.as_ref().and_then(|home| RepoName::parse(&home.full_name));
                pull.head.branch == branch && home.as_ref() == Some(repo)
            });
            let newest = pulls.iter().max_by_key(|pull| (pull.state == "open", pull.number));
            newest.map(|pull| open(pull, self.now())).transpose()
        };
        reading(read.await)
    }

    /// The commits of one pull request, oldest first.
    pub async fn pull_commit_ids(&self, repo: &RepoName, number: PullNumber) -> Reading<Vec<Sha>> {
        let read = async {
            let pull = self.pull(repo, number).await?.value;
            let commits: Vec<Commit> = self.pull_commits(repo, &pull).await?;
            if commits.last().is_some_and(|last| last.sha != pull.head.sha) {
                return Err(GitHubError::Truncated("the head moved while its commits were read".to_owned()));
            }
            Ok(commits.into_iter().map(|commit| commit.sha).collect())
        };
        reading(read.await)
    }

    /// The changed files of one pull request with their modes on both sides.
    pub async fn pull_files_with_modes(
        &self,
        repo: &RepoName,
        number: PullNumber,
        merge_base: &Sha,
    ) -> Reading<Vec<ChangedFile>> {
        let read = async {
            let pull = self.pull(repo, number).await?.value;
            let files = self.pull_files(repo, &pull).await?;
            let (base, head) = (self.tree(repo, merge_base).await?, self.tree(repo, &pull.head.sha).await?);
            convert::with_modes(&files, &base, &head)
        };
        reading(read.await)
    }

    /// Check runs of every attempt, and every status, at one head.
    pub async fn check_facts(
        &self,
        repo: &RepoName,
        head: &Sha,
        head_seen_at: DateTime<Utc>,
    ) -> Reading<CheckFacts> {
        let read = async {
            let runs = self.check_runs(repo, head).await?;
            let statuses = self.statuses(repo, head).await?;
            convert::checks(&runs, &statuses, head, head_seen_at, self.now())
        };
        reading(read.await)
    }

    /// The tip of a branch; `Known(None)` when GitHub says that there is no such branch.
    pub async fn branch_tip(&self, repo: &RepoName, branch: &str) -> Reading<Option<Sha>> {
        let read = async {
            match self.branch(repo, branch).await {
                Ok(branch) => Ok(Some(branch.value.commit.sha)),
                // The same status stands for a repository the token may not see.
                Err(GitHubError::NotFound) => self.repo(repo).await.map(|_| None),
                Err(error) => Err(error),
            }
        };
        reading(read.await)
    }

    /// Whether the branch on GitHub holds the head.
    pub async fn pushed(&self, repo: &RepoName, branch: &str, head: &Sha) -> Reading<Pushed> {
        self.branch_tip(repo, branch).await.map(|tip| match tip {
            Some(tip) if tip == *head => Pushed::Yes,
            remote => Pushed::No { remote },
        })
    }
}

fn open(pull: &Pull, now: DateTime<Utc>) -> Result<OpenPull, GitHubError> {
    Ok(OpenPull {
        facts: convert::pull(pull, now)?,
        node_id: pull.node_id.clone(),
        head_branch: pull.head.branch.clone(),
        head_repo: pull.head.repo.as_ref().map(|repo| repo.full_name.clone()),
        labels: pull.labels.iter().map(|label| label.name.clone()).collect(),
    })
}
