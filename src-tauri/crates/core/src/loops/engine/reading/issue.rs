//! One issue, whole.

use std::collections::BTreeSet;

use steward_rules::engine::facts::Listing;
use steward_rules::engine::linked;
use steward_rules::engine::triage::{Comment, Edit, IssueObs, issue_of_branch};
use steward_rules::ids::{PullNumber, RepoName};
use steward_rules::reading::{Reading, Why};

use super::pull::listed;
use super::{Place, ReadFault, account, part};
use crate::github::types::{self, Event, Pull};
use crate::loops::Ctx;
use crate::loops::forge;

/// What every comment of Steward begins a line of its own with.
const MARKER: &str = "<!-- steward:";
/// And of those by which it answers an issue.
const ANSWER: &str = "<!-- steward:triage ";

/// Reads one issue with everything it is judged by. The edits of its text cost one point of GraphQL; all else
/// that has not changed costs none.
pub async fn issue(ctx: &Ctx, place: &Place, number: i64) -> Result<IssueObs, ReadFault> {
    let open = forge::open(ctx, &place.host, &place.repo).await?;
    let (reader, name) = (&open.reader, &place.repo);
    let found = reader.issue(name, number).await?.value;
    let is_pull = found.pull_request.is_some();
    let labels = found.labels.iter().map(|label| label.name().to_owned()).collect();
    let mut issue = IssueObs {
        number,
        is_pull,
        is_open: found.state == "open",
        reporter: account(found.user.as_ref()),
        created_at: found.created_at,
        labels: Reading::known(labels),
        comments: Listing::cut([]),
        edits: Listing::cut([]),
        open_pulls: Listing::cut([]),
    };
    if is_pull {
        return Ok(issue);
    }
    let (comments, edits, events, pulls) = tokio::join!(
        reader.comments(name, number),
        reader.issue_edits(name, number),
        reader.timeline(name, number),
        reader.open_pulls(name),
    );
    issue.comments = listed(part(comments)?, comment);
    if let Ok(edits) = part(edits)? {
        let items =
            edits.edits.iter().map(|edit| Edit { by: account(edit.by.as_ref()), at: edit.at }).collect();
        issue.edits = Listing { items, complete: edits.complete };
    }
    issue.open_pulls = referring(number, &place.host, name, part(events)?, part(pulls)?);
    Ok(issue)
}

fn comment(comment: types::Comment) -> Comment {
    let body = comment.body.as_ref().map(|body| body.as_data()).unwrap_or_default();
    Comment {
        by: account(comment.user.as_ref()),
        has_marker: body.lines().any(|line| line.starts_with(MARKER)),
        is_answer: body.starts_with(ANSWER),
        at: comment.created_at,
    }
}

/// The open pull requests that refer to an issue: by a closing keyword, by their branch, by a cross-reference.
fn referring(
    number: i64,
    host: &str,
    name: &RepoName,
    events: Result<Vec<Event>, Why>,
    pulls: Result<Vec<Pull>, Why>,
) -> Listing<PullNumber> {
    let complete = events.is_ok() && pulls.is_ok();
    let mut found = BTreeSet::new();
    let pulls = pulls.unwrap_or_default();
    for pull in &pulls {
        let body = pull.body.as_ref().map(|body| body.as_data()).unwrap_or_default();
        let is_ours = match (&pull.head.repo, &pull.base.repo) {
            (Some(head), Some(base)) => head.id == base.id,
            (_, _) => false,
        };
        if linked::closes(body, host, name).contains(&number)
            || is_ours && issue_of_branch(&pull.head.branch) == Some(number)
        {
            found.insert(pull.number);
        }
    }
    for event in events.unwrap_or_default() {
        let source = event.source.and_then(|source| source.issue);
        let Some(issue) = source.filter(|_| event.event.as_deref() == Some("cross-referenced")) else {
            continue;
        };
        // Another repository's pull request of this number is not in the list of ours.
        let is_it = |pull: &Pull| pull.number == issue.number && pull.title == issue.title;
        if issue.pull_request.is_some() && issue.state == "open" && pulls.iter().any(is_it) {
            found.insert(issue.number);
        }
    }
    Listing { items: found.into_iter().map(PullNumber).collect(), complete }
}
