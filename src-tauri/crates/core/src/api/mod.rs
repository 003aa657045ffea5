//! What the window and the command line can ask: one list of commands, one dispatch, typed views.

pub mod commands;
pub mod error;
pub mod requests;
pub mod views;
