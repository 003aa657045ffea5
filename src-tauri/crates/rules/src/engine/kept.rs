//! Whether a merge kept what both sides did to entries (engine.md 7): counted after it, whoever merged.

use std::collections::BTreeSet;

use super::entries::EntryKey;
use super::supersede::Values;

/// The entries of which a merged version does not say what it must: what one side alone added, changed or
/// removed holds, and what both sides changed is still there. `below` is what both sides come from.
pub fn unkept(below: &Values, ours: &Values, theirs: &Values, merged: &Values) -> Vec<EntryKey> {
    let all: BTreeSet<&EntryKey> = [below, ours, theirs, merged].into_iter().flat_map(Values::keys).collect();
    let is_kept = |key: &EntryKey| {
        let (was, our, their) = (below.get(key), ours.get(key), theirs.get(key));
        let is = merged.get(key);
        if our == their || their == was {
            is == our
        } else if our == was {
            is == their
        } else {
            our.is_some() && their.is_some() && is.is_some()
        }
    };
    all.into_iter().filter(|key| !is_kept(key)).cloned().collect()
}

/// The entries that a formatter lost or made: it may write values in another way, and no more.
pub fn reshaped(before: &Values, after: &Values) -> Vec<EntryKey> {
    let (old, new): (BTreeSet<_>, BTreeSet<_>) = (before.keys().collect(), after.keys().collect());
    old.symmetric_difference(&new).map(|key| (*key).clone()).collect()
}
