//! Stored rows to views. Foreign text is escaped here, on its way to a screen.

use steward_rules::review::gate::GateResult;
use steward_rules::secret::Engine;
use steward_rules::untrusted::Untrusted;

use super::requests::TaskState;
use super::views as v;
use crate::loops::task::PullAt;
use crate::store::findings::{FindingRow, FindingState, Mark, Origin};
use crate::store::inbox::{EntryRow, EntryState, Kind};
use crate::store::reviews::{EndReason, ReviewRecord, ReviewState, StaleReason, Trigger};
use crate::store::tasks::{RunState, TaskRow};
use crate::store::{attached::FrameRow, steps::StepRow};

/// Longest line of foreign text in a list.
const LINE: usize = 300;
/// Longest paragraph of foreign text on a card.
const PARAGRAPH: usize = 8_000;

/// Foreign text on one line.
pub fn line(text: &str) -> String {
    Untrusted::new(text).one_line(LINE)
}

/// Foreign text with its line breaks, without any secret that the rules know.
pub fn paragraph(text: &str) -> String {
    Untrusted::new(Engine::shared().redact(text)).escaped(PARAGRAPH)
}

pub fn state(state: ReviewState) -> v::ReviewStateView {
    match state {
        ReviewState::Queued => v::ReviewStateView::Queued,
        ReviewState::Digesting => v::ReviewStateView::Digesting,
        ReviewState::Running => v::ReviewStateView::Running,
        ReviewState::Submitted => v::ReviewStateView::Submitted,
        ReviewState::Held => v::ReviewStateView::Held,
        ReviewState::Published => v::ReviewStateView::Published,
        ReviewState::Ended => v::ReviewStateView::Ended,
    }
}

pub fn reason(reason: EndReason) -> &'static str {
    match reason {
        EndReason::Timeout => "timeout",
        EndReason::Budget => "budget",
        EndReason::Crashed => "crashed",
        EndReason::Cancelled => "cancelled",
        EndReason::ScopeViolation => "scope_violation",
    }
}

pub fn stale(reason: StaleReason) -> &'static str {
    match reason {
        StaleReason::HeadMoved => "head_moved",
        StaleReason::NewerContract => "newer_contract",
        StaleReason::NewerReview => "newer_review",
        StaleReason::HoldExpired => "hold_expired",
    }
}

fn trigger(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::Manual => "manual",
        Trigger::Automatic => "automatic",
    }
}

fn run_state(state: RunState) -> TaskState {
    match state {
        RunState::Running => TaskState::Running,
        RunState::Done => TaskState::Done,
        RunState::Error => TaskState::Error,
        RunState::Stopped => TaskState::Stopped,
    }
}

pub fn to_run_state(state: TaskState) -> RunState {
    match state {
        TaskState::Running => RunState::Running,
        TaskState::Done => RunState::Done,
        TaskState::Error => RunState::Error,
        TaskState::Stopped => RunState::Stopped,
    }
}

pub fn cost(row: &ReviewRecord) -> v::CostView {
    v::CostView { usd: row.cost_usd, budget_usd: row.budget_usd, tokens: row.tokens, turns: row.turns }
}

pub fn review_row(row: &ReviewRecord) -> v::ReviewRow {
    v::ReviewRow {
        id: row.id.0,
        task: row.task.0,
        title: line(&row.title),
        sha: row.sha.to_string(),
        state: state(row.state),
        trigger: trigger(row.trigger).to_owned(),
        verdict: row.verdict,
        reason: row.reason.map(|r| reason(r).to_owned()),
        stale: row.stale_reason.is_some(),
        stale_reason: row.stale_reason.map(|r| stale(r).to_owned()),
        waits_for: row.waits_for.clone(),
        findings: row.findings,
        failed_gates: row.failed_gates,
        queued_at: row.queued_at,
        started_at: row.started_at,
        ended_at: row.ended_at,
        cost: cost(row),
    }
}

pub fn base(row: &ReviewRecord) -> Option<v::BaseView> {
    row.base_branch.as_ref().map(|branch| v::BaseView {
        branch: line(branch),
        tip: row.base_tip.as_ref().map(ToString::to_string),
        merge_base: row.merge_base.as_ref().map(ToString::to_string),
    })
}

