//! Section 6: what makes two failures one, and what does not.

use rstest::rstest;
use steward_rules::diff::RepoPath;
use steward_rules::engine::entries::EntryKey;
use steward_rules::engine::facts::FlagFinding;
use steward_rules::engine::fingerprint::{normal, of_check, of_flag};

#[rstest]
// Times.
#[case("2026-11-30T10:00:01Z Error: no author", "Error: no author")]
#[case("2026-11-30T10:00:01.1234567Z Error: no author", "Error: no author")]
#[case("2026-11-30T10:00:01+01:00 Error: no author", "Error: no author")]
#[case("2026-11-30 10:00:01,123 UTC Error: no author", "Error: no author")]
#[case("[2026/11/30 10:00] Error: no author", "Error: no author")]
#[case("[10:00:01.5] Error: no author", "Error: no author")]
#[case("10:00:01 PM Error: no author", "Error: no author")]
#[case("Mon, 30 Nov 2026 22:22:52 GMT: expired", "expired")]
#[case("Nov  3 22:22:52 runner Error: no author", "runner Error: no author")]
#[case("since November 30, 2026 it fails", "since it fails")]
// Colours, and what else steers a terminal.
#[case("\u{1b}[1;31mError:\u{1b}[0m no author", "Error: no author")]
#[case("\u{1b}[38;2;255;0;0mError: no author\u{1b}[K", "Error: no author")]
#[case("\u{1b}]8;;https://example.org/1\u{7}Error: no author\u{1b}]8;;\u{1b}\\", "Error: no author")]
#[case("Error:\u{7} no author\r", "Error: no author")]
#[case("Error:\tno   author ", "Error: no author")]
// Hashes and ids.
#[case("bad object 0b1e2c3d4f5a", "bad object")]
#[case("bad object (a94a8fe5ccb19ba61c4c0873d391e987982fbbd3)", "bad object")]
#[case("no such run 550e8400-e29b-41d4-a716-446655440000.", "no such run")]
#[case("at address 0x7ffd", "at address")]
#[case("segfault at 0x00007f5a1c in x.so", "segfault at in x.so")]
#[case("request R4nD0mR3qu3st1dXyZ failed", "request failed")]
#[case("cannot open asset_a1b2c3d4e5.json", "cannot open asset_#.json")]
#[case("w-0001 has no author", "w-# has no author")]
// Paths, with their line.
#[case("Error in /home/seat/run1/data/works/a.json:14", "Error in a.json:#")]
#[case("Error in data/works/a.json:14:7", "Error in a.json:#:#")]
#[case("Error in ./a.json:14", "Error in a.json:#")]
#[case("Error in '/home/seat/a.json'", "Error in 'a.json'")]
#[case("Error in \"../data/a.json\": no author", "Error in \"a.json\": no author")]
#[case("--> /build/src/lib.rs:3:9", "lib.rs:#:#")]
#[case(r"Error in C:\Users\seat\data\a.json(14,7)", "Error in a.json(#,#)")]
#[case("file:///home/seat/a.json is broken", "a.json is broken")]
#[case("GET https://example.org:8443/v1/works/a.json: 3 tries", "GET a.json: tries")]
#[case("cannot enter /home/seat/data/works/", "cannot enter works")]
#[case("cannot enter data/works", "cannot enter works")]
#[case("cannot write /tmp/tmpk3j_9x1z/out.txt", "cannot write out.txt")]
#[case("cannot write /tmp/tmp.Xa8s9QzW2L", "cannot write tmp#")]
#[case("cannot write /tmp/tmpk3j_9x1z", "cannot write tmp#")]
// Durations and numbers.
#[case("timed out after 30.5s", "timed out after")]
#[case("timed out after 1m 20s", "timed out after")]
#[case("timed out after 250 ms", "timed out after")]
#[case("timed out after 3 minutes", "timed out after")]
#[case("12 of 1,204 works have no author", "of works have no author")]
#[case("port 8080 is in use", "port is in use")]
#[case("thread 'main' (31415) panicked", "thread 'main' panicked")]
// A number that says which error it is stays.
#[case("error[E0308]: mismatched types", "error[E0308]: mismatched types")]
#[case("a.ts(3,1): error TS2345: no", "a.ts(#,#): error TS2345: no")]
#[case("##[error]Process completed with exit code 137.", "##[error]Process completed with exit code 137.")]
#[case("answered with status code 404", "answered with status code 404")]
#[case("answered with HTTP 502", "answered with HTTP 502")]
// What only begins like an address is a word.
#[case("no sugar 0xylose here", "no sugar #xylose here")]
#[case("ends at 0x", "ends at #x")]
// Nothing to say.
#[case("2026-11-30T10:00:01Z", "")]
#[case("---- 14 ----", "")]
#[case("", "")]
fn a_line_is_told_without_what_differs_from_run_to_run(#[case] line: &str, #[case] said: &str) {
    assert_eq!(normal(line), said);
    assert_eq!(normal(said), said, "and once is enough");
}

