//! Why a pull request is not merged: every condition that does not hold, in the order of the gate, each
//! with its evidence and time (engine.md 16).

use chrono::{DateTime, Utc};

use super::facts::PrObs;
use super::memory::Memory;
use super::merge::Case;
use super::policy::Policy;
use super::steps::{ORDER, Shown, StepId};
use crate::untrusted::Untrusted;

/// A condition that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmet {
    pub step: StepId,
    /// The slug of what would be decided if this were the first.
    pub decision: &'static str,
    /// What is missing, in one sentence.
    pub message: String,
    /// No sooner than then can it be met.
    pub not_before: Option<DateTime<Utc>>,
    pub evidence: Vec<Shown>,
}

/// How a condition stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepState {
    Met,
    Unmet,
    /// What it would be judged by was not read, or does not apply to what is not data.
    NotJudged,
}

/// The whole order: each condition with how it stands, and what [`why`] says of it where it does not hold.
pub fn table(
    pr: &PrObs,
    memory: &Memory,
    policy: &Policy,
    now: DateTime<Utc>,
) -> Vec<(StepId, StepState, Option<Unmet>)> {
    let mut unmet = why(pr, memory, policy, now).into_iter().peekable();
    let mut is_judged = true;
    let mut rows = Vec::new();
    for step in &ORDER {
        let found = unmet.next_if(|one| one.step == step.id);
        let state = match (&found, is_judged) {
            (Some(_), _) => StepState::Unmet,
            (None, true) => StepState::Met,
            (None, false) => StepState::NotJudged,
        };
        if found.is_some() && (ends(step.id) || step.id == StepId::Whole) {
            is_judged = false;
        }
        rows.push((step.id, state, found));
    }
    rows
}

/// The conditions that do not hold; empty when the pull request is ready. The first one is what
/// [`super::merge::assess`] decides by. What has ended or is not data has no further conditions, and one
/// that was not read whole is told without what would follow from the missing part.
pub fn why(pr: &PrObs, memory: &Memory, policy: &Policy, now: DateTime<Utc>) -> Vec<Unmet> {
    let case = Case::new(pr, memory, policy, now);
    let mut unmet = Vec::new();
    for step in &ORDER {
        let Some(halt) = (step.judge)(&case) else { continue };
        unmet.push(Unmet {
            step: step.id,
            decision: halt.decision.slug(),
            message: halt.decision.message(),
            not_before: halt.decision.not_before(),
            evidence: halt.shown.into_iter().map(clean).collect(),
        });
        if ends(step.id) {
            break;
        }
    }
    unmet
}

/// True for a condition without which no other is judged.
fn ends(step: StepId) -> bool {
    matches!(step, StepId::Open | StepId::Class | StepId::Policy)
}

/// Names and values come from outside.
fn clean(shown: Shown) -> Shown {
    let line = |text: &str| Untrusted::new(text).one_line(200);
    Shown { name: line(&shown.name), value: line(&shown.value), at: shown.at }
}
