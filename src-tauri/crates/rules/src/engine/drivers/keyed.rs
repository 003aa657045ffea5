//! Lists of keys and values that keep their order.

use std::collections::{BTreeMap, BTreeSet};

/// Keys with their values, in the order of the file. No key stands twice.
pub(super) type Keyed<V> = Vec<(String, V)>;

pub(super) fn keys<V>(keyed: &Keyed<V>) -> BTreeSet<&str> {
    keyed.iter().map(|(key, _)| key.as_str()).collect()
}

pub(super) fn values<V>(keyed: &Keyed<V>) -> BTreeMap<&str, &V> {
    keyed.iter().map(|(key, value)| (key.as_str(), value)).collect()
}

/// The keys of both sides: sorted when both sides are, else ours and then what only theirs has.
pub(super) fn in_order<V: Clone>(ours: &Keyed<V>, theirs: &Keyed<V>) -> Keyed<V> {
    let known = keys(ours);
    let more = theirs.iter().filter(|(key, _)| !known.contains(key.as_str()));
    let mut all: Keyed<V> = ours.iter().chain(more).cloned().collect();
    if ours.is_sorted_by(|a, b| a.0 <= b.0) && theirs.is_sorted_by(|a, b| a.0 <= b.0) {
        all.sort_by(|a, b| a.0.cmp(&b.0));
    }
    all
}
