//! The command line, as a person and as an agent meet it.

mod bad_input;
mod configure;
mod desk;
mod inbox;
mod persons;
mod reviews;
mod tasks;
