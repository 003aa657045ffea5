//! The watcher seat: judges what facts do not settle, one pane or prompt at a time (questions.md 2 and 6).
//!
//! It runs beside the loop, so that no answer waits for it. What was judged is not judged again while the
//! pane shows the same; nothing is raised that a fresh capture does not show.

mod judging;
mod running;
mod standing;

use std::collections::VecDeque;

use steward_rules::ids::NeedId;
use steward_rules::questions::pane::{Modal, PaneState, Prompt};
use steward_rules::questions::roster::Member;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub use standing::{Standing, standing};

use crate::loops::Ctx;
use crate::store::needs::{self, NeedRow};
use crate::store::{StoreError, judgements};

/// Most looks that wait.
const PENDING: usize = 500;

/// One pane that facts did not settle.
#[derive(Debug, Clone)]
pub struct Case {
    pub(super) member: Member,
    pub(super) host: String,
    pub(super) key: String,
    pub(super) facts: PaneState,
    /// Hash of what it showed.
    pub(super) shown: String,
}

/// One thing the seat is asked about.
#[derive(Debug, Clone)]
pub enum Job {
    Pane(Box<Case>),
    /// Advice about an open permission prompt.
    Prompt(NeedId),
}

impl Job {
    fn is_about(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Pane(one), Self::Pane(two)) => one.key == two.key,
            (Self::Prompt(one), Self::Prompt(two)) => one == two,
            (Self::Pane(_), Self::Prompt(_)) | (Self::Prompt(_), Self::Pane(_)) => false,
        }
    }
}

/// What became of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    /// It was judged, and what follows is kept.
    Judged,
    /// The pane shows something else by now: nothing is kept.
    Moved,
    /// The seat failed.
    Failed(String),
    /// A pause, a cap or the end of Steward stopped it.
    Stopped,
}

/// What waits for the seat, and the look that runs.
#[derive(Default)]
pub struct Watcher {
    pending: VecDeque<Job>,
    running: Option<(Job, JoinHandle<Result<Outcome, StoreError>>)>,
    stop: CancellationToken,
}

impl Watcher {
    /// Takes jobs up; a newer one about the same pane or prompt takes the place of an older one.
    pub fn add(&mut self, jobs: Vec<Job>) {
        for job in jobs {
            if self.running.as_ref().is_some_and(|(running, _)| running.is_about(&job)) {
                continue;
            }
            match self.pending.iter().position(|waiting| waiting.is_about(&job)) {
                Some(at) => self.pending[at] = job,
                None if self.pending.len() < PENDING => self.pending.push_back(job),
                None => {}
            }
        }
    }

    /// Starts the next look where one waits and may run; never waits for one.
    pub async fn step(&mut self, ctx: &Ctx) -> Result<(), StoreError> {
        match self.running.take_if(|(_, task)| task.is_finished()) {
            Some((job, task)) => self.ended(ctx, job, task.await).await?,
            None if self.running.is_some() => return Ok(()),
            None => {}
        }
        if self.pending.is_empty() || !standing(ctx).await?.is_ready() {
            return Ok(());
        }
        if let Some(job) = self.pending.pop_front() {
            let (ctx, stop, about) = (ctx.clone(), self.stop.clone(), job.clone());
            self.running =
                Some((job, tokio::spawn(async move { judging::judge(&ctx, &about, &stop).await })));
        }
        Ok(())
    }

    /// Runs everything that waits and may run to its end, one after another.
    pub async fn finish(&mut self, ctx: &Ctx) -> Result<(), StoreError> {
        loop {
            self.step(ctx).await?;
            match self.running.take() {
                Some((job, task)) => self.ended(ctx, job, task.await).await?,
                None => return Ok(()),
            }
        }
    }

    /// Stops the look that runs, and waits until nothing of it does.
    pub async fn end(&mut self) {
        self.stop.cancel();
        if let Some((_, task)) = self.running.take() {
            let _stopped = task.await;
        }
    }

    async fn ended(
        &mut self,
        ctx: &Ctx,
        job: Job,
        outcome: Result<Result<Outcome, StoreError>, tokio::task::JoinError>,
    ) -> Result<(), StoreError> {
        match outcome {
            Ok(Ok(Outcome::Judged)) => standing::worked(ctx).await,
            Ok(Ok(Outcome::Moved)) => Ok(()),
            Ok(Ok(Outcome::Failed(why))) => standing::failed(ctx, &why).await,
            Ok(Ok(Outcome::Stopped)) => {
                self.pending.push_front(job);
                Ok(())
            }
            Ok(Err(error)) => Err(error),
            Err(error) => standing::failed(ctx, &error.to_string()).await,
        }
    }
}

/// Open permission prompts that nobody advised about, while `review.annotate` asks for it.
pub async fn prompts(ctx: &Ctx) -> Result<Vec<Job>, StoreError> {
    let config = ctx.config.current().config.clone();
    if !config.review.annotate {
        return Ok(Vec::new());
    }
    let open = ctx
        .store
        .read(|tx| {
            let mut open = Vec::new();
            for row in needs::open(tx)? {
                let known = judgements::advice(tx, row.id)?.map(|(advice, _)| advice.seen);
                if is_permission(&row) && row.place.seen.is_some() && known != row.place.seen {
                    open.push(Job::Prompt(row.id));
                }
            }
            Ok::<_, StoreError>(open)
        })
        .await?;
    if open.is_empty() || !standing(ctx).await?.exists() { Ok(Vec::new()) } else { Ok(open) }
}

fn is_permission(row: &NeedRow) -> bool {
    let prompt = row.place.prompt.as_deref().and_then(|json| serde_json::from_str::<Prompt>(json).ok());
    prompt.is_some_and(|prompt| prompt.modal == Modal::Permission)
}

/// Removes what a runtime that died left of looks.
pub(super) fn sweep(ctx: &Ctx) {
    for entry in std::fs::read_dir(ctx.home.seat_runs()).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(running::FOLDER));
        if ours && let Err(error) = crate::git::export::remove(&entry.path()) {
            tracing::warn!(path = %entry.path().display(), %error, "a watcher's folder is left over");
        }
    }
}
