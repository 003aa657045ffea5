//! What the app writes into the file: one change, every other byte as it was.

use proptest::prelude::*;
use rstest::rstest;
use steward_core::config::edit::{Edit, EditError, Scalar, apply, edit_file};
use steward_core::config::{self, ForgeChoice, WorkspaceMatch};

use crate::store::fresh;

fn add(title: &str, path: &str) -> Edit {
    Edit::AddWorkspace { title: title.to_owned(), path: path.to_owned(), forge: ForgeChoice::GitHub }
}
fn remove(title: &str) -> Edit {
    Edit::RemoveWorkspace { title: title.to_owned() }
}
fn enabled(on: bool) -> Edit {
    Edit::Set { block: "review", key: "enabled", value: Scalar::Bool(on) }
}

#[rstest]
#[case::nothing("", enabled(true), "review:\n  enabled: true\n")]
#[case::comments("# mine\n", enabled(true), "# mine\nreview:\n  enabled: true\n")]
#[case::no_newline("spend: {}", enabled(true), "spend: {}\nreview:\n  enabled: true\n")]
#[case::value("review:\n  enabled: false # no\n", enabled(true), "review:\n  enabled: true # no\n")]
#[case::flow("review: { enabled: false }  # x\n", enabled(true), "review: { enabled: true }  # x\n")]
#[case::flow_absent("review: {maxMinutes: 3}\n", enabled(true), "review: {maxMinutes: 3, enabled: true}\n")]
#[case::flow_empty("review: {}\n", enabled(true), "review: {enabled: true}\n")]
#[case::flow_comma("review: {maxMinutes: 3, }\n", enabled(true), "review: {maxMinutes: 3, enabled: true }\n")]
#[case::no_value(
    "review: # later\nspend: {}\n",
    enabled(true),
    "review: # later\n  enabled: true\nspend: {}\n"
)]
#[case::null("review: ~\n", enabled(true), "review: {enabled: true}\n")]
#[case::key_without_value("review:\n  enabled:\n", enabled(true), "review:\n  enabled: true\n")]
#[case::after_the_last(
    "review:\n    maxMinutes: 3 # c\n\n# next\nspend: {}\n",
    enabled(true),
    "review:\n    maxMinutes: 3 # c\n    enabled: true\n\n# next\nspend: {}\n"
)]
#[case::after_a_list(
    "review:\n  autoReview:\n    - a\n    - b\nspend: {}\n",
    enabled(true),
    "review:\n  autoReview:\n    - a\n    - b\n  enabled: true\nspend: {}\n"
)]
#[case::windows(
    "review:\r\n  maxMinutes: 3\r\n",
    enabled(true),
    "review:\r\n  maxMinutes: 3\r\n  enabled: true\r\n"
)]
#[case::first_workspace(
    "# hi\n",
    add("app", "~/src/app"),
    "# hi\nworkspaces:\n  - title: app\n    path: ~/src/app\n"
)]
#[case::odd_title("", add("a: b # c", "/x y"), "workspaces:\n  - title: \"a: b # c\"\n    path: \"/x y\"\n")]
#[case::word_title("", add("yes", "/x"), "workspaces:\n  - title: \"yes\"\n    path: /x\n")]
#[case::second(
    "workspaces:\n- title: a   # one\n  path: /a\n# end\n",
    add("b", "/b"),
    "workspaces:\n- title: a   # one\n  path: /a\n- title: b\n  path: /b\n# end\n"
)]
#[case::flow_list(
    "workspaces: [{title: a, path: /a}]\n",
    add("b", "/b"),
    "workspaces: [{title: a, path: /a}, {title: b, path: /b}]\n"
)]
#[case::flow_list_empty("workspaces: []\n", add("b", "/b"), "workspaces: [{title: b, path: /b}]\n")]
#[case::remove_first(
    "workspaces:\n  - title: a\n    path: /a\n  # about b\n  - title: b\n    path: /b\n",
    remove("a"),
    "workspaces:\n  # about b\n  - title: b\n    path: /b\n"
)]
#[case::remove_only(
    "workspaces:\n  - {title: a, path: /a} # x\nspend: {}\n",
    remove("a"),
    "workspaces:\nspend: {}\n"
)]
#[case::remove_flow(
    "workspaces: [{title: a, path: /a}, {title: b, path: /b}]\n",
    remove("b"),
    "workspaces: [{title: a, path: /a}]\n"
)]
#[case::remove_flow_first(
    "workspaces: [{title: a, path: /a}, {title: b, path: /b}]\n",
    remove("a"),
    "workspaces: [{title: b, path: /b}]\n"
)]
fn an_edit_changes_its_place_and_no_other_byte(
    #[case] text: &str,
    #[case] edit: Edit,
    #[case] expected: &str,
) {
    assert_eq!(apply(text, &edit).unwrap(), expected);
}

