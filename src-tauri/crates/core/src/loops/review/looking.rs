//! The half of a reading that git does, with what GitHub said in hand: fetch, then facts.

use std::path::Path;

use chrono::{DateTime, Utc};
use steward_rules::diff::RepoPath;
use steward_rules::ids::{Sha, TaskId};
use steward_rules::reading::{Cause, Reading};
use steward_rules::review::facts::{
    BaseSource, Contract, Evidence, Forge, Handoff, PullFacts, ValidatorVerdict,
};
use steward_rules::secret::Options;
use tokio_util::sync::CancellationToken;

use super::observe::Observed;
use super::remote::{self, Bringing, Others, Said};
use crate::git::{BareClone, FactsRequest, Git, GitFacts, SecretPass, Tip, Workspace, facts};
use crate::loops::task::{self, Place, TaskError};
use crate::store::attached::{self, FrameRow};
use crate::store::{ReadTx, StoreError};

/// What hangs on a task.
pub(super) struct Attached {
    contract: Option<Contract>,
    validator: Vec<ValidatorVerdict>,
    frames: Vec<FrameRow>,
    handoffs: Vec<Handoff>,
}

impl Attached {
    pub fn of(tx: &ReadTx<'_>, task: TaskId) -> Result<Self, StoreError> {
        Ok(Self {
            contract: attached::newest_contract(tx, task)?,
            validator: attached::validator_verdicts(tx, task)?,
            frames: attached::frames(tx, task)?,
            handoffs: attached::handoffs(tx, task)?,
        })
    }
}

/// Everything that git is asked with.
pub(super) struct Looking {
    pub task: TaskId,
    pub head: Sha,
    pub fork_point: Option<Sha>,
    pub place: Place,
    pub attached: Attached,
    pub salt: String,
    pub said: Said,
}

impl Looking {
    /// The half of the reading that git does; it blocks.
    pub fn look(
        self,
        git: &Git,
        hosts: &[String],
        clones: &Path,
        now: DateTime<Utc>,
        cancel: &CancellationToken,
    ) -> Result<(Observed, Reading<Others>, Said), TaskError> {
        let Self { task, head, fork_point, place, attached, salt, said } = self;
        let (workspace, clone) = place.open(git, hosts, clones)?;
        let checkout = match &workspace {
            Some(workspace) if place.pull.is_none() => {
                Some(task::checkout_of(git, workspace, &place.branch)?)
            }
            Some(_) | None => None,
        };
        let mut policy = place.policy;
        let known = place.integration.or_else(|| said.integration.clone());
        if let Some(name) = match (known, &workspace) {
            (Some(name), _) => Some(name),
            (None, Some(workspace)) => workspace.integration_branch()?,
            (None, None) => None,
        } {
            policy.integration_branch = name;
        }
        let own = place.pull.as_ref().map(|pull| pull.number);
        let touched: Vec<RepoPath> = attached
            .validator
            .iter()
            .filter_map(|verdict| verdict.mutations.as_ref())
            .flat_map(|run| run.paths.iter().map(|path| path.path.clone()))
            .collect();
        let claimed: Vec<String> = attached
            .handoffs
            .iter()
            .flat_map(|handoff| handoff.claims.commits.iter().map(|commit| commit.text.clone()))
            .collect();
        let request = FactsRequest {
            head: &head,
            branch: Some(&place.branch),
            integration: &policy.integration_branch,
            fork_point: fork_point.as_ref(),
            forge: said.forge,
            mutations: &touched,
            claimed: &claimed,
            secrets: SecretPass {
                options: Options::default(),
                salt: &salt,
                exceptions: &policy.secret_exceptions,
            },
        };
        let (read, others) = match (said.forge, &workspace) {
            (Forge::None, Some(workspace)) => (
                facts::read(&clone, workspace, &request, now, cancel),
                Err(remote::silence(said.forge)).into(),
            ),
            (Forge::None | Forge::SignedOut | Forge::GitHub, workspace) => {
                let haves = workspace.as_ref().map(|one| lent(one, &request)).unwrap_or_default();
                let bringing = Bringing { clone: &clone, said: &said, own, cancel };
                let tip = bringing.tip(&head, &haves, now);
                let others = bringing.others(&tip);
                let mut read = facts::read_against(&clone, tip, &request, cancel);
                read.pushed = said.pushed.clone();
                (read, others)
            }
        };
        let pull = said.pull.clone().map(|pull| {
            pull.map(|pull| PullFacts {
                base_is_ancestor_of_tip: remote::base_is_in(&clone, &read.base, &pull),
                ..pull
            })
        });
        let as_last_seen = match read.diff.get() {
            Ok(_) => None,
            Err(_) => last_seen(&clone, workspace.as_ref(), &request, now, cancel),
        };
        // The head outlives its branch: what was judged can be shown later.
        let base = read.base.get().ok().map(|base| base.tip.clone());
        if let Err(error) = clone.pin(task, &head, base.as_ref()) {
            tracing::warn!(%task, %error, "the head could not be kept");
        }
        let mut handoffs = attached.handoffs;
        let mut patches = read.claimed.into_iter();
        for handoff in &mut handoffs {
            for commit in &mut handoff.claims.commits {
                if let Some(known) = patches.next() {
                    *commit = known;
                }
            }
        }
        let observed = Observed {
            evidence: Evidence {
                base: read.base,
                diff: read.diff,
                commits: read.commits,
                tree: read.tree,
                secrets: read.secrets,
                pushed: read.pushed,
                checks: said.checks.clone(),
                pull,
                contract: attached.contract,
                validator: attached.validator,
                frames: attached.frames.iter().map(|row| row.frame.clone()).collect(),
                handoffs,
                ..unread(head, Some(place.branch), said.forge)
            },
            as_last_seen,
            policy,
            clone,
            checkout,
            frames: attached.frames,
        };
        Ok((observed, others, said))
    }
}