#[test]
fn one_failure_is_known_again_across_runs() {
    let a = "ok\n2026-11-30T10:00:01Z Error: w-0001 in /home/seat/run1/data/works/a.json:14 (deadbeef01)\n";
    let b = "fine\n2026-12-01T23:59:59Z Error: w-0002 in /tmp/x/works/a.json:155 (0123456789ab)\n";
    assert_eq!(of_check("check", a), of_check("check", b));
    assert_eq!(of_check("check", "\u{1b}[31mError: no slug"), of_check("check", "Error: no slug"));
    let short = |id: &str| of_check("check", &format!("error at {id}"));
    assert_eq!(short("abcdefa"), short("fedcbaf"));
    for (one, other) in [
        (short("abcdef"), short("fedcba")),
        (of_check("check", a), of_check("site", a)),
        (of_check("check", a), of_check("check", "Error: w-1 in b.json:14")),
        (of_check("check", "Error: no slug"), of_check("check", "Error: no title")),
        (of_check("check", "error[E0308]: x"), of_check("check", "error[E0277]: x")),
        (of_check("check", "exit code 1"), of_check("check", "exit code 137")),
        (of_check("check", "hello"), of_check("check", "")),
        // The name of a check and what it says are not one text.
        (of_check("check a", "b"), of_check("check ", "ab")),
    ] {
        assert_ne!(one, other);
    }
}

#[rstest]
#[case::a_test_of_that_name("test error_is_told ... ok\ntest fails-softly ... ok\nError: no slug\n")]
#[case::a_setting("continue-on-error: true\nrun --no-fail-fast\nError: no slug")]
#[case::none_of_them("0 errors, 2 warnings\nno failures yet\nfailed: 0\nError: no slug\nError: no title\n")]
#[case::a_word_in_a_word("errorless and unfailing\nError: no slug\n")]
#[case::colours("\u{1b}[32mfine\u{1b}[0m\n\u{1b}[1mError: no slug\u{1b}[0m\n")]
fn the_first_line_that_speaks_of_an_error_counts(#[case] log: &str) {
    assert_eq!(of_check("check", log), of_check("check", "Error: no slug"));
}

#[rstest]
#[case("ValueError: no slug")]
#[case("java.lang.NullPointerException: no slug")]
#[case("--- FAIL: TestSlug")]
#[case("thread 'main' panicked at lib.rs")]
#[case("fatal: no slug")]
#[case("npm ERR! no slug")]
#[case("not ok 3 - slug")]
#[case("##[error]no slug")]
#[case("1 failed, 0 errors")]
fn many_tools_speak_of_errors(#[case] line: &str) {
    assert_eq!(of_check("check", &format!("begins\n{line}\nends\n")), of_check("check", line));
}

#[test]
fn where_no_line_speaks_of_an_error_the_last_one_counts() {
    // The first line of a log that was cut to its end is another one in every run.
    assert_eq!(of_check("check", "hello\nworld\n\n"), of_check("check", "other\nworld"));
    assert_ne!(of_check("check", "hello\nworld"), of_check("check", "hello\nthere"));
}

#[test]
fn a_line_without_an_end_costs_no_more_than_its_beginning() {
    let long = format!("Error: {}", "ä1 ".repeat(400_000));
    assert!(normal(&long).len() <= 2000);
    assert_eq!(of_check("check", &long), of_check("check", &format!("{long} more")));
}

#[test]
fn a_flag_is_known_by_what_it_names_in_any_order() {
    let entry = |id: &str| FlagFinding { entry: Some(EntryKey::new("works", id)), path: None };
    let path = |path: &str| FlagFinding { entry: None, path: Some(RepoPath::from(path)) };
    let (a, b) = (of_flag(&[entry("a"), path("data/x.json")]), of_flag(&[path("data/x.json"), entry("a")]));
    assert_eq!(a, b);
    for other in [of_flag(&[entry("a")]), of_flag(&[entry("b"), path("data/x.json")]), of_flag(&[])] {
        assert_ne!(a, other);
    }
    assert_ne!(of_flag(&[entry("1")]), of_flag(&[entry("2")]), "what it names is nobody's counter");
}
