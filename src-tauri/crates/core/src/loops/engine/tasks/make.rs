//! The work of one task, from commits in our clone to a commit of our own or an answer.

use std::collections::BTreeMap;
use std::path::PathBuf;

use steward_rules::engine::entries::EntryDiff;
use steward_rules::engine::policy::Policy;
use steward_rules::engine::retry::TaskEnd;
use steward_rules::engine::triage::{self, Answer, NotProven};
use steward_rules::ids::Sha;
use steward_rules::reading::Reading;
use steward_rules::secret::Engine;
use steward_rules::untrusted::Untrusted;
use steward_rules::wording::{self, task as say};

use super::digest::{self, Around};
use super::seat::{self, Ran};
use super::stop::Stop;
use super::writable;
use crate::agent::{self, Duty, SeatFolders};
use crate::git::laid::{self, Laid};
use crate::git::work::{NewCommit, Person, Said};
use crate::git::{BareClone, GitError};
use crate::loops::engine::content::{self, NotCounted};
use crate::loops::engine::rebase::{self, NotTried, Rebase, Stopped};
use crate::loops::engine::validating::Tools;
use crate::loops::engine::verifying::{self, Judged, NotVerified};
use crate::loops::task::{TaskError, blocking};
use crate::loops::{Ctx, failpoint};
use crate::store::StoreError;
use crate::store::engine_tasks::{Decided, Ended, Fault, TaskResult, TaskRow, What};

/// Longest patch that is read, in bytes.
const PATCH: usize = 4 << 20;

/// Everything a task works with. All commits are in the clone.
pub(super) struct Work<'a> {
    pub ctx: &'a Ctx,
    pub row: &'a TaskRow,
    pub policy: &'a Policy,
    pub clone: BareClone,
    pub base: Sha,
    pub committer: Person,
    pub signoff: bool,
    pub tools: Tools,
    /// This task's own folder; nothing is in it yet.
    pub folder: PathBuf,
    pub stop: &'a Stop,
}

/// Why a step gave nothing.
pub(super) enum Halt {
    Ended(Box<Ended>),
    /// The sign to stop was given.
    Stopped,
    Store(StoreError),
}

impl From<StoreError> for Halt {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Halt {
    pub fn end(end: TaskEnd, detail: impl Into<String>) -> Self {
        Self::Ended(Box::new(Ended { end, fault: None, detail: detail.into(), result: None }))
    }

    pub fn fault(fault: Fault, detail: impl Into<String>) -> Self {
        Self::parked(TaskEnd::NotStarted, fault, detail)
    }

    /// What no further try mends.
    pub fn parked(end: TaskEnd, fault: Fault, detail: impl Into<String>) -> Self {
        Self::Ended(Box::new(Ended { end, fault: Some(fault), detail: detail.into(), result: None }))
    }
}

/// Nothing of the agent's, so nothing is spent: either the forge, or our clone while another process works in it, may
/// answer the next time; or it is our own no, which stays one.
impl From<GitError> for Halt {
    fn from(error: GitError) -> Self {
        let said = || Untrusted::new(error.to_string()).one_line(500);
        match &error {
            GitError::Cancelled { .. } => Self::Stopped,
            GitError::Fetch { .. }
            | GitError::Timeout { .. }
            | GitError::Locked { .. }
            | GitError::MissingObject { .. } => Self::end(TaskEnd::ForgeFailed, said()),
            GitError::TooLarge { .. } => Self::fault(Fault::TooLarge, said()),
            GitError::NotARepository { .. }
            | GitError::Bare { .. }
            | GitError::Empty { .. }
            | GitError::Shallow { .. }
            | GitError::Detached { .. }
            | GitError::ObjectFormat { .. }
            | GitError::MissingBranch { .. }
            | GitError::NoBase { .. }
            | GitError::Corrupt { .. }
            | GitError::GitMissing
            | GitError::GitTooOld { .. }
            | GitError::Answer { .. }
            | GitError::Failed { .. }
            | GitError::Io { .. } => Self::fault(Fault::Local, said()),
        }
    }
}

impl From<TaskError> for Halt {
    fn from(error: TaskError) -> Self {
        match error {
            TaskError::Git(error) => error.into(),
            TaskError::Store(error) => Self::Store(error),
            TaskError::Stopped => Self::Stopped,
            error @ (TaskError::NoAccount(_) | TaskError::GitHub { .. }) => {
                Self::end(TaskEnd::ForgeFailed, error.to_string())
            }
            error @ (TaskError::NotFound(_)
            | TaskError::NoWorkspace(_)
            | TaskError::TwoWorkspaces(_)
            | TaskError::NoHead { .. }
            | TaskError::NotLocal(_)
            | TaskError::Document(_)
            | TaskError::Frame(_)) => Self::fault(Fault::Local, error.to_string()),
        }
    }
}

impl From<NotCounted> for Halt {
    fn from(error: NotCounted) -> Self {
        match error {
            NotCounted::Git(error) => error.into(),
            // A pull request that cannot be counted is none that anything is pushed to.
            error @ (NotCounted::Count(_) | NotCounted::Strangers) => {
                let said = Untrusted::new(error.to_string()).one_line(500);
                Self::parked(TaskEnd::Refused, Fault::Uncounted, said)
            }
        }
    }
}

async fn off<T: Send + 'static>(work: impl FnOnce() -> Result<T, Halt> + Send + 'static) -> Result<T, Halt> {
    blocking(work).await
}

