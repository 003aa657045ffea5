//! What the seat may hand in.

use rstest::rstest;
use serde_json::{Value, json};
use steward_rules::ids::FrameId;
use steward_rules::review::submission::{FieldError, Submission, SubmissionFacts, validate};
use steward_rules::review::verdict::Verdict;

fn check(value: Value) -> Result<Submission, FieldError> {
    let submission: Submission = serde_json::from_value(value).unwrap();
    let lines_of = |file: &str| match file {
        "src/a.rs" => Some(10),
        "empty.txt" => Some(0),
        _ => None,
    };
    let facts = SubmissionFacts {
        lines_of: &lines_of,
        frames: &[FrameId(1), FrameId(2)],
        earlier: &["e1".to_owned(), "e2".to_owned()],
        settled: &["s1".to_owned()],
    };
    validate(submission, &facts)
}

fn finding() -> Value {
    json!({ "title": "t", "file": "src/a.rs", "line": 3, "why": "w", "check": "c" })
}

fn good() -> Value {
    json!({
        "verdict": "CHANGES",
        "summary": "s",
        "findings": [finding()],
        "frames": [{ "frameId": 2, "observation": "o" }, { "frameId": 1, "observation": "o" }],
        "earlier": [],
    })
}

/// A good submission with one field set otherwise, by JSON pointer.
fn with(pointer: &str, value: Value) -> Value {
    let mut submission = good();
    *submission.pointer_mut(pointer).unwrap() = value;
    submission
}

#[test]
fn a_good_submission_is_taken_as_it_is() {
    let taken = check(good()).unwrap();
    assert_eq!(serde_json::to_value(&taken).unwrap()["findings"][0]["title"], "t");
    assert_eq!(taken.verdict, Verdict::Changes);
}

#[rstest]
#[case::c38_changes_without_findings(with("/findings", json!([])), "findings")]
#[case::blocked_without_summary(json!({ "verdict": "BLOCKED", "frames": good()["frames"] }), "summary")]
#[case::blocked_with_hidden_summary(
    json!({ "verdict": "BLOCKED", "summary": " \u{200b}\n", "frames": good()["frames"] }), "summary")]
#[case::summary_too_long(with("/summary", json!("ä".repeat(4001))), "summary")]
#[case::title_too_long(with("/findings/0/title", json!("ä".repeat(81))), "findings[0].title")]
#[case::title_blank(with("/findings/0/title", json!("  ")), "findings[0].title")]
#[case::why_blank(with("/findings/0/why", json!("")), "findings[0].why")]
#[case::why_too_long(with("/findings/0/why", json!("x".repeat(2001))), "findings[0].why")]
#[case::check_blank(with("/findings/0/check", json!("\n")), "findings[0].check")]
#[case::severity_blank(with("/findings/0", json!({ "title": "t", "file": "src/a.rs", "line": 3, "why": "w", "check": "c", "severity": "" })), "findings[0].severity")]
#[case::no_such_file(with("/findings/0/file", json!("src/b.rs")), "findings[0].file")]
#[case::path_out(with("/findings/0/file", json!("../src/a.rs")), "findings[0].file")]
#[case::line_zero(with("/findings/0/line", json!(0)), "findings[0].line")]
#[case::line_beyond(with("/findings/0/line", json!(11)), "findings[0].line")]
#[case::too_many(with("/findings", Value::Array(vec![finding(); 51])), "findings")]
#[case::frame_missing(with("/frames", json!([{ "frameId": 1, "observation": "o" }])), "frames")]
#[case::no_frames(with("/frames", json!([])), "frames")]
#[case::frame_unknown(with("/frames/0/frameId", json!(3)), "frames[0].frameId")]
#[case::frame_twice(with("/frames/0/frameId", json!(1)), "frames[1].frameId")]
#[case::observation_blank(with("/frames/1/observation", json!("")), "frames[1].observation")]
#[case::observation_too_long(with("/frames/1/observation", json!("x".repeat(501))), "frames[1].observation")]
#[case::earlier_unknown(with("/earlier", json!([{ "findingId": "x", "state": "open" }])), "earlier[0].findingId")]
#[case::earlier_twice(
    with("/earlier", json!([{ "findingId": "e1", "state": "open" }, { "findingId": "e1", "state": "fixed" }])),
    "earlier[1].findingId")]
