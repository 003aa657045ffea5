//! The first phase: read the facts, compute the gates, write the digest, export what the seat reads.

use steward_rules::ids::ReviewId;
use steward_rules::review::coverage::Manifest;
use steward_rules::review::findings::{Finding, FindingMark};
use steward_rules::review::gate::GateTable;
use steward_rules::review::gate::ci::ci_fingerprint;

use super::drive::{DriveError, Ended};
use super::observe::{Observed, observe};
use super::stop::Stop;
use super::{digest, folders};
use crate::agent::SeatFolders;
use crate::frames;
use crate::git::export;
use crate::loops::task::{self, TaskError, blocking};
use crate::loops::{Ctx, failpoint};
use crate::store::reviews::{Digested, ReviewRecord};
use crate::store::{Durability, StoreError, findings, gates, reviews, steps};

/// Everything the seat is started with, and what its answer is held against.
pub(super) struct Prepared {
    pub review: ReviewRecord,
    pub observed: Observed,
    pub table: GateTable,
    pub folders: SeatFolders,
    pub export: export::Manifest,
    pub digest: Vec<u8>,
    pub manifest: Manifest,
    pub earlier: Vec<Finding>,
    pub marks: Vec<FindingMark>,
}

/// Makes the digest of a review that is digesting. The inner error ends the review.
pub(super) async fn digest(
    ctx: &Ctx,
    id: ReviewId,
    stop: &Stop,
) -> Result<Result<Prepared, Ended>, DriveError> {
    let Some(review) = ctx.store.read(move |tx| reviews::get(tx, id)).await? else {
        return Ok(Err(Ended::crashed("the review is gone")));
    };
    let task = match task::refresh(ctx, review.task).await {
        Ok(task) => task,
        Err(error) => return Ok(Err(failed(error)?)),
    };
    let observed = match observe(ctx, &task, &review.sha, stop.token()).await {
        Ok(observed) => observed,
        Err(error) => {
            let failed = failed(error)?;
            return Ok(Err(Ended::stopped(stop).unwrap_or(failed)));
        }
    };
    if let Some(stopped) = Ended::stopped(stop) {
        return Ok(Err(stopped));
    }
    if let Err(why) = observed.diff() {
        return Ok(Err(Ended::crashed(format!("the change cannot be read: {}", why.detail))));
    }
    let table = observed.judge(ctx.clock.now());
    let task_id = task.id;
    let (earlier, marks) = ctx
        .store
        .read(move |tx| {
            Ok::<_, StoreError>((findings::earlier(tx, task_id, id)?, findings::marks(tx, task_id)?))
        })
        .await?;
    let input = digest::Input {
        review: id,
        task: &task,
        observed: &observed,
        table: &table,
        earlier: &earlier,
        marks: &marks,
    };
    let made = match digest::build(&input) {
        Ok(made) => made,
        Err(error) => return Ok(Err(Ended::crashed(format!("the digest cannot be written: {error}")))),
    };
    let folders = folders::of(&ctx.home, id);
    let (json, home) = (made.json.clone(), ctx.home.clone());
    let token = stop.token().clone();
    let written = blocking(move || {
        Ok::<_, TaskError>(write(&home, id, &observed, &json, &token).map(|export| (observed, export)))
    })
    .await?;
    let (observed, export) = match written {
        Ok(written) => written,
        Err(detail) => {
            return Ok(Err(Ended::stopped(stop).unwrap_or_else(|| Ended::crashed(detail))));
        }
    };
    failpoint::reach("exported");
    let record = Digested {
        base_branch: observed.base().ok().map(|base| base.branch.clone()),
        base_tip: observed.base().ok().map(|base| base.tip.clone()),
        merge_base: observed.base().ok().map(|base| base.merge_base.clone()),
        contract_version: observed.evidence.contract.as_ref().map(|contract| contract.version),
        ci_fingerprint: ci_fingerprint(&observed.evidence),
        digest_hash: made.hash.clone(),
        stats: observed.stats(),
    };
    let kept = table.clone();
    let recorded = ctx
        .store
        .write(Durability::Normal, move |tx| {
            if !reviews::record_digest(tx, id, &record)? {
                return Ok(false);
            }
            gates::record(tx, id, &kept)?;
            steps::add(tx, id, "state", "the digest is written")?;
            Ok::<_, StoreError>(true)
        })
        .await?;
    if !recorded {
        return Ok(Err(Ended::crashed("the review went on without this run")));
    }
    Ok(Ok(Prepared {
        review,
        observed,
        table,
        folders,
        export,
        digest: made.json,
        manifest: made.manifest,
        earlier,
        marks,
    }))
}

/// A fault of the store is ours; anything else ends the review with its words.
pub(super) fn failed(error: TaskError) -> Result<Ended, DriveError> {
    match error {
        TaskError::Store(error) => Err(error.into()),
        other => Ok(Ended::crashed(other.to_string())),
    }
}

fn write(
    home: &crate::home::Home,
    id: ReviewId,
    observed: &Observed,
    digest: &[u8],
    cancel: &tokio_util::sync::CancellationToken,
) -> Result<export::Manifest, String> {
    folders::remove(home, id);
    let folders = folders::of(home, id);
    let diff = observed.diff().ok();
    let manifest = export::tree(
        &observed.clone,
        &observed.evidence.head,
        diff,
        &folders.review,
        export::Caps::default(),
        cancel,
    )
    .map_err(|error| error.to_string())?;
    let words = |error: std::io::Error| format!("the seat's folders cannot be made: {error}");
    folders.create().map_err(words)?;
    for row in &observed.frames {
        let png = frames::picture(home, &row.file).map_err(|error| error.to_string())?;
        std::fs::write(folders.frames().join(format!("{}.png", row.frame.id)), png).map_err(words)?;
    }
    crate::config::write_private(&folders.digest, digest).map_err(words)?;
    Ok(manifest)
}
