//! What a look asks of GitHub, step by step. What fails about one repository stays with it; what fails for
//! all ends the look.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use steward_rules::ids::PullNumber;
use steward_rules::observing::{self, IssueState, Listing, PullState};

use super::look::{Halt, of_one, spare};
use super::place::{Place, PullChange};
use crate::github::types::{Issue, IssueLabel};
use crate::github::{Client, GitHubError, Reader, convert};
use crate::store::issues::IssueRow;

/// Disappeared issues that are read directly in one look; the others wait for the next.
const ISSUES_AT_ONCE: usize = 50;

/// Learns the ids of repositories that were never seen.
pub(super) async fn meet(reader: &Reader, places: &mut [Place]) -> Result<(), Halt> {
    for place in places.iter_mut().filter(|place| place.node_id.is_none()) {
        match reader.repo(&place.name).await {
            Ok(answer) => place.node_id = Some(answer.value.node_id),
            Err(error) => place.fault = Some(of_one(error)?),
        }
    }
    Ok(())
}

/// Why a repository that was seen before is not there: another may have its name now. Nothing that was seen
/// or allowed of the one is true of the other.
async fn lost(reader: &Reader, place: &Place) -> Result<GitHubError, Halt> {
    match reader.repo(&place.row.name).await {
        Ok(answer) if place.node_id.as_ref() != Some(&answer.value.node_id) => Ok(GitHubError::Replaced),
        Ok(_) => Ok(GitHubError::NotFound),
        Err(error) => of_one(error),
    }
}

/// Looks at everything that is known; gives GitHub's time when it began to answer.
pub(super) async fn probe(reader: &Reader, places: &mut [Place]) -> Result<DateTime<Utc>, Halt> {
    let (mut pulls, mut pull_ids, mut homes, mut home_ids) = (vec![], vec![], vec![], vec![]);
    for (index, place) in places.iter().enumerate() {
        let Some(node_id) = &place.node_id else { continue };
        homes.push(index);
        home_ids.push(node_id.clone());
        pulls.extend(place.known.keys().map(|number| (index, *number)));
        pull_ids.extend(place.known.values().map(|pull| pull.node_id.clone()));
    }
    let seen = reader.probe(&pull_ids, &home_ids).await?;
    for (index, glimpse) in homes.into_iter().zip(seen.repositories) {
        let place = &mut places[index];
        match glimpse {
            Ok(glimpse) => {
                if let Some(name) = steward_rules::ids::RepoName::parse(&glimpse.full_name) {
                    place.name = name;
                }
                place.glimpse = Some(glimpse);
            }
            Err(GitHubError::NotFound) => place.fault = Some(lost(reader, place).await?),
            Err(error) => place.fault = Some(of_one(error)?),
        }
    }
    for ((index, number), glimpse) in pulls.into_iter().zip(seen.pulls) {
        if let Some((found, _)) = &glimpse
            && found.0 != number
        {
            return Err(GitHubError::Malformed("it answers for another pull request".to_owned()).into());
        }
        // What is not shown of a repository that is not shown either says nothing.
        if glimpse.is_some() || places[index].is_well() {
            places[index].looked_at(number, glimpse.map(|(_, glimpse)| glimpse));
        }
    }
    Ok(seen.at)
}

/// Whose lists are read to their ends in this look: all that must, and one of those that are merely old.
pub(super) fn lists_due(places: &[Place], at: DateTime<Utc>, now: DateTime<Utc>) -> BTreeSet<usize> {
    let (mut due, mut old) = (BTreeSet::new(), Vec::new());
    for (index, place) in places.iter().enumerate().filter(|(_, place)| place.is_well()) {
        match observing::listing(&place.row.progress, at, now) {
            Some(Listing::First | Listing::Behind) => drop(due.insert(index)),
            Some(Listing::Old) => old.push((place.row.progress.listed_at, index)),
            None => {}
        }
    }
    due.extend(old.into_iter().min().map(|(_, index)| index));
    due
}

