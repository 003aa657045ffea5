//! Section 7: the table of the merge driver, one key at a time.

use std::collections::BTreeSet;

use steward_rules::diff::RepoPath;
use steward_rules::engine::drivers::*;
use steward_rules::engine::json::Json;
use steward_rules::engine::policy::{DriverKind, Preset};

use super::world::strings;

fn map(base: Option<&str>, ours: &str, theirs: &str) -> Result<String, Refusal> {
    let versions = Versions { base, ours, theirs };
    merge(&DriverKind::JsonMap(String::new()), &strings(&["sources"]), &versions)
}

#[track_caller]
fn both_ways(base: Option<&str>, ours: &str, theirs: &str, merged: &str) {
    for (ours, theirs) in [(ours, theirs), (theirs, ours)] {
        let got = map(base, ours, theirs).unwrap();
        assert_eq!(Json::parse(&got).unwrap(), Json::parse(merged).unwrap(), "{got}");
    }
}

#[track_caller]
fn refuses(base: Option<&str>, ours: &str, theirs: &str, refusal: Refusal) {
    for (ours, theirs) in [(ours, theirs), (theirs, ours)] {
        assert_eq!(map(base, ours, theirs), Err(refusal.clone()));
        assert_eq!(refusal.exit_code(), 5);
    }
}

fn key(key: &str) -> String {
    key.to_owned()
}

