//! What agents and mechanical rebases make for the engine: real git, the real boundary, the real agent CLI with a
//! scripted model.

mod agents;
pub(crate) mod desk;
mod driver;
mod ends;
mod hostile;
mod rebase;
mod stage;
mod tools;
mod verify;
