//! Section 8: how large a change is.

use steward_rules::diff::RepoPath;
use steward_rules::engine::entries::*;
use steward_rules::engine::json::{Json, JsonError};
use steward_rules::engine::policy::{EntriesPolicy, Unit};

use super::world::strings;

fn policy(unit: Unit) -> EntriesPolicy {
    EntriesPolicy { unit, globs: strings(&["data/**"]), root: "data".to_owned() }
}

fn blobs(files: &[(&str, &str)]) -> Vec<Blob> {
    files
        .iter()
        .map(|(path, text)| Blob { path: RepoPath::from(*path), bytes: text.as_bytes().to_vec() })
        .collect()
}

fn diff(unit: Unit, before: &[(&str, &str)], after: &[(&str, &str)]) -> EntryDiff {
    count(&policy(unit), &blobs(before), &blobs(after)).unwrap()
}

fn sizes(diff: &EntryDiff) -> [usize; 4] {
    [diff.added.len(), diff.removed.len(), diff.modified.len(), diff.moved.len()]
}

#[test]
fn only_data_files_are_counted_by_the_unit() {
    let data = DataFiles::new(&policy(Unit::JsonKeys));
    for (path, is_data) in [("data/works/a.json", true), ("data.json", false), ("docs/data/a.json", false)] {
        assert_eq!(data.holds(&RepoPath::from(path)), is_data, "{path}");
        let two = [(path, r#"{"x": {"t": 1}, "y": {"t": 2}}"#)];
        assert_eq!(diff(Unit::JsonKeys, &[], &two).touched(), if is_data { 2 } else { 1 }, "{path}");
    }
}

#[test]
fn json_entries_are_added_removed_modified_or_only_moved() {
    let before = [("data/works/a.json", r#"{"x": {"t": 1}, "y": {"t": 2}, "z": {"t": 3}}"#)];
    let after = [
        ("data/works/a.json", r#"{"x": {"t": 1}, "y": {"t": 5}}"#),
        ("data/works/b.json", r#"{"w": {"t": 4}}"#),
    ];
    let change = diff(Unit::JsonKeys, &before, &after);
    assert_eq!((sizes(&change), change.touched()), ([1, 1, 1, 0], 3));
    assert!(change.added.contains(&EntryKey::new("works", "w")));
    assert!(change.removed.contains(&EntryKey::new("works", "z")));
    assert!(change.keys().contains(&EntryKey::new("works", "y")));
}

#[test]
fn a19_a_re_split_of_files_touches_no_entry() {
    let entry = |n: usize| format!(r#""k{n:03}": {{"title": "T{n}", "year": {n}}}"#);
    let whole: Vec<String> = (0..400).map(entry).collect();
    let one = format!("{{{}}}", whole.join(","));
    let names: Vec<String> = (0..400).map(|n| format!("data/works/{n:03}.json")).collect();
    let parts: Vec<String> = (0..400).map(|n| format!("{{ {} }}", entry(n))).collect();
    let after: Vec<(&str, &str)> =
        names.iter().map(String::as_str).zip(parts.iter().map(String::as_str)).collect();
    for before in ["data/works.json", "data/works/all.json"] {
        let change = diff(Unit::JsonKeys, &[(before, &one)], &after);
        assert_eq!((sizes(&change), change.touched()), ([0, 0, 0, 400], 0));
    }
    // A folder may have a dot in its name, and a file may lie above the root.
    let dotted =
        diff(Unit::JsonKeys, &[("data/v1.2/a.json", r#"{"a": 1}"#)], &[("data/v1.3/a.json", r#"{"a": 1}"#)]);
    assert_eq!(dotted.touched(), 2);
    let deep = EntriesPolicy { root: "data/works".to_owned(), globs: strings(&["**"]), unit: Unit::JsonKeys };
    let above = count(&deep, &[], &blobs(&[("data", r#"{"a": 1}"#)])).unwrap();
    assert!(above.added.contains(&EntryKey::new("data", "a")));
    // Another family is another entry.
    let change =
        diff(Unit::JsonKeys, &[("data/works.json", r#"{"a": 1}"#)], &[("data/people.json", r#"{"a": 1}"#)]);
    assert_eq!(change.touched(), 2);
}

#[test]
fn order_of_keys_and_spelling_are_no_change_and_values_are() {
    let old = [("data/w.json", "{\"a\": {\"x\": 1, \"y\": \"\\u00e9\"}, \"b\": [1, 2]}")];
    let same = [("data/w.json", "{\"b\":[1,2],\n\"a\":{\"y\":\"é\",\"x\":1}}")];
    assert_eq!(diff(Unit::JsonKeys, &old, &same).touched(), 0);
    let other = [("data/w.json", "{\"b\":[2,1],\n\"a\":{\"y\":\"é\",\"x\":1.0}}")];
    assert_eq!(sizes(&diff(Unit::JsonKeys, &old, &other)), [0, 0, 2, 0]);
}

#[test]
fn elements_of_an_array_name_themselves_or_the_size_is_unknown() {
    let list = |text: &'static str| [("data/w.json", text)];
    let old = list(r#"[{"slug": "a", "id": 1}, {"id": 2}, {"key": "k"}]"#);
    let new = list(r#"[{"key": "k"}, {"slug": "a", "id": 9}, {"id": 3}]"#);
    let change = diff(Unit::JsonKeys, &old, &new);
    assert_eq!(sizes(&change), [1, 1, 1, 0]);
    let unknown =
        |text: &str| count(&policy(Unit::JsonKeys), &[], &blobs(&[("data/w.json", text)])).unwrap_err();
    for nameless in ["[{}]", "[1]", "3", "null", "[{\"id\": null}]"] {
        assert!(matches!(unknown(nameless), CountError::NoEntries(_)), "{nameless}");
    }
}

#[test]
fn what_does_not_parse_or_stands_twice_makes_the_size_unknown() {
    let fails = |files: &[(&str, &str)]| count(&policy(Unit::JsonKeys), &[], &blobs(files)).unwrap_err();
    assert!(matches!(fails(&[("data/a.json", "{")]), CountError::Json { error: JsonError::Syntax(1), .. }));
    assert!(matches!(
        fails(&[("data/a.json", r#"{"a": 1, "a": 2}"#)]),
        CountError::Json { error: JsonError::Twice { .. }, .. }
    ));
    let twice = fails(&[("data/w/a.json", r#"{"x": 1}"#), ("data/w/b.json", r#"{"x": 1}"#)]);
    assert_eq!(twice, CountError::Twice(EntryKey::new("w", "x")));
    assert_eq!(twice.to_string(), "w x stands twice");
    assert!(matches!(fails(&[("data/a.json", "{}"), ("data/a.json", "{}")]), CountError::FileTwice(_)));
    let bytes = [Blob { path: RepoPath::from("data/a.json"), bytes: vec![0xff] }];
    assert!(matches!(count(&policy(Unit::JsonKeys), &bytes, &[]), Err(CountError::NotText(_))));
    assert!(matches!(
        count(&policy(Unit::CsvRows), &blobs(&[("data/a.csv", "a,\"b\nc")]), &[]),
        Err(CountError::Csv(_))
    ));
}

#[test]
fn a_file_outside_the_globs_is_one_entry_whatever_is_in_it() {
    let change = diff(Unit::JsonKeys, &[("README.md", "a")], &[("README.md", "b"), ("x.bin", "\u{0}")]);
    assert_eq!(sizes(&change), [1, 0, 1, 0]);
    let renamed = diff(Unit::Files, &[("data/a", "1")], &[("data/b", "1")]);
    assert_eq!(sizes(&renamed), [1, 1, 0, 0]);
}

#[test]
fn documents_rows_and_lines_are_counted() {
    let yaml = |text| [("data/a.yaml", text)];
    let change = diff(Unit::YamlDocs, &yaml("a: 1\n---\nb: 2\n"), &yaml("---\nb: 2\n---\na: 1\n---\nc: 3\n"));
    assert_eq!(sizes(&change), [1, 0, 0, 0], "the order of documents says nothing");
    let csv = |text| [("data/a.csv", text)];
    let change = diff(
        Unit::CsvRows,
        &csv("id,name\n1,one\n2,two\n\"3\",three\n"),
        &csv("id,name\r\n1,one\r\n2,TWO\r\n4,\"four, or\nmore\"\r\n"),
    );
    assert_eq!(sizes(&change), [1, 1, 1, 0]);
    let quoted = diff(Unit::CsvRows, &csv("\"x, 1\",a\n\"x, 2\",b\n"), &csv("\"x, 1\",a\n\"x, 2\",c\n"));
    assert_eq!(sizes(&quoted), [0, 0, 1, 0], "a comma within quotes ends no field");
    let same_first = diff(Unit::CsvRows, &csv("a,1\na,2\n"), &csv("a,2\na,3\n"));
    assert_eq!(sizes(&same_first), [1, 1, 0, 0], "rows that begin alike are named by the whole row");
    let text = |text| [("data/a.txt", text)];
    let lines = |per| diff(Unit::Lines(per), &text("a\nb\nb\nc\n"), &text("a\nb\nx\ny\nz\n")).touched();
    assert_eq!((lines(1), lines(2), lines(5), lines(100)), (5, 3, 1, 1));
    assert_eq!(diff(Unit::Lines(2), &text("a\nb\n"), &text("b\na\n")).touched(), 0);
}

#[test]
fn values_are_equal_when_entries_are() {
    let of = |text| values(&policy(Unit::JsonKeys), &blobs(&[("data/w/a.json", text)])).unwrap();
    assert_eq!(of(r#"{"a": {"x": 1, "y": 2}}"#), of(r#"{"a": {"y": 2, "x": 1}}"#));
    assert_ne!(of(r#"{"a": {"x": 1}}"#), of(r#"{"a": {"x": 2}}"#));
}

#[test]
fn json_is_read_exactly_and_written_again() {
    let text = "{\n  \"a\": [\n    1.50,\n    -0,\n    1e9,\n    true,\n    null,\n    {}\n  ],\n  \"b\\n\": \"\\\"\\u0001é😀\"\n}\n";
    let value = Json::parse(text).unwrap();
    assert_eq!(value.pretty(2), text);
    assert_eq!(value.compact(), r#"{"a":[1.50,-0,1e9,true,null,{}],"b\n":"\"\u0001é😀"}"#);
    assert_eq!(
        Json::parse(r#""\ud83d\ude00\/\b\f\r\t""#).unwrap(),
        Json::Text("😀/\u{8}\u{c}\r\t".to_owned())
    );
    assert_eq!(Json::parse(r#"{"b":1,"a":[]}"#).unwrap().canonical(), r#"{"a":[],"b":1}"#);
    let wrong = [
        "",
        " ",
        "{",
        "[1,]",
        "{\"a\":1,}",
        "{a:1}",
        "01",
        "1.",
        ".5",
        "+1",
        "1e",
        "-",
        "tru",
        "nul",
        "\"\u{1}\"",
        "\"\\x\"",
        "\"\\ud800\"",
        "\"\\ud800\\u0041\"",
        "\"\\udc00\"",
        "\"a",
        "1 2",
        "[1 2]",
        "{\"a\" 1}",
        "NaN",
        "'a'",
    ];
    for text in wrong {
        assert!(Json::parse(text).is_err(), "{text:?}");
    }
    let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    assert!(Json::parse(&deep(60)).is_ok());
    assert_eq!(Json::parse(&deep(9999)), Err(JsonError::Deep));
}
