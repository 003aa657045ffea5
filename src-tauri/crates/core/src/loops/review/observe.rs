//! Reads everything the gates judge about one head: git, the forge, and what hangs on the task.

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use steward_rules::diff::{Diff, RepoPath};
use steward_rules::ids::{Sha, TaskId};
use steward_rules::reading::{Cause, Reading, Why};
use steward_rules::review::facts::{BaseFacts, BaseSource, CommitFacts, Evidence, Forge};
use steward_rules::review::gate::ci::ci_fingerprint;
use steward_rules::review::gate::{self, GateTable};
use steward_rules::review::policy::ReviewPolicy;
use steward_rules::review::verdict::Verdict;
use steward_rules::secret::Options;
use tokio_util::sync::CancellationToken;

use crate::config::{ForgeChoice, WorkspaceMatch};
use crate::git::{BareClone, FactsRequest, GitFacts, Remote, SecretPass, Tip, Workspace, facts};
use crate::loops::Ctx;
use crate::loops::task::{self, Place, TaskError, blocking};
use crate::store::attached::{self, FrameRow};
use crate::store::reviews::Stats;
use crate::store::tasks::TaskRow;
use crate::store::{Durability, StoreError, settings};

const SALT: &str = "secret.salt";

/// Everything that was read, and where it was read from.
pub struct Observed {
    pub evidence: Evidence,
    /// The change against the integration branch as the workspace last saw it, where the real one
    /// could not be read: the seat can read it while the gates stay undecided.
    pub as_last_seen: Option<GitFacts>,
    pub policy: ReviewPolicy,
    pub clone: BareClone,
    /// The checkout the task's branch stands in.
    pub checkout: PathBuf,
    /// The frames with the names of their pictures.
    pub frames: Vec<FrameRow>,
}

impl Observed {
    /// The change the seat is given.
    pub fn diff(&self) -> Result<&Diff, &Why> {
        match &self.as_last_seen {
            Some(facts) => facts.diff.get(),
            None => self.evidence.diff.get(),
        }
    }

    pub fn base(&self) -> Result<&BaseFacts, &Why> {
        match &self.as_last_seen {
            Some(facts) => facts.base.get(),
            None => self.evidence.base.get(),
        }
    }

    pub fn commits(&self) -> Result<&Vec<CommitFacts>, &Why> {
        match &self.as_last_seen {
            Some(facts) => facts.commits.get(),
            None => self.evidence.commits.get(),
        }
    }

    /// Judges what was read.
    pub fn judge(&self, now: DateTime<Utc>) -> GateTable {
        gate::evaluate(&self.evidence, &self.policy, now)
    }

    pub fn stats(&self) -> Stats {
        match self.diff() {
            Ok(diff) => {
                let (added, removed) = diff.totals();
                Stats { files: u32::try_from(diff.files.len()).unwrap_or(u32::MAX), added, removed }
            }
            Err(_) => Stats::default(),
        }
    }
}

/// The gates of a task at its head now.
pub struct TaskGates {
    pub table: GateTable,
    pub base: Reading<BaseFacts>,
    pub stats: Stats,
    pub cap: Option<Verdict>,
}

/// Reads the task's head again and judges it by all gates, with no review.
pub async fn gates(ctx: &Ctx, id: TaskId) -> Result<TaskGates, TaskError> {
    let task = task::refresh(ctx, id).await?;
    let head = task.head.clone().ok_or_else(|| TaskError::NoHead {
        task: id,
        why: task.unreadable.clone().unwrap_or_else(|| "its head was not read yet".to_owned()),
    })?;
    let observed = observe(ctx, &task, &head, &CancellationToken::new()).await?;
    let table = observed.judge(ctx.clock.now());
    let cap = gate::cap(&table);
    Ok(TaskGates { stats: observed.stats(), base: observed.evidence.base.clone(), table, cap })
}

/// What CI says of a commit now, as one word to compare; nothing else is read.
pub(super) async fn ci_now(ctx: &Ctx, task: &TaskRow, head: &Sha) -> Result<String, TaskError> {
    let place = task::place_of(ctx, task)?;
    let (_, choice) = policy_of(ctx, task, &place);
    let (git, hosts, head) = (ctx.git()?, ctx.hosts(), head.clone());
    blocking(move || {
        let workspace = Workspace::open(&git, &place.path, &hosts)?;
        let evidence = unread(head, Some(place.branch), forge(choice, workspace.remote()));
        Ok::<_, TaskError>(ci_fingerprint(&evidence))
    })
    .await
}

/// Evidence of which nothing is read yet.
fn unread(head: Sha, branch: Option<String>, forge: Forge) -> Evidence {
    let (cause, why) = match forge {
        Forge::None => (Cause::NotReadYet, "judged without GitHub"),
        Forge::SignedOut | Forge::GitHub => (Cause::SignedOut, "sign in to GitHub"),
    };
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
        checks: Reading::unread(cause, why),
        pull: Reading::unread(cause, why),
        other_pulls: Reading::unread(cause, why),
        contract: None,
        validator: Vec::new(),
        frames: Vec::new(),
        handoffs: Vec::new(),
    }
}

fn forge(choice: ForgeChoice, remote: &Remote) -> Forge {
    match (choice, remote) {
        (ForgeChoice::GitHub, Remote::GitHub { .. }) => Forge::SignedOut,
        (ForgeChoice::None, _) | (ForgeChoice::GitHub, Remote::None | Remote::Path(_) | Remote::Other(_)) => {
            Forge::None
        }
    }
}

