//! The database: one file, one writer, many readers; what it promises when things go wrong.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use steward_core::clock::{Clock, SharedClock, SystemClock};
use steward_core::config::Retention;
use steward_core::home::Home;
use steward_core::store::health::LastEnd;
use steward_core::store::{
    Durability, Mode, OpenOptions, Store, StoreError, WriteTx, audit, migrate, outbox, retention, settings,
    sql,
};
use steward_kit::process::Running;

pub(crate) fn clock() -> SharedClock {
    Arc::new(SystemClock)
}

pub(crate) fn fresh() -> (tempfile::TempDir, Home) {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::under(folder.path());
    home.create().unwrap();
    (folder, home)
}

/// A clock that a test moves.
pub(crate) struct Hand(Mutex<DateTime<Utc>>);

impl Hand {
    pub(crate) fn at(text: &str) -> Arc<Self> {
        Arc::new(Self(Mutex::new(text.parse().unwrap())))
    }
    pub(crate) fn pass(&self, duration: chrono::Duration) {
        *self.0.lock().unwrap() += duration;
    }
}

impl Clock for Hand {
    fn now(&self) -> DateTime<Utc> {
        *self.0.lock().unwrap()
    }
}

/// A connection beside the store, to look at the file and to do it harm.
pub(crate) fn beside(home: &Home) -> rusqlite::Connection {
    rusqlite::Connection::open(home.database()).unwrap()
}

fn add_one(tx: &WriteTx<'_>) -> Result<u64, StoreError> {
    let count = settings::get(tx, "count")?.map_or(0, |text| text.parse::<u64>().unwrap()) + 1;
    settings::set(tx, "count", &count.to_string())?;
    Ok(count)
}

/// This test binary again, as `name`, with `STEWARD_TEST_CHILD` saying what it shall be.
fn child(name: &str, word: &str, home: &Home) -> Running {
    Running::start(
        Command::new(std::env::current_exe().unwrap())
            .args([&format!("store::{name}"), "--exact", "--nocapture"])
            .env("STEWARD_TEST_CHILD", word)
            .env("STEWARD_TEST_HOME", home.data_dir())
            .stdout(Stdio::piped())
            .stderr(Stdio::null()),
    )
}

fn as_child() -> Option<(String, Home)> {
    let word = std::env::var("STEWARD_TEST_CHILD").ok()?;
    Some((word, Home::under(std::env::var_os("STEWARD_TEST_HOME")?.as_ref())))
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
            tx.topic("inbox")?;
            tx.topic("status")
        })
        .await
        .unwrap();
    assert_eq!(store.read(|tx| settings::get(tx, "pause")).await.unwrap().as_deref(), Some("lunch"));
    let topics = store.topics_since(before).await.unwrap();
    assert_eq!(topics.names, ["inbox", "status"]);
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

#[tokio::test]
async fn a_panic_in_a_write_rolls_it_back_and_the_next_one_works() {
    let (_folder, home) = fresh();
    let store = Store::open(&home, clock()).unwrap();
    let panicking = store.clone();
    let result = tokio::spawn(async move {
        panicking
            .write(Durability::Full, |tx| -> Result<(), StoreError> {
                add_one(tx)?;
                panic!("in the middle")
            })
            .await
    })
    .await;
    assert!(result.unwrap_err().is_panic());
    assert_eq!(store.write(Durability::Full, add_one).await.unwrap(), 1);
}

#[tokio::test]
async fn writes_happen_in_the_order_they_were_asked_for() {
    let (_folder, home) = fresh();
    let store = Store::open(&home, clock()).unwrap();
    let mut set = tokio::task::JoinSet::new();
    for expected in 1..=200_u64 {
        let store = store.clone();
        set.spawn(async move { (expected, store.write(Durability::Normal, add_one).await.unwrap()) });
        // Each gets its place in the queue before the next asks.
        tokio::task::yield_now().await;
    }
    while let Some(done) = set.join_next().await {
        let (expected, found) = done.unwrap();
        assert_eq!(expected, found);
    }
}

#[tokio::test]
async fn a_caller_who_goes_away_leaves_all_of_a_write_or_nothing() {
    let (_folder, home) = fresh();
    let store = Store::open(&home, clock()).unwrap();
    for round in 0..50_u64 {
        let write = store.write(Durability::Normal, move |tx| {
            settings::set(tx, "left", &round.to_string())?;
            settings::set(tx, "right", &round.to_string())
        });
        let _ = tokio::time::timeout(Duration::from_micros(round * 20), write).await;
        let both =
            store.read(|tx| Ok::<_, StoreError>((settings::get(tx, "left")?, settings::get(tx, "right")?)));
        let (left, right) = both.await.unwrap();
        assert_eq!(left, right);
    }
}

