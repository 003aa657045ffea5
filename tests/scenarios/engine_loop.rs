//! The engine's loop on real git and the GitHub double: what it remembers, reads, decides and wants.

mod store;
