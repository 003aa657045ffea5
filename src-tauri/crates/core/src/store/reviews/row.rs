//! A review as it is stored, and what is put into it.

use chrono::{DateTime, Utc};
use rusqlite::Row;
use serde::{Deserialize, Serialize};
use steward_rules::ids::{ReviewId, Sha, TaskId};
use steward_rules::review::coverage::Coverage;
use steward_rules::review::gate::GateId;
use steward_rules::review::lifecycle::{EndReason, ReviewState, Trigger};
use steward_rules::review::verdict::{StaleReason, Verdict};

use super::super::sql;

/// Files and lines of the change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stats {
    pub files: u32,
    pub added: u64,
    pub removed: u64,
}

/// One review as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct ReviewRecord {
    pub id: ReviewId,
    pub task: TaskId,
    /// The task's title.
    pub title: String,
    pub sha: Sha,
    pub base_branch: Option<String>,
    pub base_tip: Option<Sha>,
    pub merge_base: Option<Sha>,
    pub contract_version: Option<u32>,
    pub ci_fingerprint: String,
    pub trigger: Trigger,
    pub state: ReviewState,
    pub reason: Option<EndReason>,
    pub reason_detail: Option<String>,
    pub verdict: Option<Verdict>,
    pub seat_verdict: Option<Verdict>,
    pub cap: Option<Verdict>,
    pub lowered_by: Vec<GateId>,
    /// Other causes that lowered it, as sentences.
    pub lowered_because: Vec<String>,
    pub stale_reason: Option<StaleReason>,
    pub stale_at: Option<DateTime<Utc>>,
    pub summary: Option<String>,
    pub digest_hash: Option<String>,
    pub stats: Stats,
    pub coverage: Coverage,
    pub phase: Option<String>,
    pub turns: u32,
    pub tokens: u64,
    /// `None`: the agent reports no cost.
    pub cost_usd: Option<f64>,
    pub budget_usd: f64,
    pub model: Option<String>,
    pub adapter: Option<String>,
    pub boundary: Option<String>,
    pub cancel_asked: bool,
    pub queued_at: DateTime<Utc>,
    pub started_at: Option<DateTime<Utc>>,
    pub submitted_at: Option<DateTime<Utc>>,
    pub held_at: Option<DateTime<Utc>>,
    pub ended_at: Option<DateTime<Utc>>,
    pub gates_at: Option<DateTime<Utc>>,
    /// The undecided gates.
    pub waits_for: Vec<GateId>,
    pub failed_gates: u32,
    /// Findings that are new or open.
    pub findings: u32,
}

/// A review to be queued.
#[derive(Debug, Clone, PartialEq)]
pub struct NewReview {
    pub task: TaskId,
    pub sha: Sha,
    pub contract_version: Option<u32>,
    pub ci_fingerprint: String,
    pub trigger: Trigger,
    pub budget_usd: f64,
}

/// What is known when the seat starts.
#[derive(Debug, Clone, PartialEq)]
pub struct RunStart {
    pub model: Option<String>,
    pub adapter: String,
    pub boundary: String,
    pub budget_usd: f64,
}

/// What is known once the digest is written.
#[derive(Debug, Clone, PartialEq)]
pub struct Digested {
    pub base_branch: Option<String>,
    pub base_tip: Option<Sha>,
    pub merge_base: Option<Sha>,
    pub contract_version: Option<u32>,
    pub ci_fingerprint: String,
    pub digest_hash: String,
    pub stats: Stats,
}

/// How far the seat is.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    pub phase: Option<String>,
    pub turns: u32,
    pub tokens: u64,
    pub cost_usd: Option<f64>,
}

/// What the seat said, once it is found valid.
#[derive(Debug, Clone, PartialEq)]
pub struct Submitted {
    pub seat_verdict: Verdict,
    pub summary: String,
    pub coverage: Coverage,
    /// Why the seat's own word is lowered already (`not read: …`).
    pub lowered_because: Vec<String>,
}

/// The verdict and what made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub verdict: Verdict,
    pub cap: Verdict,
    pub lowered_by: Vec<GateId>,
    pub lowered_because: Vec<String>,
}

/// What [`read`] reads, of `reviews r` and its `tasks t`.
pub(super) const COLUMNS: &str = "r.id, r.task, t.title, r.sha, r.base_branch, r.base_tip, r.merge_base, r.contract_version,
    r.ci_fingerprint, r.trigger, r.state, r.reason, r.reason_detail, r.verdict, r.seat_verdict, r.cap,
    r.lowered_by, r.lowered_because, r.stale_reason, r.stale_at, r.summary, r.digest_hash, r.stats, r.coverage,
    r.phase, r.turns, r.tokens, r.cost_usd, r.budget_usd, r.model, r.adapter, r.boundary, r.cancel_asked,
    r.queued_at, r.started_at, r.submitted_at, r.held_at, r.ended_at, r.gates_at,
    (SELECT json_group_array(g.gate ORDER BY g.position) FROM gates g
      WHERE g.review = r.id AND g.state = 'undecided') AS waits_for,
    (SELECT count(*) FROM gates g WHERE g.review = r.id AND g.state = 'fail') AS failed_gates,
    (SELECT count(*) FROM findings f WHERE f.review = r.id AND f.state IN ('new', 'open')) AS findings";

pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<ReviewRecord> {
    Ok(ReviewRecord {
        id: ReviewId(row.get("id")?),
        task: TaskId(row.get("task")?),
        title: row.get("title")?,
        sha: sql::sha(row, "sha")?,
        base_branch: row.get("base_branch")?,
        base_tip: sql::sha_opt(row, "base_tip")?,
        merge_base: sql::sha_opt(row, "merge_base")?,
        contract_version: row.get("contract_version")?,
        ci_fingerprint: row.get("ci_fingerprint")?,
        trigger: sql::word(row, "trigger")?,
        state: sql::word(row, "state")?,
        reason: sql::word_opt(row, "reason")?,
        reason_detail: row.get("reason_detail")?,
        verdict: sql::word_opt(row, "verdict")?,
        seat_verdict: sql::word_opt(row, "seat_verdict")?,
        cap: sql::word_opt(row, "cap")?,
        lowered_by: sql::json(row, "lowered_by")?,
        lowered_because: sql::json(row, "lowered_because")?,
        stale_reason: sql::word_opt(row, "stale_reason")?,
        stale_at: sql::time_opt(row, "stale_at")?,
        summary: row.get("summary")?,
        digest_hash: row.get("digest_hash")?,
        stats: sql::json(row, "stats")?,
        coverage: sql::json(row, "coverage")?,
        phase: row.get("phase")?,
        turns: row.get("turns")?,
        tokens: row.get::<_, i64>("tokens")?.unsigned_abs(),
        cost_usd: row.get("cost_usd")?,
        budget_usd: row.get("budget_usd")?,
        model: row.get("model")?,
        adapter: row.get("adapter")?,
        boundary: row.get("boundary")?,
        cancel_asked: row.get("cancel_asked")?,
        queued_at: sql::time(row, "queued_at")?,
        started_at: sql::time_opt(row, "started_at")?,
        submitted_at: sql::time_opt(row, "submitted_at")?,
        held_at: sql::time_opt(row, "held_at")?,
        ended_at: sql::time_opt(row, "ended_at")?,
        gates_at: sql::time_opt(row, "gates_at")?,
        waits_for: sql::json(row, "waits_for")?,
        failed_gates: row.get("failed_gates")?,
        findings: row.get("findings")?,
    })
}
