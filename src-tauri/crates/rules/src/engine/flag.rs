//! What the verdict job's comment says its flag is about, in the one form that is read (engine.md 5).
//!
//! The comment may hold one hidden line of JSON, about exactly one head:
//!
//! ```text
//! <!-- steward:findings {"head":"<40 hex>","findings":[{"family":"works","id":"x"},{"path":"data/x.json"}]} -->
//! ```
//!
//! Anything else names nothing: the flag is then about the whole change, which is the careful reading, since
//! only a flag that names something else than the change touches is left unfixed.

use super::entries::EntryKey;
use super::facts::FlagFinding;
use super::json::Json;
use crate::diff::RepoPath;
use crate::ids::Sha;

const OPEN: &str = "<!-- steward:findings ";
const CLOSE: &str = "-->";
/// More findings name nothing.
const MOST: usize = 500;

/// The findings that a comment names for a head; `None` when it says none in the form that is read.
pub fn findings(comment: &str, head: &Sha) -> Option<Vec<FlagFinding>> {
    let rest = &comment[comment.find(OPEN)? + OPEN.len()..];
    let inside = &rest[..rest.find(CLOSE)?];
    // Two of them say two things.
    if rest.contains(OPEN) {
        return None;
    }
    let said = Json::parse(inside.trim()).ok()?;
    if said.get("head").and_then(Json::name)? != head.as_str() {
        return None;
    }
    let Json::List(items) = said.get("findings")? else { return None };
    if items.is_empty() || items.len() > MOST {
        return None;
    }
    items.iter().map(finding).collect()
}

fn finding(item: &Json) -> Option<FlagFinding> {
    let Json::Map(_) = item else { return None };
    let text = |name: &str| match item.get(name) {
        None => Some(None),
        Some(value) => value.name().map(|text| Some(text.to_owned())),
    };
    let (family, id, path) = (text("family")?, text("id")?, text("path")?);
    let entry = match (family, id) {
        (Some(family), Some(id)) => Some(EntryKey::new(family, id)),
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => return None,
    };
    Some(FlagFinding { entry, path: path.map(RepoPath::new) })
}
