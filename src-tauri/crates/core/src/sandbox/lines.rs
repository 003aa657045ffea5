//! Output of a contained process, line by line, with nothing kept that was not asked for.

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;

/// One line of output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    Whole(Vec<u8>),
    /// Longer than the cap: dropped while it was read.
    TooLong {
        bytes: u64,
    },
}

/// Reads lines of at most `cap` bytes. Memory stays at the cap whatever is printed, since the pipe
/// holds the writer back.
#[derive(Debug)]
pub struct Lines {
    pipe: Receiver,
    cap: usize,
    buffer: Vec<u8>,
    /// How far `buffer` has been searched for a line break.
    searched: usize,
    dropped: u64,
    total: u64,
    ended: bool,
}

impl Lines {
    pub(super) fn new(pipe: Receiver, cap: usize) -> Self {
        Self { pipe, cap, buffer: Vec::new(), searched: 0, dropped: 0, total: 0, ended: false }
    }

    /// All bytes read so far.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The next line, or `None` at the end. Safe to drop between calls: nothing is lost.
    pub async fn next(&mut self) -> Option<Line> {
        loop {
            if let Some(line) = self.take() {
                return Some(line);
            }
            if self.ended {
                return self.rest();
            }
            let mut chunk = [0u8; 16 * 1024];
            match self.pipe.read(&mut chunk).await {
                Ok(0) | Err(_) => self.ended = true,
                Ok(count) => self.push(&chunk[..count]),
            }
        }
    }

    fn push(&mut self, chunk: &[u8]) {
        self.total += chunk.len() as u64;
        self.buffer.extend_from_slice(chunk);
    }

    fn take(&mut self) -> Option<Line> {
        if let Some(at) = memchr::memchr(b'\n', &self.buffer[self.searched..]) {
            let end = self.searched + at;
            let mut line: Vec<u8> = self.buffer.drain(..=end).collect();
            line.pop();
            self.searched = 0;
            return Some(self.finish(line));
        }
        self.searched = self.buffer.len();
        if self.buffer.len() > self.cap {
            self.dropped += self.buffer.len() as u64;
            self.buffer.clear();
            self.searched = 0;
        }
        None
    }

    fn finish(&mut self, line: Vec<u8>) -> Line {
        if self.dropped > 0 || line.len() > self.cap {
            let bytes = self.dropped + line.len() as u64;
            self.dropped = 0;
            return Line::TooLong { bytes };
        }
        Line::Whole(line)
    }

    fn rest(&mut self) -> Option<Line> {
        let line = std::mem::take(&mut self.buffer);
        self.searched = 0;
        (!line.is_empty() || self.dropped > 0).then(|| self.finish(line))
    }
}
