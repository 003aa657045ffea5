//! What GitHub shows of an effect's subject: its head, our own comments below it, who we are there.

use chrono::{DateTime, Duration, Utc};
use steward_rules::guard::Sighting;
use steward_rules::ids::{PullNumber, RepoName};
use steward_rules::outgoing;
use steward_rules::secret::Engine;
use steward_rules::untrusted::Untrusted;

use crate::github::types::{Comment, Pull};
use crate::github::{Client, GitHubError, NetworkFault};
use crate::loops::Ctx;
use crate::loops::accounts::{NoAccount, account_of};
use crate::store::effects::{EffectRow, State, Why};

/// When a fault that passes by itself is looked at again.
pub(super) const SOON: Duration = Duration::minutes(1);
/// When a fault that somebody must mend is looked at again.
const LATER: Duration = Duration::minutes(15);
/// How far GitHub's clock and ours may be apart without a deletion being missed.
const CLOCKS: Duration = Duration::minutes(10);

/// What was read.
pub(super) struct Seen {
    pub subject: Sighting,
    /// Our own comments about this head, lowest id first.
    pub own: Vec<Comment>,
    pub acting: String,
    pub deleted_since: bool,
    pub limited_until: Option<DateTime<Utc>>,
}

impl Seen {
    /// Where a comment of ours is to be looked at.
    pub fn address(&self, id: u64) -> Option<String> {
        self.own
            .iter()
            .find(|comment| comment.id == id)?
            .html_url
            .clone()
            .filter(|url| url.starts_with("http"))
    }
}

/// Why nothing can be decided now, and when to look again.
pub(super) struct Fault {
    pub why: Why,
    pub again: Duration,
}

/// Reads everything that the decision needs; a part that cannot be read is a fault of the whole.
pub(super) async fn at(ctx: &Ctx, row: &EffectRow) -> Result<(Client, Seen), Fault> {
    let (Some(repo), Some(number)) = (RepoName::parse(&row.repository), row.number) else {
        return Err(Fault {
            why: Why::new("unreadable", "the journal's row names no subject"),
            again: LATER,
        });
    };
    let client = ctx.client_of(&row.host, &repo).await.map_err(no_client)?;
    match read(&client, row, &repo, number).await {
        Ok(seen) => Ok((client, seen)),
        Err(error) => {
            if error == GitHubError::Auth {
                // The next look takes the token that is there then.
                forget(ctx, row, &repo).await;
            }
            Err(Fault { why: why(&error), again: again(&error, ctx.clock.now()) })
        }
    }
}

async fn forget(ctx: &Ctx, row: &EffectRow, repo: &RepoName) {
    let config = ctx.config();
    if let Some(account) = account_of(&config, &row.host, repo) {
        ctx.accounts.forget(account).await;
    }
}

async fn read(client: &Client, row: &EffectRow, repo: &RepoName, number: i64) -> Result<Seen, GitHubError> {
    let reader = client.reader();
    let acting = reader.whoami().await?.user.login;
    let pull = reader.pull(repo, PullNumber(number)).await?;
    if pull.moved_to.is_some() {
        return Err(GitHubError::Moved { to: pull.moved_to });
    }
    let comments = reader.comments(repo, number).await?;
    let is_own = |comment: &Comment| {
        let (Some(head), Some(body)) = (&row.head, &comment.body) else { return false };
        let author = comment.user.as_ref().map(|user| user.login.as_str());
        outgoing::is_own(head, &row.account, author, body.as_data())
    };
    let mut own: Vec<Comment> = comments.into_iter().filter(is_own).collect();
    own.sort_by_key(|comment| comment.id);
    let deleted_since = match row.intent_at {
        Some(at) if own.is_empty() && row.state == State::Intended => {
            let events = reader.timeline(repo, number).await?;
            events.iter().any(|event| {
                event.event.as_deref() == Some("comment_deleted")
                    && event.created_at.is_none_or(|deleted| deleted >= at - CLOCKS)
            })
        }
        Some(_) | None => false,
    };
    let limited_until = client.budget().into_iter().filter_map(|budget| budget.paused_until).max();
    Ok(Seen { subject: subject(&pull.value), own, acting, deleted_since, limited_until })
}

fn subject(pull: &Pull) -> Sighting {
    Sighting {
        head: pull.head.sha.clone(),
        open: Some(pull.state == "open" && pull.merged_at.is_none()),
        updated_at: pull.updated_at,
    }
}

fn no_client(error: NoAccount) -> Fault {
    let slug = match &error {
        NoAccount::NotConfigured(_) | NoAccount::SignedOut { .. } => "signed_out",
        NoAccount::Keyring(_) => "keyring",
        NoAccount::Network(_) => "network_settings",
        NoAccount::Open(_) => "unread",
    };
    Fault { why: Why::new(slug, error.to_string()), again: LATER }
}

/// The journal's words for a failure of GitHub.
pub(super) fn why(error: &GitHubError) -> Why {
    let said = error.said().map(|said| Untrusted::new(Engine::shared().redact(said.as_data())).one_line(200));
    match said {
        Some(said) => Why::new(error.slug(), format!("{error}: {said}")),
        None => Why::new(error.slug(), error.to_string()),
    }
}

/// How long until it is tried again.
pub(super) fn again(error: &GitHubError, now: DateTime<Utc>) -> Duration {
    match error {
        GitHubError::RateLimited { until } | GitHubError::SecondaryLimited { until } => {
            (*until - now).max(Duration::seconds(1))
        }
        GitHubError::Server { retry_after: Some(asked), .. } => {
            Duration::from_std(*asked).unwrap_or(SOON).max(SOON)
        }
        GitHubError::Server { retry_after: None, .. }
        | GitHubError::Conflict { .. }
        | GitHubError::Timeout(_)
        | GitHubError::Truncated(_)
        | GitHubError::Network(
            NetworkFault::Name(_) | NetworkFault::Connect(_) | NetworkFault::Lost | NetworkFault::Proxy(_),
        ) => SOON,
        GitHubError::Auth
        | GitHubError::Forbidden { .. }
        | GitHubError::NotFound
        | GitHubError::Moved { .. }
        | GitHubError::Gone
        | GitHubError::Replaced
        | GitHubError::Validation { .. }
        | GitHubError::Tls(_)
        | GitHubError::Malformed(_)
        | GitHubError::TooLarge(_)
        | GitHubError::CaptivePortal
        | GitHubError::Network(NetworkFault::ProxyPassword(_) | NetworkFault::ProxyKind(_)) => LATER,
    }
}
