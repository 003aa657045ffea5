//! The values of entries on trees of our clone: for superseding (engine.md 5), for counting, and for what an
//! answer claims (engine.md 10).

use std::collections::BTreeSet;

use steward_rules::diff::{Kind, RepoPath};
use steward_rules::engine::entries::{self, Blob, CountError, DataFiles, EntryDiff};
use steward_rules::engine::policy::{EntriesPolicy, Unit};
use steward_rules::engine::supersede::{Content, ContentFacts, Values, content};
use steward_rules::ids::Sha;
use steward_rules::reading::{Cause, Why};
use tokio_util::sync::CancellationToken;

use crate::git::work::{Between, TreeFile};
use crate::git::{BareClone, GitError, merge};

/// Bytes of data files that are read of one tree.
const MOST: u64 = 512 << 20;

/// Why the entries of a tree are not known.
#[derive(Debug, thiserror::Error)]
pub enum NotCounted {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("the entries cannot be counted: {0}")]
    Count(#[from] CountError),
    #[error("two commits share no history")]
    Strangers,
}

impl NotCounted {
    /// As a reading of facts says it.
    pub fn why(&self) -> Why {
        match self {
            Self::Git(error) => error.why(),
            Self::Count(_) => Why::new(Cause::GitFailed, self.to_string()),
            Self::Strangers => Why::new(Cause::NoBase, self.to_string()),
        }
    }

    /// True when it was stopped from outside.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Git(GitError::Cancelled { .. }))
    }
}

/// What a change does to entries, from one commit or tree to another.
pub fn change(
    clone: &BareClone,
    policy: &EntriesPolicy,
    from: &Sha,
    to: &Sha,
    cancel: &CancellationToken,
) -> Result<EntryDiff, NotCounted> {
    let between = clone.between(from, to, cancel)?;
    let old = blobs(clone, between.iter().filter_map(|one| side(one, &one.old)), cancel)?;
    let new = blobs(clone, between.iter().filter_map(|one| side(one, &one.new)), cancel)?;
    Ok(entries::count(policy, &old, &new)?)
}

/// What a pull request does: from where it left the base to its head.
pub fn of_pull(
    clone: &BareClone,
    policy: &EntriesPolicy,
    base: &Sha,
    head: &Sha,
    cancel: &CancellationToken,
) -> Result<EntryDiff, NotCounted> {
    let fork = clone.merge_base(base, head)?.ok_or(NotCounted::Strangers)?;
    change(clone, policy, &fork, head, cancel)
}

fn side<'b>(one: &'b Between, side: &'b Option<(Kind, Sha)>) -> Option<(&'b RepoPath, &'b Sha)> {
    match side {
        Some((Kind::File | Kind::Executable, id)) => Some((&one.path, id)),
        Some((Kind::Symlink | Kind::Submodule | Kind::Absent, _)) | None => None,
    }
}

fn blobs<'f>(
    clone: &BareClone,
    files: impl Iterator<Item = (&'f RepoPath, &'f Sha)>,
    cancel: &CancellationToken,
) -> Result<Vec<Blob>, GitError> {
    let files: Vec<_> = files.collect();
    let ids: Vec<&Sha> = files.iter().map(|(_, id)| *id).collect();
    let contents = clone.contents(&ids, MOST, cancel)?;
    Ok(files.into_iter().zip(contents).map(|((path, _), bytes)| Blob { path: path.clone(), bytes }).collect())
}

/// The values of every entry of a tree: of all data files, wherever an entry stands, and of these other files.
pub fn values(
    clone: &BareClone,
    policy: &EntriesPolicy,
    commit: &Sha,
    others: &BTreeSet<RepoPath>,
    cancel: &CancellationToken,
) -> Result<Values, NotCounted> {
    let files = clone.files(commit, cancel)?;
    let data = DataFiles::new(policy);
    let is_counted = |file: &&TreeFile| {
        matches!(file.kind, Kind::File | Kind::Executable)
            && (others.contains(&file.path) || policy.unit != Unit::Files && data.holds(&file.path))
    };
    let counted = files.iter().filter(is_counted).map(|file| (&file.path, &file.id));
    Ok(entries::values(policy, &blobs(clone, counted, cancel)?)?)
}

/// The ids of every entry of a tree, as an answer may name them.
pub fn ids(
    clone: &BareClone,
    policy: &EntriesPolicy,
    commit: &Sha,
    cancel: &CancellationToken,
) -> Result<BTreeSet<String>, NotCounted> {
    let all = match policy.unit {
        Unit::Files => {
            let files = clone.files(commit, cancel)?;
            return Ok(files.into_iter().map(|file| file.path.shown()).collect());
        }
        Unit::JsonKeys | Unit::YamlDocs | Unit::CsvRows | Unit::Lines(_) => {
            values(clone, policy, commit, &BTreeSet::new(), cancel)?
        }
    };
    Ok(all.into_keys().map(|key| key.id).collect())
}

/// The commits by which superseding is judged. All of them are here.
#[derive(Debug, Clone, Copy)]
pub struct Superseded<'a> {
    /// The merge commit of the superseding pull request.
    pub merged: &'a Sha,
    /// Its last head.
    pub head: &'a Sha,
    /// The base as it was just fetched.
    pub tip: &'a Sha,
    /// The head of the original that was recorded when the superseding one was made.
    pub original: &'a Sha,
}

/// The content test of engine.md 5.
pub fn superseded(
    clone: &BareClone,
    policy: &EntriesPolicy,
    commits: &Superseded<'_>,
    cancel: &CancellationToken,
) -> Result<Content, NotCounted> {
    let is_on_base = merge::is_behind(clone, commits.merged, commits.tip)?;
    // The base before the merge: the head is behind its own merge commit, so the tip forks from nothing else.
    let before = clone.said(commits.merged)?.1.into_iter().next().ok_or(NotCounted::Strangers)?;
    let fork = clone.merge_base(&before, commits.head)?.ok_or(NotCounted::Strangers)?;
    let origin = clone.merge_base(&before, commits.original)?.ok_or(NotCounted::Strangers)?;
    let by_file = EntriesPolicy { unit: Unit::Files, ..policy.clone() };
    let changes = |policy: &EntriesPolicy| {
        let own = change(clone, policy, &fork, commits.head, cancel)?;
        Ok::<_, NotCounted>((own, change(clone, policy, &origin, commits.original, cancel)?))
    };
    let (mut policy, mut both) = (policy, changes(policy)?);
    // What has no name of its own cannot be found again on another tree: its whole file is compared.
    if !both.0.files.is_empty() || !both.1.files.is_empty() {
        policy = &by_file;
        both = changes(policy)?;
    }
    let (own, original) = both;
    let mut others = BTreeSet::new();
    for (from, to) in [(&fork, commits.head), (&origin, commits.original)] {
        others.extend(clone.between(from, to, cancel)?.into_iter().map(|one| one.path));
    }
    let at = |commit: &Sha| values(clone, policy, commit, &others, cancel);
    let (merged_values, base_values, original_values): (Values, Values, Values) =
        (at(commits.head)?, at(commits.tip)?, at(commits.original)?);
    let keys = |diff: &EntryDiff| diff.keys().into_iter().cloned().collect::<BTreeSet<_>>();
    Ok(content(&ContentFacts {
        is_on_base,
        touched: &keys(&own),
        merged: &merged_values,
        base: &base_values,
        original_touched: &keys(&original),
        original: &original_values,
    }))
}
