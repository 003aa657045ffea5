//! What GitHub's reply to a merge or a re-run means (engine.md 4.6 and 6).

use super::retry::UNPROCESSABLE_AT_MOST;

/// What came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    Status(u16),
    /// A limit of GitHub, whatever status it came with.
    Limited,
    /// No whole answer: a timeout, or a lost connection.
    Lost,
}

/// What follows from the reply to a merge call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterMerge {
    Merged,
    /// Not mergeable now, or the head moved: the next tick decides. Never a failure.
    NextTick,
    /// The token may not: merging stops in this repository until somebody looks.
    ConfigFault,
    /// Gone, or the permission was lost: read again.
    ReadAgain,
    /// Refused as unprocessable; the message is kept. After three in a row it is listed.
    Refused {
        is_listed: bool,
    },
    /// The outcome is unknown: the pull request is read before any further step.
    Unknown,
}

/// Reads the reply to a merge call. `refused` is how many 422 came in a row before this one.
pub fn after_merge(reply: Reply, refused: u32) -> AfterMerge {
    match reply {
        Reply::Limited => AfterMerge::NextTick,
        Reply::Lost => AfterMerge::Unknown,
        Reply::Status(status) => match status {
            200 => AfterMerge::Merged,
            405 | 409 => AfterMerge::NextTick,
            401 | 403 => AfterMerge::ConfigFault,
            404 => AfterMerge::ReadAgain,
            422 => AfterMerge::Refused { is_listed: refused.saturating_add(1) >= UNPROCESSABLE_AT_MOST },
            // Whatever else it is, it does not say that nothing was merged.
            _ => AfterMerge::Unknown,
        },
    }
}

/// What follows from the reply to a re-run or a dispatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterRerun {
    Asked,
    /// The token lacks Actions: write. Not an attempt.
    ConfigFault,
    /// This run cannot be re-run any more: the next rung of the ladder.
    CannotRerun,
    /// Nothing is spent; the next tick decides.
    NextTick,
    Unknown,
}

/// Reads the reply to a re-run. GitHub answers 403 to a run that cannot be re-run too, with a message
/// that says so.
pub fn after_rerun(reply: Reply, message: &str) -> AfterRerun {
    let message = message.to_lowercase();
    match reply {
        Reply::Limited => AfterRerun::NextTick,
        Reply::Lost => AfterRerun::Unknown,
        Reply::Status(200..=299) => AfterRerun::Asked,
        Reply::Status(403) if message.contains("already running") => AfterRerun::NextTick,
        Reply::Status(403) if message.contains("cannot be rerun") || message.contains("over a month ago") => {
            AfterRerun::CannotRerun
        }
        Reply::Status(401 | 403) => AfterRerun::ConfigFault,
        Reply::Status(404 | 410 | 422) => AfterRerun::CannotRerun,
        Reply::Status(409) => AfterRerun::NextTick,
        Reply::Status(_) => AfterRerun::Unknown,
    }
}
