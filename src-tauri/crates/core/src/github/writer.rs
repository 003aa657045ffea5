//! What can be written to GitHub: only with a permit of the guard, exactly what it names, each time once.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use http::Method;
use serde::Serialize;
use steward_rules::deed::{Closes, Deed};
use steward_rules::engine::merge::MergePermit;
use steward_rules::guard::{EffectPermit, Step};
use steward_rules::ids::Sha;

use super::address::encode;
use super::error::GitHubError;
use super::types::{Comment, Landed, Opened};
use super::wire::write::{self, NotDone};
use super::wire::{Got, Wire, parse};

/// What became of a write.
#[derive(Debug)]
#[must_use = "a write whose end nobody looks at is said twice or not at all"]
pub enum Wrote<T> {
    Done(T),
    /// Nothing was sent: before this time no write may be.
    NotYet {
        until: DateTime<Utc>,
    },
    /// It is certainly not done.
    Refused(GitHubError),
    /// It may be done: GitHub is read before anything else happens.
    Unclear(GitHubError),
}

/// Writes to GitHub as one account. Nothing is ever sent a second time from here.
#[derive(Clone)]
pub struct Writer {
    wire: Arc<Wire>,
}

impl Writer {
    pub(super) fn new(wire: Arc<Wire>) -> Self {
        Self { wire }
    }

