//! What people and the seat said of a pull request.

use std::collections::BTreeMap;

use steward_rules::engine::facts::{Labelled, Listing, PersonReview, ReviewState, SeatReview};
use steward_rules::ids::{PullNumber, RepoName};
use steward_rules::reading::{Cause, Reading, Why};
use steward_rules::review::lifecycle;

use super::{Place, ReadFault, account, fact, part};
use crate::github::types::{Event, Review};
use crate::github::{GitHubError, Reader};
use crate::loops::Ctx;
use crate::store::{StoreError, reviews as stored, tasks};

/// People whose rights are asked for one pull request; of further ones they stay unknown.
const PEOPLE: usize = 20;
/// Reviews of one task that are looked through for the newest published one.
const REVIEWS: u32 = 100;

/// Who put which label on, and when.
pub(super) async fn labelled(
    reader: &Reader,
    name: &RepoName,
    number: i64,
) -> Result<Reading<Vec<Labelled>>, ReadFault> {
    let events = fact(reader.timeline(name, number).await)?;
    Ok(match events {
        Reading::Unread { why } => Reading::Unread { why },
        Reading::Known { value } => {
            let labelled = value.iter().filter(|event| event.event.as_deref() == Some("labeled"));
            labelled.map(of_event).collect::<Result<Vec<_>, Why>>().into()
        }
    })
}

fn of_event(event: &Event) -> Result<Labelled, Why> {
    let odd = || Why::new(Cause::ForgeFailed, "GitHub does not say which label was put on, or when");
    Ok(Labelled {
        label: event.label.as_ref().ok_or_else(odd)?.name.clone(),
        actor: account(event.actor.as_ref()),
        at: event.created_at.ok_or_else(odd)?,
    })
}

/// The reviews, and of those who approved whether they may write.
pub(super) async fn reviews(
    reader: &Reader,
    name: &RepoName,
    number: PullNumber,
) -> Result<Listing<PersonReview>, ReadFault> {
    let found = match part(reader.reviews(name, number).await)? {
        Ok(found) => found,
        Err(_) => return Ok(Listing::cut([])),
    };
    let mut rights: BTreeMap<String, Reading<bool>> = BTreeMap::new();
    for review in found.iter().filter(|review| review.state == "APPROVED") {
        let Some(user) = &review.user else { continue };
        if rights.contains_key(&user.login) {
            continue;
        }
        let right = if rights.len() < PEOPLE {
            may_write(reader, name, &user.login).await?
        } else {
            Reading::unread(Cause::TooLarge, "more people approved than are asked about")
        };
        rights.insert(user.login.clone(), right);
    }
    let mut list = Listing::whole([]);
    for review in &found {
        match of_review(review, &rights) {
            Some(review) => list.items.push(review),
            // A word to come may ask for changes.
            None => list.complete = false,
        }
    }
    Ok(list)
}

async fn may_write(reader: &Reader, name: &RepoName, login: &str) -> Result<Reading<bool>, ReadFault> {
    match reader.permission(name, login).await {
        // Nobody of this name has any right there.
        Err(GitHubError::NotFound) => Ok(Reading::known(false)),
        answer => Ok(fact(answer)?.map(|answer| answer.value.can_write())),
    }
}

fn of_review(review: &Review, rights: &BTreeMap<String, Reading<bool>>) -> Option<PersonReview> {
    let state = match review.state.as_str() {
        "APPROVED" => ReviewState::Approved,
        "CHANGES_REQUESTED" => ReviewState::ChangesRequested,
        "COMMENTED" => ReviewState::Commented,
        "DISMISSED" => ReviewState::Dismissed,
        "PENDING" => ReviewState::Pending,
        _ => return None,
    };
    let login = review.user.as_ref().map(|user| user.login.as_str());
    let can_write = match login.and_then(|login| rights.get(login)) {
        Some(right) => right.clone(),
        None => Reading::unread(Cause::NotReadYet, "only of those who approved it is asked"),
    };
    Some(PersonReview {
        id: review.id,
        by: account(review.user.as_ref()),
        can_write,
        state,
        head: review.commit_id.clone(),
        at: review.submitted_at,
    })
}

/// The newest published review of the seat.
pub(in crate::loops::engine) async fn seat(
    ctx: &Ctx,
    place: &Place,
    number: PullNumber,
) -> Result<Reading<Option<SeatReview>>, StoreError> {
    let (host, name) = (place.host.clone(), place.repo.clone());
    let found = ctx
        .store
        .read(move |tx| -> Result<_, StoreError> {
            let Some(task) = tasks::find_by_pull(tx, &host, &name, number)? else { return Ok(None) };
            let reviews = stored::list(tx, Some(task.id), REVIEWS)?;
            let published = reviews
                .into_iter()
                .filter(|review| review.state == lifecycle::ReviewState::Published)
                .max_by_key(|review| review.id.0);
            Ok(published.and_then(|review| {
                let verdict = review.verdict?;
                Some(SeatReview { head: review.sha, verdict, stale: review.stale_reason.is_some() })
            }))
        })
        .await?;
    Ok(Reading::known(found))
}
