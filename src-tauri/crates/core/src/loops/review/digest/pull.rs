//! The pull request, as the seat reads it.

use serde::Serialize;
use steward_rules::ids::Sha;
use steward_rules::review::facts::{Evidence, PullState};

use super::{Foreign, foreign};

/// The longest description that is given.
const BODY: usize = 20_000;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PullPart {
    number: i64,
    title: Foreign,
    body: Foreign,
    author: Foreign,
    /// The branch it wants to go to.
    base: Foreign,
    head: Sha,
    state: &'static str,
    draft: bool,
}

/// The pull request, when the task has one and it could be read.
pub(super) fn part(evidence: &Evidence) -> Option<PullPart> {
    let pull = evidence.pull.get().ok()?.as_ref()?;
    Some(PullPart {
        number: pull.number.0,
        title: foreign(pull.title.as_data(), 300),
        body: foreign(pull.body.as_data(), BODY),
        author: foreign(pull.author.as_data(), 100),
        base: foreign(&pull.base_branch, 200),
        head: pull.head.clone(),
        state: match pull.state {
            PullState::Open => "open",
            PullState::Merged => "merged",
            PullState::Closed => "closed",
        },
        draft: pull.draft,
    })
}
