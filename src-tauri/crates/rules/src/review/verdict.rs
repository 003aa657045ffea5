//! The three verdicts, and how the gates lower the seat's one.

use serde::{Deserialize, Serialize};

/// What a review says. The order is the clamp's order: `Blocked < Changes < Accepted`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum Verdict {
    Blocked,
    Changes,
    Accepted,
}

impl Verdict {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Blocked => "BLOCKED",
            Self::Changes => "CHANGES",
            Self::Accepted => "ACCEPTED",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "BLOCKED" => Some(Self::Blocked),
            "CHANGES" => Some(Self::Changes),
            "ACCEPTED" => Some(Self::Accepted),
            _ => None,
        }
    }
}

/// Lowers a seat's verdict to what the gates allow. The seat can lower, never raise (review.md 6).
pub fn clamp(seat: Verdict, cap: Verdict) -> Verdict {
    seat.min(cap)
}
