//! Effects: what a review or a system wants done on GitHub, judged, journalled, sent once, and read back.

pub mod powers;
mod want;

pub use want::{entry_target, is_observed, retire, turned_stale, want_comment};
