//! Trees and commits made beside the objects of our own clone (engine.md 7, 9): nothing is checked out, the
//! clone has no index, and no ref moves but those below `refs/steward/work/`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};
use steward_rules::diff::{Kind, RepoPath};
use steward_rules::ids::Sha;
use tokio_util::sync::CancellationToken;

use super::clone::BareClone;
use super::error::GitError;
use super::objects::{self, Depth, Piece};
use super::runner::Limits;
use super::workspace::sha;

/// Refs that Steward's own loops move while a task runs; all others must stay as they are.
const MOVING: [&str; 5] =
    ["refs/steward/base/", "refs/steward/pull/", "refs/steward/commit/", "refs/steward/task/", WORK];
const WORK: &str = "refs/steward/work/";

/// A file of a tree: what kind of entry it is, and its object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFile {
    pub path: RepoPath,
    pub kind: Kind,
    pub id: Sha,
}

/// What stands at one path of two trees; `None` where nothing does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Between {
    pub path: RepoPath,
    pub old: Option<(Kind, Sha)>,
    pub new: Option<(Kind, Sha)>,
}

/// One path of a new tree; `None` removes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub path: RepoPath,
    pub to: Option<(Kind, Sha)>,
}

/// Who a commit is by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    pub name: String,
    pub email: String,
}

/// What a commit says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub author: Person,
    /// Seconds since 1970 and the zone, as git keeps them.
    pub date: String,
    pub message: Vec<u8>,
}

/// A commit to be made.
#[derive(Debug, Clone, Copy)]
pub struct NewCommit<'a> {
    pub tree: &'a Sha,
    pub parent: &'a Sha,
    pub said: &'a Said,
    pub committer: &'a Person,
    pub at: DateTime<Utc>,
    /// Whether the committer signs it off.
    pub signoff: bool,
}

impl BareClone {
    /// Every entry of a commit's tree.
    pub fn files(&self, commit: &Sha, cancel: &CancellationToken) -> Result<Vec<TreeFile>, GitError> {
        let mut files = Vec::new();
        objects::tree(self, commit, Depth::All, &[], cancel, |entry| {
            let kind = Kind::from_mode(&entry.mode)
                .ok_or_else(|| GitError::answer("ls-tree", "a mode that git does not write"))?;
            files.push(TreeFile { path: entry.path, kind, id: entry.id });
            Ok(())
        })?;
        Ok(files)
    }

    /// The paths at which two commits or trees differ; a rename is one path gone and one new.
    pub fn between(
        &self,
        one: &Sha,
        other: &Sha,
        cancel: &CancellationToken,
    ) -> Result<Vec<Between>, GitError> {
        let args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev"];
        let args: Vec<&str> = args.into_iter().chain([one.as_str(), other.as_str(), "--"]).collect();
        let said = self.call(&args).limits(Limits::LIST).cancel(cancel).bytes()?;
        let bad = || GitError::answer("diff-tree", "an entry it cannot read");
        let mut parts = said.split(|byte| *byte == 0).filter(|part| !part.is_empty());
        let mut found = Vec::new();
        while let Some(head) = parts.next() {
            let path = parts.next().ok_or_else(bad)?;
            let head =
                std::str::from_utf8(head).ok().and_then(|head| head.strip_prefix(':')).ok_or_else(bad)?;
            let words: Vec<&str> = head.split(' ').collect();
            let [old_mode, new_mode, old, new, _] = words[..] else { return Err(bad()) };
            let side = |mode: &str, id: &str| match Kind::from_mode(mode.as_bytes()) {
                None => Err(bad()),
                Some(Kind::Absent) => Ok(None),
                Some(kind) => Ok(Some((kind, sha(id, "diff-tree")?))),
            };
            found.push(Between {
                path: RepoPath::new(path),
                old: side(old_mode, old)?,
                new: side(new_mode, new)?,
            });
        }
        Ok(found)
    }

    /// The content of blobs, in the order in which they are named; more than `most` bytes in all are refused.
    pub fn contents(
        &self,
        ids: &[&Sha],
        most: u64,
        cancel: &CancellationToken,
    ) -> Result<Vec<Vec<u8>>, GitError> {
        let mut all: Vec<Vec<u8>> = vec![Vec::new(); ids.len()];
        let mut total = 0_u64;
        objects::read(self, ids, cancel, |index, piece| {
            match piece {
                Piece::Start { size } => {
                    total = total.saturating_add(size);
                    if total > most {
                        return Err(GitError::TooLarge { what: "cat-file".to_owned(), limit: most });
                    }
                }
                Piece::Bytes(bytes) => {
                    if let Some(content) = all.get_mut(index) {
                        content.extend_from_slice(bytes);
                    }
                }
                Piece::End => {}
            }
            Ok(())
        })?;
        Ok(all)
    }

