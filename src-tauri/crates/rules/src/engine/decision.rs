//! What becomes of one pull request in one tick, with the reason.

use chrono::{DateTime, Utc};

use super::classify::Class;
use super::hold::Held;
use super::supersede::Overtaken;
use super::verdict_label::Unbound;
use crate::ids::{PullNumber, RepoName, Sha};
use crate::wording;

/// The one next step of a pull request. Nothing in it acts.
#[derive(Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing, ever: another bot's own, or a draft.
    Ignore(Class),
    /// Shown with its reason, and left alone.
    ListOnly(Listed),
    /// One comment of the seat for this head.
    ReviewCode {
        head: Sha,
    },
    Wait(Wait),
    /// Re-run the failed jobs of these workflow runs, once per head.
    Rerun {
        run_ids: Vec<u64>,
    },
    /// Ask for the verdict again by this workflow run, for the n-th time at this head.
    RetryVerify {
        run: u64,
        n: u32,
    },
    Rebase(Place),
    Fix {
        what: Fix,
        place: Place,
    },
    /// Ready. The facts are read again before it may go out.
    Merge(Ready),
    Gone(Ended),
    ConfigFault(Fault),
}

/// How a pull request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Merged,
    Closed,
}

/// Why it is listed only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listed {
    /// Its class says so.
    Class(Class),
    /// The seat's comment for this head is there; a person decides.
    Reviewed,
    /// All tries for a verdict are used up; the next one is tomorrow's.
    NoVerdict { tries: u32, next_at: DateTime<Utc> },
    /// There is no verdict, and no workflow run that could be run again for one.
    NoVerdictRun,
    /// The verdict labels have not been bound to this head for so long (engine.md 4.3): they do not come right by
    /// themselves.
    Unbound(Unbound),
    /// Every finding of the flag is about what the change does not touch.
    FlagElsewhere,
    /// Rebased so often without a merge.
    Rebased { times: u32 },
    /// GitHub refused so many merges in a row as unprocessable.
    Unprocessable { times: u32 },
    /// The pull request that it was made for was closed or merged meanwhile (engine.md 5).
    Overtaken { original: PullNumber },
    /// It needs a fix or a rebase, and the policy names no validator.
    NoValidator,
    /// It needs a fix or a rebase, and there is no branch Steward may push to.
    NoBranch,
}

/// What is waited for, and until when at least.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    pub reason: WaitFor,
    pub not_before: Option<DateTime<Utc>>,
}

/// What is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitFor {
    /// These could not be read whole.
    Incomplete(Vec<Missing>),
    /// The head must be there unchanged for so long.
    Stable {
        seconds: u32,
    },
    /// The sweep moves it onto the base.
    Sweep {
        behind_by: u32,
    },
    /// A re-run was asked for and its result is not there yet.
    Rerun {
        names: Vec<String>,
    },
    /// The workflow of a failed check still runs, and cannot be re-run.
    WorkflowEnd {
        names: Vec<String>,
    },
    /// The next try for a verdict is not due.
    VerdictRetry {
        n: u32,
    },
    /// The next agent attempt is not due.
    Backoff {
        failures: u32,
        /// What it will repair; `None` for a rebase.
        what: Option<Fix>,
    },
    /// Required checks that nobody reported on yet.
    Absent {
        names: Vec<String>,
    },
    /// Checks that run.
    Running {
        names: Vec<String>,
    },
    VerdictAbsent,
    VerdictRunning,
    /// A check that is not required failed: it blocks the merge, and nothing is done about it.
    OtherFailed {
        names: Vec<String>,
    },
    ChangesRequested {
        by: Vec<String>,
    },
    Approvals {
        have: u32,
        need: u32,
    },
    /// The seat has not accepted this head.
    Seat(SeatGap),
    Unbound(Unbound),
    Held(Held),
    /// The pull request that it was made for has another head by now, or cannot be judged.
    Overtaken(Overtaken),
    /// Something merged in this tick and will move its branch.
    NextTick,
}

/// How the seat's word falls short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeatGap {
    None,
    OtherHead,
    Stale,
    NotAccepted,
}

/// A part of the observation that was not read whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Missing {
    Labels,
    CheckRuns,
    Statuses,
    VerdictRuns,
    Compare,
    LabelEvents,
    Reviews,
    SeatReview,
    LinkedIssues,
    FlagFindings,
}

/// What a fix starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fix {
    /// Checks that are red after their re-run, and the workflow runs whose log tells why.
    Checks { names: Vec<String>, run_ids: Vec<u64> },
    /// The verdict job's flag.
    Flag,
}

/// Where a change of Steward goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The branch of the pull request.
    Own { branch: String },
    /// A pull request of Steward's own that supersedes it.
    Supersede { branch: String },
}

/// What of the policy makes a merge impossible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// No check is required.
    NoRequiredChecks,
    /// Neither a verdict job nor the seat judges a change.
    NoJudge,
}

/// A pull request whose every condition held at one reading. Only [`super::merge::assess`] makes one, and
/// [`super::merge::reread`] uses it up.
#[derive(Debug, PartialEq, Eq)]
pub struct Ready {
    pub(super) repo: RepoName,
    pub(super) number: PullNumber,
    pub(super) sha: Sha,
    pub(super) read_at: DateTime<Utc>,
}

impl Ready {
    pub fn sha(&self) -> &Sha {
        &self.sha
    }

    pub fn number(&self) -> PullNumber {
        self.number
    }
}

impl Decision {
    /// One word that never changes.
    pub fn slug(&self) -> &'static str {
        match self {
            Self::Ignore(_) => "ignore",
            Self::ListOnly(_) => "list_only",
            Self::ReviewCode { .. } => "review_code",
            Self::Wait(_) => "wait",
            Self::Rerun { .. } => "rerun",
            Self::RetryVerify { .. } => "retry_verify",
            Self::Rebase(_) => "rebase",
            Self::Fix { .. } => "fix",
            Self::Merge(_) => "merge",
            Self::Gone(_) => "gone",
            Self::ConfigFault(_) => "config_fault",
        }
    }

    /// What is decided and why, in one sentence.
    pub fn message(&self) -> String {
        wording::engine::decision(self)
    }

    /// No sooner than then is there anything new to decide; `None` when the next tick may.
    pub fn not_before(&self) -> Option<DateTime<Utc>> {
        match self {
            Self::Wait(wait) => wait.not_before,
            Self::ListOnly(Listed::NoVerdict { next_at, .. }) => Some(*next_at),
            Self::ListOnly(_)
            | Self::Ignore(_)
            | Self::ReviewCode { .. }
            | Self::Rerun { .. }
            | Self::RetryVerify { .. }
            | Self::Rebase(_)
            | Self::Fix { .. }
            | Self::Merge(_)
            | Self::Gone(_)
            | Self::ConfigFault(_) => None,
        }
    }

    pub(super) fn wait(reason: WaitFor, not_before: Option<DateTime<Utc>>) -> Self {
        Self::Wait(Wait { reason, not_before })
    }
}

impl Missing {
    /// What it is, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Labels => "labels",
            Self::CheckRuns => "check runs",
            Self::Statuses => "commit statuses",
            Self::VerdictRuns => "runs of the verdict job",
            Self::Compare => "comparison with the base",
            Self::LabelEvents => "label events",
            Self::Reviews => "reviews",
            Self::SeatReview => "review of the seat",
            Self::LinkedIssues => "linked issues",
            Self::FlagFindings => "findings of the flag",
        }
    }
}
