//! What GitHub shows of a deed: done, not done, done in part, or of no use any more.

use steward_rules::deed::{Deed, marker_of};
use steward_rules::ids::{RepoName, Sha};
use steward_rules::outgoing;

use crate::github::types::{Comment, Issue, Pull};
use crate::github::{GitHubError, Reader};
use crate::store::effects::{EffectRow, State, Why};

use super::look::CLOCKS;

/// How far a deed was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// Our own comments with its marker, lowest id first, and whether one was deleted since it may have been
    /// there.
    Comments {
        own: Vec<Comment>,
        deleted_since: bool,
    },
    Not,
    Part(Part),
    Done(Made),
    /// It was done, and a person took it back since.
    Undone(String),
    /// What it starts from is not so any more.
    Against(Why),
}

/// The write that is left of a deed of more than one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// The labels of the pull request that was opened.
    PullLabels(i64),
    /// Labels to put on.
    Add,
    /// A label to take off.
    Remove(String),
}

impl Part {
    /// The journal's word for it.
    pub fn name(&self) -> String {
        match self {
            Self::PullLabels(_) => "labels".to_owned(),
            Self::Add => "add".to_owned(),
            Self::Remove(label) => format!("remove {label}"),
        }
    }
}

/// What GitHub made of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Made {
    pub id: Option<u64>,
    pub address: Option<String>,
}

/// The issue or pull request, as it was just read.
pub(super) enum Item {
    Pull(Box<Pull>),
    Issue(Box<Issue>),
    None,
}

/// Looks for the trace of a deed.
pub(super) async fn of(
    reader: &Reader,
    row: &EffectRow,
    deed: &Deed,
    repo: &RepoName,
    item: &Item,
) -> Result<Found, GitHubError> {
    match deed {
        Deed::Comment { body } => comments(reader, row, body, repo).await,
        Deed::Rerun { run, attempt } | Deed::RetryVerdict { run, attempt, .. } => {
            let seen = match reader.run_attempt(repo, *run).await {
                Ok(seen) => seen,
                Err(GitHubError::NotFound) => {
                    return Ok(Found::Against(Why::new("cannot_rerun", "GitHub has no such workflow run")));
                }
                Err(error) => return Err(error),
            };
            if row.head.as_ref() != Some(&seen.head_sha) {
                return Ok(Found::Against(Why::new("head_moved", "the run is of another commit")));
            }
            let made = Made { id: Some(seen.id), address: web(seen.html_url) };
            Ok(if seen.run_attempt > *attempt { Found::Done(made) } else { Found::Not })
        }
        Deed::Merge { .. } => Ok(merged(row, item)),
        Deed::DeleteBranch { branch, at } => Ok(match tip(reader, repo, branch).await? {
            None => Found::Done(Made::default()),
            Some(tip) if tip == *at => Found::Not,
            Some(_) => Found::Against(moved(branch)),
        }),
        Deed::Label { add, remove } => labels(reader, row, add, remove, repo).await,
        Deed::Close { .. } => Ok(match item {
            Item::Pull(pull) if pull.state != "open" => Found::Done(Made::default()),
            Item::Issue(issue) if issue.state != "open" => Found::Done(Made::default()),
            Item::Pull(_) | Item::Issue(_) | Item::None => Found::Not,
        }),
        Deed::OpenPull { branch, at, base, labels, .. } => {
            opened(reader, row, (branch, at, base), labels, repo).await
        }
        Deed::Push { branch, from, to } => Ok(match tip(reader, repo, branch).await? {
            Some(tip) if tip == *to => Found::Done(Made::default()),
            tip if tip == *from => Found::Not,
            _ => Found::Against(moved(branch)),
        }),
        Deed::Report { body } => Ok(match item {
            Item::Issue(issue) => {
                let is_same = issue.body.as_ref().is_some_and(|now| now.as_data().trim() == body.trim());
                if is_same { Found::Done(Made::default()) } else { Found::Not }
            }
            Item::Pull(_) | Item::None => {
                Found::Against(Why::new("not_found", "there is no issue to report in"))
            }
        }),
    }
}

async fn comments(
    reader: &Reader,
    row: &EffectRow,
    body: &str,
    repo: &RepoName,
) -> Result<Found, GitHubError> {
    let (Some(number), Some(marker)) = (row.number, marker_of(body)) else {
        return Ok(Found::Against(Why::new("no_marker", "it could not be found again")));
    };
    let all = reader.comments(repo, number).await?;
    let is_own = |comment: &Comment| {
        let author = comment.user.as_ref().map(|user| user.login.as_str());
        comment
            .body
            .as_ref()
            .is_some_and(|body| outgoing::is_marked(marker, &row.account, author, body.as_data()))
    };
    let mut own: Vec<Comment> = all.into_iter().filter(is_own).collect();
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
    Ok(Found::Comments { own, deleted_since })
}

