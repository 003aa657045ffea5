//! Reads everything the gates judge about one head: git, the forge, and what hangs on the task.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use steward_rules::diff::Diff;
use steward_rules::ids::{Sha, TaskId};
use steward_rules::reading::{Reading, Why};
use steward_rules::review::facts::{BaseFacts, CommitFacts, Evidence};
use steward_rules::review::gate::ci::ci_fingerprint;
use steward_rules::review::gate::{self, GateTable};
use steward_rules::review::policy::ReviewPolicy;
use steward_rules::review::verdict::Verdict;
use tokio_util::sync::CancellationToken;

use super::looking::{Attached, Looking, unread};
use super::remote::{self, Subject};
use crate::config::ForgeChoice;
use crate::git::{BareClone, GitError, GitFacts, Remote, Workspace};
use crate::loops::Ctx;
use crate::loops::forge::{self, Asking};
use crate::loops::task::{self, Place, TaskError, blocking};
use crate::store::attached::FrameRow;
use crate::store::reviews::Stats;
use crate::store::tasks::{self, TaskRow};
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
    /// The checkout the task's branch stands in, when it is one of this machine.
    pub checkout: Option<PathBuf>,
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
    let place = task::place_of(ctx, task).await?;
    let asking = asking(ctx, &place).await?;
    let forge = asking.forge();
    let subject = subject(&place, head);
    let checks = remote::checks(ctx, asking, &subject).await?;
    Ok(ci_fingerprint(&Evidence { checks, ..unread(head.clone(), Some(place.branch.clone()), forge) }))
}

/// Whether GitHub can be asked about the task.
pub(in crate::loops) async fn asking(ctx: &Ctx, place: &Place) -> Result<Asking, TaskError> {
    if let Some(pull) = &place.pull {
        return Ok(forge::ask(ctx, &pull.host, &pull.name).await);
    }
    match (place.forge, &place.workspace) {
        (ForgeChoice::None, _) | (ForgeChoice::GitHub, None) => Ok(Asking::Not),
        (ForgeChoice::GitHub, Some(path)) => {
            let (git, hosts, origins, path) = (ctx.git()?, ctx.hosts(), ctx.origins(), path.clone());
            let remote = blocking(move || match origins.of(&git, &path, &hosts) {
                Some(remote) => Ok(remote),
                None => Ok::<_, TaskError>(Workspace::open(&git, &path, &hosts)?.remote().clone()),
            });
            match remote.await? {
                Remote::GitHub { host, name } => Ok(forge::ask(ctx, &host, &name).await),
                Remote::None | Remote::Path(_) | Remote::Other(_) => Ok(Asking::Not),
            }
        }
    }
}

fn subject<'a>(place: &'a Place, head: &'a Sha) -> Subject<'a> {
    Subject {
        head,
        branch: &place.branch,
        pull: place.pull.as_ref().map(|pull| pull.number),
        integration: place.integration.as_deref(),
    }
}

/// Reads everything about `head`. What cannot be read is unread in the evidence; an error means that
/// the workspace itself cannot be opened, or that the reading was cancelled.
pub async fn observe(
    ctx: &Ctx,
    task: &TaskRow,
    head: &Sha,
    cancel: &CancellationToken,
) -> Result<Observed, TaskError> {
    let place = task::place_of(ctx, task).await?;
    let salt = salt(ctx).await?;
    let id = task.id;
    let attached = ctx.store.read(move |tx| Attached::of(tx, id)).await?;
    let asking = asking(ctx, &place).await?;
    let asked = subject(&place, head);
    let said = tokio::select! {
        said = remote::read(ctx, asking, &asked) => said?,
        () = cancel.cancelled() => return Err(GitError::Cancelled { what: "fetch".to_owned() }.into()),
    };
    let (git, hosts, clones, now) = (ctx.git()?, ctx.hosts(), ctx.home.clones(), ctx.clock.now());
    let looking = Looking {
        task: id,
        head: head.clone(),
        fork_point: task.fork_point.clone(),
        place,
        attached,
        salt,
        said,
    };
    let stop = cancel.clone();
    let (mut observed, others, said) =
        blocking(move || looking.look(&git, &hosts, &clones, now, &stop)).await?;
    observed.evidence.other_pulls = remote::complete(&said, others).await;
    if task.fork_point.is_none()
        && let Ok(base) = observed.evidence.base.get()
    {
        let fork_point = base.merge_base.clone();
        ctx.store.write(Durability::Normal, move |tx| tasks::record_fork_point(tx, id, &fork_point)).await?;
    }
    Ok(observed)
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
