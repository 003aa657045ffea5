//! How large a change is, in entries (engine.md 8).
//!
//! All changed data files are compared at once, before and after, so that an entry that only moved between
//! files is no change. What does not parse makes the size unknown.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::json::{Json, JsonError};
use super::policy::{EntriesPolicy, Unit};
use crate::diff::RepoPath;
use crate::globs::Globs;

/// The keys by which an element of an array may name itself, first match wins.
const NAMES: [&str; 3] = ["slug", "id", "key"];

/// The family of what is a whole file.
const FILE: &str = "file";

/// One entry: its family (for example `works`) and its id within it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EntryKey {
    pub family: String,
    pub id: String,
}

impl EntryKey {
    pub fn new(family: impl Into<String>, id: impl Into<String>) -> Self {
        Self { family: family.into(), id: id.into() }
    }
}

/// What a change does to entries.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryDiff {
    pub added: BTreeSet<EntryKey>,
    pub removed: BTreeSet<EntryKey>,
    pub modified: BTreeSet<EntryKey>,
    /// In another file, with the same value; not counted.
    pub moved: BTreeSet<EntryKey>,
    /// Those of the counted ones that have no name of their own: another wording is another entry, so that one
    /// of them is never found again after it changed.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub nameless: BTreeSet<EntryKey>,
    /// The files those stand in, by their shown paths: such an entry is held against its file.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub files: BTreeSet<String>,
}

impl EntryDiff {
    /// How many entries are added, removed or modified.
    pub fn touched(&self) -> usize {
        self.added.len() + self.removed.len() + self.modified.len()
    }

    /// Those entries.
    pub fn keys(&self) -> BTreeSet<&EntryKey> {
        self.added.iter().chain(&self.removed).chain(&self.modified).collect()
    }

    /// True when this entry is one of those, or stands in a file whose nameless ones are among them.
    pub fn touches(&self, key: &EntryKey) -> bool {
        let is_counted = [&self.added, &self.removed, &self.modified].iter().any(|part| part.contains(key));
        is_counted && !self.nameless.contains(key) || key.family != FILE && self.files.contains(&key.family)
    }

    /// What a fix of this change stays within: entries by their names, and those without one by the file.
    pub fn scope(&self) -> BTreeSet<EntryKey> {
        let named = self.keys().into_iter().filter(|key| !self.nameless.contains(*key)).cloned();
        named.chain(self.files.iter().map(|path| EntryKey::new(FILE, path.as_str()))).collect()
    }

    /// What another change touches beyond this one: entries by their names, and those without one by the file.
    pub fn beyond(&self, change: &Self) -> Vec<EntryKey> {
        let own = self.scope();
        change.scope().into_iter().filter(|key| !own.contains(key) && !self.touches(key)).collect()
    }
}

/// A changed data file on one side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    pub path: RepoPath,
    pub bytes: Vec<u8>,
}

/// Why the size is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CountError {
    #[error("{} is not valid UTF-8", .0.shown())]
    NotText(RepoPath),
    #[error("{}: {error}", .path.shown())]
    Json { path: RepoPath, error: JsonError },
    #[error("{} holds no entries that name themselves", .0.shown())]
    NoEntries(RepoPath),
    #[error("{} holds an unfinished quoted field", .0.shown())]
    Csv(RepoPath),
    #[error("{} {} stands twice", .0.family, .0.id)]
    Twice(EntryKey),
    #[error("{} stands twice in the list of files", .0.shown())]
    FileTwice(RepoPath),
}

/// Where an entry stands, and what it says.
struct Stand {
    path: RepoPath,
    value: [u8; 32],
    has_name: bool,
}

type Side = BTreeMap<EntryKey, Stand>;

/// One entry of a file, with one spelling of its value.
struct Entry {
    key: EntryKey,
    value: String,
    has_name: bool,
}

impl Entry {
    fn named(family: impl Into<String>, id: impl Into<String>, value: String) -> Self {
        Self { key: EntryKey::new(family, id), value, has_name: true }
    }
}

/// The files whose entries are counted by the unit; any other one is an entry itself.
pub struct DataFiles(Globs);

impl DataFiles {
    pub fn new(policy: &EntriesPolicy) -> Self {
        Self(Globs::new(&policy.globs))
    }

