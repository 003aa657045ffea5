//! What a fix starts from (engine.md 5): the logs of its red checks or what the flag says, and the issue that it
//! is all about. Every word of it is somebody else's.

use std::collections::BTreeSet;

use steward_rules::checks::Health;
use steward_rules::engine::decision::Fix;
use steward_rules::engine::facts::{PrObs, Run};
use steward_rules::engine::fingerprint;
use steward_rules::engine::ladder::{self, LogEvidence};
use steward_rules::engine::triage::issue_of_branch;
use steward_rules::untrusted::Untrusted;

use super::reading::{self, ReadFault};
use super::tick::Tick;
use crate::store::engine_tasks::Piece;

/// The fingerprints of what a fix starts from. A log that was not read has none.
pub(super) async fn prints_of(tick: &Tick<'_>, seen: &PrObs, what: &Fix) -> BTreeSet<String> {
    match what {
        Fix::Checks { names, .. } => prints(&logs(tick, seen, names).await),
        Fix::Flag => flag_print(seen),
    }
}

pub(super) fn prints(logs: &[LogEvidence]) -> BTreeSet<String> {
    let read = |log: &LogEvidence| Some(fingerprint::of_check(&log.check, log.excerpt.as_deref()?));
    logs.iter().filter_map(read).collect()
}

pub(super) fn flag_print(seen: &PrObs) -> BTreeSet<String> {
    seen.flag.get().ok().map(|findings| fingerprint::of_flag(findings)).into_iter().collect()
}

/// What a fix of red checks is told.
pub(super) async fn of_checks(tick: &Tick<'_>, seen: &PrObs, logs: &[LogEvidence]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = logs.iter().map(piece).collect();
    pieces.extend(source(tick, seen).await);
    pieces
}

/// What a fix of a flag is told: what it names, and what the verdict's comment says.
pub(super) async fn of_flag(tick: &Tick<'_>, seen: &PrObs) -> Vec<Piece> {
    let place = tick.place.reading(tick.known.repository.id);
    let said = reading::verdict_comment(tick.ctx, &place, seen.number).await;
    let mut pieces = flagged(seen);
    pieces.extend(told("comment of the verdict".to_owned(), said));
    pieces.extend(source(tick, seen).await);
    pieces
}

/// The issue that a pull request of the intake, or of ours, was made for.
async fn source(tick: &Tick<'_>, seen: &PrObs) -> Option<Piece> {
    let is_ours = seen.head.repo == Some(seen.base.repo);
    let number = issue_of_branch(&seen.head.branch).filter(|_| is_ours)?;
    let place = tick.place.reading(tick.known.repository.id);
    told(format!("issue #{number}"), reading::issue_text(tick.ctx, &place, number).await)
}

/// Nothing where there is none, and a note where it could not be read.
fn told(what: String, text: Result<Option<String>, ReadFault>) -> Option<Piece> {
    let text = match text {
        Ok(text) => text?,
        Err(error) => {
            tracing::warn!(what, error = error.slug(), "evidence of a fix was not read");
            "It could not be read.".to_owned()
        }
    };
    Some(Piece { what, text })
}

fn piece(log: &LogEvidence) -> Piece {
    let what = format!("log of {}", Untrusted::new(log.check.as_str()).one_line(100));
    let text = log.excerpt.clone().unwrap_or_else(|| {
        "The log could not be read. Reproduce the failure with the validators of this repository.".to_owned()
    });
    Piece { what, text }
}

/// What the flag names, as far as it names anything.
fn flagged(seen: &PrObs) -> Vec<Piece> {
    let Ok(findings) = seen.flag.get() else { return Vec::new() };
    let lines: Vec<String> = findings
        .iter()
        .map(|finding| match (&finding.entry, &finding.path) {
            (Some(entry), _) => format!("{} {}", entry.family, entry.id),
            (None, Some(path)) => path.shown(),
            (None, None) => "the whole change".to_owned(),
        })
        .collect();
    let text = if lines.is_empty() { "the whole change".to_owned() } else { lines.join("\n") };
    vec![Piece { what: "what the flag names".to_owned(), text }]
}

/// The logs of the failed jobs of these checks, redacted and cut. One that cannot be read is evidence without
/// an excerpt.
pub(super) async fn logs(tick: &Tick<'_>, seen: &PrObs, names: &[String]) -> Vec<LogEvidence> {
    let place = tick.place.reading(tick.known.repository.id);
    let failed = |run: &&Run| {
        names.contains(&run.check.name)
            && run.head == seen.head.sha
            && steward_rules::checks::run_health(&run.check.state, true) == Health::Failing
    };
    let runs: std::collections::BTreeSet<u64> =
        seen.check_runs.items.iter().filter(failed).filter_map(|run| run.workflow_run).collect();
    let mut found = Vec::new();
    for run in runs {
        if let Ok(logs) = reading::job_log(tick.ctx, &place, run).await {
            found.extend(logs.into_iter().filter(|log| names.contains(&log.check)));
        }
    }
    for name in names {
        if !found.iter().any(|log| log.check == *name) {
            found.push(ladder::log_evidence(name, None));
        }
    }
    found
}
