//! What an agent left, or a rebase made, held against engine.md 9 in its order. Whatever does not pass is
//! discarded with its tree; what passes is a tree of our clone, made of the very bytes that were judged.

use std::collections::{BTreeMap, BTreeSet};

use steward_rules::diff::{Kind, RepoPath};
use steward_rules::engine::entries::{self, Blob, EntryDiff};
use steward_rules::engine::policy::Policy;
use steward_rules::engine::verify::{self, Change, Left, Refused};
use steward_rules::ids::Sha;
use steward_rules::reading::{Cause, Reading, Why};
use steward_rules::secret::{Engine, Options, Scan, SecretReport};
use tokio_util::sync::CancellationToken;

use super::validating::{NotRun, Tools};
use crate::git::laid::{Laid, Left as LeftFile};
use crate::git::work::{Edit, TreeFile};
use crate::git::{BareClone, GitError};
use crate::loops::task::TaskError;

/// Bytes of changed files that are judged.
const MOST: u64 = 256 << 20;

/// What is judged.
#[derive(Debug, Clone)]
pub struct Judged<'a> {
    pub clone: &'a BareClone,
    pub policy: &'a Policy,
    pub tools: &'a Tools,
    /// The tree as it was laid out.
    pub laid: &'a Laid,
    /// What the pull request touches, when the change is to stay within it.
    pub of_pull: Option<&'a EntryDiff>,
    /// Processes of the agent that outlived their kill.
    pub survivors: u32,
    /// Git's own state before the agent started.
    pub git_before: &'a BTreeMap<String, String>,
}

/// A tree that passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    pub tree: Sha,
    pub entries: EntryDiff,
    /// The paths that differ from the commit that was laid out.
    pub paths: Vec<RepoPath>,
}

/// Why nothing passed.
#[derive(Debug)]
pub enum NotVerified {
    /// The agent's doing: an attempt is spent. With the last words of a tool, which are untrusted.
    Refused { why: Refused, said: Option<String> },
    /// It was stopped from outside: nothing is said of the tree.
    Cancelled,
}

impl From<Refused> for NotVerified {
    fn from(why: Refused) -> Self {
        Self::Refused { why, said: None }
    }
}

impl NotVerified {
    fn unread(why: Why) -> Self {
        Refused::Unread(why).into()
    }

    fn of_git(error: GitError) -> Self {
        match error {
            GitError::Cancelled { .. } => Self::Cancelled,
            error => Self::unread(error.why()),
        }
    }

    fn of_tool(error: NotRun) -> Self {
        match error {
            NotRun::Cancelled => Self::Cancelled,
            error @ (NotRun::Sandbox(_) | NotRun::Io { .. } | NotRun::Left(_)) => {
                Self::unread(Why::new(Cause::NotReadYet, error.to_string()))
            }
        }
    }
}

/// Judges a tree, and makes a tree of our clone of it.
pub async fn verify(judged: &Judged<'_>, cancel: &CancellationToken) -> Result<Verified, NotVerified> {
    // 1 and 2: nothing of the agent runs, and git itself is as it was.
    let mut left = Left {
        processes: Reading::known(judged.survivors),
        git_touched: git_touched(judged).await,
        changes: not_yet(),
        tree: not_yet(),
        tools: not_yet(),
        entries: not_yet(),
        secrets: not_yet(),
    };
    let first = look(judged).await?;
    list(&mut left, judged.laid, &first);
    before_tools(&left, judged.policy)?;
    // 5: the formatter, the list again, the validator.
    let mut runs = Vec::new();
    if !first.is_empty()
        && let Some(ran) =
            judged.tools.format(&judged.laid.root, cancel).await.map_err(NotVerified::of_tool)?
    {
        runs.push(ran);
    }
    let found = look(judged).await?;
    list(&mut left, judged.laid, &found);
    if runs.iter().all(|ran| ran.end.exit == Some(0)) {
        before_tools(&left, judged.policy)?;
        if found.is_empty() {
            return Err(Refused::Nothing.into());
        }
        runs.push(judged.tools.check(&judged.laid.root, cancel).await.map_err(NotVerified::of_tool)?);
        // A validator that wrote would have judged another tree than the one that is pushed.
        if look(judged).await? != found {
            let why = Why::new(Cause::NotReadYet, "the validator changed files of the tree");
            return Err(NotVerified::unread(why));
        }
    }
    left.tools = Reading::known(runs.iter().map(|ran| ran.end.clone()).collect());
    let said = runs.iter().find(|ran| ran.end.exit != Some(0)).map(|ran| ran.said.clone());
    let (clone, laid, policy) = (judged.clone.clone(), judged.laid.clone(), judged.policy.clone());
    let stop = cancel.clone();
    let counted = blocking(move || count(&clone, &laid, &policy, found, &stop)).await?;
    left.entries = counted.entries;
    left.secrets = Reading::known(counted.secrets);
    if cancel.is_cancelled() {
        return Err(NotVerified::Cancelled);
    }
    verify::verify(&left, judged.policy, judged.of_pull).map_err(|why| NotVerified::Refused { why, said })?;
    let (clone, laid, stop) = (judged.clone.clone(), judged.laid.clone(), cancel.clone());
    let tree = blocking(move || put(&clone, &laid, counted.found, &stop)).await?;
    let entries = left.entries.get().map_err(|why| NotVerified::unread(why.clone()))?.clone();
    let paths = left.changes.get().map_err(|why| NotVerified::unread(why.clone()))?;
    Ok(Verified { tree, entries, paths: paths.iter().map(|change| change.path.clone()).collect() })
}

