//! The inbox through the API: what is counted, and what an undo takes back.

use steward_core::api::error::ErrorCode;
use steward_core::api::requests::{InboxAction, InboxFilter, InboxList, InboxMark, InboxUndo};
use steward_core::api::views::{EntryKind, InboxPage};
use steward_core::api::{Api, inbox as api};
use steward_core::store::inbox::{self, Kind, NewEntry};
use steward_core::store::{Durability, Store};
use steward_rules::caller::Caller;

use crate::store::fresh;

struct Desk {
    _folder: tempfile::TempDir,
    api: Api,
    store: Store,
}

impl Desk {
    async fn new() -> Self {
        let (folder, home) = fresh();
        let api = Api::open(&home, Caller::Person).await.unwrap();
        let store = api.context().store.clone();
        Self { _folder: folder, api, store }
    }

    async fn put(&self, kind: Kind, title: &str) -> i64 {
        let new = NewEntry {
            kind,
            subject: format!("task:{title}"),
            target: format!("thing/{title}"),
            title: title.to_owned(),
            source: "octo/app".to_owned(),
            chip: "CHANGES".to_owned(),
        };
        self.store.write(Durability::Normal, move |tx| inbox::upsert(tx, &new)).await.unwrap().0
    }

    async fn mark(&self, id: i64, action: InboxAction) -> Option<i64> {
        api::mark(&self.api, InboxMark { id, action }).await.unwrap().step
    }

    async fn undo(&self, step: i64) -> Result<Option<String>, String> {
        let undone = api::undo(&self.api, InboxUndo { id: None, step: Some(step) }).await;
        undone.map(|undone| undone.what).map_err(|error| {
            assert_eq!(error.code, ErrorCode::Refused);
            error.message
        })
    }

    async fn list(&self, filter: InboxFilter, query: Option<&str>) -> InboxPage {
        let query = query.map(str::to_owned);
        api::list(&self.api, InboxList { filter, query, limit: 2, after: None }).await.unwrap()
    }

    /// Place, read and saved of an entry.
    async fn stands(&self, id: i64) -> (String, bool, bool) {
        let entry = api::get(&self.api, steward_core::api::requests::ById { id }).await.unwrap();
        (entry.state, entry.read, entry.saved)
    }
}

fn stands(state: &str, read: bool, saved: bool) -> (String, bool, bool) {
    (state.to_owned(), read, saved)
}

#[tokio::test]
async fn an_undo_takes_back_its_own_step_alone() {
    let desk = Desk::new().await;
    let (open, done) = (desk.put(Kind::Review, "a").await, desk.put(Kind::Review, "b").await);
    desk.mark(done, InboxAction::Done).await.unwrap();
    // Both are marked done together: nothing changes in one, so it has nothing to take back.
    let step = desk.mark(open, InboxAction::Done).await.unwrap();
    assert_eq!(desk.mark(done, InboxAction::Done).await, None);
    assert_eq!(desk.undo(step).await, Ok(Some("done".to_owned())));
    assert_eq!(desk.stands(open).await, stands("open", false, false));
    assert_eq!(desk.stands(done).await, stands("done", true, false));
    assert!(desk.undo(step).await.unwrap_err().contains("already"));
    assert!(desk.undo(9999).await.is_err());
}

#[tokio::test]
async fn an_undo_is_refused_where_a_newer_step_moved_the_same_and_keeps_what_else_was_done_since() {
    let desk = Desk::new().await;
    let id = desk.put(Kind::Review, "a").await;
    let saved = desk.mark(id, InboxAction::Save).await.unwrap();
    desk.mark(id, InboxAction::Read).await.unwrap();
    assert_eq!(desk.undo(saved).await, Ok(Some("saved".to_owned())));
    assert_eq!(desk.stands(id).await, stands("open", true, false), "that it was read stays");
    let done = desk.mark(id, InboxAction::Done).await.unwrap();
    let back = desk.mark(id, InboxAction::Reopen).await.unwrap();
    assert!(desk.undo(done).await.unwrap_err().contains("reopened"));
    assert_eq!(desk.stands(id).await, stands("open", true, false));
    assert_eq!(desk.undo(back).await, Ok(Some("reopened".to_owned())));
    assert_eq!(desk.undo(done).await, Ok(Some("done".to_owned())));
    // Without a step, the newest of an entry or of all, as `steward inbox undo` asks.
    let newest = api::undo(&desk.api, InboxUndo { id: Some(id), step: None }).await.unwrap();
    assert_eq!(newest.what.as_deref(), Some("read"));
    let none = api::undo(&desk.api, InboxUndo { id: None, step: None }).await.unwrap();
    assert!(none.what.is_none() && none.entry.is_none());
    let both = api::undo(&desk.api, InboxUndo { id: Some(id), step: Some(done) }).await.unwrap_err();
    assert_eq!(both.code, ErrorCode::BadRequest);
}

#[tokio::test]
async fn a_list_counts_its_own_shelf_as_far_as_the_search_finds_it() {
    let desk = Desk::new().await;
    for title in ["one", "two", "three"] {
        desk.put(Kind::Review, title).await;
    }
    desk.put(Kind::Question, "four").await;
    let (kept, past) = (desk.put(Kind::Incident, "five").await, desk.put(Kind::Incident, "six").await);
    for id in [kept, past] {
        desk.mark(id, InboxAction::Done).await.unwrap();
    }
    desk.mark(kept, InboxAction::Save).await.unwrap();
    let kinds = |page: &InboxPage| -> Vec<(EntryKind, u32)> {
        page.kinds.iter().map(|one| (one.kind, one.total)).filter(|one| one.1 > 0).collect()
    };
    let open = desk.list(InboxFilter::Open, None).await;
    assert_eq!((open.total, open.unread, open.more), (4, 4, true), "more than the page holds");
    let mut found = kinds(&open);
    found.sort_by_key(|one| one.1);
    assert_eq!(found, [(EntryKind::Question, 1), (EntryKind::Review, 3)]);
    let done = desk.list(InboxFilter::Done, None).await;
    assert_eq!((done.total, done.unread, done.saved), (2, 0, 1));
    assert_eq!(desk.list(InboxFilter::Saved, None).await.total, 1, "not the open ones");
    assert_eq!(desk.list(InboxFilter::Snoozed, None).await.total, 0);
    // A search is counted by what it finds.
    for filter in [InboxFilter::Open, InboxFilter::Done, InboxFilter::Saved] {
        assert_eq!(desk.list(filter, Some("nowhere")).await.total, 0);
    }
    let hit = desk.list(InboxFilter::Open, Some("t")).await;
    assert_eq!((hit.total, kinds(&hit)), (4, kinds(&open)), "`octo` has the letter");
    assert_eq!(desk.list(InboxFilter::Open, Some("three")).await.total, 1);
    assert_eq!(desk.list(InboxFilter::Done, Some("six")).await.saved, 0);
}
