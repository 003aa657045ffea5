//! What reviews and their refusals say.

use super::list;
use crate::reading::Cause;
use crate::review::coverage::Unread;
use crate::review::findings::FindingState;
use crate::review::gate::{GateId, GateTable};
use crate::review::lifecycle::{EndReason, NotAutomatic, Refusal, ReviewState, RunState};
use crate::review::verdict::{StaleReason, Verdict};
use crate::untrusted::Untrusted;

/// The label of a state.
pub fn state(state: ReviewState) -> &'static str {
    match state {
        ReviewState::Queued => "queued",
        ReviewState::Digesting => "reading the change",
        ReviewState::Running => "the seat is reading",
        ReviewState::Submitted => "judging the submission",
        ReviewState::Held => "held: a gate is undecided",
        ReviewState::Published => "published",
        ReviewState::Ended => "ended",
    }
}

pub fn ended(reason: EndReason) -> &'static str {
    match reason {
        EndReason::Timeout => "the time for one review was used up",
        EndReason::Budget => "the budget for one review was used up",
        EndReason::Crashed => "the seat stopped without a valid verdict",
        EndReason::Cancelled => "it was cancelled",
        EndReason::ScopeViolation => "the seat left its bounds",
    }
}

/// The sentence of the stale banner.
pub fn stale(reason: StaleReason) -> &'static str {
    match reason {
        StaleReason::HeadMoved => "the head moved since this review. Review again.",
        StaleReason::NewerContract => "the task has a newer contract than this review judged. Review again.",
        StaleReason::NewerReview => "a newer review of this task was published. Read that one.",
        StaleReason::HoldExpired => "it was held for more than 24 hours and gave no verdict. Review again.",
    }
}

pub fn finding_state(state: FindingState) -> &'static str {
    match state {
        FindingState::New => "new",
        FindingState::Open => "open",
        FindingState::Fixed => "fixed",
        FindingState::Answered => "answered",
    }
}

/// `not read: a.rs:3-9, b.rs:1`.
pub fn not_read(unread: &[Unread]) -> String {
    let names: Vec<String> = unread
        .iter()
        .map(|one| {
            let file = Untrusted::new(one.file.as_str()).one_line(200);
            if one.from == one.to {
                format!("{file}:{}", one.from)
            } else {
                format!("{file}:{}-{}", one.from, one.to)
            }
        })
        .collect();
    format!("not read: {}", list(&names))
}

/// What a hold waits for.
pub fn held(undecided: &[GateId]) -> String {
    let names: Vec<&str> = undecided.iter().map(|gate| gate.as_str()).collect();
    format!("held until decided: {}", names.join(", "))
}

/// Why a verdict is lower than the seat's; `None` when the gates left it.
pub fn lowered(seat: Verdict, table: &GateTable) -> Option<String> {
    let mut by: Vec<String> = crate::review::gate::lowered_by(seat, table)
        .into_iter()
        .map(|gate| gate.as_str().to_owned())
        .collect();
    if seat > Verdict::Changes && !table.own_findings.is_empty() {
        by.push("findings of Steward's own".to_owned());
    }
    (!by.is_empty()).then(|| format!("lowered by {}", by.join(", ")))
}

/// Why a review does not start.
pub fn refusal(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Disabled => "reviews are switched off".to_owned(),
        Refusal::Misconfigured => "reviews are off, the review block of the config has an error".to_owned(),
        Refusal::NoSeat => "there is no reviewer seat".to_owned(),
        Refusal::InvalidSeat { why } => {
            format!("the reviewer seat cannot be used: {}", Untrusted::new(why.as_str()).one_line(200))
        }
        Refusal::NotAPerson { mark } => {
            let mark = Untrusted::new(mark.as_str()).one_line(80);
            format!("only a person can start a review, and this call comes from an agent ({mark})")
        }
        Refusal::NoTask { task } => format!("there is no task {task}"),
        Refusal::NoCommit { task } => format!("task {task} has no commit to review"),
        Refusal::BadSha { error } => error.to_string(),
        Refusal::Unreachable { sha } => format!("commit {} is not reachable", sha.short()),
        Refusal::NotTheHead { sha, head } => {
            format!("commit {} is not the task's head, which is {}", sha.short(), head.short())
        }
        Refusal::Unread { why } => {
            format!(
                "the commit could not be looked up: {}",
                Untrusted::new(why.detail.as_str()).one_line(200)
            )
        }
        Refusal::Open { review } => format!("review {review} of this task is still open"),
        Refusal::Identical { review } => {
            format!("review {review} already judged this head with this contract and this CI result")
        }
        Refusal::TaskCap { cap } => format!("this task had its {cap} reviews"),
        Refusal::HourCap { cap, next } => {
            format!("{cap} reviews within the hour; the next may start at {}", next.format("%H:%M:%S UTC"))
        }
        Refusal::DayCap { spent, cap } => format!("agents cost {spent:.2} USD today, the cap is {cap:.2}"),
        Refusal::MonthCap { spent, cap } => {
            format!("agents cost {spent:.2} USD this month, the cap is {cap:.2}")
        }
        Refusal::Paused { why } => {
            format!("everything is paused: {}", Untrusted::new(why.as_str()).one_line(200))
        }
        Refusal::Tripped { consecutive } => {
            format!("automatic reviews are paused, the last {consecutive} crashed or timed out")
        }
        Refusal::OnePerHead { review } => format!("review {review} was the automatic one of this head"),
    }
}

