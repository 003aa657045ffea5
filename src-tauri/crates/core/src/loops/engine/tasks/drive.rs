//! One task from its row to its end: what it needs is looked for, its commits are fetched, and its folder is
//! cleared whatever happens.

use std::path::{Path, PathBuf};

use steward_rules::engine::ladder;
use steward_rules::engine::policy::Policy;
use steward_rules::engine::retry::TaskEnd;
use steward_rules::ids::{PullNumber, Sha};
use steward_rules::reading::Reading;
use steward_rules::wording::task as say;

use super::make::{Halt, Work};
use super::stop::Stop;
use crate::git::work::Person;
use crate::git::{BareClone, Wanted, export};
use crate::home::Home;
use crate::loops::accounts::NoAccount;
use crate::loops::engine::rebase::Stopped;
use crate::loops::engine::validating::Tools;
use crate::loops::task::blocking;
use crate::loops::{Ctx, forge};
use crate::store::StoreError;
use crate::store::engine_tasks::{Ended, Fault, ItemKind, TaskRow, What};

/// How the folders of tasks begin, beside those of reviews.
const FOLDER: &str = "task-";

/// What became of a task.
pub(super) enum Outcome {
    Ended(Ended),
    /// Nothing is spent, and it waits for its next start.
    PutBack {
        why: String,
        /// The base onto which the driver refuses to put it.
        refused_on: Option<Sha>,
    },
}

impl Outcome {
    fn put_back(why: impl Into<String>) -> Self {
        Self::PutBack { why: why.into(), refused_on: None }
    }
}

/// Whether an agent may start now; why not.
pub(super) type MayStart = Result<(), String>;

/// Drives a task to its end. `agent_may` is asked before an agent takes over from a rebase that refused.
pub(super) async fn drive(
    ctx: &Ctx,
    row: &TaskRow,
    policy: &Policy,
    stop: &Stop,
    agent_may: impl AsyncFnOnce() -> Result<MayStart, StoreError>,
) -> Result<Outcome, StoreError> {
    let folder = folder_of(&ctx.home, row.id);
    let worked = work(ctx, row, policy, stop, agent_may, &folder).await;
    let cleared = tokio::task::spawn_blocking(move || export::remove(&folder)).await;
    if let Ok(Err(error)) = cleared {
        tracing::warn!(%error, "a task's folder is left over");
    }
    let outcome = match worked {
        Ok(outcome) => outcome,
        Err(Halt::Ended(ended)) => Outcome::Ended(*ended),
        Err(Halt::Stopped) => Outcome::put_back(say::restarted()),
        Err(Halt::Store(error)) => return Err(error),
    };
    // A sign to stop that came while it ended counts before everything it made.
    Ok(match stop.why() {
        None => outcome,
        Some(why) => match why.end() {
            None => Outcome::put_back(why.detail()),
            Some(end) => Outcome::Ended(Ended { end, fault: None, detail: why.detail(), result: None }),
        },
    })
}

fn folder_of(home: &Home, task: i64) -> PathBuf {
    home.seat_runs().join(format!("{FOLDER}{task}"))
}

/// Removes what tasks left that nobody drives any more.
pub(super) fn sweep(home: &Home) {
    for entry in std::fs::read_dir(home.seat_runs()).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(FOLDER)
            && let Err(error) = export::remove(&entry.path())
        {
            tracing::warn!(%error, "a task's folder is left over");
        }
    }
}

async fn work(
    ctx: &Ctx,
    row: &TaskRow,
    policy: &Policy,
    stop: &Stop,
    agent_may: impl AsyncFnOnce() -> Result<MayStart, StoreError>,
    folder: &Path,
) -> Result<Outcome, Halt> {
    if !ladder::may_push(&row.branch, policy) {
        return Err(Halt::fault(Fault::Branch, say::no_branch(&row.branch)));
    }
    let commit = ctx.config().commit;
    let (Some(name), Some(email)) = (commit.name, commit.email) else {
        return Err(Halt::fault(Fault::NoIdentity, say::no_identity()));
    };
    let asked = ctx.clone();
    let boundary = off(move || Ok(asked.boundary())).await?;
    let tools = Tools::find(policy.validate.as_ref(), &ctx.home, &boundary, stop.token());
    let tools = stop
        .unless(tools)
        .await
        .ok_or(Halt::Stopped)?
        .map_err(|why| Halt::fault(why.fault(), why.to_string()))?;
    let (clone, base) = commits(ctx, row, policy, stop).await?;
    let removed = folder.to_owned();
    off(move || {
        export::remove(&removed)?;
        std::fs::create_dir_all(&removed)
            .map_err(|error| Halt::fault(Fault::Local, format!("no folder to work in: {error}")))
    })
    .await?;
    let committer = Person { name, email };
    let signoff = commit.signoff;
    let folder = folder.to_owned();
    let work = Work { ctx, row, policy, clone, base, committer, signoff, tools, folder, stop };
    let ended = match row.what {
        What::Fix { .. } => work.fix().await?,
        What::Triage { .. } => work.triage().await?,
        What::Rebase => match work.rebase().await? {
            Ok(ended) => ended,
            Err(why @ Stopped::UpToDate) => return Err(Halt::end(TaskEnd::NotStarted, why.message())),
            Err(why @ Stopped::Nothing) => {
                return Err(Halt::parked(TaskEnd::NoChange, Fault::Nothing, why.message()));
            }
            Err(why) => match stop.unless(agent_may()).await.ok_or(Halt::Stopped)?? {
                Ok(()) => work.reapply(&why).await?,
                Err(why) => return Ok(Outcome::PutBack { why, refused_on: Some(work.base) }),
            },
        },
    };
    Ok(Outcome::Ended(ended))
}

