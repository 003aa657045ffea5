//! An effect as it is stored, and as it is put in.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use steward_rules::deed::Deed;
use steward_rules::ids::{PullNumber, ReviewId, Sha, TaskId};
use steward_rules::power::EffectClass;
use steward_rules::review::verdict::StaleReason;

/// Where an effect stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Wanted,
    Suggested,
    Approved,
    Intended,
    Done,
    Failed,
    Dismissed,
    Obsolete,
}

impl State {
    /// True when nothing further happens by itself.
    pub fn is_final(self) -> bool {
        match self {
            Self::Done | Self::Failed | Self::Dismissed | Self::Obsolete => true,
            Self::Wanted | Self::Suggested | Self::Approved | Self::Intended => false,
        }
    }
}

/// One effect as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectRow {
    pub id: i64,
    pub key: String,
    pub class: EffectClass,
    pub host: String,
    /// `owner/name`.
    pub repository: String,
    pub number: Option<i64>,
    pub head: Option<Sha>,
    pub account: String,
    pub review: Option<ReviewId>,
    /// The text that goes out; empty where there is none.
    pub content: String,
    /// `None` for the comment of a review: its text is all of it.
    pub deed: Option<Deed>,
    /// Why it is wanted, in one line.
    pub line: Option<String>,
    /// Of a deed of several writes: the one the last intent was for.
    pub part: Option<String>,
    pub state: State,
    pub why: Option<String>,
    pub detail: Option<String>,
    pub attempt: u32,
    pub looks: u32,
    pub retry_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
    pub decided_by: Option<String>,
    pub intent_at: Option<DateTime<Utc>>,
    pub outcome_at: Option<DateTime<Utc>>,
    pub posted: Option<i64>,
    pub evidence: Option<String>,
    /// A person said no to a text of this key, or somebody removed one: none goes out by itself any more.
    pub turned_down: bool,
    /// The task of its review, and whether the review is stale by now.
    pub task: Option<TaskId>,
    pub stale: Option<StaleReason>,
}

impl EffectRow {
    /// True when a person said yes to it.
    pub fn is_approved(&self) -> bool {
        self.decided_by.as_deref() == Some("person")
    }

    /// When this write of several may have gone out; `None`: never yet.
    pub fn part_sent(&self, part: &str) -> Option<DateTime<Utc>> {
        self.intent_at.filter(|_| self.state == State::Intended && self.part.as_deref() == Some(part))
    }

    /// True for a push of ours to this commit.
    pub fn is_push_to(&self, head: &Sha) -> bool {
        matches!(&self.deed, Some(Deed::Push { to, .. }) if to == head)
    }

    /// What goes out.
    pub fn to_do(&self) -> Deed {
        self.deed.clone().unwrap_or_else(|| Deed::Comment { body: self.content.clone() })
    }

    /// SHA-256 over who acts and everything that goes out. Class, place and commit are in the key, which
    /// stays; these may be others by the time a person says yes to them.
    pub fn hash(&self) -> String {
        let mut hash = Sha256::new_with_prefix(&self.account);
        hash.update([0]);
        hash.update(said(&self.content, self.deed.as_ref()));
        hex::encode(hash.finalize())
    }
}

/// The text, and the deed where it is more than that.
pub(super) fn said(content: &str, deed: Option<&Deed>) -> Vec<u8> {
    let mut all = content.as_bytes().to_vec();
    if let Some(deed) = deed {
        all.push(0);
        // A deed is words and numbers, which have a form as JSON.
        all.extend(serde_json::to_vec(deed).unwrap_or_default());
    }
    all
}

/// An effect to be put into the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEffect {
    pub key: String,
    pub class: EffectClass,
    pub host: String,
    pub repository: String,
    pub number: Option<i64>,
    pub head: Option<Sha>,
    pub account: String,
    pub review: Option<ReviewId>,
    pub content: String,
    pub deed: Option<Deed>,
    pub line: Option<String>,
    pub start: Start,
}

/// How an effect begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    Wanted,
    Suggested,
    Failed(Why),
}

/// A slug and its sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Why {
    pub slug: String,
    pub detail: String,
}

impl Why {
    pub fn new(slug: &str, detail: impl Into<String>) -> Self {
        Self { slug: slug.to_owned(), detail: detail.into() }
    }
}

/// The pull request that a task follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    pub host: String,
    pub repository: String,
    pub pull: PullNumber,
}