pub fn task(row: &TaskRow, newest: Option<&ReviewRecord>) -> v::TaskView {
    v::TaskView {
        id: row.id.0,
        title: line(&row.title),
        workspace: row.workspace.clone(),
        repository: row.repository.clone(),
        pull: row.pull.map(|n| n.0),
        pull_url: pull_url(row),
        branch: row.branch.as_deref().map(line),
        head: row.head.as_ref().map(ToString::to_string),
        head_at: row.head_at,
        unreadable: row.unreadable.as_deref().map(line),
        state: run_state(row.state),
        contract_version: row.contract_version,
        frames: row.frames,
        handoffs: row.handoffs,
        review: newest.map(review_row),
        created_at: row.created_at,
        updated_at: row.updated_at,
    }
}

/// The page of a task's pull request. Only a name that was checked makes an address.
pub fn pull_url(row: &TaskRow) -> Option<String> {
    let at = PullAt::of(row)?;
    Some(format!("https://{}/{}/pull/{}", at.host, at.name, at.number))
}

pub fn gate(result: &GateResult) -> v::GateView {
    v::GateView {
        id: result.id,
        state: result.state,
        detail: result.detail.clone(),
        evidence: v::EvidenceView { items: result.evidence.clone() },
    }
}

pub fn finding(row: &FindingRow, mark: Option<Mark>) -> v::FindingView {
    v::FindingView {
        id: row.id.clone(),
        origin: match row.origin {
            Origin::Seat => "seat".to_owned(),
            Origin::Steward => "steward".to_owned(),
        },
        title: row.title.one_line(LINE),
        file: line(&row.file),
        line: row.line,
        why: row.why.escaped(PARAGRAPH),
        check: row.check.escaped(PARAGRAPH),
        severity: row.severity.as_ref().map(|s| s.one_line(LINE)),
        state: match row.state {
            FindingState::New => "new",
            FindingState::Open => "open",
            FindingState::Fixed => "fixed",
            FindingState::Answered => "answered",
        }
        .to_owned(),
        since: Some(row.since.0),
        mark: mark.map(|mark| {
            match mark {
                Mark::Answered => "answered",
                Mark::WontFix => "wont_fix",
            }
            .to_owned()
        }),
        excerpt: row
            .excerpt
            .iter()
            .map(|l| v::ExcerptLine {
                number: l.number,
                text: Untrusted::new(&l.text).escaped(LINE),
                cited: l.cited,
                added: l.added,
            })
            .collect(),
    }
}

/// A frame as it is seen from a head: fresh when it shows that commit, from a clean worktree.
pub fn frame(row: &FrameRow, head: Option<&str>, observation: Option<&str>) -> v::FrameView {
    let frame = &row.frame;
    v::FrameView {
        id: frame.id.0,
        sha: frame.sha.to_string(),
        width: frame.width,
        theme: line(&frame.theme),
        scale: frame.scale,
        route: frame.route.as_ref().map(|r| r.one_line(LINE)),
        fresh: frame.clean && head == Some(frame.sha.as_str()),
        observation: observation.map(paragraph),
        attached_at: frame.attached_at,
    }
}

pub fn step(row: &StepRow) -> v::StepView {
    v::StepView { at: row.at, kind: row.kind.clone(), text: line(&row.text) }
}

pub(super) fn entry_kind(kind: Kind) -> v::EntryKind {
    match kind {
        Kind::Review => v::EntryKind::Review,
        Kind::Question => v::EntryKind::Question,
        Kind::Approval => v::EntryKind::Approval,
        Kind::Ruling => v::EntryKind::Ruling,
        Kind::Suggestion => v::EntryKind::Suggestion,
        Kind::Stuck => v::EntryKind::Stuck,
        Kind::Incident => v::EntryKind::Incident,
    }
}

pub fn entry(row: &EntryRow) -> v::EntryView {
    v::EntryView {
        id: row.id.0,
        kind: entry_kind(row.kind),
        target: row.target.clone(),
        title: line(&row.title),
        source: line(&row.source),
        chip: row.chip.clone(),
        state: match row.state {
            EntryState::Open => "open",
            EntryState::Done => "done",
            EntryState::Snoozed => "snoozed",
            EntryState::Gone => "gone",
        }
        .to_owned(),
        read: row.read,
        saved: row.saved,
        snooze_until: row.snooze_until,
        created_at: row.created_at,
        updated_at: row.updated_at,
    }
}
