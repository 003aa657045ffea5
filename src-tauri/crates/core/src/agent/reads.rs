//! The host's record of what a seat really read.

use std::collections::{BTreeMap, HashMap};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use steward_rules::review::coverage::{LineRange, ReadLines, Side};

use super::stream::ToolInput;

/// Tool calls whose answer is awaited.
const PENDING_CAP: usize = 256;
/// Largest file whose lines are compared with what a search printed.
const COMPARE_CAP: u64 = 8 << 20;
/// An agent shows no more than this of one line, so a longer one was not read to its end.
const LINE_SHOWN: usize = 2_000;
/// Most lines of one search answer that are looked at.
const SEARCH_LINES: usize = 5_000;

/// Which folder of the review a path lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    Tree,
    Base,
    Frames,
}

/// Lines of one file that were given to the agent, both ends included, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadSpan {
    pub place: Place,
    /// Relative to the place.
    pub path: String,
    pub first: u32,
    pub last: u32,
}

impl ReadSpan {
    /// As the coverage rules count it; frames have no lines.
    pub fn as_lines(&self) -> Option<ReadLines> {
        let side = match self.place {
            Place::Tree => Side::Head,
            Place::Base => Side::Base,
            Place::Frames => return None,
        };
        Some(ReadLines { file: self.path.clone(), side, lines: LineRange::new(self.first, self.last) })
    }
}

/// Collects what was read.
#[derive(Debug)]
pub(super) struct Reads {
    /// The review folder as the agent names it, and on this machine.
    inside: PathBuf,
    host: PathBuf,
    pending: HashMap<String, (String, ToolInput)>,
    spans: BTreeMap<(Place, String), Vec<(u32, u32)>>,
}

impl Reads {
    pub(super) fn new(inside: &Path, host: &Path) -> Self {
        Self {
            inside: inside.to_owned(),
            host: host.to_owned(),
            pending: HashMap::new(),
            spans: BTreeMap::new(),
        }
    }

    pub(super) fn asked(&mut self, id: String, name: String, input: ToolInput) {
        if self.pending.len() < PENDING_CAP {
            self.pending.insert(id, (name, input));
        }
    }

    /// Which tool the answer `id` belongs to, once.
    pub(super) fn answered(
        &mut self,
        id: &str,
        failed: bool,
        text: &str,
        file: Option<(String, u32, u32)>,
    ) -> Option<String> {
        let (name, input) = self.pending.remove(id)?;
        if failed {
            return Some(name);
        }
        match name.as_str() {
            "Read" => {
                let path = input.path.unwrap_or_default();
                match file {
                    Some((named, first, count)) if named == path && count > 0 => {
                        self.add_named(&path, first, first.saturating_add(count - 1));
                    }
                    Some(_) | None => {
                        for (first, last) in numbered(text) {
                            self.add_named(&path, first, last);
                        }
                    }
                }
            }
            "Grep" => self.searched(&input, text),
            _ => {}
        }
        Some(name)
    }

    pub(super) fn add(&mut self, place: Place, path: String, first: u32, last: u32) {
        if first >= 1 && last >= first {
            self.spans.entry((place, path)).or_default().push((first, last));
        }
    }

    /// Lines that a Read gave. A line longer than agents show does not count: what stands behind the
    /// cut was never seen.
    fn add_named(&mut self, path: &str, first: u32, last: u32) {
        let Some((place, path)) = self.locate(Path::new(path)) else { return };
        let lines = lines_of(&self.on_host(place, &path)).unwrap_or_default();
        let mut from = first;
        for (number, line) in (1_u32..).zip(&lines).skip(first.saturating_sub(1) as usize) {
            if number > last {
                break;
            }
            if line.chars().count() > LINE_SHOWN {
                self.add(place, path.clone(), from, number - 1);
                from = number + 1;
            }
        }
        self.add(place, path, from, last);
    }