#[tokio::test]
async fn a_row_that_breaks_a_rule_of_the_schema_is_refused() {
    let (_folder, home) = fresh();
    drop(Store::open(&home, clock()).unwrap());
    let conn = beside(&home);
    conn.pragma_update(None, "foreign_keys", true).unwrap();
    let orphan = "INSERT INTO review_steps (review, at, kind, text) VALUES (99, '', '', '')";
    assert!(conn.execute_batch(orphan).unwrap_err().to_string().contains("FOREIGN KEY"));
    let wrong =
        "INSERT INTO tasks (title, workspace, state, created_at, updated_at) VALUES ('', 'w', 'odd', '', '')";
    assert!(conn.execute_batch(wrong).unwrap_err().to_string().contains("CHECK"));
    let mode: String = conn.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
}

#[test]
fn every_table_is_strict() {
    let (_folder, home) = fresh();
    drop(Store::open(&home, clock()).unwrap());
    let conn = beside(&home);
    let sql =
        "SELECT name FROM pragma_table_list WHERE type = 'table' AND strict = 0 AND name NOT LIKE 'sqlite_%'";
    let loose: Vec<String> =
        conn.prepare(sql).unwrap().query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(loose, Vec::<String>::new());
}

#[cfg(unix)]
#[test]
fn only_the_person_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, home) = fresh();
    let store = Store::open(&home, clock()).unwrap();
    store.write_blocking(Durability::Full, add_one).unwrap();
    for entry in std::fs::read_dir(home.data_dir()).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o077, 0, "{}", path.display());
    }
}

#[test]
fn times_have_one_width_and_sort_as_text() {
    let times = ["2026-11-30T08:56:44.123Z", "2026-11-30T08:56:44Z", "2026-11-30T08:56:44.000000001Z"];
    for time in times {
        let text = sql::utc_text(time.parse().unwrap());
        assert_eq!(text.len(), 24);
        assert_eq!(sql::utc_text(sql::parse_utc(&text).unwrap()), text);
    }
    for bad in ["2026-11-30 08:56:44.123Z", "2026-11-30T08:56:44.123+", "", "2026-13-30T08:56:44.123Z"] {
        assert_eq!(sql::parse_utc(bad), None, "{bad}");
    }
}

#[tokio::test]
async fn a_lock_of_another_process_delays_writes_and_not_reads() {
    let (_folder, home) = fresh();
    let options = OpenOptions { busy_timeout: Duration::from_millis(100), ..OpenOptions::default() };
    let store = Store::open_with(&home, clock(), options).unwrap();
    store.write(Durability::Full, add_one).await.unwrap();
    let other = beside(&home);
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = store.write(Durability::Full, add_one).await;
    assert!(matches!(refused, Err(StoreError::Busy)), "{refused:?}");
    assert_eq!(store.read(|tx| settings::get(tx, "count")).await.unwrap().as_deref(), Some("1"));
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(store.write(Durability::Full, add_one).await.unwrap(), 2);
}

#[test]
fn two_processes_share_the_file_and_lose_nothing() {
    const ROWS: u64 = 60;
    if let Some((_, home)) = as_child() {
        let store = Store::open(&home, clock()).unwrap();
        for _ in 0..ROWS {
            store.write_blocking(Durability::Normal, add_one).unwrap();
        }
        return;
    }
    let (_folder, home) = fresh();
    // Both begin on a home without a database: one makes it, the other waits.
    let name = "two_processes_share_the_file_and_lose_nothing";
    let mut children = [child(name, "a", &home), child(name, "b", &home)];
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    let store = Store::open(&home, clock()).unwrap();
    let count = store.read_blocking(|tx| settings::get(tx, "count")).unwrap();
    assert_eq!(count, Some((2 * ROWS).to_string()));
}

