//! The facts about one head that git alone can tell, read from our clone without a checkout.

mod blobs;
mod log;
mod others;
mod patches;
mod tree;

use chrono::{DateTime, Utc};
use steward_rules::diff::collect::{Collect, Collected};
use steward_rules::diff::parse::{Parser, Shape};
use steward_rules::diff::{Diff, RepoPath};
use steward_rules::ids::Sha;
use steward_rules::reading::{Cause, Reading};
use steward_rules::review::facts::{
    BaseFacts, ClaimedCommit, CommitFacts, Forge, ForkPoint, Pushed, TreeFacts,
};
use steward_rules::secret::{Engine, Options, Scan, SecretReport};
use tokio_util::sync::CancellationToken;

use super::clone::{BareClone, Tip};
use super::error::GitError;
use super::remote::Remote;
use super::runner::{Flow, Limits};
use super::workspace::{Workspace, sha};
use log::PATCH;
pub use others::{OtherHead, has_ancestor, others};

/// Which facts are wanted, and of what.
#[derive(Debug, Clone, Copy)]
pub struct FactsRequest<'a> {
    pub head: &'a Sha,
    /// The task's branch, to see whether the remote has it.
    pub branch: Option<&'a str>,
    /// Name of the integration branch.
    pub integration: &'a str,
    /// Recorded when the task was first seen.
    pub fork_point: Option<&'a Sha>,
    pub forge: Forge,
    /// Paths a validator's mutations touched.
    pub mutations: &'a [RepoPath],
    /// Commits that peers claim, full or abbreviated.
    pub claimed: &'a [String],
    pub secrets: SecretPass<'a>,
}

/// How the pass for secrets hashes lines, and which hashes are excepted.
#[derive(Debug, Clone, Copy)]
pub struct SecretPass<'a> {
    pub options: Options,
    pub salt: &'a str,
    pub exceptions: &'a [String],
}

/// The git half of a review's evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct GitFacts {
    pub base: Reading<BaseFacts>,
    pub diff: Reading<Diff>,
    /// Oldest first.
    pub commits: Reading<Vec<CommitFacts>>,
    pub tree: Reading<TreeFacts>,
    pub secrets: Reading<SecretReport>,
    pub pushed: Reading<Pushed>,
    /// One per claimed text, in order.
    pub claimed: Vec<ClaimedCommit>,
}

/// Reads the integration branch freshly, then everything about the head.
pub fn read(
    clone: &BareClone,
    workspace: &Workspace,
    request: &FactsRequest<'_>,
    now: DateTime<Utc>,
    cancel: &CancellationToken,
) -> GitFacts {
    let tip = clone.integration_tip(workspace, request.integration, request.forge, now, cancel);
    let mut facts = read_against(clone, tip, request, cancel);
    facts.pushed = pushed(clone, workspace, request);
    facts
}

/// Reads everything about the head that needs no workspace, against a tip that was read before.
/// `pushed` stays unread.
pub fn read_against(
    clone: &BareClone,
    tip: Reading<Tip>,
    request: &FactsRequest<'_>,
    cancel: &CancellationToken,
) -> GitFacts {
    let range = tip
        .get()
        .map_err(Clone::clone)
        .and_then(|tip| range(clone, tip, request, cancel).map_err(|error| error.why()));
    let tree = tree::read(clone, request, range.as_ref().ok().map(|r| &r.diff), cancel);
    let pushed = Reading::unread(Cause::NotReadYet, "the remote was not asked");
    match range {
        Ok(range) => {
            let claimed = claimed(clone, request, &range.commits, cancel);
            GitFacts {
                base: Reading::known(range.base),
                diff: Reading::known(range.diff),
                commits: Reading::known(range.commits),
                tree: tree.map_err(|e| e.why()).into(),
                secrets: Reading::known(range.secrets),
                pushed,
                claimed,
            }
        }
        Err(why) => GitFacts {
            base: Err(why.clone()).into(),
            diff: Err(why.clone()).into(),
            commits: Err(why.clone()).into(),
            tree: tree.map_err(|e| e.why()).into(),
            secrets: Err(why).into(),
            pushed,
            claimed: claimed(clone, request, &[], cancel),
        },
    }
}

