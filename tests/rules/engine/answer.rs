//! What a fixer and a triager hand in: a note, or one of four decisions with its own fields.

use rstest::rstest;
use serde_json::{Value, json};
use steward_rules::engine::answer::{fix, triage};
use steward_rules::engine::triage::{Answer, Claim};

fn decided(said: Value) -> Result<Answer, String> {
    let said = serde_json::from_value(said).map_err(|_| "json".to_owned())?;
    triage(said).map(|triaged| triaged.answer).map_err(|error| error.field)
}

#[test]
fn each_decision_has_its_own_fields() {
    let note =
        triage(serde_json::from_value(json!({"decision": "change", "note": "adds it"})).unwrap()).unwrap();
    assert_eq!((note.answer, note.note.unwrap().as_data()), (Answer::Change, "adds it"));
    let present = json!({"decision": "already-present", "ids": ["a"], "evidence": "a is there"});
    assert!(matches!(decided(present), Ok(Answer::AlreadyPresent { ids, .. }) if ids == ["a"]));
    let declined = json!({"decision": "declined", "reason": "no", "claims": [{"id": "a", "present": false}]});
    let claim = Claim { id: "a".to_owned(), is_present: false };
    assert!(matches!(decided(declined), Ok(Answer::Declined { claims, .. }) if claims == [claim]));
    assert!(matches!(decided(json!({"decision": "declined", "reason": "no"})), Ok(Answer::Declined { .. })));
    let asks = json!({"decision": "need-info", "question": "which?"});
    assert!(matches!(decided(asks), Ok(Answer::NeedInfo { question }) if question.as_data() == "which?"));
}

#[rstest]
#[case(json!({"decision": "merge"}), "decision")]
#[case(json!({"decision": "Change", "note": "x"}), "decision")]
#[case(json!({"decision": ""}), "decision")]
#[case(json!({"note": "x"}), "json")]
#[case(json!({"decision": "change"}), "note")]
#[case(json!({"decision": "change", "note": " . "}), "note")]
#[case(json!({"decision": "change", "note": "x", "question": "y"}), "question")]
#[case(json!({"decision": "declined", "reason": "x", "ids": []}), "ids")]
#[case(json!({"decision": "declined"}), "reason")]
#[case(json!({"decision": "declined", "reason": "x", "claims": [{"id": " ", "present": true}]}), "claims")]
#[case(json!({"decision": "declined", "reason": "x", "claims": [{"id": "a"}]}), "json")]
#[case(json!({"decision": "already-present", "ids": [""], "evidence": "x"}), "ids")]
#[case(json!({"decision": "already-present", "ids": ["a"]}), "evidence")]
#[case(json!({"decision": "need-info"}), "question")]
#[case(json!({"decision": "need-info", "question": "?".repeat(3)}), "question")]
#[case(json!({"decision": "change", "note": "x", "label": "y"}), "json")]
fn what_does_not_fit_is_refused_by_its_field(#[case] said: Value, #[case] field: &str) {
    assert_eq!(decided(said).unwrap_err(), field);
}

#[test]
fn nothing_is_taken_without_end() {
    let long = json!({"decision": "change", "note": "x".repeat(4_001)});
    assert_eq!(decided(long).unwrap_err(), "note");
    let ids: Vec<String> = (0..201).map(|n| n.to_string()).collect();
    let many = json!({"decision": "already-present", "ids": ids, "evidence": "x"});
    assert_eq!(decided(many).unwrap_err(), "ids");
    let wide = json!({"decision": "already-present", "ids": ["x".repeat(201)], "evidence": "x"});
    assert_eq!(decided(wide).unwrap_err(), "ids");
    // The longest of each is taken.
    assert!(decided(json!({"decision": "change", "note": "x".repeat(4_000)})).is_ok());
    let ids: Vec<String> = (0..200).map(|n| format!("{n:0>200}")).collect();
    assert!(decided(json!({"decision": "already-present", "ids": ids, "evidence": "x"})).is_ok());
}

#[test]
fn a_fixer_says_something() {
    let note = |text: &str| fix(serde_json::from_value(json!({"note": text})).unwrap());
    assert_eq!(note("it was a typo").unwrap().note.as_data(), "it was a typo");
    assert_eq!(note("…").unwrap_err().field, "note");
    assert!(
        serde_json::from_value::<steward_rules::engine::answer::FixSaid>(json!({"note": "x", "merge": true}))
            .is_err()
    );
}
