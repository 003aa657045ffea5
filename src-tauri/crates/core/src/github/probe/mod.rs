//! The cheap look over many repositories at once, by GraphQL: what is known is asked by its node id, what
//! is new is found by a search, and details are read only of what changed.

mod nodes;
mod queries;

use chrono::{DateTime, Utc};
use steward_rules::ids::{PullNumber, RepoName, Sha};
use steward_rules::observing::{Glimpse, IssueState};
use steward_rules::untrusted::Untrusted;

use super::error::GitHubError;
use super::graphql::{OfIds, Query, RefusedPart};
use super::reader::Reader;
use nodes::{
    DetailData, DetailNode, FindAsk, FindData, IdsAsk, MoreAsk, MoreData, Page, PageInfo, ProbeAsk,
    ProbeData, RepositoryNode, glimpse, is_heavy, login, names_of, spent, unexplained, unknown_state,
};
pub use queries::{DETAILS, FIND, MORE_ISSUES, MORE_PULLS, PROBE};

/// GitHub takes no more ids at once.
const MOST_IDS: usize = 100;
/// Details of more pull requests at once get 502.
const MOST_DETAILS: usize = 25;
/// What fails in so small a part does not fail for its size.
const LEAST_IDS: usize = 25;
const LEAST_DETAILS: usize = 6;
/// GitHub shows no more results of a search, however many there are.
pub const MAX_FOUND: u64 = 1000;
/// In place of GitHub's word where the token may not see the checks.
pub const HIDDEN: &str = "HIDDEN";
/// Repositories in one search, so that its text stays short.
const MOST_NAMES: usize = 50;

/// What the cheap look shows of everything that was asked, each in the order of its ids.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    /// `None`: GitHub has no such pull request, or does not show it.
    pub pulls: Vec<Option<(PullNumber, Glimpse)>>,
    pub repositories: Vec<Result<RepositoryGlimpse, GitHubError>>,
    /// GitHub's time when it began to answer.
    pub at: DateTime<Utc>,
}

/// A repository as the cheap look shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryGlimpse {
    /// `owner/name` as it is now.
    pub full_name: String,
    pub private: bool,
    pub archived: bool,
    pub permission: Option<String>,
    pub default_branch: Option<String>,
    /// Where that branch ends.
    pub default_tip: Option<Sha>,
    pub open_pulls: i64,
    pub open_issues: i64,
}

/// What a search shows. Its index lags, so what it does not show may be there all the same.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    pub pulls: Vec<FoundPull>,
    pub issues: Vec<FoundIssue>,
    /// True when there is more than a search ever shows.
    pub cut: bool,
}

/// A pull request that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundPull {
    pub repository: String,
    pub number: i64,
    pub node_id: String,
    pub updated_at: DateTime<Utc>,
}

/// An issue that changed, open or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundIssue {
    pub repository: String,
    pub number: i64,
    pub node_id: String,
    pub title: Untrusted,
    pub author: String,
    pub state: IssueState,
    pub labels: Vec<String>,
    pub updated_at: DateTime<Utc>,
}

/// A pull request in detail.
#[derive(Debug, Clone, PartialEq)]
pub struct PullDetail {
    pub node_id: String,
    pub number: PullNumber,
    pub title: Untrusted,
    pub author: String,
    pub head_branch: String,
    /// `None` when it was deleted.
    pub head_repository: Option<String>,
    pub base_branch: String,
    pub seen: Glimpse,
}

impl Reader {
    /// Looks at known pull requests and repositories by their node ids.
    pub async fn probe(&self, pulls: &[String], repositories: &[String]) -> Result<Probe, GitHubError> {
        let mut whole = Probe { pulls: Vec::new(), repositories: Vec::new(), at: self.now() };
        // The repositories go with the first of the pull requests, so that a look is few requests.
        let mut left = Parts::of(pulls, self.page().min(MOST_IDS));
        let (mut places, mut first) = (repositories.chunks(MOST_IDS), true);
        loop {
            let (ids, places) = (left.next(), places.next().unwrap_or_default());
            let Some(ids) = ids.or_else(|| (!places.is_empty()).then_some(&[][..])) else { break };
            let mut ids = ids;
            let told = loop {
                match self.probe_part(ids, places).await {
                    Err(error) if is_heavy(&error) && ids.len() > LEAST_IDS => {
                        ids = left.halve(ids);
                        self.keep_page(ids.len().max(LEAST_IDS));
                    }
                    told => break told?,
                }
            };
            if std::mem::take(&mut first) {
                whole.at = told.at;
            }
            whole.pulls.extend(told.pulls);
            whole.repositories.extend(told.repositories);
        }
        Ok(whole)
    }

