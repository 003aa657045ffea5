//! Reads many blobs through one `cat-file --batch`, as they come.

use std::ffi::OsStr;

use steward_rules::diff::RepoPath;
use steward_rules::ids::Sha;
use tokio_util::sync::CancellationToken;

use super::clone::BareClone;
use super::error::GitError;
use super::runner::{Flow, Limits};

/// One step of the stream.
#[derive(Debug)]
pub(super) enum Piece<'a> {
    /// The object begins; it has this many bytes.
    Start {
        size: u64,
    },
    Bytes(&'a [u8]),
    End,
}

/// Reads blobs in order; `each` gets the index of the id and a piece. A missing one is an error.
pub(super) fn read(
    clone: &BareClone,
    ids: &[&Sha],
    cancel: &CancellationToken,
    mut each: impl FnMut(usize, Piece<'_>) -> Result<(), GitError>,
) -> Result<(), GitError> {
    if ids.is_empty() {
        return Ok(());
    }
    let mut asked = Vec::with_capacity(ids.len() * 41);
    for id in ids {
        asked.extend_from_slice(id.as_str().as_bytes());
        asked.push(b'\n');
    }
    let (mut index, mut left, mut inside) = (0_usize, 0_u64, false);
    let mut header = Vec::new();
    let answer = |detail: String| GitError::answer("cat-file", detail);
    clone
        .call(&["cat-file", "--batch", "--buffer"])
        .stdin(asked)
        .limits(Limits { bytes: 16 << 30, ..Limits::STREAM })
        .cancel(cancel)
        .stream(|mut chunk| {
            while !chunk.is_empty() {
                if inside {
                    if left > 0 {
                        let take = chunk.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                        each(index, Piece::Bytes(&chunk[..take]))?;
                        left -= take as u64;
                        chunk = &chunk[take..];
                    } else {
                        // The line end after each object.
                        chunk = &chunk[1..];
                        inside = false;
                        each(index, Piece::End)?;
                        index += 1;
                    }
                    continue;
                }
                let end = memchr(chunk);
                header.extend_from_slice(&chunk[..end.unwrap_or(chunk.len())]);
                let Some(end) = end else { break };
                chunk = &chunk[end + 1..];
                let line = String::from_utf8_lossy(&header).into_owned();
                header.clear();
                let mut words = line.split(' ');
                let (id, kind, size) = (words.next(), words.next(), words.next());
                match (kind, size.and_then(|s| s.parse().ok())) {
                    (Some("blob"), Some(size)) => {
                        left = size;
                        inside = true;
                        each(index, Piece::Start { size })?;
                    }
                    (Some("missing"), _) => {
                        return Err(GitError::MissingObject {
                            detail: format!("blob {}", id.unwrap_or_default()),
                        });
                    }
                    _ => return Err(answer(line)),
                }
            }
            Ok(Flow::More)
        })?;
    if index == ids.len() { Ok(()) } else { Err(answer(format!("{index} of {} objects", ids.len()))) }
}

fn memchr(chunk: &[u8]) -> Option<usize> {
    chunk.iter().position(|b| *b == b'\n')
}

/// One entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub mode: [u8; 6],
    pub id: Sha,
    /// Size of a blob when it was asked for.
    pub size: Option<u64>,
    pub path: RepoPath,
}

/// What to list of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// The entries at the named paths; a path with a trailing slash means its children.
    Named,
    /// Every file, without sizes.
    All,
    /// Every file, with the size of each blob.
    AllSized,
}

/// Lists a commit's tree, entry by entry.
pub(super) fn tree(
    clone: &BareClone,
    commit: &Sha,
    depth: Depth,
    paths: &[&[u8]],
    cancel: &CancellationToken,
    mut each: impl FnMut(Entry) -> Result<(), GitError>,
) -> Result<(), GitError> {
    use std::os::unix::ffi::OsStrExt;
    let mut args: Vec<&OsStr> = vec!["ls-tree".as_ref(), "-z".as_ref(), "--full-tree".as_ref()];
    match depth {
        Depth::Named => {}
        Depth::All => args.push("-r".as_ref()),
        Depth::AllSized => args.extend(["-r".as_ref(), "-l".as_ref()] as [&OsStr; 2]),
    }
    args.extend([commit.as_str().as_ref(), "--".as_ref()] as [&OsStr; 2]);
    args.extend(paths.iter().map(|p| OsStr::from_bytes(p)));
    let mut pending = Vec::new();
    clone
        .git()
        .call(clone.dir(), args)
        .env("GIT_DIR", clone.dir())
        .env("GIT_LITERAL_PATHSPECS", "1")
        .limits(Limits { bytes: 512 << 20, ..Limits::LIST })
        .cancel(cancel)
        .stream(|chunk| {
            pending.extend_from_slice(chunk);
            let mut at = 0;
            while let Some(end) = pending[at..].iter().position(|b| *b == 0) {
                each(entry(&pending[at..at + end])?)?;
                at += end + 1;
            }
            pending.drain(..at);
            Ok(Flow::More)
        })
}

/// `100644 blob <id>[ <size>]\t<path>`.
fn entry(line: &[u8]) -> Result<Entry, GitError> {
    let bad = || GitError::answer("ls-tree", "an entry it cannot read");
    let tab = line.iter().position(|b| *b == b'\t').ok_or_else(bad)?;
    let head = std::str::from_utf8(&line[..tab]).map_err(|_| bad())?;
    let mut words = head.split(' ').filter(|w| !w.is_empty());
    let mode = words.next().and_then(|m| m.as_bytes().try_into().ok()).ok_or_else(bad)?;
    let _kind = words.next().ok_or_else(bad)?;
    let id = Sha::new(words.next().ok_or_else(bad)?).map_err(|_| bad())?;
    let size = words.next().and_then(|s| s.parse().ok());
    Ok(Entry { mode, id, size, path: RepoPath::new(&line[tab + 1..]) })
}