/// A child writes rows and says each one it was told is written; it is killed at a random moment.
#[test]
fn a_killed_process_loses_no_acknowledged_row() {
    let name = "a_killed_process_loses_no_acknowledged_row";
    if let Some((_, home)) = as_child() {
        let store = Store::open(&home, clock()).unwrap();
        for turn in 0_u64.. {
            let durability = if turn % 2 == 0 { Durability::Full } else { Durability::Normal };
            let count = store
                .write_blocking(durability, |tx| {
                    audit::append(tx, "test", "row", "x", &"y".repeat(300))?;
                    add_one(tx)
                })
                .unwrap();
            println!("row {count}.");
        }
    }
    let (_folder, home) = fresh();
    let mut acknowledged = 0;
    for round in 0..30_u64 {
        let mut child = child(name, "writer", &home);
        let lines = BufReader::new(child.stdout.take().unwrap());
        let killer = std::thread::spawn(move || {
            // A spread of moments that is the same in every run.
            std::thread::sleep(Duration::from_millis(20 + (round * 37) % 90));
            child.kill().unwrap();
            child.wait().unwrap();
        });
        for line in lines.lines().map_while(Result::ok) {
            let row = line.split("row ").nth(1).and_then(|rest| rest.strip_suffix('.')?.parse().ok());
            acknowledged = row.unwrap_or(acknowledged);
        }
        killer.join().unwrap();
        let store = Store::open(&home, clock()).unwrap();
        assert_eq!(store.recovery(), None);
        let (count, chain) = store
            .read_blocking(|tx| Ok::<_, StoreError>((settings::get(tx, "count")?, audit::verify(tx)?)))
            .unwrap();
        let count: u64 = count.map_or(0, |text| text.parse().unwrap());
        assert!(count >= acknowledged, "round {round}: {acknowledged} acknowledged, {count} found");
        assert_eq!(chain, audit::Chain::Whole { rows: count });
    }
    assert!(acknowledged > 30, "the children wrote only {acknowledged} rows");
    let answer: String = beside(&home).query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(answer, "ok");
}

#[tokio::test]
async fn a_full_disk_is_said_rolls_back_and_is_over_when_there_is_room() {
    let (_folder, home) = fresh();
    drop(Store::open(&home, clock()).unwrap());
    let pages: u32 = beside(&home).query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
    let options = OpenOptions { max_pages: Some(pages + 20), ..OpenOptions::default() };
    let store = Store::open_with(&home, clock(), options).unwrap();
    let fill = |tx: &WriteTx<'_>| -> Result<(), StoreError> {
        settings::set(tx, "small", "1")?;
        settings::set(tx, "large", &"x".repeat(400_000))
    };
    for _ in 0..3 {
        let full = store.write(Durability::Full, fill).await;
        assert!(matches!(full, Err(StoreError::DiskFull)), "{full:?}");
        assert_eq!(store.read(|tx| settings::get(tx, "small")).await.unwrap(), None);
    }
    assert_eq!(store.write(Durability::Full, add_one).await.unwrap(), 1);
    let answer: String = beside(&home).query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(answer, "ok");
}

#[tokio::test]
async fn a_newer_shape_opens_for_reading_only() {
    static NEWER: [&str; 2] = [migrate::STEPS[0], "CREATE TABLE later (id INTEGER PRIMARY KEY) STRICT;"];
    let (_folder, home) = fresh();
    // As many steps as this Steward knows, and one more.
    let mut steps = migrate::STEPS.to_vec();
    steps.push(NEWER[1]);
    let options = OpenOptions { steps: Box::leak(steps.into_boxed_slice()), ..OpenOptions::default() };
    let newer = Store::open_with(&home, clock(), options).unwrap();
    newer.write(Durability::Full, add_one).await.unwrap();
    drop(newer);
    let store = Store::open(&home, clock()).unwrap();
    assert!(matches!(store.mode(), Mode::ReadOnly(why) if why.contains("newer Steward")));
    assert_eq!(store.read(|tx| settings::get(tx, "count")).await.unwrap().as_deref(), Some("1"));
    let refused = store.write(Durability::Full, add_one).await;
    assert!(
        matches!(&refused, Err(StoreError::ReadOnly(why)) if why.contains("update Steward")),
        "{refused:?}"
    );
}

fn sample(step: usize) -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/fixtures/schema");
    let path = format!("{root}/{step:04}.sql");
    std::fs::read_to_string(&path).unwrap_or_else(|_| panic!("each step needs rows of its shape in {path}"))
}

/// Every table with its rows as text, of the columns it has in the older shape.
fn rows(conn: &rusqlite::Connection, tables: &[(String, Vec<String>)]) -> Vec<(String, Vec<String>)> {
    let mut all = Vec::new();
    for (table, columns) in tables {
        let list =
            columns.iter().map(|name| format!("quote({name})")).collect::<Vec<_>>().join(" || ',' || ");
        let sql = format!("SELECT {list} FROM {table} ORDER BY 1");
        let found = conn
            .prepare(&sql)
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        all.push((table.clone(), found));
    }
    all
}