struct Judged {
    base: BaseFacts,
    diff: Diff,
    commits: Vec<CommitFacts>,
    secrets: SecretReport,
}

fn range(
    clone: &BareClone,
    tip: &Tip,
    request: &FactsRequest<'_>,
    cancel: &CancellationToken,
) -> Result<Judged, GitError> {
    let mut scan = Scan::new(Engine::shared(), request.secrets.options, request.secrets.salt);
    let revisions = [request.head.to_string(), format!("^{}", tip.sha)];
    let log::Range { mut commits, unshown, single } = log::walk(clone, &revisions, Some(&mut scan), cancel)?;
    let merge_base = merge_base(clone, tip, request.head, &commits)?;
    let collected = match single {
        // The one commit's patch is the whole diff.
        Some(single) if !commits.is_empty() => single.finish(),
        _ if merge_base == *request.head => Collect::default().finish(),
        _ => collect(clone, Since::Commit(&merge_base), request.head, cancel)?,
    };
    let diff = blobs::look(clone, collected, &unshown, &mut scan, cancel)?;
    commits.reverse();
    let fork_point =
        request.fork_point.map(|sha| fork_point(clone, sha, &merge_base, &tip.sha)).transpose()?;
    let mut secrets = scan.finish(request.secrets.exceptions);
    secrets.commits = commits.len() as u64;
    Ok(Judged {
        base: BaseFacts {
            branch: tip.branch.clone(),
            tip: tip.sha.clone(),
            merge_base,
            fork_point,
            fetched_at: tip.fetched_at,
            source: tip.source,
        },
        diff,
        commits,
        secrets,
    })
}

/// The merge base, read off the range where that is possible: every way from the head into the
/// integration branch enters through a parent that is not in the range, so with one such parent
/// there is nothing left to search.
fn merge_base(clone: &BareClone, tip: &Tip, head: &Sha, commits: &[CommitFacts]) -> Result<Sha, GitError> {
    if commits.is_empty() {
        return Ok(head.clone());
    }
    let inside: std::collections::HashSet<&Sha> = commits.iter().map(|c| &c.sha).collect();
    let mut edge: Vec<&Sha> =
        commits.iter().flat_map(|c| &c.parents).filter(|p| !inside.contains(p)).collect();
    edge.sort();
    edge.dedup();
    match edge.as_slice() {
        [only] => Ok((*only).clone()),
        [] => Err(GitError::NoBase { why: format!("the branch shares no history with {}", tip.branch) }),
        _ => sha(&clone.call(&["merge-base", tip.sha.as_str(), head.as_str()]).line()?, "merge-base"),
    }
}

