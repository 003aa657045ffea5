//! The eleven gates: objective checks over facts, and the cap they put on a verdict.

mod answer;
mod binaries;
pub mod body;
mod churn;
pub mod ci;
mod frames;
mod hygiene;
mod mutations;
pub(crate) mod odd_paths;
mod own;
mod peers;
mod scope;
mod secrets;
mod stacking;
mod validator;

pub use ci::ci_fingerprint;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::facts::Evidence;
use super::policy::ReviewPolicy;
use super::verdict::Verdict;
use crate::ids::Sha;
use crate::wording;

/// One gate's name, in the order of review.md 5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum GateId {
    Ci,
    Validator,
    FramesFresh,
    NoBinaries,
    NoChurn,
    NoSecrets,
    NotStacked,
    PrHygiene,
    Scope,
    MutationsCommitted,
    PeerClaims,
}

impl GateId {
    pub const ALL: [Self; 11] = [
        Self::Ci,
        Self::Validator,
        Self::FramesFresh,
        Self::NoBinaries,
        Self::NoChurn,
        Self::NoSecrets,
        Self::NotStacked,
        Self::PrHygiene,
        Self::Scope,
        Self::MutationsCommitted,
        Self::PeerClaims,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ci => "ci",
            Self::Validator => "validator",
            Self::FramesFresh => "frames_fresh",
            Self::NoBinaries => "no_binaries",
            Self::NoChurn => "no_churn",
            Self::NoSecrets => "no_secrets",
            Self::NotStacked => "not_stacked",
            Self::PrHygiene => "pr_hygiene",
            Self::Scope => "scope",
            Self::MutationsCommitted => "mutations_committed",
            Self::PeerClaims => "peer_claims",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|gate| gate.as_str() == text)
    }
}

/// What a gate found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum GateState {
    Pass,
    Fail,
    Undecided,
    NotApplicable,
}

impl GateState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Undecided => "undecided",
            Self::NotApplicable => "notApplicable",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "pass" => Some(Self::Pass),
            "fail" => Some(Self::Fail),
            "undecided" => Some(Self::Undecided),
            "notApplicable" => Some(Self::NotApplicable),
            _ => None,
        }
    }
}

/// One piece of evidence for a gate's state. All texts are already shown-safe: escaped, one line,
/// and never holding a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum EvidenceItem {
    /// A file, and where in it.
    File { path: String, line: Option<u32>, note: String },
    /// A commit of the range, or one named by someone.
    Commit { sha: String, note: String },
    /// A CI check run or commit status.
    Check {
        name: String,
        app: String,
        id: Option<u64>,
        attempt: u32,
        conclusion: String,
        url: Option<String>,
    },
    /// A pull request.
    Pull { number: i64, note: String },
    /// An evidence frame.
    Frame { id: i64, note: String },
    /// Any other fact, as name and value.
    Fact { name: String, value: String },
}

/// One gate's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct GateResult {
    pub id: GateId,
    pub state: GateState,
    /// One line for people, made by [`crate::wording`].
    pub detail: String,
    pub evidence: Vec<EvidenceItem>,
}

/// All eleven answers about one head, and when they were made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateTable {
    pub head: Sha,
    pub at: DateTime<Utc>,
    /// In the order of [`GateId::ALL`], each gate once.
    pub results: Vec<GateResult>,
    /// Hits that fail no gate but are findings of Steward's own (generic secrets, odd paths). They
    /// lower the cap to CHANGES.
    pub own_findings: Vec<super::findings::OwnFinding>,
}

/// One gate: its name, what its failure caps the verdict at, and how it is judged.
pub struct Gate {
    pub id: GateId,
    pub cap: Verdict,
    pub check: fn(&Evidence, &ReviewPolicy, DateTime<Utc>) -> GateResult,
}