fn a_fault_names_its_field(#[case] submission: Value, #[case] field: &str) {
    let error = check(submission).unwrap_err();
    assert_eq!(error.field, field, "{error}");
}

#[rstest]
#[case::title_of_80(with("/findings/0/title", json!("ä".repeat(80))))]
#[case::summary_of_4000(with("/summary", json!("ä".repeat(4000))))]
#[case::observation_of_500(with("/frames/0/observation", json!("ä".repeat(500))))]
#[case::fifty_findings(with("/findings", Value::Array(vec![finding(); 50])))]
#[case::last_line(with("/findings/0/line", json!(10)))]
#[case::first_line_of_an_empty_file(with("/findings/0", json!({ "title": "t", "file": "empty.txt", "line": 1, "why": "w", "check": "c" })))]
#[case::blocked_with_summary(json!({ "verdict": "BLOCKED", "summary": "no", "frames": good()["frames"] }))]
#[case::accepted(json!({ "verdict": "ACCEPTED", "frames": good()["frames"] }))]
#[case::changes_by_an_earlier_one_still_open(
    json!({ "verdict": "CHANGES", "frames": good()["frames"], "earlier": [{ "findingId": "e1", "state": "open" }] }))]
fn at_the_limits_it_is_taken(#[case] submission: Value) {
    check(submission).unwrap();
}

#[rstest]
#[case::with_a_finding(with("/verdict", json!("ACCEPTED")), Verdict::Changes)]
#[case::earlier_open(
    json!({ "verdict": "ACCEPTED", "frames": good()["frames"], "earlier": [{ "findingId": "e2", "state": "open" }] }),
    Verdict::Changes)]
#[case::earlier_fixed(
    json!({ "verdict": "ACCEPTED", "frames": good()["frames"], "earlier": [{ "findingId": "e2", "state": "fixed" }] }),
    Verdict::Accepted)]
#[case::open_but_settled_by_the_person(
    json!({ "verdict": "ACCEPTED", "frames": good()["frames"], "earlier": [{ "findingId": "s1", "state": "open" }] }),
    Verdict::Accepted)]
fn accepted_with_findings_is_stored_as_changes(#[case] submission: Value, #[case] verdict: Verdict) {
    assert_eq!(check(submission).unwrap().verdict, verdict);
}

#[rstest]
#[case::unknown_verdict(json!({ "verdict": "accepted" }))]
#[case::no_verdict(json!({ "summary": "s" }))]
#[case::merge_flag(json!({ "verdict": "ACCEPTED", "mergeReady": true }))]
#[case::unknown_finding_field(json!({ "verdict": "ACCEPTED", "findings": [{ "title": "t", "file": "f", "line": 1, "why": "w", "check": "c", "fix": "x" }] }))]
#[case::negative_line(json!({ "verdict": "ACCEPTED", "findings": [{ "title": "t", "file": "f", "line": -1, "why": "w", "check": "c" }] }))]
#[case::line_as_text(json!({ "verdict": "ACCEPTED", "findings": [{ "title": "t", "file": "f", "line": "1", "why": "w", "check": "c" }] }))]
#[case::unknown_state(json!({ "verdict": "ACCEPTED", "earlier": [{ "findingId": "e1", "state": "gone" }] }))]
#[case::null_findings(json!({ "verdict": "ACCEPTED", "findings": null }))]
fn what_is_no_submission_does_not_parse(#[case] value: Value) {
    assert!(serde_json::from_value::<Submission>(value).is_err());
}

#[test]
fn a_submission_passes_the_second_check_as_it_passed_the_first() {
    let once = check(with("/verdict", json!("ACCEPTED"))).unwrap();
    let twice = check(serde_json::to_value(&once).unwrap()).unwrap();
    assert_eq!(once, twice);
}

#[test]
fn hostile_text_in_an_error_is_inert() {
    let error = check(with("/findings/0/file", json!("a\u{1b}[2J\n\u{202e}b"))).unwrap_err();
    assert_eq!(error.error, "a\\u{1b}[2J\\n\\u{202e}b is neither in the head tree nor in the diff");
}
