//! The steward engine: reads open pull requests and issues, judges each by `rules::engine`, records, and takes
//! at most one next step of each (engine.md 1).

pub mod memory;
pub mod reading;
