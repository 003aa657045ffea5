//! Why git could not answer, with the next step.

use std::path::PathBuf;

use steward_rules::reading::{Cause, Why};

/// Why git could not answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("{path} is not a git repository; choose a folder that holds a checkout")]
    NotARepository { path: PathBuf },
    #[error("{path} is a bare repository; choose a checkout of it")]
    Bare { path: PathBuf },
    #[error("{path} has no commit yet; make the first one, then add it again")]
    Empty { path: PathBuf },
    #[error(
        "{path} is a shallow clone, so the fork point cannot be known; run `git fetch --unshallow` there"
    )]
    Shallow { path: PathBuf },
    #[error("{path} stands on no branch; switch to one, or name a branch")]
    Detached { path: PathBuf },
    #[error("{path} uses the object format {format}; Steward reads sha1 repositories")]
    ObjectFormat { path: PathBuf, format: String },
    #[error("there is no branch {branch} in {path}; `git branch --list` shows those there are")]
    MissingBranch { branch: String, path: PathBuf },
    #[error("{why}; name the right one as policy.review.integrationBranch in the config")]
    NoBase { why: String },
    #[error("git lacks an object it needs ({detail}); fetch again, or run `git fsck` in the workspace")]
    MissingObject { detail: String },
    #[error("git found a damaged object ({detail}); run `git fsck` in the workspace")]
    Corrupt { detail: String },
    #[error("git {what} was stopped after {seconds} s; try again, or look for a slow disk")]
    Timeout { what: String, seconds: u64 },
    #[error("git {what} was cancelled")]
    Cancelled { what: String },
    #[error("git {what} said more than {limit} bytes, which Steward does not read; split the change")]
    TooLarge { what: String, limit: u64 },
    #[error("git is not installed or not on PATH; install git 2.39 or newer")]
    GitMissing,
    #[error("git {found} is too old; install 2.39 or newer")]
    GitTooOld { found: String },
    #[error("another process holds {detail}; try again when it has ended")]
    Locked { detail: String },
    #[error(
        "git {what} answered in a form Steward does not know ({detail}); report this with the git version"
    )]
    Answer { what: String, detail: String },
    #[error("git {what} failed: {detail}")]
    Failed { what: String, detail: String },
    #[error("the fetch from {from} failed: {detail}")]
    Fetch { from: String, detail: String },
    #[error("could not {doing}: {source}")]
    Io { doing: String, source: std::io::Error },
}

