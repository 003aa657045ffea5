//! What holds for every file: of the merge driver, of the entry count and of JSON.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use steward_rules::diff::RepoPath;
use steward_rules::engine::drivers::{Versions, merge};
use steward_rules::engine::entries::{Blob, count};
use steward_rules::engine::json::Json;
use steward_rules::engine::policy::{DriverKind, EntriesPolicy, Unit};

use super::world::strings;

/// A small catalogue: entries by key, each a few members.
type Catalogue = BTreeMap<String, BTreeMap<String, u8>>;

fn a_catalogue() -> impl Strategy<Value = Catalogue> {
    let members = prop::collection::btree_map("[tuv]", 0_u8..3, 1..3);
    prop::collection::btree_map("[a-f]", members, 0..6)
}

fn text(catalogue: &Catalogue) -> String {
    let entry = |members: &BTreeMap<String, u8>| {
        Json::Map(members.iter().map(|(key, value)| (key.clone(), Json::Number(value.to_string()))).collect())
    };
    Json::Map(catalogue.iter().map(|(key, members)| (key.clone(), entry(members))).collect()).pretty(2)
}

fn merged(base: &Catalogue, ours: &Catalogue, theirs: &Catalogue) -> Option<Json> {
    let (base, ours, theirs) = (text(base), text(ours), text(theirs));
    let versions = Versions { base: Some(&base), ours: &ours, theirs: &theirs };
    let merged = merge(&DriverKind::JsonMap(String::new()), &[], &versions).ok()?;
    Some(Json::parse(&merged).unwrap())
}

fn keys(json: &Json) -> BTreeSet<String> {
    match json {
        Json::Map(members) => members.iter().map(|(key, _)| key.clone()).collect(),
        other => panic!("no object: {other:?}"),
    }
}

fn a_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        any::<i64>().prop_map(|number| Json::Number(number.to_string())),
        any::<String>().prop_map(Json::Text),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Json::List),
            prop::collection::btree_map(any::<String>(), inner, 0..5)
                .prop_map(|members| Json::Map(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_side_that_changed_nothing_gives_way(base in a_catalogue(), other in a_catalogue()) {
        let wanted = Json::parse(&text(&other)).unwrap();
        prop_assert_eq!(merged(&base, &other, &base), Some(wanted.clone()));
        prop_assert_eq!(merged(&base, &base, &other), Some(wanted.clone()));
        prop_assert_eq!(merged(&base, &other, &other), Some(wanted));
    }

    #[test]
    fn which_side_is_ours_decides_nothing_but_order(base in a_catalogue(), ours in a_catalogue(), theirs in a_catalogue()) {
        prop_assert_eq!(merged(&base, &ours, &theirs), merged(&base, &theirs, &ours));
    }

    /// Held against the table, read once more by whole entries: what it decides without looking into an
    /// entry, the driver decides so.
    #[test]
    fn no_entry_is_lost_doubled_or_made_up(base in a_catalogue(), ours in a_catalogue(), theirs in a_catalogue()) {
        let Some(merged) = merged(&base, &ours, &theirs) else { return Ok(()) };
        let left = keys(&merged);
        for key in base.keys().chain(ours.keys()).chain(theirs.keys()) {
            let (b, o, t) = (base.get(key), ours.get(key), theirs.get(key));
            match (b, o, t) {
                (_, None, None) => prop_assert!(!left.contains(key), "{} came back", key),
                (None, Some(_), _) | (None, _, Some(_)) => prop_assert!(left.contains(key), "{} is lost", key),
                (Some(_), Some(_), None) | (Some(_), None, Some(_)) => {
                    prop_assert!(!left.contains(key), "{} was deleted, or it should have refused", key);
                }
                (Some(b), Some(o), Some(t)) => {
                    // Nothing left of its members: each was deleted on one side.
                    let is_emptied = b.keys().all(|member| !o.contains_key(member) || !t.contains_key(member))
                        && o.keys().chain(t.keys()).all(|member| b.contains_key(member));
                    prop_assert_eq!(left.contains(key), !is_emptied, "{}", key);
                }
            }
        }
        for key in &left {
            prop_assert!(ours.contains_key(key) || theirs.contains_key(key));
        }
    }

    #[test]
    fn splitting_files_touches_nothing_and_one_change_touches_one(catalogue in a_catalogue(), parts in 1_usize..5) {
        let policy = EntriesPolicy {
            unit: Unit::JsonKeys,
            globs: strings(&["data/**"]),
            root: "data".to_owned(),
        };
        let blob = |path: String, catalogue: &Catalogue| Blob {
            path: RepoPath::from(path.as_str()),
            bytes: text(catalogue).into_bytes(),
        };
        let whole = [blob("data/works.json".to_owned(), &catalogue)];
        let split: Vec<Blob> = (0..parts)
            .map(|part| {
                let own = catalogue.iter().enumerate().filter(|(at, _)| at % parts == part);
                let own: Catalogue = own.map(|(_, (key, members))| (key.clone(), members.clone())).collect();
                blob(format!("data/works/{part}.json"), &own)
            })
            .collect();
        prop_assert_eq!(count(&policy, &whole, &split).unwrap().touched(), 0);
        prop_assert_eq!(count(&policy, &split, &whole).unwrap().touched(), 0);
        if let Some(first) = catalogue.keys().next() {
            let mut changed = catalogue.clone();
            changed.get_mut(first).unwrap().insert("t".to_owned(), 9);
            let after = [blob("data/works.json".to_owned(), &changed)];
            prop_assert_eq!(count(&policy, &split, &after).unwrap().touched(), 1);
            changed.remove(first);
            let after = [blob("data/works.json".to_owned(), &changed)];
            let diff = count(&policy, &whole, &after).unwrap();
            prop_assert_eq!((diff.removed.len(), diff.touched()), (1, 1));
        }
    }

    #[test]
    fn json_that_is_written_is_read_as_it_was(value in a_json(), indent in 0_usize..5) {
        prop_assert_eq!(&Json::parse(&value.pretty(indent)).unwrap(), &value);
        prop_assert_eq!(&Json::parse(&value.compact()).unwrap(), &value);
        prop_assert_eq!(Json::parse(&value.canonical()).unwrap().canonical(), value.canonical());
        // Another reader agrees.
        let other: serde_json::Value = serde_json::from_str(&value.compact()).unwrap();
        let same: serde_json::Value = serde_json::from_str(&value.pretty(2)).unwrap();
        prop_assert_eq!(other, same);
    }

    #[test]
    fn any_text_is_json_here_only_when_it_is_json_elsewhere(text in r#"[\[\]{}",:0-9a-z\\ .eE+-]{0,12}"#) {
        if Json::parse(&text).is_ok() {
            prop_assert!(serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok(), "{}", text);
        } else if serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok() {
            // A key that stands twice is refused here, and only that.
            prop_assert!(text.matches("\":").count() + text.matches("\" :").count() > 1, "{}", text);
        }
    }
}
