//! One key at a time: the table of engine.md 7.

use std::collections::BTreeSet;

use super::keyed::{Keyed, in_order, keys, values};
use super::{Refusal, lost};
use crate::engine::json::Json;

/// The list of people whose order a side may choose.
const AUTHORS: &str = "authors";
/// What names an element of a series.
const WORK: &str = "work";
const POSITION: &str = "position";

/// Merges entries; the lists under these keys are united.
pub(super) struct Entries<'p> {
    pub union_keys: &'p [String],
}

impl Entries<'_> {
    /// Decides every key, drops entries of which nothing is left, and counts afterwards.
    pub fn merge(
        &self,
        base: &Keyed<Json>,
        ours: &Keyed<Json>,
        theirs: &Keyed<Json>,
    ) -> Result<Keyed<Json>, Refusal> {
        let mut emptied = BTreeSet::new();
        let mut merged = Vec::new();
        for (key, value) in self.decided(base, ours, theirs, "")? {
            let was_empty =
                |side: &Keyed<Json>| values(side).get(key.as_str()).is_some_and(|one| one.is_empty());
            if value.is_empty() && !was_empty(ours) && !was_empty(theirs) {
                emptied.insert(key);
            } else {
                merged.push((key, value));
            }
        }
        let missing = lost(&keys(base), &keys(ours), &keys(theirs), &keys(&merged), &emptied);
        if !missing.is_empty() {
            return Err(Refusal::Lost { keys: missing });
        }
        Ok(merged)
    }

    /// The table, for the keys of entries and for the members of one entry that both sides changed.
    fn decided(
        &self,
        base: &Keyed<Json>,
        ours: &Keyed<Json>,
        theirs: &Keyed<Json>,
        within: &str,
    ) -> Result<Keyed<Json>, Refusal> {
        let (base, our, their) = (values(base), values(ours), values(theirs));
        let mut out = Vec::new();
        for (key, _) in in_order(ours, theirs) {
            let name = if within.is_empty() { key.clone() } else { format!("{within}.{key}") };
            let find = |side: &std::collections::BTreeMap<&str, &Json>| {
                side.get(key.as_str()).map(|one| (*one).clone())
            };
            let value = match (find(&base), find(&our), find(&their)) {
                (_, Some(o), Some(t)) if o == t => Some(o),
                (None, Some(only), None) | (None, None, Some(only)) => Some(only),
                (Some(b), Some(only), None) | (Some(b), None, Some(only)) if b == only => None,
                (Some(_), Some(_), None) | (Some(_), None, Some(_)) => {
                    return Err(Refusal::DeletedAndChanged { key: name });
                }
                (Some(b), Some(o), Some(t)) if b == o => Some(t),
                (Some(b), Some(o), Some(t)) if b == t => Some(o),
                (Some(b), Some(o), Some(t)) => Some(self.both_changed(&key, &name, b, o, t)?),
                (None, Some(o), Some(t)) if within.is_empty() => Some(self.both_added(&key, &name, o, t)?),
                (None, Some(o), Some(t)) => Some(self.members_differ(&key, &name, o, t)?),
                (_, None, None) => None,
            };
            out.extend(value.map(|value| (key, value)));
        }
        Ok(out)
    }

    /// Both sides changed one value in different ways: member by member, or element by element.
    fn both_changed(&self, key: &str, name: &str, b: Json, o: Json, t: Json) -> Result<Json, Refusal> {
        match (b, o, t) {
            (Json::Map(b), Json::Map(o), Json::Map(t)) => Ok(Json::Map(self.decided(&b, &o, &t, name)?)),
            (Json::List(b), Json::List(o), Json::List(t)) if self.is_united(key) => {
                Ok(Json::List(united(&b, &o, &t)))
            }
            (Json::List(b), Json::List(o), Json::List(t)) if is_series(&o) && is_series(&t) => {
                self.series(name, &b, &o, &t)
            }
            (_, o, t) => same_people(key, name, o, t),
        }
    }

    /// Both sides added one entry: what only one says is taken over, what both say must agree.
    fn both_added(&self, key: &str, name: &str, o: Json, t: Json) -> Result<Json, Refusal> {
        match (o, t) {
            (Json::Map(o), Json::Map(t)) => {
                let (our, their) = (values(&o), values(&t));
                let mut members = Vec::new();
                for (member, _) in in_order(&o, &t) {
                    let name = format!("{name}.{member}");
                    let value = match (our.get(member.as_str()), their.get(member.as_str())) {
                        (Some(o), Some(t)) if o == t => (*o).clone(),
                        (Some(o), Some(t)) => {
                            self.members_differ(&member, &name, (*o).clone(), (*t).clone())?
                        }
                        (Some(only), None) | (None, Some(only)) => (*only).clone(),
                        (None, None) => continue,
                    };
                    members.push((member, value));
                }
                Ok(Json::Map(members))
            }
            (o, t) => self.members_differ(key, name, o, t),
        }
    }

    /// Two values of one key that the base does not know.
    fn members_differ(&self, key: &str, name: &str, o: Json, t: Json) -> Result<Json, Refusal> {
        match (o, t) {
            (Json::List(o), Json::List(t)) if self.is_united(key) => Ok(Json::List(united(&[], &o, &t))),
            (Json::List(o), Json::List(t)) if is_series(&o) && is_series(&t) => {
                self.series(name, &[], &o, &t)
            }
            (o, t) => same_people(key, name, o, t),
        }
    }

    fn is_united(&self, key: &str) -> bool {
        self.union_keys.iter().any(|one| one == key)
    }

    /// A list of works at positions, by (work, position).
    fn series(&self, name: &str, base: &[Json], ours: &[Json], theirs: &[Json]) -> Result<Json, Refusal> {
        let keyed = |items: &[Json]| -> Option<Keyed<Json>> {
            let pairs: Keyed<Json> =
                items.iter().map(|item| Some((pair(item)?, item.clone()))).collect::<Option<_>>()?;
            (keys(&pairs).len() == pairs.len()).then_some(pairs)
        };
        let refuse = || Refusal::Contradiction { key: name.to_owned() };
        let base = keyed(base).ok_or_else(refuse)?;
        let (ours, theirs) = (keyed(ours).ok_or_else(refuse)?, keyed(theirs).ok_or_else(refuse)?);
        let mut merged = Vec::new();
        let (our, their, was) = (values(&ours), values(&theirs), values(&base));
        let known = keys(&ours);
        let more = theirs.iter().filter(|(key, _)| !known.contains(key.as_str()));
        for (key, _) in ours.iter().chain(more) {
            let found = (was.get(key.as_str()), our.get(key.as_str()), their.get(key.as_str()));
            match found {
                (_, Some(o), Some(t)) if o == t => merged.push((*o).clone()),
                (Some(b), Some(o), Some(t)) if b == o => merged.push((*t).clone()),
                (Some(b), Some(o), Some(t)) if b == t => merged.push((*o).clone()),
                (None, Some(only), None) | (None, None, Some(only)) => merged.push((*only).clone()),
                (Some(b), Some(only), None) | (Some(b), None, Some(only)) if b == only => {}
                (_, _, _) => return Err(refuse()),
            }
        }
        let positions: BTreeSet<String> =
            merged.iter().filter_map(|item| Some(item.get(POSITION)?.canonical())).collect();
        if positions.len() < merged.len() {
            return Err(Refusal::OnePosition { key: name.to_owned() });
        }
        Ok(Json::List(merged))
    }
}

