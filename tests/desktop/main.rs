//! The built app in a real window.

mod engine_flow;
mod first_command;
mod listen;
mod need_flow;
mod pull_flow;
mod reminder;
mod review_flow;
mod shell;
mod sign_in;
