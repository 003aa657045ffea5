//! Real repositories, made by real git commands with a fixed identity and fixed dates.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A repository in a folder of its own. The same calls always make the same commit ids.
#[derive(Debug)]
pub struct Repo {
    path: PathBuf,
    /// Seconds after the fixed first date; each commit moves it by one minute.
    clock: std::cell::Cell<u64>,
}

impl Repo {
    /// An empty repository on branch `main`.
    pub fn init(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        std::fs::create_dir_all(&path).expect("BUG: the test folder can be made");
        let repo = Self { path, clock: std::cell::Cell::new(0) };
        repo.git(&["init", "--quiet", "--initial-branch=main", "--template="]);
        repo
    }

    /// Takes over a repository that some other command made.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), clock: std::cell::Cell::new(0) }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs git here and returns its trimmed standard output; panics with its words when it fails.
    pub fn git(&self, args: &[&str]) -> String {
        let (ok, out, err) = self.run(args, &[]);
        assert!(ok, "git {args:?} failed: {err}");
        String::from_utf8_lossy(&out).trim_end().to_owned()
    }

    /// Runs git with bytes on its standard input.
    pub fn git_with(&self, args: &[&str], stdin: &[u8]) -> String {
        let (ok, out, err) = self.run(args, stdin);
        assert!(ok, "git {args:?} failed: {err}");
        String::from_utf8_lossy(&out).trim_end().to_owned()
    }

    /// Runs git and says whether it succeeded.
    pub fn try_git(&self, args: &[&str]) -> bool {
        self.run(args, &[]).0
    }