/// What both sides hold or added, ours first, without what either side took away.
fn united(base: &[Json], ours: &[Json], theirs: &[Json]) -> Vec<Json> {
    let is_kept = |item: &&Json| !base.contains(item) || (ours.contains(item) && theirs.contains(item));
    let mut out: Vec<Json> = Vec::new();
    for item in ours.iter().chain(theirs).filter(is_kept) {
        if !out.contains(item) {
            out.push(item.clone());
        }
    }
    out
}

/// The same people in another order are the same people, and ours is kept.
fn same_people(key: &str, name: &str, o: Json, t: Json) -> Result<Json, Refusal> {
    if let (AUTHORS, Json::List(our), Json::List(their)) = (key, &o, &t) {
        let sorted = |items: &[Json]| {
            let mut names: Vec<String> = items.iter().map(Json::canonical).collect();
            names.sort_unstable();
            names
        };
        if sorted(our) == sorted(their) {
            return Ok(o);
        }
    }
    Err(Refusal::Contradiction { key: name.to_owned() })
}

fn is_series(items: &[Json]) -> bool {
    items.iter().all(|item| pair(item).is_some())
}

fn pair(item: &Json) -> Option<String> {
    Some(format!("{}\u{0}{}", item.get(WORK)?.canonical(), item.get(POSITION)?.canonical()))
}