/// Searches the repositories whose lists are not read; true when more changed than a search shows.
pub(super) async fn search(
    reader: &Reader,
    places: &mut [Place],
    listed: &BTreeSet<usize>,
) -> Result<bool, Halt> {
    let searched = |(index, place): &(usize, &Place)| place.is_well() && !listed.contains(index);
    let by_name: BTreeMap<String, usize> = places
        .iter()
        .enumerate()
        .filter(searched)
        .map(|(index, place)| (place.name.to_string().to_ascii_lowercase(), index))
        .collect();
    let since =
        observing::search_from(by_name.values().filter_map(|index| places[*index].row.progress.searched_to));
    let Some(since) = since else { return Ok(false) };
    let names: Vec<_> = by_name.values().map(|index| places[*index].name.clone()).collect();
    let found = reader.find(&names, since).await?;
    for pull in &found.pulls {
        if let Some(index) = by_name.get(&pull.repository.to_ascii_lowercase()) {
            places[*index].shown(pull.number, &pull.node_id, pull.updated_at);
        }
    }
    for issue in found.issues {
        if let Some(index) = by_name.get(&issue.repository.to_ascii_lowercase()) {
            let place = &mut places[*index];
            place.issue_shown(IssueRow {
                repository: place.row.id,
                number: issue.number,
                node_id: issue.node_id,
                title: issue.title,
                author: issue.author,
                state: issue.state,
                labels: issue.labels,
                updated_at: issue.updated_at,
                seen_at: issue.updated_at,
            });
        }
    }
    Ok(found.cut)
}

/// Reads the lists of these repositories to their ends.
pub(super) async fn lists(
    client: &Client,
    places: &mut [Place],
    which: &BTreeSet<usize>,
) -> Result<(), Halt> {
    let reader = client.reader();
    for index in which {
        let place = &mut places[*index];
        if !place.is_well() {
            continue;
        }
        spare(client)?;
        match list(&reader, place).await {
            Ok(()) => place.listed = true,
            Err(error) => place.fault = Some(of_one(error)?),
        }
    }
    Ok(())
}

async fn list(reader: &Reader, place: &mut Place) -> Result<(), GitHubError> {
    let pulls = reader.open_pulls(&place.name).await?;
    let issues = reader.open_issues(&place.name).await?;
    for pull in &pulls {
        let untold = || GitHubError::Malformed("not what is expected at updated_at".to_owned());
        place.shown(pull.number, &pull.node_id, pull.updated_at.ok_or_else(untold)?);
    }
    let listed: Vec<i64> = pulls.iter().map(|pull| pull.number).collect();
    let open: Vec<i64> = place.known.keys().copied().collect();
    for number in observing::unlisted(&open, &listed) {
        // What this very look found closed is no surprise.
        if !place.changes.contains_key(&number) && !place.wanted.contains_key(&number) {
            place.missing.insert(number);
        }
    }
    let issues: Vec<Issue> = issues.into_iter().filter(|issue| issue.pull_request.is_none()).collect();
    let listed: Vec<i64> = issues.iter().map(|issue| issue.number).collect();
    let open: Vec<i64> = place.known_issues.keys().copied().collect();
    for number in observing::unlisted(&open, &listed) {
        if !place.issues.contains_key(&number) {
            place.missing_issues.insert(number);
        }
    }
    for issue in issues {
        let state = issue_state(&issue)?;
        let row = issue_row(place, issue, state);
        place.issue_shown(row);
    }
    Ok(())
}

/// Reads what changed in detail, and what disappeared directly.
pub(super) async fn closely(reader: &Reader, places: &mut [Place]) -> Result<(), Halt> {
    details(reader, places).await?;
    for place in places.iter_mut() {
        for number in std::mem::take(&mut place.missing) {
            match direct(reader, place, number).await {
                Ok(Some(change)) => drop(place.changes.insert(number, change)),
                Ok(None) => drop(place.unconfirmed.insert(number)),
                Err(error) => {
                    place.unconfirmed.insert(number);
                    place.fault = Some(of_one(error)?);
                }
            }
        }
        let missing: Vec<i64> = place.missing_issues.iter().copied().take(ISSUES_AT_ONCE).collect();
        for number in missing {
            place.missing_issues.remove(&number);
            match direct_issue(reader, place, number).await {
                Ok(row) => drop(place.issues.insert(number, row)),
                Err(error) => place.fault = Some(of_one(error)?),
            }
        }
    }
    Ok(())
}