fn tables(conn: &rusqlite::Connection) -> Vec<(String, Vec<String>)> {
    let names: Vec<String> = conn
        .prepare(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
        )
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let columns = |table: &String| {
        let sql = format!("SELECT name FROM pragma_table_info('{table}')");
        conn.prepare(&sql).unwrap().query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    names.iter().map(|table| (table.clone(), columns(table))).collect()
}

/// What a later step takes away, by its table: nobody ever wrote or read it.
const TAKEN: [(&str, &str); 1] = [("engine_repos", "limited_until")];

/// A database of each released shape, full of rows, comes through every later step.
#[test]
fn every_shape_migrates_with_its_rows() {
    for start in 1..=migrate::STEPS.len() {
        let (_folder, home) = fresh();
        let options = OpenOptions { steps: &migrate::STEPS[..start], ..OpenOptions::default() };
        drop(Store::open_with(&home, clock(), options).unwrap());
        let conn = beside(&home);
        for step in 1..=start {
            conn.execute_batch(&sample(step)).unwrap();
        }
        let mut shape = tables(&conn);
        for (table, columns) in &mut shape {
            columns.retain(|column| !TAKEN.contains(&(table.as_str(), column.as_str())));
        }
        // Counted anew from the entries; what it counts is compared below.
        shape.retain(|(table, _)| table != "inbox_counts");
        let before = rows(&conn, &shape);
        for (table, found) in &before {
            assert!(!found.is_empty(), "the samples hold no row of {table}");
        }
        drop(conn);
        let store = Store::open(&home, clock()).unwrap();
        assert_eq!(store.mode(), Mode::ReadWrite);
        let conn = beside(&home);
        assert_eq!(rows(&conn, &shape), before, "from shape {start}");
        let miscounted: i64 = conn
            .query_row(
                "SELECT count(*) FROM (
                     SELECT state, kind, saved, count(*) AS total, sum(1 - read) AS unread FROM inbox
                     GROUP BY state, kind, saved
                     EXCEPT SELECT state, kind, saved, total, unread FROM inbox_counts)",
                [],
                |row| row.get(0),
            )
            .unwrap();
        assert_eq!(miscounted, 0, "from shape {start}");
        let answer: String = conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(answer, "ok");
        assert!(conn.query_row("PRAGMA foreign_key_check", [], |_| Ok(())).is_err());
    }
}

#[test]
fn export_schema_sql() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../migrations/schema.sql");
    let text = migrate::schema_sql().unwrap();
    assert!(text.contains("CREATE TABLE tasks"));
    if std::fs::read_to_string(path).is_ok_and(|found| found == text) {
        return;
    }
    std::fs::write(path, text).unwrap();
}

#[tokio::test]
async fn the_audit_chain_shows_every_change_from_outside() {
    let harms = [
        "UPDATE audit SET detail = 'other' WHERE id = 2",
        "UPDATE audit SET at = '2020-01-01T00:00:00.000Z' WHERE id = 2",
        "DELETE FROM audit WHERE id = 2",
        "DELETE FROM audit WHERE id = 3",
        "UPDATE audit SET kind = 'ab', actor = '' WHERE id = 1",
        "INSERT INTO audit (at, actor, kind, subject, detail, previous, hash) SELECT at, actor, kind, subject, detail, hash, hash FROM audit WHERE id = 3",
    ];
    for harm in harms {
        let (_folder, home) = fresh();
        let store = Store::open(&home, clock()).unwrap();
        for detail in ["one", "two", "three"] {
            store.write(Durability::Full, move |tx| audit::append(tx, "a", "b", "s", detail)).await.unwrap();
        }
        assert_eq!(store.read(audit::verify).await.unwrap(), audit::Chain::Whole { rows: 3 });
        let newest = store.read(|tx| audit::page(tx, None, None, 2)).await.unwrap();
        assert_eq!(newest.iter().map(|row| row.detail.as_str()).collect::<Vec<_>>(), ["three", "two"]);
        beside(&home).execute_batch(harm).unwrap();
        assert!(matches!(store.read(audit::verify).await.unwrap(), audit::Chain::Broken { .. }), "{harm}");
    }
}

