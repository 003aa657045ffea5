//! Types and decisions of Steward: pure functions over facts, policy and `now`.
//!
//! Nothing here reads a clock, a disk, the network, the environment or a random source; the crate's
//! own `clippy.toml` holds that. An unread fact is [`reading::Reading::Unread`], never a default.

pub mod caller;
pub mod checks;
pub mod deed;
pub mod diff;
pub mod engine;
pub mod github;
mod globs;
pub mod guard;
pub mod ids;
pub mod observing;
pub mod outgoing;
pub mod power;
pub mod questions;
pub mod reading;
pub mod review;
pub mod secret;
pub mod title;
pub mod untrusted;
pub mod wording;