async fn details(reader: &Reader, places: &mut [Place]) -> Result<(), Halt> {
    let (mut wanted, mut ids) = (Vec::new(), Vec::new());
    for (index, place) in places.iter_mut().enumerate() {
        for (number, node_id) in std::mem::take(&mut place.wanted) {
            wanted.push((index, number));
            ids.push(node_id);
        }
    }
    if ids.is_empty() {
        return Ok(());
    }
    for ((index, number), detail) in wanted.into_iter().zip(reader.pull_details(&ids).await?) {
        let place = &mut places[index];
        match detail {
            Ok(Some(detail)) if detail.number.0 != number => {
                return Err(GitHubError::Malformed("it answers for another pull request".to_owned()).into());
            }
            Ok(Some(detail)) => {
                place.changes.insert(number, PullChange::Detail(Box::new(detail)));
            }
            // A search may show what is gone already; only what was known has to be asked after.
            Ok(None) if place.known.contains_key(&number) => drop(place.missing.insert(number)),
            Ok(None) => {}
            Err(error) => {
                place.unconfirmed.insert(number);
                place.fault = Some(of_one(error)?);
            }
        }
    }
    Ok(())
}

/// Reads a pull request that disappeared. `None`: GitHub says that it is open, so nothing is concluded.
async fn direct(reader: &Reader, place: &Place, number: i64) -> Result<Option<PullChange>, GitHubError> {
    match reader.pull(&place.name, PullNumber(number)).await {
        Ok(answer) => {
            use steward_rules::review::facts::PullState as Fact;
            let state = match convert::pull_state(&answer.value)? {
                Fact::Open => return Ok(None),
                Fact::Merged => PullState::Merged,
                Fact::Closed => PullState::Closed,
            };
            Ok(Some(PullChange::Ended { state, updated_at: answer.value.updated_at }))
        }
        Err(GitHubError::NotFound | GitHubError::Gone) => Ok(Some(PullChange::Gone)),
        Err(error) => Err(error),
    }
}

/// Reads an issue that left the list.
async fn direct_issue(reader: &Reader, place: &Place, number: i64) -> Result<IssueRow, GitHubError> {
    let gone =
        || place.known_issues.get(&number).map(|known| IssueRow { state: IssueState::Gone, ..known.clone() });
    match reader.issue(&place.name, number).await {
        // A transferred issue answers from where it is now.
        Ok(answer) if answer.value.number != number || answer.moved_to.is_some() => {
            gone().ok_or(GitHubError::NotFound)
        }
        Ok(answer) => {
            let state = issue_state(&answer.value)?;
            Ok(issue_row(place, answer.value, state))
        }
        Err(error @ (GitHubError::NotFound | GitHubError::Gone)) => gone().ok_or(error),
        Err(error) => Err(error),
    }
}

fn issue_state(issue: &Issue) -> Result<IssueState, GitHubError> {
    match issue.state.as_str() {
        "open" => Ok(IssueState::Open),
        "closed" => Ok(IssueState::Closed),
        _ => Err(GitHubError::Malformed("not what is expected at state".to_owned())),
    }
}

fn issue_row(place: &Place, issue: Issue, state: IssueState) -> IssueRow {
    IssueRow {
        repository: place.row.id,
        number: issue.number,
        node_id: issue.node_id,
        title: issue.title,
        author: issue.user.map_or_else(|| "ghost".to_owned(), |user| user.login),
        state,
        labels: issue.labels.iter().map(IssueLabel::name).map(str::to_owned).collect(),
        updated_at: issue.updated_at,
        seen_at: issue.updated_at,
    }
}
