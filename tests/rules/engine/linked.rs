//! What a text closes, and what a verdict's comment names.

use rstest::rstest;
use steward_rules::diff::RepoPath;
use steward_rules::engine::entries::{self, EntryKey};
use steward_rules::engine::facts::FlagFinding;
use steward_rules::engine::policy::{EntriesPolicy, Unit};
use steward_rules::engine::{flag, linked};
use steward_rules::ids::{RepoName, Sha};

const HEAD: &str = "0123456789abcdef0123456789abcdef01234567";

#[rstest]
#[case::word("Closes #3", &[3])]
#[case::every_word("close #1 closed #2 fix #3 fixes #4 fixed #5 resolve #6 resolves #7 resolved #8", &[1, 2, 3, 4, 5, 6, 7, 8])]
#[case::in_any_case("CLOSES: #3", &[3])]
#[case::twice("closes #9, fixes #3 and closes #9", &[3, 9])]
#[case::named("closes octo/app#3", &[3])]
#[case::named_in_another_case("closes Octo/App#3", &[3])]
#[case::address("fixes https://github.com/octo/app/issues/3", &[3])]
#[case::another_repository("closes octo/lib#3", &[])]
#[case::address_of_another_host("fixes https://evil.example/octo/app/issues/3", &[])]
#[case::address_in_another_case("fixes https://GitHub.com/Octo/App/issues/3", &[3])]
#[case::across_a_fence("fixes\n```\nx\n```\n#3", &[])]
#[case::across_a_span("fixes `x` #3", &[])]
#[case::across_a_comment("fixes <!-- x --> #3", &[])]
#[case::across_a_quote("fixes\n> x\n\n#3", &[])]
#[case::quote_that_goes_on("> as said\nfixes #3\n\nfixes #4", &[4])]
#[case::quote_that_ended("> as said\n>\nfixes #3", &[3])]
#[case::f5_fence_in_a_comment("<!--\n```\n-->\nfixes #3", &[3])]
#[case::f5_comment_in_a_fence("```\n<!--\n```\nfixes #3", &[3])]
#[case::comment_in_a_span("`<!--` fixes #3", &[3])]
#[case::long_comment("<!-- a\nfixes #3\n--> fixes #4", &[4])]
#[case::another_address("fixes https://github.com/octo/lib/issues/3", &[])]
#[case::a_pull_request("fixes https://github.com/octo/app/pull/3", &[])]
#[case::only_a_reference("see #3", &[])]
#[case::part_of_a_word("encloses #3 fixing #4", &[])]
#[case::no_space("closes#3", &[])]
#[case::nothing("closes #0", &[])]
#[case::huge("closes #99999999999999999999", &[])]
#[case::span("`closes #3` closes #4", &[4])]
#[case::long_span("`` a ` closes #3 `` closes #4", &[4])]
#[case::open_span("a ` closes #4", &[4])]
#[case::fence("```\ncloses #3\n```\ncloses #4", &[4])]
#[case::longer_fence("~~~~\n~~~\ncloses #3\n~~~~\ncloses #4", &[4])]
#[case::open_fence("```\ncloses #3", &[])]
#[case::comment("<!-- closes #3 --> closes #4 <!-- closes #5", &[4])]
fn a_text_closes_what_github_closes(#[case] text: &str, #[case] expected: &[i64]) {
    assert_eq!(linked::closes(text, "github.com", &RepoName::parse("octo/app").unwrap()), expected);
}

/// The table of closing keywords, about item 12 of acme/app.
#[test]
fn p1_to_p9_what_closes_an_item_and_what_only_mentions_it() {
    let closes =
        |text: &str| linked::closes(text, "github.com", &RepoName::parse("acme/app").unwrap()).contains(&12);
    let address = "https://github.com/acme/app";
    for text in [
        "Fixes: #12",
        "FIXED :  #12",
        "Fixes\n\n#12",
        "This does not close #12",
        "Fixes #1 and closes #12",
        "hot-fix #12",
        "fixes ACME/App#12",
        &format!("fixes {address}/issues/12#issuecomment-1"),
        "fixes #12.",
        "(fixes #12)",
    ] {
        assert!(closes(text), "{text}");
    }
    for text in [
        "fixes:#12",
        "fixes#12",
        "fixes : : #12",
        "Fixes #1, #12",
        "Refs #12",
        "fixing #12",
        "bugfix #12",
        "fixes (#12)",
        "fixes `#12`",
        "fixes issue #12",
        "fixes #123",
        "fixes #012",
        "fixes #12abc",
        "fixes #12_",
        "fixes GH-12",
        &format!("fixes {address}/pull/12"),
        &format!("fixes {address}/issues/012"),
        &format!("fixes {address}/issues/12abc"),
        "fixes evilacme/app#12",
        "fixes other/repo#12",
        "fixes https://evil.example/acme/app/issues/12",
        "#12",
        "<!-- Fixes #12 -->",
        "`Fixes #12`",
        "> Fixes #12",
    ] {
        assert!(!closes(text), "{text}");
    }
}

fn says(json: &str) -> Option<Vec<FlagFinding>> {
    flag::findings(&format!("### flagged\n<!-- steward:findings {json} -->\nmore"), &Sha::new(HEAD).unwrap())
}

#[test]
fn a_comment_names_findings_in_one_form_only() {
    let entry = FlagFinding { entry: Some(EntryKey::new("works", "7")), path: None };
    let path = FlagFinding { entry: None, path: Some(RepoPath::from("data/x.json")) };
    let whole = FlagFinding { entry: None, path: None };
    let head = |rest: &str| format!("{{\"head\":\"{HEAD}\",\"findings\":[{rest}]}}");
    assert_eq!(says(&head(r#"{"family":"works","id":7}"#)), Some(vec![entry.clone()]));
    assert_eq!(says(&head(r#"{"path":"data/x.json"}, {}"#)), Some(vec![path, whole]));
    for odd in [
        head(""),
        head(r#"{"family":"works"}"#),
        head(r#"{"path":["a"]}"#),
        head(r#""works""#),
        head("{}").replace("0123", "9999"),
        format!("{{\"head\":\"{HEAD}\"}}"),
        "no json".to_owned(),
        vec![head("{}"); 2].join(" --> <!-- steward:findings "),
        head(&vec!["{}"; 501].join(",")),
    ] {
        assert_eq!(says(&odd), None, "{odd}");
    }
    let most = says(&head(&vec!["{}"; 500].join(",")));
    assert_eq!(most.map(|findings| findings.len()), Some(500));
    let head = Sha::new(HEAD).unwrap();
    assert_eq!(flag::findings("### flagged", &head), None);
    assert_eq!(flag::findings("<!-- steward:findings {", &head), None);
}

#[test]
fn only_files_whose_entries_count_are_looked_into() {
    let policy =
        |unit| EntriesPolicy { unit, globs: vec!["data/**/*.json".to_owned()], root: "data".to_owned() };
    let json = entries::reads(&policy(Unit::JsonKeys));
    assert!(json(&RepoPath::from("data/works/a.json")));
    assert!(!json(&RepoPath::from("data/works/a.png")) && !json(&RepoPath::from("x.json")));
    assert!(!entries::reads(&policy(Unit::Files))(&RepoPath::from("data/works/a.json")));
}
