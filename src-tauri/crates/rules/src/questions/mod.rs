//! Questions of agents to the owner: what a pane shows, and which keys may answer it.

pub mod keys;
pub mod pane;
