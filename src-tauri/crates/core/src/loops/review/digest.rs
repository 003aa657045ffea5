//! The digest: the objective facts about one head, as the seat reads them (review.md 3).
//!
//! Whatever an agent or a user wrote lies in an envelope, escaped, capped, and without any secret that
//! the rules know.

mod carry;
mod ci;
mod pull;

use std::collections::BTreeMap;

use serde::Serialize;
use steward_rules::diff::{ChangedFile, Kind, Status};
use steward_rules::ids::{ReviewId, Sha};
use steward_rules::review::coverage::{self, Manifest};
use steward_rules::review::facts::Evidence;
use steward_rules::review::findings::{Finding, FindingMark};
use steward_rules::review::gate::{self, EvidenceItem, GateId, GateState, GateTable};
use steward_rules::review::verdict::Verdict;
use steward_rules::secret::Engine;
use steward_rules::untrusted::Untrusted;

use super::observe::Observed;
use crate::agent::digest_hash;
use crate::store::tasks::TaskRow;

/// Grows when the shape changes in a way a seat must know.
const VERSION: u32 = 1;
const COMMITS: usize = 100;
const FILES: usize = 1500;
const FINDINGS: usize = 100;
const PEERS: usize = 50;
const EVIDENCE: usize = 10;

/// What a digest is made from.
pub struct Input<'a> {
    pub review: ReviewId,
    pub task: &'a TaskRow,
    pub observed: &'a Observed,
    pub table: &'a GateTable,
    pub earlier: &'a [Finding],
    pub marks: &'a [FindingMark],
}

/// A digest as it is written, and what it gives of the change.
pub struct Digest {
    pub json: Vec<u8>,
    pub hash: String,
    pub manifest: Manifest,
}

/// Text of others, marked.
#[derive(Debug, Serialize)]
struct Foreign {
    untrusted: bool,
    text: String,
}

fn foreign(text: &str, limit: usize) -> Foreign {
    // Longer than it will be shown is not even searched for secrets.
    let near: String = text.chars().take(limit.saturating_mul(2)).collect();
    Foreign { untrusted: true, text: Untrusted::new(Engine::shared().redact(&near)).escaped(limit) }
}

/// A name is never redacted: it must be the one the seat finds in its tree.
fn foreign_name(text: String) -> Foreign {
    Foreign { untrusted: true, text }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    digest_version: u32,
    review: i64,
    task: TaskPart,
    repo: RepoPart,
    diff: DiffPart,
    coverage: CoveragePart,
    commits: Vec<CommitPart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pr: Option<pull::PullPart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    contract: Option<ContractPart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    validator: Option<ValidatorPart>,
    handoffs: Vec<HandoffPart>,
    ci: ci::CiPart,
    frames: Vec<FramePart>,
    gates: Vec<GatePart>,
    earlier_findings: Vec<EarlierPart>,
    answer: AnswerPart,
}

