//! The house's own test kit: git fixtures, the scripted model, a terminal, fresh homes.

pub mod binary;
pub mod claude;
pub mod codex;
pub mod dbus;
pub mod git;
pub mod home;
pub mod model;
pub mod process;
pub mod pty;
pub mod responses;
pub mod tmux;
