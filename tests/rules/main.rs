//! Decision tables: every row of the cases and of the specs, as plain function calls.

#![allow(clippy::unwrap_used, reason = "what a test builds is there")]

mod corpus;
mod coverage;
mod deed;
mod diff;
mod engine;
mod findings;
mod gates;
mod gates_forge;
mod gates_task;
mod github_scopes;
mod guard;
mod hygiene;
mod keys;
mod landed;
mod laws;
mod lifecycle;
mod needs;
mod observing;
mod outgoing;
mod panes;
mod power;
mod secret;
mod secret_corpus;
mod submission;
mod untrusted;
mod verdict;
mod watcher;
mod wording;
mod world;
