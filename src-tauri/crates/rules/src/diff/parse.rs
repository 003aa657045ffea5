//! Reads git's `--raw -p -z` output as it comes, of one diff or of a whole log.
//!
//! Paths are taken from the NUL-terminated raw records, never from patch headers. Inside a hunk
//! lines are counted, so a line that looks like a header stays a line.

use memchr::memchr;

use super::{Kind, RepoPath, Status};
use crate::ids::Sha;

/// Longest piece of one line handed over at once. A longer line comes in pieces that overlap.
pub const LINE_PIECE: usize = 1 << 20;
/// How much of a piece comes again at the start of the next, so that nothing is cut in two.
pub const OVERLAP: usize = 4096;
/// Longest path, message or header line.
const TOKEN: usize = 8 << 20;

/// What the parser reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// `git diff-tree -r -z --raw -p` of two trees.
    Diff,
    /// `git log -z -c --format=<LOG_FORMAT> --raw -p`.
    Log,
}

/// The format that [`Shape::Log`] expects: six NUL-terminated fields after a mark.
pub const LOG_FORMAT: &str = "%x00%x01%H%x00%P%x00%ct%x00%an <%ae>%x00%B%x00";

/// One commit's header in a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitHead {
    pub sha: Sha,
    pub parents: Vec<Sha>,
    pub committed_at: i64,
    pub author: Vec<u8>,
    pub message: Vec<u8>,
}

/// One changed path, as the raw record has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub status: Status,
    pub path: RepoPath,
    pub old_path: Option<RepoPath>,
    pub old_kind: Kind,
    pub new_kind: Kind,
    pub old_blob: Sha,
    pub new_blob: Sha,
    /// True for a merge's file that differs from every parent; only lines in no parent are added.
    pub merge: bool,
}

/// Numbers of a hunk's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub old_start: u32,
    pub old_lines: u32,
    pub new_start: u32,
    pub new_lines: u32,
}

/// Takes what the parser finds, in order: a commit, its records, then each record's patch by index.
pub trait Sink {
    fn commit(&mut self, head: CommitHead);
    fn record(&mut self, index: usize, record: Record);
    /// Git showed no lines, since one side holds a NUL in its first 8000 bytes or is very large.
    fn binary(&mut self, index: usize);
    fn hunk(&mut self, index: usize, span: Span);
    /// An added line, or a piece of one, without its line end.
    fn added(&mut self, index: usize, line: u32, text: &[u8]);
    fn removed(&mut self, index: usize, line: u32, text: &[u8]);
}

/// Why an output is not what git writes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unexpected {what} at byte {at}")]
pub struct ParseError {
    pub what: &'static str,
    pub at: u64,
}

/// The parser: give it chunks of any size, then finish it.
#[derive(Debug)]
pub struct Parser {
    shape: Shape,
    state: State,
    pending: Vec<u8>,
    /// Bytes consumed before `pending`.
    done: u64,
    fields: Vec<Vec<u8>>,
    /// The raw record whose paths are still to come.
    meta: Option<Meta>,
    records: Vec<Open>,
    next_section: usize,
    current: Option<usize>,
    hunk: Hunk,
    /// A line too long for one piece is under way.
    within: Option<Sign>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before a commit's header, or at a diff's first byte.
    Start,
    /// In a commit's header fields.
    Fields,
    /// Between a commit's header and its raw records.
    AfterFields,
    Raw,
    /// At the start of a patch line outside of any hunk.
    Patch,
    Hunk,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Added,
    Removed,
    Other,
}

#[derive(Debug)]
struct Meta {
    kinds: Vec<Kind>,
    blobs: Vec<Sha>,
    letters: Vec<u8>,
    first_path: Option<Vec<u8>>,
}

/// What must be remembered of a record to place its patch sections.
#[derive(Debug)]
struct Open {
    sections: u8,
    merge: bool,
    path: Vec<u8>,
}

/// Lines still to come, per parent and for the result.
#[derive(Debug, Default)]
struct Hunk {
    old_left: Vec<u32>,
    new_left: u32,
    old_line: u32,
    new_line: u32,
}

