//! The one file a seat hands in, checked inside by the tools server and again outside.

use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

/// Name of the submission in the inbox.
pub const SUBMISSION_FILE: &str = "submission.json";
/// Written by the tools server after three refused submissions.
pub const REFUSED_FILE: &str = "refused.json";
/// A submission while it is written.
const DRAFT_FILE: &str = "submission.draft";
/// Largest submission: every text at its cap, escaped.
const FILE_CAP: u64 = 2 << 20;

/// What lies in the inbox: the submission and the hash of the digest it is about.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SubmissionFile {
    pub digest_hash: String,
    pub submission: Box<RawValue>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Cap {
    Accepted,
    Changes,
    Blocked,
}

/// What a reviewer hands in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Submission {
    pub verdict: Cap,
    pub summary: String,
    #[serde(default)]
    pub findings: Vec<Finding>,
    #[serde(default)]
    pub frames: Vec<Observation>,
    #[serde(default)]
    pub earlier: Vec<Earlier>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    pub title: String,
    pub file: String,
    pub line: u32,
    pub why: String,
    pub check: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Observation {
    pub frame_id: i64,
    pub observation: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Earlier {
    pub finding_id: String,
    pub state: EarlierState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EarlierState {
    Fixed,
    Open,
    Answered,
}

/// What does not fit, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize)]
#[error("{field}: {error}")]
pub struct FieldError {
    pub error: String,
    pub field: String,
}

impl FieldError {
    pub fn new(field: impl Into<String>, error: impl Into<String>) -> Self {
        Self { error: error.into(), field: field.into() }
    }
}

/// The parts of `digest.json` that a submission is checked against and answered from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DigestHead {
    pub answer: Answer,
    pub frames: Vec<FrameHead>,
    pub earlier_findings: Vec<EarlierHead>,
    pub diff: DiffHead,
}

/// What the tools server replies to a recorded submission.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Answer {
    pub cap: Option<Cap>,
    pub held: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FrameHead {
    pub frame_id: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EarlierHead {
    pub finding_id: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct DiffHead {
    pub files: Vec<FileHead>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct FileHead {
    pub path: String,
}

/// The hash by which a submission names its digest.
pub fn digest_hash(digest: &[u8]) -> String {
    hex::encode(Sha256::digest(digest))
}

/// Checks a submission against the digest and the tree it is about.
pub fn check(json: &[u8], digest: &DigestHead, tree: &Path) -> Result<Submission, FieldError> {
    let submission: Submission =
        serde_json::from_slice(json).map_err(|error| FieldError::new("submission", error.to_string()))?;
    let text = |field: &str, text: &str, cap: usize| {
        let length = text.chars().count();
        if length > cap {
            return Err(FieldError::new(field, format!("has {length} characters, at most {cap} are taken")));
        }
        Ok(())
    };
    let some = |field: &str, value: &str| {
        if value.trim().is_empty() { Err(FieldError::new(field, "must not be empty")) } else { Ok(()) }
    };
    text("summary", &submission.summary, 4000)?;
    match submission.verdict {
        Cap::Accepted => {}
        Cap::Changes if submission.findings.is_empty() => {
            return Err(FieldError::new("findings", "CHANGES needs a finding"));
        }
        Cap::Changes => {}
        Cap::Blocked => some("summary", &submission.summary)?,
    }
    if submission.findings.len() > 50 {
        return Err(FieldError::new("findings", "at most 50 are taken"));
    }
    for (index, finding) in submission.findings.iter().enumerate() {
        let field = |name: &str| format!("findings[{index}].{name}");
        text(&field("title"), &finding.title, 80)?;
        for (name, value) in [("title", &finding.title), ("why", &finding.why), ("check", &finding.check)] {
            some(&field(name), value)?;
        }
        place(&finding.file, finding.line, digest, tree)
            .map_err(|(name, error)| FieldError::new(field(name), error))?;
    }
    frames(&submission, digest)?;
    for (index, earlier) in submission.earlier.iter().enumerate() {
        if !digest.earlier_findings.iter().any(|known| known.finding_id == earlier.finding_id) {
            return Err(FieldError::new(format!("earlier[{index}].findingId"), "is no earlier finding"));
        }
    }
    Ok(submission)
}

fn frames(submission: &Submission, digest: &DigestHead) -> Result<(), FieldError> {
    for (index, frame) in submission.frames.iter().enumerate() {
        let field = |name: &str| format!("frames[{index}].{name}");
        if !digest.frames.iter().any(|known| known.frame_id == frame.frame_id) {
            return Err(FieldError::new(field("frameId"), "is no frame of this task"));
        }
        if frame.observation.chars().count() > 500 || frame.observation.trim().is_empty() {
            return Err(FieldError::new(field("observation"), "must have 1 to 500 characters"));
        }
    }
    for known in &digest.frames {
        let count = submission.frames.iter().filter(|frame| frame.frame_id == known.frame_id).count();
        if count != 1 {
            let error = format!("frame {} needs exactly one observation, it has {count}", known.frame_id);
            return Err(FieldError::new("frames", error));
        }
    }
    Ok(())
}

fn place(file: &str, line: u32, digest: &DigestHead, tree: &Path) -> Result<(), (&'static str, String)> {
    let path = Path::new(file);
    let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    if file.is_empty() || !plain {
        return Err(("file", "must be a path relative to the tree".to_owned()));
    }
    let on_disk = tree.join(path);
    let is_file = std::fs::symlink_metadata(&on_disk).is_ok_and(|meta| meta.is_file());
    if !is_file {
        if digest.diff.files.iter().any(|known| known.path == file) && line >= 1 {
            return Ok(());
        }
        return Err(("file", "is neither in the tree nor in the diff".to_owned()));
    }
    let bytes = std::fs::read(&on_disk).map_err(|error| ("file", format!("cannot be read: {error}")))?;
    let lines = bytes.split(|&b| b == b'\n').count() - usize::from(bytes.ends_with(b"\n"));
    let lines = lines.max(1);
    if line < 1 || usize::try_from(line).unwrap_or(usize::MAX) > lines {
        return Err(("line", format!("the file has {lines} lines")));
    }
    Ok(())
}

/// Puts a checked submission into the inbox: whole or not at all, and only the first.
pub fn record(inbox: &Path, digest: &[u8], submission: Vec<u8>) -> std::io::Result<()> {
    let submission = String::from_utf8(submission).map_err(std::io::Error::other)?;
    let submission = RawValue::from_string(submission).map_err(std::io::Error::other)?;
    let file = SubmissionFile { digest_hash: digest_hash(digest), submission };
    let draft = inbox.join(DRAFT_FILE);
    let mut out = std::fs::File::options().write(true).create_new(true).open(&draft)?;
    let written = (|| {
        out.write_all(&serde_json::to_vec(&file)?)?;
        out.sync_all()?;
        // A link fails where the name is taken; a rename would replace.
        std::fs::hard_link(&draft, inbox.join(SUBMISSION_FILE))
    })();
    std::fs::remove_file(&draft)?;
    written?;
    std::fs::File::open(inbox)?.sync_all()
}

/// Reads the submission from the inbox: a regular file, not a link, of bounded size, about this
/// digest. Gives the submission's own bytes.
pub fn read_file(inbox: &Path, digest: &[u8]) -> Result<Vec<u8>, String> {
    let path = inbox.join(SUBMISSION_FILE);
    let mut file = std::fs::File::options()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(&path)
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => "no verdict was submitted".to_owned(),
            _ => format!("the submission cannot be opened: {error}"),
        })?;
    let meta = file.metadata().map_err(|error| format!("the submission cannot be read: {error}"))?;
    if !meta.is_file() {
        return Err("the submission is not a regular file".to_owned());
    }
    if meta.len() > FILE_CAP {
        return Err(format!("the submission has {} bytes, at most {FILE_CAP} are taken", meta.len()));
    }
    let mut bytes = Vec::new();
    Read::take(&mut file, FILE_CAP + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("the submission cannot be read: {error}"))?;
    let file: SubmissionFile =
        serde_json::from_slice(&bytes).map_err(|error| format!("the submission is not the agreed JSON: {error}"))?;
    if file.digest_hash != digest_hash(digest) {
        return Err("the submission is about another digest".to_owned());
    }
    Ok(file.submission.get().as_bytes().to_vec())
}
