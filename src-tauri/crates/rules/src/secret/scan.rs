//! Scans the commits of a range: lines are gathered per hunk, and a hit is led back to its line.

use std::collections::HashSet;

use sha2::{Digest, Sha256};

use super::engine::{Engine, Options, shown_prefix};
use super::{Place, SecretHit, SecretReport};

/// A buffer is scanned at the next gap once it is this long.
const SOON: usize = 256 * 1024;
/// A buffer is scanned at the next line once it is this long.
const NOW: usize = 4 * 1024 * 1024;
/// The shortest run of printable bytes of a binary that is looked at.
const STRING: usize = 8;

/// The hash that `secretExceptions` lists for a line.
pub fn line_hash(salt: &str, line: &[u8]) -> String {
    let mut hash = Sha256::new();
    hash.update((salt.len() as u64).to_le_bytes());
    hash.update(salt.as_bytes());
    hash.update(line.trim_ascii());
    hex::encode(hash.finalize())
}

/// A scan over a range of commits. Feed it lines, names, messages and blobs, then finish it.
#[derive(Debug)]
pub struct Scan<'e> {
    engine: &'e Engine,
    options: Options,
    salt: String,
    commits: Vec<String>,
    paths: Vec<String>,
    buffer: Vec<u8>,
    /// Where each gathered line begins in the buffer.
    lines: Vec<Line>,
    report: SecretReport,
    seen: HashSet<(String, String, String)>,
}

#[derive(Debug, Clone, Copy)]
struct Line {
    at: usize,
    kind: LineKind,
    commit: usize,
    path: usize,
    number: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineKind {
    Added,
    Name,
    Message,
    Binary,
}

impl<'e> Scan<'e> {
    pub fn new(engine: &'e Engine, options: Options, salt: &str) -> Self {
        Self {
            engine,
            options,
            salt: salt.to_owned(),
            commits: Vec::new(),
            paths: Vec::new(),
            buffer: Vec::new(),
            lines: Vec::new(),
            report: SecretReport::default(),
            seen: HashSet::new(),
        }
    }

    /// An added line: its number in the new file, without the sign and the line end.
    pub fn line(&mut self, commit: &str, path: &str, number: u32, bytes: &[u8]) {
        self.report.lines += 1;
        self.add(LineKind::Added, commit, path, number, bytes);
    }

    /// The name of a file that the commit added.
    pub fn file_name(&mut self, commit: &str, path: &str) {
        self.add(LineKind::Name, commit, path, 0, path.as_bytes());
    }

    /// A commit message.
    pub fn message(&mut self, commit: &str, message: &[u8]) {
        for (index, line) in message.split(|byte| *byte == b'\n').enumerate() {
            self.add(LineKind::Message, commit, "", index as u32 + 1, line);
        }
    }

    /// The strings of a binary blob.
    pub fn binary(&mut self, commit: &str, path: &str, bytes: &[u8]) {
        let mut number = 0;
        for run in bytes.split(|byte| !matches!(byte, b' '..=b'~' | b'\t')) {
            if run.len() >= STRING {
                number += 1;
                self.add(LineKind::Binary, commit, path, number, run);
            }
        }
    }

    /// Bytes that could not be looked at.
    pub fn skipped(&mut self, bytes: u64) {
        self.report.skipped_bytes += bytes;
    }

    /// The report; hits on lines whose hash is excepted are left out.
    pub fn finish(mut self, exceptions: &[String]) -> SecretReport {
        self.flush();
        self.report.hits.retain(|hit| !exceptions.contains(&hit.line_hash));
        self.report
    }

    fn add(&mut self, kind: LineKind, commit: &str, path: &str, number: u32, bytes: &[u8]) {
        if self.commits.last().is_none_or(|last| last != commit) {
            self.report.commits += 1;
            self.commits.push(commit.to_owned());
        }
        if self.paths.last().is_none_or(|last| last != path) {
            self.paths.push(path.to_owned());
        }
        let (commit, path) = (self.commits.len() - 1, self.paths.len() - 1);
        let follows = self.lines.last().is_some_and(|last| {
            (last.kind, last.commit, last.path) == (kind, commit, path)
                && last.number.checked_add(1) == Some(number)
        });
        if self.buffer.len() >= NOW || (!follows && self.buffer.len() >= SOON) {
            self.flush();
        }
        if !follows && !self.buffer.is_empty() {
            // A byte no format, key or assignment goes across.
            self.buffer.push(0);
            self.buffer.push(b'\n');
        }
        self.report.bytes += bytes.len() as u64;
        self.lines.push(Line { at: self.buffer.len(), kind, commit, path, number });
        self.buffer.extend_from_slice(bytes);
        self.buffer.push(b'\n');
    }

    fn flush(&mut self) {
        for hit in self.engine.scan_text(&self.buffer, self.options) {
            let first = self.lines.partition_point(|line| line.at <= hit.start).saturating_sub(1);
            let last = self.lines.partition_point(|line| line.at < hit.end).saturating_sub(1).max(first);
            let line = self.lines[first];
            let end = self.lines.get(last + 1).map_or(self.buffer.len(), |next| next.at);
            // A key is all of its lines: its first line alone is the same for every key.
            let whole = self.buffer[line.at..end].split(|byte| *byte == 0).next().unwrap_or_default();
            let commit = self.commits[line.commit].clone();
            let path = self.paths[line.path].clone();
            let place = match line.kind {
                LineKind::Added => Place::Line { commit, path, line: line.number },
                LineKind::Name => Place::FileName { commit, path },
                LineKind::Message => Place::Message { commit, line: line.number },
                LineKind::Binary => Place::Binary { commit, path },
            };
            let hit = SecretHit {
                rule: hit.rule.id.clone(),
                family: hit.rule.family.clone(),
                tier: hit.tier,
                prefix: shown_prefix(&self.buffer[hit.start..hit.end]),
                place,
                line_hash: line_hash(&self.salt, whole),
            };
            if self.seen.insert((hit.rule.clone(), format!("{:?}", hit.place), hit.line_hash.clone())) {
                self.report.hits.push(hit);
            }
        }
        self.buffer.clear();
        self.lines.clear();
    }
}