/// The eleven gates in the order they are shown.
pub const GATES: [Gate; 11] = [
    Gate { id: GateId::Ci, cap: Verdict::Changes, check: ci::check },
    Gate { id: GateId::Validator, cap: Verdict::Changes, check: validator::check },
    Gate { id: GateId::FramesFresh, cap: Verdict::Changes, check: frames::check },
    Gate { id: GateId::NoBinaries, cap: Verdict::Changes, check: binaries::check },
    Gate { id: GateId::NoChurn, cap: Verdict::Changes, check: churn::check },
    Gate { id: GateId::NoSecrets, cap: Verdict::Blocked, check: secrets::check },
    Gate { id: GateId::NotStacked, cap: Verdict::Blocked, check: stacking::check },
    Gate { id: GateId::PrHygiene, cap: Verdict::Changes, check: hygiene::check },
    Gate { id: GateId::Scope, cap: Verdict::Changes, check: scope::check },
    Gate { id: GateId::MutationsCommitted, cap: Verdict::Changes, check: mutations::check },
    Gate { id: GateId::PeerClaims, cap: Verdict::Changes, check: peers::check },
];

impl GateId {
    /// What a failure of this gate caps the verdict at.
    pub fn cap(self) -> Verdict {
        GATES[self as usize].cap
    }

    /// True for the two gates that no config can switch off.
    pub fn is_always_on(self) -> bool {
        self.cap() == Verdict::Blocked
    }
}

/// Judges one head by all eleven gates.
pub fn evaluate(evidence: &Evidence, policy: &ReviewPolicy, now: DateTime<Utc>) -> GateTable {
    let results = GATES
        .iter()
        .map(|gate| {
            if policy.gates_off.contains(&gate.id) && !gate.id.is_always_on() {
                GateResult {
                    id: gate.id,
                    state: GateState::NotApplicable,
                    detail: wording::gate::switched_off(),
                    evidence: Vec::new(),
                }
            } else {
                (gate.check)(evidence, policy, now)
            }
        })
        .collect();
    GateTable { head: evidence.head.clone(), at: now, results, own_findings: own::findings(evidence, policy) }
}

/// The patterns of a list that are no globs, so that a contract can be refused with them named.
pub fn invalid_globs(patterns: &[String]) -> Vec<String> {
    crate::globs::Globs::new(patterns).invalid
}

/// True for the lock file of a package manager, by its name.
pub fn is_lockfile(path: &crate::diff::RepoPath, policy: &ReviewPolicy) -> bool {
    churn::is_lockfile(path, policy)
}

/// True for what build tools write, by its folders.
pub fn is_build_output(path: &crate::diff::RepoPath, policy: &ReviewPolicy) -> bool {
    churn::is_build_output(path, policy)
}

/// The best verdict the gates allow; `None` while any gate is undecided, so that nothing is
/// published then.
pub fn cap(table: &GateTable) -> Option<Verdict> {
    let undecided = table.results.iter().any(|result| result.state == GateState::Undecided);
    (!undecided).then(|| cap_so_far(table))
}

/// The best verdict that is still possible, undecided gates left aside.
pub fn cap_so_far(table: &GateTable) -> Verdict {
    let own = if table.own_findings.is_empty() { Verdict::Accepted } else { Verdict::Changes };
    table
        .results
        .iter()
        .filter(|result| result.state == GateState::Fail)
        .map(|result| result.id.cap())
        .fold(own, Verdict::min)
}

/// The failed gates that allow less than the seat said.
pub fn lowered_by(seat: Verdict, table: &GateTable) -> Vec<GateId> {
    table
        .results
        .iter()
        .filter(|result| result.state == GateState::Fail && result.id.cap() < seat)
        .map(|result| result.id)
        .collect()
}

/// The gates whose answer is still out.
pub fn undecided(table: &GateTable) -> Vec<GateId> {
    table
        .results
        .iter()
        .filter(|result| result.state == GateState::Undecided)
        .map(|result| result.id)
        .collect()
}
