//! The file in force: watched, reloaded, and kept when a later text does not parse.

use std::time::{Duration, Instant};

use steward_core::config::{ConfigWatch, LoadedFrom};
use steward_core::home::Home;

use crate::store::fresh;

fn write(home: &Home, text: &str) {
    std::fs::write(home.config_file(), text).unwrap();
}

#[test]
fn without_a_file_the_defaults_hold() {
    let (_folder, home) = fresh();
    let loaded = ConfigWatch::open(&home, None).current();
    assert_eq!(loaded.from, LoadedFrom::Defaults);
    assert_eq!(loaded.problems, []);
}

#[test]
fn a_file_that_breaks_leaves_the_last_good_one_in_force_and_says_so() {
    let (_folder, home) = fresh();
    write(&home, "review: {enabled: true, maxMinutes: 7}\n");
    let watch = ConfigWatch::open(&home, None);
    assert_eq!(watch.current().config.review.max_minutes, 7);
    for broken in ["review: {enabled: true\n", "review: {}\nreview: {}\n", "- a\n"] {
        write(&home, broken);
        let loaded = watch.reread();
        assert_eq!(loaded.from, LoadedFrom::LastGood);
        assert!(loaded.config.review.enabled && loaded.config.review.max_minutes == 7);
        assert_eq!(loaded.problems.len(), 1);
        assert!(loaded.problems[0].hint.as_deref().unwrap().contains("stays in force"));
    }
    write(&home, "review: {enabled: true, maxMinutes: 8}\n");
    let loaded = watch.reread();
    assert_eq!((loaded.from, loaded.config.review.max_minutes), (LoadedFrom::File, 8));
    assert_eq!(loaded.problems, []);
}

#[test]
fn the_last_good_one_survives_a_restart() {
    let (_folder, home) = fresh();
    write(&home, "review: {enabled: true, maxMinutes: 7}\n");
    drop(ConfigWatch::open(&home, None));
    std::fs::write(home.config_file(), b"review: {enabled: \xff}\n").unwrap();
    let loaded = ConfigWatch::open(&home, None).current();
    assert_eq!((loaded.from, loaded.config.review.max_minutes), (LoadedFrom::LastGood, 7));
    assert_eq!(loaded.problems[0].line, 1);
}

#[test]
fn a_broken_first_file_leaves_everything_off() {
    let (_folder, home) = fresh();
    write(&home, "review: {enabled: true");
    let loaded = ConfigWatch::open(&home, None).current();
    assert_eq!(loaded.from, LoadedFrom::Defaults);
    assert!(!loaded.config.review.enabled && loaded.problems.len() == 1);
}

#[test]
fn an_editor_that_empties_the_file_for_an_instant_changes_nothing() {
    let (_folder, home) = fresh();
    write(&home, "review: {enabled: true}\n");
    let watch = ConfigWatch::open(&home, None);
    write(&home, "");
    let path = home.config_file();
    let editor = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(40));
        std::fs::write(path, "review: {enabled: true, maxMinutes: 9}\n").unwrap();
    });
    let loaded = watch.reread();
    editor.join().unwrap();
    assert!(loaded.config.review.enabled);
    assert_eq!(loaded.config.review.max_minutes, 9);
}

#[test]
fn a_file_that_stays_empty_gives_the_defaults() {
    let (_folder, home) = fresh();
    write(&home, "review: {enabled: true}\n");
    let watch = ConfigWatch::open(&home, None);
    write(&home, "");
    assert!(!watch.reread().config.review.enabled);
}

#[tokio::test]
async fn a_change_is_noticed_also_through_a_rename() {
    let (_folder, home) = fresh();
    write(&home, "review: {maxMinutes: 7}\n");
    let watch = ConfigWatch::watch(&home, None).unwrap();
    let mut changes = watch.changes();
    let new = home.config_dir().join(".config.yaml.swp");
    std::fs::write(&new, "review: {maxMinutes: 9}\n").unwrap();
    std::fs::rename(&new, home.config_file()).unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while watch.current().config.review.max_minutes != 9 {
        let left = deadline.saturating_duration_since(Instant::now());
        tokio::time::timeout(left, changes.changed()).await.expect("noticed in time").unwrap();
    }
}
