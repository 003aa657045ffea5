//! Patch ids of commits, each computed once: a commit never changes, so neither does its id.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;

use steward_rules::ids::Sha;
use tokio_util::sync::CancellationToken;

use super::log;
use crate::git::clone::BareClone;
use crate::git::error::GitError;

/// One line for each commit, `<commit> <patch id or ->`. The number grows with the way ids are made.
const FILE: &str = "steward-patch-ids-1";
/// Commits whose ids are computed at one look. Of the others a cherry-pick goes unnoticed, which costs
/// a note and no verdict.
const AT_ONCE: usize = 500;
/// A file longer than this is begun anew.
const LONGEST: u64 = 32 << 20;

/// The patch ids of these commits; `None` for one without any. What is not computed yet is absent.
pub(super) fn of(
    clone: &BareClone,
    commits: &[&Sha],
    cancel: &CancellationToken,
) -> Result<HashMap<Sha, Option<String>>, GitError> {
    if commits.is_empty() {
        return Ok(HashMap::new());
    }
    let mut known = kept(clone);
    let mut fresh: Vec<&Sha> = commits.iter().copied().filter(|id| !known.contains_key(*id)).collect();
    fresh.sort();
    fresh.dedup();
    fresh.truncate(AT_ONCE);
    if !fresh.is_empty() {
        let made = log::named(clone, &fresh, cancel)?;
        keep(clone, &made);
        known.extend(made);
    }
    Ok(known)
}

fn kept(clone: &BareClone) -> HashMap<Sha, Option<String>> {
    let Ok(text) = std::fs::read_to_string(clone.dir().join(FILE)) else { return HashMap::new() };
    let line = |line: &str| {
        let (commit, id) = line.split_once(' ')?;
        let id = match id {
            "-" => None,
            id if id.len() == 64 && id.bytes().all(|b| b.is_ascii_hexdigit()) => Some(id.to_owned()),
            _ => return None,
        };
        Some((Sha::new(commit).ok()?, id))
    };
    // A line that a killed process left half is a commit to look at again.
    text.lines().filter_map(line).collect()
}

/// Adds what was computed. When it cannot be written it is computed again.
fn keep(clone: &BareClone, made: &[(Sha, Option<String>)]) {
    let path = clone.dir().join(FILE);
    let long = std::fs::metadata(&path).is_ok_and(|meta| meta.len() > LONGEST);
    // The line end first: it parts what follows from a line that was cut short.
    let mut text = String::from("\n");
    for (commit, id) in made {
        text.push_str(&format!("{commit} {}\n", id.as_deref().unwrap_or("-")));
    }
    let mut options = File::options();
    options.create(true).append(!long).write(true).truncate(long);
    let written = options.open(&path).and_then(|mut file| file.write_all(text.as_bytes()));
    if let Err(error) = written {
        tracing::warn!(%error, "patch ids were not kept");
    }
}
