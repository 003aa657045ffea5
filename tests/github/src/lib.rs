//! A GitHub that lives in the test: one world of real bare repositories, people, tokens, pull requests
//! and checks, asked over loopback by REST, GraphQL and git, judged by GitHub's own description.
//!
//! ```no_run
//! # use steward_github_double::World;
//! let world = World::start();
//! world.token("octo", "t0ken", &["repo"]);
//! let app = world.repo("octo/app");
//! let head = app.push("feat", "feat: more", &[("src/lib.rs", "pub fn more() {}\n")]);
//! let pull = app.open_pull("octo", "feat", "feat: more");
//! app.check(&head, "build").fails();
//! app.check(&head, "build").succeeds();
//! # let _ = pull;
//! ```

mod access;
mod bare;
mod clock;
mod contract;
mod fault;
mod follow;
mod gate;
mod graphql;
mod happening;
mod payload;
mod price;
mod routes;
mod runs;
mod smart_http;
mod spoil;
mod standing;
mod state;
mod torn;
mod verbs;
mod wire;
mod world;

pub use contract::judge_answer;
pub use fault::{Fault, Retry};
pub use gate::Gate;
pub use state::{Grant, Protection, Role};
pub use verbs::{CheckVerbs, CommitVerbs, PullVerbs, RepoVerbs, RunVerbs};
pub use world::{Exchange, FaultVerbs, Tally, World};
