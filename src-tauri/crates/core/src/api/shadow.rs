//! The shadow run: what the gate says of pull requests that were merged already (engine.md 16).

use chrono::Duration;
use steward_rules::engine::classify::{Class, classify};
use steward_rules::engine::decision::Decision;
use steward_rules::engine::memory::{HeadSeen, Memory};
use steward_rules::engine::merge::assess;
use steward_rules::engine::setup::{self, Proposal};

use super::error::{ApiError, ErrorCode};
use super::repositories::watched;
use super::requests::RepositoryByName;
use super::{Api, convert, views as v};
use crate::loops::engine::reading::{self, Past, Place, ReadFault};
use crate::store::repositories;

/// Merged pull requests that are judged.
const MERGED: usize = 50;

/// Reads the last merged pull requests and judges each as it stood before, and proposes which checks to
/// require. Nothing is stored, and nothing goes out but reads.
pub async fn run(api: &Api, request: RepositoryByName) -> Result<v::ShadowView, ApiError> {
    let ctx = api.context();
    let config = ctx.config();
    let repository = watched(&config, &request.name)?.clone();
    let host = config.host_of(&repository).to_owned();
    let (name, of) = (repository.name.clone(), host.clone());
    let row = api.store().read(move |tx| repositories::find(tx, &of, &name)).await?;
    let Some(row) = row else {
        return Err(ApiError::new(ErrorCode::Refused, format!("{} was not looked at yet", request.name))
            .hint("`steward repo look` looks now"));
    };
    // By the file as it is written: what of it waits for a confirmation is what the person wants to see.
    let place = Place { host, repo: repository.name, repository_id: row.id, policy: repository.engine };
    let practice = reading::practice(ctx, &place).await?;
    let merged = reading::merged(ctx, &place, MERGED).await?;
    let (proposed_checks, proposal) = proposed(&setup::propose(&practice, &place.policy.required_app));
    Ok(v::ShadowView {
        repository: place.repo.to_string(),
        rows: merged.iter().map(|past| judged(past, &place)).collect(),
        proposed_checks,
        proposal,
    })
}

/// The gate's word on one, as if its head had been there for long.
fn judged(past: &Past, place: &Place) -> v::ShadowRow {
    let (pull, now) = (&past.before, past.before.read_at);
    let head =
        HeadSeen { sha: pull.head.sha.clone(), first_seen_at: now - Duration::days(1), last_seen_at: now };
    let memory = Memory { head: Some(head), ..Memory::default() };
    let decision = assess(pull, &memory, &place.policy, now);
    let class = classify(pull, &place.policy);
    // What is not data is told by what makes it so.
    let message = if matches!(class, Class::Data { .. }) { decision.message() } else { class.message() };
    v::ShadowRow {
        number: pull.number.0,
        title: past.title.one_line(200),
        merged_at: past.merged_at,
        class: class.slug().to_owned(),
        would_merge: matches!(decision, Decision::Merge(_)),
        decision: decision.slug().to_owned(),
        message: convert::line(&message),
    }
}

/// The checks to require and where they come from, as a person reads it.
fn proposed(proposal: &Proposal) -> (Vec<String>, String) {
    let shown = |names: &[String]| names.iter().map(|name| convert::line(name)).collect();
    match proposal {
        Proposal::Required { names } => (shown(names), "GitHub requires these checks already:".to_owned()),
        Proposal::Usual { names, heads } => {
            (shown(names), format!("Each of the last {heads} merged heads had these checks, all well:"))
        }
        Proposal::None { heads } => (
            Vec::new(),
            format!(
                "No check can be proposed: {heads} merged heads were read, and none was well at all of them."
            ),
        ),
        Proposal::Unread(why) => {
            (Vec::new(), convert::line(&format!("No check can be proposed: {}", why.detail)))
        }
    }
}

impl From<ReadFault> for ApiError {
    fn from(fault: ReadFault) -> Self {
        match fault {
            ReadFault::NoAccount(error) => error.into(),
            ReadFault::GitHub(error) => error.into(),
            ReadFault::Store(error) => error.into(),
            ReadFault::Defect(why) => Self::new(ErrorCode::Internal, why),
        }
    }
}
