//! Steward's own bare clone of a repository: the only place it fetches into.
//!
//! The workspace's objects serve as alternates, so opening one costs nothing and a branch is
//! readable the moment it exists. What a task is judged by must outlive the branch, though: a
//! `git gc` in the workspace knows nothing of our refs. So a pinned head's own objects (`head` but
//! not the integration branch) are packed into the clone; only history that the workspace itself
//! keeps is borrowed.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};
use steward_rules::ids::{RepoName, Sha, TaskId};
use steward_rules::reading::{Cause, Reading, Why};
use steward_rules::review::facts::{BaseSource, Forge};
use tokio_util::sync::CancellationToken;

use super::error::GitError;
use super::remote::Remote;
use super::runner::{Call, Git, Limits};
use super::workspace::{Workspace, sha};

/// Written to a clone that turned out damaged, so that it is never used again.
const BROKEN: &str = "steward-broken";
/// Held while our clone is written. Whoever holds it knows that every `*.lock` is left over.
const GUARD: &str = "steward-guard";

/// One bare clone under `clones/`.
#[derive(Debug, Clone)]
pub struct BareClone {
    git: Git,
    dir: PathBuf,
}

/// The integration branch's tip, and where it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tip {
    pub branch: String,
    pub sha: Sha,
    pub fetched_at: DateTime<Utc>,
    pub source: BaseSource,
}

impl BareClone {
    /// Opens the workspace's clone under `clones`, making it when there is none yet or the last one
    /// is damaged.
    pub fn open(git: &Git, clones: &Path, workspace: &Workspace) -> Result<Self, GitError> {
        let key = Sha256::digest(workspace.common_dir().as_os_str().as_encoded_bytes());
        Self::open_as(git, clones, &hex::encode(key), &alternates(workspace)?)
    }

    /// Opens the clone of a repository that has no workspace here: all its objects are its own.
    pub fn open_alone(git: &Git, clones: &Path, host: &str, name: &RepoName) -> Result<Self, GitError> {
        Self::open_as(git, clones, &key_alone(host, name), b"")
    }

    /// The folder of the n-th clone of such a repository.
    pub(super) fn folder_alone(clones: &Path, host: &str, name: &RepoName, number: u32) -> PathBuf {
        folder(clones, &key_alone(host, name), number)
    }

    /// The clone in this folder, unless it is none or was given up.
    pub(super) fn at(git: &Git, dir: &Path) -> Option<Self> {
        let is_one = dir.extension().is_some_and(|end| end == "git") && dir.join(GUARD).is_file();
        (is_one && !dir.join(BROKEN).exists()).then(|| Self { git: git.clone(), dir: dir.to_owned() })
    }

