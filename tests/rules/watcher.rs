//! The watcher seat: what it sees, what it may say, and what facts leave it.

use rstest::rstest;
use steward_rules::questions::pane::{Fault, Modal, PaneState, Prompt, Screen, Unsure};
use steward_rules::questions::watcher::{
    Ask, COLUMNS, Excerpt, Judged, ROWS, Says, WatchDigest, asks, may_run, validate,
};
use steward_rules::untrusted::Untrusted;

/// A secret that is nobody's.
const SECRET: &str = "ghp_x7Qm2ZkD9vTsLw4RbYc8NfJh3GpEa6Ut1Xe0";

fn excerpt(text: &str) -> Excerpt {
    Excerpt::of(&Screen::parse(text.as_bytes()))
}

#[test]
fn the_seat_sees_the_last_lines_cut_and_without_secrets() {
    let lines: Vec<String> = (1..=50).map(|n| format!("line {n} {}", "x".repeat(200))).collect();
    let seen = excerpt(&lines.join("\n"));
    assert_eq!(seen.count() as usize, ROWS);
    let numbered = seen.numbered();
    assert!(numbered.starts_with("1: line 21 x"), "{numbered}");
    assert!(numbered.lines().all(|line| line.chars().count() <= COLUMNS + 6), "{numbered}");
    // A secret that the cut would halve is redacted whole, wherever it begins.
    for before in [0, 100, 120, 130, 139, 150] {
        let seen = excerpt(&format!("{} {SECRET} after\nnext", "a".repeat(before))).numbered();
        assert!(!seen.contains(&SECRET[..10]), "{before}: {seen}");
    }
    // Nothing hidden goes in.
    let hostile = excerpt("a\u{202e}b\u{200b}c \u{1b}]0;title\u{7}d").numbered();
    assert!(!hostile.chars().any(|c| c != '\n' && steward_rules::untrusted::is_hidden(c)), "{hostile:?}");
}

#[test]
fn the_words_of_a_question_are_the_panes_own() {
    let seen = excerpt("⏺ Two ways.\n\n  WAL or rollback?\n  Say which.\n──────\n❯");
    assert_eq!(seen.words(3, 4).as_deref(), Some("WAL or rollback?\nSay which."));
    assert_eq!(seen.words(1, 1).as_deref(), Some("Two ways."));
    for (first, last) in [(0, 1), (2, 2), (5, 6), (4, 3), (3, 7), (9, 9)] {
        assert_eq!(seen.words(first, last), None, "{first}..{last}");
    }
    assert_eq!(seen.hash(), excerpt("⏺  Two ways.\n\nWAL or   rollback?\nSay which.\n──────\n❯").hash());
    assert_ne!(seen.hash(), excerpt("⏺ Two ways.\n\n  WAL or rollback!\n  Say which.\n──────\n❯").hash());
}

fn prompt() -> Prompt {
    Prompt {
        modal: Modal::Permission,
        title: Untrusted::new("May it?"),
        subject: Untrusted::new("rm"),
        choices: Vec::new(),
        hash: "a".to_owned(),
    }
}

#[rstest]
#[case::at_rest(PaneState::Idle, true)]
#[case::nothing_known(PaneState::Unknown { why: Unsure::Unrecognised }, true)]
#[case::stuck(PaneState::Unknown { why: Unsure::Stuck }, true)]
#[case::moves(PaneState::Unknown { why: Unsure::LookAgain }, false)]
#[case::empty(PaneState::Unknown { why: Unsure::Empty }, false)]
#[case::works(PaneState::Working, false)]
#[case::prompt(PaneState::Waiting { prompt: prompt() }, false)]
#[case::fault(PaneState::Error { fault: Fault::Limit }, false)]
#[case::unwatchable(PaneState::Unwatchable, false)]
fn only_what_facts_leave_open_is_asked(#[case] state: PaneState, #[case] asked: bool) {
    assert_eq!(asks(&state), asked);
}

fn digest(ask: Ask) -> WatchDigest {
    WatchDigest::new(ask, &PaneState::Idle, &excerpt("one\ntwo\nthree"), &["storage".to_owned()])
}

