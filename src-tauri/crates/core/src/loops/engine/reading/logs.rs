//! The logs of a run's failed jobs, as evidence (engine.md 5).

use steward_rules::engine::ladder::{self, LogEvidence};

use super::{Place, ReadFault, is_of_all};
use crate::github::GitHubError;
use crate::github::types::Job;
use crate::loops::Ctx;
use crate::loops::forge;

/// Bytes of a log's end that are held to find the last lines in: colours and times take their share, and a
/// key that spans lines is seen whole.
const KEEP: usize = 256 * 1024;
/// Jobs of one run whose logs are read.
const JOBS: usize = 5;

/// The end of the log of each failed job of a workflow run's newest attempt, redacted and cut. A log that
/// cannot be read is evidence without an excerpt.
pub async fn job_log(ctx: &Ctx, place: &Place, run: u64) -> Result<Vec<LogEvidence>, ReadFault> {
    let open = forge::open(ctx, &place.host, &place.repo).await?;
    let jobs = open.reader.jobs(&place.repo, run).await?;
    let mut found = Vec::new();
    for job in jobs.iter().filter(|job| is_failed(job)).take(JOBS) {
        let evidence = match open.reader.job_log(&place.repo, job.id, KEEP).await {
            Ok(tail) => {
                let mut evidence = ladder::log_evidence(&job.name, Some(&plain(&tail.text)));
                evidence.is_cut |= tail.is_cut;
                evidence
            }
            // The other host, which holds the log, says nothing of the API.
            Err(error @ (GitHubError::Network(_) | GitHubError::Tls(_) | GitHubError::CaptivePortal)) => {
                tracing::warn!(job = job.id, error = error.slug(), "the log of a job was not read");
                ladder::log_evidence(&job.name, None)
            }
            Err(error) if is_of_all(&error) => return Err(error.into()),
            Err(_) => ladder::log_evidence(&job.name, None),
        };
        found.push(evidence);
    }
    Ok(found)
}

fn is_failed(job: &Job) -> bool {
    let is_well = |word: &str| matches!(word, "success" | "skipped" | "neutral");
    job.status == "completed" && !job.conclusion.as_deref().is_some_and(is_well)
}

/// Without colours, and without the time that GitHub puts before each line: it differs in every run.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let line = line.trim_start_matches('\u{feff}');
        let line = match line.split_once(' ') {
            Some((stamp, rest)) if is_stamp(stamp) => rest,
            Some(_) | None => line,
        };
        push_uncoloured(&mut out, line);
        out.push('\n');
    }
    out
}

/// `2026-01-05T09:00:00.0000000Z`.
fn is_stamp(word: &str) -> bool {
    word.len() >= 20 && word.ends_with('Z') && chrono::DateTime::parse_from_rfc3339(word).is_ok()
}

fn push_uncoloured(out: &mut String, line: &str) {
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' if chars.peek() == Some(&'[') => {
                chars.next();
                // Up to the letter that ends the sequence.
                while chars.next_if(|c| !c.is_ascii_alphabetic()).is_some() {}
                chars.next();
            }
            '\t' => out.push(c),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
}
