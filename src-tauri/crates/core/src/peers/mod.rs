//! What speaks for agents elsewhere: the commands and files of thrum.
//!
//! Each command is started with nothing inherited but what it needs to find its own files, with a time
//! limit and a cap on what it prints; foreign text goes in through standard input, never as an argument.

mod run;
pub mod thrum;

pub use run::PeerError;