    pub fn holds(&self, path: &RepoPath) -> bool {
        self.0.matches(path)
    }
}

/// Compares all changed files of a change: those that stand at the merge base with those at the head.
pub fn count(policy: &EntriesPolicy, before: &[Blob], after: &[Blob]) -> Result<EntryDiff, CountError> {
    let globs = Globs::new(&policy.globs);
    let (old, new) = (side(policy, &globs, before)?, side(policy, &globs, after)?);
    let mut diff = EntryDiff::default();
    for (key, is) in &new {
        match old.get(key) {
            None => diff.added.insert(key.clone()),
            Some(was) if was.value != is.value => diff.modified.insert(key.clone()),
            Some(was) if was.path != is.path => diff.moved.insert(key.clone()),
            Some(_) => continue,
        };
    }
    diff.removed = old.keys().filter(|key| !new.contains_key(*key)).cloned().collect();
    let stands = |key: &EntryKey| new.get(key).or_else(|| old.get(key)).filter(|stand| !stand.has_name);
    let (mut nameless, mut files) = (BTreeSet::new(), BTreeSet::new());
    for key in diff.keys() {
        if let Some(stand) = stands(key) {
            nameless.insert(key.clone());
            files.insert(stand.path.shown());
        }
    }
    (diff.nameless, diff.files) = (nameless, files);
    if let Unit::Lines(per) = policy.unit {
        pack(&mut diff, per.max(1));
    }
    Ok(diff)
}

/// True when what stands in the file at this path counts, not only whether it changed: the reader of such a
/// file gives its bytes, and of any other one whatever tells its content from another.
pub fn reads(policy: &EntriesPolicy) -> impl Fn(&RepoPath) -> bool + use<> {
    let (globs, by_content) = (Globs::new(&policy.globs), policy.unit != Unit::Files);
    move |path| by_content && globs.matches(path)
}

/// The value of every entry of some files, as a hash of one spelling (for the content test of section 5).
pub fn values(policy: &EntriesPolicy, files: &[Blob]) -> Result<BTreeMap<EntryKey, String>, CountError> {
    let side = side(policy, &Globs::new(&policy.globs), files)?;
    Ok(side.into_iter().map(|(key, stand)| (key, hex::encode(stand.value))).collect())
}

fn side(policy: &EntriesPolicy, globs: &Globs, files: &[Blob]) -> Result<Side, CountError> {
    let mut side = Side::new();
    let mut seen = BTreeSet::new();
    for file in files {
        if !seen.insert(&file.path) {
            return Err(CountError::FileTwice(file.path.clone()));
        }
        let unit = if globs.matches(&file.path) { policy.unit } else { Unit::Files };
        for Entry { key, value, has_name } in entries(policy, unit, file)? {
            let value = Sha256::digest(value.as_bytes()).into();
            if side.insert(key.clone(), Stand { path: file.path.clone(), value, has_name }).is_some() {
                return Err(CountError::Twice(key));
            }
        }
    }
    Ok(side)
}

fn entries(policy: &EntriesPolicy, unit: Unit, file: &Blob) -> Result<Vec<Entry>, CountError> {
    if unit == Unit::Files {
        let value = hex::encode(Sha256::digest(&file.bytes));
        return Ok(vec![Entry::named(FILE, file.path.shown(), value)]);
    }
    let Ok(text) = std::str::from_utf8(&file.bytes) else {
        return Err(CountError::NotText(file.path.clone()));
    };
    match unit {
        Unit::Files => Ok(Vec::new()),
        Unit::JsonKeys => json(&family(&policy.root, &file.path), file, text),
        Unit::YamlDocs => Ok(numbered(&file.path, yaml_docs(text))),
        Unit::CsvRows => csv(file, text),
        Unit::Lines(_) => Ok(numbered(&file.path, text.lines())),
    }
}

/// The first component below the root, without its ending: `data/works/a.json` and `data/works.json` are
/// both of `works`, so that splitting a file changes no family.
fn family(root: &str, path: &RepoPath) -> String {
    let mut parts: Vec<&[u8]> = path.components().collect();
    let root: Vec<&str> = root.split('/').filter(|part| !part.is_empty()).collect();
    if parts.len() > root.len() && root.iter().zip(&parts).all(|(a, b)| a.as_bytes() == *b) {
        parts.drain(..root.len());
    }
    let first = String::from_utf8_lossy(parts.first().copied().unwrap_or_default()).into_owned();
    if parts.len() > 1 {
        return first;
    }
    first.split('.').next().unwrap_or(&first).to_owned()
}