#[derive(Serialize)]
struct TaskPart {
    id: i64,
    title: Foreign,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<Foreign>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RepoPart {
    base: Option<BasePart>,
    merge_base: Option<Sha>,
    head: Sha,
}

#[derive(Serialize)]
struct BasePart {
    branch: Foreign,
    tip: Sha,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DiffPart {
    files: Vec<FilePart>,
    /// Files that are not listed any more.
    more_files: usize,
    stats: StatsPart,
}

#[derive(Serialize)]
struct StatsPart {
    files: usize,
    added: u64,
    removed: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FilePart {
    path: Foreign,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_path: Option<Foreign>,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    added: Option<u32>,
    removed: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hunks: Vec<carry::HunkPart>,
    /// Why its lines are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<&'static str>,
}

/// What the digest carries of the change, and what must be read in the tree for a whole reading.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CoveragePart {
    complete: bool,
    excluded: Vec<ExcludedPart>,
    still_to_read: Vec<ToReadPart>,
}

#[derive(Serialize)]
struct ExcludedPart {
    path: Foreign,
    why: &'static str,
}

#[derive(Serialize)]
struct ToReadPart {
    path: Foreign,
    /// `tree` for lines of the head, `base` for removed ones.
    place: &'static str,
    from: u32,
    to: u32,
}

#[derive(Serialize)]
struct CommitPart {
    sha: Sha,
    author: Foreign,
    message: Foreign,
    at: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ContractPart {
    version: u32,
    write_scope: Vec<Foreign>,
    checks: Vec<Foreign>,
    mutations: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ValidatorPart {
    contract_version: u32,
    sha: Sha,
    verdict: &'static str,
    scope_violation: bool,
}

#[derive(Serialize)]
struct HandoffPart {
    peer: Foreign,
    status: &'static str,
    commits: Vec<Foreign>,
    files: Vec<Foreign>,
    tests: Vec<Foreign>,
    note: Foreign,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FramePart {
    frame_id: i64,
    file: String,
    width: u32,
    theme: Foreign,
    scale: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    route: Option<Foreign>,
    at_head: bool,
    clean: bool,
}

#[derive(Serialize)]
struct GatePart {
    id: GateId,
    state: GateState,
    detail: Foreign,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    evidence: Vec<Foreign>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EarlierPart {
    finding_id: String,
    state: &'static str,
    title: Foreign,
    file: Foreign,
    line: u32,
    why: Foreign,
    check: Foreign,
    /// True when the person has settled it.
    settled: bool,
}

#[derive(Serialize)]
struct AnswerPart {
    cap: Option<Verdict>,
    held: bool,
}

/// Makes the digest of one head.
pub fn build(input: &Input<'_>) -> Result<Digest, serde_json::Error> {
    let evidence = &input.observed.evidence;
    let none = Vec::new();
    let changed: &[ChangedFile] = input.observed.diff().map_or(&none, |diff| &diff.files);
    let (mut hunks, manifest) = carry::carry(changed, &input.observed.policy, FILES);
    let files = changed.iter().take(FILES).enumerate().map(|(at, file)| {
        let (hunks, left_out) = hunks.get_mut(at).map(std::mem::take).unwrap_or_default();
        file_part(file, hunks, left_out)
    });
    let (added, removed) = input.observed.diff().map_or((0, 0), |diff| diff.totals());
    let document = Document {
        digest_version: VERSION,
        review: input.review.0,
        task: TaskPart {
            id: input.task.id.0,
            title: foreign(&input.task.title, 200),
            branch: input.task.branch.as_deref().map(|branch| foreign(branch, 200)),
        },
        repo: RepoPart {
            base: input
                .observed
                .base()
                .ok()
                .map(|base| BasePart { branch: foreign(&base.branch, 200), tip: base.tip.clone() }),
            merge_base: input.observed.base().ok().map(|base| base.merge_base.clone()),
            head: evidence.head.clone(),
        },
        diff: DiffPart {
            files: files.collect(),
            more_files: changed.len().saturating_sub(FILES),
            stats: StatsPart { files: changed.len(), added, removed },
        },
        coverage: coverage_part(&manifest),
        commits: commits(input.observed),
        pr: pull::part(evidence),
        contract: evidence.contract.as_ref().map(|contract| ContractPart {
            version: contract.version,
            write_scope: contract.write_scope.iter().map(|glob| foreign(glob, 200)).collect(),
            checks: contract.checks.iter().map(|check| foreign(check, 200)).collect(),
            mutations: match contract.mutations {
                steward_rules::review::facts::Mutations::Required => "required",
                steward_rules::review::facts::Mutations::None => "none",
            },
        }),
        validator: evidence.validator.last().map(|said| ValidatorPart {
            contract_version: said.contract_version,
            sha: said.sha.clone(),
            verdict: match said.verdict {
                steward_rules::review::facts::ValidatorOutcome::Pass => "pass",
                steward_rules::review::facts::ValidatorOutcome::Fail => "fail",
                steward_rules::review::facts::ValidatorOutcome::Running => "running",
            },
            scope_violation: said.scope_violation,
        }),
        handoffs: handoffs(evidence),
        ci: ci::part(evidence),
        frames: evidence
            .frames
            .iter()
            .map(|frame| FramePart {
                frame_id: frame.id.0,
                file: format!("frames/{}.png", frame.id),
                width: frame.width,
                theme: foreign(&frame.theme, 200),
                scale: frame.scale,
                route: frame.route.as_ref().map(|route| foreign(route.as_data(), 200)),
                at_head: frame.sha == evidence.head,
                clean: frame.clean,
            })
            .collect(),
        gates: input.table.results.iter().map(gate_part).collect(),
        earlier_findings: input
            .earlier
            .iter()
            .filter(|finding| finding.state != steward_rules::review::findings::FindingState::Fixed)
            .take(FINDINGS)
            .map(|finding| earlier_part(finding, input.marks))
            .collect(),
        answer: AnswerPart {
            cap: Some(gate::cap_so_far(input.table)),
            held: gate::cap(input.table).is_none(),
        },
    };
    let json = serde_json::to_vec_pretty(&document)?;
    Ok(Digest { hash: digest_hash(&json), json, manifest })
}

/// True when the person's mark on a finding holds.
pub(super) fn is_settled(finding: &Finding, marks: &[FindingMark]) -> bool {
    marks.iter().any(|mark| mark.finding == finding.id && mark.cited == finding.cited)
}

fn file_part(file: &ChangedFile, hunks: Vec<carry::HunkPart>, left_out: Option<&'static str>) -> FilePart {
    FilePart {
        path: foreign_name(file.path.shown()),
        old_path: file.old_path.as_ref().map(|path| foreign_name(path.shown())),
        status: match file.status {
            Status::Added => "added",
            Status::Deleted => "deleted",
            Status::Modified => "modified",
            Status::Renamed { .. } => "renamed",
            Status::Copied { .. } => "copied",
            Status::TypeChanged => "type_changed",
        },
        kind: match file.new_kind {
            Kind::Absent | Kind::File => None,
            Kind::Executable => Some("executable"),
            Kind::Symlink => Some("symlink"),
            Kind::Submodule => Some("submodule"),
        },
        added: file.lines.map(|(added, _)| added),
        removed: file.lines.map(|(_, removed)| removed),
        hunks,
        left_out,
    }
}

fn coverage_part(manifest: &Manifest) -> CoveragePart {
    let seen = coverage::cover(manifest, &[]);
    CoveragePart {
        complete: seen.complete,
        excluded: seen
            .excluded
            .into_iter()
            .take(FILES)
            .map(|one| ExcludedPart { path: foreign_name(one.file), why: one.why.as_str() })
            .collect(),
        still_to_read: seen
            .unread
            .into_iter()
            .take(FILES)
            .map(|one| ToReadPart {
                path: foreign_name(one.file),
                place: match one.side {
                    coverage::Side::Head => "tree",
                    coverage::Side::Base => "base",
                },
                from: one.from,
                to: one.to,
            })
            .collect(),
    }
}

fn commits(observed: &Observed) -> Vec<CommitPart> {
    let Ok(commits) = observed.commits() else { return Vec::new() };
    let skipped = commits.len().saturating_sub(COMMITS);
    commits
        .iter()
        .skip(skipped)
        .map(|commit| CommitPart {
            sha: commit.sha.clone(),
            author: foreign(commit.author.as_data(), 120),
            message: foreign(commit.message.as_data(), 1000),
            at: commit.committed_at.to_rfc3339(),
        })
        .collect()
}

/// The newest handoff of each peer.
fn handoffs(evidence: &Evidence) -> Vec<HandoffPart> {
    let mut newest = BTreeMap::new();
    for handoff in &evidence.handoffs {
        newest.insert(handoff.peer.as_data(), handoff);
    }
    newest
        .into_values()
        .take(PEERS)
        .map(|handoff| HandoffPart {
            peer: foreign(handoff.peer.as_data(), 200),
            status: match handoff.status {
                steward_rules::review::facts::PeerStatus::Done => "done",
                steward_rules::review::facts::PeerStatus::Running => "running",
                steward_rules::review::facts::PeerStatus::Blocked => "blocked",
                steward_rules::review::facts::PeerStatus::Failed => "failed",
            },
            commits: handoff.claims.commits.iter().take(PEERS).map(|one| foreign(&one.text, 40)).collect(),
            files: handoff.claims.files.iter().take(PEERS).map(|one| foreign(&one.shown(), 300)).collect(),
            tests: handoff.claims.tests.iter().take(PEERS).map(|one| foreign(one.as_data(), 200)).collect(),
            note: foreign(handoff.note.as_data(), 2000),
        })
        .collect()
}

fn gate_part(result: &gate::GateResult) -> GatePart {
    GatePart {
        id: result.id,
        state: result.state,
        detail: foreign(&result.detail, 400),
        evidence: result
            .evidence
            .iter()
            .take(EVIDENCE)
            .map(|item| {
                let text = match item {
                    EvidenceItem::File { path, line: Some(line), note } => format!("{path}:{line} {note}"),
                    EvidenceItem::File { path, line: None, note } => format!("{path} {note}"),
                    EvidenceItem::Commit { sha, note } => format!("{sha} {note}"),
                    EvidenceItem::Check { name, app, conclusion, .. } => {
                        format!("{name} ({app}): {conclusion}")
                    }
                    EvidenceItem::Pull { number, note } => format!("#{number} {note}"),
                    EvidenceItem::Frame { id, note } => format!("frame {id} {note}"),
                    EvidenceItem::Fact { name, value } => format!("{name}: {value}"),
                };
                foreign(&text, 300)
            })
            .collect(),
    }
}

fn earlier_part(finding: &Finding, marks: &[FindingMark]) -> EarlierPart {
    EarlierPart {
        finding_id: finding.id.clone(),
        state: match finding.state {
            steward_rules::review::findings::FindingState::New => "new",
            steward_rules::review::findings::FindingState::Open => "open",
            steward_rules::review::findings::FindingState::Fixed => "fixed",
            steward_rules::review::findings::FindingState::Answered => "answered",
        },
        title: foreign(finding.title.as_data(), 80),
        file: foreign_name(finding.file.clone()),
        line: finding.line,
        why: foreign(finding.why.as_data(), 1000),
        check: foreign(finding.check.as_data(), 1000),
        settled: is_settled(finding, marks),
    }
}
