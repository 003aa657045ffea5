//! The steward engine: what becomes of pull requests and issues (engine.md).

pub mod checks;
pub mod classify;
pub mod decision;
pub mod drivers;
pub mod entries;
pub mod facts;
pub mod flag;
pub mod hold;
pub mod json;
pub mod ladder;
pub mod landed;
pub mod linked;
pub mod memory;
pub mod merge;
pub mod paths;
pub mod policy;
pub mod reply;
pub mod report;
pub mod retry;
pub mod setup;
pub mod steps;
pub mod supersede;
pub mod triage;
pub mod verdict_label;
pub mod verify;
pub mod why;
