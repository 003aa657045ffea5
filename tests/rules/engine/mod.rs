//! The steward engine: each row of engine.md and of the engine's cases, decided by pure functions.

mod answer;
mod classify;
mod drivers;
mod entries;
mod fingerprint;
mod gate;
mod gate_checks;
mod gate_labels;
mod kept;
mod ladder;
mod laws;
mod laws_files;
mod linked;
mod oracle;
mod policy;
mod report;
mod said;
mod setup;
mod supersede;
mod triage;
mod verify;
mod world;
