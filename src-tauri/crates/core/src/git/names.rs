//! Which names of a tree may become files, and why the others may not.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use steward_rules::untrusted::is_hidden;

/// Why an entry of the head was not written into the export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftOut {
    /// A symbolic link; links are written nowhere.
    Symlink,
    Submodule,
    /// `..`, an absolute path, an empty part, a NUL: it would leave the folder.
    Escapes,
    /// A name that git or another system reads as `.git`.
    GitName,
    /// A control, bidirectional or invisible character.
    HiddenCharacter,
    /// Over 4096 bytes, or a part over 255.
    TooLong,
    /// Another entry has the same name but for case or composition.
    Collides,
    /// A file stands where a folder must be, or the other way round.
    Blocked,
    TooLarge,
    Binary,
    /// The export as a whole is full.
    OverBudget,
}

/// Why this path may not be written, judged by its bytes alone.
pub(super) fn refused(path: &[u8]) -> Option<LeftOut> {
    if path.is_empty() || path.contains(&0) || path.starts_with(b"/") {
        return Some(LeftOut::Escapes);
    }
    if path.len() > 4096 {
        return Some(LeftOut::TooLong);
    }
    for part in path.split(|b| *b == b'/') {
        if matches!(part, b"" | b"." | b"..") || part.contains(&b'\\') {
            return Some(LeftOut::Escapes);
        }
        if part.len() > 255 {
            return Some(LeftOut::TooLong);
        }
        if is_git_name(part) {
            return Some(LeftOut::GitName);
        }
    }
    // Bytes that are no UTF-8 stay as they are; control bytes among them do not.
    for chunk in path.utf8_chunks() {
        if chunk.valid().chars().any(is_hidden) {
            return Some(LeftOut::HiddenCharacter);
        }
    }
    None
}

/// `.git` as any file system or git itself might read it: case, NTFS short names and streams,
/// trailing dots and spaces, characters HFS+ ignores.
fn is_git_name(part: &[u8]) -> bool {
    let text = String::from_utf8_lossy(part);
    let seen: String = text.chars().filter(|c| !is_hidden(*c)).collect::<String>().to_lowercase();
    let seen = seen.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    if seen == ".git" {
        return true;
    }
    seen.strip_prefix("git~").is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
}

/// The names two entries must not share: folded case, common compositions undone.
#[derive(Debug, Default)]
pub(super) struct Folded {
    seen: HashMap<Vec<u8>, u32>,
}

impl Folded {
    /// Counts a path and every folder above it, each spelling once.
    pub fn count(&mut self, spellings: &mut std::collections::HashSet<Vec<u8>>, path: &[u8]) {
        let ends = path.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(at, _)| at).chain([path.len()]);
        for end in ends {
            let prefix = &path[..end];
            if spellings.insert(prefix.to_vec()) {
                *self.seen.entry(fold(prefix)).or_default() += 1;
            }
        }
    }

    /// True when the path, or a folder above it, has a twin.
    pub fn collides(&self, path: &[u8]) -> bool {
        let mut ends =
            path.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(at, _)| at).chain([path.len()]);
        ends.any(|end| self.seen.get(&fold(&path[..end])).is_some_and(|n| *n > 1))
    }
}

fn fold(path: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        for c in chunk.valid().chars().flat_map(char::to_lowercase) {
            let mut buffer = [0; 4];
            match decomposed(c) {
                Some((base, mark)) => {
                    out.extend_from_slice(base.encode_utf8(&mut buffer).as_bytes());
                    out.extend_from_slice(mark.encode_utf8(&mut buffer).as_bytes());
                }
                None => out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes()),
            }
        }
        out.extend_from_slice(chunk.invalid());
    }
    out
}

/// The composed Latin letters of U+00C0..U+017F, lower case, as base letter and mark: the pairs that
/// macOS would merge and that turn up in practice.
fn decomposed(c: char) -> Option<(char, char)> {
    const MARKS: &[(char, &str)] = &[
        ('\u{300}', "àaèeìiòoùuǹn"),
        ('\u{301}', "áaéeíióoúuýyćcńnśsźzĺlŕr"),
        ('\u{302}', "âaêeîiôoûuĉcĝgĥhĵjŝsŵwŷy"),
        ('\u{303}', "ãañnõoĩiũu"),
        ('\u{304}', "āaēeīiōoūu"),
        ('\u{306}', "ăaĕeğgĭiŏoŭu"),
        ('\u{307}', "ċcėeġgżz"),
        ('\u{308}', "äaëeïiöoüuÿy"),
        ('\u{30a}', "åaůu"),
        ('\u{30b}', "őoűu"),
        ('\u{30c}', "čcďděeňnřršsťtžz"),
        ('\u{327}', "çcģgķkļlņnŗrşsţt"),
        ('\u{328}', "ąaęeįiųu"),
    ];
    if c.is_ascii() {
        return None;
    }
    MARKS.iter().find_map(|(mark, pairs)| {
        let mut letters = pairs.chars();
        while let (Some(composed), Some(base)) = (letters.next(), letters.next()) {
            if composed == c {
                return Some((base, *mark));
            }
        }
        None
    })
}
