//! What can be read of GitHub. Nothing here writes, and nothing here can be made to.

mod engine;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use chrono::{DateTime, Utc};
use http::HeaderMap;
use serde::Serialize;
use serde::de::DeserializeOwned;
use steward_rules::ids::{PullNumber, RepoName, Sha};

pub use engine::{TextEdit, TextEdits};

use super::address::{encode, encode_path};
use super::budget;
use super::error::GitHubError;
use super::graphql::{OfIds, Query};
use super::page::{List, Listed, Moving, Open, array};
use super::types::{
    Branch, ChangedFile, CheckRun, CheckRuns, Comment, Commit, Comparison, Event, Issue, Label, Pull, Repo,
    RunAttempt, Status, TokenUser, Tree, User,
};
use super::wire::{Wire, parse};

/// GitHub lists no more commits of a pull request, whatever it says.
pub const MAX_PULL_COMMITS: u64 = 250;
/// GitHub lists no more files of a pull request.
pub const MAX_PULL_FILES: u64 = 3000;
/// GitHub lists no more files of a comparison, and does not say so.
pub const MAX_COMPARE_FILES: usize = 300;

/// One thing that was read, and where it has moved when it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer<T> {
    pub value: T,
    /// The address a permanent redirect led to: the repository has another name now.
    pub moved_to: Option<String>,
    /// GitHub's time when it answered or confirmed what was kept; ours when it does not tell.
    pub at: DateTime<Utc>,
}

/// Reads GitHub as one account.
#[derive(Clone)]
pub struct Reader {
    wire: Arc<Wire>,
}

