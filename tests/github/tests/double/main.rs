//! The double is held to GitHub's own description before anything is proved on it.

mod client;
mod contract;
mod faults;
mod gitting;
mod graph;
mod limits;
mod merging;
mod reading;
mod recordings;
mod running;
mod writing;
