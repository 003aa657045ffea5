//! The world of Steward, and the loops that act in it.
//!
//! Floor 1 (`clock` … `tmux`) wraps one outside thing each; floor 2 (`loops`) observes, decides
//! through `steward-rules` and acts; floor 3 (`api`) is what the window and the command line call.

pub mod agent;
pub mod api;
pub mod clock;
pub mod config;
pub mod frames;
pub mod git;
pub mod github;
mod group;
pub mod home;
pub mod keychain;
pub mod lock;
pub mod loops;
pub mod peers;
pub mod sandbox;
pub mod store;
pub mod telemetry;
pub mod tmux;