/// Evidence of which nothing is read yet.
pub(super) fn unread(head: Sha, branch: Option<String>, forge: Forge) -> Evidence {
    let why = remote::silence(forge);
    let not_yet = "not read yet";
    Evidence {
        head,
        branch,
        forge,
        base: Reading::unread(Cause::NotReadYet, not_yet),
        diff: Reading::unread(Cause::NotReadYet, not_yet),
        commits: Reading::unread(Cause::NotReadYet, not_yet),
        tree: Reading::unread(Cause::NotReadYet, not_yet),
        secrets: Reading::unread(Cause::NotReadYet, not_yet),
        pushed: Reading::unread(Cause::NotReadYet, not_yet),
        checks: Err(why.clone()).into(),
        pull: Err(why.clone()).into(),
        other_pulls: Err(why).into(),
        contract: None,
        validator: Vec::new(),
        frames: Vec::new(),
        handoffs: Vec::new(),
    }
}

/// Commits a workspace lends to a new clone of ours.
fn lent(workspace: &Workspace, request: &FactsRequest<'_>) -> Vec<Sha> {
    let names = [format!("refs/remotes/origin/{}", request.integration), "refs/heads/main".to_owned()];
    names.iter().filter_map(|name| workspace.ref_tip(name).ok().flatten()).collect()
}

/// Everything against the integration branch as the workspace or our clone has it, without asking
/// anybody.
fn last_seen(
    clone: &BareClone,
    workspace: Option<&Workspace>,
    request: &FactsRequest<'_>,
    now: DateTime<Utc>,
    cancel: &CancellationToken,
) -> Option<GitFacts> {
    let branch = request.integration;
    let names = [format!("refs/remotes/origin/{branch}"), format!("refs/heads/{branch}")];
    let there = |one: &Workspace| names.iter().find_map(|name| one.ref_tip(name).ok().flatten());
    let sha = workspace.and_then(there).or_else(|| clone.base(branch).ok().flatten())?;
    let tip = Tip { branch: branch.to_owned(), sha, fetched_at: now, source: BaseSource::RemoteTracking };
    let facts = facts::read_against(clone, Reading::known(tip), request, cancel);
    facts.diff.get().is_ok().then_some(facts)
}
