//! What can go wrong between Steward and GitHub, each with one slug and one next step.

use std::time::Duration;

use chrono::{DateTime, Utc};
use steward_rules::reading::{Cause, Why};
use steward_rules::untrusted::Untrusted;

/// Why an answer is not there. The sentences are ours; GitHub's own text is kept apart.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitHubError {
    #[error("GitHub does not accept the token")]
    Auth,
    #[error("the token may not do this on GitHub")]
    Forbidden { said: Option<Untrusted> },
    #[error("GitHub knows nothing under this name, or the token may not see it")]
    NotFound,
    #[error("this has moved to another name on GitHub")]
    Moved { to: Option<String> },
    #[error("this was removed from GitHub")]
    Gone,
    #[error("this name is another repository now than the one that was seen here")]
    Replaced,
    #[error("GitHub refused the request as it was written")]
    Validation { said: Option<Untrusted> },
    #[error("GitHub's state has changed since it was read")]
    Conflict { said: Option<Untrusted> },
    #[error("the hourly quota of requests is used up until {}", .until.format("%H:%M UTC"))]
    RateLimited { until: DateTime<Utc> },
    #[error("GitHub asks for a break until {}", .until.format("%H:%M:%S UTC"))]
    SecondaryLimited { until: DateTime<Utc> },
    #[error("GitHub answered with status {status}")]
    Server { status: u16, retry_after: Option<Duration> },
    #[error("GitHub cannot be reached: {0}")]
    Network(NetworkFault),
    #[error("the connection to GitHub is not secure: {0}")]
    Tls(String),
    #[error("GitHub did not answer within {} seconds", .0.as_secs())]
    Timeout(Duration),
    #[error("GitHub's answer is not whole: {0}")]
    Truncated(String),
    #[error("GitHub's answer cannot be read: {0}")]
    Malformed(String),
    #[error("GitHub's answer is longer than {0} bytes")]
    TooLarge(usize),
    #[error("something between here and GitHub answered with a page of its own")]
    CaptivePortal,
}

/// Where on the way a request was lost.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NetworkFault {
    #[error("the name {0} is not known")]
    Name(String),
    #[error("no connection to {0}")]
    Connect(String),
    #[error("the proxy {0} refused")]
    Proxy(String),
    #[error("the proxy {0} asks for a name and password")]
    ProxyPassword(String),
    #[error("the proxy {0} is of a kind that is not supported")]
    ProxyKind(String),
    #[error("the connection broke")]
    Lost,
}