impl GitError {
    /// The stable word a client branches on.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotARepository { .. } => "not_a_repository",
            Self::Bare { .. } => "bare",
            Self::Empty { .. } => "empty",
            Self::Shallow { .. } => "shallow",
            Self::Detached { .. } => "detached",
            Self::ObjectFormat { .. } => "object_format",
            Self::MissingBranch { .. } => "missing_branch",
            Self::NoBase { .. } => "no_base",
            Self::MissingObject { .. } => "missing_object",
            Self::Corrupt { .. } => "corrupt",
            Self::Timeout { .. } => "timeout",
            Self::Cancelled { .. } => "cancelled",
            Self::TooLarge { .. } => "too_large",
            Self::GitMissing => "git_missing",
            Self::GitTooOld { .. } => "git_too_old",
            Self::Locked { .. } => "locked",
            Self::Answer { .. } => "git_answer",
            Self::Failed { .. } => "git_failed",
            Self::Fetch { .. } => "fetch_failed",
            Self::Io { .. } => "io",
        }
    }

    /// What the person can do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotARepository { .. } | Self::Bare { .. } => "choose the folder of a checkout",
            Self::Empty { .. } => "make the first commit, then add the workspace again",
            Self::Shallow { .. } => "run `git fetch --unshallow` in the workspace",
            Self::Detached { .. } => "switch to a branch, or name one with --branch",
            Self::ObjectFormat { .. } => "only repositories with sha1 object ids can be read so far",
            Self::MissingBranch { .. } => "list the branches with `git branch --list`",
            Self::NoBase { .. } => "name policy.review.integrationBranch in the config",
            Self::MissingObject { .. } | Self::Corrupt { .. } => "run `git fsck` in the workspace",
            Self::Timeout { .. } | Self::Locked { .. } | Self::Cancelled { .. } => "try again",
            Self::TooLarge { .. } => "split the change into smaller ones",
            Self::GitMissing | Self::GitTooOld { .. } => "install git 2.39 or newer and put it on PATH",
            Self::Answer { .. } => "report this with the output of `git --version`",
            Self::Failed { .. } => "run `steward doctor`",
            Self::Fetch { .. } => "look at the network and at `steward auth status`; Steward tries again",
            Self::Io { .. } => "check the disk and the folder's permissions",
        }
    }

    /// The cause as a reading of facts names it.
    pub fn cause(&self) -> Cause {
        match self {
            Self::TooLarge { .. } => Cause::TooLarge,
            Self::NoBase { .. } => Cause::NoBase,
            Self::Fetch { .. } => Cause::FetchFailed,
            Self::NotARepository { .. }
            | Self::Bare { .. }
            | Self::Empty { .. }
            | Self::Shallow { .. }
            | Self::Detached { .. }
            | Self::ObjectFormat { .. }
            | Self::MissingBranch { .. }
            | Self::MissingObject { .. }
            | Self::Corrupt { .. }
            | Self::Timeout { .. }
            | Self::Cancelled { .. }
            | Self::GitMissing
            | Self::GitTooOld { .. }
            | Self::Locked { .. }
            | Self::Answer { .. }
            | Self::Failed { .. }
            | Self::Io { .. } => Cause::GitFailed,
        }
    }

    /// The error as the reason of an unread fact.
    pub fn why(&self) -> Why {
        let words = match self {
            // The next step follows the words wherever a gate says them.
            Self::NoBase { why } => why.clone(),
            other => other.to_string(),
        };
        Why::new(self.cause(), words)
    }

    /// True when the objects themselves are at fault, so that a clone of ours is worth remaking.
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::MissingObject { .. } | Self::Corrupt { .. })
    }

    /// Reads git's own words. They are English, since the runner sets `LC_ALL=C`.
    pub(super) fn from_stderr(what: &str, path: &std::path::Path, stderr: &[u8]) -> Self {
        let detail = scrubbed(stderr);
        let low = detail.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|w| low.contains(w));
        if has(&["not a git repository", "must be run in a work tree", "cannot change to"]) {
            Self::NotARepository { path: path.to_owned() }
        } else if has(&[".lock': file exists", "unable to create '", "cannot lock ref"]) {
            Self::Locked { detail }
        } else if has(&[
            "corrupt",
            "inflate",
            "hash mismatch",
            "bad object header",
            "loose object",
            "bad packed object",
            "garbage at end",
            "too-short tree",
            "malformed mode",
            "unable to unpack",
            "packfile",
            "invalid object",
        ]) {
            Self::Corrupt { detail }
        } else if has(&[
            "bad object",
            "missing",
            "unable to read",
            "could not read",
            "bad tree",
            "unknown revision",
            "unable to find",
            "not a valid object",
            "not a tree object",
            "ambiguous argument",
            "bad revision",
            "not our ref",
            "info/alternates",
        ]) {
            Self::MissingObject { detail }
        } else {
            Self::Failed { what: what.to_owned(), detail }
        }
    }

    pub(super) fn io(doing: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }

    pub(super) fn answer(what: &str, detail: impl Into<String>) -> Self {
        Self::Answer { what: what.to_owned(), detail: detail.into() }
    }
}

/// Git's words on one line, escaped and capped, with the credentials of any address removed.
pub(super) fn scrubbed(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let line = text
        .lines()
        .map(str::trim)
        .find(|l| l.starts_with("fatal:") || l.starts_with("error:"))
        .or_else(|| text.lines().map(str::trim).find(|l| !l.is_empty()))
        .unwrap_or("no message");
    let line = line.trim_start_matches("fatal: ").trim_start_matches("error: ");
    steward_rules::untrusted::Untrusted::new(without_credentials(line)).one_line(300)
}

/// Replaces `scheme://user:password@` by `scheme://`, wherever it stands in the text.
pub(super) fn without_credentials(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let end = after
            .find(|c: char| c == '/' || c.is_whitespace() || c == '\'' || c == '"')
            .unwrap_or(after.len());
        rest = match after[..end].rfind('@') {
            Some(sign) => &after[sign + 1..],
            None => after,
        };
    }
    out.push_str(rest);
    out
}