#[tokio::test]
async fn a_reader_behind_pruned_topics_is_told_of_the_gap() {
    let (_folder, home) = fresh();
    let hand = Hand::at("2026-11-30T08:00:00Z");
    let store = Store::open(&home, hand.clone()).unwrap();
    store.write(Durability::Normal, |tx| tx.topic("inbox")).await.unwrap();
    store.write(Durability::Normal, |tx| tx.topic("tasks")).await.unwrap();
    hand.pass(chrono::Duration::hours(25));
    store
        .write(Durability::Normal, |tx| outbox::prune(tx, tx.now() - chrono::Duration::hours(24)))
        .await
        .unwrap();
    assert_eq!(store.last_topic().await.unwrap(), 2);
    assert!(store.topics_since(1).await.unwrap().gap);
    assert!(!store.topics_since(2).await.unwrap().gap);
    store.write(Durability::Normal, |tx| tx.topic("status")).await.unwrap();
    let topics = store.topics_since(2).await.unwrap();
    assert_eq!((topics.names, topics.gap, topics.last), (vec!["status".to_owned()], false, 3));
    assert!(store.topics_since(99).await.unwrap().gap, "a reader of another database");
}

#[tokio::test]
async fn what_is_old_is_forgotten_and_what_counts_is_kept() {
    let (_folder, home) = fresh();
    let hand = Hand::at("2026-11-30T09:00:00Z");
    let store = Store::open(&home, hand.clone()).unwrap();
    beside(&home).execute_batch(&sample(1)).unwrap();
    beside(&home)
        .execute_batch("UPDATE inbox SET state = 'done'; UPDATE notices SET shown_at = created_at")
        .unwrap();
    let prune = |tx: &WriteTx<'_>| retention::prune(tx, &Retention::default());
    let pruned = store.write(Durability::Normal, prune).await.unwrap();
    assert_eq!(pruned, retention::Pruned::default());
    hand.pass(chrono::Duration::days(400));
    let pruned = store.write(Durability::Normal, prune).await.unwrap();
    assert_eq!(pruned, retention::Pruned { steps: 1, topics: 1, entries: 1, notices: 1 });
    let left = |table: &str| -> i64 {
        beside(&home).query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    };
    assert_eq!((left("spending"), left("reviews"), left("audit"), left("inbox")), (2, 3, 1, 1));
}

#[tokio::test]
async fn a_runtime_knows_how_the_one_before_it_ended() {
    let (_folder, home) = fresh();
    let ends = async |clean: bool| {
        let store = Store::open(&home, clock()).unwrap();
        let before = store.begin_run().await.unwrap();
        if clean {
            store.end_run().await.unwrap();
        }
        before
    };
    assert_eq!(ends(true).await, LastEnd::First);
    assert_eq!(ends(false).await, LastEnd::Clean);
    assert_eq!(ends(true).await, LastEnd::Unclean);
    assert_eq!(ends(true).await, LastEnd::Clean);
}

/// As root nothing is unwritable, so the child becomes nobody.
#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_opens_for_reading_only() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let name = "a_folder_that_cannot_be_written_opens_for_reading_only";
    if let Some((_, home)) = as_child() {
        let store = Store::open(&home, clock()).unwrap();
        assert!(matches!(store.mode(), Mode::ReadOnly(why) if why.contains("cannot be written")));
        assert_eq!(store.read_blocking(|tx| settings::get(tx, "count")).unwrap().as_deref(), Some("1"));
        let refused = store.write_blocking(Durability::Full, add_one);
        assert!(matches!(refused, Err(StoreError::ReadOnly(_))));
        return;
    }
    let (folder, home) = fresh();
    let store = Store::open(&home, clock()).unwrap();
    store.write_blocking(Durability::Full, add_one).unwrap();
    drop(store);
    let mode = |path: &std::path::Path, bits| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(bits)).unwrap();
    };
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        mode(&path, if path.is_dir() { 0o555 } else { 0o444 });
    }
    mode(folder.path(), 0o555);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([&format!("store::{name}"), "--exact", "--nocapture"])
        .env("STEWARD_TEST_CHILD", "reader")
        .env("STEWARD_TEST_HOME", home.data_dir());
    if nix::unistd::geteuid().is_root() {
        command.uid(65534).gid(65534);
    }
    match command.output() {
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => println!("skipped: this test cannot be started as nobody ({error})"),
    }
    mode(folder.path(), 0o755);
}

#[tokio::test]
async fn five_hundred_writes_take_no_longer_than_a_moment() {
    let (_folder, home) = fresh();
    let store = Store::open(&home, clock()).unwrap();
    let begin = Instant::now();
    for _ in 0..500 {
        store.write(Durability::Normal, add_one).await.unwrap();
    }
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
}