impl GitHubError {
    /// One word for the kind of failure; it never changes.
    pub fn slug(&self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::Forbidden { .. } => "forbidden",
            Self::NotFound => "not_found",
            Self::Moved { .. } => "moved",
            Self::Gone => "gone",
            Self::Replaced => "replaced",
            Self::Validation { .. } => "validation",
            Self::Conflict { .. } => "conflict",
            Self::RateLimited { .. } => "rate_limited",
            Self::SecondaryLimited { .. } => "secondary_limited",
            Self::Server { .. } => "server",
            Self::Network(_) => "network",
            Self::Tls(_) => "tls",
            Self::Timeout(_) => "timeout",
            Self::Truncated(_) => "truncated",
            Self::Malformed(_) => "malformed",
            Self::TooLarge(_) => "too_large",
            Self::CaptivePortal => "captive_portal",
        }
    }

    /// The word that a pipeline prints for it (pipeline.md 4).
    pub fn printed(&self) -> String {
        let word = match self {
            Self::RateLimited { .. } | Self::SecondaryLimited { .. } => "rate-limited",
            Self::Auth => "not-authenticated",
            Self::NotFound | Self::Replaced => "not-found",
            Self::Network(_) | Self::Tls(_) | Self::Timeout(_) | Self::CaptivePortal => "forge-unreachable",
            Self::Malformed(_) => "unparseable-json",
            Self::Truncated(_) | Self::TooLarge(_) => "truncated",
            Self::Forbidden { .. } => "forge-error-403",
            Self::Moved { .. } => "forge-error-301",
            Self::Gone => "forge-error-410",
            Self::Validation { .. } => "forge-error-422",
            Self::Conflict { .. } => "forge-error-409",
            Self::Server { status, .. } => return format!("forge-error-{status}"),
        };
        word.to_owned()
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Auth => "run `steward auth login`: the token was revoked, has expired, or is of another host".to_owned(),
            Self::Forbidden { .. } => {
                "look at `steward auth status`: a scope is missing, or the organisation has not approved the token".to_owned()
            }
            Self::NotFound => "check the name, and that the token may see a private repository".to_owned(),
            Self::Moved { .. } => "put the new name into config.yaml".to_owned(),
            Self::Gone => "take it out of config.yaml if it does not come back".to_owned(),
            Self::Replaced => {
                "if it is the one you mean, stop watching it and watch it again; what it may do is asked anew".to_owned()
            }
            Self::Validation { .. } => "this is a fault of Steward; please report it with the log".to_owned(),
            Self::Conflict { .. } => "Steward reads again and decides anew".to_owned(),
            Self::RateLimited { until } | Self::SecondaryLimited { until } => {
                format!("nothing is asked before {}; what is shown is as old as it says", until.format("%H:%M:%S UTC"))
            }
            Self::Server { .. } | Self::Truncated(_) | Self::Timeout(_) => {
                "Steward tries again by itself; what is shown is as old as it says".to_owned()
            }
            Self::Network(NetworkFault::Proxy(_) | NetworkFault::ProxyPassword(_) | NetworkFault::ProxyKind(_)) => {
                "check `network.proxy` in the config file, or HTTPS_PROXY and NO_PROXY: an http:// or https:// proxy with CONNECT, with `user:password@` if it asks".to_owned()
            }
            Self::Network(_) => "check the network; Steward goes on by itself when it is back".to_owned(),
            Self::Tls(_) => {
                "if your network inspects traffic, name its CA file in `network.caFile` of the config file; on a bare machine install ca-certificates"
                    .to_owned()
            }
            Self::Malformed(_) => "if it stays so, report it with the log: GitHub may have changed an answer".to_owned(),
            Self::TooLarge(_) => "look at it on GitHub itself; Steward does not judge what it cannot read whole".to_owned(),
            Self::CaptivePortal => "sign in to this network in a browser first".to_owned(),
        }
    }

    /// What GitHub said about it, as data.
    pub fn said(&self) -> Option<&Untrusted> {
        match self {
            Self::Forbidden { said } | Self::Validation { said } | Self::Conflict { said } => said.as_ref(),
            Self::Auth
            | Self::NotFound
            | Self::Moved { .. }
            | Self::Gone
            | Self::Replaced
            | Self::RateLimited { .. }
            | Self::SecondaryLimited { .. }
            | Self::Server { .. }
            | Self::Network(_)
            | Self::Tls(_)
            | Self::Timeout(_)
            | Self::Truncated(_)
            | Self::Malformed(_)
            | Self::TooLarge(_)
            | Self::CaptivePortal => None,
        }
    }

    /// True when the same read may go well a moment later.
    pub(super) fn passes(&self) -> bool {
        match self {
            Self::Server { status, .. } => matches!(status, 500 | 502 | 503 | 504),
            Self::Network(fault) => match fault {
                NetworkFault::Name(_) | NetworkFault::Connect(_) | NetworkFault::Lost => true,
                NetworkFault::Proxy(_) | NetworkFault::ProxyPassword(_) | NetworkFault::ProxyKind(_) => false,
            },
            Self::Timeout(_) | Self::Truncated(_) => true,
            Self::Auth
            | Self::Forbidden { .. }
            | Self::NotFound
            | Self::Moved { .. }
            | Self::Gone
            | Self::Replaced
            | Self::Validation { .. }
            | Self::Conflict { .. }
            | Self::RateLimited { .. }
            | Self::SecondaryLimited { .. }
            | Self::Tls(_)
            | Self::Malformed(_)
            | Self::TooLarge(_)
            | Self::CaptivePortal => false,
        }
    }

    /// True when a smaller page may be answered (perf.md, fault 1).
    pub(super) fn wants_smaller_pages(&self) -> bool {
        matches!(self, Self::Server { status: 502 | 504, .. })
    }

    /// The cause a gate shows for it.
    pub fn why(&self) -> Why {
        let cause = match self {
            Self::Auth => Cause::SignedOut,
            Self::TooLarge(_) => Cause::TooLarge,
            Self::Forbidden { .. }
            | Self::NotFound
            | Self::Moved { .. }
            | Self::Gone
            | Self::Replaced
            | Self::Validation { .. }
            | Self::Conflict { .. }
            | Self::RateLimited { .. }
            | Self::SecondaryLimited { .. }
            | Self::Server { .. }
            | Self::Network(_)
            | Self::Tls(_)
            | Self::Timeout(_)
            | Self::Truncated(_)
            | Self::Malformed(_)
            | Self::CaptivePortal => Cause::ForgeFailed,
        };
        Why::new(cause, format!("{self} ({})", self.slug()))
    }
}
