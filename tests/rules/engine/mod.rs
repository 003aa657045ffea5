//! The steward engine: each row of engine.md and of the engine's cases, decided by pure functions.

mod classify;
mod gate;
mod gate_labels;
mod world;