#[test]
fn each_row_of_the_table() {
    let base = Some(r#"{"a": {"t": 1}, "b": {"t": 2}}"#);
    let same = r#"{"a": {"t": 1}, "b": {"t": 2}}"#;
    both_ways(base, same, same, same);
    // Only one side has it, and the base lacks it.
    both_ways(
        base,
        r#"{"a": {"t": 1}, "b": {"t": 2}, "c": {"t": 3}}"#,
        same,
        r#"{"a": {"t": 1}, "b": {"t": 2}, "c": {"t": 3}}"#,
    );
    // Only one side has it, unchanged: deleted.
    both_ways(base, r#"{"a": {"t": 1}}"#, same, r#"{"a": {"t": 1}}"#);
    both_ways(base, r#"{"a": {"t": 1}}"#, r#"{"a": {"t": 1}}"#, r#"{"a": {"t": 1}}"#);
    // Both differ, and one equals the base: the changed side wins.
    both_ways(base, r#"{"a": {"t": 9}, "b": {"t": 2}}"#, same, r#"{"a": {"t": 9}, "b": {"t": 2}}"#);
    both_ways(
        base,
        r#"{"a": {"t": 9}, "b": {"t": 2}}"#,
        r#"{"a": {"t": 9}, "b": {"t": 2}}"#,
        r#"{"a": {"t": 9}, "b": {"t": 2}}"#,
    );
    // Contradicting changes.
    refuses(
        base,
        r#"{"a": {"t": 8}, "b": {"t": 2}}"#,
        r#"{"a": {"t": 9}, "b": {"t": 2}}"#,
        Refusal::Contradiction { key: key("a.t") },
    );
}

#[test]
fn a26_deleted_on_one_side_and_changed_on_the_other_refuses() {
    let base = Some(r#"{"a": {"t": 1}, "b": {"t": 2}}"#);
    refuses(
        base,
        r#"{"a": {"t": 1}}"#,
        r#"{"a": {"t": 1}, "b": {"t": 3}}"#,
        Refusal::DeletedAndChanged { key: key("b") },
    );
    // The same within one entry.
    let base = Some(r#"{"a": {"t": 1, "u": 1}}"#);
    refuses(
        base,
        r#"{"a": {"t": 1, "v": 1}}"#,
        r#"{"a": {"t": 1, "u": 2}}"#,
        Refusal::DeletedAndChanged { key: key("a.u") },
    );
}

#[test]
fn a27_both_added_the_same_entry() {
    // The same authors in another order keep ours.
    let ours = r#"{"a": {"authors": ["X", "Y"], "title": "T"}}"#;
    let theirs = r#"{"a": {"authors": ["Y", "X"], "title": "T"}}"#;
    for base in [None, Some("{}"), Some("")] {
        assert_eq!(Json::parse(&map(base, ours, theirs).unwrap()).unwrap(), Json::parse(ours).unwrap());
        assert_eq!(Json::parse(&map(base, theirs, ours).unwrap()).unwrap(), Json::parse(theirs).unwrap());
    }
    let twice = r#"{"a": {"authors": ["Y", "X", "X"], "title": "T"}}"#;
    refuses(None, ours, twice, Refusal::Contradiction { key: key("a.authors") });
    refuses(
        None,
        r#"{"a": {"narrators": [1, 2]}}"#,
        r#"{"a": {"narrators": [2, 1]}}"#,
        Refusal::Contradiction { key: key("a.narrators") },
    );
    // A contradicting title refuses.
    refuses(
        None,
        r#"{"a": {"title": "T"}}"#,
        r#"{"a": {"title": "U"}}"#,
        Refusal::Contradiction { key: key("a.title") },
    );
    // Missing keys are filled, sources united with ours first.
    let ours = r#"{"a": {"sources": ["s1", "s2"], "title": "T", "year": 1}}"#;
    let theirs = r#"{"a": {"sources": ["s3", "s1"], "title": "T", "asin": "B"}}"#;
    let got = Json::parse(&map(None, ours, theirs).unwrap()).unwrap();
    let merged = r#"{"a": {"sources": ["s1", "s2", "s3"], "title": "T", "year": 1, "asin": "B"}}"#;
    assert_eq!(got, Json::parse(merged).unwrap());
    // What is nested must agree.
    refuses(
        None,
        r#"{"a": {"ids": {"x": 1}}}"#,
        r#"{"a": {"ids": {"x": 1, "y": 2}}}"#,
        Refusal::Contradiction { key: key("a.ids") },
    );
}

#[test]
fn series_are_united_by_work_and_position() {
    let ours = r#"{"s": [{"work": "w1", "position": 1}, {"work": "w2", "position": 2}]}"#;
    let theirs = r#"{"s": [{"work": "w1", "position": 1}, {"work": "w3", "position": 3}]}"#;
    let all = r#"{"s": [{"work": "w1", "position": 1}, {"work": "w2", "position": 2}, {"work": "w3", "position": 3}]}"#;
    assert_eq!(Json::parse(&map(None, ours, theirs).unwrap()).unwrap(), Json::parse(all).unwrap());
    let base = Some(r#"{"s": [{"work": "w1", "position": 1}]}"#);
    assert_eq!(Json::parse(&map(base, ours, theirs).unwrap()).unwrap(), Json::parse(all).unwrap());
    let clash = r#"{"s": [{"work": "w9", "position": 2}]}"#;
    refuses(None, ours, clash, Refusal::OnePosition { key: key("s") });
    let within = |list: &str| format!(r#"{{"a": {{"works": {list}}}}}"#);
    refuses(
        None,
        &within(r#"[{"work": "w1", "position": 1}]"#),
        &within(r#"[{"work": "w2", "position": 1}]"#),
        Refusal::OnePosition { key: key("a.works") },
    );
    // One pair with different words about it, and one that a side deleted while the other changed it.
    refuses(
        None,
        r#"{"s": [{"work": "w", "position": 1, "n": 1}]}"#,
        r#"{"s": [{"work": "w", "position": 1, "n": 2}]}"#,
        Refusal::Contradiction { key: key("s") },
    );
    let base = Some(r#"{"s": [{"work": "w", "position": 1}, {"work": "v", "position": 2}]}"#);
    both_ways(
        base,
        r#"{"s": [{"work": "w", "position": 1}]}"#,
        r#"{"s": [{"work": "w", "position": 1, "n": 1}, {"work": "v", "position": 2}]}"#,
        r#"{"s": [{"work": "w", "position": 1, "n": 1}]}"#,
    );
    refuses(
        base,
        r#"{"s": [{"work": "w", "position": 1}]}"#,
        r#"{"s": [{"work": "w", "position": 1}, {"work": "v", "position": 2, "n": 1}]}"#,
        Refusal::Contradiction { key: key("s") },
    );
}

#[test]
fn members_of_an_entry_that_both_changed_are_merged_one_by_one() {
    let base = Some(r#"{"a": {"t": 1, "y": 2, "sources": ["s1", "s2"], "ids": {"x": 1}}}"#);
    let ours = r#"{"a": {"t": 5, "y": 2, "sources": ["s1", "s2", "s3"], "ids": {"x": 1, "o": 1}}}"#;
    let theirs = r#"{"a": {"t": 1, "y": 7, "sources": ["s2", "s4"], "ids": {"x": 2}}}"#;
    let merged = r#"{"a": {"t": 5, "y": 7, "sources": ["s2", "s3", "s4"], "ids": {"x": 2, "o": 1}}}"#;
    assert_eq!(Json::parse(&map(base, ours, theirs).unwrap()).unwrap(), Json::parse(merged).unwrap());
    refuses(
        Some(r#"{"a": [1]}"#),
        r#"{"a": [1, 2]}"#,
        r#"{"a": [1, 3]}"#,
        Refusal::Contradiction { key: key("a") },
    );
    refuses(
        Some(r#"{"a": {"m": 1}}"#),
        r#"{"a": {"m": 1, "n": 1}}"#,
        r#"{"a": {"m": 1, "n": 2}}"#,
        Refusal::Contradiction { key: key("a.n") },
    );
}

#[test]
fn an_entry_of_which_nothing_is_left_is_removed() {
    let base = Some(r#"{"a": {"m": 1, "n": 2}, "b": 1}"#);
    both_ways(base, r#"{"a": {"m": 1}, "b": 1}"#, r#"{"a": {"n": 2}, "b": 1}"#, r#"{"b": 1}"#);
    // One that was empty before stays.
    both_ways(Some(r#"{"a": {}}"#), r#"{"a": {}, "b": 1}"#, r#"{"a": {}}"#, r#"{"a": {}, "b": 1}"#);
}

#[test]
fn a28_no_key_stands_twice_and_the_form_is_ours() {
    let twice = r#"{"a": 1, "a": 1}"#;
    let refusal = map(None, twice, "{}").unwrap_err();
    assert!(matches!(refusal, Refusal::Unparsed { side: Side::Ours, .. }));
    assert_eq!(refusal.exit_code(), 1);
    assert!(matches!(map(None, "{}", "{"), Err(Refusal::Unparsed { side: Side::Theirs, .. })));
    assert!(matches!(map(Some("["), "{}", "{}"), Err(Refusal::Unparsed { side: Side::Base, .. })));
    let merged = map(Some("{}"), "{\n    \"a\": 1,\n    \"c\": 1.50\n}\n", "{\"b\": 2}").unwrap();
    assert_eq!(
        merged, "{\n    \"a\": 1,\n    \"b\": 2,\n    \"c\": 1.50\n}\n",
        "sorted, since both sides were"
    );
    let unsorted = map(None, r#"{"c": 1, "a": 2}"#, r#"{"b": 3}"#).unwrap();
    assert_eq!(unsorted, r#"{"c":1,"a":2,"b":3}"#, "ours first, then what only theirs has");
}

#[test]
fn a29_what_is_not_keyed_refuses_with_its_own_code() {
    let rules = Preset::DataCatalogue.policy().merge_drivers;
    let rule = rule_for(&rules, &RepoPath::from("data/redirects.json")).unwrap();
    let both = Versions { base: Some("[1]"), ours: "[2]", theirs: "[3]" };
    assert_eq!(merge(&rule.kind, &rule.union_keys, &both), Err(Refusal::PlainText));
    assert_eq!((Refusal::PlainText.exit_code(), Refusal::NotKeyed.exit_code()), (3, 3));
    let works = rule_for(&rules, &RepoPath::from("data/works/a.json")).unwrap();
    assert_eq!(works.kind, DriverKind::JsonMap(String::new()));
    assert_eq!(rule_for(&rules, &RepoPath::from("README.md")), None);
    for keyless in ["[1]", "3", "null"] {
        assert_eq!(map(None, keyless, "{}"), Err(Refusal::NotKeyed));
        assert_eq!(map(None, "{}", keyless), Err(Refusal::NotKeyed));
    }
}

#[test]
fn plain_text_is_taken_from_the_side_that_changed() {
    let text = |base, ours, theirs| merge(&DriverKind::Text, &[], &Versions { base, ours, theirs });
    assert_eq!(text(Some("a"), "b", "a").unwrap(), "b");
    assert_eq!(text(Some("a"), "a", "b").unwrap(), "b");
    assert_eq!(text(Some("a"), "b", "b").unwrap(), "b");
    assert_eq!(text(None, "b", "b").unwrap(), "b");
    assert_eq!(text(None, "a", "b"), Err(Refusal::PlainText));
    assert_eq!(text(Some("c"), "a", "b"), Err(Refusal::PlainText));
}

#[test]
fn lines_are_a_set_merged_three_ways() {
    let lines =
        |base, ours, theirs| merge(&DriverKind::LinesSet, &[], &Versions { base, ours, theirs }).unwrap();
    assert_eq!(lines(Some("a\nb\nc\n"), "a\nb\nc\nd\n", "a\nc\n"), "a\nc\nd\n");
    assert_eq!(lines(Some("a\n"), "a\nc\n", "a\nb\n"), "a\nb\nc\n", "sorted, since both sides were");
    assert_eq!(lines(Some("z\na\n"), "z\na\nm\n", "z\na\nb\n"), "z\na\nm\nb\n");
    assert_eq!(lines(None, "a\na\n", "a\nb\n"), "a\nb\n");
    assert_eq!(lines(Some("a\n"), "", ""), "");
}

#[test]
fn the_entries_may_lie_within_a_document_or_be_an_array() {
    let within = |base, ours, theirs| {
        merge(&DriverKind::JsonMap("v/items".to_owned()), &[], &Versions { base: Some(base), ours, theirs })
    };
    let base = r#"{"version": 1, "v": {"items": {"a": 1}, "n": 0}}"#;
    let merged = within(
        base,
        r#"{"version": 1, "v": {"items": {"a": 1, "b": 2}, "n": 0}}"#,
        r#"{"version": 2, "v": {"items": {"c": 3}, "n": 0}}"#,
    );
    assert_eq!(merged.unwrap(), r#"{"version":2,"v":{"items":{"b":2,"c":3},"n":0}}"#);
    let ours = within(
        base,
        r#"{"version": 2, "v": {"items": {"a": 1}, "n": 0}}"#,
        r#"{"version": 1, "v": {"items": {"c": 3}, "n": 0}}"#,
    );
    assert_eq!(ours.unwrap(), r#"{"version":2,"v":{"items":{"c":3},"n":0}}"#);
    let clash = within(
        base,
        r#"{"version": 3, "v": {"items": {}, "n": 0}}"#,
        r#"{"version": 2, "v": {"items": {}, "n": 0}}"#,
    );
    assert!(matches!(clash, Err(Refusal::Contradiction { .. })));
    assert_eq!(within(base, r#"{"version": 1}"#, base), Err(Refusal::NotKeyed));
    assert_eq!(within(base, r#"{"v": {"items": []}}"#, base), Err(Refusal::NotKeyed));

    let array = |base, ours, theirs| {
        merge(
            &DriverKind::JsonArray("id".to_owned()),
            &strings(&["sources"]),
            &Versions { base, ours, theirs },
        )
    };
    let merged = array(
        Some(r#"[{"id": 1}, {"id": 2}]"#),
        r#"[{"id": 1, "t": 1}, {"id": 2}]"#,
        r#"[{"id": 1}, {"id": 3}]"#,
    );
    assert_eq!(merged.unwrap(), r#"[{"id":1,"t":1},{"id":3}]"#);
    assert_eq!(
        array(None, r#"[{"id": 1}, {"id": 1}]"#, "[]"),
        Err(Refusal::Twice { side: Side::Ours, key: key("1") })
    );
    assert_eq!(array(None, "[]", r#"[{"x": 1}]"#), Err(Refusal::NotKeyed));
    assert_eq!(array(None, "{}", "[]"), Err(Refusal::NotKeyed));
}

#[test]
fn the_count_afterwards_names_what_is_missing_without_leave() {
    let set = |list: &[&'static str]| list.iter().copied().collect::<BTreeSet<&str>>();
    let none = BTreeSet::new();
    let base = set(&["a", "b"]);
    assert_eq!(lost(&base, &set(&["a", "c"]), &set(&["a", "b"]), &set(&["a", "c"]), &none), strings(&[]));
    assert_eq!(lost(&base, &set(&["a", "b"]), &set(&["a", "b"]), &set(&["a"]), &none), strings(&["b"]));
    assert_eq!(lost(&base, &set(&["a", "c"]), &set(&["a", "b"]), &set(&["a"]), &none), strings(&["c"]));
    let emptied = BTreeSet::from(["c".to_owned()]);
    assert_eq!(lost(&base, &set(&["a", "c"]), &set(&["a"]), &set(&["a"]), &emptied), strings(&[]));
}
