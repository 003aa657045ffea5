//! One look at every repository of one account: a cheap probe of what is known, a search for what is new,
//! details of what changed, and a direct read of whatever disappeared.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use steward_rules::ids::RepoName;
use steward_rules::observing::Outcome;

use super::place::Place;
use super::reads;
use super::record;
use super::standing::Problem;
use crate::config::Account;
use crate::github::tally::{self, Cost};
use crate::github::{Client, GitHubError};
use crate::loops::Ctx;
use crate::loops::accounts::NoAccount;
use crate::store::{Durability, StoreError, issues, pulls, repositories};

/// What a look came to.
#[derive(Debug, Clone)]
pub(super) struct Report {
    pub outcome: Outcome,
    pub problem: Option<Problem>,
    pub cost: Cost,
}

/// Why a look ended early. What was known stays as it was.
pub(super) enum Halt {
    Store(StoreError),
    GitHub(GitHubError),
    Account(NoAccount),
    /// Steward's share of the hour is used up until then.
    Reserved(DateTime<Utc>),
}

impl From<GitHubError> for Halt {
    fn from(error: GitHubError) -> Self {
        Self::GitHub(error)
    }
}

impl From<StoreError> for Halt {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Looks once at these repositories as this account, and records what it saw.
pub(super) async fn look(ctx: &Ctx, account: &Account, names: &[RepoName]) -> Result<Report, StoreError> {
    let (ended, cost) = tally::counted(run(ctx, account, names)).await;
    let (outcome, error) = match ended {
        Ok(faults) => {
            let passes = faults.iter().any(|(_, error)| is_passing(error));
            let outcome = match (faults.is_empty(), passes) {
                (true, _) => Outcome::Whole,
                (false, true) => Outcome::Failed,
                (false, false) => Outcome::Incomplete,
            };
            let problem = faults.first().map(|(name, error)| Problem {
                code: error.slug().to_owned(),
                message: format!("{name}: {error}"),
                hint: error.hint(),
            });
            return Ok(Report { outcome, problem, cost });
        }
        Err(Halt::Store(error)) => return Err(error),
        Err(Halt::Account(error)) => {
            let problem = Problem {
                code: "signed_out".to_owned(),
                message: error.to_string(),
                hint: format!("run `steward auth login --host {}`", account.host),
            };
            return Ok(Report { outcome: Outcome::SignedOut, problem: Some(problem), cost });
        }
        Err(Halt::Reserved(until)) => {
            let problem = Problem {
                code: "reserved".to_owned(),
                message: format!(
                    "60 % of this hour's requests to {} are used; the rest is left to you",
                    account.host
                ),
                hint: format!("Steward looks again at {}", until.format("%H:%M UTC")),
            };
            return Ok(Report { outcome: Outcome::Limited { until }, problem: Some(problem), cost });
        }
        Err(Halt::GitHub(error)) => (outcome_of(&error), error),
    };
    tracing::info!(host = account.host, slug = error.slug(), %error, "a look at GitHub was not whole");
    record::failed(ctx, &account.host, names, &error).await?;
    let problem = Problem {
        code: error.slug().to_owned(),
        message: format!("{}: {error}", account.host),
        hint: error.hint(),
    };
    Ok(Report { outcome, problem: Some(problem), cost })
}

/// What a failure that ends a look means for the next one.
fn outcome_of(error: &GitHubError) -> Outcome {
    match error {
        GitHubError::RateLimited { until } | GitHubError::SecondaryLimited { until } => {
            Outcome::Limited { until: *until }
        }
        GitHubError::Network(_)
        | GitHubError::Tls(_)
        | GitHubError::Timeout(_)
        | GitHubError::CaptivePortal => Outcome::Offline,
        GitHubError::Auth => Outcome::SignedOut,
        GitHubError::Server { .. } | GitHubError::Truncated(_) | GitHubError::Malformed(_) => Outcome::Failed,
        GitHubError::Forbidden { .. }
        | GitHubError::NotFound
        | GitHubError::Moved { .. }
        | GitHubError::Gone
        | GitHubError::Replaced
        | GitHubError::Validation { .. }
        | GitHubError::Conflict { .. }
        | GitHubError::TooLarge(_) => Outcome::Incomplete,
    }
}

fn is_passing(error: &GitHubError) -> bool {
    outcome_of(error).is_failure()
}

/// The failure of one repository, or of everything there is to ask this host.
pub(super) fn of_one(error: GitHubError) -> Result<GitHubError, Halt> {
    match outcome_of(&error) {
        Outcome::Limited { .. } | Outcome::Offline | Outcome::SignedOut => Err(error.into()),
        Outcome::Whole | Outcome::Incomplete | Outcome::Failed => Ok(error),
    }
}

async fn run(ctx: &Ctx, account: &Account, names: &[RepoName]) -> Result<Vec<(RepoName, GitHubError)>, Halt> {
    let client = ctx.client(account).await.map_err(Halt::Account)?;
    spare(&client)?;
    let reader = client.reader();
    let mut places = load(ctx, &account.host, names).await?;
    reads::meet(&reader, &mut places).await?;
    let at = reads::probe(&reader, &mut places).await?;
    let mut list = reads::lists_due(&places, at, ctx.clock.now());
    if reads::search(&reader, &mut places, &list).await? {
        // More changed than a search shows.
        list = (0..places.len()).collect();
    }
    reads::lists(&client, &mut places, &list).await?;
    reads::closely(&reader, &mut places).await?;
    // What the search missed shows in GitHub's counts.
    let missed: BTreeSet<usize> =
        (0..places.len()).filter(|index| !list.contains(index) && places[*index].is_miscounted()).collect();
    if !missed.is_empty() {
        reads::lists(&client, &mut places, &missed).await?;
        reads::closely(&reader, &mut places).await?;
    }
    let fault = |place: &Place| Some((place.row.name.clone(), place.fault.clone()?));
    let faults = places.iter().filter_map(fault).collect();
    record::seen(ctx, places, at).await?;
    Ok(faults)
}

/// Refuses to go on while the rest of the hour is the person's.
pub(super) fn spare(client: &Client) -> Result<(), Halt> {
    client.reader().reserved().map_or(Ok(()), |until| Err(Halt::Reserved(until)))
}

/// The rows of these repositories with what is known as open in them; a row is made at its first use.
async fn load(ctx: &Ctx, host: &str, names: &[RepoName]) -> Result<Vec<Place>, StoreError> {
    let (host, names) = (host.to_owned(), names.to_vec());
    ctx.store
        .write(Durability::Normal, move |tx| {
            let place = |name: &RepoName| {
                let row = repositories::ensure(tx, &host, name)?;
                let (pulls, issues) = (pulls::open_of(tx, row.id)?, issues::open_of(tx, row.id)?);
                Ok(Place::of(row, pulls, issues))
            };
            names.iter().map(place).collect()
        })
        .await
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::github::NetworkFault;

    #[test]
    fn every_failure_has_its_state_and_its_next_look() {
        let until: DateTime<Utc> = "2026-11-30T10:30:00Z".parse().expect("a time");
        let limited = Outcome::Limited { until };
        let text = || "x".to_owned();
        for (error, outcome) in [
            (GitHubError::RateLimited { until }, limited),
            (GitHubError::SecondaryLimited { until }, limited),
            (GitHubError::Network(NetworkFault::Name(text())), Outcome::Offline),
            (GitHubError::Network(NetworkFault::ProxyPassword(text())), Outcome::Offline),
            (GitHubError::Tls(text()), Outcome::Offline),
            (GitHubError::Timeout(Duration::from_secs(30)), Outcome::Offline),
            (GitHubError::CaptivePortal, Outcome::Offline),
            (GitHubError::Auth, Outcome::SignedOut),
            (GitHubError::Server { status: 502, retry_after: None }, Outcome::Failed),
            (GitHubError::Truncated(text()), Outcome::Failed),
            (GitHubError::Malformed(text()), Outcome::Failed),
            (GitHubError::TooLarge(9), Outcome::Incomplete),
            (GitHubError::Forbidden { said: None }, Outcome::Incomplete),
            (GitHubError::NotFound, Outcome::Incomplete),
            (GitHubError::Moved { to: None }, Outcome::Incomplete),
            (GitHubError::Gone, Outcome::Incomplete),
            (GitHubError::Replaced, Outcome::Incomplete),
            (GitHubError::Validation { said: None }, Outcome::Incomplete),
            (GitHubError::Conflict { said: None }, Outcome::Incomplete),
        ] {
            assert_eq!(outcome_of(&error), outcome, "{error:?}");
        }
    }
}