    /// Comments on the issue or pull request of the permit.
    pub async fn comment(&self, permit: EffectPermit) -> Wrote<Comment> {
        #[derive(Serialize)]
        struct Said<'a> {
            body: &'a str,
        }
        let (Some(number), Deed::Comment { body }) = (self.fits(&permit, Step::Send), permit.deed()) else {
            return foreign();
        };
        let url = format!("{}/issues/{number}/comments", self.at(&permit));
        answered(self.send(Method::POST, url, &Said { body }).await)
    }

    /// Deletes a comment of our own; one that is gone already is done.
    pub async fn delete_comment(&self, permit: EffectPermit, id: u64) -> Wrote<()> {
        let is_comment = matches!(permit.deed(), Deed::Comment { .. });
        if self.fits(&permit, Step::TakeBack).is_none() || !is_comment {
            return foreign();
        }
        let url = format!("{}/issues/comments/{id}", self.at(&permit));
        let deed = write::Deed { method: Method::DELETE, url, body: String::new() };
        match self.wire.write(&deed).await {
            Ok(_) | Err(NotDone::Refused(GitHubError::NotFound | GitHubError::Gone)) => Wrote::Done(()),
            Err(not) => not.into(),
        }
    }

    /// Has the failed jobs of the permit's workflow run made again.
    pub async fn rerun(&self, permit: EffectPermit) -> Wrote<()> {
        let run = match permit.deed() {
            Deed::Rerun { run, .. } | Deed::RetryVerdict { run, .. } => *run,
            Deed::Comment { .. }
            | Deed::Merge { .. }
            | Deed::DeleteBranch { .. }
            | Deed::Label { .. }
            | Deed::Close { .. }
            | Deed::OpenPull { .. }
            | Deed::Push { .. }
            | Deed::Report { .. } => return foreign(),
        };
        if self.fits(&permit, Step::Send).is_none() {
            return foreign();
        }
        let url = format!("{}/actions/runs/{run}/rerun-failed-jobs", self.at(&permit));
        done(self.wire.write(&write::Deed { method: Method::POST, url, body: String::new() }).await)
    }

    /// Merges the pull request that both permits name, at the head that was judged (engine.md 4.1, 9).
    pub async fn merge(&self, permit: EffectPermit, gate: MergePermit) -> Wrote<Landed> {
        #[derive(Serialize)]
        struct Ask<'a> {
            sha: &'a Sha,
            merge_method: &'a str,
        }
        let Deed::Merge { method } = permit.deed() else { return foreign() };
        let is_one = self.fits(&permit, Step::Send) == Some(gate.number().0)
            && permit.repo() == gate.repo()
            && permit.head() == Some(gate.sha())
            && *method == gate.method();
        if !is_one {
            return foreign();
        }
        let url = format!("{}/pulls/{}/merge", self.at(&permit), gate.number());
        let ask = Ask { sha: gate.sha(), merge_method: method.as_str() };
        answered(self.send(Method::PUT, url, &ask).await)
    }

    /// Puts labels of the permit's deed on: those of a pull request that was just opened, or all that are to
    /// be added.
    pub async fn add_labels(&self, permit: EffectPermit, to: i64) -> Wrote<()> {
        #[derive(Serialize)]
        struct Ask<'a> {
            labels: &'a [String],
        }
        let labels = match permit.deed() {
            Deed::Label { add, .. } if permit.number() == Some(to) => add,
            Deed::OpenPull { labels, .. } => labels,
            Deed::Label { .. }
            | Deed::Comment { .. }
            | Deed::Rerun { .. }
            | Deed::RetryVerdict { .. }
            | Deed::Merge { .. }
            | Deed::DeleteBranch { .. }
            | Deed::Close { .. }
            | Deed::Push { .. }
            | Deed::Report { .. } => return foreign(),
        };
        if !self.is_here(&permit, Step::Send) || labels.is_empty() {
            return foreign();
        }
        let url = format!("{}/issues/{to}/labels", self.at(&permit));
        done(self.send(Method::POST, url, &Ask { labels }).await)
    }

    /// Takes one of the labels off that the permit's deed removes; one that is not there is off.
    pub async fn remove_label(&self, permit: EffectPermit, label: &str) -> Wrote<()> {
        let (Some(number), Deed::Label { remove, .. }) = (self.fits(&permit, Step::Send), permit.deed())
        else {
            return foreign();
        };
        if !remove.iter().any(|one| one == label) {
            return foreign();
        }
        // `.` and `..` cannot climb.
        let name = if matches!(label, "." | "..") { label.replace('.', "%2E") } else { encode(label) };
        let url = format!("{}/issues/{number}/labels/{name}", self.at(&permit));
        match self.wire.write(&write::Deed { method: Method::DELETE, url, body: String::new() }).await {
            Ok(_) | Err(NotDone::Refused(GitHubError::NotFound)) => Wrote::Done(()),
            Err(not) => not.into(),
        }
    }

    /// Closes the issue or pull request of the permit.
    pub async fn close(&self, permit: EffectPermit) -> Wrote<()> {
        #[derive(Serialize)]
        struct Ask {
            state: &'static str,
            #[serde(skip_serializing_if = "Option::is_none")]
            state_reason: Option<&'static str>,
        }
        let (Some(number), Deed::Close { what, reason }) = (self.fits(&permit, Step::Send), permit.deed())
        else {
            return foreign();
        };
        let (room, reason) = match what {
            Closes::Issue => ("issues", reason.map(|reason| reason.as_str())),
            Closes::Pull => ("pulls", None),
        };
        let url = format!("{}/{room}/{number}", self.at(&permit));
        done(self.send(Method::PATCH, url, &Ask { state: "closed", state_reason: reason }).await)
    }

    /// Opens the pull request of the permit.
    pub async fn open_pull(&self, permit: EffectPermit) -> Wrote<Opened> {
        #[derive(Serialize)]
        struct Ask<'a> {
            title: &'a str,
            head: &'a str,
            base: &'a str,
            body: &'a str,
        }
        let Deed::OpenPull { branch, base, title, body, .. } = permit.deed() else { return foreign() };
        if !self.is_here(&permit, Step::Send) {
            return foreign();
        }
        let url = format!("{}/pulls", self.at(&permit));
        answered(self.send(Method::POST, url, &Ask { title, head: branch, base, body }).await)
    }

    /// Replaces the body of the report's issue.
    pub async fn report(&self, permit: EffectPermit) -> Wrote<()> {
        #[derive(Serialize)]
        struct Ask<'a> {
            body: &'a str,
        }
        let (Some(number), Deed::Report { body }) = (self.fits(&permit, Step::Send), permit.deed()) else {
            return foreign();
        };
        let url = format!("{}/issues/{number}", self.at(&permit));
        done(self.send(Method::PATCH, url, &Ask { body }).await)
    }

    async fn send(&self, method: Method, url: String, ask: &impl Serialize) -> Result<Got, NotDone> {
        let body = serde_json::to_string(ask).map_err(|error| {
            NotDone::Refused(GitHubError::Malformed(format!("the request is no JSON: {error}")))
        })?;
        self.wire.write(&write::Deed { method, url, body }).await
    }

    /// The subject of a permit for this host, account and step.
    fn fits(&self, permit: &EffectPermit, step: Step) -> Option<i64> {
        permit.number().filter(|_| self.is_here(permit, step))
    }

    fn is_here(&self, permit: &EffectPermit, step: Step) -> bool {
        permit.host().eq_ignore_ascii_case(self.wire.address.host())
            && permit.account().eq_ignore_ascii_case(self.wire.login())
            && permit.step() == step
    }

    fn at(&self, permit: &EffectPermit) -> String {
        let repo = permit.repo();
        format!("{}/repos/{}/{}", self.wire.address.rest(), encode(&repo.owner), encode(&repo.name))
    }
}

/// A permit for something else lets nothing out here.
fn foreign<T>() -> Wrote<T> {
    tracing::error!("a permit was shown for another deed, host, account or step; nothing was sent");
    Wrote::Refused(GitHubError::Forbidden { said: None })
}

fn done(got: Result<Got, NotDone>) -> Wrote<()> {
    match got {
        Ok(_) => Wrote::Done(()),
        Err(not) => not.into(),
    }
}

/// An answer that cannot be read does not say that nothing was done.
fn answered<T: serde::de::DeserializeOwned>(got: Result<Got, NotDone>) -> Wrote<T> {
    match got {
        Ok(got) => match parse(&got.body) {
            Ok(value) => Wrote::Done(value),
            Err(error) => Wrote::Unclear(error),
        },
        Err(not) => not.into(),
    }
}

impl<T> From<NotDone> for Wrote<T> {
    fn from(not: NotDone) -> Self {
        match not {
            NotDone::NotYet { until } => Self::NotYet { until },
            NotDone::Refused(error) => Self::Refused(error),
            NotDone::Unclear(error) => Self::Unclear(error),
        }
    }
}
