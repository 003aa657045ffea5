//! A person's checkout, only ever read: refs, a few settings, and whether it is dirty.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};
use steward_rules::ids::Sha;
use steward_rules::untrusted::Untrusted;

use super::error::GitError;
use super::remote::Remote;
use super::runner::{Call, Flow, Git, Limits};

/// A checkout that Steward may read. It is never fetched into, committed to or checked out.
#[derive(Debug, Clone)]
pub struct Workspace {
    git: Git,
    root: PathBuf,
    git_dir: PathBuf,
    common_dir: PathBuf,
    remote: Remote,
}

/// Where a checkout stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    pub sha: Sha,
    /// `None` when detached.
    pub branch: Option<String>,
}

/// One local branch, for a picker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    pub name: String,
    pub sha: Sha,
    pub committed_at: DateTime<Utc>,
    pub subject: Untrusted,
}

impl Workspace {
    /// Opens a checkout, or says why it cannot be one. `hosts` are configured GitHub hosts beside
    /// github.com.
    pub fn open(git: &Git, path: &Path, hosts: &[String]) -> Result<Self, GitError> {
        let not_here = || GitError::NotARepository { path: path.to_owned() };
        let path = &path.canonicalize().map_err(|_| not_here())?;
        if !path.is_dir() {
            return Err(not_here());
        }
        let said = git
            .call(
                path,
                [
                    "rev-parse",
                    "--is-bare-repository",
                    "--is-inside-work-tree",
                    "--is-shallow-repository",
                    "--show-object-format",
                    "--path-format=absolute",
                    "--git-dir",
                    "--git-common-dir",
                ],
            )
            .bytes()?;
        let mut lines = said.split(|b| *b == b'\n');
        let mut next = || lines.next().unwrap_or_default().to_vec();
        let (bare, inside, shallow, format) = (next(), next(), next(), next());
        let folder = |bytes: Vec<u8>| PathBuf::from(OsString::from_vec(bytes));
        let (git_dir, common_dir) = (folder(next()), folder(next()));
        if bare == b"true" {
            return Err(GitError::Bare { path: path.clone() });
        }
        if inside != b"true" {
            return Err(not_here());
        }
        let top = git.call(path, ["rev-parse", "--show-toplevel"]).bytes()?;
        let root = folder(top.strip_suffix(b"\n").unwrap_or(&top).to_vec());
        // A configured `core.worktree` could point anywhere; a checkout lies around the path given.
        if !path.starts_with(&root) {
            return Err(not_here());
        }
        if format != b"sha1" {
            let format = String::from_utf8_lossy(&format).into_owned();
            return Err(GitError::ObjectFormat { path: root, format });
        }
        if shallow == b"true" {
            return Err(GitError::Shallow { path: root });
        }
        let mut workspace = Self { git: git.clone(), root, git_dir, common_dir, remote: Remote::None };
        if workspace.head()?.is_none() && workspace.refs(&["--count=1"])?.is_empty() {
            return Err(GitError::Empty { path: workspace.root });
        }
        if let Some(url) = workspace.setting("remote.origin.url")? {
            workspace.remote = Remote::parse(&url, &workspace.root, hosts);
        }
        Ok(workspace)
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder shared by all linked worktrees: what makes two checkouts one repository.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    pub fn objects(&self) -> PathBuf {
        self.common_dir.join("objects")
    }

    pub fn remote(&self) -> &Remote {
        &self.remote
    }

    fn call(&self, args: &[&str]) -> Call<'_> {
        self.git.call(&self.root, args)
    }

    fn refs(&self, args: &[&str]) -> Result<Vec<u8>, GitError> {
        let mut all = vec!["for-each-ref"];
        all.extend_from_slice(args);
        self.call(&all).limits(Limits::LIST).bytes()
    }

