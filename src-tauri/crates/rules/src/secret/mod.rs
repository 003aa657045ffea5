//! Finds secrets in text, by rules that are data (security.md 4).

mod assign;
mod checksum;
mod decode;
mod engine;
mod pem;
mod placeholder;
pub mod plant;
mod rule;
mod scan;
mod template;

pub use engine::{Decode, Engine, Hit, Options};
pub use rule::{Rule, RuleError};
pub use scan::{Scan, line_hash};

use serde::{Deserialize, Serialize};

/// How sure a hit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum Tier {
    /// Assignment and entropy: needs a look, never fails the gate.
    Generic,
    /// A provider's format, a checksum, or a private key with a body: blocks.
    High,
}

/// Where the text stood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "place")]
pub enum Place {
    /// An added line of a commit.
    Line { commit: String, path: String, line: u32 },
    /// The name of a file a commit added.
    FileName { commit: String, path: String },
    /// A commit message.
    Message { commit: String, line: u32 },
    /// The strings of a binary blob.
    Binary { commit: String, path: String },
}

/// One hit. It never holds the secret: only its first four characters and a salted hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretHit {
    /// Id of the rule, e.g. `aws-access-key-id`.
    pub rule: String,
    /// Name of the family for people, e.g. "AWS access key id".
    pub family: String,
    pub tier: Tier,
    pub place: Place,
    pub prefix: String,
    /// Salted hash of the line, as `secretExceptions` lists it.
    pub line_hash: String,
}

/// What a scan over a range of commits found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretReport {
    pub hits: Vec<SecretHit>,
    /// Added lines that were looked at.
    pub lines: u64,
    pub commits: u64,
    pub bytes: u64,
    /// Bytes that were not looked at, since a blob was over the cap; the gate is then undecided.
    pub skipped_bytes: u64,
}
