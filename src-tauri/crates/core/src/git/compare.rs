//! How a head stands to a base, what it changes, and what of it is a link: read in our own clone, from trees
//! alone (engine.md 2 and 3).

use std::collections::HashMap;

use steward_rules::diff::{Kind, RepoPath};
use steward_rules::ids::Sha;
use tokio_util::sync::CancellationToken;

use super::clone::BareClone;
use super::error::GitError;
use super::objects::{self, Depth, Piece};
use super::runner::{Flow, Limits};
use super::workspace::sha;

/// How a head stands to a base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    pub merge_base: Sha,
    pub ahead_by: u32,
    pub behind_by: u32,
}

/// One changed file, with the raw modes and the blobs of both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub path: RepoPath,
    /// The path before a rename.
    pub old_path: Option<RepoPath>,
    /// `None` for a mode git does not write.
    pub old_kind: Option<Kind>,
    pub new_kind: Option<Kind>,
    pub old_blob: Sha,
    pub new_blob: Sha,
}

/// The changed files, at most so many as were asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    pub files: Vec<Change>,
    pub complete: bool,
}

/// How `head` stands to `base`; `None` when they share no history. Both are here.
pub fn standing(
    clone: &BareClone,
    base: &Sha,
    head: &Sha,
    cancel: &CancellationToken,
) -> Result<Option<Standing>, GitError> {
    let call = clone.call(&["merge-base", base.as_str(), head.as_str()]).cancel(cancel);
    let (said, strangers) = call.answer()?;
    if strangers {
        return Ok(None);
    }
    let merge_base = sha(String::from_utf8_lossy(&said).trim_end(), "merge-base")?;
    let range = format!("{base}...{head}");
    let counts = clone.call(&["rev-list", "--left-right", "--count", &range, "--"]).cancel(cancel).line()?;
    let mut numbers = counts.split_whitespace().map(str::parse::<u32>);
    match (numbers.next(), numbers.next(), numbers.next()) {
        (Some(Ok(behind_by)), Some(Ok(ahead_by)), None) => {
            Ok(Some(Standing { merge_base, ahead_by, behind_by }))
        }
        _ => Err(GitError::answer("rev-list", "counts it cannot read")),
    }
}

/// What changed from one commit to another, renames followed; no more than `most` files.
pub fn changes(
    clone: &BareClone,
    from: &Sha,
    to: &Sha,
    most: usize,
    cancel: &CancellationToken,
) -> Result<Changes, GitError> {
    let args = [
        "diff-tree",
        "-r",
        "-z",
        "-M",
        "--raw",
        "--no-abbrev",
        "--no-ext-diff",
        "--no-textconv",
        from.as_str(),
        to.as_str(),
        "--",
    ];
    let mut parts = Parts::default();
    let mut changes = Changes { files: Vec::new(), complete: true };
    clone.call(&args).limits(Limits::LIST).cancel(cancel).stream(|chunk| {
        for part in parts.take(chunk) {
            let Some(change) = parts.one(part)? else { continue };
            if changes.files.len() == most {
                changes.complete = false;
                return Ok(Flow::Enough);
            }
            changes.files.push(change);
        }
        Ok(Flow::More)
    })?;
    Ok(changes)
}

/// The symlinks and submodules in the trees of these commits, each path once; an error past `most` of them.
pub fn links(
    clone: &BareClone,
    commits: &[&Sha],
    most: usize,
    cancel: &CancellationToken,
) -> Result<Vec<RepoPath>, GitError> {
    let mut found = std::collections::BTreeSet::new();
    for commit in commits {
        objects::tree(clone, commit, Depth::All, &[], cancel, |entry| {
            if matches!(Kind::from_mode(&entry.mode), Some(Kind::Symlink | Kind::Submodule) | None) {
                found.insert(entry.path);
            }
            if found.len() > most {
                return Err(GitError::TooLarge { what: "ls-tree".to_owned(), limit: most as u64 });
            }
            Ok(())
        })?;
    }
    Ok(found.into_iter().collect())
}

/// The bytes of blobs; an error when one of them or all together are longer than is read.
pub fn blobs(
    clone: &BareClone,
    ids: &[&Sha],
    each: u64,
    together: u64,
    cancel: &CancellationToken,
) -> Result<HashMap<Sha, Vec<u8>>, GitError> {
    let mut wanted: Vec<&Sha> = ids.to_vec();
    wanted.sort_unstable();
    wanted.dedup();
    let (mut found, mut sum) = (vec![Vec::new(); wanted.len()], 0_u64);
    objects::read(clone, &wanted, cancel, |index, piece| {
        match piece {
            Piece::Start { size } => {
                sum += size;
                if size > each || sum > together {
                    return Err(GitError::TooLarge { what: "cat-file".to_owned(), limit: each });
                }
            }
            Piece::Bytes(bytes) => found[index].extend_from_slice(bytes),
            Piece::End => {}
        }
        Ok(())
    })?;
    Ok(wanted.into_iter().cloned().zip(found).collect())
}

/// The parts between NULs, as they come.
#[derive(Default)]
struct Parts {
    pending: Vec<u8>,
    /// The raw line whose paths are still to come.
    line: Option<Raw>,
    first: Option<RepoPath>,
}

struct Raw {
    modes: [Option<Kind>; 2],
    blobs: [Sha; 2],
    has_two_paths: bool,
}

impl Parts {
    fn take(&mut self, chunk: &[u8]) -> Vec<Vec<u8>> {
        self.pending.extend_from_slice(chunk);
        let mut parts = Vec::new();
        let mut at = 0;
        while let Some(end) = self.pending[at..].iter().position(|byte| *byte == 0) {
            parts.push(self.pending[at..at + end].to_vec());
            at += end + 1;
        }
        self.pending.drain(..at);
        parts
    }

    fn one(&mut self, part: Vec<u8>) -> Result<Option<Change>, GitError> {
        let Some(line) = self.line.take() else {
            self.line = Some(raw(&part)?);
            return Ok(None);
        };
        if line.has_two_paths && self.first.is_none() {
            self.first = Some(RepoPath::new(part));
            self.line = Some(line);
            return Ok(None);
        }
        let ([old_kind, new_kind], [old_blob, new_blob]) = (line.modes, line.blobs);
        let (path, old_path) = (RepoPath::new(part), self.first.take());
        Ok(Some(Change { path, old_path, old_kind, new_kind, old_blob, new_blob }))
    }
}

/// `:100644 100644 <id> <id> M`, or `R087` before two paths.
fn raw(line: &[u8]) -> Result<Raw, GitError> {
    let bad = || GitError::answer("diff-tree", "a line it cannot read");
    let text = std::str::from_utf8(line).map_err(|_| bad())?;
    let mut words = text.strip_prefix(':').ok_or_else(bad)?.split(' ');
    let mut word = || words.next().ok_or_else(bad);
    let modes = [Kind::from_mode(word()?.as_bytes()), Kind::from_mode(word()?.as_bytes())];
    let blobs = [sha(word()?, "diff-tree")?, sha(word()?, "diff-tree")?];
    let status = word()?;
    Ok(Raw { modes, blobs, has_two_paths: status.starts_with(['R', 'C']) })
}
