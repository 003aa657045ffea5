//! GraphQL with an envelope of our own: an answer in parts is no answer.

use chrono::{DateTime, Utc};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::budget::{self, Heard};
use super::error::GitHubError;
use super::wire::{Got, Wire, parse};
use crate::store::api_budget::Limit;

/// A query that only reads; anything else does not compile.
#[derive(Debug, Clone, Copy)]
pub struct Query(&'static str);

impl Query {
    /// Takes the text of a query. Used in a `const`, another kind of operation fails the build.
    pub const fn new(text: &'static str) -> Self {
        let (word, bytes) = (b"query ", text.as_bytes());
        let mut at = 0;
        while at < word.len() {
            assert!(bytes.len() > at && bytes[at] == word[at], "BUG: a reader only asks queries");
            at += 1;
        }
        // A document may hold several operations; this one holds no word of another kind.
        let forbidden = b"mutation";
        let mut at = 0;
        while at + forbidden.len() <= bytes.len() {
            let mut same = 0;
            while same < forbidden.len() && bytes[at + same] == forbidden[same] {
                same += 1;
            }
            assert!(same < forbidden.len(), "BUG: a reader only asks queries");
            at += 1;
        }
        Self(text)
    }

    /// The text, for checks against GitHub's schema.
    pub const fn text(&self) -> &'static str {
        self.0
    }
}

#[derive(Deserialize)]
struct Envelope<T> {
    data: Option<T>,
    #[serde(default)]
    errors: Vec<Fault>,
}

#[derive(Deserialize)]
struct Fault {
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    message: String,
    #[serde(default)]
    path: Vec<Place>,
}

/// One step of the way to the part that failed.
#[derive(Deserialize)]
#[serde(untagged)]
enum Place {
    At(usize),
    Field(String),
}

/// The data of a query over ids, and which of them GitHub does not have or does not show whole.
pub(super) struct OfIds<T> {
    pub(super) data: T,
    pub(super) refused: Vec<RefusedId>,
    /// GitHub's time, or ours when it does not tell.
    pub(super) at: DateTime<Utc>,
}

/// One id without a node, or whose checks the token may not see.
pub(super) struct RefusedId {
    /// The list it was asked in.
    pub(super) list: String,
    pub(super) place: usize,
    pub(super) of: RefusedPart,
    /// `NotFound` or `Forbidden`.
    pub(super) error: GitHubError,
}

#[derive(Serialize)]
struct Asked<'a, V> {
    query: &'a str,
    variables: &'a V,
}

impl Wire {
    /// Asks one query and takes its data only when nothing went wrong with any part of it.
    pub(super) async fn ask<T, V>(&self, query: Query, variables: &V) -> Result<T, GitHubError>
    where
        T: DeserializeOwned,
        V: Serialize,
    {
        let (got, faults) = self.ask_raw(query, variables).await?;
        if let Some(fault) = faults.first() {
            return Err(refused(fault, faults.len()));
        }
        self.budget.went_well();
        data(&got)
    }

    /// Asks one query over ids. An id that GitHub does not have or show is told apart from every other
    /// fault, which still rejects the whole answer.
    pub(super) async fn ask_ids<T, V>(&self, query: Query, variables: &V) -> Result<OfIds<T>, GitHubError>
    where
        T: DeserializeOwned,
        V: Serialize,
    {
        let (got, faults) = self.ask_raw(query, variables).await?;
        let mut of_ids = Vec::with_capacity(faults.len());
        for fault in &faults {
            of_ids.push(refused_id(fault).ok_or_else(|| refused(fault, faults.len()))?);
        }
        self.budget.went_well();
        let at = budget::theirs(&got.headers, self.store.clock().now());
        Ok(OfIds { data: data(&got)?, refused: of_ids, at })
    }

    async fn ask_raw<V: Serialize>(
        &self,
        query: Query,
        variables: &V,
    ) -> Result<(Got, Vec<Fault>), GitHubError> {
        let asked = Asked { query: query.0, variables };
        let body = serde_json::to_string(&asked)
            .map_err(|error| GitHubError::Malformed(format!("the question itself: {error}")))?;
        let got = self.query(&body).await?;
        // The faults first: `data` beside them may have any shape.
        let faults = parse::<Envelope<serde::de::IgnoredAny>>(&got.body)?.errors;
        if let Some(limit) = faults.iter().find_map(limit) {
            let heard = Heard { account: self.login(), resource: "graphql", headers: &got.headers };
            return Err(self.budget.stop(limit, &heard).await);
        }
        Ok((got, faults))
    }
}

fn data<T: DeserializeOwned>(got: &Got) -> Result<T, GitHubError> {
    match parse::<Envelope<T>>(&got.body)?.data {
        Some(data) => Ok(data),
        None => Err(GitHubError::Truncated("it holds neither data nor an error".to_owned())),
    }
}

impl RefusedId {
    pub(super) fn is(&self, list: &str, place: usize, of: RefusedPart) -> bool {
        self.list == list && self.place == place && self.of == of
    }
}

/// What of an id was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RefusedPart {
    /// What is shown of it, if anything, is not to be used.
    Node,
    /// Fine-grained tokens may see a pull request and not its checks.
    Checks,
}

/// The id a fault is about, when it is about one alone.
fn refused_id(fault: &Fault) -> Option<RefusedId> {
    let [Place::Field(list), Place::At(place), inside @ ..] = fault.path.as_slice() else { return None };
    let of = match (inside, fault.kind.as_deref()) {
        ([], Some("NOT_FOUND" | "FORBIDDEN")) => RefusedPart::Node,
        ([Place::Field(field), ..], Some("FORBIDDEN")) if field == "statusCheckRollup" => RefusedPart::Checks,
        // GitHub empties a whole repository where a part that must be there is forbidden, such as its issues;
        // that says nothing of the others.
        (_, Some("FORBIDDEN")) if list == "repositories" => RefusedPart::Node,
        (_, _) => return None,
    };
    Some(RefusedId { list: list.clone(), place: *place, of, error: refused(fault, 1) })
}

fn limit(fault: &Fault) -> Option<Limit> {
    let words = fault.message.to_ascii_lowercase();
    if words.contains("secondary rate limit") || words.contains("abuse detection") {
        return Some(Limit::Secondary);
    }
    let primary = matches!(fault.kind.as_deref(), Some("RATE_LIMITED" | "RATE_LIMIT"))
        || words.contains("rate limit exceeded");
    primary.then_some(Limit::Primary)
}

fn refused(fault: &Fault, count: usize) -> GitHubError {
    match fault.kind.as_deref() {
        Some("NOT_FOUND") => GitHubError::NotFound,
        Some("FORBIDDEN" | "INSUFFICIENT_SCOPES") => GitHubError::Forbidden {
            said: Some(steward_rules::untrusted::Untrusted::new(fault.message.clone())),
        },
        _ => GitHubError::Truncated(format!("{count} parts of it failed")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_queries_are_asked() {
        assert_eq!(
            Query::new("query Viewer { viewer { login } }").text(),
            "query Viewer { viewer { login } }"
        );
        for bad in ["mutation M { x }", "{ viewer { login } }", "query A { a } mutation B { b }", ""] {
            assert!(std::panic::catch_unwind(|| Query::new(bad)).is_err(), "{bad}");
        }
    }
}
