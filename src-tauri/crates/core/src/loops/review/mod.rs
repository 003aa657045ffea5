//! Reviews: started by a person or by themselves, driven to a verdict, kept honest afterwards.

pub mod breaker;
mod observe;
mod start;

pub use observe::{Observed, TaskGates, gates, observe};
pub use start::{Ask, StartError, cancel, start};