/// Where a diff begins.
#[derive(Debug, Clone, Copy)]
enum Since<'a> {
    Commit(&'a Sha),
    /// The merge base of this commit and the head; git finds it in the same process.
    ForkOf(&'a Sha),
}

/// The diff of two commits, with the files whose blobs must be looked at. One git, no checkout.
fn collect(
    clone: &BareClone,
    since: Since<'_>,
    head: &Sha,
    cancel: &CancellationToken,
) -> Result<Collected, GitError> {
    let mut args = vec!["diff-tree", "-r"];
    args.extend(PATCH);
    match since {
        Since::Commit(base) => args.extend([base.as_str(), head.as_str(), "--"]),
        Since::ForkOf(tip) => args.extend(["--merge-base", tip.as_str(), head.as_str(), "--"]),
    }
    let mut parser = Parser::new(Shape::Diff);
    let mut sink = Collect::default();
    let read = |e: steward_rules::diff::parse::ParseError| GitError::answer("diff-tree", e.to_string());
    clone.call(&args).limits(Limits::STREAM).cancel(cancel).stream(|chunk| {
        parser.push(chunk, &mut sink).map_err(read)?;
        Ok(Flow::More)
    })?;
    parser.finish().map_err(read)?;
    Ok(sink.finish())
}

/// The judged diff alone, since the head left `tip`: files, modes, lines, every content looked at.
pub fn diff(clone: &BareClone, tip: &Sha, head: &Sha, cancel: &CancellationToken) -> Result<Diff, GitError> {
    let collected = collect(clone, Since::ForkOf(tip), head, cancel)?;
    let mut no_secrets = Scan::new(Engine::shared(), Options::default(), "");
    blobs::look(clone, collected, &[], &mut no_secrets, cancel)
}

fn fork_point(clone: &BareClone, fork: &Sha, merge_base: &Sha, tip: &Sha) -> Result<ForkPoint, GitError> {
    let is_ancestor_of_tip = fork == merge_base || fork == tip || {
        let (code, words) =
            clone.call(&["merge-base", "--is-ancestor", fork.as_str(), tip.as_str()]).exit_code()?;
        match code {
            Some(0) => true,
            Some(1) => false,
            _ => return Err(GitError::MissingObject { detail: words }),
        }
    };
    Ok(ForkPoint { sha: fork.clone(), is_ancestor_of_tip })
}

/// The merge base of two commits, to be recorded as a task's fork point when it is first seen.
pub fn fork_point_now(clone: &BareClone, tip: &Sha, head: &Sha) -> Result<Sha, GitError> {
    sha(&clone.call(&["merge-base", tip.as_str(), head.as_str()]).line()?, "merge-base")
}

fn pushed(clone: &BareClone, workspace: &Workspace, request: &FactsRequest<'_>) -> Reading<Pushed> {
    let Some(branch) = request.branch else {
        return Reading::unread(Cause::NotReadYet, "the task has no branch");
    };
    let judged = |remote: Option<Sha>| {
        if remote.as_ref() == Some(request.head) { Pushed::Yes } else { Pushed::No { remote } }
    };
    match workspace.remote() {
        Remote::None => Reading::known(Pushed::No { remote: None }),
        Remote::Path(path) => match clone.remote_branch(path, branch) {
            Ok(remote) => Reading::known(judged(remote)),
            Err(error) => Reading::unread(Cause::FetchFailed, error.to_string()),
        },
        Remote::GitHub { .. } => Reading::unread(Cause::SignedOut, "sign in to GitHub to see what is pushed"),
        Remote::Other(_) => match workspace.ref_tip(&format!("refs/remotes/origin/{branch}")) {
            Ok(remote) => Reading::known(judged(remote)),
            Err(error) => Err(error.why()).into(),
        },
    }
}

/// Finds each claimed commit's patch id: in the range by its prefix, else by asking git. A claim
/// that names no commit here keeps `None`.
fn claimed(
    clone: &BareClone,
    request: &FactsRequest<'_>,
    commits: &[CommitFacts],
    cancel: &CancellationToken,
) -> Vec<ClaimedCommit> {
    request
        .claimed
        .iter()
        .take(200)
        .map(|text| {
            let known = commits.iter().find(|c| text.len() >= 7 && c.sha.as_str().starts_with(text.as_str()));
            let patch_id = match known {
                Some(commit) => commit.patch_id.clone(),
                None => elsewhere(clone, text, cancel),
            };
            ClaimedCommit { text: text.clone(), patch_id }
        })
        .collect()
}

fn elsewhere(clone: &BareClone, text: &str, cancel: &CancellationToken) -> Option<String> {
    if !(7..=40).contains(&text.len()) || !text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let full =
        clone.call(&["rev-parse", "--verify", "--quiet", &format!("{text}^{{commit}}")]).line().ok()?;
    let revisions = ["--no-walk=unsorted".to_owned(), full];
    let range = log::walk(clone, &revisions, None, cancel).ok()?;
    range.commits.into_iter().next()?.patch_id
}