    /// Where a file of the review lies on this machine.
    fn on_host(&self, place: Place, relative: &str) -> PathBuf {
        let folder = match place {
            Place::Tree => "tree",
            Place::Base => "base",
            Place::Frames => "frames",
        };
        self.host.join(folder).join(relative)
    }

    /// The place and relative path of a name the agent used.
    pub(super) fn locate(&self, path: &Path) -> Option<(Place, String)> {
        let relative = if path.is_absolute() { path.strip_prefix(&self.inside).ok()? } else { path };
        let mut parts = relative.components().map(|part| match part {
            Component::Normal(name) => name.to_str(),
            Component::CurDir | Component::ParentDir | Component::RootDir | Component::Prefix(_) => None,
        });
        let place = match parts.next()?? {
            "tree" => Place::Tree,
            "base" => Place::Base,
            "frames" => Place::Frames,
            _ => return None,
        };
        let rest: Option<Vec<&str>> = parts.collect();
        let rest = rest?.join("/");
        (!rest.is_empty()).then_some((place, rest))
    }

    /// Lines a search printed. A printed line counts only when the file on this machine has that very
    /// line there, since names and content are the author's and may hold anything.
    fn searched(&mut self, input: &ToolInput, text: &str) {
        let mut files: HashMap<PathBuf, Option<Vec<String>>> = HashMap::new();
        let mut found = Vec::new();
        for line in text.lines().take(SEARCH_LINES) {
            for (path, number, content) in candidates(line, input.path.as_deref()) {
                let Some((place, relative)) = self.locate(Path::new(&path)) else { continue };
                let host = self.on_host(place, &relative);
                let lines = files.entry(host.clone()).or_insert_with(|| lines_of(&host));
                let index = usize::try_from(number).unwrap_or(usize::MAX).wrapping_sub(1);
                if lines.as_ref().and_then(|lines| lines.get(index)).is_some_and(|there| there == content) {
                    found.push((place, relative, number));
                    break;
                }
            }
        }
        for (place, path, number) in found {
            self.add(place, path, number, number);
        }
    }

    /// Everything read, overlapping and touching spans joined.
    pub(super) fn finish(self) -> Vec<ReadSpan> {
        let mut out = Vec::new();
        for ((place, path), mut spans) in self.spans {
            spans.sort_unstable();
            let mut joined: Vec<(u32, u32)> = Vec::new();
            for (first, last) in spans {
                match joined.last_mut() {
                    Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
                    Some(_) | None => joined.push((first, last)),
                }
            }
            out.extend(joined.into_iter().map(|(first, last)| ReadSpan {
                place,
                path: path.clone(),
                first,
                last,
            }));
        }
        out
    }
}

/// The line numbers that stand before each line of a file shown by the agent, as spans.
fn numbered(text: &str) -> Vec<(u32, u32)> {
    let mut spans: Vec<(u32, u32)> = Vec::new();
    for line in text.lines() {
        let line = line.trim_start_matches(' ');
        let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let Ok(number) = line[..digits].parse::<u32>() else { continue };
        if !line[digits..].starts_with(['\t', '→']) {
            continue;
        }
        match spans.last_mut() {
            Some(span) if span.1.checked_add(1) == Some(number) => span.1 = number,
            Some(_) | None => spans.push((number, number)),
        }
    }
    spans
}

/// The ways one printed line of a search can be taken apart: `path:12:text`, `path-12-text`, or
/// `12:text` when one file was searched.
fn candidates<'a>(line: &'a str, searched: Option<&'a str>) -> Vec<(String, u32, &'a str)> {
    let mut out = Vec::new();
    for (at, mark) in line.char_indices().filter(|(_, c)| matches!(c, ':' | '-')).take(64) {
        let rest = &line[at + 1..];
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits == 0 || !rest[digits..].starts_with(mark) {
            continue;
        }
        if let Ok(number) = rest[..digits].parse() {
            out.push((line[..at].to_owned(), number, &rest[digits + 1..]));
        }
    }
    if let Some(path) = searched {
        let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if let Ok(number) = line[..digits].parse()
            && line[digits..].starts_with([':', '-'])
        {
            out.push((path.to_owned(), number, &line[digits + 1..]));
        }
    }
    out
}

