//! Paths that read otherwise than they are, or that some systems cannot hold.

use std::collections::HashMap;

use super::answer::{is_new_path, shown};
use crate::diff::{Diff, RepoPath};
use crate::review::findings::OwnFinding;
use crate::untrusted::is_hidden;
use crate::wording::finding as say;

/// Names that Windows keeps for devices, with any extension.
const DEVICES: [&str; 10] =
    ["con", "prn", "aux", "nul", "conin$", "conout$", "com¹", "com²", "com³", "clock$"];

/// One finding per changed path that is odd. Hidden characters are told of every path at the head,
/// the rest of those that the change brings.
pub(super) fn findings(diff: &Diff) -> Vec<OwnFinding> {
    let mut found = Vec::new();
    let mut by_fold: HashMap<String, &RepoPath> = HashMap::new();
    for changed in diff.files.iter().filter(|changed| changed.exists_at_head()) {
        by_fold.entry(fold(&changed.path)).or_insert(&changed.path);
    }
    for changed in diff.files.iter().filter(|changed| changed.exists_at_head()) {
        let path = &changed.path;
        if let Some(odd) = disguise(path) {
            found.push(say::odd_path(&shown(path), odd));
            continue;
        }
        let twin = by_fold.get(&fold(path)).copied().filter(|twin| *twin != path);
        if let Some(twin) = twin {
            found.push(say::colliding_path(&shown(path), &shown(twin)));
        } else if is_new_path(changed)
            && let Some(odd) = path.components().find_map(unportable)
        {
            found.push(say::odd_path(&shown(path), odd));
        }
    }
    found
}

/// Lower-cased, as file systems without case compare names.
pub(crate) fn fold(path: &RepoPath) -> String {
    path.shown().to_lowercase()
}

/// Why a path shows otherwise than it is.
pub(crate) fn disguise(path: &RepoPath) -> Option<&'static str> {
    let Ok(text) = std::str::from_utf8(path.raw()) else {
        return Some("its name is no valid UTF-8");
    };
    if text.chars().any(is_bidi) {
        return Some("its name has a character that turns the reading direction");
    }
    if text.chars().any(is_hidden) {
        return Some("its name has a hidden or control character");
    }
    // A letter and a separate accent look like the one accented letter and are another name.
    let mut previous = ' ';
    for c in text.chars() {
        if ('\u{300}'..='\u{36f}').contains(&c) && previous.is_alphabetic() {
            return Some("its name has a decomposed accent, another name that looks the same");
        }
        previous = c;
    }
    None
}

fn is_bidi(c: char) -> bool {
    matches!(c as u32, 0x061C | 0x200E | 0x200F | 0x202A..=0x202E | 0x2066..=0x2069)
}

/// Why one component of a path cannot stand on every system.
pub(crate) fn unportable(component: &[u8]) -> Option<&'static str> {
    let text = std::str::from_utf8(component).ok()?;
    let lower = text.to_lowercase();
    if matches!(lower.as_str(), "." | ".." | ".git" | "git~1") {
        return Some("its name is one that git keeps for itself");
    }
    let stem = lower.split('.').next().unwrap_or(&lower).trim_end();
    let port = stem.strip_prefix("com").or_else(|| stem.strip_prefix("lpt"));
    let is_port = port.is_some_and(|digit| digit.len() == 1 && matches!(digit.as_bytes()[0], b'1'..=b'9'));
    if is_port || DEVICES.contains(&stem) {
        return Some("Windows keeps its name for a device");
    }
    if text.ends_with('.') || text.ends_with(' ') {
        return Some("its name ends in a dot or space, which Windows drops");
    }
    text.contains(['<', '>', ':', '"', '|', '?', '*', '\\'])
        .then_some("its name has a character that Windows does not allow")
}
