//! Panes: real tmux, screens drawn in it, and the real agents with scripted models.

mod claude;
mod codex;
mod gallery;
mod real;
mod typing;
mod watching;
