//! What the seat was given of the change, what it read, and what neither reached.

use serde::{Deserialize, Serialize};

use super::verdict::Verdict;
use crate::wording;

/// Lines `from..=to`, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LineRange {
    pub from: u32,
    pub to: u32,
}

impl LineRange {
    pub fn new(from: u32, to: u32) -> Self {
        Self { from, to }
    }
}

/// Which side of the change lines are of: removed ones are at the base, added ones at the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    Base,
    Head,
}

/// Why a changed file is left out of the digest and of what must be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum Exclusion {
    Binary,
    Lockfile,
    Generated,
    TooLarge,
}

impl Exclusion {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Lockfile => "lockfile",
            Self::Generated => "generated",
            Self::TooLarge => "too large",
        }
    }
}

/// One changed file: which of its lines changed, and what of them the digest gives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestFile {
    pub file: String,
    pub changed: Vec<(Side, LineRange)>,
    pub given: Given,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "given")]
pub enum Given {
    Lines { lines: Vec<(Side, LineRange)> },
    Excluded { why: Exclusion },
}

/// What the digest gives of the whole change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub files: Vec<ManifestFile>,
}

/// Lines that the host saw the seat read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadLines {
    pub file: String,
    pub side: Side,
    pub lines: LineRange,
}

/// How much of the change the seat has seen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Coverage {
    pub complete: bool,
    pub excluded: Vec<Excluded>,
    pub unread: Vec<Unread>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excluded {
    pub file: String,
    pub why: Exclusion,
}

/// Changed lines that were neither in the digest nor read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    pub file: String,
    pub side: Side,
    pub from: u32,
    pub to: u32,
}

/// Holds what was given and read against what changed.
pub fn cover(manifest: &Manifest, read: &[ReadLines]) -> Coverage {
    let mut excluded = Vec::new();
    let mut unread = Vec::new();
    for file in &manifest.files {
        let given = match &file.given {
            Given::Excluded { why } => {
                excluded.push(Excluded { file: file.file.clone(), why: *why });
                continue;
            }
            Given::Lines { lines } => lines,
        };
        for side in [Side::Base, Side::Head] {
            let of_side = |lines: &[(Side, LineRange)]| -> Vec<LineRange> {
                lines.iter().filter(|(of, _)| *of == side).map(|(_, range)| *range).collect()
            };
            let mut seen = of_side(given);
            seen.extend(
                read.iter().filter(|one| one.side == side && one.file == file.file).map(|one| one.lines),
            );
            unread.extend(without(of_side(&file.changed), seen).into_iter().map(|range| Unread {
                file: file.file.clone(),
                side,
                from: range.from,
                to: range.to,
            }));
        }
    }
    Coverage { complete: unread.is_empty(), excluded, unread }
}

/// The verdict that the coverage allows, and why it is lower if it is. Only ACCEPTED needs a whole
/// reading: a fault found in a part is a fault.
pub fn lower(verdict: Verdict, coverage: &Coverage) -> (Verdict, Option<String>) {
    match verdict {
        Verdict::Accepted if !coverage.unread.is_empty() => {
            (Verdict::Changes, Some(wording::review::not_read(&coverage.unread)))
        }
        Verdict::Accepted | Verdict::Changes | Verdict::Blocked => (verdict, None),
    }
}

/// The lines of `wanted` that no range of `seen` holds, joined and in order.
fn without(wanted: Vec<LineRange>, seen: Vec<LineRange>) -> Vec<LineRange> {
    let (wanted, seen) = (joined(wanted), joined(seen));
    let mut left = Vec::new();
    let mut first = 0;
    for range in wanted {
        let mut from = u64::from(range.from);
        let to = u64::from(range.to);
        while seen.get(first).is_some_and(|seen| seen.to < range.from) {
            first += 1;
        }
        for seen in seen[first..].iter().take_while(|seen| u64::from(seen.from) <= to) {
            if u64::from(seen.from) > from {
                left.push(LineRange::new(from as u32, seen.from - 1));
            }
            from = from.max(u64::from(seen.to) + 1);
        }
        if from <= to {
            left.push(LineRange::new(from as u32, range.to));
        }
    }
    left
}

/// Sorted, with touching ranges made one; empty ones go.
fn joined(mut ranges: Vec<LineRange>) -> Vec<LineRange> {
    ranges.retain(|range| range.from <= range.to);
    ranges.sort_unstable();
    let mut out: Vec<LineRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match out.last_mut() {
            Some(last) if range.from <= last.to.saturating_add(1) => last.to = last.to.max(range.to),
            _ => out.push(range),
        }
    }
    out
}
