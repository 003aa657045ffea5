//! Starting and cancelling a review: the conditions in their order, in one write, from facts.

use steward_rules::ids::{ReviewId, Sha, ShaError, TaskId};
use steward_rules::reading::Reading;
use steward_rules::review::lifecycle::{
    Breaker, Caller, EndReason, Refusal, SeatFile, ShaAsked, Spend, SpendCaps, StartFacts, StartTask,
    may_start,
};
use steward_rules::review::settings::{ReviewSettings, Switch};

use super::breaker;
use super::observe::ci_now;
use crate::config::{Config, Role};
use crate::loops::effects::powers;
use crate::loops::seat::{self, SeatError};
use crate::loops::task::{self, TaskError, blocking};
use crate::loops::{Ctx, pause};
use crate::store::reviews::{NewReview, ReviewState, Trigger};
use crate::store::{Durability, ReadTx, StoreError, attached, reviews, spending, steps, tasks};

/// Why a review was not started or cancelled.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A start condition refuses; it has its own message, hint and exit code.
    #[error("{}", .0.message())]
    Refused(Box<Refusal>),
    #[error("there is no review {0}; `steward list` shows those there are")]
    NoReview(ReviewId),
    #[error("review {0} is over already, so there is nothing to cancel")]
    Over(ReviewId),
    #[error(transparent)]
    Task(#[from] TaskError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<Refusal> for StartError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

/// Who asks for a review, of what, and why now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    pub task: TaskId,
    /// As typed after `--sha`; the task's head when absent.
    pub sha: Option<String>,
    pub trigger: Trigger,
    pub caller: Caller,
}

