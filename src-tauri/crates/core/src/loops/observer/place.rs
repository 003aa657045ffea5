//! One repository during a look: what is known of it, what was seen, what is still to be read.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use steward_rules::ids::RepoName;
use steward_rules::observing::{self, Count, Glimpse, IssueState, Look, PullState};

use crate::github::GitHubError;
use crate::github::probe::{PullDetail, RepositoryGlimpse};
use crate::store::issues::IssueRow;
use crate::store::pulls::PullRow;
use crate::store::repositories::{Progress, RepositoryRow};

/// What a look found out about one pull request.
#[derive(Debug, Clone)]
pub(super) enum PullChange {
    /// What the cheap look shows.
    Noted(Glimpse),
    Detail(Box<PullDetail>),
    /// Read directly after it disappeared.
    Ended {
        state: PullState,
        updated_at: Option<DateTime<Utc>>,
    },
    /// GitHub has it no more.
    Gone,
}

impl PullChange {
    fn is_open(&self) -> bool {
        match self {
            Self::Noted(seen) => seen.state == PullState::Open,
            Self::Detail(detail) => detail.seen.state == PullState::Open,
            Self::Ended { state, .. } => *state == PullState::Open,
            Self::Gone => false,
        }
    }
}

/// One repository during a look.
pub(super) struct Place {
    pub row: RepositoryRow,
    /// Known from before, or just learnt.
    pub node_id: Option<String>,
    /// What GitHub calls it now.
    pub name: RepoName,
    pub glimpse: Option<RepositoryGlimpse>,
    /// Why this look at it is not whole.
    pub fault: Option<GitHubError>,
    /// True when its lists were read to their ends.
    pub listed: bool,
    pub changes: BTreeMap<i64, PullChange>,
    pub issues: BTreeMap<i64, IssueRow>,
    /// Pull requests that this look did not confirm.
    pub unconfirmed: BTreeSet<i64>,
    /// Known as open before this look.
    pub known: BTreeMap<i64, PullRow>,
    pub known_issues: BTreeMap<i64, IssueRow>,
    /// Numbers and node ids of what is read in detail.
    pub wanted: BTreeMap<i64, String>,
    /// What is read directly.
    pub missing: BTreeSet<i64>,
    pub missing_issues: BTreeSet<i64>,
}

impl Place {
    pub fn of(row: RepositoryRow, pulls: Vec<PullRow>, issues: Vec<IssueRow>) -> Self {
        let now = row.seen.as_ref().and_then(|seen| RepoName::parse(seen.now_called.as_ref()?));
        Self {
            node_id: row.seen.as_ref().map(|seen| seen.node_id.clone()),
            name: now.unwrap_or_else(|| row.name.clone()),
            row,
            glimpse: None,
            fault: None,
            listed: false,
            changes: BTreeMap::new(),
            issues: BTreeMap::new(),
            unconfirmed: BTreeSet::new(),
            known: pulls.into_iter().map(|pull| (pull.number.0, pull)).collect(),
            known_issues: issues.into_iter().map(|issue| (issue.number, issue)).collect(),
            wanted: BTreeMap::new(),
            missing: BTreeSet::new(),
            missing_issues: BTreeSet::new(),
        }
    }

    /// True when GitHub shows it and nothing failed about it yet.
    pub fn is_well(&self) -> bool {
        self.glimpse.is_some() && self.fault.is_none()
    }

    /// Takes what the cheap look shows of a pull request known as open.
    pub fn looked_at(&mut self, number: i64, seen: Option<Glimpse>) {
        let Some(known) = self.known.get(&number) else { return };
        match (observing::look(&known.glimpse(), seen.as_ref()), seen) {
            (Look::Same, _) => {}
            (Look::Noted, Some(seen)) => drop(self.changes.insert(number, PullChange::Noted(seen))),
            (Look::Detail, _) => drop(self.wanted.insert(number, known.node_id.clone())),
            (Look::Older, _) => drop(self.unconfirmed.insert(number)),
            (Look::Missing, _) | (Look::Noted, None) => drop(self.missing.insert(number)),
        }
    }

    /// Takes a pull request that a list or a search shows as open.
    pub fn shown(&mut self, number: i64, node_id: &str, updated_at: DateTime<Utc>) {
        let known = self.known.get(&number).map(PullRow::glimpse);
        let read = matches!(self.changes.get(&number), Some(PullChange::Detail(_)));
        if !read && observing::is_news(known.as_ref(), updated_at) {
            self.wanted.insert(number, node_id.to_owned());
        }
    }

    /// Takes an issue as a list or a search shows it; an older answer says nothing.
    pub fn issue_shown(&mut self, issue: IssueRow) {
        let known = self.issues.get(&issue.number).or_else(|| self.known_issues.get(&issue.number));
        let says = known.is_none_or(|known| {
            issue.updated_at > known.updated_at
                || (issue.updated_at == known.updated_at && !same_issue(known, &issue))
        });
        if says {
            self.issues.insert(issue.number, issue);
        }
    }

    fn count(&self, theirs: &RepositoryGlimpse) -> (Count, Count) {
        let left = |number: &&i64| self.changes.get(*number).is_none_or(PullChange::is_open);
        let new = |number: &&i64| !self.known.contains_key(*number) && self.changes[*number].is_open();
        let pulls = self.known.keys().filter(left).count() + self.changes.keys().filter(new).count();
        let open = |issue: &IssueRow| issue.state == IssueState::Open;
        let left = |number: &&i64| self.issues.get(*number).is_none_or(open);
        let new = |number: &&i64| !self.known_issues.contains_key(*number) && open(&self.issues[*number]);
        let issues = self.known_issues.keys().filter(left).count() + self.issues.keys().filter(new).count();
        (
            Count { theirs: theirs.open_pulls, ours: pulls as i64 },
            Count { theirs: theirs.open_issues, ours: issues as i64 },
        )
    }

    /// True when GitHub counts other open ones than this look knows.
    pub fn is_miscounted(&self) -> bool {
        let Some(glimpse) = self.glimpse.as_ref().filter(|_| self.is_well()) else { return false };
        let (pulls, issues) = self.count(glimpse);
        observing::is_miscounted(&self.row.progress, pulls, issues)
    }

    /// How far the lists are known after this look.
    pub fn progress(&self, at: DateTime<Utc>, now: DateTime<Utc>) -> Progress {
        let before = Progress { searched_to: Some(at), ..self.row.progress };
        match &self.glimpse {
            // With some still to be read, the lists are read again: the counts differ until the last is.
            Some(glimpse) if self.listed && self.missing_issues.is_empty() => {
                let (pulls, issues) = self.count(glimpse);
                let (extra_pulls, extra_issues) = (pulls.extra(), issues.extra());
                Progress { listed_at: Some(now), extra_pulls, extra_issues, ..before }
            }
            Some(_) | None => before,
        }
    }
}

fn same_issue(known: &IssueRow, seen: &IssueRow) -> bool {
    known.state == seen.state && known.title == seen.title && known.labels == seen.labels
}
