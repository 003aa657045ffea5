//! Attaching documents and frames to a task.

use std::path::Path;

use steward_rules::ids::{FrameId, Sha, TaskId};
use steward_rules::reading::Reading;
use steward_rules::review::facts::Contract;

use super::documents::{self, DocumentError, FrameDocument};
use super::{Place, TaskError, blocking, checkout_of, get, head_now, place_of};
use crate::frames;
use crate::git::{Git, GitError, Remote, Workspace};
use crate::loops::Ctx;
use crate::store::Durability;
use crate::store::attached::{self, NewFrame};

/// Keeps a frame, stamped with the HEAD of the checkout at this moment; of a pull request without one,
/// with its head. A checkout with uncommitted changes makes it not clean.
pub async fn attach_frame(
    ctx: &Ctx,
    id: TaskId,
    picture: &Path,
    document: FrameDocument,
) -> Result<FrameId, TaskError> {
    documents::frame(&document)?;
    let task = get(ctx, id).await?;
    let place = place_of(ctx, &task).await?;
    // The head of a pull request as GitHub shows it at this moment, for a picture from elsewhere.
    let shown = if place.pull.is_some() { Some(head_now(ctx, id).await?) } else { None };
    let (git, hosts, home, picture) = (ctx.git()?, ctx.hosts(), ctx.home.clone(), picture.to_owned());
    let new = blocking(move || {
        let (sha, clean) = match shown {
            None => in_checkout(&git, &place, &hosts, &picture)?,
            Some(shown) => match beside(&git, &place, &hosts, &picture)? {
                Some(found) => found,
                None => match shown {
                    Reading::Known { value: Some(head) } => (head, true),
                    Reading::Known { value: None } => return Err(no_head(id, "it is gone")),
                    Reading::Unread { why } => return Err(no_head(id, &why.detail)),
                },
            },
        };
        let kept = frames::keep(&home, &picture)?;
        Ok::<_, TaskError>(NewFrame {
            sha,
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

fn no_head(task: TaskId, why: &str) -> TaskError {
    TaskError::NoHead { task, why: why.to_owned() }
}

/// HEAD of the checkout the branch stands in, and whether nothing in it is uncommitted.
fn in_checkout(git: &Git, place: &Place, hosts: &[String], picture: &Path) -> Result<(Sha, bool), TaskError> {
    let path = place.workspace.as_deref().unwrap_or(Path::new(""));
    let workspace = Workspace::open(git, path, hosts)?;
    stamped(&Workspace::open(git, &checkout_of(git, &workspace, &place.branch)?, hosts)?, picture)
}

/// The same of the checkout a pull request's picture lies in, when that is one of its repository.
fn beside(
    git: &Git,
    place: &Place,
    hosts: &[String],
    picture: &Path,
) -> Result<Option<(Sha, bool)>, TaskError> {
    let (Some(folder), Some(pull)) = (picture.parent(), &place.pull) else { return Ok(None) };
    let Ok(checkout) = Workspace::open(git, folder, hosts) else { return Ok(None) };
    match checkout.remote() {
        Remote::GitHub { host, name } if *host == pull.host && *name == pull.name => {
            stamped(&checkout, picture).map(Some)
        }
        Remote::GitHub { .. } | Remote::None | Remote::Path(_) | Remote::Other(_) => Ok(None),
    }
}

fn stamped(checkout: &Workspace, picture: &Path) -> Result<(Sha, bool), TaskError> {
    let head = checkout
        .head()?
        .ok_or_else(|| TaskError::Git(GitError::Empty { path: checkout.root().to_owned() }))?;
    // A picture that lies about untracked is no change of the work it shows.
    Ok((head.sha, !checkout.is_dirty_beside(picture)?))
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
