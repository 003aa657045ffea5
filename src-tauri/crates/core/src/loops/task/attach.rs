//! Attaching documents and frames to a task.

use std::path::Path;

use steward_rules::ids::{FrameId, TaskId};
use steward_rules::review::facts::Contract;

use super::documents::{self, DocumentError, FrameDocument};
use super::{TaskError, blocking, checkout_of, get, place_of};
use crate::frames;
use crate::git::{GitError, Workspace};
use crate::loops::Ctx;
use crate::store::Durability;
use crate::store::attached::{self, NewFrame};

/// Keeps a frame, stamped with the HEAD of the checkout at this moment. A checkout with uncommitted
/// changes makes it not clean.
pub async fn attach_frame(
    ctx: &Ctx,
    id: TaskId,
    picture: &Path,
    document: FrameDocument,
) -> Result<FrameId, TaskError> {
    documents::frame(&document)?;
    let task = get(ctx, id).await?;
    let place = place_of(ctx, &task)?;
    let (git, hosts, home, picture) = (ctx.git()?, ctx.hosts(), ctx.home.clone(), picture.to_owned());
    let new = blocking(move || {
        let workspace = Workspace::open(&git, &place.path, &hosts)?;
        let checkout = Workspace::open(&git, &checkout_of(&git, &workspace, &place.branch)?, &hosts)?;
        let head = checkout
            .head()?
            .ok_or_else(|| TaskError::Git(GitError::Empty { path: checkout.root().to_owned() }))?;
        // A picture that lies about untracked is no change of the work it shows.
        let clean = !checkout.is_dirty_beside(&picture)?;
        let kept = frames::keep(&home, &picture)?;
        Ok::<_, TaskError>(NewFrame {
            sha: head.sha,
            clean,
            width: document.width,
            theme: document.theme,
            scale: document.scale,
            route: document.route,
            file: kept.file,
            image_hash: kept.image_hash,
            pixels: Some(kept.pixels),
        })
    })
    .await?;
    Ok(ctx.store.write(Durability::Full, move |tx| attached::add_frame(tx, id, &new)).await?)
}

/// Keeps a Peer's handoff.
pub async fn attach_handoff(ctx: &Ctx, id: TaskId, text: &str) -> Result<(), TaskError> {
    let (peer, status, body) = documents::handoff(text)?;
    get(ctx, id).await?;
    ctx.store.write(Durability::Full, move |tx| attached::add_handoff(tx, id, &peer, status, &body)).await?;
    Ok(())
}

/// Keeps a validator's verdict. It must speak of a contract version there is.
pub async fn attach_validator(ctx: &Ctx, id: TaskId, text: &str) -> Result<(), TaskError> {
    let said = documents::validator(text)?;
    get(ctx, id).await?;
    ctx.store
        .write(Durability::Full, move |tx| {
            let newest = attached::contract_version(tx, id)?;
            if newest.is_none_or(|newest| said.contract_version > newest) {
                let message = match newest {
                    Some(newest) => format!("the newest version is {newest}"),
                    None => "the task has no contract; attach it first".to_owned(),
                };
                return Err(TaskError::Document(DocumentError::Field {
                    field: "contractVersion".to_owned(),
                    message,
                }));
            }
            attached::add_validator(tx, id, said.contract_version, &said.sha, said.verdict, &said.body)?;
            Ok(())
        })
        .await
}

/// Keeps a contract as the task's next version; the same contract again is no new version.
pub async fn attach_contract(ctx: &Ctx, id: TaskId, text: &str) -> Result<Contract, TaskError> {
    let body = documents::contract(text)?;
    get(ctx, id).await?;
    Ok(ctx.store.write(Durability::Full, move |tx| attached::add_contract(tx, id, &body)).await?)
}
