//! The eleven gates: objective checks over facts, and the cap they put on a verdict.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::ids::Sha;

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
