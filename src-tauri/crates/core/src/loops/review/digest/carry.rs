//! Which changed lines the digest carries, and which are left out and why.

use serde::Serialize;
use steward_rules::diff::{ChangedFile, Content, Hunk, Line};
use steward_rules::review::coverage::{Exclusion, Given, LineRange, Manifest, ManifestFile, Side};
use steward_rules::review::gate::{self, GateId};
use steward_rules::review::policy::ReviewPolicy;
use steward_rules::secret::Engine;
use steward_rules::untrusted::Untrusted;

use super::Foreign;

/// Characters of changed lines in a whole digest: agents cut longer answers of a tool.
const TOTAL: usize = 60_000;
const OF_A_FILE: usize = 16_000;
/// A longer line is shown cut, and must be read in the tree to count as read.
const OF_A_LINE: usize = 400;
/// More changed lines of one file than anybody reads.
const LINES_OF_A_FILE: usize = 20_000;

/// One hunk: its lines, each behind `+` or `-`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HunkPart {
    old_start: u32,
    new_start: u32,
    lines: Foreign,
}

/// The carried hunks of each file, in the order of the files, and why a file has none.
pub(super) type Carried = Vec<(Vec<HunkPart>, Option<&'static str>)>;

/// Fits as many whole files as there is room for, small ones first. Only the first `listed` files
/// stand in the digest, so that no other's lines are given.
pub(super) fn carry(files: &[ChangedFile], policy: &ReviewPolicy, listed: usize) -> (Carried, Manifest) {
    let mut carried: Carried = Vec::with_capacity(files.len());
    let mut manifest = Manifest::default();
    for file in files {
        let why = exclusion(file, policy);
        carried.push((Vec::new(), why.map(Exclusion::as_str)));
        manifest.files.push(ManifestFile {
            file: file.path.shown(),
            changed: changed(file),
            given: match why {
                Some(why) => Given::Excluded { why },
                None => Given::Lines { lines: Vec::new() },
            },
        });
    }
    let mut order: Vec<usize> = (0..files.len().min(listed)).collect();
    order.sort_by_key(|at| files[*at].hunks.iter().map(size).sum::<usize>());
    let mut room = TOTAL;
    for at in order {
        let Given::Lines { lines } = &mut manifest.files[at].given else { continue };
        let mut of_file = OF_A_FILE;
        for hunk in &files[at].hunks {
            let cost = size(hunk);
            if cost > of_file || cost > room {
                break;
            }
            of_file -= cost;
            room -= cost;
            let (text, given) = shown(hunk);
            carried[at].0.push(HunkPart {
                old_start: hunk.old_start,
                new_start: hunk.new_start,
                lines: Foreign { untrusted: true, text },
            });
            lines.extend(given);
        }
    }
    (carried, manifest)
}

fn exclusion(file: &ChangedFile, policy: &ReviewPolicy) -> Option<Exclusion> {
    match file.content {
        Content::Binary | Content::LfsPointer => return Some(Exclusion::Binary),
        Content::Text | Content::None => {}
    }
    // A gate that is switched off watches these files no more, so they must be read.
    let kept: usize = file.hunks.iter().map(|hunk| hunk.added.len() + hunk.removed.len()).sum();
    // A change whose text was too long to keep has its lines counted, and no hunk to read them from.
    let counted = file.lines.map_or(0, |(added, removed)| u64::from(added) + u64::from(removed));
    let is_watched = !policy.gates_off.contains(&GateId::NoChurn);
    if is_watched && gate::is_lockfile(&file.path, policy) {
        Some(Exclusion::Lockfile)
    } else if is_watched && file.exists_at_head() && gate::is_build_output(&file.path, policy) {
        Some(Exclusion::Generated)
    } else if kept > LINES_OF_A_FILE || counted > kept as u64 {
        Some(Exclusion::TooLarge)
    } else {
        None
    }
}

fn changed(file: &ChangedFile) -> Vec<(Side, LineRange)> {
    let mut ranges = Vec::new();
    for hunk in &file.hunks {
        ranges.extend(span(&hunk.removed).map(|range| (Side::Base, range)));
        ranges.extend(span(&hunk.added).map(|range| (Side::Head, range)));
    }
    ranges
}

/// Lines of one hunk without context follow each other.
fn span(lines: &[Line]) -> Option<LineRange> {
    Some(LineRange::new(lines.first()?.number, lines.last()?.number))
}

fn size(hunk: &Hunk) -> usize {
    hunk.added.iter().chain(&hunk.removed).map(|line| line.text.len().min(OF_A_LINE * 4) + 2).sum()
}

/// A hunk's text, and which of its lines are there whole.
fn shown(hunk: &Hunk) -> (String, Vec<(Side, LineRange)>) {
    let mut text = String::new();
    let mut given = Vec::new();
    for (mark, side, lines) in [('-', Side::Base, &hunk.removed), ('+', Side::Head, &hunk.added)] {
        let clean = redacted(lines);
        for (line, clean) in lines.iter().zip(clean) {
            let whole = String::from_utf8_lossy(&line.text).chars().count() <= OF_A_LINE;
            text.push(mark);
            text.push_str(&Untrusted::new(clean).escaped(OF_A_LINE));
            text.push('\n');
            if whole {
                given.push((side, LineRange::new(line.number, line.number)));
            }
        }
    }
    (text, given)
}

/// The lines without the secrets in them. A secret over several lines takes all lines of the hunk.
fn redacted(lines: &[Line]) -> Vec<String> {
    let text: Vec<String> =
        lines.iter().map(|line| String::from_utf8_lossy(&line.text).into_owned()).collect();
    let joined = text.join("\n");
    let clean = Engine::shared().redact(&joined);
    if clean == joined {
        return text;
    }
    let parts: Vec<String> = clean.split('\n').map(str::to_owned).collect();
    if parts.len() == lines.len() {
        parts
    } else {
        vec!["[removed: it looks like a secret]".to_owned(); lines.len()]
    }
}

#[cfg(test)]
mod tests {
    use steward_rules::diff::{Kind, RepoPath, Status};
    use steward_rules::ids::Sha;
    use steward_rules::review::coverage::cover;

    use super::*;

    fn added(path: &str, lines: u32, hunks: Vec<Hunk>) -> ChangedFile {
        let sha = |digit: char| Sha::new(&digit.to_string().repeat(40)).expect("an id");
        ChangedFile {
            status: Status::Added,
            path: RepoPath::from(path),
            old_path: None,
            old_kind: Kind::Absent,
            new_kind: Kind::File,
            old_blob: sha('0'),
            new_blob: sha('a'),
            lines: Some((lines, 0)),
            content: Content::Text,
            hunks,
        }
    }

    fn one_line() -> Vec<Hunk> {
        let line = Line { number: 1, text: b"x".to_vec() };
        let (old_start, old_lines, new_start, new_lines) = (0, 0, 1, 1);
        vec![Hunk { old_start, old_lines, new_start, new_lines, added: vec![line], removed: Vec::new() }]
    }

    #[test]
    fn a_file_that_the_digest_does_not_list_is_not_given() {
        let files = [added("a", 1, one_line()), added("b", 1, one_line())];
        let (carried, manifest) = carry(&files, &ReviewPolicy::default(), 1);
        assert_eq!(carried.iter().map(|(hunks, _)| hunks.len()).collect::<Vec<_>>(), [1, 0]);
        let seen = cover(&manifest, &[]);
        assert_eq!(seen.unread.iter().map(|one| one.file.as_str()).collect::<Vec<_>>(), ["b"]);
    }

    #[test]
    fn a_change_too_long_to_keep_is_a_declared_exclusion() {
        let (carried, manifest) = carry(&[added("a", 90_000, Vec::new())], &ReviewPolicy::default(), 10);
        assert_eq!(carried[0].1, Some("too large"));
        assert_eq!(cover(&manifest, &[]).excluded[0].why, Exclusion::TooLarge);
    }
}
