//! The database: one file, one writer, many readers; what it promises when things go wrong.

use std::sync::Arc;

use steward_core::clock::{SharedClock, SystemClock};
use steward_core::home::Home;
use steward_core::store::{Durability, Store, StoreError, audit, settings};

pub(crate) fn clock() -> SharedClock {
    Arc::new(SystemClock)
}

pub(crate) fn fresh() -> (tempfile::TempDir, Home) {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::under(folder.path());
    home.create().unwrap();
    (folder, home)
}

#[tokio::test]
async fn what_one_transaction_wrote_the_next_reads_with_its_topic() {
    let (_folder, home) = fresh();
    let store = Store::open(&home, clock()).unwrap();
    let before = store.last_topic().await.unwrap();
    store
        .write(Durability::Full, |tx| {
            settings::set(tx, "pause", "lunch")?;
            tx.topic("status")?;
            tx.topic("status")
        })
        .await
        .unwrap();
    assert_eq!(store.read(|tx| settings::get(tx, "pause")).await.unwrap().as_deref(), Some("lunch"));
    let topics = store.topics_since(before).await.unwrap();
    assert_eq!(topics.names, ["status"]);
    assert!(!topics.gap);
    assert!(store.topics_since(topics.last).await.unwrap().names.is_empty());
}

#[tokio::test]
async fn a_failed_write_leaves_nothing_not_even_its_topic() {
    let (_folder, home) = fresh();
    let store = Store::open(&home, clock()).unwrap();
    let result: Result<(), StoreError> = store
        .write(Durability::Normal, |tx| {
            settings::set(tx, "a", "1")?;
            tx.topic("status")?;
            audit::append(tx, "person", "x", "y", "z")?;
            Err(StoreError::Stopped)
        })
        .await;
    assert!(matches!(result, Err(StoreError::Stopped)));
    assert_eq!(store.read(|tx| settings::get(tx, "a")).await.unwrap(), None);
    assert_eq!(store.last_topic().await.unwrap(), 0);
}