async fn off<T: Send + 'static>(work: impl FnOnce() -> Result<T, Halt> + Send + 'static) -> Result<T, Halt> {
    blocking(work).await
}

/// Our clone with every commit the task needs, and the base as it is now. Where the repository cannot be asked
/// at all (nobody is signed in), what the row names must be here already.
async fn commits(ctx: &Ctx, row: &TaskRow, policy: &Policy, stop: &Stop) -> Result<(BareClone, Sha), Halt> {
    let Some(base_branch) = policy.base.clone() else {
        return Err(Halt::end(TaskEnd::NotStarted, "which branch is the base is not known"));
    };
    let (git, clones) = (ctx.git()?, ctx.home.clones());
    let (host, name) = (row.host.clone(), row.name.clone());
    let clone = off(move || Ok(BareClone::open_alone(&git, &clones, &host, &name)?)).await?;
    let open = stop.unless(forge::open(ctx, &row.host, &row.name)).await.ok_or(Halt::Stopped)?;
    let open = match open {
        Ok(open) => Some(open),
        Err(NoAccount::NotConfigured(_) | NoAccount::SignedOut { .. }) => None,
        Err(error) => return Err(Halt::end(TaskEnd::ForgeFailed, error.why().detail)),
    };
    let mut base = row.base.clone();
    if let Some(open) = &open {
        // A repair stands on its head; everything else stands on the base as it is now.
        if !matches!(row.what, What::Fix { .. }) {
            let tip = tokio::select! {
                tip = open.reader.branch_tip(&row.name, &base_branch) => tip,
                () = stop.token().cancelled() => return Err(Halt::Stopped),
            };
            base = match tip {
                Reading::Known { value: Some(tip) } => tip,
                Reading::Known { value: None } => {
                    return Err(Halt::end(TaskEnd::ForgeFailed, "the base branch is gone"));
                }
                Reading::Unread { why } => return Err(Halt::end(TaskEnd::ForgeFailed, why.detail)),
            };
        }
    }
    let mut wanted = vec![Wanted::branch(&base_branch, &base)];
    if let Some(head) = &row.head {
        wanted.push(match row.kind {
            ItemKind::Pr => Wanted::pull(PullNumber(row.number), head),
            ItemKind::Issue => Wanted::commit(head),
        });
    }
    let (needed, stop) = (wanted, stop.token().clone());
    let heads: Vec<Sha> = std::iter::once(base.clone()).chain(row.head.clone()).collect();
    let line = open.map(|open| open.line);
    let fetched = clone.clone();
    off(move || {
        let mut missing = Vec::new();
        for (commit, wanted) in heads.iter().zip(needed) {
            if !fetched.has_commit(commit)? {
                missing.push((commit.clone(), wanted));
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let Some(line) = line else {
            return Err(Halt::end(TaskEnd::ForgeFailed, "nobody is signed in, so nothing can be fetched"));
        };
        let wanted: Vec<Wanted> = missing.iter().map(|(_, wanted)| wanted.clone()).collect();
        if fetched.fetch(&line, &wanted, &[], &stop).is_err() {
            // A branch that moved on meanwhile: the very commits are asked for.
            tracing::debug!(base_branch, "the refs moved, so the commits are fetched by their ids");
            let wanted: Vec<Wanted> = missing.iter().map(|(commit, _)| Wanted::commit(commit)).collect();
            fetched.fetch(&line, &wanted, &[], &stop)?;
        }
        Ok(())
    })
    .await?;
    Ok((clone, base))
}
