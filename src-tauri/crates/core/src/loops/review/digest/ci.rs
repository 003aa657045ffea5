//! The checks and statuses of the head, as the seat reads them.

use serde::Serialize;
use steward_rules::review::facts::{CheckState, Evidence};
use steward_rules::untrusted::Untrusted;

use super::{Foreign, foreign};

/// The most that are given.
const CHECKS: usize = 100;

#[derive(Serialize)]
pub(super) struct CiPart {
    checks: Vec<CheckPart>,
    /// Why there are none, when they could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    unread: Option<String>,
}

#[derive(Serialize)]
struct CheckPart {
    name: Foreign,
    app: Foreign,
    state: Foreign,
}

/// The checks of the head, or why they could not be read.
pub(super) fn part(evidence: &Evidence) -> CiPart {
    match evidence.checks.get() {
        Err(why) => CiPart { checks: Vec::new(), unread: Some(Untrusted::new(&*why.detail).one_line(200)) },
        Ok(facts) => CiPart {
            checks: facts
                .runs
                .iter()
                .map(|run| CheckPart {
                    name: foreign(&run.name, 200),
                    app: foreign(&run.app, 100),
                    state: foreign(
                        match &run.state {
                            CheckState::Queued => "queued",
                            CheckState::InProgress => "in_progress",
                            CheckState::Ended(word) => word,
                        },
                        60,
                    ),
                })
                .chain(facts.statuses.iter().map(|status| CheckPart {
                    name: foreign(&status.context, 200),
                    app: foreign(&status.creator, 100),
                    state: foreign(&status.state, 60),
                }))
                .take(CHECKS)
                .collect(),
            unread: None,
        },
    }
}
