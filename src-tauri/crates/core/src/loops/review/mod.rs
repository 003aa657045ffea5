//! Reviews: started by a person or by themselves, driven to a verdict, kept honest afterwards.

mod announce;
pub mod breaker;
pub mod digest;
mod digesting;
mod drive;
pub(crate) mod folders;
mod found;
mod looking;
mod observe;
mod remote;
mod seating;
mod settle;
mod start;
mod stop;

pub(in crate::loops) use announce::announce_end;
pub(in crate::loops) use drive::end_unstarted;
pub use drive::{DriveError, drive};
pub(in crate::loops) use observe::asking;
pub use observe::{Observed, TaskGates, gates, observe};
pub(in crate::loops) use remote::pushed;
pub use settle::{settle, settle_until, watch_stale};
pub use start::{Ask, StartError, cancel, settings, start};
pub use stop::{Stop, StopWhy};
