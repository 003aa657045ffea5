//! What one run may cost in time, money and output.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The ceilings of one run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SeatLimits {
    pub wall: Duration,
    /// Longest silence: a stalled stream counts.
    pub idle: Duration,
    /// At least 1; to some agents 0 means no limit.
    pub turns: u32,
    pub usd: f64,
    pub tokens: u64,
    /// All bytes it may print.
    pub output_bytes: u64,
    /// All bytes it may leave in the inbox.
    pub inbox_bytes: u64,
    /// Bytes by which the tree it works in may grow.
    pub tree_bytes: u64,
}

impl Default for SeatLimits {
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(20 * 60),
            idle: Duration::from_secs(5 * 60),
            turns: 60,
            usd: 1.5,
            tokens: 2_000_000,
            output_bytes: 128 << 20,
            inbox_bytes: 8 << 20,
            tree_bytes: 256 << 20,
        }
    }
}

impl SeatLimits {
    /// Refuses a ceiling that would mean "no ceiling".
    pub(super) fn check(&self) -> Result<(), String> {
        if self.turns == 0 {
            return Err("a seat needs at least one turn; 0 would mean no limit".to_owned());
        }
        if !self.usd.is_finite() || self.usd <= 0.0 {
            return Err("the budget of a seat must be above 0".to_owned());
        }
        if self.wall.is_zero() || self.idle.is_zero() || self.tokens == 0 {
            return Err("the limits of a seat must be above 0".to_owned());
        }
        Ok(())
    }
}