/// What was found so far, before any tool runs over it.
fn before_tools(left: &Left, policy: &Policy) -> Result<(), Refused> {
    let unread = |why: &Why| Refused::Unread(why.clone());
    match left.processes.get().map_err(unread)? {
        0 => {}
        alive => return Err(Refused::Processes { alive: *alive }),
    }
    let touched = left.git_touched.get().map_err(unread)?;
    if !touched.is_empty() {
        return Err(Refused::GitTouched { what: touched.clone() });
    }
    verify::paths(left.changes.get().map_err(unread)?, left.tree.get().map_err(unread)?, policy)
}

/// Puts the list of changes into what is judged.
fn list(left: &mut Left, laid: &Laid, found: &[LeftFile]) {
    let change = |file: &LeftFile| {
        // What was not laid out is nobody's to replace.
        let kind = if laid.left_out.contains(&file.path) { Kind::Symlink } else { file.kind };
        Change { path: file.path.clone(), old_path: None, kind }
    };
    left.changes = Reading::known(found.iter().map(change).collect());
    left.tree = Reading::known(laid.with(found));
}

fn not_yet<T>() -> Reading<T> {
    Reading::unread(Cause::NotReadYet, "not looked at yet")
}

async fn git_touched(judged: &Judged<'_>) -> Reading<Vec<String>> {
    let (clone, before) = (judged.clone.clone(), judged.git_before.clone());
    let after = tokio::task::spawn_blocking(move || {
        clone.own_state().map(|after| crate::git::work::touched(&before, &after))
    });
    match after.await {
        Ok(Ok(touched)) => Reading::known(touched),
        Ok(Err(error)) => Err(error.why()).into(),
        Err(error) => Reading::unread(Cause::GitFailed, error.to_string()),
    }
}

async fn look(judged: &Judged<'_>) -> Result<Vec<LeftFile>, NotVerified> {
    let laid = judged.laid.clone();
    blocking(move || laid.changes(MOST)).await
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, GitError> + Send + 'static,
) -> Result<T, NotVerified> {
    match crate::loops::task::blocking(move || Ok::<_, TaskError>(work())).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(NotVerified::of_git(error)),
        Err(error) => Err(NotVerified::unread(Why::new(Cause::GitFailed, error.to_string()))),
    }
}

struct Counted {
    entries: Reading<EntryDiff>,
    secrets: SecretReport,
    found: Vec<LeftFile>,
}

/// Counts entries and looks for secrets, over the bytes that were listed.
fn count(
    clone: &BareClone,
    laid: &Laid,
    policy: &Policy,
    found: Vec<LeftFile>,
    cancel: &CancellationToken,
) -> Result<Counted, GitError> {
    let at: BTreeMap<RepoPath, TreeFile> =
        clone.files(&laid.commit, cancel)?.into_iter().map(|file| (file.path.clone(), file)).collect();
    let old: Vec<&TreeFile> = found
        .iter()
        .filter_map(|file| at.get(&file.path))
        .filter(|file| matches!(file.kind, Kind::File | Kind::Executable))
        .collect();
    let ids: Vec<&Sha> = old.iter().map(|file| &file.id).collect();
    let contents = clone.contents(&ids, MOST, cancel)?;
    let before: Vec<Blob> =
        old.iter().zip(contents).map(|(file, bytes)| Blob { path: file.path.clone(), bytes }).collect();
    let after: Vec<Blob> = found
        .iter()
        .filter_map(|file| Some(Blob { path: file.path.clone(), bytes: file.bytes.clone()? }))
        .collect();
    let entries = entries::count(&policy.entries, &before, &after)
        .map_err(|error| Why::new(Cause::GitFailed, error.to_string()));
    Ok(Counted { entries: entries.into(), secrets: secrets(&before, &after), found })
}

/// Looks at every line that no file had before it at its place, and at every new name.
fn secrets(before: &[Blob], after: &[Blob]) -> SecretReport {
    let old: BTreeMap<&RepoPath, &[u8]> =
        before.iter().map(|blob| (&blob.path, blob.bytes.as_slice())).collect();
    let mut scan = Scan::new(Engine::shared(), Options::default(), "");
    for blob in after {
        let path = blob.path.shown();
        let was = old.get(&blob.path);
        if was.is_none() {
            scan.file_name("", &path);
        }
        let known: BTreeSet<&[u8]> = was.map(|bytes| lines(bytes).collect()).unwrap_or_default();
        if blob.bytes[..blob.bytes.len().min(8000)].contains(&0) {
            scan.binary("", &path, &blob.bytes);
            continue;
        }
        for (number, line) in (1_u32..).zip(lines(&blob.bytes)) {
            if !known.contains(line) {
                scan.line("", &path, number, line);
            }
        }
    }
    scan.finish(&[])
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == b'\n')
}

/// Makes the tree of our clone, and reads it again: it differs from the commit at exactly these paths.
fn put(
    clone: &BareClone,
    laid: &Laid,
    found: Vec<LeftFile>,
    cancel: &CancellationToken,
) -> Result<Sha, GitError> {
    let mut edits = Vec::new();
    let mut wanted = BTreeSet::new();
    for file in found {
        wanted.insert(file.path.clone());
        let to = match file.bytes {
            Some(bytes) => Some((Kind::File, clone.put_blob(bytes)?)),
            None => None,
        };
        edits.push(Edit { path: file.path, to });
    }
    let tree = clone.tree_with(&laid.commit, &edits, cancel)?;
    let made: BTreeSet<RepoPath> =
        clone.between(&laid.commit, &tree, cancel)?.into_iter().map(|one| one.path).collect();
    if made == wanted {
        Ok(tree)
    } else {
        Err(GitError::Answer { what: "write-tree".to_owned(), detail: "another tree than asked".to_owned() })
    }
}
