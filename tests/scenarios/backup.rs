//! Copies of the database, the way back, and what happens when the file is damaged.

use std::path::Path;

use rstest::rstest;
use steward_core::home::Home;
use steward_core::store::backup::{self, Why};
use steward_core::store::doctor::{Check, CheckState};
use steward_core::store::health::QuickCheck;
use steward_core::store::{Durability, Mode, OpenOptions, Store, StoreError, migrate, settings};

use crate::store::{Hand, beside, clock, fresh};

async fn set(store: &Store, value: &str) {
    let value = value.to_owned();
    store.write(Durability::Full, move |tx| settings::set(tx, "value", &value)).await.unwrap();
}

async fn get(store: &Store) -> Option<String> {
    store.read(|tx| settings::get(tx, "value")).await.unwrap()
}

fn now() -> chrono::DateTime<chrono::Utc> {
    chrono::Utc::now()
}

#[tokio::test]
async fn a_restore_brings_the_copy_back_and_keeps_what_it_replaces() {
    let (folder, home) = fresh();
    let copy = folder.path().join("mine.db");
    let store = Store::open(&home, clock()).unwrap();
    set(&store, "before").await;
    store.backup(&copy).await.unwrap();
    backup::verify(&copy).unwrap();
    set(&store, "after").await;
    drop(store);
    let restored = backup::restore(&home, &copy, now()).unwrap();
    let store = Store::open(&home, clock()).unwrap();
    assert_eq!(get(&store).await.as_deref(), Some("before"));
    let aside = rusqlite::Connection::open(restored.aside.unwrap()).unwrap();
    let kept: String =
        aside.query_row("SELECT value FROM settings WHERE key = 'value'", [], |row| row.get(0)).unwrap();
    assert_eq!(kept, "after");
}

#[tokio::test]
async fn a_restore_is_refused_while_the_database_is_open() {
    let (folder, home) = fresh();
    let copy = folder.path().join("mine.db");
    let store = Store::open(&home, clock()).unwrap();
    store.backup(&copy).await.unwrap();
    set(&store, "after").await;
    assert!(matches!(backup::restore(&home, &copy, now()), Err(StoreError::InUse)));
    assert_eq!(get(&store).await.as_deref(), Some("after"));
    drop(store);
    backup::restore(&home, &copy, now()).unwrap();
}

#[tokio::test]
async fn a_copy_that_is_not_what_was_written_is_refused_and_nothing_changes() {
    let (folder, home) = fresh();
    let copy = folder.path().join("mine.db");
    let store = Store::open(&home, clock()).unwrap();
    set(&store, "mine").await;
    store.backup(&copy).await.unwrap();
    drop(store);
    let whole = std::fs::read(&copy).unwrap();
    let hash = folder.path().join("mine.db.sha256");
    let hash_text = std::fs::read(&hash).unwrap();
    let harms: [(&str, &dyn Fn()); 4] = [
        ("content", &|| {
            let mut bytes = whole.clone();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            std::fs::write(&copy, bytes).unwrap();
        }),
        ("content", &|| std::fs::write(&copy, &whole[..whole.len() / 2]).unwrap()),
        ("its hash", &|| std::fs::remove_file(&hash).unwrap()),
        ("could not open", &|| std::fs::remove_file(&copy).unwrap()),
    ];
    for (word, harm) in harms {
        harm();
        let error = backup::restore(&home, &copy, now()).unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
        let store = Store::open(&home, clock()).unwrap();
        assert_eq!(get(&store).await.as_deref(), Some("mine"));
        drop(store);
        std::fs::write(&copy, &whole).unwrap();
        std::fs::write(&hash, &hash_text).unwrap();
    }
}

#[tokio::test]
async fn a_backup_never_overwrites_a_file() {
    let (folder, home) = fresh();
    let copy = folder.path().join("notes.txt");
    std::fs::write(&copy, "notes").unwrap();
    let store = Store::open(&home, clock()).unwrap();
    assert!(matches!(store.backup(&copy).await, Err(StoreError::Backup { .. })));
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), "notes");
}

#[tokio::test]
async fn one_copy_is_made_a_day_and_seven_are_kept() {
    let (_folder, home) = fresh();
    let hand = Hand::at("2026-11-30T08:00:00Z");
    let store = Store::open(&home, hand.clone()).unwrap();
    for day in 0..10 {
        assert!(store.daily_backup().await.unwrap().is_some(), "day {day}");
        hand.pass(chrono::Duration::hours(3));
        assert_eq!(store.daily_backup().await.unwrap(), None);
        hand.pass(chrono::Duration::hours(21));
    }
    let list = backup::list(&home).unwrap();
    assert_eq!(list.len(), 7);
    assert!(list.iter().all(|copy| copy.why == Why::Daily && backup::verify(&copy.path).is_ok()));
    assert_eq!(list[0].at.to_rfc3339(), "2026-12-09T08:00:00+00:00");
    assert_eq!(
        std::fs::read_dir(home.backups()).unwrap().count(),
        14,
        "copies and their hashes, nothing else"
    );
}

