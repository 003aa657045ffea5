//! The loops: observe, decide by the rules, record, act.

mod context;
pub mod pause;
pub mod review;
pub mod seat;
pub mod task;

pub use context::Ctx;
