//! Keeps what the parser finds as a [`Diff`], within bounds.

use super::parse::{CommitHead, Record, Sink, Span};
use super::{ChangedFile, Content, Diff, Hunk, Kind, Line};

/// Bytes of line text kept per file; past it the file's hunks go, and its counts stay.
const PER_FILE: usize = 4 << 20;
/// Bytes of line text kept in all.
const IN_ALL: usize = 96 << 20;

/// What a Git LFS pointer begins with.
pub const LFS_HEAD: &[u8] = b"version https://git-lfs.github.com/spec/";

/// Collects one diff.
#[derive(Debug, Default)]
pub struct Collect {
    files: Vec<ChangedFile>,
    notes: Vec<Note>,
    kept: usize,
}

#[derive(Debug, Default)]
struct Note {
    binary: bool,
    kept: usize,
    dropped: bool,
    added: u32,
    removed: u32,
    last: (u32, u32),
    pointer_like: bool,
}

/// A diff, and the files whose content only their blob can tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collected {
    pub diff: Diff,
    /// Indices into `diff.files`. Their `content` is a guess until the blob was looked at.
    pub look: Vec<usize>,
}

impl Collect {
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Ends the collection.
    ///
    /// Git shows lines only when neither side has a NUL in its first 8000 bytes, which is the very
    /// rule of the gate: with the attributes of the branch out of the way, a patch with lines is
    /// text. Everything else is to be looked at.
    pub fn finish(self) -> Collected {
        let mut look = Vec::new();
        let mut files = self.files;
        for (index, (file, note)) in files.iter_mut().zip(&self.notes).enumerate() {
            file.lines = if note.binary { None } else { Some((note.added, note.removed)) };
            if note.dropped {
                file.hunks.clear();
            }
            file.content = match file.new_kind {
                Kind::Absent | Kind::Submodule => Content::None,
                Kind::Symlink => Content::Text,
                Kind::File | Kind::Executable => {
                    if note.binary || note.pointer_like || !file.content_changed() {
                        look.push(index);
                        Content::Binary
                    } else {
                        Content::Text
                    }
                }
            };
        }
        Collected { diff: Diff { files }, look }
    }

    fn keep(&mut self, index: usize, line: u32, text: &[u8], added: bool) {
        let (Some(file), Some(note)) = (self.files.get_mut(index), self.notes.get_mut(index)) else { return };
        let last = if added { &mut note.last.0 } else { &mut note.last.1 };
        if *last == line {
            // A further piece of an overlong line.
            return;
        }
        *last = line;
        let count = if added { &mut note.added } else { &mut note.removed };
        *count += 1;
        if added && (text.starts_with(LFS_HEAD) || text.starts_with(b"oid sha256:")) {
            note.pointer_like = true;
        }
        if note.dropped {
            return;
        }
        if note.kept + text.len() > PER_FILE || self.kept + text.len() > IN_ALL {
            note.dropped = true;
            self.kept -= note.kept;
            file.hunks = Vec::new();
            return;
        }
        note.kept += text.len();
        self.kept += text.len();
        if let Some(hunk) = file.hunks.last_mut() {
            let side = if added { &mut hunk.added } else { &mut hunk.removed };
            side.push(Line { number: line, text: text.to_vec() });
        }
    }
}

impl Sink for Collect {
    fn commit(&mut self, _head: CommitHead) {}

    fn record(&mut self, _index: usize, record: Record) {
        self.files.push(ChangedFile {
            status: record.status,
            path: record.path,
            old_path: record.old_path,
            old_kind: record.old_kind,
            new_kind: record.new_kind,
            old_blob: record.old_blob,
            new_blob: record.new_blob,
            lines: None,
            content: Content::None,
            hunks: Vec::new(),
        });
        self.notes.push(Note::default());
    }

    fn binary(&mut self, index: usize) {
        if let Some(note) = self.notes.get_mut(index) {
            note.binary = true;
        }
    }

    fn hunk(&mut self, index: usize, span: Span) {
        let (Some(file), Some(note)) = (self.files.get_mut(index), self.notes.get_mut(index)) else { return };
        if !note.dropped {
            file.hunks.push(Hunk {
                old_start: span.old_start,
                old_lines: span.old_lines,
                new_start: span.new_start,
                new_lines: span.new_lines,
                added: Vec::with_capacity(span.new_lines.min(4096) as usize),
                removed: Vec::with_capacity(span.old_lines.min(4096) as usize),
            });
        }
    }

    fn added(&mut self, index: usize, line: u32, text: &[u8]) {
        self.keep(index, line, text, true);
    }

    fn removed(&mut self, index: usize, line: u32, text: &[u8]) {
        self.keep(index, line, text, false);
    }
}

/// How a blob looks by its first 8000 bytes.
pub fn sniff(first: &[u8], size: u64) -> Content {
    let first = &first[..first.len().min(8000)];
    if memchr::memchr(0, first).is_some() {
        Content::Binary
    } else if size < 1024 && first.starts_with(LFS_HEAD) {
        Content::LfsPointer
    } else {
        Content::Text
    }
}