/// The next step after a refusal.
pub fn refusal_hint(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Disabled => "set review.enabled: true in the config".to_owned(),
        Refusal::Misconfigured => "run: steward config check".to_owned(),
        Refusal::NoSeat => "run: steward seats seed".to_owned(),
        Refusal::InvalidSeat { .. } => "correct seats/reviewer.yaml".to_owned(),
        Refusal::NotAPerson { .. } => "start it yourself, in the app or in a terminal of your own".to_owned(),
        Refusal::NoTask { .. } => "run: steward task list".to_owned(),
        Refusal::NoCommit { .. } => "commit on the task's branch, then try again".to_owned(),
        Refusal::BadSha { .. } => "give all 40 digits as git rev-parse prints them".to_owned(),
        Refusal::NotTheHead { .. } => {
            "review the head without --sha, or make a task of a branch that ends at that commit".to_owned()
        }
        Refusal::Unreachable { .. } => {
            "fetch it in the workspace, or review the head without --sha".to_owned()
        }
        Refusal::Unread { why } => match why.cause {
            Cause::SignedOut => super::gate::signed_out(),
            Cause::FetchFailed | Cause::ForgeFailed | Cause::NotReadYet => "try again in a minute".to_owned(),
            Cause::GitFailed => "run git fsck in the clone".to_owned(),
            Cause::NoBase => "name policy.review.integrationBranch in the config".to_owned(),
            Cause::TooLarge => "review the head without --sha".to_owned(),
        },
        Refusal::Open { review } => format!("wait for it, or run: steward cancel {review}"),
        Refusal::Identical { review } => {
            format!("run: steward show {review}; a new commit or another CI result can be reviewed")
        }
        Refusal::TaskCap { .. } => "raise review.maxReviewsPerTask in the config".to_owned(),
        Refusal::HourCap { .. } => "wait, or raise review.maxReviewsPerHour in the config".to_owned(),
        Refusal::DayCap { .. } => "wait until tomorrow, or raise spend.dailyUsd in the config".to_owned(),
        Refusal::MonthCap { .. } => "raise spend.monthlyUsd in the config".to_owned(),
        Refusal::Paused { .. } => "run: steward resume".to_owned(),
        Refusal::Tripped { .. } => "start one by hand; when it completes, automatic ones go on".to_owned(),
        Refusal::OnePerHead { .. } => "start one by hand".to_owned(),
    }
}

/// Why a task is not reviewed by itself.
pub fn not_automatic(why: &NotAutomatic) -> String {
    match why {
        NotAutomatic::Off => "reviews are off".to_owned(),
        NotAutomatic::NotListed => "its workspace is not listed in review.autoReview".to_owned(),
        NotAutomatic::Ambiguous { title } => {
            let title = Untrusted::new(title.as_str()).one_line(80);
            format!("two workspaces have the title {title}, so that review.autoReview means neither")
        }
        NotAutomatic::NotDone { run } => match run {
            RunState::Running => "its run is not finished".to_owned(),
            RunState::Error => "its run ended with an error".to_owned(),
            RunState::Stopped => "its run was stopped".to_owned(),
            RunState::Done => "its run is finished".to_owned(),
        },
        NotAutomatic::NotPushed => "its branch is not pushed".to_owned(),
        NotAutomatic::Unread { why } => super::gate::unread(why),
    }
}