    fn open_as(git: &Git, clones: &Path, key: &str, alternates: &[u8]) -> Result<Self, GitError> {
        for number in 1_u32.. {
            let dir = folder(clones, key, number);
            if dir.join(BROKEN).exists() {
                continue;
            }
            let clone = Self { git: git.clone(), dir };
            if clone.dir.exists() {
                if clone.is_whole(alternates) {
                    return Ok(clone);
                }
                clone.give_up()?;
                continue;
            }
            clone.make(alternates)?;
            return Ok(clone);
        }
        Err(GitError::answer("init", "no number left for a clone"))
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn git(&self) -> &Git {
        &self.git
    }

    /// A call in this clone.
    pub(super) fn call<'a>(&'a self, args: &[&str]) -> Call<'a> {
        self.git.call(&self.dir, args).env("GIT_DIR", &self.dir)
    }

    /// Marks this clone as damaged: the next [`Self::open`] makes a new one in a new folder. Nothing
    /// is deleted.
    pub fn give_up(&self) -> Result<(), GitError> {
        std::fs::write(self.dir.join(BROKEN), b"").map_err(GitError::io("mark a damaged clone"))
    }

    fn make(&self, alternates: &[u8]) -> Result<(), GitError> {
        let parent = self.dir.parent().unwrap_or(&self.dir);
        std::fs::create_dir_all(parent).map_err(GitError::io("make the clones folder"))?;
        // Two loops of this process may make clones at the same time.
        static MADE: AtomicU64 = AtomicU64::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let fresh = parent.join(format!(".new-{}-{number}", std::process::id()));
        let _left_over = std::fs::remove_dir_all(&fresh);
        self.git
            .call(
                parent,
                ["init", "--quiet", "--bare", "--template=", "--initial-branch=none", "--object-format=sha1"],
            )
            .env("GIT_DIR", &fresh)
            .bytes()?;
        let write = |file: &str, bytes: &[u8]| {
            let file = fresh.join(file);
            if let Some(folder) = file.parent() {
                std::fs::create_dir_all(folder).map_err(GitError::io("make our clone"))?;
            }
            std::fs::write(file, bytes).map_err(GitError::io("make our clone"))
        };
        write("objects/info/alternates", alternates)?;
        write("info/attributes", b"")?;
        write(GUARD, b"")?;
        match std::fs::rename(&fresh, &self.dir) {
            Ok(()) => Ok(()),
            // Another process was first with the same clone.
            Err(_) if self.is_whole(alternates) => {
                let _left_over = std::fs::remove_dir_all(&fresh);
                Ok(())
            }
            Err(source) => Err(GitError::Io { doing: "put our clone in place".to_owned(), source }),
        }
    }

    fn is_whole(&self, alternates: &[u8]) -> bool {
        let reads = |file: &str| std::fs::read(self.dir.join(file)).ok();
        reads("objects/info/alternates").as_deref() == Some(alternates)
            && reads("HEAD").is_some_and(|head| head.starts_with(b"ref: "))
            && self.dir.join("refs").is_dir()
            && self.call(&["for-each-ref", "--count=1"]).ok().unwrap_or(false)
    }

    /// Holds the clone for writing and clears locks that a killed process left.
    pub(super) fn guard(&self) -> Result<File, GitError> {
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(self.dir.join(GUARD))
            .map_err(GitError::io("open our clone"))?;
        file.lock().map_err(GitError::io("hold our clone"))?;
        clear_locks(&self.dir, 0);
        Ok(file)
    }

    /// Keeps a task's head: a ref of ours, and its own objects in our clone. `not` is history the
    /// workspace keeps by itself, usually the integration branch.
    pub fn pin(&self, task: TaskId, head: &Sha, not: Option<&Sha>) -> Result<(), GitError> {
        let name = format!("refs/steward/task/{task}/{head}");
        if self.tip(&name)?.as_ref() == Some(head) {
            return Ok(());
        }
        let _held = self.guard()?;
        let mut wanted = format!("{head}\n");
        if let Some(not) = not {
            wanted.push_str(&format!("^{not}\n"));
        }
        self.call(&["pack-objects", "--revs", "--quiet", "--non-empty", "objects/pack/pack"])
            .stdin(wanted.into_bytes())
            .limits(Limits::STREAM)
            .bytes()?;
        self.call(&["update-ref", &name, head.as_str()]).bytes()?;
        self.write_graph()
    }

    /// Lets go of a task's heads.
    pub fn unpin(&self, task: TaskId) -> Result<(), GitError> {
        let _held = self.guard()?;
        let said = self
            .call(&["for-each-ref", "--format=delete %(refname)", &format!("refs/steward/task/{task}/")])
            .bytes()?;
        if said.is_empty() {
            return Ok(());
        }
        self.call(&["update-ref", "--stdin"]).stdin(said).bytes().map(drop)
    }

    /// A commit-graph makes every merge base about five times cheaper; a split one is quick to add to.
    pub(super) fn write_graph(&self) -> Result<(), GitError> {
        self.call(&["commit-graph", "write", "--reachable", "--split", "--no-progress"])
            .limits(Limits::STREAM)
            .bytes()
            .map(drop)
    }

    /// The integration branch as it was fetched last.
    pub fn base(&self, branch: &str) -> Result<Option<Sha>, GitError> {
        self.tip(&format!("refs/steward/base/{branch}"))
    }

    fn tip(&self, name: &str) -> Result<Option<Sha>, GitError> {
        let said = self.call(&["for-each-ref", "--format=%(objectname)", "--", name]).line()?;
        if said.is_empty() { Ok(None) } else { sha(&said, "for-each-ref").map(Some) }
    }

    /// True when this very id is a commit, and it and its tree can be read here.
    pub fn has_commit(&self, id: &Sha) -> Result<bool, GitError> {
        // A tree or a tag of this id is no commit; one that cannot be read is told apart below.
        if self.call(&["cat-file", "-t", id.as_str()]).line().is_ok_and(|kind| kind != "commit") {
            return Ok(false);
        }
        self.call(&["cat-file", "-e", &format!("{id}^{{tree}}")]).ok()
    }

    /// Reads the integration branch where it lives, freshly: a repository on this machine is
    /// fetched, a purely local branch is read from the workspace. On GitHub the API names the tip
    /// and [`Self::fetch`] brings it; here is only what is known without an account.
    pub fn integration_tip(
        &self,
        workspace: &Workspace,
        branch: &str,
        forge: Forge,
        now: DateTime<Utc>,
        cancel: &CancellationToken,
    ) -> Reading<Tip> {
        let tip = |sha: Sha, source| Tip { branch: branch.to_owned(), sha, fetched_at: now, source };
        let here = || match workspace.branch_tip(branch) {
            Ok(sha) => Ok(tip(sha, BaseSource::LocalBranch)),
            Err(GitError::MissingBranch { .. }) => {
                Err(GitError::NoBase { why: format!("there is no branch {branch}") })
            }
            Err(error) => Err(error),
        };
        let local = || -> Result<Tip, GitError> {
            if let Some(sha) = workspace.ref_tip(&format!("refs/remotes/origin/{branch}"))? {
                return Ok(tip(sha, BaseSource::RemoteTracking));
            }
            here()
        };
        match (workspace.remote(), forge) {
            (Remote::GitHub { .. }, Forge::SignedOut | Forge::GitHub) => {
                Reading::unread(Cause::SignedOut, "sign in to GitHub to fetch the integration branch")
            }
            (Remote::None, _) => here().map_err(|e| e.why()).into(),
            (Remote::Path(path), _) => match self.fetch_path(path, branch, cancel) {
                Ok(sha) => Reading::known(tip(sha, BaseSource::Fetched)),
                Err(error) => Err(Why::new(Cause::FetchFailed, error.to_string())).into(),
            },
            (Remote::GitHub { .. }, Forge::None) | (Remote::Other(_), _) => {
                local().map_err(|e| e.why()).into()
            }
        }
    }

    fn fetch_path(&self, path: &Path, branch: &str, cancel: &CancellationToken) -> Result<Sha, GitError> {
        let _held = self.guard()?;
        let name = format!("refs/steward/base/{branch}");
        let spec = format!("+refs/heads/{branch}:{name}");
        let from = path.to_string_lossy().into_owned();
        self.call(&[
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--no-auto-maintenance",
            "--refmap=",
            "--",
            &from,
            &spec,
        ])
        .over_files()
        .limits(Limits::STREAM)
        .cancel(cancel)
        .bytes()?;
        self.tip(&name)?
            .ok_or_else(|| GitError::MissingBranch { branch: branch.to_owned(), path: path.to_owned() })
    }

    /// The commit a branch of the `origin` on this machine points at.
    pub fn remote_branch(&self, path: &Path, branch: &str) -> Result<Option<Sha>, GitError> {
        let name = format!("refs/heads/{branch}");
        let from = path.to_string_lossy().into_owned();
        let said = self.call(&["ls-remote", "--quiet", "--refs", "--", &from, &name]).over_files().bytes()?;
        let text = String::from_utf8_lossy(&said);
        text.lines()
            .find_map(|line| line.strip_suffix(&name).map(str::trim_end))
            .map(|id| sha(id, "ls-remote"))
            .transpose()
    }
}