impl Hunk {
    fn is_over(&self) -> bool {
        self.new_left == 0 && self.old_left.iter().all(|n| *n == 0)
    }
}

impl Parser {
    pub fn new(shape: Shape) -> Self {
        Self {
            shape,
            state: match shape {
                Shape::Diff => State::Raw,
                Shape::Log => State::Start,
            },
            pending: Vec::new(),
            done: 0,
            fields: Vec::new(),
            meta: None,
            records: Vec::new(),
            next_section: 0,
            current: None,
            hunk: Hunk::default(),
            within: None,
        }
    }

    /// Reads the next chunk.
    pub fn push(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> Result<(), ParseError> {
        let mut buffer = std::mem::take(&mut self.pending);
        buffer.extend_from_slice(chunk);
        let mut at = 0;
        while at < buffer.len() {
            let used = self.step(&buffer[at..], sink)?;
            if used == 0 {
                break;
            }
            at += used;
            self.done += used as u64;
        }
        buffer.drain(..at);
        self.pending = buffer;
        Ok(())
    }

    /// Says that the output ended; an unfinished token is an error.
    pub fn finish(mut self) -> Result<(), ParseError> {
        if !self.pending.is_empty() {
            // A patch's last line always has its line end; what is left over was cut off.
            return Err(self.error("end of output"));
        }
        match self.state {
            State::Fields => Err(self.error("end of output in a commit's header")),
            State::Hunk if !self.hunk.is_over() || self.within.is_some() => {
                Err(self.error("end of output in a hunk"))
            }
            State::Raw if self.meta.is_some() => Err(self.error("end of output in a raw record")),
            State::Start | State::AfterFields | State::Raw | State::Patch | State::Hunk => {
                self.close_patch();
                Ok(())
            }
        }
    }

    fn error(&self, what: &'static str) -> ParseError {
        ParseError { what, at: self.done }
    }

    /// Consumes one unit of `rest`, which is never empty; 0 asks for more.
    fn step(&mut self, rest: &[u8], sink: &mut dyn Sink) -> Result<usize, ParseError> {
        match self.state {
            State::Start => match rest[0] {
                0 => Ok(1),
                1 => {
                    self.state = State::Fields;
                    self.fields.clear();
                    Ok(1)
                }
                _ => Err(self.error("byte before a commit")),
            },
            State::Fields => self.field(rest, sink),
            State::AfterFields => match rest[0] {
                0 | b'\n' => Ok(1),
                b':' => {
                    self.state = State::Raw;
                    self.step(rest, sink)
                }
                1 => {
                    self.state = State::Start;
                    self.step(rest, sink)
                }
                _ => Err(self.error("byte after a commit's header")),
            },
            State::Raw => self.raw(rest, sink),
            State::Patch => self.patch(rest, sink),
            State::Hunk => self.line(rest, sink),
        }
    }

    fn token<'a>(&self, rest: &'a [u8], end: u8) -> Result<Option<&'a [u8]>, ParseError> {
        match memchr(end, rest) {
            Some(at) if at <= TOKEN => Ok(Some(&rest[..at])),
            None if rest.len() <= TOKEN => Ok(None),
            _ => Err(self.error("token longer than is read")),
        }
    }

    fn field(&mut self, rest: &[u8], sink: &mut dyn Sink) -> Result<usize, ParseError> {
        let Some(token) = self.token(rest, 0)? else { return Ok(0) };
        self.fields.push(token.to_vec());
        let used = token.len() + 1;
        if self.fields.len() == 5 {
            let head = self.head()?;
            self.records.clear();
            self.next_section = 0;
            self.current = None;
            self.state = State::AfterFields;
            sink.commit(head);
        }
        Ok(used)
    }

    fn head(&mut self) -> Result<CommitHead, ParseError> {
        let message = self.fields.pop().unwrap_or_default();
        let author = self.fields.pop().unwrap_or_default();
        let date = self.fields.pop().unwrap_or_default();
        let parents = self.fields.pop().unwrap_or_default();
        let sha = self.fields.pop().unwrap_or_default();
        let parents = parents
            .split(|b| *b == b' ')
            .filter(|p| !p.is_empty())
            .map(|p| self.sha(p))
            .collect::<Result<Vec<_>, _>>()?;
        let committed_at = std::str::from_utf8(&date)
            .ok()
            .and_then(|d| d.parse().ok())
            .ok_or_else(|| self.error("commit date"))?;
        Ok(CommitHead { sha: self.sha(&sha)?, parents, committed_at, author, message })
    }

    fn sha(&self, bytes: &[u8]) -> Result<Sha, ParseError> {
        std::str::from_utf8(bytes).ok().and_then(|t| Sha::new(t).ok()).ok_or_else(|| self.error("object id"))
    }

    fn raw(&mut self, rest: &[u8], sink: &mut dyn Sink) -> Result<usize, ParseError> {
        if self.meta.is_none() {
            match rest[0] {
                b':' => {}
                0 => {
                    self.state = State::Patch;
                    return Ok(1);
                }
                _ => return Err(self.error("byte in place of a raw record")),
            }
            let Some(token) = self.token(rest, 0)? else { return Ok(0) };
            self.meta = Some(self.meta(token)?);
            return Ok(token.len() + 1);
        }
        let Some(token) = self.token(rest, 0)? else { return Ok(0) };
        let Some(mut meta) = self.meta.take() else { return Ok(0) };
        let moved = meta.kinds.len() == 2 && matches!(meta.letters.first(), Some(b'R' | b'C'));
        if moved && meta.first_path.is_none() {
            meta.first_path = Some(token.to_vec());
            self.meta = Some(meta);
        } else {
            let record = self.record(meta, token)?;
            self.records.push(Open {
                // Git shows a change of type as a removal and an addition.
                sections: if record.status == Status::TypeChanged { 2 } else { 1 },
                merge: record.merge,
                path: record.path.raw().to_vec(),
            });
            sink.record(self.records.len() - 1, record);
        }
        Ok(token.len() + 1)
    }

    /// `:100644 100644 <id> <id> M`, with one more colon, mode, id and letter per further parent.
    fn meta(&self, token: &[u8]) -> Result<Meta, ParseError> {
        let parents = token.iter().take_while(|b| **b == b':').count();
        let words: Vec<&[u8]> = token[parents..].split(|b| *b == b' ').collect();
        if words.len() != (parents + 1) * 2 + 1 {
            return Err(self.error("raw record"));
        }
        let kinds = words[..=parents]
            .iter()
            .map(|mode| Kind::from_mode(mode).ok_or_else(|| self.error("file mode")))
            .collect::<Result<Vec<_>, _>>()?;
        let blobs = words[parents + 1..words.len() - 1]
            .iter()
            .map(|id| self.sha(id))
            .collect::<Result<Vec<_>, _>>()?;
        let letters = words[words.len() - 1].to_vec();
        if letters.is_empty() {
            return Err(self.error("status letter"));
        }
        Ok(Meta { kinds, blobs, letters, first_path: None })
    }

    fn record(&self, meta: Meta, path: &[u8]) -> Result<Record, ParseError> {
        let merge = meta.kinds.len() > 2;
        let (Some(new_kind), Some(new_blob)) = (meta.kinds.last().copied(), meta.blobs.last().cloned())
        else {
            return Err(self.error("raw record"));
        };
        let status = if merge {
            match () {
                () if meta.letters.iter().all(|l| *l == b'A') => Status::Added,
                () if new_kind == Kind::Absent => Status::Deleted,
                () => Status::Modified,
            }
        } else {
            let score =
                std::str::from_utf8(&meta.letters[1..]).ok().and_then(|s| s.parse().ok()).unwrap_or(0_u8);
            match meta.letters.first() {
                Some(b'A') => Status::Added,
                Some(b'D') => Status::Deleted,
                Some(b'M') => Status::Modified,
                Some(b'T') => Status::TypeChanged,
                Some(b'R') => Status::Renamed { similarity: score },
                Some(b'C') => Status::Copied { similarity: score },
                _ => return Err(self.error("status letter")),
            }
        };
        Ok(Record {
            status,
            path: RepoPath::new(path),
            old_path: meta.first_path.map(RepoPath::new),
            old_kind: meta.kinds[0],
            new_kind,
            old_blob: meta.blobs[0].clone(),
            new_blob,
            merge,
        })
    }

    fn patch(&mut self, rest: &[u8], sink: &mut dyn Sink) -> Result<usize, ParseError> {
        if matches!(rest[0], 0 | 1) {
            if self.shape == Shape::Diff {
                return Err(self.error("NUL in a patch"));
            }
            self.close_patch();
            self.state = State::Start;
            return self.step(rest, sink);
        }
        let Some(line) = self.token(rest, b'\n')? else { return Ok(0) };
        let used = line.len() + 1;
        if line.starts_with(b"diff --git ") {
            self.current = Some(self.next_plain()?);
        } else if let Some(path) = line.strip_prefix(b"diff --combined ").or(line.strip_prefix(b"diff --cc "))
        {
            self.current = Some(self.merged(&unquoted(path))?);
        } else if line.starts_with(b"@@") {
            let index = self.current.ok_or_else(|| self.error("hunk before a file"))?;
            let span = self.open_hunk(line)?;
            sink.hunk(index, span);
            self.state = State::Hunk;
            if self.hunk.is_over() {
                self.state = State::Patch;
            }
        } else if line.starts_with(b"Binary files ") {
            let index = self.current.ok_or_else(|| self.error("binary before a file"))?;
            sink.binary(index);
        }
        Ok(used)
    }

    /// The record of the next ordinary section: sections come in the order of the records.
    fn next_plain(&mut self) -> Result<usize, ParseError> {
        loop {
            let Some(open) = self.records.get_mut(self.next_section) else {
                return Err(ParseError { what: "patch without a raw record", at: self.done });
            };
            if open.sections > 0 && !open.merge {
                open.sections -= 1;
                return Ok(self.next_section);
            }
            self.next_section += 1;
        }
    }

    fn merged(&self, path: &[u8]) -> Result<usize, ParseError> {
        self.records
            .iter()
            .position(|open| open.merge && open.path == path)
            .ok_or(ParseError { what: "merge patch without a raw record", at: self.done })
    }

    /// `@@ -1,2 +3 @@ …`; with N parents N+1 at-signs and N old ranges.
    fn open_hunk(&mut self, line: &[u8]) -> Result<Span, ParseError> {
        let bad = ParseError { what: "hunk header", at: self.done };
        let signs = line.iter().take_while(|b| **b == b'@').count();
        let mut words = line[signs..].split(|b| *b == b' ').filter(|w| !w.is_empty());
        let mut old = Vec::with_capacity(signs - 1);
        for _ in 1..signs {
            let word = words.next().and_then(|w| w.strip_prefix(b"-")).ok_or_else(|| bad.clone())?;
            old.push(range(word).ok_or_else(|| bad.clone())?);
        }
        let word = words.next().and_then(|w| w.strip_prefix(b"+")).ok_or_else(|| bad.clone())?;
        let (new_start, new_lines) = range(word).ok_or_else(|| bad.clone())?;
        let (old_start, old_lines) = old.first().copied().ok_or(bad)?;
        self.hunk = Hunk {
            old_left: old.iter().map(|(_, n)| *n).collect(),
            new_left: new_lines,
            old_line: old_start,
            new_line: new_start,
        };
        Ok(Span { old_start, old_lines, new_start, new_lines })
    }

    fn line(&mut self, rest: &[u8], sink: &mut dyn Sink) -> Result<usize, ParseError> {
        let end = memchr(b'\n', rest);
        if let Some(sign) = self.within {
            return Ok(self.piece(rest, end, 0, sign, sink));
        }
        let columns = self.hunk.old_left.len();
        if end.is_none() && rest.len() < LINE_PIECE.max(columns) {
            return Ok(0);
        }
        if rest[0] == b'\\' {
            // `\ No newline at end of file` belongs to the line before.
            return end.map(|at| at + 1).ok_or_else(|| self.error("mark in a hunk"));
        }
        let Some(signs) = rest.get(..columns) else { return Err(self.error("line in a hunk")) };
        let sign = self.count(signs)?;
        Ok(self.piece(rest, end, columns, sign, sink))
    }

    /// Takes a line off what each side still has.
    fn count(&mut self, signs: &[u8]) -> Result<Sign, ParseError> {
        let bad = ParseError { what: "line in a hunk", at: self.done };
        if signs.iter().any(|s| !matches!(s, b' ' | b'+' | b'-')) {
            return Err(bad);
        }
        let gone = signs.contains(&b'-');
        for (left, sign) in self.hunk.old_left.iter_mut().zip(signs) {
            let in_parent = if gone { *sign == b'-' } else { *sign == b' ' };
            if in_parent {
                *left = left.checked_sub(1).ok_or_else(|| bad.clone())?;
            }
        }
        if gone {
            return Ok(if signs.iter().all(|s| *s == b'-') { Sign::Removed } else { Sign::Other });
        }
        self.hunk.new_left = self.hunk.new_left.checked_sub(1).ok_or(bad)?;
        Ok(if signs.iter().all(|s| *s == b'+') { Sign::Added } else { Sign::Other })
    }

    /// Hands over a line or a piece of it, and moves the line numbers when it is over.
    fn piece(
        &mut self,
        rest: &[u8],
        end: Option<usize>,
        skip: usize,
        sign: Sign,
        sink: &mut dyn Sink,
    ) -> usize {
        let over = end.is_some_and(|at| at <= LINE_PIECE + skip);
        let stop = if over { end.unwrap_or(rest.len()) } else { rest.len().min(LINE_PIECE + skip) };
        if !over && stop < LINE_PIECE {
            return 0;
        }
        if let Some(index) = self.current {
            match sign {
                Sign::Added => sink.added(index, self.hunk.new_line, &rest[skip..stop]),
                Sign::Removed => sink.removed(index, self.hunk.old_line, &rest[skip..stop]),
                Sign::Other => {}
            }
        }
        if !over {
            self.within = Some(sign);
            return stop - OVERLAP;
        }
        self.within = None;
        match sign {
            Sign::Added => self.hunk.new_line += 1,
            Sign::Removed => self.hunk.old_line += 1,
            // In a merge, lines of some parent move the result's count unless they went.
            Sign::Other => {
                if !rest[..skip].contains(&b'-') {
                    self.hunk.new_line += 1;
                }
            }
        }
        if self.hunk.is_over() {
            self.state = State::Patch;
        }
        stop + 1
    }

    fn close_patch(&mut self) {
        self.records.clear();
        self.next_section = 0;
        self.current = None;
    }
}

fn range(word: &[u8]) -> Option<(u32, u32)> {
    let text = std::str::from_utf8(word).ok()?;
    match text.split_once(',') {
        Some((start, lines)) => Some((start.parse().ok()?, lines.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    }
}

/// Undoes git's C-style quoting of a path.
pub fn unquoted(text: &[u8]) -> Vec<u8> {
    let Some(inner) = text.strip_prefix(b"\"").and_then(|t| t.strip_suffix(b"\"")) else {
        return text.to_vec();
    };
    let mut out = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next() {
            Some(b'n') => out.push(b'\n'),
            Some(b't') => out.push(b'\t'),
            Some(b'r') => out.push(b'\r'),
            Some(b'a') => out.push(7),
            Some(b'b') => out.push(8),
            Some(b'f') => out.push(12),
            Some(b'v') => out.push(11),
            Some(digit @ b'0'..=b'3') => {
                let mut value = digit - b'0';
                for _ in 0..2 {
                    let next = bytes.next().unwrap_or(b'0');
                    value = value.wrapping_mul(8).wrapping_add(next.wrapping_sub(b'0'));
                }
                out.push(value);
            }
            Some(other) => out.push(other),
            None => {}
        }
    }
    out
}
