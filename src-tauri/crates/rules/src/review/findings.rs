//! Findings and their life from review to review.

use serde::{Deserialize, Serialize};

/// A finding of Steward's own: it lowers the cap to CHANGES without failing a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnFinding {
    pub title: String,
    pub file: String,
    pub line: u32,
    pub why: String,
    pub check: String,
}
