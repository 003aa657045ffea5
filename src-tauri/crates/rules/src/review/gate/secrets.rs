//! `no_secrets`: no secret in any commit of the range.

use chrono::{DateTime, Utc};

use super::answer::{Answer, commit, fact, first, line, result};
use super::{EvidenceItem, GateId, GateResult};
use crate::reading::Why;
use crate::review::facts::Evidence;
use crate::review::policy::ReviewPolicy;
use crate::secret::{Place, SecretHit, Tier};
use crate::wording::gate as say;

pub(super) fn check(evidence: &Evidence, policy: &ReviewPolicy, _now: DateTime<Utc>) -> GateResult {
    result(GateId::NoSecrets, judge(evidence, policy))
}

fn judge<'a>(e: &'a Evidence, policy: &ReviewPolicy) -> Result<Answer, &'a Why> {
    let report = e.secrets.get()?;
    let (excepted, counted): (Vec<&SecretHit>, Vec<&SecretHit>) =
        report.hits.iter().partition(|hit| is_excepted(hit, policy));
    let high: Vec<&SecretHit> = counted.iter().copied().filter(|hit| hit.tier == Tier::High).collect();
    let generic = counted.len() - high.len();

    let mut items: Vec<EvidenceItem> = high.iter().map(|hit| item(hit)).collect();
    items.push(fact("commits looked at", &report.commits.to_string()));
    items.push(fact("added lines looked at", &report.lines.to_string()));
    if !excepted.is_empty() {
        items.push(fact("excepted by secretExceptions", &excepted.len().to_string()));
    }
    let answer = if let Some(one) = high.first() {
        Answer::fail(say::secrets(&line(&one.family, 80), &place(&one.place), high.len() - 1))
    } else if report.skipped_bytes > 0 {
        Answer::undecided(say::secrets_unlooked(report.skipped_bytes))
    } else {
        Answer::pass(say::no_secrets(generic))
    };
    Ok(answer.with(items))
}

/// True when the config lists the hit's line as no secret.
pub(super) fn is_excepted(hit: &SecretHit, policy: &ReviewPolicy) -> bool {
    policy.secret_exceptions.contains(&hit.line_hash)
}

/// Where a hit stands, for people.
pub(super) fn place(place: &Place) -> String {
    match place {
        Place::Line { path, line: at, .. } => format!("{}:{at}", line(path, 300)),
        Place::FileName { path, .. } => say::in_file_name(&line(path, 300)),
        Place::Message { commit, .. } => say::in_message(&first(commit, 7)),
        Place::Binary { path, .. } => say::in_binary(&line(path, 300)),
    }
}

fn item(hit: &SecretHit) -> EvidenceItem {
    let note = |sha: &str| say::secret_note(&line(&hit.family, 80), &first(&hit.prefix, 4), &first(sha, 7));
    let at = |path: &str, line_number: Option<u32>, sha: &str| EvidenceItem::File {
        path: line(path, 300),
        line: line_number,
        note: note(sha),
    };
    match &hit.place {
        Place::Line { commit, path, line } => at(path, Some(*line), commit),
        Place::FileName { commit, path } | Place::Binary { commit, path } => at(path, None, commit),
        Place::Message { commit: sha, .. } => commit(sha, note(sha)),
    }
}