#[rstest]
#[case::broken("review: {", enabled(true))]
#[case::an_alias("a: &x {enabled: false}\nreview: *x\n", enabled(true))]
#[case::a_scalar("review: 3\n", enabled(true))]
#[case::known_title("workspaces: [{title: a, path: /a}]\n", add("a", "/b"))]
#[case::unknown_title("workspaces: [{title: a, path: /a}]\n", remove("b"))]
#[case::two_of_a_title("workspaces: [{title: a, path: /a}, {title: a, path: /b}]\n", remove("a"))]
#[case::a_comment_between("workspaces: [{title: a, path: /a}, # x\n  {title: b, path: /b}]\n", remove("a"))]
fn a_file_that_cannot_be_changed_safely_is_left_alone(#[case] text: &str, #[case] edit: Edit) {
    assert!(apply(text, &edit).is_err());
}

#[test]
fn the_first_edit_writes_the_template_for_the_person_alone() {
    let (_folder, home) = fresh();
    edit_file(&home, None, &add("app", "/src/app")).unwrap();
    edit_file(&home, None, &enabled(true)).unwrap();
    let text = std::fs::read_to_string(home.config_file()).unwrap();
    assert!(text.starts_with(config::TEMPLATE));
    let checked = config::check(&text, None).unwrap();
    assert_eq!(checked.problems, []);
    assert!(checked.config.review.enabled);
    assert!(matches!(checked.config.workspace("app"), WorkspaceMatch::One(_)));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(home.config_file().metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert_eq!(
        std::fs::read_dir(home.config_dir())
            .unwrap()
            .filter(|entry| { entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(".new") })
            .count(),
        0
    );
}

#[test]
fn an_edit_that_would_be_an_error_is_refused_and_old_errors_are_no_hindrance() {
    let (_folder, home) = fresh();
    let text = "review: {budgetUsd: -1}\n";
    std::fs::write(home.config_file(), text).unwrap();
    let refused = edit_file(&home, None, &add("app", "relative"));
    assert!(matches!(refused, Err(EditError::Refused(_))), "{refused:?}");
    assert_eq!(std::fs::read_to_string(home.config_file()).unwrap(), text);
    edit_file(&home, None, &add("app", "/src/app")).unwrap();
}

/// What the template shows in comments is right, too.
#[test]
fn every_example_of_the_template_is_valid() {
    let shown: String = config::TEMPLATE
        .lines()
        .filter_map(|line| line.strip_prefix("# "))
        .filter(|line| line.starts_with(' ') || line.split(' ').next().unwrap().ends_with(':'))
        .map(|line| format!("{line}\n"))
        .collect();
    let checked = config::check(&shown, Some(std::path::Path::new("/home/octo"))).unwrap();
    assert_eq!(checked.problems, [], "{shown}");
    assert!(checked.config.reviews_by_itself("app"));
}

fn comment() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", " # c", "   # review: {enabled: true}"])
}

