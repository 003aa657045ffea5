//! Where the files of one review lie while its seat runs, and what is left of them afterwards.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};
use steward_rules::ids::ReviewId;

use crate::agent::SeatFolders;
use crate::git::export;
use crate::home::Home;

/// The folders of one review: the export in memory where there is room, everything else beside the
/// database.
pub(crate) fn of(home: &Home, review: ReviewId) -> SeatFolders {
    let run = run_folder(home, review);
    let place = export::place(&home.seat_runs());
    let tree =
        if place == home.seat_runs() { run.join("review") } else { place.join(tree_name(home, review)) };
    SeatFolders { review: tree, ..SeatFolders::under(&run) }
}

fn run_folder(home: &Home, review: ReviewId) -> PathBuf {
    home.seat_runs().join(review.to_string())
}

/// Exports of several installations share one place in memory.
fn tree_name(home: &Home, review: ReviewId) -> String {
    format!("{}{review}", prefix(home))
}

fn prefix(home: &Home) -> String {
    let hash = Sha256::digest(home.data_dir().as_os_str().as_encoded_bytes());
    format!("{}-", hex::encode(&hash[..6]))
}

/// Removes the export and the scratch files; digest, submission and notes stay for a while.
pub(crate) fn clear(home: &Home, review: ReviewId) {
    let folders = of(home, review);
    for path in [folders.review, folders.scratch, run_folder(home, review).join("review")] {
        if let Err(error) = export::remove(&path) {
            tracing::warn!(path = %path.display(), %error, "a seat's folder is left over");
        }
    }
}

/// Removes everything of a review.
pub(crate) fn remove(home: &Home, review: ReviewId) {
    clear(home, review);
    let run = run_folder(home, review);
    if let Err(error) = export::remove(&run) {
        tracing::warn!(path = %run.display(), %error, "a seat's folder is left over");
    }
}

/// Removes exports that no running review owns, and whole folders older than `before`.
pub(crate) fn sweep(home: &Home, running: &[ReviewId], before: Option<DateTime<Utc>>) {
    let place = export::place(&home.seat_runs());
    let prefix = prefix(home);
    if place != home.seat_runs() {
        for entry in std::fs::read_dir(&place).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let owner = name.strip_prefix(&prefix).and_then(|id| id.parse().ok()).map(ReviewId);
            if owner.is_some_and(|id| !running.contains(&id)) {
                let _ = export::remove(&entry.path());
            }
        }
    }
    for entry in std::fs::read_dir(home.seat_runs()).into_iter().flatten().flatten() {
        // `seats/reviewer.yaml` may lie in the same folder; only numbers are ours.
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()).map(ReviewId) else {
            continue;
        };
        if running.contains(&id) {
            continue;
        }
        let modified = entry.metadata().and_then(|meta| meta.modified()).map(DateTime::<Utc>::from);
        if before.is_some_and(|before| modified.is_ok_and(|at| at < before)) {
            remove(home, id);
        } else {
            clear(home, id);
        }
    }
}
