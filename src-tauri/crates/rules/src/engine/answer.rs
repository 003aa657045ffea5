//! What a fixer and a triager hand in, read from their JSON (engine.md 9, 10).

use serde::Deserialize;

use super::triage::{Answer, Claim};
use crate::review::submission::FieldError;
use crate::untrusted::Untrusted;

/// Longest text in characters.
const TEXT: usize = 4_000;
/// Most ids of one answer.
const IDS: usize = 200;
/// Longest id in characters.
const ID: usize = 200;

/// What a fixer says of its change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixNote {
    pub note: Untrusted,
}

/// What a triager decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Triaged {
    pub answer: Answer,
    /// Of a change: what it does.
    pub note: Option<Untrusted>,
}

/// The JSON of a fixer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FixSaid {
    pub note: String,
}

/// The JSON of a triager.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TriageSaid {
    pub decision: String,
    pub note: Option<String>,
    pub ids: Option<Vec<String>>,
    pub evidence: Option<String>,
    pub reason: Option<String>,
    pub claims: Option<Vec<SaidClaim>>,
    pub question: Option<String>,
}

/// What a reason claims of one id.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SaidClaim {
    pub id: String,
    pub present: bool,
}

/// Reads what a fixer handed in.
pub fn fix(raw: FixSaid) -> Result<FixNote, FieldError> {
    Ok(FixNote { note: text("note", Some(raw.note))? })
}

/// Reads what a triager handed in. A field that its decision does not have is refused.
pub fn triage(raw: TriageSaid) -> Result<Triaged, FieldError> {
    let allowed: &[&str] = match raw.decision.as_str() {
        "change" => &["note"],
        "already-present" => &["ids", "evidence"],
        "declined" => &["reason", "claims"],
        "need-info" => &["question"],
        _ => return fault("decision", "one of change, already-present, declined and need-info"),
    };
    let given = [
        ("note", raw.note.is_some()),
        ("ids", raw.ids.is_some()),
        ("evidence", raw.evidence.is_some()),
        ("reason", raw.reason.is_some()),
        ("claims", raw.claims.is_some()),
        ("question", raw.question.is_some()),
    ];
    if let Some((field, _)) = given.iter().find(|(field, is_given)| *is_given && !allowed.contains(field)) {
        return fault(field, "this decision has no such field");
    }
    let answer = match raw.decision.as_str() {
        "change" => return Ok(Triaged { answer: Answer::Change, note: Some(text("note", raw.note)?) }),
        "already-present" => Answer::AlreadyPresent {
            ids: ids("ids", raw.ids.unwrap_or_default())?,
            evidence: text("evidence", raw.evidence)?,
        },
        "declined" => {
            let claims = raw.claims.unwrap_or_default();
            ids("claims", claims.iter().map(|claim| claim.id.clone()).collect())?;
            let claims = claims.into_iter().map(|claim| Claim { id: claim.id, is_present: claim.present });
            Answer::Declined { reason: text("reason", raw.reason)?, claims: claims.collect() }
        }
        _ => Answer::NeedInfo { question: text("question", raw.question)? },
    };
    Ok(Triaged { answer, note: None })
}

fn text(field: &str, given: Option<String>) -> Result<Untrusted, FieldError> {
    let Some(given) = given.filter(|text| text.chars().any(char::is_alphanumeric)) else {
        return fault(field, "it says nothing");
    };
    if given.chars().count() > TEXT {
        return fault(field, &format!("at most {TEXT} characters"));
    }
    Ok(Untrusted::new(given))
}

fn ids(field: &str, given: Vec<String>) -> Result<Vec<String>, FieldError> {
    if given.len() > IDS {
        return fault(field, &format!("at most {IDS} ids"));
    }
    let is_id = |id: &String| !id.trim().is_empty() && id.chars().count() <= ID;
    if given.iter().all(is_id) { Ok(given) } else { fault(field, &format!("an id has 1 to {ID} characters")) }
}

fn fault<T>(field: &str, error: &str) -> Result<T, FieldError> {
    Err(FieldError { field: field.to_owned(), error: error.to_owned() })
}
