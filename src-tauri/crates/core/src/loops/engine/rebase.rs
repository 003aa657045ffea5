//! The mechanical rebase (engine.md 7): each commit of a pull request put onto the base in our own clone, data
//! files by the structured driver, everything else by git, and any conflict refuses. No agent has a part in it.

use std::collections::BTreeSet;
use std::path::Path;

use chrono::{DateTime, Utc};
use steward_rules::diff::{Kind, RepoPath};
use steward_rules::engine::drivers::{self, Refusal, Versions};
use steward_rules::engine::entries::EntryKey;
use steward_rules::engine::kept;
use steward_rules::engine::policy::{DriverKind, Policy};
use steward_rules::engine::supersede::Values;
use steward_rules::engine::verify::{self, Change, Refused};
use steward_rules::ids::Sha;
use steward_rules::wording;
use tokio_util::sync::CancellationToken;

use super::content::{self, NotCounted};
use super::validating::{NotRun, Tools};
use crate::git::laid::{self, Laid};
use crate::git::merge::{AtPath, Three};
use crate::git::work::{Edit, NewCommit, Person, Said};
use crate::git::{BareClone, GitError, merge};
use crate::loops::task::{TaskError, blocking};

/// Commits of one pull request that are put onto another base.
const COMMITS: usize = 250;
/// Bytes of one version of a file that the driver reads.
const VERSION: u64 = 64 << 20;
/// Bytes the formatter may change.
const FORMATTED: u64 = 256 << 20;

/// What is rebased, all of it in this clone.
#[derive(Debug, Clone)]
pub struct Rebase<'a> {
    pub clone: &'a BareClone,
    pub policy: &'a Policy,
    pub tools: &'a Tools,
    pub head: &'a Sha,
    pub base: &'a Sha,
    pub committer: &'a Person,
    pub signoff: bool,
    /// A folder that does not exist yet, to lay the result out in.
    pub folder: &'a Path,
    pub now: DateTime<Utc>,
}

/// Why nothing was made. An agent may put the change onto the base by hand instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stopped {
    /// A file that is none of the driver's.
    Conflict { path: RepoPath },
    /// The driver refuses.
    Driver { path: RepoPath, why: Refusal },
    /// Counted afterwards: these entries do not say what they must.
    Unkept { entries: Vec<EntryKey> },
    /// Nothing of the change is left on this base.
    Nothing,
    /// The base is behind it already.
    UpToDate,
    /// What the formatter wrote may not be pushed.
    Refused(Refused),
    /// The entries cannot be counted.
    Uncounted(String),
}

impl Stopped {
    pub fn message(&self) -> String {
        wording::task::not_rebased(&match self {
            Self::Conflict { path } => format!("{} has a conflict", shown(path)),
            Self::Driver { path, why } => format!("{}: {why}", shown(path)),
            Self::Unkept { entries } => {
                let names: Vec<String> =
                    entries.iter().take(10).map(|key| format!("{} {}", key.family, key.id)).collect();
                format!("{} entries would not be kept: {}", entries.len(), names.join(", "))
            }
            Self::Nothing => "the base holds the whole change already".to_owned(),
            Self::UpToDate => "it stands on this base already".to_owned(),
            Self::Refused(why) => why.message(),
            Self::Uncounted(why) => why.clone(),
        })
    }
}

fn shown(path: &RepoPath) -> String {
    path.shown()
}

