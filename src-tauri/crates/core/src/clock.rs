//! The only place that reads the time.

use std::sync::Arc;

use chrono::{DateTime, Utc};

/// Where a loop gets its `now`. Tests hand in a clock they move.
pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> DateTime<Utc>;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> DateTime<Utc> {
        Utc::now()
    }
}

/// A shared clock.
pub type SharedClock = Arc<dyn Clock>;