fn json(family: &str, file: &Blob, text: &str) -> Result<Vec<Entry>, CountError> {
    let value = Json::parse(text).map_err(|error| CountError::Json { path: file.path.clone(), error })?;
    match value {
        Json::Map(members) => {
            Ok(members.into_iter().map(|(id, value)| Entry::named(family, id, value.canonical())).collect())
        }
        Json::List(items) => items
            .into_iter()
            .map(|item| {
                let id = NAMES.iter().find_map(|name| item.get(name)?.name());
                let id = id.ok_or_else(|| CountError::NoEntries(file.path.clone()))?.to_owned();
                Ok(Entry::named(family, id, item.canonical()))
            })
            .collect(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) => {
            Err(CountError::NoEntries(file.path.clone()))
        }
    }
}

/// Pieces without a name of their own: each is named by what it says and how often it was said before, so
/// that a piece that changed is one removed and one added.
fn numbered<'t>(path: &RepoPath, pieces: impl IntoIterator<Item = &'t str>) -> Vec<Entry> {
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    let family = path.shown();
    pieces
        .into_iter()
        .map(|piece| {
            let time = times.entry(piece).or_default();
            *time += 1;
            let key = EntryKey::new(family.as_str(), format!("{piece}\u{0}{time}"));
            Entry { key, value: String::new(), has_name: false }
        })
        .collect()
}

fn yaml_docs(text: &str) -> Vec<&str> {
    let mut docs = Vec::new();
    let (mut from, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        if line.trim_end() == "---" || line.starts_with("--- ") {
            docs.push(&text[from..at]);
            from = at + line.len();
        }
        at += line.len();
    }
    docs.push(&text[from..]);
    docs.retain(|doc| !doc.trim().is_empty());
    docs
}

/// Rows by their first column; of rows that begin alike the whole row is the name.
fn csv(file: &Blob, text: &str) -> Result<Vec<Entry>, CountError> {
    let rows = rows(text).ok_or_else(|| CountError::Csv(file.path.clone()))?;
    let mut firsts: BTreeMap<&str, usize> = BTreeMap::new();
    for (first, _) in &rows {
        *firsts.entry(first).or_default() += 1;
    }
    let family = file.path.shown();
    let (named, others): (Vec<_>, Vec<_>) = rows.iter().partition(|(first, _)| firsts[first.as_str()] == 1);
    let mut found: Vec<Entry> = named
        .into_iter()
        .map(|(first, row)| Entry::named(family.as_str(), first.as_str(), (*row).to_owned()))
        .collect();
    found.extend(numbered(&file.path, others.into_iter().map(|(_, row)| *row)));
    Ok(found)
}

/// The rows with their first field; `None` when a quoted field does not end.
fn rows(text: &str) -> Option<Vec<(String, &str)>> {
    let (mut rows, mut from, mut is_quoted) = (Vec::new(), 0, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' => is_quoted = !is_quoted,
            '\n' if !is_quoted => {
                rows.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    if is_quoted {
        return None;
    }
    rows.push(&text[from..]);
    let rows = rows.into_iter().map(|row| row.trim_end_matches('\r')).filter(|row| !row.is_empty());
    Some(rows.map(|row| (first_field(row), row)).collect())
}

fn first_field(row: &str) -> String {
    let mut is_quoted = false;
    let end = row.find(|c| {
        is_quoted ^= c == '"';
        c == ',' && !is_quoted
    });
    row[..end.unwrap_or(row.len())].trim().trim_matches('"').to_owned()
}

/// Counts changed lines by so many; whole files stay as they are.
fn pack(diff: &mut EntryDiff, per: u32) {
    let lines = std::mem::take(&mut diff.nameless);
    diff.added.retain(|key| !lines.contains(key));
    diff.removed.retain(|key| !lines.contains(key));
    let packets = lines.len().div_ceil(per as usize);
    diff.nameless = (0..packets).map(|number| EntryKey::new("lines", number.to_string())).collect();
    diff.modified.extend(diff.nameless.iter().cloned());
}