    async fn probe_part(&self, pulls: &[String], repositories: &[String]) -> Result<Probe, GitHubError> {
        let OfIds { data, refused, at } =
            self.query_ids::<ProbeData, _>(PROBE, &ProbeAsk { pulls, repositories }).await?;
        spent(data.rate_limit.as_ref());
        if data.pulls.len() != pulls.len() || data.repositories.len() != repositories.len() {
            return Err(GitHubError::Truncated("it does not answer every id".to_owned()));
        }
        let why = |list: &str, place: usize| {
            let found = refused.iter().find(|one| one.is(list, place, RefusedPart::Node));
            found.map(|one| one.error.clone())
        };
        let hidden = |place: usize| refused.iter().any(|one| one.is("pulls", place, RefusedPart::Checks));
        let mut whole = Probe { pulls: Vec::new(), repositories: Vec::new(), at };
        for (place, node) in data.pulls.into_iter().enumerate() {
            whole.pulls.push(match (why("pulls", place), node) {
                (Some(_), _) => None,
                (None, Some(node)) => Some((PullNumber(node.number), glimpse(node, hidden(place))?)),
                (None, None) => return Err(unexplained()),
            });
        }
        for (place, node) in data.repositories.into_iter().enumerate() {
            whole.repositories.push(match (why("repositories", place), node) {
                (Some(error), _) => Err(error),
                (None, Some(node)) => Ok(seen(node)),
                (None, None) => return Err(unexplained()),
            });
        }
        Ok(whole)
    }

    /// Searches these repositories for open pull requests and for issues that changed since `since`.
    pub async fn find(&self, names: &[RepoName], since: DateTime<Utc>) -> Result<Found, GitHubError> {
        let mut found = Found::default();
        for names in names.chunks(MOST_NAMES) {
            let places: String = names.iter().map(|name| format!("repo:{name} ")).collect();
            let since = since.format("%Y-%m-%dT%H:%M:%SZ");
            let pulls = format!("{places}is:pr is:open updated:>={since} sort:updated-desc");
            let issues = format!("{places}is:issue updated:>={since} sort:updated-desc");
            let data: FindData = self.query(FIND, &FindAsk { pulls: &pulls, issues: &issues }).await?;
            spent(data.rate_limit.as_ref());
            found.cut |= data.pulls.issue_count > MAX_FOUND || data.issues.issue_count > MAX_FOUND;
            for node in self.rest(MORE_PULLS, &pulls, data.pulls).await? {
                found.pulls.push(FoundPull {
                    repository: node.repository.name_with_owner,
                    number: node.number,
                    node_id: node.id,
                    updated_at: node.updated_at,
                });
            }
            for node in self.rest(MORE_ISSUES, &issues, data.issues).await? {
                found.issues.push(FoundIssue {
                    repository: node.repository.name_with_owner,
                    number: node.number,
                    node_id: node.id,
                    title: node.title,
                    author: login(node.author),
                    state: match node.state.as_str() {
                        "OPEN" => IssueState::Open,
                        "CLOSED" => IssueState::Closed,
                        _ => return Err(unknown_state()),
                    },
                    labels: names_of(node.labels)?,
                    updated_at: node.updated_at,
                });
            }
        }
        Ok(found)
    }

    /// The first page and every one after it.
    async fn rest<T>(&self, more: Query, query: &str, first: Page<T>) -> Result<Vec<T>, GitHubError>
    where
        T: serde::de::DeserializeOwned,
    {
        let (mut all, mut page) = (Vec::new(), first);
        loop {
            for node in page.nodes {
                all.push(node.ok_or_else(unexplained)?);
            }
            let after = match page.page_info {
                PageInfo { has_next_page: false, .. } => return Ok(all),
                PageInfo { end_cursor: Some(after), .. } if (all.len() as u64) < MAX_FOUND => after,
                PageInfo { end_cursor: Some(_), .. } => return Ok(all),
                PageInfo { end_cursor: None, .. } => {
                    return Err(GitHubError::Truncated("a page names no page after it".to_owned()));
                }
            };
            let data: MoreData<T> = self.query(more, &MoreAsk { query, after: &after }).await?;
            spent(data.rate_limit.as_ref());
            page = data.page;
        }
    }

