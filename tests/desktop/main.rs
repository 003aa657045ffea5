//! The built app in a real window.

mod review_flow;
mod shell;