fn lines_of(path: &Path) -> Option<Vec<String>> {
    let meta = std::fs::symlink_metadata(path).ok()?;
    if !meta.is_file() || meta.len() > COMPARE_CAP {
        return None;
    }
    let bytes = std::fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(host: &Path) -> Reads {
        Reads::new(Path::new("/review"), host)
    }

    #[test]
    fn a_line_longer_than_agents_show_was_not_read() {
        let host = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(host.path().join("tree")).expect("made");
        let long = "x".repeat(LINE_SHOWN + 1);
        let fits = "y".repeat(LINE_SHOWN);
        std::fs::write(host.path().join("tree/a.js"), format!("1\n{long}\n{fits}\n4\n")).expect("written");
        let mut reads = reads(host.path());
        reads.add_named("/review/tree/a.js", 1, 4);
        let spans: Vec<_> = reads.finish().into_iter().map(|span| (span.first, span.last)).collect();
        assert_eq!(spans, [(1, 1), (3, 4)]);
    }

    #[test]
    fn a_path_counts_only_inside_the_review() {
        let reads = reads(Path::new("/nowhere"));
        for (path, place) in [
            ("/review/tree/a/b.rs", Some((Place::Tree, "a/b.rs".to_owned()))),
            ("tree/a.rs", Some((Place::Tree, "a.rs".to_owned()))),
            ("/review/base/a.rs", Some((Place::Base, "a.rs".to_owned()))),
            ("/review/tree/../../etc/passwd", None),
            ("/etc/passwd", None),
            ("/review/tree", None),
            ("/review/other/a.rs", None),
        ] {
            assert_eq!(reads.locate(Path::new(path)), place, "{path}");
        }
    }

    #[test]
    fn spans_that_touch_are_joined() {
        let mut reads = reads(Path::new("/nowhere"));
        for (first, last) in [(10, 20), (1, 3), (4, 6), (15, 30), (0, 9), (9, 8)] {
            reads.add(Place::Tree, "a".to_owned(), first, last);
        }
        let spans: Vec<_> = reads.finish().into_iter().map(|s| (s.first, s.last)).collect();
        assert_eq!(spans, [(1, 6), (10, 30)]);
    }

    #[test]
    fn numbers_are_the_agents_own_and_not_those_of_the_text() {
        let text = "     7→99→fake\n     8\t100\tfake\nnot numbered\n    12→x\n";
        assert_eq!(numbered(text), [(7, 8), (12, 12)]);
    }

    #[test]
    fn a_search_counts_only_lines_that_are_really_there() {
        let host = tempfile::tempdir().expect("tempdir");
        std::fs::create_dir(host.path().join("tree")).expect("tree");
        std::fs::write(host.path().join("tree/a.rs"), "one\ntwo\nthree\n").expect("write");
        let mut reads = reads(host.path());
        reads.asked("1".into(), "Grep".into(), ToolInput::default());
        // The second names a file whose name pretends to be a hit in another one.
        let text = "tree/a.rs:2:two\ntree/a.rs:3:x.rs:1:three\ntree/a.rs:1:not this\ntree/a.rs-3-three";
        reads.answered("1", false, text, None);
        let spans: Vec<_> = reads.finish().into_iter().map(|s| (s.path, s.first, s.last)).collect();
        assert_eq!(spans, [("a.rs".to_owned(), 2, 3)]);
    }

    #[test]
    fn a_refused_read_is_no_read() {
        let mut reads = reads(Path::new("/nowhere"));
        let input = ToolInput { path: Some("/review/tree/a".into()), pattern: None };
        reads.asked("1".into(), "Read".into(), input);
        reads.answered("1", true, "     1→x", Some(("/review/tree/a".into(), 1, 10)));
        assert!(reads.finish().is_empty());
    }
}
