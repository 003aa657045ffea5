//! How pull requests stand to their base since that moved: counted in our own clone, after one fetch.

use std::collections::BTreeMap;

use steward_rules::engine::facts::Compare;
use steward_rules::ids::{PullNumber, Sha};
use steward_rules::reading::{Cause, Reading};
use tokio_util::sync::CancellationToken;

use super::place::Watched;
use crate::git::{BareClone, GitError, Wanted, compare};
use crate::loops::{Ctx, forge};
use crate::store::StoreError;

/// Compares these heads with the base. What cannot be counted is unread. When nothing can be fetched there is no
/// answer at all: what was known of the base before stands, and it is asked again in the next tick.
pub(super) async fn compared(
    ctx: &Ctx,
    place: &Watched,
    base: &Sha,
    heads: &[(PullNumber, Sha)],
    stop: &CancellationToken,
) -> Result<BTreeMap<PullNumber, Reading<Compare>>, StoreError> {
    let Ok(open) = forge::open(ctx, &place.host, &place.name).await else { return Ok(BTreeMap::new()) };
    let (context, place, base, wanted) = (ctx.clone(), place.clone(), base.clone(), heads.to_vec());
    let stop = stop.clone();
    let work = tokio::task::spawn_blocking(move || -> Result<_, GitError> {
        let git = context.git()?;
        let clone = BareClone::open_alone(&git, &context.home.clones(), &place.host, &place.name)?;
        let mut refs = Vec::new();
        for (number, head) in &wanted {
            if !clone.has_commit(head)? {
                refs.push(Wanted::pull(*number, head));
            }
        }
        refs.push(match &place.policy.base {
            Some(branch) => Wanted::branch(branch, &base),
            None => Wanted::commit(&base),
        });
        if let Err(error) = clone.fetch(&open.line, &refs, &[], &stop) {
            // It moved on since the look: that commit is there all the same.
            tracing::debug!(%error, "the base is fetched by its commit");
            refs.pop();
            refs.push(Wanted::commit(&base));
            clone.fetch(&open.line, &refs, &[], &stop)?;
        }
        let one = |head| match compare::standing(&clone, &base, head, &stop) {
            Ok(Some(found)) => Reading::known(Compare {
                behind_by: found.behind_by,
                ahead_by: found.ahead_by,
                merge_base: found.merge_base,
            }),
            Ok(None) => Reading::unread(Cause::NoBase, "the head and the base share no history"),
            Err(error) => Err(error.why()).into(),
        };
        Ok(wanted.iter().map(|(number, head)| (*number, one(head))).collect())
    });
    match work.await {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(error)) => {
            tracing::info!(%error, "heads are not compared with their base");
            Ok(BTreeMap::new())
        }
        Err(error) => Err(StoreError::Value(format!("a defect of Steward: {error}"))),
    }
}