#[tokio::test]
async fn a_copy_is_made_before_each_migration() {
    static LATER: [&str; 2] = ["CREATE TABLE later (id INTEGER PRIMARY KEY) STRICT;", "DROP TABLE later;"];
    let (_folder, home) = fresh();
    let store = Store::open(&home, clock()).unwrap();
    set(&store, "mine").await;
    drop(store);
    assert_eq!(backup::list(&home).unwrap(), []);
    let steps: &'static [&'static str] = Box::leak([migrate::STEPS, &LATER].concat().into_boxed_slice());
    drop(Store::open_with(&home, clock(), OpenOptions { steps, ..OpenOptions::default() }).unwrap());
    let made: Vec<Why> = backup::list(&home).unwrap().into_iter().map(|copy| copy.why).collect();
    let known = migrate::STEPS.len();
    assert_eq!(made, [Why::BeforeMigration(known + 2), Why::BeforeMigration(known + 1)]);
    let first = backup::list(&home).unwrap().pop().unwrap();
    backup::restore(&home, &first.path, now()).unwrap();
    assert_eq!(get(&Store::open(&home, clock()).unwrap()).await.as_deref(), Some("mine"));
}

#[tokio::test]
async fn a_migration_that_fails_leaves_the_old_shape_whole() {
    let (_folder, home) = fresh();
    let store = Store::open(&home, clock()).unwrap();
    set(&store, "mine").await;
    drop(store);
    static BAD: [&str; 1] =
        ["CREATE TABLE later (id INTEGER PRIMARY KEY) STRICT; INSERT INTO nowhere VALUES (1);"];
    let steps: &'static [&'static str] = Box::leak([migrate::STEPS, &BAD].concat().into_boxed_slice());
    let failed = Store::open_with(&home, clock(), OpenOptions { steps, ..OpenOptions::default() });
    assert!(matches!(failed.err(), Some(StoreError::Migration(..))));
    let store = Store::open(&home, clock()).unwrap();
    assert_eq!((store.mode(), get(&store).await.as_deref()), (Mode::ReadWrite, Some("mine")));
}

/// Fills the file so that a page in its middle holds rows.
async fn filled(home: &Home, hand: std::sync::Arc<Hand>) {
    let store = Store::open(home, hand).unwrap();
    store
        .write(Durability::Full, |tx| {
            for row in 0..300 {
                settings::set(tx, &format!("key-{row:04}"), &"v".repeat(200))?;
            }
            Ok::<_, StoreError>(())
        })
        .await
        .unwrap();
    set(&store, "backed up").await;
    store.daily_backup().await.unwrap().unwrap();
    set(&store, "later").await;
    store.end_run().await.unwrap();
}

fn truncate(path: &Path) {
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(file.metadata().unwrap().len() / 2).unwrap();
}

fn wrong_magic(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[..16].copy_from_slice(b"not a database!!");
    std::fs::write(path, bytes).unwrap();
}

fn empty(path: &Path) {
    std::fs::write(path, "").unwrap();
}

fn zeroed_header_page(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[..4096].fill(0);
    std::fs::write(path, bytes).unwrap();
}

#[rstest]
#[case::truncated(truncate)]
#[case::wrong_magic(wrong_magic)]
#[case::empty(empty)]
#[case::zeroed_header(zeroed_header_page)]
#[tokio::test]
async fn a_damaged_file_is_moved_aside_and_the_newest_good_copy_takes_its_place(#[case] harm: fn(&Path)) {
    let (_folder, home) = fresh();
    let hand = Hand::at("2026-11-28T08:00:00Z");
    filled(&home, hand.clone()).await;
    // A newer copy that is bad itself is passed over.
    hand.pass(chrono::Duration::days(1));
    let bad = Store::open(&home, hand.clone()).unwrap().daily_backup().await.unwrap().unwrap();
    truncate(&bad);
    harm(&home.database());
    let broken = std::fs::read(home.database()).unwrap();
    hand.pass(chrono::Duration::days(1));

    let store = Store::open(&home, hand).unwrap();
    let recovery = store.recovery().unwrap().clone();
    assert_eq!(store.mode(), Mode::ReadWrite);
    assert_eq!(get(&store).await.as_deref(), Some("backed up"));
    assert_eq!(std::fs::read(recovery.aside.as_ref().unwrap()).unwrap(), broken);
    let said = recovery.message();
    assert!(said.contains("copy of 2026-11-28 08:00") && said.contains("is lost"), "{said}");
    drop(store);
    let store = Store::open(&home, clock()).unwrap();
    assert_eq!(store.recovery(), None, "it is told once");
    let last = store.read(steward_core::store::health::last_recovery).await.unwrap();
    assert_eq!(last.unwrap().backup, recovery.backup);
}