    /// Pull requests in detail, in the order of their ids. A part of them that fails alone, however small
    /// it is made, is an error of its own; `None` is what GitHub does not have or show.
    pub async fn pull_details(
        &self,
        ids: &[String],
    ) -> Result<Vec<Result<Option<PullDetail>, GitHubError>>, GitHubError> {
        let mut all = Vec::new();
        let mut left = Parts::of(ids, MOST_DETAILS);
        while let Some(mut part) = left.next() {
            loop {
                match self.details_part(part).await {
                    Ok(details) => {
                        all.extend(details.into_iter().map(Ok));
                        break;
                    }
                    Err(error) if is_heavy(&error) && part.len() > LEAST_DETAILS => part = left.halve(part),
                    Err(error) if is_heavy(&error) => {
                        all.extend(part.iter().map(|_| Err(error.clone())));
                        break;
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(all)
    }

    async fn details_part(&self, ids: &[String]) -> Result<Vec<Option<PullDetail>>, GitHubError> {
        let OfIds { data, refused, .. } = self.query_ids::<DetailData, _>(DETAILS, &IdsAsk { ids }).await?;
        spent(data.rate_limit.as_ref());
        if data.nodes.len() != ids.len() {
            return Err(GitHubError::Truncated("it does not answer every id".to_owned()));
        }
        let is = |place: usize, part: RefusedPart| refused.iter().any(|one| one.is("nodes", place, part));
        let detail = |(place, node): (usize, Option<DetailNode>)| match node {
            _ if is(place, RefusedPart::Node) => Ok(None),
            None => Err(unexplained()),
            Some(node) => Ok(Some(PullDetail {
                node_id: node.id,
                number: PullNumber(node.pull.number),
                title: node.title,
                author: login(node.author),
                head_branch: node.head_ref_name,
                head_repository: node.head_repository.map(|home| home.name_with_owner),
                base_branch: node.base_ref_name,
                seen: glimpse(node.pull, is(place, RefusedPart::Checks))?,
            })),
        };
        data.nodes.into_iter().enumerate().map(detail).collect()
    }
}

/// What is left to ask, in parts that can be made smaller.
struct Parts<'a> {
    /// The next one last.
    left: Vec<&'a [String]>,
}

impl<'a> Parts<'a> {
    fn of(ids: &'a [String], size: usize) -> Self {
        Self { left: ids.chunks(size).rev().collect() }
    }

    fn next(&mut self) -> Option<&'a [String]> {
        self.left.pop()
    }

    /// The first half of a part; the other one is the next.
    fn halve(&mut self, part: &'a [String]) -> &'a [String] {
        let (first, second) = part.split_at(part.len().div_ceil(2));
        self.left.push(second);
        first
    }
}

fn seen(node: RepositoryNode) -> RepositoryGlimpse {
    let (default_branch, target) = match node.default_branch_ref {
        Some(branch) => (Some(branch.name), branch.target),
        None => (None, None),
    };
    RepositoryGlimpse {
        full_name: node.name_with_owner,
        private: node.is_private,
        archived: node.is_archived,
        permission: node.viewer_permission,
        default_branch,
        default_tip: target.map(|target| target.oid),
        open_pulls: node.pull_requests.total_count,
        open_issues: node.issues.total_count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_in_their_order_however_often_they_are_halved() {
        let ids: Vec<String> = (0..230).map(|n| n.to_string()).collect();
        let mut parts = Parts::of(&ids, 100);
        let (mut seen, mut sizes) = (Vec::new(), Vec::new());
        while let Some(mut part) = parts.next() {
            while part.len() > 60 {
                part = parts.halve(part);
            }
            sizes.push(part.len());
            seen.extend(part.iter().cloned());
        }
        assert_eq!(seen, ids);
        assert_eq!(sizes, [50, 50, 50, 50, 30]);
        assert!(Parts::of(&[], 100).next().is_none());
    }
}
