//! What the client keeps in the database, and how little of it.

use steward_core::store::http_cache::{self, Cached, MAX_BODY};
use steward_core::store::{Durability, StoreError};

use super::Desk;

fn body(length: usize) -> Cached {
    Cached { etag: "\"1\"".to_owned(), link: None, body: vec![b' '; length] }
}

async fn keep(desk: &Desk, url: &'static str, length: usize) {
    let kept =
        desk.store.write(Durability::Normal, move |tx| http_cache::keep(tx, "a@h", url, &body(length)));
    kept.await.unwrap();
    desk.hand.pass(chrono::Duration::seconds(1));
}

async fn held(desk: &Desk, url: &'static str) -> bool {
    desk.store.read(move |tx| http_cache::find(tx, "a@h", url)).await.unwrap().is_some()
}

#[tokio::test]
async fn what_was_confirmed_longest_ago_makes_room() {
    let desk = Desk::new();
    for url in ["/1", "/2", "/3"] {
        keep(&desk, url, 1000).await;
    }
    let confirmed = desk.store.write(Durability::Normal, |tx| http_cache::confirm(tx, "a@h", "/1"));
    confirmed.await.unwrap();
    let shrink = |total| desk.store.write(Durability::Normal, move |tx| http_cache::shrink(tx, total));
    assert_eq!(shrink(3000).await.unwrap(), 0);
    assert_eq!(shrink(2500).await.unwrap(), 1);
    assert_eq!(
        (held(&desk, "/1").await, held(&desk, "/2").await, held(&desk, "/3").await),
        (true, false, true)
    );
}

#[tokio::test]
async fn a_body_that_is_too_long_is_not_kept_and_takes_the_old_one_away() {
    let desk = Desk::new();
    keep(&desk, "/1", MAX_BODY).await;
    assert!(held(&desk, "/1").await);
    keep(&desk, "/1", MAX_BODY + 1).await;
    assert!(!held(&desk, "/1").await);
}

#[tokio::test]
async fn signing_out_forgets_one_account_and_no_other() {
    let desk = Desk::new();
    keep(&desk, "/1", 10).await;
    let other = desk.store.write(Durability::Normal, |tx| http_cache::keep(tx, "b@h", "/1", &body(10)));
    other.await.unwrap();
    let gone = desk.store.write(Durability::Full, |tx| http_cache::forget_account(tx, "b@h"));
    assert_eq!(gone.await.unwrap(), 1);
    assert!(held(&desk, "/1").await);
    let missing: Result<_, StoreError> = desk.store.read(|tx| http_cache::find(tx, "b@h", "/1")).await;
    assert_eq!(missing.unwrap(), None);
}