fn said(json: &str) -> Judged {
    serde_json::from_str(json).unwrap()
}

#[rstest]
#[case::question(Ask::State, r#"{"says":"question","topic":" two  words ","first":1,"last":3}"#, None)]
#[case::one_line(Ask::State, r#"{"says":"question","topic":"x","first":3,"last":3}"#, None)]
#[case::idle(Ask::State, r#"{"says":"idle"}"#, None)]
#[case::unsure(Ask::State, r#"{"says":"unsure"}"#, None)]
#[case::advice(Ask::Advice, r#"{"says":"deny","why":"it deletes"}"#, None)]
#[case::unsure_advice(Ask::Advice, r#"{"says":"unsure"}"#, None)]
#[case::no_topic(Ask::State, r#"{"says":"question","first":1,"last":1}"#, Some("topic"))]
#[case::seven_words(
    Ask::State,
    r#"{"says":"question","topic":"a b c d e f g","first":1,"last":1}"#,
    Some("topic")
)]
#[case::odd_topic(Ask::State, r#"{"says":"question","topic":"a`b","first":1,"last":1}"#, Some("topic"))]
#[case::no_lines(Ask::State, r#"{"says":"question","topic":"x"}"#, Some("first"))]
#[case::line_0(Ask::State, r#"{"says":"question","topic":"x","first":0,"last":1}"#, Some("last"))]
#[case::beyond(Ask::State, r#"{"says":"question","topic":"x","first":1,"last":4}"#, Some("last"))]
#[case::backwards(Ask::State, r#"{"says":"question","topic":"x","first":2,"last":1}"#, Some("last"))]
#[case::allow_of_a_state(Ask::State, r#"{"says":"allow","why":"x"}"#, Some("says"))]
#[case::question_as_advice(
    Ask::Advice,
    r#"{"says":"question","topic":"x","first":1,"last":1}"#,
    Some("says")
)]
#[case::bare_advice(Ask::Advice, r#"{"says":"allow"}"#, Some("why"))]
#[case::blank_advice(Ask::Advice, r#"{"says":"allow","why":"  "}"#, Some("why"))]
fn a_judgement_keeps_every_rule(#[case] ask: Ask, #[case] json: &str, #[case] fault: Option<&str>) {
    let found = validate(said(json), &digest(ask));
    match fault {
        None => drop(found.unwrap()),
        Some(field) => assert_eq!(found.unwrap_err().field, field),
    }
}

#[test]
fn a_judgement_is_kept_without_what_means_nothing_and_without_secrets() {
    let kept =
        validate(said(r#"{"says":"idle","topic":"x","first":1,"last":2}"#), &digest(Ask::State)).unwrap();
    assert_eq!((kept.topic, kept.first, kept.last), (None, None, None));
    let why = format!(r#"{{"says":"deny","why":"it prints {SECRET}"}}"#);
    let kept = validate(said(&why), &digest(Ask::Advice)).unwrap();
    assert!(!kept.why.unwrap().as_data().contains(SECRET));
    let topic = format!(r#"{{"says":"question","topic":"{SECRET}","first":1,"last":1}}"#);
    assert_eq!(validate(said(&topic), &digest(Ask::State)).unwrap_err().field, "topic");
    let long = format!(r#"{{"says":"deny","why":"{}"}}"#, "x".repeat(401));
    assert_eq!(validate(said(&long), &digest(Ask::Advice)).unwrap_err().field, "why");
    assert!(
        serde_json::from_str::<Judged>(r#"{"says":"idle","answer":"yes"}"#).is_err(),
        "no other field exists"
    );
    assert_eq!(Says::Question.as_str(), "question");
}

#[test]
fn the_seat_rests_behind_a_failure_and_at_its_limit() {
    assert!(may_run(29, 30, None).is_ok());
    assert!(may_run(30, 30, None).is_err());
    assert!(may_run(0, 0, None).is_err());
    assert!(may_run(0, 30, Some("it broke")).unwrap_err().to_string().contains("it broke"));
}
