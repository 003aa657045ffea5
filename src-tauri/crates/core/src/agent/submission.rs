//! The one file a seat hands in, checked inside by the tools server and again outside.

use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use steward_rules::ids::FrameId;
use steward_rules::review::submission::{FieldError, Submission, SubmissionFacts, validate};
use steward_rules::review::verdict::Verdict;
use steward_rules::secret::Engine;
use steward_rules::untrusted::Untrusted;

/// Name of the submission in the inbox.
pub const SUBMISSION_FILE: &str = "submission.json";
/// Written by the tools server after three refused submissions.
pub const REFUSED_FILE: &str = "refused.json";
/// Longest digest in bytes: beyond it Claude Code no longer hands it to the model whole (measured).
pub const DIGEST_MOST: usize = 500_000;
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
    pub cap: Option<Verdict>,
    pub held: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FrameHead {
    pub frame_id: FrameId,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EarlierHead {
    pub finding_id: String,
    /// The person marked it; it need not be answered.
    #[serde(default)]
    pub settled: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct DiffHead {
    pub files: Vec<FileHead>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct FileHead {
    pub path: Name,
}

/// A name as the digest carries it: inside the envelope of text from others, or plain.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Name {
    Foreign { text: String },
    Plain(String),
}

impl Default for Name {
    fn default() -> Self {
        Self::Plain(String::new())
    }
}

impl Name {
    fn as_str(&self) -> &str {
        match self {
            Self::Foreign { text } | Self::Plain(text) => text,
        }
    }
}

/// The hash by which a submission names its digest.
pub fn digest_hash(digest: &[u8]) -> String {
    hex::encode(Sha256::digest(digest))
}

/// Checks a submission against the digest and the review folder it is about, by the rules. Gives it
/// back as it is stored.
pub fn check(json: &[u8], digest: &DigestHead, review: &Path) -> Result<Submission, FieldError> {
    let submission = serde_json::from_slice(json)
        // The parser repeats a wrong key or word as it stands.
        .map_err(|error: serde_json::Error| {
            let words = Engine::shared().redact(&error.to_string());
            FieldError { field: "submission".to_owned(), error: Untrusted::new(words).one_line(300) }
        })?;
    let frames: Vec<FrameId> = digest.frames.iter().map(|frame| frame.frame_id).collect();
    let (settled, earlier): (Vec<&EarlierHead>, Vec<&EarlierHead>) =
        digest.earlier_findings.iter().partition(|finding| finding.settled);
    let ids = |list: Vec<&EarlierHead>| list.iter().map(|f| f.finding_id.clone()).collect::<Vec<_>>();
    let facts = SubmissionFacts {
        lines_of: &|file| lines_of(file, digest, review),
        frames: &frames,
        earlier: &ids(earlier),
        settled: &ids(settled),
    };
    validate(submission, &facts)
}

/// Lines of a file of the head tree, or of the base when the diff removes it. Links are no files.
fn lines_of(file: &str, digest: &DigestHead, review: &Path) -> Option<u32> {
    let path = Path::new(file);
    if file.is_empty() || !path.components().all(|part| matches!(part, Component::Normal(_))) {
        return None;
    }
    let count = |root: &str| {
        let on_disk = review.join(root).join(path);
        let plain = on_disk
            .ancestors()
            .take_while(|p| p.starts_with(review) && *p != review)
            .all(|p| std::fs::symlink_metadata(p).is_ok_and(|meta| !meta.is_symlink()));
        let bytes = if plain { std::fs::read(&on_disk).ok()? } else { return None };
        let breaks = bytes.iter().filter(|&&b| b == b'\n').count();
        let rest = usize::from(!bytes.is_empty() && !bytes.ends_with(b"\n"));
        u32::try_from(breaks + rest).ok()
    };
    let in_diff = || digest.diff.files.iter().any(|known| known.path.as_str() == file);
    // A removed file that was not exported (binary, too large) can still be cited.
    count("tree").or_else(|| in_diff().then(|| count("base").unwrap_or(u32::MAX)))
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
    let file: SubmissionFile = serde_json::from_slice(&bytes)
        .map_err(|error| format!("the submission is not the agreed JSON: {error}"))?;
    if file.digest_hash != digest_hash(digest) {
        return Err("the submission is about another digest".to_owned());
    }
    Ok(file.submission.get().as_bytes().to_vec())
}
