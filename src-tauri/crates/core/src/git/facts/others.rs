//! The commits of other open pull requests, read from their fetched heads.

use std::collections::{HashMap, HashSet};

use steward_rules::ids::{PullNumber, Sha};
use steward_rules::review::facts::OtherPull;
use tokio_util::sync::CancellationToken;

use super::patches;
use crate::git::clone::BareClone;
use crate::git::error::GitError;
use crate::git::runner::Limits;
use crate::git::workspace::sha;

/// One other open pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherHead {
    pub number: PullNumber,
    pub head: Sha,
    /// Its base, when that is another branch than the integration branch: what it stands on is not its
    /// own.
    pub other_base: Option<Sha>,
}

/// The commits of each, and their patch ids as far as they are worth their price. `None` for one
/// whose objects are not here.
pub fn others(
    clone: &BareClone,
    tip: &Sha,
    heads: &[OtherHead],
    cancel: &CancellationToken,
) -> Result<Vec<Option<OtherPull>>, GitError> {
    let asked: Vec<&Sha> =
        heads.iter().flat_map(|one| [Some(&one.head), one.other_base.as_ref()]).flatten().collect();
    let here = commits_here(clone, &asked)?;
    let is_here = |one: &OtherHead| {
        here.contains(&one.head) && one.other_base.as_ref().is_none_or(|base| here.contains(base))
    };
    let known: Vec<&OtherHead> = heads.iter().filter(|one| is_here(one)).collect();
    let parents = since(clone, tip, &known, cancel)?;
    let own: Vec<(PullNumber, Vec<Sha>)> =
        known.iter().map(|one| (one.number, commits_of(one, &parents))).collect();
    let every: Vec<&Sha> = own.iter().flat_map(|(_, commits)| commits).collect();
    let ids = patches::of(clone, &every, cancel)?;
    let mut found: HashMap<PullNumber, OtherPull> = own
        .into_iter()
        .map(|(number, commits)| {
            let mut patch_ids: Vec<String> =
                commits.iter().filter_map(|one| ids.get(one).cloned().flatten()).collect();
            patch_ids.sort();
            patch_ids.dedup();
            (number, OtherPull { number, commits, patch_ids })
        })
        .collect();
    Ok(heads.iter().map(|one| found.remove(&one.number)).collect())
}

/// Whether `tip` has this commit behind it. The whole history of a fetched tip is here, so a commit
/// that is not here is not in it.
pub fn has_ancestor(clone: &BareClone, tip: &Sha, commit: &Sha) -> Result<bool, GitError> {
    if tip == commit {
        return Ok(true);
    }
    if !clone.has_commit(commit)? {
        return Ok(false);
    }
    let (code, words) =
        clone.call(&["merge-base", "--is-ancestor", commit.as_str(), tip.as_str()]).exit_code()?;
    match code {
        Some(0) => Ok(true),
        Some(1) => Ok(false),
        _ => Err(GitError::MissingObject { detail: words }),
    }
}

/// Those of the ids that are commits here.
fn commits_here(clone: &BareClone, ids: &[&Sha]) -> Result<HashSet<Sha>, GitError> {
    if ids.is_empty() {
        return Ok(HashSet::new());
    }
    let asked: String = ids.iter().map(|id| format!("{id}\n")).collect();
    let said = clone
        .call(&["cat-file", "--batch-check=%(objecttype) %(objectname)"])
        .stdin(asked.into_bytes())
        .limits(Limits::LIST)
        .bytes()?;
    let text = String::from_utf8_lossy(&said);
    Ok(text.lines().filter_map(|line| Sha::new(line.strip_prefix("commit ")?).ok()).collect())
}

/// Every commit that a head or another base has and the tip has not, with its parents.
fn since(
    clone: &BareClone,
    tip: &Sha,
    heads: &[&OtherHead],
    cancel: &CancellationToken,
) -> Result<HashMap<Sha, Vec<Sha>>, GitError> {
    if heads.is_empty() {
        return Ok(HashMap::new());
    }
    let mut asked = format!("^{tip}\n");
    for one in heads {
        for id in [Some(&one.head), one.other_base.as_ref()].into_iter().flatten() {
            asked.push_str(&format!("{id}\n"));
        }
    }
    let said = clone
        .call(&["rev-list", "--parents", "--stdin"])
        .stdin(asked.into_bytes())
        .limits(Limits::LIST)
        .cancel(cancel)
        .bytes()?;
    let mut parents = HashMap::new();
    for line in String::from_utf8_lossy(&said).lines() {
        let mut ids = line.split(' ').map(|id| sha(id, "rev-list"));
        if let Some(own) = ids.next() {
            parents.insert(own?, ids.collect::<Result<_, _>>()?);
        }
    }
    Ok(parents)
}

/// What its head reaches and its base does not.
fn commits_of(one: &OtherHead, parents: &HashMap<Sha, Vec<Sha>>) -> Vec<Sha> {
    let below = one.other_base.as_ref().map(|base| reached(base, parents, &HashSet::new()));
    let below: HashSet<&Sha> = below.into_iter().flatten().collect();
    reached(&one.head, parents, &below).into_iter().cloned().collect()
}

fn reached<'a>(from: &Sha, parents: &'a HashMap<Sha, Vec<Sha>>, not: &HashSet<&Sha>) -> Vec<&'a Sha> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    let mut next: Vec<&Sha> = vec![from];
    while let Some(id) = next.pop() {
        let Some((own, before)) = parents.get_key_value(id) else { continue };
        if not.contains(own) || !seen.insert(own) {
            continue;
        }
        found.push(own);
        next.extend(before);
    }
    found
}