/// Reads everything about `head`. What cannot be read is unread in the evidence; an error means that
/// the workspace itself cannot be opened.
pub async fn observe(
    ctx: &Ctx,
    task: &TaskRow,
    head: &Sha,
    cancel: &CancellationToken,
) -> Result<Observed, TaskError> {
    let place = task::place_of(ctx, task)?;
    let salt = salt(ctx).await?;
    let id = task.id;
    let (contract, validator, frames, handoffs) = ctx
        .store
        .read(move |tx| {
            Ok::<_, StoreError>((
                attached::newest_contract(tx, id)?,
                attached::validator_verdicts(tx, id)?,
                attached::frames(tx, id)?,
                attached::handoffs(tx, id)?,
            ))
        })
        .await?;
    let (policy, choice) = policy_of(ctx, task, &place);
    let (git, hosts, clones, now) = (ctx.git()?, ctx.hosts(), ctx.home.clones(), ctx.clock.now());
    let (head, cancel, fork_point) = (head.clone(), cancel.clone(), task.fork_point.clone());
    blocking(move || {
        let workspace = Workspace::open(&git, &place.path, &hosts)?;
        let checkout = task::checkout_of(&git, &workspace, &place.branch)?;
        let clone = BareClone::open(&git, &clones, &workspace)?;
        let mut policy = policy;
        if let Some(name) = match &place.integration {
            Some(name) => Some(name.clone()),
            None => workspace.integration_branch()?,
        } {
            policy.integration_branch = name;
        }
        let forge = forge(choice, workspace.remote());
        let touched: Vec<RepoPath> = validator
            .iter()
            .filter_map(|verdict| verdict.mutations.as_ref())
            .flat_map(|run| run.paths.iter().map(|path| path.path.clone()))
            .collect();
        let claimed: Vec<String> = handoffs
            .iter()
            .flat_map(|handoff| handoff.claims.commits.iter().map(|commit| commit.text.clone()))
            .collect();
        let request = FactsRequest {
            head: &head,
            branch: Some(&place.branch),
            integration: &policy.integration_branch,
            fork_point: fork_point.as_ref(),
            forge,
            mutations: &touched,
            claimed: &claimed,
            secrets: SecretPass {
                options: Options::default(),
                salt: &salt,
                exceptions: &policy.secret_exceptions,
            },
        };
        let read = facts::read(&clone, &workspace, &request, now, &cancel);
        let as_last_seen = match read.diff.get() {
            Ok(_) => None,
            Err(_) => last_seen(&clone, &workspace, &request, now, &cancel),
        };
        // The head outlives its branch: what was judged can be shown later.
        let base = read.base.get().ok().map(|base| base.tip.clone());
        if let Err(error) = clone.pin(id, &head, base.as_ref()) {
            tracing::warn!(task = %id, %error, "the head could not be kept");
        }
        let mut handoffs = handoffs;
        let mut patches = read.claimed.into_iter();
        for handoff in &mut handoffs {
            for commit in &mut handoff.claims.commits {
                if let Some(known) = patches.next() {
                    *commit = known;
                }
            }
        }
        Ok(Observed {
            evidence: Evidence {
                base: read.base,
                diff: read.diff,
                commits: read.commits,
                tree: read.tree,
                secrets: read.secrets,
                pushed: read.pushed,
                contract,
                validator,
                frames: frames.iter().map(|row| row.frame.clone()).collect(),
                handoffs,
                ..unread(head, Some(place.branch), forge)
            },
            as_last_seen,
            policy,
            clone,
            checkout,
            frames,
        })
    })
    .await
}

/// Everything against the integration branch as the workspace has it, without asking anybody.
fn last_seen(
    clone: &BareClone,
    workspace: &Workspace,
    request: &FactsRequest<'_>,
    now: DateTime<Utc>,
    cancel: &CancellationToken,
) -> Option<GitFacts> {
    let branch = request.integration;
    let names = [format!("refs/remotes/origin/{branch}"), format!("refs/heads/{branch}")];
    let sha = names.iter().find_map(|name| workspace.ref_tip(name).ok().flatten())?;
    let tip = Tip { branch: branch.to_owned(), sha, fetched_at: now, source: BaseSource::RemoteTracking };
    let facts = facts::read_against(clone, Reading::known(tip), request, cancel);
    facts.diff.get().is_ok().then_some(facts)
}

/// The policy of the task's workspace or repository, as the config file has it now.
fn policy_of(ctx: &Ctx, task: &TaskRow, place: &Place) -> (ReviewPolicy, ForgeChoice) {
    let config = ctx.config();
    let by_path = config.workspaces.iter().find(|workspace| workspace.path == Path::new(&place.path));
    let found = by_path.or_else(|| match task.workspace.as_deref().map(|title| config.workspace(title)) {
        Some(WorkspaceMatch::One(workspace)) => Some(workspace),
        Some(WorkspaceMatch::None | WorkspaceMatch::Several) | None => None,
    });
    let (policy, _) = config.review_policy(found, task.repository.as_deref());
    (policy, found.map_or(ForgeChoice::GitHub, |workspace| workspace.forge))
}

/// The salt of this installation's line hashes, made when it is first needed.
pub(crate) async fn salt(ctx: &Ctx) -> Result<String, StoreError> {
    if let Some(salt) = ctx.store.read(|tx| settings::get(tx, SALT)).await? {
        return Ok(salt);
    }
    ctx.store
        .write(Durability::Full, |tx| {
            if let Some(salt) = settings::get(tx, SALT)? {
                return Ok(salt);
            }
            let salt = random_hex();
            settings::set(tx, SALT, &salt)?;
            Ok(salt)
        })
        .await
}

/// 128 bits from the operating system, through the keys std seeds its hash maps with.
fn random_hex() -> String {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let word = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", word(), word())
}
