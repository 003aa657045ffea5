//! The answers of the observer's queries as GitHub writes them, and what they mean.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use steward_rules::ids::Sha;
use steward_rules::observing::{Glimpse, PullState};
use steward_rules::untrusted::Untrusted;

use super::HIDDEN;
use crate::github::error::GitHubError;
use crate::github::tally;

#[derive(Deserialize)]
pub(super) struct Nodes<T> {
    pub(super) nodes: Vec<Option<T>>,
}

#[derive(Deserialize)]
pub(super) struct Named {
    pub(super) name: String,
}

#[derive(Deserialize)]
pub(super) struct BranchNode {
    pub(super) name: String,
    pub(super) target: Option<Target>,
}

#[derive(Deserialize)]
pub(super) struct Target {
    pub(super) oid: Sha,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Full {
    pub(super) name_with_owner: String,
}

#[derive(Deserialize)]
pub(super) struct Author {
    pub(super) login: String,
}

#[derive(Deserialize)]
pub(super) struct Rollup {
    pub(super) state: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Total {
    pub(super) total_count: i64,
}

#[derive(Deserialize)]
pub(super) struct RateLimit {
    pub(super) cost: u32,
}

/// What both queries for pull requests ask of each.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PullNode {
    pub(super) number: i64,
    pub(super) head_ref_oid: Sha,
    pub(super) base_ref_oid: Sha,
    pub(super) state: String,
    pub(super) is_draft: bool,
    pub(super) updated_at: DateTime<Utc>,
    pub(super) mergeable: String,
    pub(super) review_decision: Option<String>,
    pub(super) status_check_rollup: Option<Rollup>,
    pub(super) labels: Option<Nodes<Named>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DetailNode {
    pub(super) id: String,
    pub(super) title: Untrusted,
    pub(super) head_ref_name: String,
    pub(super) base_ref_name: String,
    pub(super) author: Option<Author>,
    pub(super) head_repository: Option<Full>,
    #[serde(flatten)]
    pub(super) pull: PullNode,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RepositoryNode {
    pub(super) name_with_owner: String,
    pub(super) is_archived: bool,
    pub(super) is_private: bool,
    pub(super) viewer_permission: Option<String>,
    pub(super) default_branch_ref: Option<BranchNode>,
    pub(super) pull_requests: Total,
    pub(super) issues: Total,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Page<T> {
    pub(super) issue_count: u64,
    pub(super) page_info: PageInfo,
    pub(super) nodes: Vec<Option<T>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PageInfo {
    pub(super) has_next_page: bool,
    pub(super) end_cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FoundPullNode {
    pub(super) id: String,
    pub(super) number: i64,
    pub(super) updated_at: DateTime<Utc>,
    pub(super) repository: Full,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FoundIssueNode {
    pub(super) id: String,
    pub(super) number: i64,
    pub(super) title: Untrusted,
    pub(super) state: String,
    pub(super) updated_at: DateTime<Utc>,
    pub(super) author: Option<Author>,
    pub(super) repository: Full,
    pub(super) labels: Option<Nodes<Named>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProbeData {
    pub(super) pulls: Vec<Option<PullNode>>,
    pub(super) repositories: Vec<Option<RepositoryNode>>,
    pub(super) rate_limit: Option<RateLimit>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FindData {
    pub(super) pulls: Page<FoundPullNode>,
    pub(super) issues: Page<FoundIssueNode>,
    pub(super) rate_limit: Option<RateLimit>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound = "T: serde::de::DeserializeOwned")]
pub(super) struct MoreData<T> {
    pub(super) page: Page<T>,
    pub(super) rate_limit: Option<RateLimit>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DetailData {
    pub(super) nodes: Vec<Option<DetailNode>>,
    pub(super) rate_limit: Option<RateLimit>,
}

#[derive(Serialize)]
pub(super) struct ProbeAsk<'a> {
    pub(super) pulls: &'a [String],
    pub(super) repositories: &'a [String],
}

#[derive(Serialize)]
pub(super) struct FindAsk<'a> {
    pub(super) pulls: &'a str,
    pub(super) issues: &'a str,
}

#[derive(Serialize)]
pub(super) struct MoreAsk<'a> {
    pub(super) query: &'a str,
    pub(super) after: &'a str,
}

#[derive(Serialize)]
pub(super) struct IdsAsk<'a> {
    pub(super) ids: &'a [String],
}

pub(super) fn glimpse(node: PullNode, checks_hidden: bool) -> Result<Glimpse, GitHubError> {
    Ok(Glimpse {
        head: node.head_ref_oid,
        base: node.base_ref_oid,
        state: match node.state.as_str() {
            "OPEN" => PullState::Open,
            "MERGED" => PullState::Merged,
            "CLOSED" => PullState::Closed,
            _ => return Err(unknown_state()),
        },
        draft: node.is_draft,
        labels: names_of(node.labels)?,
        // Checks that the token may not see are not no checks.
        rollup: match (checks_hidden, node.status_check_rollup) {
            (true, _) => Some(HIDDEN.to_owned()),
            (false, rollup) => rollup.map(|rollup| rollup.state),
        },
        mergeable: Some(node.mergeable),
        review_decision: node.review_decision,
        updated_at: node.updated_at,
    })
}

pub(super) fn names_of(labels: Option<Nodes<Named>>) -> Result<Vec<String>, GitHubError> {
    let nodes = labels.map(|labels| labels.nodes).unwrap_or_default();
    nodes.into_iter().map(|label| label.map(|label| label.name).ok_or_else(unexplained)).collect()
}

/// GitHub's stand-in for an account that was deleted.
pub(super) fn login(author: Option<Author>) -> String {
    author.map_or_else(|| "ghost".to_owned(), |author| author.login)
}

pub(super) fn unexplained() -> GitHubError {
    GitHubError::Truncated("a part of it is missing without a word why".to_owned())
}

pub(super) fn unknown_state() -> GitHubError {
    GitHubError::Malformed("not what is expected at state".to_owned())
}

pub(super) fn is_heavy(error: &GitHubError) -> bool {
    error.wants_smaller_pages() || matches!(error, GitHubError::Truncated(_))
}

pub(super) fn spent(limit: Option<&RateLimit>) {
    if let Some(limit) = limit {
        tally::points(limit.cost);
    }
}