    /// Keeps a content as an object. No filter and no attribute touches it.
    pub fn put_blob(&self, bytes: Vec<u8>) -> Result<Sha, GitError> {
        let args = ["hash-object", "-w", "-t", "blob", "--no-filters", "--stdin"];
        sha(&self.call(&args).stdin(bytes).line()?, "hash-object")
    }

    /// The tree of a commit with some paths changed.
    pub fn tree_with(&self, from: &Sha, edits: &[Edit], cancel: &CancellationToken) -> Result<Sha, GitError> {
        let index = Index::new(self);
        index.call(self, &["read-tree", from.as_str()]).limits(Limits::LIST).cancel(cancel).bytes()?;
        let mut lines = Vec::new();
        // What goes is taken away first: a file may make room for a folder of its name.
        let (gone, put): (Vec<&Edit>, Vec<&Edit>) = edits.iter().partition(|edit| edit.to.is_none());
        for edit in gone.into_iter().chain(put) {
            let (mode, id) = match &edit.to {
                None => ("0", "0000000000000000000000000000000000000000"),
                Some((kind, id)) => (mode(*kind)?, id.as_str()),
            };
            lines.extend_from_slice(format!("{mode} {id}\t").as_bytes());
            lines.extend_from_slice(edit.path.raw());
            lines.push(0);
        }
        if !lines.is_empty() {
            index.call(self, &["update-index", "-z", "--index-info"]).stdin(lines).cancel(cancel).bytes()?;
        }
        sha(&index.call(self, &["write-tree"]).cancel(cancel).line()?, "write-tree")
    }

    /// Makes a commit that no ref names yet.
    pub fn commit(&self, new: &NewCommit<'_>) -> Result<Sha, GitError> {
        let mut message = new.said.message.clone();
        if new.signoff {
            sign_off(&mut message, new.committer);
        }
        let call = self
            .call(&["commit-tree", new.tree.as_str(), "-p", new.parent.as_str(), "-F", "-"])
            .env("GIT_AUTHOR_NAME", &new.said.author.name)
            .env("GIT_AUTHOR_EMAIL", &new.said.author.email)
            .env("GIT_AUTHOR_DATE", format!("@{}", new.said.date))
            .env("GIT_COMMITTER_NAME", &new.committer.name)
            .env("GIT_COMMITTER_EMAIL", &new.committer.email)
            .env("GIT_COMMITTER_DATE", format!("@{} +0000", new.at.timestamp()));
        sha(&call.stdin(message).line()?, "commit-tree")
    }

    /// What a commit says of itself, and its parents.
    pub fn said(&self, commit: &Sha) -> Result<(Said, Vec<Sha>), GitError> {
        let raw = self.call(&["cat-file", "commit", commit.as_str()]).bytes()?;
        let bad = || GitError::answer("cat-file", "a commit it cannot read");
        let end = raw.windows(2).position(|two| two == b"\n\n").ok_or_else(bad)?;
        let (head, message) = (String::from_utf8_lossy(&raw[..end]).into_owned(), raw[end + 2..].to_vec());
        let parents = head.lines().filter_map(|line| line.strip_prefix("parent "));
        let parents = parents.map(|id| sha(id, "cat-file")).collect::<Result<_, _>>()?;
        let author = head.lines().find_map(|line| line.strip_prefix("author ")).ok_or_else(bad)?;
        let (name, rest) = author.split_once(" <").ok_or_else(bad)?;
        let (email, date) = rest.split_once("> ").ok_or_else(bad)?;
        let author = Person { name: name.to_owned(), email: email.to_owned() };
        Ok((Said { author, date: date.to_owned(), message }, parents))
    }

    /// The commits of `head` that `base` lacks, oldest first; more than `most` are refused.
    pub fn commits_over(
        &self,
        base: &Sha,
        head: &Sha,
        most: usize,
        cancel: &CancellationToken,
    ) -> Result<Vec<Sha>, GitError> {
        let count = format!("--max-count={}", most + 1);
        let not = format!("^{base}");
        let args = ["rev-list", "--reverse", "--topo-order", &count, head.as_str(), &not, "--"];
        let said = self.call(&args).limits(Limits::LIST).cancel(cancel).line()?;
        let found: Vec<Sha> =
            said.lines().map(|line| sha(line, "rev-list")).collect::<Result<_, GitError>>()?;
        if found.len() > most {
            return Err(GitError::TooLarge { what: "rev-list".to_owned(), limit: most as u64 });
        }
        Ok(found)
    }

    /// The newest commit that both have behind them; `None` when they share no history.
    pub fn merge_base(&self, one: &Sha, other: &Sha) -> Result<Option<Sha>, GitError> {
        let (said, strangers) = self.call(&["merge-base", one.as_str(), other.as_str()]).answer()?;
        if strangers {
            return Ok(None);
        }
        sha(String::from_utf8_lossy(&said).trim_end(), "merge-base").map(Some)
    }

