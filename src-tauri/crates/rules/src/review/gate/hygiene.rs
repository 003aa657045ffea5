//! `pr_hygiene`: the pull request says what it is, what was validated and what is not done.

use chrono::{DateTime, Utc};

use super::answer::{Answer, fact, line, result};
use super::body::{self, Section};
use super::{EvidenceItem, GateId, GateResult};
use crate::reading::Why;
use crate::review::facts::{Evidence, Forge, PullFacts, PullState};
use crate::review::policy::ReviewPolicy;
use crate::title;
use crate::wording::gate as say;

pub(super) fn check(evidence: &Evidence, policy: &ReviewPolicy, _now: DateTime<Utc>) -> GateResult {
    result(GateId::PrHygiene, judge(evidence, policy))
}

fn judge<'a>(e: &'a Evidence, policy: &ReviewPolicy) -> Result<Answer, &'a Why> {
    match e.forge {
        Forge::None => return Ok(Answer::not_applicable(say::no_forge())),
        Forge::SignedOut => return Ok(Answer::undecided(say::signed_out())),
        Forge::GitHub => {}
    }
    let Some(pull) = e.pull.get()? else {
        return Ok(Answer::fail(say::no_pull()));
    };
    let mut faults = Vec::new();
    if pull.state == PullState::Closed {
        faults.push(say::pull_closed());
    }
    if let Err(error) = title::parse(pull.title.as_data(), &policy.title_types) {
        faults.push(say::title_fault(&error));
    }
    let sections = body::sections(pull.body.as_data(), &policy.body_sections);
    let state = |found: Section, name: &str| match found {
        Section::Absent => Some(say::section_absent(name)),
        Section::Empty => Some(say::section_empty(name)),
        Section::Filled => None,
    };
    faults.extend(state(sections.validated, "validated"));
    faults.extend(state(sections.not_done, "not done / not verified"));
    let answer = if faults.is_empty() {
        Answer::pass(say::hygiene_well(&notes(pull)))
    } else {
        Answer::fail(faults.join("; "))
    };
    Ok(answer.with(vec![
        EvidenceItem::Pull { number: pull.number.0, note: line(pull.title.as_data(), 200) },
        fact("read at", &pull.fetched_at.to_rfc3339()),
    ]))
}

fn notes(pull: &PullFacts) -> Vec<String> {
    let mut notes = Vec::new();
    match pull.state {
        PullState::Merged => notes.push(say::pull_merged()),
        PullState::Open | PullState::Closed => {}
    }
    if pull.draft {
        notes.push(say::pull_draft());
    }
    notes
}