    /// Reads one value of the checkout's configuration; nothing in it is acted on.
    fn setting(&self, key: &str) -> Result<Option<String>, GitError> {
        let mut out = Vec::new();
        let said = self.call(&["config", "--null", "--get", key]).stream(|chunk| {
            out.extend_from_slice(chunk);
            Ok(Flow::More)
        });
        match said {
            Ok(()) => Ok(Some(String::from_utf8_lossy(out.strip_suffix(b"\0").unwrap_or(&out)).into_owned())),
            // An absent key is exit code 1 without a word.
            Err(GitError::Failed { detail, .. }) if detail == "no message" => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The commit checked out, and its branch; `None` on a branch without a commit.
    pub fn head(&self) -> Result<Option<Head>, GitError> {
        let (code, _) = self.call(&["rev-parse", "--quiet", "--verify", "HEAD^{commit}"]).exit_code()?;
        if code != Some(0) {
            return Ok(None);
        }
        let sha = sha(&self.call(&["rev-parse", "--verify", "HEAD^{commit}"]).line()?, "rev-parse")?;
        let branch = self.call(&["rev-parse", "--symbolic-full-name", "HEAD"]).line()?;
        Ok(Some(Head { sha, branch: branch.strip_prefix("refs/heads/").map(str::to_owned) }))
    }

    /// The branch checked out, or why there is none.
    pub fn current_branch(&self) -> Result<(String, Sha), GitError> {
        match self.head()? {
            Some(Head { sha, branch: Some(branch) }) => Ok((branch, sha)),
            Some(Head { branch: None, .. }) => Err(GitError::Detached { path: self.root.clone() }),
            None => Err(GitError::Empty { path: self.root.clone() }),
        }
    }

    /// Every local branch, newest commit first.
    pub fn branches(&self) -> Result<Vec<Branch>, GitError> {
        let format =
            "--format=%(refname:lstrip=2)%00%(objectname)%00%(committerdate:unix)%00%(contents:subject)";
        let said = self.refs(&["--sort=-committerdate", format, "refs/heads"])?;
        said.split(|b| *b == b'\n').filter(|l| !l.is_empty()).map(branch).collect()
    }

    /// The commit a local branch points at.
    pub fn branch_tip(&self, branch: &str) -> Result<Sha, GitError> {
        self.ref_tip(&format!("refs/heads/{branch}"))?
            .ok_or_else(|| GitError::MissingBranch { branch: branch.to_owned(), path: self.root.clone() })
    }

    /// The commit a full ref name points at, if there is such a ref.
    pub fn ref_tip(&self, name: &str) -> Result<Option<Sha>, GitError> {
        let said = self.refs(&["--format=%(refname)%00%(objectname)", "--", name])?;
        for line in said.split(|b| *b == b'\n') {
            if let Some(id) = line.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"\0")) {
                return sha(&String::from_utf8_lossy(id), "for-each-ref").map(Some);
            }
        }
        Ok(None)
    }

    /// The branch work is measured against when the policy names none: what `origin/HEAD` points
    /// at, else `main`, else `master`, else the only branch.
    pub fn integration_branch(&self) -> Result<Option<String>, GitError> {
        let (code, _) = self.call(&["symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"]).exit_code()?;
        if code == Some(0) {
            let full = self.call(&["symbolic-ref", "refs/remotes/origin/HEAD"]).line()?;
            if let Some(name) = full.strip_prefix("refs/remotes/origin/") {
                return Ok(Some(name.to_owned()));
            }
        }
        for name in ["main", "master"] {
            if self.ref_tip(&format!("refs/heads/{name}"))?.is_some() {
                return Ok(Some(name.to_owned()));
            }
        }
        let branches = self.branches()?;
        Ok(if branches.len() == 1 { branches.into_iter().next().map(|b| b.name) } else { None })
    }

    /// True when tracked files differ from the head or untracked, unignored ones lie about.
    ///
    /// Git is pointed at a neutral folder of ours and only borrows the checkout's index and
    /// objects, so no filter, monitor or hook that the checkout configures can run.
    pub fn is_dirty(&self) -> Result<bool, GitError> {
        self.dirty(None)
    }

    /// [`Self::is_dirty`], not counting one untracked file.
    pub fn is_dirty_beside(&self, file: &Path) -> Result<bool, GitError> {
        let inside = file.canonicalize().ok().and_then(|f| Some(f.strip_prefix(&self.root).ok()?.to_owned()));
        self.dirty(inside.as_deref())
    }

    fn dirty(&self, beside: Option<&Path>) -> Result<bool, GitError> {
        let Some(head) = self.head()? else { return Ok(true) };
        let (code, words) = self
            .neutral(&[
                "diff",
                "--quiet",
                "--no-ext-diff",
                "--no-textconv",
                "--ignore-submodules=dirty",
                head.sha.as_str(),
                "--",
            ])?
            .limits(Limits::LIST)
            .exit_code()?;
        match code {
            Some(0) => {}
            Some(1) => return Ok(true),
            _ => return Err(GitError::from_stderr("diff", &self.root, words.as_bytes())),
        }
        let mut found = false;
        let mut words = vec!["ls-files", "--others", "--exclude-standard", "-z", "--", "."];
        let left_out = beside.map(|path| format!(":(exclude,literal){}", path.to_string_lossy()));
        words.extend(left_out.as_deref());
        self.neutral(&words)?.limits(Limits::LIST).stream(|chunk| {
            found |= !chunk.is_empty();
            Ok(Flow::Enough)
        })?;
        Ok(found)
    }

