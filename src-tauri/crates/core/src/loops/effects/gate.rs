//! The merge gate's word just before a merge: the pull request is read whole twice, and only the second reading
//! gives leave (engine.md 4.1, 8).

use chrono::{DateTime, Utc};
use steward_rules::engine::decision::Decision;
use steward_rules::engine::memory::Memory;
use steward_rules::engine::merge::{MergePermit, assess, reread};
use steward_rules::ids::{PullNumber, RepoName};
use steward_rules::untrusted::Untrusted;

use super::{look, powers};
use crate::loops::Ctx;
use crate::loops::engine::memory;
use crate::loops::engine::reading::{self, Place, ReadFault};
use crate::store::StoreError;
use crate::store::effects::{EffectRow, State, Why};
use crate::store::repositories;

/// What the gate says.
pub(super) enum Pass {
    Permit(MergePermit),
    /// It does not go out: not ready, and the next tick decides anew, or a fault of the configuration.
    Not(State, Why),
    /// It could not be read.
    Later(Why, DateTime<Utc>),
}

/// Asks the gate about the pull request of a merge.
pub(super) async fn pass(ctx: &Ctx, row: &EffectRow) -> Result<Pass, StoreError> {
    let not = |slug: &str, detail: String| {
        Pass::Not(State::Obsolete, Why::new(slug, Untrusted::new(detail).one_line(300)))
    };
    let (Some(repo), Some(number)) = (RepoName::parse(&row.repository), row.number.map(PullNumber)) else {
        return Ok(not("unreadable", "the journal's row names no pull request".to_owned()));
    };
    let Some(place) = place(ctx, &row.host, &repo).await? else {
        return Ok(not("not_ready", "the repository is not known yet".to_owned()));
    };
    let first = match reading::pull(ctx, &place, number).await {
        Ok(first) => first,
        Err(fault) => return unread(ctx, fault),
    };
    let known = remembered(ctx, &place, number).await?;
    let ready = match assess(&first, &known, &place.policy, ctx.clock.now()) {
        Decision::Merge(ready) => ready,
        other => return Ok(not("not_ready", other.message())),
    };
    let second = match reading::pull(ctx, &place, number).await {
        Ok(second) => second,
        Err(fault) => return unread(ctx, fault),
    };
    let known = remembered(ctx, &place, number).await?;
    Ok(match reread(ready, &second, &known, &place.policy, ctx.clock.now()) {
        Ok(permit) => Pass::Permit(permit),
        Err(Decision::Merge(_)) => {
            let why = Why::new("unread", "the second reading is not newer than the first");
            Pass::Later(why, ctx.clock.now() + look::SOON)
        }
        Err(other) => not("not_ready", other.message()),
    })
}

async fn place(ctx: &Ctx, host: &str, repo: &RepoName) -> Result<Option<Place>, StoreError> {
    let (config, host, repo) = (ctx.config(), host.to_owned(), repo.clone());
    ctx.store
        .read(move |tx| {
            let policy = match config.repository(&repo) {
                Some(repository) => powers::read(tx, &config)?.policy(&host, repository),
                None => return Ok(None),
            };
            let known = repositories::find(tx, &host, &repo)?;
            Ok::<_, StoreError>(known.map(|known| Place { host, repo, repository_id: known.id, policy }))
        })
        .await
}

async fn remembered(ctx: &Ctx, place: &Place, number: PullNumber) -> Result<Memory, StoreError> {
    let place = place.clone();
    ctx.store.read(move |tx| memory::of_pull(tx, &place.policy, &place.host, &place.repo, number)).await
}

fn unread(ctx: &Ctx, fault: ReadFault) -> Result<Pass, StoreError> {
    let now = ctx.clock.now();
    let why = Why::new(fault.slug(), fault.to_string());
    Ok(match fault {
        ReadFault::Store(error) => return Err(error),
        fault if fault.is_config() => {
            Pass::Not(State::Failed, Why { slug: "config_fault".to_owned(), ..why })
        }
        fault => Pass::Later(why, fault.limited_until().unwrap_or(now + look::SOON)),
    })
}
