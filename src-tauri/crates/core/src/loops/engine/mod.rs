//! The steward engine: reads open pull requests and issues, judges each by `rules::engine`, records, and takes
//! at most one next step of each (engine.md 1). What agents and mechanical rebases make for it is made in our own
//! clone (engine.md 5, 7, 9, 14).

pub mod content;
pub mod memory;
pub mod priority;
pub mod reading;
pub mod rebase;
pub mod tasks;
pub mod validating;
pub mod verifying;