    /// A call that sees the checkout's files and index but none of its configuration.
    fn neutral(&self, args: &[&str]) -> Result<Call<'_>, GitError> {
        let dir = self.git.room().join("neutral.git");
        if !dir.join("HEAD").is_file() {
            self.git
                .call(self.git.room(), ["init", "--quiet", "--bare", "--template=", "--initial-branch=none"])
                .env("GIT_DIR", &dir)
                .bytes()?;
        }
        let mut call = self
            .call(args)
            .env("GIT_DIR", &dir)
            .env("GIT_WORK_TREE", &self.root)
            .env("GIT_INDEX_FILE", self.git_dir.join("index"))
            .env("GIT_OBJECT_DIRECTORY", self.objects())
            .setting("core.bare", "false")
            .setting(
                "core.excludesFile",
                self.common_dir.join("info/exclude").to_string_lossy().into_owned(),
            );
        // Plain switches that decide whether a file counts as changed; none of them names a program.
        let switches = "^core\\.(autocrlf|eol|filemode|ignorecase|symlinks|checkstat)$";
        let mut said = Vec::new();
        let asked = self.call(&["config", "--null", "--get-regexp", switches]).stream(|chunk| {
            said.extend_from_slice(chunk);
            Ok(Flow::More)
        });
        match asked {
            Ok(()) => {}
            // None is set: exit code 1 without a word.
            Err(GitError::Failed { detail, .. }) if detail == "no message" => {}
            Err(error) => return Err(error),
        }
        for pair in said.split(|b| *b == 0) {
            if let Some((key, value)) = String::from_utf8_lossy(pair).split_once('\n') {
                call = call.setting(key, value);
            }
        }
        Ok(call)
    }

    /// HEAD, every ref and the dirty state as one comparable value.
    pub fn state(&self) -> Result<WorkspaceState, GitError> {
        let refs = self.refs(&["--format=%(objectname) %(refname) %(symref)"])?;
        let mut status = Sha256::new();
        let lists: [&[&str]; 3] = [
            &["diff-files", "--name-only", "-z", "--ignore-submodules=dirty"],
            &["ls-files", "--others", "--exclude-standard", "-z"],
            &["ls-files", "--stage", "-z"],
        ];
        for (index, list) in lists.into_iter().enumerate() {
            status.update(b"\0list\0");
            let mut pending = Vec::new();
            self.neutral(list)?.limits(Limits::LIST).stream(|chunk| {
                pending.extend_from_slice(chunk);
                let mut at = 0;
                while let Some(end) = pending[at..].iter().position(|b| *b == 0) {
                    let line = &pending[at..at + end];
                    status.update(line);
                    // A file that differed before must not differ otherwise afterwards.
                    if index < 2 {
                        status.update(self.stamp(line));
                    }
                    at += end + 1;
                }
                pending.drain(..at);
                Ok(Flow::More)
            })?;
        }
        Ok(WorkspaceState {
            head: self.head()?,
            refs: hex::encode(Sha256::digest(&refs)),
            status: hex::encode(status.finalize()),
        })
    }

    /// What changes whenever a file of the checkout is written.
    fn stamp(&self, path: &[u8]) -> String {
        use std::os::unix::fs::MetadataExt;
        match std::fs::symlink_metadata(self.root.join(OsString::from_vec(path.to_vec()))) {
            Ok(m) => format!(
                "\0{} {} {}.{} {}.{}",
                m.ino(),
                m.size(),
                m.mtime(),
                m.mtime_nsec(),
                m.ctime(),
                m.ctime_nsec()
            ),
            Err(error) => format!("\0{:?}", error.kind()),
        }
    }
}

/// What a seat must not have changed: compared before and after its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceState {
    pub head: Option<Head>,
    /// Hash over all refs.
    pub refs: String,
    /// Hash over changed, untracked and staged paths.
    pub status: String,
}

/// The folder that holds a checkout's refs and configuration, found without starting a git: `.git`, or what a linked worktree's files point at. These
/// are names to look at, nothing in them is acted on.
pub fn common_dir(workspace: &Path) -> Option<PathBuf> {
    let dot_git = workspace.join(".git");
    if dot_git.is_dir() {
        return Some(dot_git);
    }
    let text = std::fs::read_to_string(&dot_git).ok()?;
    let git_dir = workspace.join(text.strip_prefix("gitdir:")?.trim());
    match std::fs::read_to_string(git_dir.join("commondir")) {
        Ok(common) => Some(git_dir.join(common.trim())),
        Err(_) => Some(git_dir),
    }
}

fn branch(line: &[u8]) -> Result<Branch, GitError> {
    let mut parts = line.splitn(4, |b| *b == 0).map(|p| String::from_utf8_lossy(p).into_owned());
    let mut next = || parts.next().unwrap_or_default();
    let (name, id, date, subject) = (next(), next(), next(), next());
    let committed_at = date
        .parse()
        .ok()
        .and_then(|seconds| DateTime::from_timestamp(seconds, 0))
        .ok_or_else(|| GitError::answer("for-each-ref", "a branch without a date"))?;
    Ok(Branch { name, sha: sha(&id, "for-each-ref")?, committed_at, subject: Untrusted::new(subject) })
}

/// Parses an id that git printed.
pub(super) fn sha(text: &str, what: &str) -> Result<Sha, GitError> {
    Sha::new(text).map_err(|e| GitError::answer(what, e.to_string()))
}
