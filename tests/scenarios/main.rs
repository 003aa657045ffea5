//! Real git, real SQLite, real keyring, real boundary: the core at work.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]

mod accounts;
mod accounts_repositories;
mod backup;
mod bad_input;
mod boundary;
mod config;
mod config_engine;
mod config_github;
mod corpus;
mod desk;
mod effects;
mod engine_loop;
mod engine_reading;
mod engine_tasks;
mod faults;
mod frames;
mod gates;
mod git;
mod github_client;
mod hostile;
mod inbox;
mod keychain;
mod landed;
mod listen;
mod lock;
mod observer;
mod pulls;
mod questions;
mod review_ends;
mod review_flow;
mod seat;
mod seat_command;
mod seat_files;
mod seat_stream;
mod store;
mod telemetry;
mod tmux;
mod tools_server;