impl Reader {
    pub(super) fn new(wire: Arc<Wire>) -> Self {
        Self { wire }
    }

    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.wire.store.clock().now()
    }

    /// Until when this account is left alone since Steward's share of the hour is used (60 %), whoever
    /// used it. Work that nobody waits for asks this first.
    pub fn reserved(&self) -> Option<DateTime<Utc>> {
        self.wire.budget.reserved(self.wire.login())
    }

    /// Whose token this is, and which scopes it has.
    pub async fn whoami(&self) -> Result<TokenUser, GitHubError> {
        let got = self.wire.get(&format!("{}/user", self.wire.address.rest())).await?;
        let user: User = parse(&got.body)?;
        Ok(TokenUser { user, scopes: scopes(&got.headers), expires_at: expiry(&got.headers) })
    }

    /// A repository; `full_name` is what it is called now.
    pub async fn repo(&self, repo: &RepoName) -> Result<Answer<Repo>, GitHubError> {
        self.one(&at(repo)).await
    }

    /// The repositories the token's user can see, newest push first.
    pub async fn own_repos(&self) -> Result<Vec<Repo>, GitHubError> {
        self.list("/user/repos".to_owned(), &[("sort", "pushed")], array, Moving::Appends).await
    }

    pub async fn pull(&self, repo: &RepoName, number: PullNumber) -> Result<Answer<Pull>, GitHubError> {
        self.one(&format!("{}/pulls/{number}", at(repo))).await
    }

    /// Every open pull request.
    pub async fn open_pulls(&self, repo: &RepoName) -> Result<Vec<Pull>, GitHubError> {
        let query = [("state", "open"), ("sort", "created"), ("direction", "asc")];
        self.list(format!("{}/pulls", at(repo)), &query, array, Moving::Leaves).await
    }

    /// Every pull request of a branch of this repository, open or not, newest first.
    pub async fn pulls_of_head(&self, repo: &RepoName, branch: &str) -> Result<Vec<Pull>, GitHubError> {
        let head = format!("{}:{branch}", repo.owner);
        let query = [("state", "all"), ("head", head.as_str()), ("sort", "created"), ("direction", "desc")];
        self.list(format!("{}/pulls", at(repo)), &query, array, Moving::Leaves).await
    }

    /// Every commit of a pull request, oldest first.
    pub async fn pull_commits(&self, repo: &RepoName, pull: &Pull) -> Result<Vec<Commit>, GitHubError> {
        let path = format!("{}/pulls/{}/commits", at(repo), pull.number);
        counted(pull.commits, MAX_PULL_COMMITS, self.list(path, &[], array, Moving::Leaves)).await
    }

    /// Every changed file of a pull request, without modes.
    pub async fn pull_files(&self, repo: &RepoName, pull: &Pull) -> Result<Vec<ChangedFile>, GitHubError> {
        let path = format!("{}/pulls/{}/files", at(repo), pull.number);
        counted(pull.changed_files, MAX_PULL_FILES, self.list(path, &[], array, Moving::Leaves)).await
    }

    /// Every check run of a commit, of every attempt.
    pub async fn check_runs(&self, repo: &RepoName, sha: &Sha) -> Result<Vec<CheckRun>, GitHubError> {
        let open: Open<CheckRun> = |body| {
            let page: CheckRuns = parse(body)?;
            Ok((page.check_runs, Some(page.total_count)))
        };
        let path = format!("{}/commits/{sha}/check-runs", at(repo));
        self.list(path, &[("filter", "all")], open, Moving::Leaves).await
    }

    /// Every commit status of a commit, newest first.
    pub async fn statuses(&self, repo: &RepoName, sha: &Sha) -> Result<Vec<Status>, GitHubError> {
        self.list(format!("{}/commits/{sha}/statuses", at(repo)), &[], array, Moving::Leaves).await
    }

    pub async fn branch(&self, repo: &RepoName, branch: &str) -> Result<Answer<Branch>, GitHubError> {
        self.one(&format!("{}/branches/{}", at(repo), encode_path(branch))).await
    }

    pub async fn branches(&self, repo: &RepoName) -> Result<Vec<Branch>, GitHubError> {
        self.list(format!("{}/branches", at(repo)), &[], array, Moving::Leaves).await
    }

    pub async fn commit(&self, repo: &RepoName, sha: &Sha) -> Result<Answer<Commit>, GitHubError> {
        self.one(&format!("{}/commits/{sha}", at(repo))).await
    }

    /// How `head` stands to `base`. Its lists are cut: [`Comparison::whole_files`] knows whether.
    pub async fn compare(&self, repo: &RepoName, base: &str, head: &str) -> Result<Comparison, GitHubError> {
        let path = format!("{}/compare/{}...{}", at(repo), encode_path(base), encode_path(head));
        Ok(self.one(&path).await?.value)
    }

    /// Every entry of a tree, also below its folders.
    pub async fn tree(&self, repo: &RepoName, tree: &Sha) -> Result<Tree, GitHubError> {
        let tree: Tree = self.one(&format!("{}/git/trees/{tree}?recursive=1", at(repo))).await?.value;
        if tree.truncated {
            return Err(GitHubError::Truncated("the tree is too large for one answer".to_owned()));
        }
        Ok(tree)
    }

    /// Every open issue; pull requests are in the list, marked by `pull_request`.
    pub async fn open_issues(&self, repo: &RepoName) -> Result<Vec<Issue>, GitHubError> {
        let query = [("state", "open"), ("sort", "created"), ("direction", "asc")];
        self.list(format!("{}/issues", at(repo)), &query, array, Moving::Leaves).await
    }

    pub async fn issue(&self, repo: &RepoName, number: i64) -> Result<Answer<Issue>, GitHubError> {
        self.one(&format!("{}/issues/{number}", at(repo))).await
    }

    /// How far a workflow run was run.
    pub async fn run_attempt(&self, repo: &RepoName, run: u64) -> Result<RunAttempt, GitHubError> {
        Ok(self.one(&format!("{}/actions/runs/{run}", at(repo))).await?.value)
    }

    /// Every comment below an issue or pull request, oldest first.
    pub async fn comments(&self, repo: &RepoName, number: i64) -> Result<Vec<Comment>, GitHubError> {
        self.list(format!("{}/issues/{number}/comments", at(repo)), &[], array, Moving::Leaves).await
    }

    /// Every event of an issue or pull request, oldest first.
    pub async fn timeline(&self, repo: &RepoName, number: i64) -> Result<Vec<Event>, GitHubError> {
        self.list(format!("{}/issues/{number}/timeline", at(repo)), &[], array, Moving::Leaves).await
    }

    /// Every label of a repository.
    pub async fn labels(&self, repo: &RepoName) -> Result<Vec<Label>, GitHubError> {
        self.list(format!("{}/labels", at(repo)), &[], array, Moving::Leaves).await
    }

    /// Asks a GraphQL query; an answer in parts is none.
    pub async fn query<T, V>(&self, query: Query, variables: &V) -> Result<T, GitHubError>
    where
        T: DeserializeOwned,
        V: Serialize,
    {
        self.wire.ask(query, variables).await
    }

    /// How many nodes GitHub answers at once, as far as was seen.
    pub(super) fn page(&self) -> usize {
        self.wire.page.load(Ordering::Relaxed)
    }

    /// Remembers that larger pages were too heavy.
    pub(super) fn keep_page(&self, size: usize) {
        self.wire.page.fetch_min(size, Ordering::Relaxed);
    }

    /// Asks a GraphQL query over ids; those that GitHub does not have are told apart.
    pub(super) async fn query_ids<T, V>(&self, query: Query, variables: &V) -> Result<OfIds<T>, GitHubError>
    where
        T: DeserializeOwned,
        V: Serialize,
    {
        self.wire.ask_ids(query, variables).await
    }

    async fn one<T: DeserializeOwned>(&self, path: &str) -> Result<Answer<T>, GitHubError> {
        let got = self.wire.get(&format!("{}{path}", self.wire.address.rest())).await?;
        let at = budget::theirs(&got.headers, self.now());
        Ok(Answer { value: parse(&got.body)?, moved_to: got.moved_to, at })
    }

    async fn list<T: Listed>(
        &self,
        path: String,
        query: &[(&str, &str)],
        open: Open<T>,
        moving: Moving,
    ) -> Result<Vec<T>, GitHubError> {
        self.wire.list(&List { path, query, open, moving }).await
    }
}

