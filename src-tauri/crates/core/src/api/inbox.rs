//! The inbox: what wants the person.

use steward_rules::ids::{EntryId, ReviewId};

use super::error::{ApiError, ErrorCode};
use super::requests::{ById, InboxAction, InboxFilter, InboxList, InboxMark, InboxUndo};
use super::views::{EntryView, InboxPage, UndoView};
use super::{Api, convert, look};
use crate::store::inbox::{self, Act, EntryRow, EntryState, Shelf};
use crate::store::{Durability, StoreError, reviews};

/// Pages are never larger.
const PAGE: u32 = 500;

pub async fn list(api: &Api, request: InboxList) -> Result<InboxPage, ApiError> {
    let limit = request.limit.clamp(1, PAGE);
    let (shelf, state) = match request.filter {
        InboxFilter::Open => (Shelf::Rest, EntryState::Open),
        InboxFilter::Snoozed => (Shelf::Snoozed, EntryState::Snoozed),
        InboxFilter::Saved => (Shelf::Saved, EntryState::Open),
        InboxFilter::Done => (Shelf::Done, EntryState::Done),
    };
    let after = request.after.map(EntryId);
    let query = request.query;
    let read = |query: Option<String>| {
        api.store().read(move |tx| -> Result<_, StoreError> {
            // Questions stand first, oldest first, on the first page.
            let first = shelf == Shelf::Rest && after.is_none();
            let asked = if first { inbox::questions(tx, query.as_deref(), PAGE)? } else { Vec::new() };
            let rows = inbox::page(tx, shelf, query.as_deref(), after, limit)?;
            Ok((asked, rows, inbox::counts(tx, state)?))
        })
    };
    let (_, rows, _) = read(query.clone()).await?;
    let shown: Vec<ReviewId> = rows.iter().filter_map(review_of).collect();
    let reviews = api
        .store()
        .read(move |tx| shown.iter().map(|id| reviews::get(tx, *id)).collect::<Result<Vec<_>, StoreError>>())
        .await?;
    look::again(api, &reviews.into_iter().flatten().collect::<Vec<_>>()).await;
    let (asked, mut rows, counts) = read(query).await?;
    let more = rows.len() > limit as usize;
    rows.truncate(limit as usize);
    Ok(InboxPage {
        entries: asked.iter().chain(&rows).map(convert::entry).collect(),
        total: counts.total,
        unread: counts.unread,
        more,
    })
}

pub async fn get(api: &Api, request: ById) -> Result<EntryView, ApiError> {
    let id = request.id;
    let row = api.store().read(move |tx| inbox::get(tx, EntryId(id))).await?;
    row.as_ref().map(convert::entry).ok_or_else(|| missing(id))
}

pub async fn mark(api: &Api, request: InboxMark) -> Result<EntryView, ApiError> {
    let id = request.id;
    let act = match request.action {
        InboxAction::Done => Act::Done,
        InboxAction::Reopen => Act::Reopen,
        InboxAction::Read => Act::Read,
        InboxAction::Unread => Act::Unread,
        InboxAction::Save => Act::Save,
        InboxAction::Unsave => Act::Unsave,
        InboxAction::Snooze { until } => {
            if until <= api.now() {
                return Err(ApiError::new(ErrorCode::BadRequest, "a snooze ends in the future"));
            }
            Act::Snooze { until }
        }
    };
    let row = api.store().write(Durability::Full, move |tx| inbox::mark(tx, EntryId(id), act)).await?;
    row.as_ref().map(convert::entry).ok_or_else(|| missing(id))
}

pub async fn undo(api: &Api, request: InboxUndo) -> Result<UndoView, ApiError> {
    let id = request.id.map(EntryId);
    let undone = api.store().write(Durability::Full, move |tx| inbox::undo(tx, id)).await?;
    Ok(match undone {
        Some((row, what)) => UndoView { entry: Some(convert::entry(&row)), what: Some(what) },
        None => UndoView { entry: None, what: None },
    })
}

/// The review that an entry opens.
fn review_of(entry: &EntryRow) -> Option<ReviewId> {
    entry.target.strip_prefix("review/")?.parse().ok().map(ReviewId)
}

fn missing(id: i64) -> ApiError {
    ApiError::new(ErrorCode::NotFound, format!("there is no inbox entry {id}"))
        .hint("`steward inbox` lists them")
}
