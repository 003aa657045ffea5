//! What can be written to GitHub: only with a permit of the guard, each time once.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use http::Method;
use serde::Serialize;
use steward_rules::guard::{EffectPermit, Step};

use super::address::encode;
use super::error::GitHubError;
use super::types::Comment;
use super::wire::write::{Deed, NotDone};
use super::wire::{Wire, parse};

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
    pub async fn comment(&self, permit: EffectPermit, body: &str) -> Wrote<Comment> {
        #[derive(Serialize)]
        struct Said<'a> {
            body: &'a str,
        }
        let Some(number) = self.fits(&permit, Step::Send) else { return foreign() };
        let Ok(body) = serde_json::to_string(&Said { body }) else { return foreign() };
        let url = format!("{}/issues/{number}/comments", self.at(&permit));
        match self.wire.write(&Deed { method: Method::POST, url, body }).await {
            Ok(got) => match parse(&got.body) {
                Ok(comment) => Wrote::Done(comment),
                Err(error) => Wrote::Unclear(error),
            },
            Err(not) => not.into(),
        }
    }

    /// Deletes a comment of our own; one that is gone already is done.
    pub async fn delete_comment(&self, permit: EffectPermit, id: u64) -> Wrote<()> {
        if self.fits(&permit, Step::TakeBack).is_none() {
            return foreign();
        }
        let url = format!("{}/issues/comments/{id}", self.at(&permit));
        match self.wire.write(&Deed { method: Method::DELETE, url, body: String::new() }).await {
            Ok(_) | Err(NotDone::Refused(GitHubError::NotFound | GitHubError::Gone)) => Wrote::Done(()),
            Err(not) => not.into(),
        }
    }

    /// The subject of a permit for this host, account and step.
    fn fits(&self, permit: &EffectPermit, step: Step) -> Option<i64> {
        let here = permit.host().eq_ignore_ascii_case(self.wire.address.host())
            && permit.account().eq_ignore_ascii_case(self.wire.login())
            && permit.step() == step;
        permit.number().filter(|_| here)
    }

    fn at(&self, permit: &EffectPermit) -> String {
        let repo = permit.repo();
        format!("{}/repos/{}/{}", self.wire.address.rest(), encode(&repo.owner), encode(&repo.name))
    }
}

/// A permit for something else lets nothing out here.
fn foreign<T>() -> Wrote<T> {
    tracing::error!("a permit was shown for another host, account or step; nothing was sent");
    Wrote::Refused(GitHubError::Forbidden { said: None })
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
