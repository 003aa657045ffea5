//! The observer: looks at every watched repository in turn, and records what it saw.

pub mod standing;
