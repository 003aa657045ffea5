//! The inbox: what wants the person.

use steward_rules::ids::{EntryId, ReviewId};

use super::error::{ApiError, ErrorCode};
use super::requests::{ById, InboxAction, InboxFilter, InboxList, InboxMark, InboxUndo};
use super::views::{EntryView, InboxPage, KindCount, MarkView, UndoView};
use super::{Api, convert, look};
use crate::loops::effects as loops;
use crate::store::inbox::{self, Act, EntryRow, Shelf, Undone, Which};
use crate::store::{Durability, StoreError, reviews};

/// Pages are never larger.
const PAGE: u32 = 500;

pub async fn list(api: &Api, request: InboxList) -> Result<InboxPage, ApiError> {
    let limit = request.limit.clamp(1, PAGE);
    // Questions stand before the rest of what is open and are counted with it.
    let (shelf, counted) = match request.filter {
        InboxFilter::Open => (Shelf::Rest, Shelf::Open),
        InboxFilter::Snoozed => (Shelf::Snoozed, Shelf::Snoozed),
        InboxFilter::Saved => (Shelf::Saved, Shelf::Saved),
        InboxFilter::Done => (Shelf::Done, Shelf::Done),
    };
    let after = request.after.map(EntryId);
    let query = request.query;
    let read = |query: Option<String>| {
        api.store().read(move |tx| -> Result<_, StoreError> {
            // Questions stand first, oldest first, on the first page.
            let first = shelf == Shelf::Rest && after.is_none();
            let asked = if first { inbox::questions(tx, query.as_deref(), PAGE)? } else { Vec::new() };
            let rows = inbox::page(tx, shelf, query.as_deref(), after, limit)?;
            Ok((asked, rows, inbox::tally(tx, counted, query.as_deref())?))
        })
    };
    let (_, rows, _) = read(query.clone()).await?;
    let shown: Vec<ReviewId> = rows.iter().filter_map(review_of).collect();
    let reviews = api
        .store()
        .read(move |tx| shown.iter().map(|id| reviews::get(tx, *id)).collect::<Result<Vec<_>, StoreError>>())
        .await?;
    look::again(api, &reviews.into_iter().flatten().collect::<Vec<_>>()).await;
    let (asked, mut rows, tally) = read(query).await?;
    let more = rows.len() > limit as usize;
    rows.truncate(limit as usize);
    Ok(InboxPage {
        entries: asked.iter().chain(&rows).map(convert::entry).collect(),
        total: tally.iter().map(|one| one.total).sum(),
        unread: tally.iter().map(|one| one.unread).sum(),
        saved: tally.iter().filter(|one| one.saved).map(|one| one.total).sum(),
        kinds: tally
            .iter()
            .map(|one| KindCount { kind: convert::entry_kind(one.kind), total: one.total })
            .collect(),
        more,
    })
}

pub async fn get(api: &Api, request: ById) -> Result<EntryView, ApiError> {
    let id = request.id;
    let row = api.store().read(move |tx| inbox::get(tx, EntryId(id))).await?;
    row.as_ref().map(convert::entry).ok_or_else(|| missing(id))
}

pub async fn mark(api: &Api, request: InboxMark) -> Result<MarkView, ApiError> {
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
    let marked = api.store().write(Durability::Full, move |tx| inbox::mark(tx, EntryId(id), act)).await?;
    let (row, step) = marked.ok_or_else(|| missing(id))?;
    Ok(MarkView { entry: convert::entry(&row), step })
}

/// Takes back a step. A no to what would be sent is a person's to take back, as it was theirs to say.
pub async fn undo(api: &Api, request: InboxUndo) -> Result<UndoView, ApiError> {
    let which = match (request.step, request.id) {
        (Some(_), Some(_)) => {
            return Err(ApiError::new(
                ErrorCode::BadRequest,
                "either a step or an entry is undone, not both",
            ));
        }
        (Some(step), None) => Which::Step(step),
        (None, Some(id)) => Which::Of(EntryId(id)),
        (None, None) => Which::Newest,
    };
    let is_person = api.is_person();
    let undone = api
        .store()
        .write(Durability::Full, move |tx| {
            loop {
                let undone = inbox::undo(tx, which)?;
                let Undone::Back { entry, what, was_no: true } = undone else { return Ok(undone) };
                if !is_person {
                    return Err(ApiError::new(
                        ErrorCode::NotAPerson,
                        "only a person can take back that something was turned down",
                    )
                    .hint("run it in a terminal of your own, or use the app"));
                }
                if loops::restore(tx, &entry.target)? {
                    let entry = inbox::get(tx, entry.id)?.map_or(entry, Box::new);
                    return Ok(Undone::Back { entry, what, was_no: true });
                }
                // The no is past: something else was wanted in the meantime.
                if which != Which::Newest {
                    return Ok(Undone::Nothing);
                }
            }
        })
        .await?;
    let refused = |message: String| Err(ApiError::new(ErrorCode::Refused, message));
    match undone {
        Undone::Back { entry, what, .. } => {
            Ok(UndoView { entry: Some(convert::entry(&entry)), what: Some(what.to_owned()) })
        }
        Undone::Newer(what) => refused(format!("it was changed again since ({what}); undo that first")),
        Undone::Nothing if matches!(which, Which::Step(_)) => {
            refused("it was taken back already, or what it was about is over".to_owned())
        }
        Undone::Nothing => Ok(UndoView { entry: None, what: None }),
    }
}

/// The review that an entry opens.
fn review_of(entry: &EntryRow) -> Option<ReviewId> {
    entry.target.strip_prefix("review/")?.parse().ok().map(ReviewId)
}

fn missing(id: i64) -> ApiError {
    ApiError::new(ErrorCode::NotFound, format!("there is no inbox entry {id}"))
        .hint("`steward inbox` lists them")
}
