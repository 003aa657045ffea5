//! What GitHub shows of an effect: how its subject stands, how far it was done, who we are there.

use chrono::{DateTime, Duration, Utc};
use steward_rules::deed::{Closes, Deed};
use steward_rules::guard::Sighting;
use steward_rules::ids::{PullNumber, RepoName};
use steward_rules::secret::Engine;
use steward_rules::untrusted::Untrusted;

use super::trace::{self, Found, Item};
use crate::github::{Client, GitHubError, NetworkFault, Reader};
use crate::loops::Ctx;
use crate::loops::accounts::{NoAccount, account_of};
use crate::store::effects::{EffectRow, Why};

/// When a fault that passes by itself is looked at again.
pub(super) const SOON: Duration = Duration::minutes(1);
/// When a fault that somebody must mend is looked at again.
pub(super) const LATER: Duration = Duration::minutes(15);
/// How far GitHub's clock and ours may be apart without a deletion being missed.
pub(super) const CLOCKS: Duration = Duration::minutes(10);

/// What was read.
pub(super) struct Seen {
    pub subject: Standing,
    pub found: Found,
    pub acting: String,
    pub limited_until: Option<DateTime<Utc>>,
}

/// How the subject stands in GitHub's answer.
pub(super) enum Standing {
    Pull { sighting: Sighting, is_merged: bool },
    Issue { is_open: bool },
    Nothing,
}

/// Why nothing can be decided now, and when to look again.
pub(super) struct Fault {
    pub why: Why,
    pub again: Duration,
}

/// Reads everything that the decision needs; a part that cannot be read is a fault of the whole.
pub(super) async fn at(ctx: &Ctx, row: &EffectRow) -> Result<(Client, Seen), Fault> {
    let Some(repo) = RepoName::parse(&row.repository) else {
        let why = Why::new("unreadable", "the journal's row names no repository");
        return Err(Fault { why, again: LATER });
    };
    let client = ctx.client_of(&row.host, &repo).await.map_err(no_client)?;
    match read(&client, row, &repo).await {
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

async fn read(client: &Client, row: &EffectRow, repo: &RepoName) -> Result<Seen, GitHubError> {
    let reader = client.reader();
    let acting = reader.whoami().await?.user.login;
    let deed = row.to_do();
    let item = item(&reader, row, &deed, repo).await?;
    let found = trace::of(&reader, row, &deed, repo, &item).await?;
    let limited_until = client.budget().into_iter().filter_map(|budget| budget.paused_until).max();
    Ok(Seen { subject: standing(&item), found, acting, limited_until })
}

/// Reads the subject: whatever names a commit is about a pull request.
async fn item(reader: &Reader, row: &EffectRow, deed: &Deed, repo: &RepoName) -> Result<Item, GitHubError> {
    let Some(number) = row.number else { return Ok(Item::None) };
    let is_pull = row.head.is_some() && !matches!(deed, Deed::Close { what: Closes::Issue, .. });
    if is_pull {
        let pull = reader.pull(repo, PullNumber(number)).await?;
        if pull.moved_to.is_some() {
            return Err(GitHubError::Moved { to: pull.moved_to });
        }
        return Ok(Item::Pull(Box::new(pull.value)));
    }
    let issue = reader.issue(repo, number).await?;
    if issue.moved_to.is_some() {
        return Err(GitHubError::Moved { to: issue.moved_to });
    }
    Ok(Item::Issue(Box::new(issue.value)))
}

fn standing(item: &Item) -> Standing {
    match item {
        Item::Pull(pull) => Standing::Pull {
            sighting: Sighting {
                head: pull.head.sha.clone(),
                open: Some(pull.state == "open" && pull.merged_at.is_none()),
                updated_at: pull.updated_at,
            },
            is_merged: pull.merged_at.is_some(),
        },
        Item::Issue(issue) => Standing::Issue { is_open: issue.state == "open" },
        Item::None => Standing::Nothing,
    }
}

pub(super) fn no_client(error: NoAccount) -> Fault {
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
