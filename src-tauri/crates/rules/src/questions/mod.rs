//! Questions of agents to the owner: how one is written, kept once, told, reminded of and answered; what a
//! pane shows, and which keys may answer it.

pub mod answer;
pub mod delivery;
pub mod escalation;
pub mod hook;
pub mod keys;
pub mod need;
pub mod pane;
pub mod queue;
pub mod roster;
pub mod thrum;
pub mod watcher;
