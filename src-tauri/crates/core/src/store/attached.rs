//! What hangs on a task: contract versions, frames, handoffs, validator verdicts.

use rusqlite::{Row, named_params};
use serde::{Deserialize, Serialize};
use steward_rules::diff::RepoPath;
use steward_rules::ids::{FrameId, PullNumber, Sha, TaskId};
use steward_rules::review::facts::{
    ClaimedCommit, Contract, Frame, Handoff, MutatedPath, MutationRun, Mutations, PeerClaims, PeerStatus,
    ValidatorOutcome, ValidatorVerdict,
};
use steward_rules::untrusted::Untrusted;

use super::sql::{self, At};
use super::{ReadTx, StoreError, WriteTx, tasks};

/// What a contract says, without its version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContractBody {
    pub write_scope: Vec<String>,
    pub checks: Vec<String>,
    pub mutations: Mutations,
}

/// Keeps a contract as the task's next version. The same text again is the version there is.
pub fn add_contract(tx: &WriteTx<'_>, task: TaskId, body: &ContractBody) -> Result<Contract, StoreError> {
    if let Some(newest) = newest_contract(tx, task)?
        && newest.write_scope == body.write_scope
        && newest.checks == body.checks
        && newest.mutations == body.mutations
    {
        return Ok(newest);
    }
    tx.execute(
        "INSERT INTO contracts (task, version, body, created_at)
         VALUES (:task, (SELECT coalesce(max(version), 0) + 1 FROM contracts WHERE task = :task), :body, :now)",
        named_params! { ":task": task.0, ":body": sql::to_json(body)?, ":now": At(tx.now()) },
    )?;
    tasks::touch(tx, task)?;
    newest_contract(tx, task)?
        .ok_or_else(|| StoreError::Value("the contract just written is not there".to_owned()))
}

/// The contract in force.
pub fn newest_contract(tx: &ReadTx<'_>, task: TaskId) -> Result<Option<Contract>, StoreError> {
    tx.query_opt(
        "SELECT version, body, created_at FROM contracts WHERE task = :task ORDER BY version DESC LIMIT 1",
        named_params! { ":task": task.0 },
        |row| {
            let body: ContractBody = sql::json(row, "body")?;
            Ok(Contract {
                version: row.get("version")?,
                write_scope: body.write_scope,
                checks: body.checks,
                mutations: body.mutations,
                created_at: sql::time(row, "created_at")?,
            })
        },
    )
}

/// The version of the contract in force.
pub fn contract_version(tx: &ReadTx<'_>, task: TaskId) -> Result<Option<u32>, StoreError> {
    tx.query_row(
        "SELECT max(version) AS version FROM contracts WHERE task = :task",
        named_params! { ":task": task.0 },
        |row| row.get("version"),
    )
}

/// A frame to be kept; its picture lies under `frames/` already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFrame {
    pub sha: Sha,
    pub clean: bool,
    pub width: u32,
    pub theme: String,
    pub scale: u32,
    pub route: Option<String>,
    pub file: String,
    pub image_hash: String,
    pub pixels: Option<(u32, u32)>,
}

/// A kept frame: its facts, its task, and its picture's name under `frames/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameRow {
    pub task: TaskId,
    pub file: String,
    pub frame: Frame,
}

const FRAME: &str =
    "id, task, sha, clean, width, theme, scale, route, file, image_hash, px_width, px_height, created_at";

/// Keeps a frame.
pub fn add_frame(tx: &WriteTx<'_>, task: TaskId, new: &NewFrame) -> Result<FrameId, StoreError> {
    let id = tx.insert(
        "INSERT INTO frames (task, sha, clean, width, theme, scale, route, file, image_hash, px_width, px_height, created_at)
         VALUES (:task, :sha, :clean, :width, :theme, :scale, :route, :file, :hash, :px_width, :px_height, :now)",
        named_params! {
            ":task": task.0, ":sha": new.sha.as_str(), ":clean": new.clean, ":width": new.width, ":theme": new.theme,
            ":scale": new.scale, ":route": new.route, ":file": new.file, ":hash": new.image_hash,
            ":px_width": new.pixels.map(|p| p.0), ":px_height": new.pixels.map(|p| p.1), ":now": At(tx.now()),
        },
    )?;
    tasks::touch(tx, task)?;
    Ok(FrameId(id))
}

/// Every frame of a task, oldest first.
pub fn frames(tx: &ReadTx<'_>, task: TaskId) -> Result<Vec<FrameRow>, StoreError> {
    tx.query_all(
        &format!("SELECT {FRAME} FROM frames WHERE task = :task ORDER BY id"),
        named_params! { ":task": task.0 },
        read_frame,
    )
}

/// One frame.
pub fn frame(tx: &ReadTx<'_>, id: FrameId) -> Result<Option<FrameRow>, StoreError> {
    tx.query_opt(
        &format!("SELECT {FRAME} FROM frames WHERE id = :id"),
        named_params! { ":id": id.0 },
        read_frame,
    )
}

