//! Git, run by its own command line behind one hardened runner. Everything here blocks.

mod error;
mod remote;
mod runner;
mod workspace;

pub use error::GitError;
pub use remote::Remote;
pub use runner::{Call, Flow, Git, Limits};
pub use workspace::{Branch, Head, Workspace, WorkspaceState};