impl Work<'_> {
    fn head(&self) -> Result<Sha, Halt> {
        let missing = || Halt::fault(Fault::Local, "the task names no head");
        self.row.head.clone().ok_or_else(missing)
    }

    async fn of_pull(&self, head: &Sha) -> Result<EntryDiff, Halt> {
        let (clone, policy, base, head) =
            (self.clone.clone(), self.policy.clone(), self.base.clone(), head.clone());
        let stop = self.stop.token().clone();
        off(move || Ok(content::of_pull(&clone, &policy.entries, &base, &head, &stop)?)).await
    }

    async fn patch(&self, head: &Sha) -> Result<String, Halt> {
        let (clone, base, head) = (self.clone.clone(), self.base.clone(), head.clone());
        let stop = self.stop.token().clone();
        off(move || {
            let fork = clone.merge_base(&base, &head)?.unwrap_or_else(|| base.clone());
            Ok(clone.patch(Some(&fork), &head, PATCH, &stop)?.0)
        })
        .await
    }

    /// Repairs the head.
    pub async fn fix(&self) -> Result<Ended, Halt> {
        let head = self.head()?;
        let of_pull = self.of_pull(&head).await?;
        let patch = self.patch(&head).await?;
        let around =
            Around { policy: self.policy, of_pull: Some(&of_pull), patch: Some(&patch), not_rebased: None };
        let written = self.agent(Duty::Fix, &head, &around).await?;
        let note = agent::check_fix(&written.submission)
            .map_err(|error| Halt::end(TaskEnd::BadAnswer, error.to_string()))?
            .note;
        self.push(&written, Some(&of_pull), &head, say::fix_message(self.row.number), Some(note)).await
    }

    /// Puts the change onto the base: `Err(Ok(why))` is the driver that refuses.
    pub async fn rebase(&self) -> Result<Result<Ended, Stopped>, Halt> {
        let head = self.head()?;
        let order = Rebase {
            clone: &self.clone,
            policy: self.policy,
            tools: &self.tools,
            head: &head,
            base: &self.base,
            committer: &self.committer,
            signoff: self.signoff,
            folder: &self.folder.join("rebased"),
            now: self.ctx.clock.now(),
        };
        match rebase::rebase(&order, self.stop.token()).await {
            Ok(Ok(commit)) => self.keep(commit, None).await.map(Ok),
            Ok(Err(stopped)) => Ok(Err(stopped)),
            Err(error) if error.is_cancelled() => Err(Halt::Stopped),
            Err(NotTried::Git(error)) => Err(error.into()),
            Err(NotTried::Task(error)) => Err(error.into()),
            Err(NotTried::Tool(error)) => Err(Halt::fault(Fault::Local, error.to_string())),
        }
    }

    /// Lets an agent put the change onto the base anew.
    pub async fn reapply(&self, why: &Stopped) -> Result<Ended, Halt> {
        let head = self.head()?;
        let of_pull = self.of_pull(&head).await?;
        let patch = self.patch(&head).await?;
        let why = why.message();
        let around = Around {
            policy: self.policy,
            of_pull: Some(&of_pull),
            patch: Some(&patch),
            not_rebased: Some(&why),
        };
        let written = self.agent(Duty::Fix, &self.base, &around).await?;
        let note = agent::check_fix(&written.submission)
            .map_err(|error| Halt::end(TaskEnd::BadAnswer, error.to_string()))?
            .note;
        let message = say::reapply_message(self.row.number);
        self.push(&written, Some(&of_pull), &self.base, message, Some(note)).await
    }

    /// Decides about an issue, and proves the decision.
    pub async fn triage(&self) -> Result<Ended, Halt> {
        let What::Triage { asked } = &self.row.what else {
            return Err(Halt::end(TaskEnd::NotStarted, "the task is about no issue"));
        };
        let around = Around { policy: self.policy, of_pull: None, patch: None, not_rebased: None };
        let search = self.policy.triage.searches_web();
        let written = self.agent(Duty::Triage { search }, &self.base, &around).await?;
        let said = agent::check_triage(&written.submission)
            .map_err(|error| Halt::end(TaskEnd::BadAnswer, error.to_string()))?;
        let ids = match &said.answer {
            Answer::Change | Answer::NeedInfo { .. } => Reading::known(Default::default()),
            Answer::AlreadyPresent { .. } | Answer::Declined { .. } => self.ids().await?,
        };
        let asked: Vec<Untrusted> = asked.iter().map(|text| Untrusted::new(text.as_str())).collect();
        match triage::prove(&said.answer, &ids, &asked) {
            Ok(()) => {}
            Err(why @ NotProven::Unread) => {
                return Err(Halt::end(TaskEnd::ForgeFailed, wording::engine::not_proven(&why)));
            }
            Err(why) => return Err(Halt::end(TaskEnd::BadAnswer, wording::engine::not_proven(&why))),
        }
        let clean = |text: &Untrusted| Engine::shared().redact(text.as_data());
        let answer = match &said.answer {
            Answer::Change => {
                let message = say::triage_message(self.row.number);
                return self.push(&written, None, &self.base, message, said.note).await;
            }
            Answer::AlreadyPresent { ids, evidence } => {
                Decided::AlreadyPresent { ids: ids.clone(), evidence: clean(evidence) }
            }
            Answer::Declined { reason, claims } => {
                Decided::Declined { reason: clean(reason), claims: claims.clone() }
            }
            Answer::NeedInfo { question } => Decided::NeedInfo { question: clean(question) },
        };
        Ok(Ended {
            end: TaskEnd::Answered,
            fault: None,
            detail: String::new(),
            result: Some(TaskResult::Answer { answer }),
        })
    }

    async fn ids(&self) -> Result<Reading<std::collections::BTreeSet<String>>, Halt> {
        let (clone, policy, base) = (self.clone.clone(), self.policy.clone(), self.base.clone());
        let stop = self.stop.token().clone();
        let ids = off(move || Ok(content::ids(&clone, &policy.entries, &base, &stop))).await?;
        match ids {
            Ok(ids) => Ok(Reading::known(ids)),
            Err(error) if error.is_cancelled() => Err(Halt::Stopped),
            // What cannot be counted proves no claim, today and tomorrow: the attempt is spent.
            Err(error @ NotCounted::Count(_)) => {
                Err(Halt::end(TaskEnd::BadAnswer, Untrusted::new(error.to_string()).one_line(500)))
            }
            Err(error) => Ok(Err(error.why()).into()),
        }
    }

    /// Lays a commit out and lets an agent work in it.
    async fn agent(&self, duty: Duty, at: &Sha, around: &Around<'_>) -> Result<Written, Halt> {
        let mut folders = SeatFolders::under(&self.folder);
        let (clone, at, stop) = (self.clone.clone(), at.clone(), self.stop.token().clone());
        let (made, policy) = (folders.clone(), self.policy.clone());
        let digest =
            digest::write(self.row, around).map_err(|error| Halt::fault(Fault::Local, error.to_string()))?;
        let io = |error: std::io::Error| {
            Halt::fault(Fault::Local, format!("the task's folder cannot be made: {error}"))
        };
        let (laid, git_before, parts) = off(move || {
            made.create().map_err(io)?;
            std::fs::remove_dir(made.tree()).map_err(io)?;
            let laid = laid::lay(&clone, &at, &made.tree(), laid::CAPS, &stop)?;
            let parts = writable::parts(&policy, &laid);
            for part in parts.iter().filter(|part| part.is_folder) {
                std::fs::create_dir_all(made.written(part)).map_err(io)?;
            }
            std::fs::write(&made.digest, digest).map_err(io)?;
            Ok((laid, clone.own_state()?, parts))
        })
        .await?;
        if parts.is_empty() {
            return Err(Halt::fault(Fault::NoSafePath, say::no_safe_path()));
        }
        folders.writable = parts;
        match seat::run(self.ctx, self.row, self.policy, duty, folders, self.stop).await? {
            Ran::Submitted { submission, survivors } => {
                Ok(Written { submission, survivors, laid, git_before })
            }
            Ran::Ended(ended) => Err(Halt::Ended(Box::new(ended))),
            Ran::Stopped => Err(Halt::Stopped),
        }
    }

    /// Verifies what was left, and keeps it as a commit.
    async fn push(
        &self,
        written: &Written,
        of_pull: Option<&EntryDiff>,
        parent: &Sha,
        message: String,
        note: Option<Untrusted>,
    ) -> Result<Ended, Halt> {
        let judged = Judged {
            clone: &self.clone,
            policy: self.policy,
            tools: &self.tools,
            laid: &written.laid,
            of_pull,
            survivors: written.survivors,
            git_before: &written.git_before,
        };
        let verified = match verifying::verify(&judged, self.stop.token()).await {
            Ok(verified) => verified,
            Err(NotVerified::Cancelled) => return Err(Halt::Stopped),
            Err(NotVerified::Refused { why, said }) => {
                let said = said.filter(|said| !said.trim().is_empty());
                let said = said.map(|said| format!("\n{said}")).unwrap_or_default();
                return Err(Halt::end(why.end(), format!("{}{said}", why.message())));
            }
        };
        failpoint::reach("task_verified");
        let (clone, parent) = (self.clone.clone(), parent.clone());
        let (committer, signoff, at) = (self.committer.clone(), self.signoff, self.ctx.clock.now());
        let commit = off(move || {
            let said = Said {
                author: committer.clone(),
                date: format!("{} +0000", at.timestamp()),
                message: message.into_bytes(),
            };
            let new = NewCommit {
                tree: &verified.tree,
                parent: &parent,
                said: &said,
                committer: &committer,
                at,
                signoff,
            };
            Ok(clone.commit(&new)?)
        })
        .await?;
        self.keep(commit, note).await
    }

    /// Keeps a commit as the result.
    async fn keep(&self, commit: Sha, note: Option<Untrusted>) -> Result<Ended, Halt> {
        if self.stop.token().is_cancelled() {
            return Err(Halt::Stopped);
        }
        let (clone, id, kept) = (self.clone.clone(), self.row.id, commit.clone());
        off(move || Ok(clone.keep_work(id, &kept)?)).await?;
        let note = note.map(|note| Engine::shared().redact(note.as_data()));
        let (branch, from) = (self.row.branch.clone(), self.row.lease.clone());
        Ok(Ended {
            end: TaskEnd::Pushed,
            fault: None,
            detail: String::new(),
            result: Some(TaskResult::Push { branch, from, to: commit, note }),
        })
    }
}

/// A tree that an agent worked in.
struct Written {
    submission: Vec<u8>,
    survivors: u32,
    laid: Laid,
    git_before: BTreeMap<String, String>,
}