/// Forgets frames older than `before` and gives the pictures that no frame names any more.
pub fn prune_frames(
    tx: &WriteTx<'_>,
    before: chrono::DateTime<chrono::Utc>,
) -> Result<Vec<String>, StoreError> {
    let files = tx.query_all(
        "SELECT DISTINCT file FROM frames f WHERE created_at < :before
           AND NOT EXISTS (SELECT 1 FROM frames g WHERE g.file = f.file AND g.created_at >= :before)",
        named_params! { ":before": At(before) },
        |row| row.get::<_, String>("file"),
    )?;
    tx.execute("DELETE FROM frames WHERE created_at < :before", named_params! { ":before": At(before) })?;
    Ok(files)
}

fn read_frame(row: &Row<'_>) -> rusqlite::Result<FrameRow> {
    let pixels: (Option<u32>, Option<u32>) = (row.get("px_width")?, row.get("px_height")?);
    Ok(FrameRow {
        task: TaskId(row.get("task")?),
        file: row.get("file")?,
        frame: Frame {
            id: FrameId(row.get("id")?),
            sha: sql::sha(row, "sha")?,
            clean: row.get("clean")?,
            width: row.get("width")?,
            theme: row.get("theme")?,
            scale: row.get("scale")?,
            route: row.get::<_, Option<String>>("route")?.map(Untrusted::new),
            pixels: pixels.0.zip(pixels.1),
            image_hash: row.get("image_hash")?,
            attached_at: sql::time(row, "created_at")?,
        },
    })
}

/// A handoff as it is kept: what the Peer wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandoffBody {
    pub commits: Vec<String>,
    pub files: Vec<String>,
    pub pull: Option<i64>,
    pub tests: Vec<String>,
    pub note: String,
}

/// Keeps a Peer's handoff.
pub fn add_handoff(
    tx: &WriteTx<'_>,
    task: TaskId,
    peer: &str,
    status: PeerStatus,
    body: &HandoffBody,
) -> Result<i64, StoreError> {
    let id = tx.insert(
        "INSERT INTO handoffs (task, peer, status, body, created_at) VALUES (:task, :peer, :status, :body, :now)",
        named_params! {
            ":task": task.0, ":peer": peer, ":status": sql::to_word(&status)?, ":body": sql::to_json(body)?,
            ":now": At(tx.now()),
        },
    )?;
    tasks::touch(tx, task)?;
    Ok(id)
}

/// Every handoff of a task, oldest first. Patch ids of claimed commits are git's to fill in.
pub fn handoffs(tx: &ReadTx<'_>, task: TaskId) -> Result<Vec<Handoff>, StoreError> {
    tx.query_all(
        "SELECT peer, status, body, created_at FROM handoffs WHERE task = :task ORDER BY id",
        named_params! { ":task": task.0 },
        |row| {
            let body: HandoffBody = sql::json(row, "body")?;
            Ok(Handoff {
                peer: Untrusted::new(row.get::<_, String>("peer")?),
                status: sql::word(row, "status")?,
                claims: PeerClaims {
                    commits: body
                        .commits
                        .into_iter()
                        .map(|text| ClaimedCommit { text, patch_id: None })
                        .collect(),
                    files: body.files.iter().map(|file| RepoPath::from(file.as_str())).collect(),
                    pull: body.pull.map(PullNumber),
                    tests: body.tests.into_iter().map(Untrusted::new).collect(),
                },
                note: Untrusted::new(body.note),
                at: sql::time(row, "created_at")?,
            })
        },
    )
}

/// A validator's verdict as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValidatorBody {
    pub scope_violation: bool,
    pub mutations: Option<MutationsBody>,
}

/// Where the mutations ran, and each file they touched with its blob afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MutationsBody {
    pub sha: Sha,
    pub paths: Vec<(String, Sha)>,
}

/// Keeps a validator's verdict.
pub fn add_validator(
    tx: &WriteTx<'_>,
    task: TaskId,
    contract_version: u32,
    sha: &Sha,
    verdict: ValidatorOutcome,
    body: &ValidatorBody,
) -> Result<i64, StoreError> {
    let id = tx.insert(
        "INSERT INTO validator_verdicts (task, contract_version, sha, verdict, body, created_at)
         VALUES (:task, :version, :sha, :verdict, :body, :now)",
        named_params! {
            ":task": task.0, ":version": contract_version, ":sha": sha.as_str(), ":verdict": sql::to_word(&verdict)?,
            ":body": sql::to_json(body)?, ":now": At(tx.now()),
        },
    )?;
    tasks::touch(tx, task)?;
    Ok(id)
}

/// Every validator verdict of a task, oldest first.
pub fn validator_verdicts(tx: &ReadTx<'_>, task: TaskId) -> Result<Vec<ValidatorVerdict>, StoreError> {
    tx.query_all(
        "SELECT contract_version, sha, verdict, body, created_at FROM validator_verdicts
         WHERE task = :task ORDER BY id",
        named_params! { ":task": task.0 },
        |row| {
            let body: ValidatorBody = sql::json(row, "body")?;
            Ok(ValidatorVerdict {
                contract_version: row.get("contract_version")?,
                sha: sql::sha(row, "sha")?,
                verdict: sql::word(row, "verdict")?,
                scope_violation: body.scope_violation,
                mutations: body.mutations.map(|run| MutationRun {
                    sha: run.sha,
                    paths: run
                        .paths
                        .into_iter()
                        .map(|(path, blob)| MutatedPath { path: RepoPath::from(path.as_str()), blob })
                        .collect(),
                }),
                at: sql::time(row, "created_at")?,
            })
        },
    )
}
