//! The built app in a real window.

mod first_command;
mod review_flow;
mod shell;
mod pull_flow;
mod sign_in;
