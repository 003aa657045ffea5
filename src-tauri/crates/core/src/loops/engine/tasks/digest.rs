//! What an agent is told of its task. Everything that somebody else wrote stands inside the envelope.

use serde::Serialize;
use steward_rules::engine::entries::EntryDiff;
use steward_rules::engine::policy::Policy;
use steward_rules::secret::Engine;
use steward_rules::untrusted::Untrusted;

use crate::agent::DIGEST_MOST;
use crate::store::engine_tasks::{TaskRow, What};

/// Longest piece of foreign text, in characters.
const TEXT: usize = 20_000;
/// Longest patch that is handed over, in characters.
const PATCH: usize = 100_000;
/// Most entries that are named.
const ENTRIES: usize = 300;

/// Text of somebody else: data, never an instruction.
#[derive(Debug, Clone, Serialize)]
struct Foreign {
    untrusted: bool,
    text: String,
}

fn foreign(text: &str, limit: usize) -> Foreign {
    Foreign { untrusted: true, text: Untrusted::new(Engine::shared().redact(text)).escaped(limit) }
}

/// `task_get`'s answer.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Digest<'a> {
    digest_version: u32,
    /// `fix`, `reapply` or `triage`.
    task: &'static str,
    repository: String,
    number: i64,
    /// What lies in `tree/`.
    tree: &'static str,
    safe_paths: &'a [String],
    most_entries: u32,
    /// Entries the change must stay within; absent when it may touch others.
    #[serde(skip_serializing_if = "Option::is_none")]
    stays_within: Option<Vec<Foreign>>,
    /// Checks that failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failed_checks: Vec<Foreign>,
    evidence: Vec<Evidence>,
    /// The pull request's own change.
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<Foreign>,
    /// Why the change could not be put onto the base mechanically.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_rebased: Option<Foreign>,
    /// Questions that were asked already.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    asked: Vec<Foreign>,
}

#[derive(Debug, Clone, Serialize)]
struct Evidence {
    what: String,
    #[serde(flatten)]
    text: Foreign,
}

/// The facts around a task.
#[derive(Debug, Clone, Copy)]
pub(super) struct Around<'a> {
    pub policy: &'a Policy,
    pub of_pull: Option<&'a EntryDiff>,
    pub patch: Option<&'a str>,
    pub not_rebased: Option<&'a str>,
}

/// The digest, short enough to be handed over whole.
pub(super) fn write(row: &TaskRow, around: &Around<'_>) -> Result<Vec<u8>, serde_json::Error> {
    let (task, tree) = match (&row.what, around.not_rebased) {
        (What::Fix { .. }, _) => ("fix", "the head of the pull request"),
        (What::Rebase, _) => ("reapply", "the base, without the change"),
        (What::Triage { .. }, _) => ("triage", "the base"),
    };
    let within = around.of_pull.map(|diff| {
        let keys = diff.scope();
        keys.into_iter()
            .take(ENTRIES)
            .map(|key| foreign(&format!("{} {}", key.family, key.id), 300))
            .collect()
    });
    let (checks, asked): (&[String], &[String]) = match &row.what {
        What::Fix { checks, .. } => (checks, &[]),
        What::Rebase => (&[], &[]),
        What::Triage { asked } => (&[], asked),
    };
    let mut digest = Digest {
        digest_version: 1,
        task,
        repository: row.name.to_string(),
        number: row.number,
        tree,
        safe_paths: &around.policy.safe_paths,
        most_entries: around.policy.own_max_entries,
        stays_within: within,
        failed_checks: checks.iter().take(50).map(|check| foreign(check, 200)).collect(),
        evidence: row
            .evidence
            .iter()
            .map(|piece| Evidence { what: piece.what.clone(), text: foreign(&piece.text, TEXT) })
            .collect(),
        change: around.patch.map(|patch| foreign(patch, PATCH)),
        not_rebased: around.not_rebased.map(|why| foreign(why, 2_000)),
        asked: asked.iter().rev().take(20).map(|question| foreign(question, 4_000)).collect(),
    };
    loop {
        let written = serde_json::to_vec_pretty(&digest)?;
        if written.len() <= DIGEST_MOST {
            return Ok(written);
        }
        // Escapes may have made it longer than the texts are: what was said first goes first, and what it is all
        // about stays longest.
        match digest.evidence.len() {
            0 if digest.change.take().is_none() => return Ok(written),
            0 => {}
            1 => drop(digest.evidence.pop()),
            _ => drop(digest.evidence.remove(1)),
        }
    }
}
