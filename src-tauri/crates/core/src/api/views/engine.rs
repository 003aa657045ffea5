//! Views of the engine: what it follows, what it would do next, and why not.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::{PowerLine, StatusReason};

/// What is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum ItemKind {
    Pull,
    Issue,
}

/// How a pull request or issue ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum ItemEnd {
    Merged,
    Closed,
}

view!(
    /// The engine's side of a board.
    EngineBoardView {
        /// The last tick of this repository that judged everything.
        last_tick: Option<DateTime<Utc>>,
        next_tick: Option<DateTime<Utc>>,
        /// Why the last tick judged less, or nothing.
        problem: Option<StatusReason>,
        /// Why no agent task starts; merging goes on.
        no_agent: Option<StatusReason>,
        /// The pull request that merges wait for, and until when at most.
        hold: Option<HoldView>,
        agent_runs_today: u32,
        /// 0 is no cap.
        agent_runs_cap: u32,
        /// What the policy asks for and nobody has seen for long.
        warnings: Vec<String>,
        /// The checks that must be well before a merge, by the policy in force.
        required_checks: Vec<String>,
        items: Vec<ItemView>,
    }
);
view!(HoldView { number: i64, until: DateTime<Utc> });

view!(
    /// One pull request or issue that the engine follows.
    ItemView {
        repository: String,
        kind: ItemKind,
        number: i64,
        title: String,
        /// `own_bot`, `draft`, `unreadable`, `code`, `foreign`, `oversize`, `never_merge`, `data`; of an issue
        /// `issue`.
        class: String,
        /// Why it is of this class, in one sentence.
        class_reason: String,
        /// The slug of the decision, such as `wait`, `rerun`, `merge`.
        decision: String,
        /// What is decided and why, in one sentence.
        message: String,
        /// The commit it was judged at.
        head: Option<String>,
        judged_at: DateTime<Utc>,
        /// The last thing that was done or asked for.
        last_action: Option<String>,
        last_action_at: Option<DateTime<Utc>>,
        /// Agent attempts that were spent.
        attempts: u32,
        next_attempt_at: Option<DateTime<Utc>>,
        stuck: bool,
        /// What the last failure left, as a person may read it.
        evidence: Option<String>,
        /// Its page on GitHub.
        url: String,
        /// When a person asked for a try that no tick has fulfilled yet.
        asked_at: Option<DateTime<Utc>>,
        /// How it ended, once it did.
        ended: Option<ItemEnd>,
    }
);
view!(
    /// What the engine follows, in one repository or in all.
    ItemPage { items: Vec<ItemView> }
);

/// How a condition of the gate stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum StepState {
    Met,
    Unmet,
    /// What it would be judged by was not read, or does not apply.
    NotJudged,
}

view!(
    /// One condition of the gate, in the order in which they are judged.
    ConditionView {
        /// `open`, `class`, `policy`, … as engine.md 4.5 orders them.
        step: String,
        state: StepState,
        /// The decision it leads to where it is not met.
        decision: Option<String>,
        /// Why it is not met, in one sentence.
        message: Option<String>,
        not_before: Option<DateTime<Utc>>,
        evidence: Vec<ShownView>,
    }
);
view!(ShownView { name: String, value: String, at: Option<DateTime<Utc>> });
view!(
    /// Why a pull request is not merged. An issue has no steps.
    WhyView {
        item: ItemView,
        /// The mode in force: `observe`, `suggest` or `act`.
        mode: String,
        /// When what is judged here was read whole; absent when it never was.
        read_at: Option<DateTime<Utc>>,
        /// Why that reading cannot be judged, where it cannot.
        unread: Option<String>,
        steps: Vec<ConditionView>,
    }
);

view!(
    /// A decision that another policy would have made otherwise.
    DifferenceView {
        number: i64,
        title: String,
        /// When the observation was made.
        at: DateTime<Utc>,
        head: String,
        before: String,
        before_message: String,
        after: String,
        after_message: String,
    }
);
view!(
    /// Stored observations judged by the policy in force and by an edited one.
    SimulationView {
        repository: String,
        from: DateTime<Utc>,
        judged: u32,
        differences: Vec<DifferenceView>,
    }
);

view!(
    /// One merged pull request, and what the gate says of its last head.
    ShadowRow {
        number: i64,
        title: String,
        merged_at: DateTime<Utc>,
        class: String,
        /// Whether the gate would have let it merge.
        would_merge: bool,
        decision: String,
        message: String,
    }
);
view!(
    /// The gate over what was merged already, newest first, and the checks it proposes to require.
    ShadowView {
        repository: String,
        rows: Vec<ShadowRow>,
        proposed_checks: Vec<String>,
        /// Where the proposal comes from, in one sentence.
        proposal: String,
        /// How many of how many merges were read.
        read: u32,
        of: u32,
        /// Why it ended before all of them were read; `stopped` when a person stopped it.
        ended: Option<StatusReason>,
    }
);
view!(
    /// How far the shadow run of a repository is. Its topic is `shadow:owner/name`.
    ShadowStateView {
        running: bool,
        read: u32,
        /// 0 while the merges are not listed yet.
        of: u32,
    }
);

/// Where proposed checks come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum CheckSource {
    /// Branch protection or rulesets require them.
    Forge,
    /// They were well at each of the last merged heads.
    Usual,
    /// Nothing can be proposed.
    None,
    /// A source could not be read.
    Unread,
}

view!(
    /// The checks a repository requires, and those that are proposed.
    ChecksView {
        repository: String,
        base: String,
        /// By the config file as it is written, the preset's included.
        required: Vec<String>,
        proposed: Vec<String>,
        source: CheckSource,
        /// Where the proposal comes from, in one sentence.
        proposal: String,
    }
);

/// What becomes of a line of the config file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum EditSide {
    Same,
    Removed,
    Added,
}

view!(EditLine { side: EditSide, before: Option<u32>, after: Option<u32>, text: String });
view!(EditPart { lines: Vec<EditLine> });
view!(
    /// What an edit of the config file would change.
    EditView {
        path: String,
        /// The changed lines with those around them; empty when nothing would change.
        parts: Vec<EditPart>,
        /// What would hold only once it is confirmed.
        pending: Vec<PowerLine>,
    }
);

view!(
    /// The engine's section of the status; absent while it is off.
    StewardStatus { boundary: BoundaryStatus, items: Vec<ItemStatus>, stuck: Vec<StuckStatus> }
);
view!(BoundaryStatus {
    /// `ready` or `none`.
    state: String,
    reason: Option<String>,
});
view!(ItemStatus {
    repo: String,
    kind: ItemKind,
    number: i64,
    class: String,
    /// What is decided and why, in one sentence.
    state: String,
    last_action: Option<String>,
    attempts: u32,
    next_attempt_at: Option<DateTime<Utc>>,
});
view!(StuckStatus { repo: String, number: i64, failures: u32, evidence: Option<String> });
