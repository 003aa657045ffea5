//! The structured merge driver: three versions of a file merged by entries, not by lines (engine.md 7).
//!
//! A line merge can duplicate a key or drop one. Here every key is decided by one table, what contradicts
//! itself is refused, and the result is counted afterwards.

mod entry;
mod keyed;

use std::collections::BTreeSet;

use super::json::{Json, JsonError};
use super::policy::{DriverKind, DriverRule};
use crate::diff::RepoPath;
use crate::globs::Globs;
use entry::Entries;
use keyed::Keyed;

/// Which of the versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Base,
    Ours,
    Theirs,
}

/// The three versions; a file that is new on both sides has no base.
#[derive(Debug, Clone, Copy)]
pub struct Versions<'t> {
    pub base: Option<&'t str>,
    pub ours: &'t str,
    pub theirs: &'t str,
}

/// Why the driver does not merge.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the file holds no entries with keys")]
    NotKeyed,
    #[error("plain text that both sides changed")]
    PlainText,
    #[error("one version cannot be read: {error}")]
    Unparsed { side: Side, error: JsonError },
    #[error("{key} stands twice in one version")]
    Twice { side: Side, key: String },
    #[error("{key} was deleted on one side and changed on the other")]
    DeletedAndChanged { key: String },
    #[error("both sides say different things of {key}")]
    Contradiction { key: String },
    #[error("one position holds two works in {key}")]
    OnePosition { key: String },
    #[error("entries would be lost: {}", .keys.join(", "))]
    Lost { keys: Vec<String> },
}

impl Refusal {
    /// The exit code of the driver as a command of git: 1 cannot, 3 not a keyed file, 5 a real conflict.
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::Unparsed { .. } | Self::Twice { .. } | Self::Lost { .. } => 1,
            Self::NotKeyed | Self::PlainText => 3,
            Self::DeletedAndChanged { .. } | Self::Contradiction { .. } | Self::OnePosition { .. } => 5,
        }
    }
}

/// The rule for a path: the first one whose glob matches; `None` is plain text.
pub fn rule_for<'p>(rules: &'p [DriverRule], path: &RepoPath) -> Option<&'p DriverRule> {
    rules.iter().find(|rule| Globs::new(&[&rule.glob]).matches(path))
}

/// Merges three versions of one file. Plain text is merged here only when one side left it as it was;
/// else git does it, and any conflict refuses.
pub fn merge(kind: &DriverKind, union_keys: &[String], versions: &Versions<'_>) -> Result<String, Refusal> {
    match kind {
        DriverKind::Text => text(versions),
        DriverKind::LinesSet => Ok(lines(versions)),
        DriverKind::JsonMap(path) => map(path, union_keys, versions),
        DriverKind::JsonArray(key) => array(key, union_keys, versions),
    }
}

fn text(versions: &Versions<'_>) -> Result<String, Refusal> {
    let Versions { base, ours, theirs } = *versions;
    if ours == theirs || base == Some(theirs) {
        Ok(ours.to_owned())
    } else if base == Some(ours) {
        Ok(theirs.to_owned())
    } else {
        Err(Refusal::PlainText)
    }
}

