//! What the engine reads beside the rest: runs and their jobs, reviews, rights, protection, merged pulls.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use steward_rules::ids::{PullNumber, RepoName, Sha};

use super::{Answer, Reader, at};
use crate::github::address::{encode, encode_path};
use crate::github::error::GitHubError;
use crate::github::graphql::Query;
use crate::github::page::{Moving, Open, array};
use crate::github::types::{
    Job, Jobs, Permission, Protection, Pull, Review, Rule, User, WorkflowRun, WorkflowRuns,
};
use crate::github::wire::log::Tail;
use crate::github::wire::parse;

/// Pages of closed pull requests that are looked through for merged ones.
const MERGED_PAGES: u32 = 5;

const EDITS: Query = Query::new(
    "query IssueEdits($owner: String!, $name: String!, $number: Int!) {
       repository(owner: $owner, name: $name) {
         issue(number: $number) {
           userContentEdits(first: 100) {
             totalCount
             nodes { editedAt editor { __typename login ... on User { databaseId } ... on Bot { databaseId } } }
           }
         }
       }
     }",
);

/// One edit of an issue's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextEdit {
    /// `None` for a deleted account.
    pub by: Option<User>,
    pub at: DateTime<Utc>,
}

/// The edits of an issue's text, and whether these are all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextEdits {
    pub edits: Vec<TextEdit>,
    pub complete: bool,
}

impl Reader {
    /// Every review of a pull request, oldest first.
    pub async fn reviews(&self, repo: &RepoName, number: PullNumber) -> Result<Vec<Review>, GitHubError> {
        self.list(format!("{}/pulls/{number}/reviews", at(repo)), &[], array, Moving::Leaves).await
    }

    /// What somebody may do in a repository. The token must be able to push to be told.
    pub async fn permission(&self, repo: &RepoName, login: &str) -> Result<Answer<Permission>, GitHubError> {
        self.one(&format!("{}/collaborators/{}/permission", at(repo), encode(login))).await
    }

    /// Every workflow run of a commit, newest first.
    pub async fn workflow_runs(&self, repo: &RepoName, sha: &Sha) -> Result<Vec<WorkflowRun>, GitHubError> {
        let path = format!("{}/actions/runs", at(repo));
        self.list(path, &[("head_sha", sha.as_str())], RUNS, Moving::Leaves).await
    }

    /// Every run of one workflow, named by its file, for a branch since a time; newest first.
    pub async fn workflow_runs_of_branch(
        &self,
        repo: &RepoName,
        file: &str,
        branch: &str,
        since: DateTime<Utc>,
    ) -> Result<Vec<WorkflowRun>, GitHubError> {
        let path = format!("{}/actions/workflows/{}/runs", at(repo), encode(file));
        let since = format!(">={}", since.format("%Y-%m-%dT%H:%M:%SZ"));
        self.list(path, &[("branch", branch), ("created", &since)], RUNS, Moving::Leaves).await
    }

    pub async fn workflow_run(&self, repo: &RepoName, id: u64) -> Result<Answer<WorkflowRun>, GitHubError> {
        self.one(&format!("{}/actions/runs/{id}", at(repo))).await
    }

    /// The jobs of a run's newest attempt.
    pub async fn jobs(&self, repo: &RepoName, run: u64) -> Result<Vec<Job>, GitHubError> {
        let open: Open<Job> = |body| {
            let page: Jobs = parse(body)?;
            Ok((page.jobs, Some(page.total_count)))
        };
        let path = format!("{}/actions/runs/{run}/jobs", at(repo));
        self.list(path, &[("filter", "latest")], open, Moving::Leaves).await
    }

    /// The end of what a job printed, at most `keep` bytes. It lies on another host, which gets no token.
    pub async fn job_log(&self, repo: &RepoName, job: u64, keep: usize) -> Result<Tail, GitHubError> {
        let url = format!("{}{}/actions/jobs/{job}/logs", self.wire.address.rest(), at(repo));
        self.wire.tail(&url, keep).await
    }