impl Comparison {
    /// The changed files, unless there may be more than were listed.
    pub fn whole_files(&self) -> Result<&[ChangedFile], GitHubError> {
        if self.files.len() >= MAX_COMPARE_FILES {
            return Err(GitHubError::TooLarge(MAX_COMPARE_FILES));
        }
        Ok(&self.files)
    }
}

/// A list of a pull request, held against the count it gives itself and GitHub's own cap.
async fn counted<T>(
    count: Option<u64>,
    cap: u64,
    list: impl Future<Output = Result<Vec<T>, GitHubError>>,
) -> Result<Vec<T>, GitHubError> {
    let Some(count) = count else {
        return Err(GitHubError::Malformed(
            "the pull request was not read alone, so its length is not known".to_owned(),
        ));
    };
    if count > cap {
        return Err(GitHubError::TooLarge(cap as usize));
    }
    let found = list.await?;
    if found.len() as u64 != count || found.len() as u64 >= cap {
        return Err(GitHubError::Truncated(format!("{} of {count} entries came", found.len())));
    }
    Ok(found)
}

fn at(repo: &RepoName) -> String {
    format!("/repos/{}/{}", encode(&repo.owner), encode(&repo.name))
}

/// The scopes of a classic token; a fine-grained one sends no such header, or an empty one.
fn scopes(headers: &HeaderMap) -> Option<Vec<String>> {
    let text = budget::text(headers, "x-oauth-scopes")?;
    let list: Vec<String> =
        text.split(',').map(str::trim).filter(|s| !s.is_empty()).map(str::to_owned).collect();
    Some(list)
}

/// GitHub writes `2026-12-29 09:53:54 UTC`, or with an offset in place of the word.
fn expiry(headers: &HeaderMap) -> Option<DateTime<Utc>> {
    let text = budget::text(headers, "github-authentication-token-expiration")?;
    let text = text.trim().replace(" UTC", " +0000");
    DateTime::parse_from_str(&text, "%Y-%m-%d %H:%M:%S %z").ok().map(|at| at.to_utc())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        [(http::HeaderName::from_static(name), value.parse().unwrap())].into_iter().collect()
    }

    #[test]
    fn scopes_are_told_from_a_token_that_tells_none() {
        let read = |value| scopes(&headers("x-oauth-scopes", value));
        assert_eq!(
            read("repo, gist , read:org"),
            Some(vec!["repo".into(), "gist".into(), "read:org".into()])
        );
        assert_eq!(read(""), Some(vec![]));
        assert_eq!(scopes(&HeaderMap::new()), None);
    }

    #[test]
    fn the_end_of_a_token_is_read_in_both_forms() {
        let read = |value| expiry(&headers("github-authentication-token-expiration", value));
        let at: DateTime<Utc> = "2026-12-29T09:53:54Z".parse().unwrap();
        assert_eq!(read("2026-12-29 09:53:54 UTC"), Some(at));
        assert_eq!(read("2026-12-29 10:53:54 +0100"), Some(at));
        assert_eq!(read("never"), None);
    }
}
