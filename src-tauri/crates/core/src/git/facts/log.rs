//! One pass over every commit of a range: its header, its patch id, its secrets, and, when the range
//! is a single commit, the diff itself.

use chrono::DateTime;
use sha2::{Digest, Sha256};
use steward_rules::diff::collect::Collect;
use steward_rules::diff::parse::{CommitHead, LOG_FORMAT, Parser, Record, Shape, Sink, Span};
use steward_rules::diff::{Kind, Status};
use steward_rules::ids::Sha;
use steward_rules::review::facts::CommitFacts;
use steward_rules::secret::Scan;
use steward_rules::untrusted::Untrusted;
use tokio_util::sync::CancellationToken;

use crate::git::clone::BareClone;
use crate::git::error::GitError;
use crate::git::runner::{Flow, Limits};

/// How git is asked for a patch, in both passes: nothing configured, nothing from the tree.
pub(super) const PATCH: [&str; 12] = [
    "-z",
    "--raw",
    "-p",
    "-U0",
    "-M",
    "-l400",
    "--full-index",
    "--no-abbrev",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--ignore-submodules=none",
];
/// Commits of one range that are read.
const COMMITS: usize = 10_000;

/// A blob whose bytes no patch showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unshown {
    pub commit: Sha,
    pub path: String,
    pub blob: Sha,
}

/// What the pass found.
#[derive(Debug)]
pub(super) struct Range {
    /// Newest first, as git walks.
    pub commits: Vec<CommitFacts>,
    pub unshown: Vec<Unshown>,
    /// The collected diff when the range is one ordinary commit.
    pub single: Option<Collect>,
}

/// Walks commits as git lists them. `revisions` are git's own arguments, ids only.
pub(super) fn walk(
    clone: &BareClone,
    revisions: &[String],
    scan: Option<&mut Scan<'_>>,
    cancel: &CancellationToken,
) -> Result<Range, GitError> {
    let more: Vec<&str> = revisions.iter().map(String::as_str).collect();
    read(clone, &more, None, scan, cancel)
}

/// The patch id of each of these commits; merges and empty ones have none.
pub(super) fn named(
    clone: &BareClone,
    commits: &[&Sha],
    cancel: &CancellationToken,
) -> Result<Vec<(Sha, Option<String>)>, GitError> {
    let asked: String = commits.iter().map(|id| format!("{id}\n")).collect();
    let read = read(clone, &["--no-walk=unsorted", "--stdin"], Some(asked), None, cancel)?;
    Ok(read.commits.into_iter().map(|commit| (commit.sha, commit.patch_id)).collect())
}

fn read(
    clone: &BareClone,
    more: &[&str],
    stdin: Option<String>,
    scan: Option<&mut Scan<'_>>,
    cancel: &CancellationToken,
) -> Result<Range, GitError> {
    let format = format!("--format={LOG_FORMAT}");
    let mut args = vec!["log", "-c", "--topo-order", "--no-notes", "--no-decorate", "--no-mailmap", &format];
    args.extend(PATCH);
    args.extend(more);
    args.push("--");
    let mut pass = Pass {
        scan,
        commits: Vec::new(),
        unshown: Vec::new(),
        single: Some(Collect::default()),
        sha: String::new(),
        records: Vec::new(),
        patch: None,
    };
    let mut parser = Parser::new(Shape::Log);
    let unread = |e: steward_rules::diff::parse::ParseError| GitError::answer("log", e.to_string());
    let stdin = stdin.unwrap_or_default().into_bytes();
    clone.call(&args).stdin(stdin).limits(Limits::STREAM).cancel(cancel).stream(|chunk| {
        parser.push(chunk, &mut pass).map_err(unread)?;
        if pass.commits.len() > COMMITS {
            return Err(GitError::TooLarge { what: "log".to_owned(), limit: COMMITS as u64 });
        }
        Ok(Flow::More)
    })?;
    parser.finish().map_err(unread)?;
    pass.close();
    Ok(Range { commits: pass.commits, unshown: pass.unshown, single: pass.single })
}

struct Pass<'s, 'e> {
    scan: Option<&'s mut Scan<'e>>,
    commits: Vec<CommitFacts>,
    unshown: Vec<Unshown>,
    single: Option<Collect>,
    sha: String,
    records: Vec<Seen>,
    /// `None` for a merge: merges have no patch id.
    patch: Option<PatchId>,
}

struct Seen {
    shown: String,
    raw: Vec<u8>,
    blob: Sha,
    kind: Kind,
    binary: bool,
}

/// Hash over a commit's paths and changed lines. Like `git patch-id` it knows no line numbers, and
/// unlike it no context, so a cherry-pick onto other surroundings keeps its id.
struct PatchId {
    hash: Sha256,
    current: usize,
    empty: bool,
}