    /// The classic protection of a branch; an administrator alone is told.
    pub async fn protection(&self, repo: &RepoName, branch: &str) -> Result<Protection, GitHubError> {
        let path = format!("{}/branches/{}/protection", at(repo), encode_path(branch));
        Ok(self.one(&path).await?.value)
    }

    /// Every rule of the rulesets in force on a branch.
    pub async fn rules(&self, repo: &RepoName, branch: &str) -> Result<Vec<Rule>, GitHubError> {
        let path = format!("{}/rules/branches/{}", at(repo), encode_path(branch));
        self.list(path, &[], array, Moving::Leaves).await
    }

    /// The pull requests that merged into a branch last, at most so many, newest first. Those that nobody
    /// touched for long may be missing.
    pub async fn merged_pulls(
        &self,
        repo: &RepoName,
        base: &str,
        most: usize,
    ) -> Result<Vec<Pull>, GitHubError> {
        let mut found: Vec<Pull> = Vec::new();
        for page in 1..=MERGED_PAGES {
            let query = "state=closed&sort=updated&direction=desc&per_page=50";
            let path = format!("{}/pulls?{query}&base={}&page={page}", at(repo), encode(base));
            let pulls: Vec<Pull> = self.one(&path).await?.value;
            let is_last = pulls.len() < 50;
            for pull in pulls.into_iter().filter(|pull| pull.merged_at.is_some()) {
                if found.iter().all(|known| known.id != pull.id) {
                    found.push(pull);
                }
            }
            if is_last || found.len() >= most {
                break;
            }
        }
        found.sort_by_key(|pull| std::cmp::Reverse((pull.merged_at, pull.number)));
        found.truncate(most);
        Ok(found)
    }

    /// Who edited the text of an issue, and when. Only GraphQL tells, so each reading costs a point.
    pub async fn issue_edits(&self, repo: &RepoName, number: i64) -> Result<TextEdits, GitHubError> {
        #[derive(Serialize)]
        struct Asked<'a> {
            owner: &'a str,
            name: &'a str,
            number: i64,
        }
        let asked = Asked { owner: &repo.owner, name: &repo.name, number };
        let data: EditsData = self.query(EDITS, &asked).await?;
        let found = data.repository.and_then(|of| of.issue).ok_or(GitHubError::NotFound)?;
        // GitHub says null where nothing was ever edited.
        let Some(list) = found.user_content_edits else {
            return Ok(TextEdits { edits: Vec::new(), complete: true });
        };
        let edits: Vec<TextEdit> = list
            .nodes
            .into_iter()
            .flatten()
            .map(|edit| TextEdit { by: edit.editor.and_then(Editor::user), at: edit.edited_at })
            .collect();
        Ok(TextEdits { complete: edits.len() as u64 == list.total_count, edits })
    }
}

const RUNS: Open<WorkflowRun> = |body| {
    let page: WorkflowRuns = parse(body)?;
    Ok((page.workflow_runs, Some(page.total_count)))
};

#[derive(Deserialize)]
struct EditsData {
    repository: Option<EditsOf>,
}

#[derive(Deserialize)]
struct EditsOf {
    issue: Option<Edited>,
}

#[derive(Deserialize)]
struct Edited {
    /// Null where nothing was ever edited; not there at all, it is no answer.
    #[serde(rename = "userContentEdits", deserialize_with = "Option::deserialize")]
    user_content_edits: Option<EditList>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EditList {
    total_count: u64,
    #[serde(default, deserialize_with = "crate::github::types::or_default")]
    nodes: Vec<Option<EditNode>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EditNode {
    edited_at: DateTime<Utc>,
    editor: Option<Editor>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Editor {
    #[serde(rename = "__typename")]
    kind: String,
    login: String,
    database_id: Option<u64>,
}

impl Editor {
    /// An account without a number (an organisation, a mannequin) is nobody we could compare.
    fn user(self) -> Option<User> {
        Some(User { id: self.database_id?, login: self.login, kind: self.kind })
    }
}