fn merged(row: &EffectRow, item: &Item) -> Found {
    let Item::Pull(pull) = item else { return Found::Not };
    match (&pull.merged_at, &pull.merge_commit_sha) {
        (Some(_), Some(commit)) if row.head.as_ref() == Some(&pull.head.sha) => Found::Done(Made {
            id: None,
            address: Some(format!("https://{}/{}/commit/{commit}", row.host, row.repository)),
        }),
        _ => Found::Not,
    }
}

async fn labels(
    reader: &Reader,
    row: &EffectRow,
    add: &[String],
    remove: &[String],
    repo: &RepoName,
) -> Result<Found, GitHubError> {
    let Some(number) = row.number else { return Ok(Found::Not) };
    let issue = reader.issue(repo, number).await?.value;
    let has = |wanted: &String| issue.labels.iter().any(|label| same(label.name(), wanted));
    if !add.iter().all(has) {
        return Ok(Found::Part(Part::Add));
    }
    // In GitHub's own spelling, which is the one its address has.
    let off = |label: &&crate::github::types::IssueLabel| remove.iter().any(|one| same(label.name(), one));
    let left =
        issue.labels.iter().find(off).and_then(|label| remove.iter().find(|one| same(label.name(), one)));
    Ok(match left {
        Some(label) => Found::Part(Part::Remove(label.clone())),
        None => Found::Done(Made::default()),
    })
}

/// GitHub compares labels without case.
fn same(a: &str, b: &str) -> bool {
    a.to_lowercase() == b.to_lowercase()
}

async fn opened(
    reader: &Reader,
    row: &EffectRow,
    (branch, at, base): (&str, &Sha, &str),
    labels: &[String],
    repo: &RepoName,
) -> Result<Found, GitHubError> {
    let mut pulls = reader.pulls_of_head(repo, branch).await?;
    pulls.retain(|pull| {
        let home = pull.head.repo.as_ref().and_then(|home| RepoName::parse(&home.full_name));
        pull.head.branch == branch && pull.base.branch == base && home.as_ref() == Some(repo)
    });
    if let Some(open) = pulls.iter().filter(|pull| pull.state == "open").max_by_key(|pull| pull.number) {
        let has = |wanted: &String| open.labels.iter().any(|label| same(&label.name, wanted));
        if !labels.iter().all(has) {
            return Ok(Found::Part(Part::PullLabels(open.number)));
        }
        return Ok(Found::Done(opened_as(row, open.number)));
    }
    if let Some(ended) = pulls.iter().filter(|pull| pull.head.sha == *at).max_by_key(|pull| pull.number) {
        if ended.merged_at.is_some() {
            return Ok(Found::Done(opened_as(row, ended.number)));
        }
        // A person who closed it, whoever opened it, said no to this change.
        return Ok(Found::Undone("a pull request of this very change was closed".to_owned()));
    }
    Ok(match tip(reader, repo, branch).await? {
        Some(tip) if tip == *at => Found::Not,
        _ => Found::Against(moved(branch)),
    })
}

fn opened_as(row: &EffectRow, number: i64) -> Made {
    let address = format!("https://{}/{}/pull/{number}", row.host, row.repository);
    Made { id: u64::try_from(number).ok(), address: Some(address) }
}

async fn tip(reader: &Reader, repo: &RepoName, branch: &str) -> Result<Option<Sha>, GitHubError> {
    match reader.branch(repo, branch).await {
        Ok(branch) => Ok(Some(branch.value.commit.sha)),
        // The same status stands for a repository the token may not see.
        Err(GitHubError::NotFound) => reader.repo(repo).await.map(|_| None),
        Err(error) => Err(error),
    }
}

fn moved(branch: &str) -> Why {
    let branch = steward_rules::untrusted::Untrusted::new(branch).one_line(100);
    Why::new("lease", format!("{branch} stands elsewhere by now"))
}

fn web(address: Option<String>) -> Option<String> {
    address.filter(|url| url.starts_with("http"))
}

impl Found {
    /// Where a comment of ours is to be looked at.
    pub fn address(&self, id: u64) -> Option<String> {
        match self {
            Self::Comments { own, .. } => web(own.iter().find(|comment| comment.id == id)?.html_url.clone()),
            Self::Done(made) => made.address.clone(),
            Self::Not | Self::Part(_) | Self::Undone(_) | Self::Against(_) => None,
        }
    }
}
