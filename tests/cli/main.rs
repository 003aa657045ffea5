//! The command line, as a person and as an agent meet it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]

mod auth;
mod bad_input;
mod configure;
mod desk;
mod effects;
mod http;
mod inbox;
mod items;
mod needs;
mod needs_elsewhere;
mod needs_ways;
mod persons;
mod repos;
mod reviews;
mod tasks;
