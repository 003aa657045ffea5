//! Reads one merge: what GitHub says of it, the objects, and what git makes of both sides.

use chrono::{DateTime, Utc};
use steward_rules::engine::landed::{self, Landed, Unproven};
use steward_rules::ids::{RepoName, Sha};
use steward_rules::reading::{Cause, Reading, Why};
use tokio_util::sync::CancellationToken;

use crate::git::landed::{self as git, Merge};
use crate::git::{BareClone, GitError, Line, Wanted};
use crate::github::{GitHubError, Reader, convert};
use crate::loops::task::place_of;
use crate::loops::{Ctx, forge};
use crate::store::landings::{self, LandingRow, Said};
use crate::store::{Durability, StoreError, repositories, tasks};

/// What a look at one merge came to.
pub(super) enum Proof {
    Judged {
        method: Option<&'static str>,
        landed: Landed,
    },
    /// Nothing may be asked until then. It is nobody's fault and costs no patience.
    Later {
        until: DateTime<Utc>,
        why: Why,
    },
}

/// Why a look at GitHub said nothing.
enum Halt {
    Why(Why),
    Later(DateTime<Utc>, Why),
    Store(StoreError),
}

impl From<StoreError> for Halt {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Why> for Halt {
    fn from(why: Why) -> Self {
        Self::Why(why)
    }
}

impl From<GitHubError> for Halt {
    fn from(error: GitHubError) -> Self {
        match error {
            GitHubError::RateLimited { until } | GitHubError::SecondaryLimited { until } => {
                Self::Later(until, error.why())
            }
            error => Self::Why(error.why()),
        }
    }
}

/// Looks at one merge.
pub(super) async fn one(ctx: &Ctx, row: &LandingRow, stop: &CancellationToken) -> Result<Proof, StoreError> {
    let unread = |why| Proof::Judged { method: None, landed: Landed::Undecided(Unproven::Unread(why)) };
    let asked = tokio::select! {
        asked = ask(ctx, row) => asked,
        () = stop.cancelled() => Err(Halt::Why(Why::new(Cause::NotReadYet, "Steward is closing"))),
    };
    let asked = match asked {
        Ok(asked) => asked,
        Err(Halt::Store(error)) => return Err(error),
        Err(Halt::Why(why)) => return Ok(unread(why)),
        Err(Halt::Later(until, why)) => return Ok(Proof::Later { until, why }),
    };
    let (ctx, row, stop) = (ctx.clone(), row.clone(), stop.clone());
    let task = {
        let (host, name, number) = (row.host.clone(), row.name.clone(), row.number);
        ctx.store.read(move |tx| tasks::find_by_pull(tx, &host, &name, number)).await?
    };
    let place = match &task {
        Some(task) => place_of(&ctx, task).await.ok(),
        None => None,
    };
    let work = tokio::task::spawn_blocking(move || {
        let (git, clones, hosts) = (ctx.git()?, ctx.home.clones(), ctx.hosts());
        // The objects that a checkout lends save a download; without it all are fetched.
        let lent = place.and_then(|place| place.open(&git, &hosts, &clones).ok());
        let clone = match lent {
            Some((_, clone)) => clone,
            None => BareClone::open_alone(&git, &clones, &row.host, &row.name)?,
        };
        let read = read(&clone, &asked, &stop);
        if let Err(GitError::Corrupt { .. }) = &read {
            clone.give_up()?;
        }
        read
    });
    match work.await {
        Ok(Ok(proof)) => Ok(proof),
        Ok(Err(error)) => Ok(unread(error.why())),
        Err(error) => Err(StoreError::Value(format!("a defect of Steward: {error}"))),
    }
}

/// What is to be read by git.
struct Asked {
    line: Line,
    row: LandingRow,
    said: Said,
    /// The base as it is now; `None` when that branch is gone.
    tip: Option<Sha>,
    /// What the base is known to have held before.
    before: Vec<Sha>,
}

async fn ask(ctx: &Ctx, row: &LandingRow) -> Result<Asked, Halt> {
    let open = forge::open(ctx, &row.host, &row.name).await.map_err(|error| error.why())?;
    if let Some(until) = open.reader.reserved() {
        return Err(Halt::Later(until, Why::new(Cause::ForgeFailed, "the rest of this hour is left to you")));
    }
    let (host, name) = (row.host.clone(), row.name.clone());
    let known = ctx.store.read(move |tx| repositories::find(tx, &host, &name)).await?;
    let moved = known.and_then(|known| known.seen?.now_called);
    // Git follows no redirect.
    let name = moved.and_then(|name| RepoName::parse(&name)).unwrap_or_else(|| row.name.clone());
    let said = said(&open.reader, &name, row).await?;
    let tip = match open.reader.branch_tip(&name, &said.base_branch).await {
        Reading::Known { value } => value,
        Reading::Unread { why } => return Err(Halt::Why(why)),
    };
    let before = ctx
        .store
        .write(Durability::Normal, {
            let (row, said) = (row.clone(), said.clone());
            move |tx| {
                landings::said(tx, &row, &said)?;
                let known = row.base.filter(|_| row.base_branch == said.base_branch);
                let landed = landings::newest_before(tx, row.repository, &said.base_branch, said.merged_at)?;
                Ok::<_, StoreError>(known.into_iter().chain(landed).collect())
            }
        })
        .await?;
    Ok(Asked { line: Line { name, ..open.line }, row: row.clone(), said, tip, before })
}

/// What GitHub says of the merge.
async fn said(reader: &Reader, name: &RepoName, row: &LandingRow) -> Result<Said, Halt> {
    use steward_rules::review::facts::PullState;
    let pull = reader.pull(name, row.number).await?.value;
    let merged_at = match (convert::pull_state(&pull)?, pull.merged_at) {
        (PullState::Merged, Some(at)) => at,
        (PullState::Merged | PullState::Open | PullState::Closed, _) => {
            return Err(Why::new(Cause::ForgeFailed, "GitHub does not show it as merged any more").into());
        }
    };
    let landed = pull
        .merge_commit_sha
        .ok_or_else(|| Why::new(Cause::ForgeFailed, "GitHub does not name the landed commit"))?;
    Ok(Said { head: pull.head.sha, landed, base_branch: pull.base.branch, merged_at })
}

/// Fetches what is needed and judges. A failure of git is one of this look as a whole: nothing was seen yet.
fn read(clone: &BareClone, asked: &Asked, stop: &CancellationToken) -> Result<Proof, GitError> {
    let Said { head, landed, base_branch, .. } = &asked.said;
    let mut wanted = vec![Wanted::pull(asked.row.number, head)];
    match &asked.tip {
        Some(tip) => wanted.push(Wanted::branch(base_branch, tip)),
        None => wanted.push(Wanted::commit(landed)),
    }
    clone.fetch(&asked.line, &wanted, &[], stop)?;
    for commit in std::iter::once(landed).chain(&asked.before) {
        if !clone.has_commit(commit)? {
            clone.fetch(&asked.line, &[Wanted::commit(commit)], &[], stop)?;
        }
    }
    let merge = Merge { head, landed, before: &asked.before, tip: asked.tip.as_ref() };
    let facts = git::look(clone, &merge, stop)?;
    let method = facts.place.as_ref().ok().map(|place| place.method.as_str());
    Ok(Proof::Judged { method, landed: landed::judge(&facts) })
}