    /// Keeps the result of a task under `refs/steward/work/`.
    pub fn keep_work(&self, task: i64, commit: &Sha) -> Result<(), GitError> {
        let _held = self.guard()?;
        self.call(&["update-ref", &format!("{WORK}{task}"), commit.as_str()]).bytes().map(drop)
    }

    /// The result of a task, while it is kept.
    pub fn work(&self, task: i64) -> Result<Option<Sha>, GitError> {
        let name = format!("{WORK}{task}");
        let said = self.call(&["for-each-ref", "--format=%(objectname)", "--", &name]).line()?;
        if said.is_empty() { Ok(None) } else { sha(&said, "for-each-ref").map(Some) }
    }

    /// Lets go of the result of a task, once it was pushed or given up.
    pub fn drop_work(&self, task: i64) -> Result<(), GitError> {
        let _held = self.guard()?;
        self.call(&["update-ref", "-d", &format!("{WORK}{task}")]).bytes().map(drop)
    }

    /// Everything of git's own state that no task may touch, each with a hash: `HEAD`, configuration,
    /// hooks, attributes, alternates, and the refs that no loop of Steward moves.
    pub fn own_state(&self) -> Result<BTreeMap<String, String>, GitError> {
        let mut state = BTreeMap::new();
        let hash = |bytes: &[u8]| hex::encode(Sha256::digest(bytes));
        for name in ["HEAD", "config", "config.worktree", "objects/info/alternates"] {
            match std::fs::read(self.dir().join(name)) {
                Ok(bytes) => drop(state.insert(name.to_owned(), hash(&bytes))),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(source) => return Err(GitError::Io { doing: format!("read {name}"), source }),
            }
        }
        for folder in ["hooks", "info", "modules"] {
            let mut todo = vec![PathBuf::from(folder)];
            while let Some(inside) = todo.pop() {
                let entries = match std::fs::read_dir(self.dir().join(&inside)) {
                    Ok(entries) => entries,
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                    Err(source) => return Err(GitError::Io { doing: format!("read {folder}"), source }),
                };
                for entry in entries.flatten() {
                    let name = inside.join(entry.file_name());
                    if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                        todo.push(name);
                    } else {
                        let bytes = std::fs::read(self.dir().join(&name)).unwrap_or_default();
                        state.insert(name.to_string_lossy().into_owned(), hash(&bytes));
                    }
                }
            }
        }
        let refs = self.call(&["for-each-ref", "--format=%(refname) %(objectname)"]).limits(Limits::LIST);
        for line in String::from_utf8_lossy(&refs.bytes()?).lines() {
            if let Some((name, id)) = line.split_once(' ')
                && !MOVING.iter().any(|prefix| name.starts_with(prefix))
            {
                state.insert(name.to_owned(), id.to_owned());
            }
        }
        Ok(state)
    }
}

/// The names whose state differs.
pub fn touched(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<String> {
    let names: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    names.into_iter().filter(|name| before.get(*name) != after.get(*name)).cloned().collect()
}

fn mode(kind: Kind) -> Result<&'static str, GitError> {
    match kind {
        Kind::File => Ok("100644"),
        Kind::Executable => Ok("100755"),
        Kind::Symlink => Ok("120000"),
        Kind::Submodule => Ok("160000"),
        Kind::Absent => Err(GitError::answer("update-index", "an entry that is not there")),
    }
}

/// Adds the trailer, unless the message ends with it already.
fn sign_off(message: &mut Vec<u8>, by: &Person) {
    let line = format!("Signed-off-by: {} <{}>", by.name, by.email);
    let text = String::from_utf8_lossy(message).into_owned();
    let last = text.trim_end().rsplit("\n\n").next().unwrap_or_default();
    if last.lines().any(|one| one == line) {
        return;
    }
    let in_trailers = text.trim_end().contains("\n\n")
        && last.lines().all(|one| one.split_once(": ").is_some_and(|(key, _)| !key.contains(' ')));
    message.truncate(message.trim_ascii_end().len());
    message.extend_from_slice(if in_trailers { b"\n" } else { b"\n\n" });
    message.extend_from_slice(line.as_bytes());
    message.push(b'\n');
}

/// An index of its own, gone afterwards.
struct Index(PathBuf);

impl Index {
    fn new(clone: &BareClone) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(clone.git().room().join(format!("index-{}-{number}", std::process::id())))
    }

    fn call<'a>(&self, clone: &'a BareClone, args: &[&str]) -> super::runner::Call<'a> {
        clone.call(args).env("GIT_INDEX_FILE", &self.0)
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        let _gone_already = std::fs::remove_file(&self.0);
    }
}
