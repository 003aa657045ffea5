//! One real bare repository: every answer about commits, trees, diffs and merges is git's own.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use chrono::{DateTime, Utc};

/// What one git command answered.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    pub ok: bool,
    /// git means it: yes, or a plain no. Anything else may be otherwise once an object is there.
    settled: bool,
    pub out: String,
    pub err: String,
}

/// One change to a tree.
#[derive(Debug, Clone)]
pub(crate) enum Edit {
    Write { path: String, mode: &'static str, content: Vec<u8> },
    Submodule { path: String, sha: String },
    Delete { path: String },
}

/// A commit about to be made.
#[derive(Debug)]
pub(crate) struct Planned {
    pub branch: String,
    pub parent: Option<String>,
    pub message: String,
    pub who: Signature,
    pub edits: Vec<Edit>,
    /// Another ref that keeps the commit, as `refs/pull/N/head` does.
    pub kept: Option<String>,
}

impl Planned {
    /// Writes it in the language of `git fast-import`.
    fn write(&self, mark: usize, stream: &mut Vec<u8>) {
        let mut line = |bytes: &[u8]| {
            stream.extend_from_slice(bytes);
            stream.push(b'\n');
        };
        let person = format!("{} <{}> {} +0000", self.who.name, self.who.email, self.who.date);
        let (branch, message) = (&self.branch, &self.message);
        line(format!("commit refs/heads/{branch}\nmark :{mark}").as_bytes());
        line(format!("author {person}\ncommitter {person}\ndata {}\n{message}", message.len()).as_bytes());
        if let Some(parent) = &self.parent {
            line(format!("from {parent}").as_bytes());
        }
        for edit in &self.edits {
            match edit {
                Edit::Write { path, mode, content } => {
                    line(format!("M {mode} inline {path}\ndata {}", content.len()).as_bytes());
                    line(content);
                }
                Edit::Submodule { path, sha } => line(format!("M 160000 {sha} {path}").as_bytes()),
                Edit::Delete { path } => line(format!("D {path}").as_bytes()),
            }
        }
        if let Some(kept) = &self.kept {
            line(format!("reset {kept}\nfrom :{mark}\n").as_bytes());
        }
    }
}

/// One commit as `git log` tells it.
#[derive(Debug, Clone)]
pub(crate) struct Commit {
    pub sha: String,
    pub tree: String,
    pub parents: Vec<String>,
    pub author: Signature,
    pub committer: Signature,
    pub message: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Signature {
    pub name: String,
    pub email: String,
    pub date: String,
}

/// One changed file between two commits, renames detected.
#[derive(Debug, Clone)]
pub(crate) struct FileChange {
    pub status: &'static str,
    pub path: String,
    pub previous: Option<String>,
    pub blob: String,
    pub added: u64,
    pub removed: u64,
    pub patch: Option<String>,
}

#[derive(Debug)]
pub(crate) struct Bare {
    path: PathBuf,
    /// Answers to questions asked in full object ids, which never change.
    known: RefCell<HashMap<String, Said>>,
    /// Parents of the commits made here, so that most questions of descent need no process.
    parents: RefCell<HashMap<String, Vec<String>>>,
    pub tips: BTreeMap<String, String>,
}

/// A git that reads no configuration but the repository's own.
pub(crate) fn plain_git(home: &Path) -> Command {
    let mut command = Command::new("git");
    command.env_clear();
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command.env("HOME", home).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0");
    command
}

const LOG_FORMAT: &str = "--format=%H%x1f%T%x1f%P%x1f%an%x1f%ae%x1f%ad%x1f%cn%x1f%ce%x1f%cd%x1f%B%x1e";

impl Bare {
    pub(crate) fn init(path: PathBuf, default_branch: &str) -> Self {
        let made = plain_git(path.parent().expect("BUG: a repository lies in a folder"))
            .args(["init", "--quiet", "--bare", "--initial-branch", default_branch])
            .arg(&path)
            .status()
            .expect("git is on the PATH");
        assert!(made.success(), "git init --bare {}", path.display());
        let bare =
            Self { path, known: RefCell::default(), parents: RefCell::default(), tips: BTreeMap::new() };
        for (key, value) in [
            ("http.receivepack", "true"),
            ("receive.hideRefs", "refs/pull"),
            ("uploadpack.allowAnySHA1InWant", "true"),
            ("user.name", "GitHub"),
            ("user.email", "noreply@github.com"),
            ("gc.auto", "0"),
            ("receive.autogc", "false"),
        ] {
            bare.must(&["config", key, value]);
        }
        bare
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn run(&self, args: &[&str]) -> Said {
        self.feed(args, b"")
    }

    pub(crate) fn feed(&self, args: &[&str], input: &[u8]) -> Said {
        let mut child = plain_git(&self.path)
            .arg("--git-dir")
            .arg(&self.path)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("git is on the PATH");
        // A git that refuses early closes its input; its exit code says so.
        let _ = child.stdin.take().expect("BUG: stdin is piped").write_all(input);
        let output = child.wait_with_output().expect("git answers");
        Said {
            ok: output.status.success(),
            settled: matches!(output.status.code(), Some(0 | 1)),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    pub(crate) fn must(&self, args: &[&str]) -> String {
        let said = self.run(args);
        assert!(said.ok, "git {args:?} in {}: {}", self.path.display(), said.err);
        said.out
    }

    /// Asks once: every argument is a full object id or a fixed word.
    fn ask(&self, args: &[&str]) -> Said {
        let key = args.join("\u{1f}");
        if let Some(said) = self.known.borrow().get(&key) {
            return said.clone();
        }
        let said = self.run(args);
        self.known.borrow_mut().insert(key, said.clone());
        said
    }

    /// Reads where every branch stands now.
    pub(crate) fn refresh(&mut self) {
        let listed =
            self.must(&["for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags"]);
        self.tips = listed
            .lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(sha, name)| (name.to_owned(), sha.to_owned()))
            .collect();
        self.forget_refusals();
    }

    pub(crate) fn branch(&self, name: &str) -> Option<&str> {
        self.tips.get(&format!("refs/heads/{name}")).map(String::as_str)
    }

    pub(crate) fn branches(&self) -> impl Iterator<Item = (&str, &str)> {
        self.tips.iter().filter_map(|(name, sha)| Some((name.strip_prefix("refs/heads/")?, sha.as_str())))
    }

    /// A branch, a tag or a full or short object id, as the commit it names.
    pub(crate) fn resolve(&self, name: &str) -> Option<String> {
        for full in [format!("refs/heads/{name}"), format!("refs/tags/{name}"), name.to_owned()] {
            if let Some(sha) = self.tips.get(&full) {
                return Some(sha.clone());
            }
        }
        let hexish = (7..=40).contains(&name.len()) && name.chars().all(|c| c.is_ascii_hexdigit());
        if !hexish {
            return None;
        }
        let said = self.run(&["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")]);
        said.ok.then(|| said.out.trim().to_owned())
    }

    /// Makes one commit and moves its branch there.
    pub(crate) fn commit(&mut self, plan: Planned) -> String {
        self.commits(std::slice::from_ref(&plan)).remove(0)
    }

    /// Makes many commits in one process, each on its branch.
    pub(crate) fn commits(&mut self, plans: &[Planned]) -> Vec<String> {
        let mut stream = Vec::new();
        for (at, plan) in plans.iter().enumerate() {
            plan.write(at + 1, &mut stream);
        }
        for at in 1..=plans.len() {
            stream.extend_from_slice(format!("get-mark :{at}\n").as_bytes());
        }
        for plan in plans.iter().filter(|plan| plan.parent.is_none() && self.branch(&plan.branch).is_some()) {
            self.must(&["update-ref", "-d", &format!("refs/heads/{}", plan.branch)]);
        }
        let said = self.feed(&["fast-import", "--quiet", "--force"], &stream);
        assert!(said.ok, "fast-import: {}", said.err);
        let made: Vec<String> = said.out.lines().map(str::to_owned).collect();
        for (plan, sha) in plans.iter().zip(&made) {
            self.tips.insert(format!("refs/heads/{}", plan.branch), sha.clone());
            self.parents.borrow_mut().insert(sha.clone(), plan.parent.clone().into_iter().collect());
        }
        self.forget_refusals();
        made
    }

    /// What failed for want of an object may not fail again.
    fn forget_refusals(&self) {
        self.known.borrow_mut().retain(|_, said| said.settled);
    }

    pub(crate) fn set_ref(&self, name: &str, sha: &str) {
        self.must(&["update-ref", name, sha]);
    }

    pub(crate) fn is_ancestor(&self, older: &str, newer: &str) -> bool {
        let parents = self.parents.borrow();
        let (mut ahead, mut seen, mut all_known) = (vec![newer], HashSet::new(), true);
        while let Some(sha) = ahead.pop() {
            if sha == older {
                return true;
            }
            match parents.get(sha) {
                Some(more) => ahead.extend(more.iter().map(String::as_str).filter(|sha| seen.insert(*sha))),
                None => all_known = false,
            }
        }
        drop(parents);
        !all_known && self.ask(&["merge-base", "--is-ancestor", older, newer]).ok
    }

    pub(crate) fn merge_base(&self, a: &str, b: &str) -> Option<String> {
        let said = self.ask(&["merge-base", a, b]);
        said.ok.then(|| said.out.trim().to_owned())
    }

    /// The tree of both sides merged, or nothing when they conflict.
    pub(crate) fn merged_tree(&self, base: &str, head: &str) -> Option<String> {
        let said = self.ask(&["merge-tree", "--write-tree", base, head]);
        said.ok.then(|| said.out.lines().next().unwrap_or_default().to_owned())
    }

    pub(crate) fn count(&self, from: &str, to: &str) -> u64 {
        let said = self.ask(&["rev-list", "--count", to, &format!("^{from}")]);
        said.out.trim().parse().unwrap_or_default()
    }

    /// Commits of `from..to`, oldest first.
    pub(crate) fn log(&self, from: &str, to: &str) -> Vec<Commit> {
        let said = self.ask(&["log", "--reverse", "--date=iso-strict", LOG_FORMAT, to, &format!("^{from}")]);
        said.out.split('\u{1e}').filter_map(parse_commit).collect()
    }

    pub(crate) fn show(&self, sha: &str) -> Option<Commit> {
        let said = self.ask(&["log", "-1", "--date=iso-strict", LOG_FORMAT, sha]);
        said.out.split('\u{1e}').find_map(parse_commit)
    }

    /// Changed files between two trees, with patches, as GitHub lists them.
    pub(crate) fn files(&self, from: &str, to: &str) -> Vec<FileChange> {
        let common = ["--no-ext-diff", "--no-textconv", "-M", "--abbrev=40"];
        let with = |extra: &[&str]| {
            let args: Vec<&str> =
                ["diff"].iter().chain(&common).chain(extra).copied().chain([from, to]).collect();
            self.ask(&args).out
        };
        let (raw, numbers, text) = (with(&["--raw", "-z"]), with(&["--numstat", "-z"]), with(&["-p"]));
        let mut patches: Vec<Option<String>> = Vec::new();
        for piece in format!("\n{text}").split("\ndiff --git ").skip(1) {
            patches.push(piece.find("\n@@ ").map(|at| piece[at + 1..].trim_end_matches('\n').to_owned()));
        }
        let counts: Vec<(u64, u64)> = numbers
            .split('\0')
            .filter_map(|entry| {
                let mut words = entry.split('\t');
                let (added, removed) = (words.next()?, words.next()?);
                Some((added.parse().unwrap_or(0), removed.parse().unwrap_or(0)))
            })
            .collect();
        let mut found = Vec::new();
        let mut parts = raw.split('\0');
        while let Some(head) = parts.next().filter(|head| head.starts_with(':')) {
            let words: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
            let letter = words.get(4).and_then(|word| word.chars().next()).unwrap_or('M');
            let first = parts.next().unwrap_or_default().to_owned();
            let (path, previous) = match letter {
                'R' | 'C' => (parts.next().unwrap_or_default().to_owned(), Some(first)),
                _ => (first, None),
            };
            let at = found.len();
            let blob = if letter == 'D' { words[2] } else { words[3] };
            let (added, removed) = counts.get(at).copied().unwrap_or_default();
            let status = match letter {
                'A' => "added",
                'D' => "removed",
                'R' => "renamed",
                'C' => "copied",
                'T' => "changed",
                _ => "modified",
            };
            let patch = patches.get(at).cloned().flatten();
            found.push(FileChange { status, path, previous, blob: blob.to_owned(), added, removed, patch });
        }
        found
    }

    pub(crate) fn drop_branch(&mut self, branch: &str) {
        self.must(&["update-ref", "-d", &format!("refs/heads/{branch}")]);
        self.refresh();
    }

    /// Makes a commit of a tree and moves a branch to it.
    pub(crate) fn land(
        &mut self,
        branch: &str,
        tree: &str,
        parents: &[&str],
        message: &str,
        at: DateTime<Utc>,
    ) -> String {
        let date = format!("{} +0000", at.timestamp());
        let mut command = plain_git(&self.path);
        command.arg("--git-dir").arg(&self.path).args(["commit-tree", tree, "-m", message]);
        for parent in parents {
            command.args(["-p", parent]);
        }
        let made = command
            .env("GIT_AUTHOR_DATE", &date)
            .env("GIT_COMMITTER_DATE", &date)
            .output()
            .expect("git is on the PATH");
        assert!(made.status.success(), "commit-tree: {}", String::from_utf8_lossy(&made.stderr));
        let sha = String::from_utf8_lossy(&made.stdout).trim().to_owned();
        self.set_ref(&format!("refs/heads/{branch}"), &sha);
        self.refresh();
        sha
    }

    /// Replays `from..to` on a branch, or says that it does not apply.
    pub(crate) fn rebase_onto(&mut self, branch: &str, from: &str, to: &str) -> Option<String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let tree = folder.path().join("tree");
        let place = tree.to_string_lossy().into_owned();
        let tip = self.branch(branch)?.to_owned();
        self.must(&["worktree", "add", "--quiet", "--detach", &place, &tip]);
        let inside = |args: &[&str]| {
            let done =
                plain_git(folder.path()).arg("-C").arg(&tree).args(args).output().expect("git answers");
            (done.status.success(), String::from_utf8_lossy(&done.stdout).trim().to_owned())
        };
        let (ok, _) = inside(&["cherry-pick", "--allow-empty", &format!("{from}..{to}")]);
        let head = ok.then(|| inside(&["rev-parse", "HEAD"]).1);
        self.must(&["worktree", "remove", "--force", &place]);
        let head = head?;
        self.set_ref(&format!("refs/heads/{branch}"), &head);
        self.refresh();
        Some(head)
    }
}

fn parse_commit(record: &str) -> Option<Commit> {
    let fields: Vec<&str> = record.trim_start_matches('\n').split('\u{1f}').collect();
    let [sha, tree, parents, an, ae, ad, cn, ce, cd, body] = fields.as_slice() else { return None };
    let sign = |name: &str, email: &str, date: &str| Signature {
        name: name.to_owned(),
        email: email.to_owned(),
        date: DateTime::parse_from_rfc3339(date)
            .map_or_else(|_| date.to_owned(), |at| crate::clock::stamp(at.with_timezone(&Utc))),
    };
    Some(Commit {
        sha: (*sha).to_owned(),
        tree: (*tree).to_owned(),
        parents: parents.split(' ').filter(|parent| !parent.is_empty()).map(str::to_owned).collect(),
        author: sign(an, ae, ad),
        committer: sign(cn, ce, cd),
        message: body.trim_end_matches('\n').to_owned(),
    })
}