/// Why it could not be tried.
#[derive(Debug, thiserror::Error)]
pub enum NotTried {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Tool(#[from] NotRun),
    #[error(transparent)]
    Task(#[from] TaskError),
}

impl NotTried {
    /// True when it was stopped from outside.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Git(GitError::Cancelled { .. }) | Self::Tool(NotRun::Cancelled))
            || matches!(self, Self::Task(TaskError::Git(GitError::Cancelled { .. })))
    }
}

/// Either error of the replay.
enum Halt {
    Stopped(Stopped),
    Git(GitError),
}

impl From<GitError> for Halt {
    fn from(error: GitError) -> Self {
        Self::Git(error)
    }
}

impl From<NotCounted> for Halt {
    fn from(error: NotCounted) -> Self {
        match error {
            NotCounted::Git(error) => Self::Git(error),
            error => Self::Stopped(Stopped::Uncounted(error.to_string())),
        }
    }
}

/// One commit to be made: its tree, and what it says of itself.
struct Step {
    tree: Sha,
    said: Said,
}

/// The steps onto the base, and the values that the result must keep.
struct Replayed {
    steps: Vec<Step>,
    values: Values,
    others: BTreeSet<RepoPath>,
}

/// Puts the commits onto the base, runs formatter and validator, counts, and makes the commits. The last of
/// them is the new head; no ref names it yet.
pub async fn rebase(
    rebase: &Rebase<'_>,
    cancel: &CancellationToken,
) -> Result<Result<Sha, Stopped>, NotTried> {
    let (clone, policy) = (rebase.clone.clone(), rebase.policy.clone());
    let (head, base, stop) = (rebase.head.clone(), rebase.base.clone(), cancel.clone());
    let replayed = blocking(move || Ok::<_, TaskError>(replay(&clone, &policy, &head, &base, &stop))).await?;
    let mut replayed = match replayed {
        Ok(replayed) => replayed,
        Err(Halt::Stopped(stopped)) => return Ok(Err(stopped)),
        Err(Halt::Git(error)) => return Err(error.into()),
    };
    let Some(last) = replayed.steps.last() else { return Ok(Err(Stopped::Nothing)) };
    let tree = match formatted(rebase, &last.tree, cancel).await? {
        Ok(tree) => tree,
        Err(stopped) => return Ok(Err(stopped)),
    };
    if let Some(last) = replayed.steps.last_mut() {
        last.tree = tree;
    }
    let (clone, policy, stop) = (rebase.clone.clone(), rebase.policy.clone(), cancel.clone());
    let (base, committer, now, signoff) =
        (rebase.base.clone(), rebase.committer.clone(), rebase.now, rebase.signoff);
    let made = blocking(move || {
        let made = make(&clone, &policy, replayed, &base, &committer, signoff, now, &stop);
        Ok::<_, TaskError>(made)
    });
    match made.await? {
        Ok(commit) => Ok(Ok(commit)),
        Err(Halt::Stopped(stopped)) => Ok(Err(stopped)),
        Err(Halt::Git(error)) => Err(error.into()),
    }
}

fn replay(
    clone: &BareClone,
    policy: &Policy,
    head: &Sha,
    base: &Sha,
    cancel: &CancellationToken,
) -> Result<Replayed, Halt> {
    if merge::is_behind(clone, base, head)? {
        return Err(Halt::Stopped(Stopped::UpToDate));
    }
    let fork = clone
        .merge_base(base, head)?
        .ok_or(Halt::Stopped(Stopped::Uncounted("the base and the head share no history".to_owned())))?;
    let commits = clone.commits_over(base, head, COMMITS, cancel)?;
    let mut said = Vec::new();
    for commit in &commits {
        let (words, parents) = clone.said(commit)?;
        said.push((commit, words, parents));
    }
    let is_line = said.iter().all(|(_, _, parents)| parents.len() == 1);
    let below = |of: &Sha| merge::tree_of(clone, of);
    let mut now = below(base)?;
    let mut steps = Vec::new();
    if is_line {
        for (commit, said, parents) in said {
            let three = Three { below: below(&parents[0])?, ours: now.clone(), theirs: below(commit)? };
            let tree = merged(clone, policy, &three, cancel)?;
            // A commit whose change the base holds already is left out, as git does.
            if tree != now {
                now = tree.clone();
                steps.push(Step { tree, said });
            }
        }
    } else if let Some((_, said, _)) = said.into_iter().next() {
        // Merges of the base are in it: what they settled is in its head alone, so it is taken as one change.
        let three = Three { below: below(&fork)?, ours: now.clone(), theirs: below(head)? };
        let tree = merged(clone, policy, &three, cancel)?;
        if tree != now {
            now = tree.clone();
            steps.push(Step { tree, said });
        }
    }
    let mut others = BTreeSet::new();
    for (from, to) in [(&fork, base), (&fork, head)] {
        others.extend(clone.between(from, to, cancel)?.into_iter().map(|one| one.path));
    }
    let at = |commit: &Sha| content::values(clone, &policy.entries, commit, &others, cancel);
    let values = at(&now)?;
    let unkept = kept::unkept(&at(&fork)?, &at(base)?, &at(head)?, &values);
    if unkept.is_empty() {
        Ok(Replayed { steps, values, others })
    } else {
        Err(Halt::Stopped(Stopped::Unkept { entries: unkept }))
    }
}

/// One three-way merge: data files that both sides changed by the driver, the rest by git.
fn merged(
    clone: &BareClone,
    policy: &Policy,
    three: &Three,
    cancel: &CancellationToken,
) -> Result<Sha, Halt> {
    let made = merge::three_way(clone, three, cancel)?;
    let mut edits = Vec::new();
    let mut settled = BTreeSet::new();
    for at in &made.both {
        let rule = drivers::rule_for(&policy.merge_drivers, &at.path);
        let Some(rule) = rule.filter(|rule| rule.kind != DriverKind::Text) else { continue };
        if let Some(edit) = driven(clone, at, &rule.kind, &rule.union_keys, cancel)? {
            settled.insert(at.path.clone());
            edits.push(edit);
        }
    }
    if let Some(path) = made.open.iter().find(|path| !settled.contains(*path)) {
        let is_text = drivers::rule_for(&policy.merge_drivers, path).is_some();
        return Err(Halt::Stopped(if is_text {
            Stopped::Driver { path: path.clone(), why: Refusal::PlainText }
        } else {
            Stopped::Conflict { path: path.clone() }
        }));
    }
    Ok(merge::settled(clone, &made.tree, &edits, cancel)?)
}

/// One file by the driver; `None` where a side has no regular file there, which is git's to settle.
fn driven(
    clone: &BareClone,
    at: &AtPath,
    kind: &DriverKind,
    union_keys: &[String],
    cancel: &CancellationToken,
) -> Result<Option<Edit>, Halt> {
    let regular = |side: &Option<(Kind, Sha)>| match side {
        Some((Kind::File | Kind::Executable, id)) => Some(id.clone()),
        Some((Kind::Symlink | Kind::Submodule | Kind::Absent, _)) | None => None,
    };
    let (Some(ours), Some(theirs)) = (regular(&at.ours), regular(&at.theirs)) else { return Ok(None) };
    let below = match &at.below {
        None => None,
        some => match regular(some) {
            Some(id) => Some(id),
            None => return Ok(None),
        },
    };
    let refuse = |why| Halt::Stopped(Stopped::Driver { path: at.path.clone(), why });
    let ids: Vec<&Sha> = [&ours, &theirs].into_iter().chain(&below).collect();
    let mut texts = Vec::new();
    for bytes in clone.contents(&ids, 3 * VERSION, cancel)? {
        texts.push(String::from_utf8(bytes).map_err(|_| refuse(Refusal::NotKeyed))?);
    }
    let versions = Versions {
        base: texts.get(2).map(String::as_str),
        ours: texts.first().map_or("", String::as_str),
        theirs: texts.get(1).map_or("", String::as_str),
    };
    let text = drivers::merge(kind, union_keys, &versions).map_err(refuse)?;
    let id = clone.put_blob(text.into_bytes())?;
    let changed = [&at.ours, &at.theirs].into_iter().flatten().map(|(kind, _)| *kind);
    let was = at.below.as_ref().map(|(kind, _)| *kind);
    let mode = changed.clone().find(|kind| Some(*kind) != was).or(was).unwrap_or(Kind::File);
    Ok(Some(Edit { path: at.path.clone(), to: Some((mode, id)) }))
}

/// The tree after the formatter, which the validator has passed.
async fn formatted(
    rebase: &Rebase<'_>,
    tree: &Sha,
    cancel: &CancellationToken,
) -> Result<Result<Sha, Stopped>, NotTried> {
    let (clone, tree, folder, stop) =
        (rebase.clone.clone(), tree.clone(), rebase.folder.to_owned(), cancel.clone());
    let laid =
        blocking(move || Ok::<_, TaskError>(laid::lay(&clone, &tree, &folder, laid::CAPS, &stop)?)).await?;
    if let Some(ran) = rebase.tools.format(&laid.root, cancel).await?
        && ran.end.exit != Some(0)
    {
        let refused = Refused::Tool { name: ran.end.name, exit: ran.end.exit };
        return Ok(Err(Stopped::Refused(refused)));
    }
    let changes = look(&laid).await?;
    let judged: Vec<Change> = changes
        .iter()
        .map(|file| Change { path: file.path.clone(), old_path: None, kind: file.kind })
        .collect();
    if let Err(refused) = verify::paths(&judged, &laid.with(&changes), rebase.policy) {
        return Ok(Err(Stopped::Refused(refused)));
    }
    let ran = rebase.tools.check(&laid.root, cancel).await?;
    if ran.end.exit != Some(0) {
        let refused = Refused::Tool { name: ran.end.name, exit: ran.end.exit };
        return Ok(Err(Stopped::Refused(refused)));
    }
    let (clone, tree, stop) = (rebase.clone.clone(), laid.commit.clone(), cancel.clone());
    let tree = blocking(move || {
        let mut edits = Vec::new();
        for file in changes {
            let to = match file.bytes {
                Some(bytes) => Some((Kind::File, clone.put_blob(bytes)?)),
                None => None,
            };
            edits.push(Edit { path: file.path, to });
        }
        Ok::<_, TaskError>(merge::settled(&clone, &tree, &edits, &stop)?)
    });
    Ok(Ok(tree.await?))
}

async fn look(laid: &Laid) -> Result<Vec<laid::Left>, TaskError> {
    let laid = laid.clone();
    blocking(move || Ok::<_, TaskError>(laid.changes(FORMATTED)?)).await
}

/// Counts once more what the formatter wrote, and makes the commits.
#[expect(clippy::too_many_arguments, reason = "one call, and each is another thing")]
fn make(
    clone: &BareClone,
    policy: &Policy,
    replayed: Replayed,
    base: &Sha,
    committer: &Person,
    signoff: bool,
    at: DateTime<Utc>,
    cancel: &CancellationToken,
) -> Result<Sha, Halt> {
    let Replayed { steps, values, others } = replayed;
    let Some(last) = steps.last() else { return Err(Halt::Stopped(Stopped::Nothing)) };
    let mut all = others;
    all.extend(clone.between(base, &last.tree, cancel)?.into_iter().map(|one| one.path));
    let after = content::values(clone, &policy.entries, &last.tree, &all, cancel)?;
    let entries: Vec<EntryKey> =
        kept::reshaped(&values, &after).into_iter().filter(|key| key.family != "file").collect();
    if !entries.is_empty() {
        return Err(Halt::Stopped(Stopped::Unkept { entries }));
    }
    let mut parent = base.clone();
    for Step { tree, said } in &steps {
        parent = clone.commit(&NewCommit { tree, parent: &parent, said, committer, at, signoff })?;
    }
    if merge::tree_of(clone, &parent)? == merge::tree_of(clone, base)? {
        return Err(Halt::Stopped(Stopped::Nothing));
    }
    Ok(parent)
}
