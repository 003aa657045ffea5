//! What each command answers: views of stored facts, made for people and scripts alike.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use steward_rules::review::gate::{EvidenceItem, GateId, GateState};
use steward_rules::review::verdict::Verdict;
use ts_rs::TS;

use super::requests::TaskState;

macro_rules! view {
    ($(#[$doc:meta])* $name:ident { $($(#[$fdoc:meta])* $field:ident : $ty:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Serialize, Deserialize, TS)]
        #[serde(rename_all = "camelCase")]
        #[ts(export)]
        pub struct $name { $($(#[$fdoc])* pub $field: $ty),* }
    };
}

mod engine;
mod github;
mod questions;

pub use engine::*;
pub use github::*;
pub use questions::*;

/// Where a review stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum ReviewStateView {
    Queued,
    Digesting,
    Running,
    Submitted,
    Held,
    Published,
    Ended,
}

view!(
    /// The state of the runtime and what it costs: the foot of the window and `steward status`.
    Status {
        version: String,
        /// `running`, `paused`, `degraded`, `read_only`, `no_runtime`.
        state: RuntimeState,
        /// Why it is degraded, paused or read-only.
        reasons: Vec<StatusReason>,
        /// Who holds the runtime: `desktop`, `serve` or `command`, with its process id.
        holder: Option<HolderView>,
        /// True when this process holds it.
        is_holder: bool,
        last_tick: Option<DateTime<Utc>>,
        paused: Option<PauseView>,
        review_enabled: bool,
        open_reviews: u32,
        held_reviews: u32,
        /// Tasks of the engine that run now.
        engine_tasks: u32,
        /// Automatic reviews wait for a manual one since three in a row crashed or timed out.
        breaker_open: bool,
        inbox_open: u32,
        inbox_unread: u32,
        tasks: u32,
        spend: SpendView,
        observer: ObserverView,
        /// Absent while questions are off.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        questions: Option<QuestionsStatus>,
        /// Absent while the engine is off.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        steward: Option<StewardStatus>,
        now: DateTime<Utc>,
    }
);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum RuntimeState {
    Running,
    Paused,
    Degraded,
    ReadOnly,
    NoRuntime,
}

view!(StatusReason { code: String, message: String, hint: Option<String> });
view!(HolderView { kind: String, pid: u32, since: DateTime<Utc> });
view!(PauseView { why: String, since: DateTime<Utc> });
view!(SpendView {
    today_usd: f64,
    month_usd: f64,
    daily_cap_usd: f64,
    monthly_cap_usd: f64,
    /// Runs of today whose agent reported no cost.
    unknown_today: u32,
    tokens_today: u64,
    /// True when nothing that costs money starts.
    exhausted: bool,
});

/// The kinds of inbox entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum EntryKind {
    Review,
    Question,
    Approval,
    Ruling,
    Suggestion,
    Stuck,
    Incident,
}

view!(
    /// One row of the inbox.
    EntryView {
        id: i64,
        kind: EntryKind,
        /// What opens, e.g. `review/7`.
        target: String,
        title: String,
        source: String,
        /// The word on the chip: a verdict, `STUCK`, …
        chip: String,
        /// `open`, `done`, `snoozed`.
        state: String,
        read: bool,
        saved: bool,
        snooze_until: Option<DateTime<Utc>>,
        created_at: DateTime<Utc>,
        updated_at: DateTime<Utc>,
    }
);
view!(
    /// How many entries of a kind a list has.
    KindCount { kind: EntryKind, total: u32 }
);
view!(
    /// One page of a list of the inbox. The counts are of the whole list, as far as the search finds it.
    InboxPage {
        entries: Vec<EntryView>,
        total: u32,
        unread: u32,
        /// How many of `total` are saved.
        saved: u32,
        kinds: Vec<KindCount>,
        more: bool,
    }
);
view!(
    /// An entry after something was done to it.
    MarkView {
        entry: EntryView,
        /// What `inbox_undo` takes back; `null` when nothing changed.
        step: Option<i64>,
    }
);
view!(
    /// An effect that was turned down.
    DismissView {
        effect: EffectView,
        /// What `inbox_undo` takes back.
        step: i64,
    }
);
view!(
    /// What an undo took back, if there was anything.
    UndoView { entry: Option<EntryView>, what: Option<String> }
);

view!(
    /// One row of the task table.
    TaskView {
        id: i64,
        title: String,
        workspace: Option<String>,
        repository: Option<String>,
        pull: Option<i64>,
        /// The page of the pull request on its host.
        pull_url: Option<String>,
        branch: Option<String>,
        head: Option<String>,
        head_at: Option<DateTime<Utc>>,
        /// Why the head could not be read, last time.
        unreadable: Option<String>,
        state: TaskState,
        contract_version: Option<u32>,
        frames: u32,
        handoffs: u32,
        /// The newest review, if any.
        review: Option<ReviewRow>,
        created_at: DateTime<Utc>,
        updated_at: DateTime<Utc>,
    }
);
view!(TaskPage { tasks: Vec<TaskView> });
view!(
    /// One task with all that hangs on it.
    TaskDetail { task: TaskView, reviews: Vec<ReviewRow>, contract: Option<ContractView>, frames: Vec<FrameView>, handoffs: Vec<HandoffView> }
);
view!(ContractView { version: u32, write_scope: Vec<String>, checks: Vec<String>, mutations: String, created_at: DateTime<Utc> });
view!(HandoffView { peer: String, status: String, note: String, at: DateTime<Utc> });

view!(
    /// A review in a list.
    ReviewRow {
        id: i64,
        task: i64,
        title: String,
        sha: String,
        state: ReviewStateView,
        trigger: String,
        verdict: Option<Verdict>,
        reason: Option<String>,
        stale: bool,
        stale_reason: Option<String>,
        /// What a held one waits for: the undecided gates.
        waits_for: Vec<GateId>,
        findings: u32,
        failed_gates: u32,
        queued_at: DateTime<Utc>,
        started_at: Option<DateTime<Utc>>,
        ended_at: Option<DateTime<Utc>>,
        cost: CostView,
    }
);
view!(ReviewPage { reviews: Vec<ReviewRow> });

view!(GateTableView { head: String, base: Option<BaseView>, at: DateTime<Utc>, gates: Vec<GateView>, cap: Option<Verdict>, stats: StatsView });
view!(BaseView { branch: String, tip: Option<String>, merge_base: Option<String> });
view!(StatsView { files: u32, added: u64, removed: u64 });
view!(GateView { id: GateId, state: GateState, detail: String, evidence: EvidenceView });
view!(EvidenceView { items: Vec<EvidenceItem> });

view!(CostView {
    /// `null`: the agent reports no cost.
    usd: Option<f64>,
    budget_usd: f64,
    tokens: u64,
    turns: u32,
});

view!(
    /// One finding on the card. Foreign text is escaped already.
    FindingView {
        id: String,
        origin: String,
        title: String,
        file: String,
        line: u32,
        why: String,
        check: String,
        severity: Option<String>,
        /// `new`, `open`, `fixed`, `answered`.
        state: String,
        /// The review that first had it.
        since: Option<i64>,
        mark: Option<String>,
        excerpt: Vec<ExcerptLine>,
    }
);
view!(ExcerptLine { number: u32, text: String, cited: bool, added: bool });
view!(FrameView {
    id: i64,
    sha: String,
    width: u32,
    theme: String,
    scale: u32,
    route: Option<String>,
    fresh: bool,
    observation: Option<String>,
    attached_at: DateTime<Utc>,
});
view!(
    /// A frame's picture as a `data:` URL, re-encoded by Steward.
    FrameImage { id: i64, url: String, width: u32, height: u32 }
);
view!(CoverageView { complete: bool, excluded: Vec<ExcludedView>, unread: Vec<UnreadView> });
view!(ExcludedView { file: String, why: String });
view!(UnreadView { file: String, from: u32, to: u32 });

view!(StepView { at: DateTime<Utc>, kind: String, text: String });

view!(
    /// The review card, and `steward show --json`.
    ReviewView {
        id: i64,
        task: i64,
        title: String,
        workspace: Option<String>,
        repository: Option<String>,
        branch: Option<String>,
        pull: Option<i64>,
        /// The page of the pull request on its host.
        pull_url: Option<String>,
        sha: String,
        base: Option<BaseView>,
        state: ReviewStateView,
        trigger: String,
        verdict: Option<Verdict>,
        seat_verdict: Option<Verdict>,
        cap: Option<Verdict>,
        lowered_by: Vec<GateId>,
        /// Other causes that lowered it: `not read: …`, own findings.
        lowered_because: Vec<String>,
        reason: Option<String>,
        reason_detail: Option<String>,
        stale: bool,
        stale_reason: Option<String>,
        /// The sentence of the stale banner.
        stale_text: Option<String>,
        summary: Option<String>,
        gates: Vec<GateView>,
        gates_at: Option<DateTime<Utc>>,
        findings: Vec<FindingView>,
        frames: Vec<FrameView>,
        coverage: CoverageView,
        stats: StatsView,
        cost: CostView,
        model: Option<String>,
        boundary: Option<String>,
        /// What the seat is doing now.
        phase: Option<String>,
        steps: Vec<StepView>,
        /// What the person can do about an undecided gate, e.g. `forge_none`.
        offers: Vec<OfferView>,
        queued_at: DateTime<Utc>,
        started_at: Option<DateTime<Utc>>,
        ended_at: Option<DateTime<Utc>>,
        now: DateTime<Utc>,
    }
);
view!(OfferView { code: String, label: String, hint: String });
view!(StartedView { review: i64, task: i64, sha: String });
view!(TextView { text: String });
view!(Done { message: String });

view!(
    /// A workspace of the config file and whether it can be read.
    WorkspaceView {
        title: String,
        path: String,
        forge: String,
        repository: Option<String>,
        integration: Option<String>,
        current_branch: Option<String>,
        /// Why it cannot be read, and the next step.
        problem: Option<StatusReason>,
    }
);
view!(WorkspacePage { workspaces: Vec<WorkspaceView> });
view!(BranchView { name: String, sha: String, subject: String, committed_at: DateTime<Utc>, ahead: Option<u32>, is_integration: bool, task: Option<i64> });
view!(BranchPage { branches: Vec<BranchView>, integration: Option<String> });
view!(
    /// What a folder would be as a workspace, before it is added.
    InspectView { path: String, suggested_title: String, workspace: WorkspaceView, branches: Vec<BranchView> }
);

view!(ConfigView { path: String, exists: bool, problems: Vec<ProblemView>, effective: Vec<EffectiveView>, last_good_in_force: bool });
view!(ProblemView { severity: String, line: Option<u32>, column: Option<u32>, key: String, message: String, hint: Option<String>, snippet: Option<String> });
view!(EffectiveView { key: String, value: String, origin: String });

view!(
    /// The agent a seat would run, how it is confined, and its credential.
    AgentView {
        role: String,
        adapter: String,
        program: Option<String>,
        version: Option<String>,
        ready: bool,
        problem: Option<StatusReason>,
        boundary: String,
        boundary_checks: Vec<CheckView>,
        /// `ready`, `missing`, `locked`, `absent`, `denied`, `environment`.
        credential: String,
        credential_hint: Option<String>,
        /// The residual risk, in one sentence.
        risk: Option<String>,
    }
);
view!(CheckView { name: String, ok: bool, detail: String, hint: Option<String> });
view!(
    /// The HTTP door of the app.
    ListenView {
        /// What the person wants; off at first.
        on: bool,
        port: u16,
        /// Where it answers: while this process holds the runtime and the door is open.
        address: Option<String>,
        /// Why it does not.
        problem: Option<StatusReason>,
        /// The file that holds the token of `POST`.
        token_file: String,
    }
);
view!(DoctorView { checks: Vec<CheckView>, healthy: bool });