#[tokio::test]
async fn without_a_copy_an_empty_database_begins_and_the_loss_is_said() {
    let (_folder, home) = fresh();
    let store = Store::open(&home, clock()).unwrap();
    set(&store, "gone").await;
    store.end_run().await.unwrap();
    drop(store);
    wrong_magic(&home.database());
    let store = Store::open(&home, clock()).unwrap();
    let recovery = store.recovery().unwrap();
    assert!(recovery.aside.as_ref().unwrap().exists());
    assert!(recovery.message().contains("are lost"));
    assert_eq!(get(&store).await, None);
}

#[tokio::test]
async fn damage_under_an_open_store_is_not_moved_away_from_it() {
    let (_folder, home) = fresh();
    filled(&home, Hand::at("2026-11-28T08:00:00Z")).await;
    let store = Store::open(&home, clock()).unwrap();
    wrong_magic(&home.database());
    let refused = Store::open(&home, clock());
    assert!(matches!(&refused.err(), Some(StoreError::Corrupt(why)) if why.contains("has it open")));
    assert!(home.database().exists());
    drop(store);
    assert!(Store::open(&home, clock()).unwrap().recovery().is_some());
}

#[tokio::test]
async fn a_zeroed_page_is_found_in_the_background_and_stops_all_writing() {
    let (_folder, home) = fresh();
    filled(&home, Hand::at("2026-11-28T08:00:00Z")).await;
    let store = Store::open(&home, clock()).unwrap();
    assert_eq!(store.check_in_background().await.unwrap().unwrap(), QuickCheck::Well);
    let page: u32 = beside(&home)
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'settings'", [], |row| row.get(0))
        .unwrap();
    let mut bytes = std::fs::read(home.database()).unwrap();
    let from = (page as usize - 1) * 4096;
    bytes[from..from + 4096].fill(0);
    std::fs::write(home.database(), bytes).unwrap();

    let found = store.check_in_background().await.unwrap().unwrap();
    assert!(matches!(found, QuickCheck::Damaged(_)), "{found:?}");
    assert!(matches!(store.mode(), Mode::ReadOnly(why) if why.contains("damaged")));
    let refused = store.write(Durability::Full, |tx| settings::set(tx, "x", "y")).await;
    assert!(matches!(refused, Err(StoreError::ReadOnly(_))));
    drop(store);
    let store = Store::open(&home, clock()).unwrap();
    assert!(store.recovery().is_some());
    assert_eq!(get(&store).await.as_deref(), Some("backed up"));
}

#[test]
fn a_database_of_another_program_is_left_alone() {
    let (_folder, home) = fresh();
    let other = beside(&home);
    other.execute_batch("CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('x')").unwrap();
    drop(other);
    assert!(matches!(Store::open(&home, clock()).err(), Some(StoreError::Foreign(_))));
    let left: i64 = beside(&home).query_row("SELECT count(*) FROM bookmarks", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 1);
}

fn state(checks: &[Check], id: &str) -> CheckState {
    checks.iter().find(|check| check.id == id).unwrap_or_else(|| panic!("no check {id}")).state
}

#[tokio::test]
async fn the_doctor_finds_all_well_and_then_each_harm() {
    let (folder, home) = fresh();
    #[cfg(unix)]
    {
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(folder.path(), private).unwrap();
    }
    let store = Store::open(&home, clock()).unwrap();
    store.daily_backup().await.unwrap().unwrap();
    store
        .write(Durability::Full, |tx| {
            steward_core::store::audit::append(tx, "person", "pause", "all", "lunch")
        })
        .await
        .unwrap();
    let checks = store.doctor().await.unwrap();
    for id in ["mode", "integrity", "foreign_keys", "audit", "recovery", "permissions", "backups"] {
        assert_eq!(state(&checks, id), CheckState::Well, "{checks:?}");
    }
    let other = beside(&home);
    other
        .execute_batch(
            "PRAGMA foreign_keys = OFF; UPDATE audit SET detail = 'dinner';
             INSERT INTO review_steps (review, at, kind, text) VALUES (99, '', '', '')",
        )
        .unwrap();
    #[cfg(unix)]
    {
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        std::fs::set_permissions(home.database(), open).unwrap();
    }
    truncate(&backup::list(&home).unwrap()[0].path);
    let checks = store.doctor().await.unwrap();
    assert_eq!(state(&checks, "integrity"), CheckState::Well);
    assert_eq!(state(&checks, "foreign_keys"), CheckState::Bad);
    assert_eq!(state(&checks, "audit"), CheckState::Bad);
    assert_eq!(state(&checks, "backups"), CheckState::Bad);
    #[cfg(unix)]
    assert_eq!(state(&checks, "permissions"), CheckState::Warn);
    assert!(checks.iter().all(|check| (check.state == CheckState::Well) == check.next_step.is_none()));
}