fn key_alone(host: &str, name: &RepoName) -> String {
    hex::encode(Sha256::digest(format!("{host}/{name}").to_ascii_lowercase()))
}

fn folder(clones: &Path, key: &str, number: u32) -> PathBuf {
    clones.join(format!("{}-{number}.git", &key[..16]))
}

/// The alternates file: the workspace's object folder. A path with a line end in it cannot be named
/// there.
fn alternates(workspace: &Workspace) -> Result<Vec<u8>, GitError> {
    let objects = workspace.objects();
    let bytes = objects.as_os_str().as_encoded_bytes();
    if bytes.contains(&b'\n') || bytes.first() == Some(&b'"') {
        return Err(GitError::NotARepository { path: objects });
    }
    let mut line = bytes.to_vec();
    line.push(b'\n');
    Ok(line)
}

/// Removes `*.lock` files below a clone of ours, a few folders deep.
fn clear_locks(dir: &Path, depth: u32) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth < 8 && !is_fan_out(&path) => clear_locks(&path, depth + 1),
            Ok(kind) if kind.is_file() && path.extension().is_some_and(|e| e == "lock") => {
                tracing::warn!(path = %path.display(), "removed a lock that a killed git left in our clone");
                let _gone_already = std::fs::remove_file(&path);
            }
            _ => {}
        }
    }
}

/// The folders of loose objects: many, and without locks.
fn is_fan_out(path: &Path) -> bool {
    path.file_name().is_some_and(|n| n.len() == 2) && path.parent().is_some_and(|p| p.ends_with("objects"))
}
