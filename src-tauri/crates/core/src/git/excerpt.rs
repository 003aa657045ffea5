//! Lines of a file at a commit, for findings.

use steward_rules::diff::{Kind, RepoPath};
use steward_rules::ids::Sha;
use tokio_util::sync::CancellationToken;

use super::clone::BareClone;
use super::error::GitError;
use super::objects::{self, Depth, Piece};

/// A file longer than this has no excerpts.
const FILE: u64 = 4 << 20;
/// A shown line is cut here.
const LINE: usize = 400;
/// Most lines of one excerpt.
const LINES: u32 = 41;

/// The lines around `line`, numbered; empty when the file is absent, binary or too large, or has no
/// such line. Text is as it stands: escape it before it is shown.
pub fn excerpt(
    clone: &BareClone,
    commit: &Sha,
    path: &RepoPath,
    line: u32,
    context: u32,
) -> Result<Vec<(u32, String)>, GitError> {
    let Some(bytes) = text(clone, commit, path)? else { return Ok(Vec::new()) };
    let context = context.min(LINES / 2);
    let (first, last) = (line.saturating_sub(context).max(1), line.saturating_add(context));
    let lines = lines(&bytes);
    if line == 0 || usize::try_from(line).is_ok_and(|n| n > lines.len()) {
        return Ok(Vec::new());
    }
    Ok((first..=last)
        .zip(lines.into_iter().skip(first as usize - 1))
        .map(|(number, text)| {
            let text = String::from_utf8_lossy(text);
            (number, text.chars().take(LINE).collect())
        })
        .collect())
}

/// How many lines the file has at the commit; `None` when it is no readable text there.
pub fn file_lines(clone: &BareClone, commit: &Sha, path: &RepoPath) -> Result<Option<u32>, GitError> {
    Ok(text(clone, commit, path)?.map(|bytes| u32::try_from(lines(&bytes).len()).unwrap_or(u32::MAX)))
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    if bytes.is_empty() { Vec::new() } else { bytes.split(|b| *b == b'\n').collect() }
}

/// A file's text at a commit; `None` when it is absent, no plain file, binary or too large.
pub fn text(clone: &BareClone, commit: &Sha, path: &RepoPath) -> Result<Option<Vec<u8>>, GitError> {
    let cancel = CancellationToken::new();
    let mut found = None;
    objects::tree(clone, commit, Depth::Named, &[path.raw()], &cancel, |entry| {
        let kind = Kind::from_mode(&entry.mode);
        if entry.path == *path && matches!(kind, Some(Kind::File | Kind::Executable)) {
            found = Some(entry.id);
        }
        Ok(())
    })?;
    let Some(id) = found else { return Ok(None) };
    let (mut bytes, mut whole) = (Vec::new(), true);
    objects::read(clone, &[&id], &cancel, |_, piece| {
        match piece {
            Piece::Start { size } => whole = size <= FILE,
            Piece::Bytes(piece) if whole => bytes.extend_from_slice(piece),
            Piece::Bytes(_) | Piece::End => {}
        }
        Ok(())
    })?;
    let text = whole && !bytes[..bytes.len().min(8000)].contains(&0);
    Ok(text.then_some(bytes))
}
