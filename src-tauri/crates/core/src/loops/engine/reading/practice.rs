//! What a repository does already, for setting it up: what its forge requires, and its last merges.

use chrono::{DateTime, Utc};
use steward_rules::engine::facts::{Listing, PrObs};
use steward_rules::engine::setup::{HEADS, Practice};
use steward_rules::ids::{PullNumber, RepoName};
use steward_rules::reading::{Cause, Reading};
use steward_rules::untrusted::Untrusted;

use super::{Place, ReadFault, fact, part, pull, runs};
use crate::github::types::Pull;
use crate::github::{GitHubError, Reader};
use crate::loops::Ctx;
use crate::loops::forge;

/// Pull requests that are read for a shadow run at most.
const SHADOW: usize = 50;

/// A pull request as it stood before it was merged, as far as that can still be read: its head, what it
/// changed and how it stood to its base then; its labels, checks and reviews as they are now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Past {
    pub before: PrObs,
    pub title: Untrusted,
    pub merged_at: DateTime<Utc>,
}

/// Reads by which checks a repository goes (engine.md 16).
pub async fn practice(ctx: &Ctx, place: &Place) -> Result<Practice, ReadFault> {
    let Some(base) = &place.policy.base else {
        let unread = || Reading::unread(Cause::NoBase, "which branch is the base is not known");
        return Ok(Practice { protection: unread(), rulesets: unread(), merged_heads: Vec::new() });
    };
    let open = forge::open(ctx, &place.host, &place.repo).await?;
    let (reader, name) = (&open.reader, &place.repo);
    let protection = protection(reader, name, base).await?;
    let rulesets = match not_offered(reader.rules(name, base).await) {
        Ok(None) => Reading::known(Vec::new()),
        Ok(Some(rules)) => {
            let checks = rules.iter().filter(|rule| rule.kind == "required_status_checks");
            let names = checks.flat_map(|rule| &rule.parameters.required_status_checks);
            Reading::known(names.map(|check| check.context.clone()).collect())
        }
        Err(error) => fact(Err(error))?,
    };
    let mut merged_heads = Vec::new();
    for pull in reader.merged_pulls(name, base, HEADS).await? {
        merged_heads.push(heads_runs(reader, name, &pull).await?);
    }
    Ok(Practice { protection, rulesets, merged_heads })
}

/// The default branch of a repository that no look has shown yet.
pub async fn default_branch(ctx: &Ctx, host: &str, repo: &RepoName) -> Result<Option<String>, ReadFault> {
    let open = forge::open(ctx, host, repo).await?;
    Ok(open.reader.repo(repo).await?.value.default_branch)
}

async fn heads_runs(
    reader: &Reader,
    name: &RepoName,
    pull: &Pull,
) -> Result<Listing<steward_rules::engine::facts::Run>, ReadFault> {
    let found = reader.check_runs(name, &pull.head.sha).await;
    let found = part(found.and_then(|found| runs::checked(reader, pull, found)))?;
    Ok(runs::of_head(found, Ok(Vec::new())))
}

/// The checks that the classic protection of a branch requires. The branch itself names them to everybody;
/// the protection only to an administrator.
async fn protection(
    reader: &Reader,
    name: &RepoName,
    branch: &str,
) -> Result<Reading<Vec<String>>, ReadFault> {
    let found = match fact(reader.branch(name, branch).await)? {
        Reading::Known { value } => value.value,
        Reading::Unread { why } => return Ok(Reading::Unread { why }),
    };
    if !found.protected {
        return Ok(Reading::known(Vec::new()));
    }
    if let Some(protection) = &found.protection {
        return Ok(Reading::known(protection.checks()));
    }
    match not_offered(reader.protection(name, branch).await) {
        Ok(found) => Ok(Reading::known(found.map(|found| found.checks()).unwrap_or_default())),
        Err(error) => fact(Err(error)),
    }
}

/// `None` where GitHub does not offer it for this kind of repository, so that nothing is required by it.
fn not_offered<T>(answer: Result<T, GitHubError>) -> Result<Option<T>, GitHubError> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(error @ GitHubError::Forbidden { .. }) => {
            let is_it = error.said().is_some_and(|said| said.as_data().starts_with("Upgrade to GitHub"));
            if is_it { Ok(None) } else { Err(error) }
        }
        Err(error) => Err(error),
    }
}

/// What reading the last merges comes by.
#[derive(Debug)]
pub enum Seen {
    /// So many of them are read, one after the other.
    Listed(usize),
    /// The next one; `None` where it cannot be judged.
    Read(Option<Box<Past>>),
}

/// The last merged pull requests, newest first, each as it stood before: what the gate would have done is
/// judged on these. One whose landed commit is not known is left out.
pub async fn merged(ctx: &Ctx, place: &Place, most: usize) -> Result<Vec<Past>, ReadFault> {
    let mut all = Vec::new();
    let keep = |seen| match seen {
        Seen::Read(Some(past)) => all.push(*past),
        Seen::Read(None) | Seen::Listed(_) => {}
    };
    each_merged(ctx, place, most, keep).await?;
    Ok(all)
}

/// [`merged`], told one by one, so that what was read stays when the rest is not.
pub async fn each_merged(
    ctx: &Ctx,
    place: &Place,
    most: usize,
    mut told: impl FnMut(Seen) + Send,
) -> Result<(), ReadFault> {
    let Some(base) = &place.policy.base else { return Ok(()) };
    let open = forge::open(ctx, &place.host, &place.repo).await?;
    let found = open.reader.merged_pulls(&place.repo, base, most.min(SHADOW)).await?;
    told(Seen::Listed(found.len()));
    for listed in found {
        let answer = match part(open.reader.pull(&place.repo, PullNumber(listed.number)).await)? {
            Ok(answer) => answer,
            Err(_) => {
                told(Seen::Read(None));
                continue;
            }
        };
        let (landed, merged_at) = (answer.value.merge_commit_sha.clone(), answer.value.merged_at);
        let title = answer.value.title.clone();
        let (Some(landed), Some(merged_at)) = (landed, merged_at) else {
            told(Seen::Read(None));
            continue;
        };
        let before = pull::whole(ctx, place, &open, answer, Some(&landed)).await?;
        told(Seen::Read(Some(Box::new(Past { before, title, merged_at }))));
    }
    Ok(())
}
