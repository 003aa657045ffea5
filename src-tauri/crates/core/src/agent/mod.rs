//! Runs a seat: a coding agent, started for one role, inside the boundary.
//!
//! `probe` says what is installed and whether it can be confined; only what it found can be run.
//! `run` starts it, follows its stream, ends it, and tells how it ended. There is no running an agent
//! without a boundary, so this module may use `sandbox`.

mod claude;
mod command;
mod duty;
mod endpoint;
mod folders;
mod invocation;
mod limits;
mod outcome;
mod probe;
mod reads;
mod relay;
mod run;
mod settle;
mod stream;
mod submission;

pub use claude::SERVER;
pub use command::CommandNetwork;
pub use duty::{Duty, check_fix, check_triage, check_watch};
pub use endpoint::{Endpoint, EndpointError};
pub use folders::{FrozenTree, SeatFolders, Writable};
pub use invocation::{Credential, Invocation};
pub use limits::SeatLimits;
pub use outcome::{BudgetKind, Progress, SeatEnd, SeatOutcome, TimeoutKind, Usage};
pub use probe::{Adapter, AgentChoice, AgentReport, Refusal, probe};
pub use reads::{Place, ReadSpan};
pub use run::{Prepared, SeatRun, drive, prepare, run};
pub use stream::{Event, ToolInput, parse_line};
pub use submission::{
    Answer, DIGEST_MOST, DigestHead, REFUSED_FILE, SUBMISSION_FILE, SubmissionFile, check, digest_hash,
    read_file, record,
};
