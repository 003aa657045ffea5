//! What a review may use: money, tokens, turns and minutes of one, and money over all agents.

use chrono::Duration;
use serde::{Deserialize, Serialize};

use super::{EndReason, Refusal};
use crate::review::settings::ReviewSettings;

/// What a running review used so far, as the stream tells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usage {
    /// `None`: the agent reports no cost. The other limits still hold.
    pub usd: Option<f64>,
    pub tokens: u64,
    pub turns: u32,
    pub elapsed: Duration,
}

/// The limit that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    Usd,
    Tokens,
    Turns,
    Minutes,
}

impl Limit {
    pub fn reason(self) -> EndReason {
        match self {
            Self::Usd | Self::Tokens | Self::Turns => EndReason::Budget,
            Self::Minutes => EndReason::Timeout,
        }
    }
}

impl Usage {
    /// The first limit that is used up, if any. A cost that is no amount counts as unknown.
    pub fn reached(&self, settings: &ReviewSettings) -> Option<Limit> {
        let usd = self.usd.filter(|usd| usd.is_finite() && *usd >= 0.0);
        if usd.is_some_and(|usd| usd >= settings.budget_usd) {
            Some(Limit::Usd)
        } else if self.tokens >= settings.max_tokens {
            Some(Limit::Tokens)
        } else if self.turns > settings.max_turns {
            Some(Limit::Turns)
        } else if self.elapsed >= Duration::minutes(i64::from(settings.max_minutes)) {
            Some(Limit::Minutes)
        } else {
            None
        }
    }
}

/// What all agents together cost this day and this month.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spend {
    pub today_usd: f64,
    pub month_usd: f64,
}

/// The caps over all agents; past one, nothing that costs money starts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SpendCaps {
    pub daily_usd: f64,
    pub monthly_usd: f64,
}

impl Default for SpendCaps {
    fn default() -> Self {
        Self { daily_usd: 10.0, monthly_usd: 100.0 }
    }
}

impl Spend {
    /// Refuses when a cap is reached. A sum or cap that is no number refuses too.
    pub fn within(&self, caps: &SpendCaps) -> Result<(), Refusal> {
        let below = |spent: f64, cap: f64| spent < cap;
        if !below(self.today_usd, caps.daily_usd) {
            return Err(Refusal::DayCap { spent: self.today_usd, cap: caps.daily_usd });
        }
        if !below(self.month_usd, caps.monthly_usd) {
            return Err(Refusal::MonthCap { spent: self.month_usd, cap: caps.monthly_usd });
        }
        Ok(())
    }
}