impl PatchId {
    fn new() -> Self {
        Self { hash: Sha256::new(), current: usize::MAX, empty: true }
    }

    fn text(&mut self, index: usize, seen: &[Seen], sign: u8, text: &[u8]) {
        self.file(index, seen);
        self.hash.update([sign]);
        self.hash.update(text.trim_ascii_end());
        self.hash.update(b"\n");
    }

    fn file(&mut self, index: usize, seen: &[Seen]) {
        if self.current != index
            && let Some(seen) = seen.get(index)
        {
            self.current = index;
            self.empty = false;
            self.hash.update(b"file\0");
            self.hash.update(&seen.raw);
            self.hash.update(b"\0");
        }
    }
}

impl Pass<'_, '_> {
    /// Ends the commit under way.
    fn close(&mut self) {
        if let (Some(patch), Some(commit)) = (self.patch.take(), self.commits.last_mut())
            && !patch.empty
        {
            commit.patch_id = Some(hex::encode(patch.hash.finalize()));
        }
        self.records.clear();
    }
}

impl Sink for Pass<'_, '_> {
    fn commit(&mut self, head: CommitHead) {
        self.close();
        if !self.commits.is_empty() || head.parents.len() != 1 {
            self.single = None;
        }
        self.sha.clear();
        self.sha.push_str(head.sha.as_str());
        if let Some(scan) = &mut self.scan {
            scan.message(&self.sha, &head.message);
        }
        self.patch = (head.parents.len() < 2).then(PatchId::new);
        let message = String::from_utf8_lossy(&head.message).into_owned();
        let subject = message.lines().find(|l| !l.trim().is_empty()).unwrap_or_default().to_owned();
        self.commits.push(CommitFacts {
            sha: head.sha,
            parents: head.parents,
            subject: Untrusted::new(subject),
            message: Untrusted::new(message),
            author: Untrusted::new(String::from_utf8_lossy(&head.author).into_owned()),
            patch_id: None,
            committed_at: DateTime::from_timestamp(head.committed_at, 0).unwrap_or_default(),
        });
    }

    fn record(&mut self, index: usize, record: Record) {
        let shown = record.path.shown();
        let appeared = match record.status {
            Status::Added | Status::Renamed { .. } | Status::Copied { .. } => true,
            Status::Deleted | Status::Modified | Status::TypeChanged => false,
        };
        if appeared && let Some(scan) = &mut self.scan {
            scan.file_name(&self.sha, &shown);
        }
        self.records.push(Seen {
            shown,
            raw: record.path.raw().to_vec(),
            blob: record.new_blob.clone(),
            kind: record.new_kind,
            binary: false,
        });
        // A rename or a mode change alone is a patch too.
        if !matches!(record.status, Status::Modified)
            && let Some(patch) = &mut self.patch
        {
            patch.file(index, &self.records);
            if let Some(old) = &record.old_path {
                patch.hash.update(b"from\0");
                patch.hash.update(old.raw());
                patch.hash.update(b"\0");
            }
        }
        if let Some(single) = &mut self.single {
            single.record(index, record);
        }
    }

    fn binary(&mut self, index: usize) {
        if let Some(seen) = self.records.get_mut(index)
            && !seen.binary
        {
            seen.binary = true;
            if matches!(seen.kind, Kind::File | Kind::Executable | Kind::Symlink)
                && let Ok(commit) = Sha::new(&self.sha)
            {
                self.unshown.push(Unshown { commit, path: seen.shown.clone(), blob: seen.blob.clone() });
            }
        }
        let blob = self.records.get(index).map(|seen| seen.blob.as_str().to_owned()).unwrap_or_default();
        if let Some(patch) = &mut self.patch {
            patch.text(index, &self.records, b'b', blob.as_bytes());
        }
        if let Some(single) = &mut self.single {
            single.binary(index);
        }
    }

    fn hunk(&mut self, index: usize, span: Span) {
        if let Some(single) = &mut self.single {
            single.hunk(index, span);
        }
    }

    fn added(&mut self, index: usize, line: u32, text: &[u8]) {
        if let (Some(scan), Some(seen)) = (&mut self.scan, self.records.get(index)) {
            scan.line(&self.sha, &seen.shown, line, text);
        }
        if let Some(patch) = &mut self.patch {
            patch.text(index, &self.records, b'+', text);
        }
        if let Some(single) = &mut self.single {
            single.added(index, line, text);
        }
    }

    fn removed(&mut self, index: usize, line: u32, text: &[u8]) {
        if let Some(patch) = &mut self.patch {
            patch.text(index, &self.records, b'-', text);
        }
        if let Some(single) = &mut self.single {
            single.removed(index, line, text);
        }
    }
}
