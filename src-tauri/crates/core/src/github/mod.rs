//! GitHub: the only module that knows octocrab, and of it only the transport.
//!
//! A [`Client`] is one account on one host. Its [`Reader`] reads and its [`Writer`] writes; what cannot be read whole is a
//! [`GitHubError`], never a short list. [`facts`] turns answers into what the gates judge.

mod address;
mod budget;
mod client;
mod connect;
pub mod convert;
mod error;
pub mod facts;
mod graphql;
mod page;
pub mod probe;
mod reader;
mod retry;
pub mod tally;
pub mod types;
mod wire;
mod writer;

pub use crate::store::api_budget::Limit;
pub use address::{Address, NotAHost};
pub use budget::{Budget, HostBudget, Pace};
pub use client::{Client, OpenError, Options};
pub use connect::{Proxy, Route};
pub use error::{GitHubError, NetworkFault};
pub use facts::OpenPull;
pub use graphql::Query;
pub use reader::{Answer, MAX_COMPARE_FILES, MAX_PULL_COMMITS, MAX_PULL_FILES, Reader, TextEdit, TextEdits};
pub use retry::{Jitter, Retry, any_fraction};
pub use wire::log::Tail;
pub use writer::{Writer, Wrote};
