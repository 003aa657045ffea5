//! A write: sent once, never again, and honest about what is not known of it.

use chrono::{DateTime, Duration, Utc};
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, LOCATION, USER_AGENT};
use http::{Method, Request};

use super::{ACCEPTED, AGENT, API_VERSION, Got, MAX_REFUSAL, Wire, check, is_page, plain, read, said};
use crate::github::budget::{self, Heard};
use crate::github::connect::{self, Answered};
use crate::github::error::{GitHubError, NetworkFault};

/// When a write that met another one under way may ask for its turn again.
const NEXT_TURN: Duration = Duration::seconds(2);

/// What is to be done.
pub(in crate::github) struct Deed {
    pub(in crate::github) method: Method,
    pub(in crate::github) url: String,
    /// JSON; empty for none.
    pub(in crate::github) body: String,
}

/// Why a write is not known to be done.
#[derive(Debug)]
pub(in crate::github) enum NotDone {
    /// Nothing was sent: before this time no write may be.
    NotYet { until: DateTime<Utc> },
    /// It is certainly not done.
    Refused(GitHubError),
    /// It may be done.
    Unclear(GitHubError),
}

impl Wire {
    /// Sends a write once: now, or not at all. Whoever decided it may be told to stop within a second, and
    /// could not be heard from a queue.
    pub(in crate::github) async fn write(&self, deed: &Deed) -> Result<Got, NotDone> {
        let Ok(_turn) = self.writing.try_acquire() else {
            return Err(NotDone::NotYet { until: self.store.clock().now() + NEXT_TURN });
        };
        self.budget.admit(&self.login, "core").map_err(NotDone::Refused)?;
        self.budget.admit_write(self.pace).map_err(|until| NotDone::NotYet { until })?;
        match tokio::time::timeout(self.timeout, self.exchange(deed)).await {
            Ok(done) => done,
            Err(_) => Err(NotDone::Unclear(GitHubError::Timeout(self.timeout))),
        }
    }

    async fn exchange(&self, deed: &Deed) -> Result<Got, NotDone> {
        let request = self.deed(deed)?;
        let response = match self.octocrab.execute(request).await {
            Ok(response) => response,
            Err(error) => return Err(unsent(connect::judge(&error, Answered::No))),
        };
        let (parts, body) = response.into_parts();
        let status = parts.status.as_u16();
        let headers = parts.headers;
        let heard = Heard { account: &self.login, resource: "core", headers: &headers };
        match status {
            200..=299 => {
                let whole =
                    read(body, self.max_body).await.and_then(|body| plain(body, &headers, self.max_body));
                let body = whole.map_err(NotDone::Unclear)?;
                if is_page(&headers, &body) {
                    return Err(NotDone::Unclear(GitHubError::CaptivePortal));
                }
                if !body.is_empty() {
                    check(&body).map_err(NotDone::Unclear)?;
                }
                self.budget.note(&heard).await;
                self.budget.went_well();
                Ok(Got { body, link: None, headers, moved_to: None })
            }
            // To write where somebody points is to write where nobody decided to.
            301 | 302 | 307 | 308 => {
                self.budget.note(&heard).await;
                let to = headers.get(LOCATION).and_then(|to| to.to_str().ok()).map(str::to_owned);
                Err(NotDone::Refused(GitHubError::Moved { to }))
            }
            _ => {
                let body = match read(body, MAX_REFUSAL).await {
                    Ok(body) => plain(body, &headers, MAX_REFUSAL).unwrap_or_default(),
                    Err(_) => Vec::new(),
                };
                let message = said(&body);
                if let Some(limit) = budget::limit_of(status, &headers, &message) {
                    return Err(NotDone::Refused(self.budget.stop(limit, &heard).await));
                }
                self.budget.note(&heard).await;
                let error = self.refused(status, &headers, &body, message);
                Err(if is_certain(&error) { NotDone::Refused(error) } else { NotDone::Unclear(error) })
            }
        }
    }

    fn deed(&self, deed: &Deed) -> Result<Request<String>, NotDone> {
        let mut request = Request::builder()
            .method(deed.method.clone())
            .uri(&deed.url)
            .header(ACCEPT, ACCEPTED)
            .header(ACCEPT_ENCODING, "gzip")
            .header(USER_AGENT, AGENT)
            .header("x-github-api-version", API_VERSION)
            .header(AUTHORIZATION, self.authorization.clone());
        if !deed.body.is_empty() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        request.body(deed.body.clone()).map_err(|_| NotDone::Refused(GitHubError::NotFound))
    }
}

/// A request that failed before any answer: not sent when no line was found, else nobody knows.
fn unsent(error: GitHubError) -> NotDone {
    match &error {
        GitHubError::Network(
            NetworkFault::Name(_)
            | NetworkFault::Connect(_)
            | NetworkFault::Proxy(_)
            | NetworkFault::ProxyPassword(_)
            | NetworkFault::ProxyKind(_),
        ) => NotDone::Refused(error),
        GitHubError::Network(NetworkFault::Lost)
        | GitHubError::Auth
        | GitHubError::Forbidden { .. }
        | GitHubError::NotFound
        | GitHubError::Moved { .. }
        | GitHubError::Gone
        | GitHubError::Replaced
        | GitHubError::Validation { .. }
        | GitHubError::Conflict { .. }
        | GitHubError::RateLimited { .. }
        | GitHubError::SecondaryLimited { .. }
        | GitHubError::Server { .. }
        | GitHubError::Tls(_)
        | GitHubError::Timeout(_)
        | GitHubError::Truncated(_)
        | GitHubError::Malformed(_)
        | GitHubError::TooLarge(_)
        | GitHubError::CaptivePortal => NotDone::Unclear(error),
    }
}

/// True for an answer of GitHub itself that says it did nothing.
fn is_certain(error: &GitHubError) -> bool {
    match error {
        GitHubError::Auth
        | GitHubError::Forbidden { .. }
        | GitHubError::NotFound
        | GitHubError::Moved { .. }
        | GitHubError::Gone
        | GitHubError::Replaced
        | GitHubError::Validation { .. }
        | GitHubError::Conflict { .. }
        | GitHubError::RateLimited { .. }
        | GitHubError::SecondaryLimited { .. } => true,
        GitHubError::Server { .. }
        | GitHubError::Network(_)
        | GitHubError::Tls(_)
        | GitHubError::Timeout(_)
        | GitHubError::Truncated(_)
        | GitHubError::Malformed(_)
        | GitHubError::TooLarge(_)
        | GitHubError::CaptivePortal => false,
    }
}