/// Queues a review when every start condition holds, else says which does not.
pub async fn start(ctx: &Ctx, ask: Ask) -> Result<ReviewId, StartError> {
    let config = ctx.config();
    let settings = settings(&config);
    let seat = match seat::read(ctx, Role::Reviewer) {
        Ok(_) => SeatFile::Present,
        Err(SeatError::Missing(_)) => SeatFile::Missing,
        Err(error @ (SeatError::File(_) | SeatError::Endpoint { .. })) => {
            SeatFile::Invalid(error.to_string())
        }
    };
    let mut facts = StartFacts {
        trigger: ask.trigger,
        seat,
        caller: ask.caller,
        asked: ask.task,
        task: None,
        sha: ShaAsked::Head,
        past: Vec::new(),
        contract: None,
        ci_fingerprint: String::new(),
        started: Vec::new(),
        spend: Spend { today_usd: 0.0, month_usd: 0.0 },
        caps: SpendCaps { daily_usd: config.spend.daily_usd, monthly_usd: config.spend.monthly_usd },
        breaker: Breaker::default(),
        paused: None,
    };
    // A refusal that no reading can change is given before anything is read.
    if let Err(refusal) = may_start(&facts, &settings, ctx.clock.now())
        && !matches!(refusal, Refusal::NoTask { .. })
    {
        return Err(refusal.into());
    }
    match task::refresh(ctx, ask.task).await {
        Ok(task) => {
            // A branch that is gone or cannot be read has no commit that a verdict could stay true of.
            if let Some(why) = &task.unreadable {
                return Err(TaskError::NoHead { task: task.id, why: why.clone() }.into());
            }
            if let Some(text) = &ask.sha {
                facts.sha = typed(ctx, &task, text).await?;
            }
            if let Some(head) = judged(&task, &facts.sha) {
                // With nothing to measure it against no gate could be computed, and the seat would be paid.
                task::has_base(ctx, &task, &head).await?;
                // What CI says of the commit, so that the same review is not made twice.
                facts.ci_fingerprint = ci_now(ctx, &task, &head).await?;
            }
        }
        Err(TaskError::NotFound(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let budget_usd = settings.budget_usd;
    let asked = ask.task;
    ctx.store
        .write(Durability::Full, move |tx| {
            let now = tx.now();
            let caps = powers::spend(tx, &config)?;
            facts.caps = SpendCaps { daily_usd: caps.daily_usd, monthly_usd: caps.monthly_usd };
            let facts = complete(tx, asked, facts)?;
            let sha = may_start(&facts, &settings, now)?;
            let new = NewReview {
                task: asked,
                sha,
                contract_version: facts.contract,
                ci_fingerprint: facts.ci_fingerprint,
                trigger: facts.trigger,
                budget_usd,
            };
            let id = reviews::insert_queued(tx, &new)?;
            steps::add(tx, id, "state", "queued")?;
            Ok::<_, StartError>(id)
        })
        .await
}

/// Fills in what the database knows, in the transaction that queues.
fn complete(tx: &ReadTx<'_>, asked: TaskId, facts: StartFacts) -> Result<StartFacts, StoreError> {
    let now = tx.now();
    let (today, month) = spending::today_and_month(tx)?;
    Ok(StartFacts {
        task: tasks::get(tx, asked)?.map(|task| StartTask { id: task.id, head: task.head }),
        past: reviews::past(tx, asked)?,
        contract: attached::contract_version(tx, asked)?,
        started: reviews::queue_times(tx, now - chrono::Duration::minutes(60))?,
        spend: Spend { today_usd: today.usd, month_usd: month.usd },
        breaker: breaker::current(tx)?,
        paused: pause::current(tx)?.map(|paused| paused.why),
        ..facts
    })
}

fn judged(task: &tasks::TaskRow, asked: &ShaAsked) -> Option<Sha> {
    match asked {
        ShaAsked::Head => task.head.clone(),
        ShaAsked::Typed { text, reachable } => match reachable.get() {
            Ok(true) => Sha::new(text).ok(),
            Ok(false) | Err(_) => None,
        },
    }
}

/// Looks whether a typed commit can be read in the task's repository.
async fn typed(ctx: &Ctx, task: &tasks::TaskRow, text: &str) -> Result<ShaAsked, TaskError> {
    let known: Result<Sha, ShaError> = Sha::new(text);
    let reachable = match (known, task::place_of(ctx, task).await) {
        (Err(_), _) => Reading::known(false),
        (Ok(sha), Ok(place)) => {
            let (git, hosts, clones) = (ctx.git()?, ctx.hosts(), ctx.home.clones());
            blocking(move || {
                let read = place.open(&git, &hosts, &clones).and_then(|(_, clone)| clone.has_commit(&sha));
                Ok::<_, TaskError>(match read {
                    Ok(known) => Reading::known(known),
                    Err(error) => Reading::Unread { why: error.why() },
                })
            })
            .await?
        }
        (Ok(_), Err(error)) => return Err(error),
    };
    Ok(ShaAsked::Typed { text: text.to_owned(), reachable })
}

/// Cancels an open review: a running one is asked to stop, any other ends here.
pub async fn cancel(ctx: &Ctx, id: ReviewId) -> Result<(), StartError> {
    ctx.store
        .write(Durability::Full, move |tx| {
            let review = reviews::get(tx, id)?.ok_or(StartError::NoReview(id))?;
            match review.state {
                // A verdict that is being judged is judged in one write, which looks at the state again.
                ReviewState::Queued | ReviewState::Submitted | ReviewState::Held => {
                    reviews::end(tx, id, EndReason::Cancelled, "cancelled by the person")?;
                    steps::add(tx, id, "state", "cancelled")?;
                }
                ReviewState::Digesting | ReviewState::Running => {
                    reviews::ask_cancel(tx, id)?;
                }
                ReviewState::Published | ReviewState::Ended => return Err(StartError::Over(id)),
            }
            Ok(())
        })
        .await
}

/// The `review:` block as the rules take it.
pub fn settings(config: &Config) -> ReviewSettings {
    let review = &config.review;
    ReviewSettings {
        switch: match (review.enabled, &review.disabled_by) {
            (_, Some(_)) => Switch::Faulty,
            (true, None) => Switch::On,
            (false, None) => Switch::Off,
        },
        auto_review: review.auto_review.clone(),
        budget_usd: review.budget_usd,
        max_budget_usd: review.max_budget_usd,
        max_minutes: review.max_minutes,
        max_reviews_per_hour: review.max_reviews_per_hour,
        max_reviews_per_task: review.max_reviews_per_task,
        max_turns: review.max_turns,
        max_tokens: review.max_tokens,
        annotate: review.annotate,
    }
}
