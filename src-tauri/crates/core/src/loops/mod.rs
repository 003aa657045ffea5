//! The loops: observe, decide by the rules, record, act.

pub mod accounts;
mod context;
pub mod effects;
pub mod engine;
mod failpoint;
pub mod forge;
pub mod landed;
pub mod observer;
pub mod origins;
pub mod pause;
pub mod questions;
pub mod review;
pub mod seat;
pub mod supervisor;
pub mod task;

pub use context::Ctx;