/// A line is its own key, so two sides cannot contradict each other.
fn lines(versions: &Versions<'_>) -> String {
    let keyed = |text: &str| -> Vec<(String, ())> {
        let mut seen = BTreeSet::new();
        text.lines().filter(|line| seen.insert(*line)).map(|line| (line.to_owned(), ())).collect()
    };
    let (ours, theirs) = (keyed(versions.ours), keyed(versions.theirs));
    let base = keyed(versions.base.unwrap_or_default());
    let (base_keys, mut merged) = (keyed::keys(&base), Vec::new());
    let (our_keys, their_keys) = (keyed::keys(&ours), keyed::keys(&theirs));
    for (line, ()) in keyed::in_order(&ours, &theirs) {
        let on_both = our_keys.contains(line.as_str()) && their_keys.contains(line.as_str());
        if on_both || !base_keys.contains(line.as_str()) {
            merged.push(line);
        }
    }
    let mut out = merged.join("\n");
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

fn parse(side: Side, text: &str) -> Result<Json, Refusal> {
    Json::parse(text).map_err(|error| Refusal::Unparsed { side, error })
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn map(path: &str, union_keys: &[String], versions: &Versions<'_>) -> Result<String, Refusal> {
    let steps: Vec<&str> = path.split('/').filter(|step| !step.is_empty()).collect();
    let (ours, our_rest) = take(parse(Side::Ours, versions.ours)?, &steps)?;
    let (theirs, their_rest) = take(parse(Side::Theirs, versions.theirs)?, &steps)?;
    let (base, base_rest) = match versions.base.filter(|text| !is_blank(text)) {
        None => (Vec::new(), None),
        Some(text) => {
            let (base, rest) = take(parse(Side::Base, text)?, &steps)?;
            (base, Some(rest))
        }
    };
    let rest = if our_rest == their_rest || base_rest.as_ref() == Some(&their_rest) {
        our_rest
    } else if base_rest.as_ref() == Some(&our_rest) {
        their_rest
    } else {
        return Err(Refusal::Contradiction { key: "what is around the entries".to_owned() });
    };
    let merged = Entries { union_keys }.merge(&base, &ours, &theirs)?;
    Ok(written(&put(rest, &steps, Json::Map(merged)), versions.ours))
}

/// The object at a path, and the document with `null` in its place.
fn take(document: Json, steps: &[&str]) -> Result<(Keyed<Json>, Json), Refusal> {
    match (document, steps.split_first()) {
        (Json::Map(members), None) => Ok((members, Json::Null)),
        (Json::Map(mut members), Some((step, deeper))) => {
            let at = members.iter().position(|(key, _)| key == step).ok_or(Refusal::NotKeyed)?;
            let inner = std::mem::replace(&mut members[at].1, Json::Null);
            let (entries, rest) = take(inner, deeper)?;
            members[at].1 = rest;
            Ok((entries, Json::Map(members)))
        }
        (Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::List(_), _) => {
            Err(Refusal::NotKeyed)
        }
    }
}

fn put(document: Json, steps: &[&str], entries: Json) -> Json {
    match (document, steps.split_first()) {
        (Json::Map(members), Some((step, deeper))) => Json::Map(
            members
                .into_iter()
                .map(|(key, value)| {
                    let value = if key == *step { put(value, deeper, entries.clone()) } else { value };
                    (key, value)
                })
                .collect(),
        ),
        (_, _) => entries,
    }
}

fn array(key: &str, union_keys: &[String], versions: &Versions<'_>) -> Result<String, Refusal> {
    let ours = keyed_by(key, Side::Ours, parse(Side::Ours, versions.ours)?)?;
    let theirs = keyed_by(key, Side::Theirs, parse(Side::Theirs, versions.theirs)?)?;
    let base = match versions.base.filter(|text| !is_blank(text)) {
        None => Vec::new(),
        Some(text) => keyed_by(key, Side::Base, parse(Side::Base, text)?)?,
    };
    let merged = Entries { union_keys }.merge(&base, &ours, &theirs)?;
    let items = merged.into_iter().map(|(_, value)| value).collect();
    Ok(written(&Json::List(items), versions.ours))
}

fn keyed_by(key: &str, side: Side, document: Json) -> Result<Keyed<Json>, Refusal> {
    let Json::List(items) = document else { return Err(Refusal::NotKeyed) };
    let mut keyed: Keyed<Json> = Vec::new();
    let mut seen = BTreeSet::new();
    for item in items {
        let name = item.get(key).and_then(Json::name).ok_or(Refusal::NotKeyed)?.to_owned();
        if !seen.insert(name.clone()) {
            return Err(Refusal::Twice { side, key: name });
        }
        keyed.push((name, item));
    }
    Ok(keyed)
}

/// In the form of our side: its indent, or one line.
fn written(document: &Json, ours: &str) -> String {
    let second = ours.trim_end().lines().nth(1);
    match second {
        None => format!("{}{}", document.compact(), if ours.ends_with('\n') { "\n" } else { "" }),
        Some(line) => document.pretty(line.len() - line.trim_start().len()),
    }
}

/// The entries of both sides that a merged version lacks without leave: the base had them and one side
/// deleted them, or nothing was left of their members.
pub fn lost<'k>(
    base: &BTreeSet<&str>,
    ours: &BTreeSet<&'k str>,
    theirs: &BTreeSet<&'k str>,
    merged: &BTreeSet<&str>,
    emptied: &BTreeSet<String>,
) -> Vec<String> {
    let may_miss = |key: &str| {
        let is_deleted = base.contains(key) && !(ours.contains(key) && theirs.contains(key));
        is_deleted || emptied.contains(key)
    };
    let all = ours.union(theirs).filter(|key| !merged.contains(**key) && !may_miss(key));
    all.map(|key| (*key).to_owned()).collect()
}
