//! What changed between two commits: files with raw modes, and the lines of each hunk.

pub mod collect;
pub mod parse;

use serde::{Deserialize, Serialize};

use crate::ids::Sha;

/// A path in a repository, as git stores it: bytes that are not UTF-8 are shown as `\xNN` in
/// `shown`, and `raw` keeps them for matching and for asking git again.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RepoPath {
    raw: Vec<u8>,
}

impl RepoPath {
    pub fn new(raw: impl Into<Vec<u8>>) -> Self {
        Self { raw: raw.into() }
    }

    pub fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// The path as text; bytes that are no UTF-8 are replaced by `\xNN`, so two different paths
    /// never look the same.
    pub fn shown(&self) -> String {
        let mut out = String::with_capacity(self.raw.len());
        for chunk in self.raw.utf8_chunks() {
            out.push_str(chunk.valid());
            for byte in chunk.invalid() {
                out.push_str(&format!("\\x{byte:02x}"));
            }
        }
        out
    }

    /// The path's components, split at `/`.
    pub fn components(&self) -> impl Iterator<Item = &[u8]> {
        self.raw.split(|b| *b == b'/')
    }

    pub fn file_name(&self) -> &[u8] {
        self.raw.rsplit(|b| *b == b'/').next().unwrap_or(&self.raw)
    }

    /// The folder of this path, without a trailing slash; empty at the root.
    pub fn folder(&self) -> &[u8] {
        match self.raw.iter().rposition(|b| *b == b'/') {
            Some(at) => &self.raw[..at],
            None => &[],
        }
    }
}

impl From<&str> for RepoPath {
    fn from(text: &str) -> Self {
        Self::new(text.as_bytes())
    }
}

/// How a file was changed, by git's own letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum Status {
    Added,
    Deleted,
    Modified,
    /// A rename; `similarity` in percent.
    Renamed {
        similarity: u8,
    },
    Copied {
        similarity: u8,
    },
    /// File, link or submodule became another of these.
    TypeChanged,
}

/// What stands at a path, by its raw mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Absent,
    File,
    Executable,
    Symlink,
    Submodule,
}

impl Kind {
    /// Reads git's six-digit mode; `None` for a mode git does not write.
    pub fn from_mode(mode: &[u8]) -> Option<Self> {
        match mode {
            b"000000" => Some(Self::Absent),
            b"100644" | b"100664" => Some(Self::File),
            b"100755" => Some(Self::Executable),
            b"120000" => Some(Self::Symlink),
            b"160000" => Some(Self::Submodule),
            _ => None,
        }
    }
}

/// How a blob's first 8000 bytes look, whatever the attributes of the branch say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    Text,
    /// A NUL byte in the first 8000 bytes.
    Binary,
    /// A Git LFS pointer: binary by reference.
    LfsPointer,
    /// No blob on the new side (deleted), or a submodule.
    None,
}

/// One added or removed line, without its line end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Line number on its own side, from 1.
    pub number: u32,
    pub text: Vec<u8>,
}

/// One hunk, without context lines (`-U0`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hunk {
    pub old_start: u32,
    pub old_lines: u32,
    pub new_start: u32,
    pub new_lines: u32,
    pub added: Vec<Line>,
    pub removed: Vec<Line>,
}

/// One changed file of base..head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFile {
    pub status: Status,
    /// The path at the head; for a deletion, the path that went.
    pub path: RepoPath,
    /// The path before a rename or copy.
    pub old_path: Option<RepoPath>,
    pub old_kind: Kind,
    pub new_kind: Kind,
    pub old_blob: Sha,
    pub new_blob: Sha,
    /// Added and removed lines; `None` when git counted none (binary).
    pub lines: Option<(u32, u32)>,
    /// Judged from the blob's bytes, not from attributes.
    pub content: Content,
    pub hunks: Vec<Hunk>,
}

impl ChangedFile {
    /// True when the content at the head is not what it was at the base.
    pub fn content_changed(&self) -> bool {
        self.old_blob != self.new_blob
    }

    /// Both sides of the change: old path (if another) and path.
    pub fn paths(&self) -> impl Iterator<Item = &RepoPath> {
        self.old_path.iter().chain(std::iter::once(&self.path))
    }

    /// True when something stands at the path at the head.
    pub fn exists_at_head(&self) -> bool {
        self.new_kind != Kind::Absent
    }
}

/// The change under judgement: `merge-base(origin/<integration>, head)..head`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Diff {
    pub files: Vec<ChangedFile>,
}

impl Diff {
    /// Added and removed lines of all files.
    pub fn totals(&self) -> (u64, u64) {
        self.files
            .iter()
            .filter_map(|f| f.lines)
            .fold((0, 0), |(a, r), (fa, fr)| (a + u64::from(fa), r + u64::from(fr)))
    }
}
