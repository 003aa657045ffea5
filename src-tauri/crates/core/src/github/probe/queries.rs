//! The texts of the observer's queries. Each is checked against GitHub's own schema whenever a test asks it.

use crate::github::graphql::Query;

/// Known pull requests and repositories by their ids.
pub const PROBE: Query = Query::new(
    "query Probe($pulls: [ID!]!, $repositories: [ID!]!) {
  pulls: nodes(ids: $pulls) {
    ... on PullRequest {
      number headRefOid baseRefOid state isDraft updatedAt mergeable reviewDecision
      statusCheckRollup { state }
      labels(first: 100) { nodes { name } }
    }
  }
  repositories: nodes(ids: $repositories) {
    ... on Repository {
      nameWithOwner isArchived isPrivate viewerPermission
      defaultBranchRef { name target { oid } }
      pullRequests(first: 1, states: [OPEN]) { totalCount }
      issues(first: 1, states: [OPEN]) { totalCount }
    }
  }
  rateLimit { cost }
}",
);

/// Open pull requests and issues that changed, the newest change first: what changes meanwhile moves to the
/// front and pushes nothing past the reader.
pub const FIND: Query = Query::new(
    "query Find($pulls: String!, $issues: String!) {
  pulls: search(query: $pulls, type: ISSUE, first: 100) {
    issueCount pageInfo { hasNextPage endCursor }
    nodes { ... on PullRequest { id number updatedAt repository { nameWithOwner } } }
  }
  issues: search(query: $issues, type: ISSUE, first: 100) {
    issueCount pageInfo { hasNextPage endCursor }
    nodes {
      ... on Issue {
        id number title state updatedAt author { login } repository { nameWithOwner }
        labels(first: 100) { nodes { name } }
      }
    }
  }
  rateLimit { cost }
}",
);

/// The pages of a search after its first.
pub const MORE_PULLS: Query = Query::new(
    "query MorePulls($query: String!, $after: String!) {
  page: search(query: $query, type: ISSUE, first: 100, after: $after) {
    issueCount pageInfo { hasNextPage endCursor }
    nodes { ... on PullRequest { id number updatedAt repository { nameWithOwner } } }
  }
  rateLimit { cost }
}",
);

/// The pages of a search after its first.
pub const MORE_ISSUES: Query = Query::new(
    "query MoreIssues($query: String!, $after: String!) {
  page: search(query: $query, type: ISSUE, first: 100, after: $after) {
    issueCount pageInfo { hasNextPage endCursor }
    nodes {
      ... on Issue {
        id number title state updatedAt author { login } repository { nameWithOwner }
        labels(first: 100) { nodes { name } }
      }
    }
  }
  rateLimit { cost }
}",
);

/// Pull requests in detail.
pub const DETAILS: Query = Query::new(
    "query Details($ids: [ID!]!) {
  nodes(ids: $ids) {
    ... on PullRequest {
      id number title state isDraft updatedAt mergeable reviewDecision
      headRefOid headRefName baseRefOid baseRefName
      statusCheckRollup { state }
      author { login }
      headRepository { nameWithOwner }
      repository { nameWithOwner }
      labels(first: 100) { nodes { name } }
    }
  }
  rateLimit { cost }
}",
);
