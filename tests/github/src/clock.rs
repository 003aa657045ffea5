//! The double's own time: it stands still and is moved by the test, or runs from a chosen instant.

use std::time::Instant;

use chrono::{DateTime, TimeDelta, Utc};

#[derive(Debug, Clone)]
pub(crate) struct Clock {
    at: DateTime<Utc>,
    running_since: Option<Instant>,
}

impl Clock {
    pub(crate) fn still(at: DateTime<Utc>) -> Self {
        Self { at, running_since: None }
    }

    pub(crate) fn running(at: DateTime<Utc>) -> Self {
        Self { at, running_since: Some(Instant::now()) }
    }

    pub(crate) fn now(&self) -> DateTime<Utc> {
        let passed = self.running_since.map(|since| since.elapsed()).unwrap_or_default();
        self.at + TimeDelta::from_std(passed).unwrap_or_default()
    }

    pub(crate) fn advance(&mut self, by: TimeDelta) {
        self.at += by;
    }
}

/// A moment as GitHub writes it in JSON.
pub(crate) fn stamp(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A moment as HTTP headers write it.
pub(crate) fn http_date(at: DateTime<Utc>) -> String {
    at.format("%a, %d %b %Y %H:%M:%S GMT").to_string()
}
