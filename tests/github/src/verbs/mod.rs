//! The verbs of tests, so that a test reads aloud.

mod check;
mod commit;
mod repo;
mod run;
mod thread;

pub use check::CheckVerbs;
pub use commit::CommitVerbs;
pub use repo::RepoVerbs;
pub use run::RunVerbs;
pub use thread::PullVerbs;