/// Files as people write them: blocks and braces, comments, blank lines, odd indents.
fn file() -> impl Strategy<Value = String> {
    let title = prop::sample::select(vec!["app", "'web'", "\"a b\"", "ünï"]);
    let item = (title, comment(), any::<bool>(), 0..2_usize);
    let workspaces = (prop::collection::vec(item, 0..4), 0..3_usize, any::<bool>(), comment()).prop_map(
        |(items, indent, flow, end)| {
            let mut seen = std::collections::BTreeSet::new();
            let items: Vec<_> = items.into_iter().filter(|item| seen.insert(item.0)).collect();
            if flow {
                let items: Vec<_> =
                    items.iter().map(|(title, ..)| format!("{{title: {title}, path: /p}}")).collect();
                return format!("workspaces: [{}]{end}\n", items.join(", "));
            }
            let pad = " ".repeat(indent);
            let mut text = format!("workspaces:{end}\n");
            for (title, comment, braces, blank) in items {
                if braces {
                    text.push_str(&format!("{pad}- {{title: {title}, path: /p}}{comment}\n"));
                } else {
                    text.push_str(&format!("{pad}- title: {title}{comment}\n{pad}  path: /p{comment}\n"));
                }
                text.push_str(&"\n# between\n".repeat(blank));
            }
            text
        },
    );
    let review = (0..6_usize, comment(), 1..5_usize).prop_map(|(form, end, indent)| {
        let pad = " ".repeat(indent);
        match form {
            0 => String::new(),
            1 => format!("review:{end}\n"),
            2 => format!("review: {{}}{end}\n"),
            3 => format!("review: {{maxMinutes: 3}}{end}\n"),
            4 => format!("review:\n{pad}# inside\n{pad}enabled: false{end}\n{pad}maxMinutes: 3\n"),
            _ => format!("review:\n{pad}autoReview:\n{pad}- app{end}\n\n"),
        }
    });
    let rest = prop::sample::select(vec![
        "",
        "# end\n",
        "spend: {dailyUsd: 3} # d\n",
        "engine:\n  x:\n    - 1\n",
        "editor: vim",
    ]);
    (workspaces, review, rest, any::<bool>(), any::<bool>()).prop_map(|(a, b, rest, swap, windows)| {
        let text = if swap { format!("{b}{a}{rest}") } else { format!("# top\n\n{a}{b}{rest}") };
        if windows { text.replace('\n', "\r\n") } else { text }
    })
}

/// The new text with one insertion taken out is the old one.
fn is_insertion(old: &str, new: &str) -> bool {
    let front = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
    let back = old.bytes().rev().zip(new.bytes().rev()).take_while(|(a, b)| a == b).count();
    new.len() > old.len() && front + back >= old.len()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn adding_a_workspace_only_inserts_and_removing_it_goes_back(text in file(), title in "[a-z:#' ]{1,8}[a-z]", path in "/[ -~]{0,12}") {
        let added = apply(&text, &add(&title, &path)).unwrap();
        prop_assert!(is_insertion(&text, &added), "{text:?} -> {added:?}");
        let back = apply(&added, &remove(&title)).unwrap();
        prop_assert_eq!(&config::check(&back, None).unwrap().config, &config::check(&text, None).unwrap().config);
        prop_assert!(back == text || is_insertion(&text, &back), "{text:?} -> {back:?}");
    }

    #[test]
    fn setting_a_key_changes_one_value_and_setting_it_again_nothing(text in file(), minutes in 1..60_i64) {
        let edit = Edit::Set { block: "review", key: "maxMinutes", value: Scalar::Int(minutes) };
        let once = apply(&text, &edit).unwrap();
        prop_assert_eq!(i64::from(config::check(&once, None).unwrap().config.review.max_minutes), minutes);
        prop_assert_eq!(apply(&once, &edit).unwrap(), once.clone());
        for line in text.lines().filter(|line| !line.contains("maxMinutes") && !line.starts_with("review:")) {
            prop_assert!(once.lines().any(|kept| kept == line), "{line:?} is gone from {once:?}");
        }
    }

    #[test]
    fn no_text_makes_an_edit_panic_or_leave_a_file_that_does_not_parse(text in "[a-z:#{}\\[\\]\\-, \n'\"&*~]{0,60}") {
        for edit in [enabled(true), add("t", "/p"), remove("a")] {
            if let Ok(new) = apply(&text, &edit) {
                prop_assert!(config::raw::parse(&new).is_ok());
            }
        }
    }
}
