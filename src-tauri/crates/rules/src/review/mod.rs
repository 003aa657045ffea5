//! The review seat's decisions (review.md): gates, verdict, lifecycle, coverage, findings.

pub mod copy;
pub mod coverage;
pub mod facts;
pub mod findings;
pub mod gate;
pub mod lifecycle;
pub mod policy;
pub mod settings;
pub mod submission;
pub mod verdict;
