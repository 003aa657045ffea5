//! Git, run by its own command line behind one hardened runner. Everything here blocks.

mod clone;
pub mod compare;
mod error;
mod excerpt;
pub mod export;
pub mod facts;
mod fetch;
pub mod laid;
pub mod landed;
pub mod merge;
pub mod merge_driver;
mod names;
mod objects;
mod push;
mod remote;
mod runner;
mod tidy;
pub mod work;
mod workspace;

pub use clone::{BareClone, Tip};
pub use error::GitError;
pub use excerpt::{excerpt, file_lines, text};
pub use facts::{FactsRequest, GitFacts, OtherHead, SecretPass};
pub use fetch::{Access, Line, Wanted, Way};
pub use names::LeftOut;
pub use push::Pushed;
pub use remote::Remote;
pub use runner::{Call, Flow, Git, Limits};
pub use tidy::Needed;
pub use workspace::{Branch, Head, Workspace, WorkspaceState, common_dir};