    fn run(&self, args: &[&str], stdin: &[u8]) -> (bool, Vec<u8>, String) {
        let date = format!("{} +0000", 1_790_000_000 + self.clock.get());
        let mut child = Command::new("git")
            .arg("-C")
            .arg(&self.path)
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.path)
            .env("LC_ALL", "C")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_COUNT", "3")
            .env("GIT_CONFIG_KEY_0", "protocol.file.allow")
            .env("GIT_CONFIG_VALUE_0", "always")
            .env("GIT_CONFIG_KEY_1", "gc.auto")
            .env("GIT_CONFIG_VALUE_1", "0")
            .env("GIT_CONFIG_KEY_2", "core.fsync")
            .env("GIT_CONFIG_VALUE_2", "none")
            .env("GIT_AUTHOR_NAME", "Ada Author")
            .env("GIT_AUTHOR_EMAIL", "ada@example.org")
            .env("GIT_COMMITTER_NAME", "Ada Author")
            .env("GIT_COMMITTER_EMAIL", "ada@example.org")
            .env("GIT_AUTHOR_DATE", &date)
            .env("GIT_COMMITTER_DATE", &date)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("BUG: git is installed");
        let mut input = child.stdin.take().expect("BUG: stdin is piped");
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let _closed_early = input.write_all(stdin);
            });
            let out = child.wait_with_output().expect("BUG: the child can be waited for");
            (out.status.success(), out.stdout, String::from_utf8_lossy(&out.stderr).into_owned())
        })
    }

    /// Writes one file of the worktree, making its folders. The path may hold any bytes.
    pub fn write(&self, path: impl AsRef<OsStr>, bytes: &[u8]) {
        let file = self.path.join(Path::new(path.as_ref()));
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder).expect("BUG: the test folder can be made");
        }
        std::fs::write(file, bytes).expect("BUG: the test file can be written");
    }

    /// Makes a symbolic link in the worktree.
    pub fn link(&self, path: &str, target: &str) {
        let file = self.path.join(path);
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder).expect("BUG: the test folder can be made");
        }
        std::os::unix::fs::symlink(target, file).expect("BUG: the link can be made");
    }

    /// Writes (`Some`) or removes (`None`) the files, commits everything, returns the commit id.
    pub fn commit(&self, message: &str, files: &[(&str, Option<&[u8]>)]) -> String {
        for (path, bytes) in files {
            match bytes {
                Some(bytes) => self.write(path, bytes),
                None => std::fs::remove_file(self.path.join(path)).expect("BUG: the removed file exists"),
            }
        }
        self.git(&["add", "--all"]);
        self.commit_index(message)
    }

    /// Commits what the index holds.
    pub fn commit_index(&self, message: &str) -> String {
        self.clock.set(self.clock.get() + 60);
        self.git_with(
            &[
                "commit",
                "--quiet",
                "--allow-empty",
                "--allow-empty-message",
                "--no-verify",
                "-F",
                "-",
                "--cleanup=verbatim",
            ],
            message.as_bytes(),
        );
        self.head()
    }

    /// Commits the head's tree plus entries that no file system need hold: `(mode, path, content)`.
    /// The content of a submodule (`160000`) is the commit id.
    pub fn commit_entries(&self, message: &str, entries: &[(&str, &[u8], &[u8])]) -> String {
        let mut lines = Vec::new();
        for (mode, path, content) in entries {
            let id = if *mode == "160000" {
                String::from_utf8_lossy(content).into_owned()
            } else {
                self.git_with(&["hash-object", "-w", "--stdin", "--literally"], content)
            };
            lines.extend_from_slice(format!("{mode} {id}\t").as_bytes());
            lines.extend_from_slice(path);
            lines.push(0);
        }
        self.git_with(
            &[
                "-c",
                "core.protectHFS=false",
                "-c",
                "core.protectNTFS=false",
                "update-index",
                "-z",
                "--index-info",
            ],
            &lines,
        );
        self.commit_index(message)
    }

    /// Commits a tree built by `mktree`, which checks no name: `..`, `.git` and the like pass.
    /// `(mode, name, content)`, all at the top level; the tree holds nothing else.
    pub fn commit_raw_tree(&self, message: &str, entries: &[(&str, &[u8], &[u8])]) -> String {
        let mut tree = Vec::new();
        let mut sorted: Vec<_> = entries.to_vec();
        sorted.sort_by(|a, b| a.1.cmp(b.1));
        for (mode, name, content) in sorted {
            let id = self.git_with(&["hash-object", "-w", "--stdin"], content);
            tree.extend_from_slice(format!("{mode} ").as_bytes());
            tree.extend_from_slice(name);
            tree.push(0);
            tree.extend(
                (0..20).map(|i| u8::from_str_radix(&id[i * 2..i * 2 + 2], 16).expect("BUG: git prints hex")),
            );
        }
        let tree = self.git_with(&["hash-object", "-w", "-t", "tree", "--stdin", "--literally"], &tree);
        self.clock.set(self.clock.get() + 60);
        let commit = self.git_with(&["commit-tree", &tree, "-p", "HEAD", "-F", "-"], message.as_bytes());
        let branch = self.git(&["symbolic-ref", "HEAD"]);
        self.git(&["update-ref", &branch, &commit]);
        commit
    }

    pub fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"])
    }

    pub fn sha(&self, revision: &str) -> String {
        self.git(&["rev-parse", "--verify", revision])
    }

    /// Starts a branch here and switches to it.
    pub fn branch(&self, name: &str) {
        self.git(&["checkout", "--quiet", "-b", name]);
    }

    pub fn checkout(&self, name: &str) {
        self.git(&["checkout", "--quiet", name]);
    }

    /// Merges a branch with a merge commit.
    pub fn merge(&self, name: &str) -> String {
        self.clock.set(self.clock.get() + 60);
        self.git(&["merge", "--quiet", "--no-ff", "--no-edit", "--no-verify", name]);
        self.head()
    }

    pub fn remote(&self, name: &str, url: &str) {
        self.git(&["remote", "add", name, url]);
    }
}

/// Clones a repository as a person would, with further arguments.
pub fn clone(from: &str, to: &Path, args: &[&str]) -> Repo {
    let parent = Repo::at(to.parent().expect("BUG: the target has a parent"));
    let mut all = vec!["clone", "--quiet"];
    all.extend_from_slice(args);
    let target = to.to_string_lossy().into_owned();
    all.extend_from_slice(&["--", from, &target]);
    parent.git(&all);
    Repo::at(to)
}

/// A file name from any bytes.
pub fn name(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}
