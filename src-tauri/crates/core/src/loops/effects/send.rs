//! One effect on its way out: look, decide, write the intent down, send once, look again.
//!
//! Each call of [`Sending::step`] does one thing that others can see, so that a test can put the steps of
//! two runtimes into any order. All that must outlive this process is in the row.

use chrono::{DateTime, Duration, Utc};
use steward_rules::guard::{self, Ask, EffectPermit, Hold, Holds, Next, Sighting, Step, Subject, Trace, Way};
use steward_rules::ids::{PullNumber, RepoName};
use steward_rules::reading::{Cause, Reading};

use super::look::{self, Seen};
use super::{powers, want};
use crate::config::Config;
use crate::github::types::Comment;
use crate::github::{Client, GitHubError, Wrote};
use crate::loops::{Ctx, failpoint, pause};
use crate::store::effects::{self, EffectRow, State, Why};
use crate::store::pulls::{self, PullState};
use crate::store::{Durability, ReadTx, StoreError, WriteTx, landings, tasks};

/// After so many sendings of which nobody knows the end it is left to the person.
const ATTEMPTS: u32 = 5;

/// One effect being sent.
pub struct Sending {
    id: i64,
    stage: Stage,
}

/// Whether there is more to do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    More,
    /// It is over, or waits for a time or an event.
    Rests,
}

enum Stage {
    /// Read GitHub and decide.
    Look,
    /// The intent is written down.
    Send { client: Client, permit: EffectPermit, content: String },
    /// GitHub's answer, or none, is to be written down.
    Answered(Box<Wrote<Comment>>),
    /// Others of our own comments are taken back, then it is looked again.
    TakeBack { client: Client, keep: u64, rest: Vec<u64> },
}

/// What the database decided.
enum Decided {
    /// With the text that was judged and journalled: the row may have another one by now than when the look
    /// at GitHub began.
    Go {
        permit: EffectPermit,
        content: String,
    },
    Rests,
}

impl Sending {
    pub fn new(id: i64) -> Self {
        Self { id, stage: Stage::Look }
    }

    /// Does the next thing.
    pub async fn step(&mut self, ctx: &Ctx) -> Result<Progress, StoreError> {
        match std::mem::replace(&mut self.stage, Stage::Look) {
            Stage::Look => self.look(ctx).await,
            Stage::Send { client, permit, content } => {
                let wrote = client.writer().comment(permit, &content).await;
                failpoint::reach("effect_sent");
                self.stage = Stage::Answered(Box::new(wrote));
                Ok(Progress::More)
            }
            Stage::Answered(wrote) => self.answered(ctx, *wrote).await,
            Stage::TakeBack { client, keep, rest } => self.take_back(ctx, client, keep, rest).await,
        }
    }

    async fn look(&mut self, ctx: &Ctx) -> Result<Progress, StoreError> {
        let id = self.id;
        let Some(row) = ctx.store.read(move |tx| effects::get(tx, id)).await? else {
            return Ok(Progress::Rests);
        };
        match row.state {
            State::Wanted | State::Approved | State::Intended => {}
            State::Suggested | State::Done | State::Failed | State::Dismissed | State::Obsolete => {
                return Ok(Progress::Rests);
            }
        }
        // What the database alone can say costs GitHub nothing.
        if !self.may_look(ctx).await? {
            return Ok(Progress::Rests);
        }
        let (client, seen) = match look::at(ctx, &row).await {
            Ok(found) => found,
            Err(fault) => return self.wait(ctx, fault.why, Some(ctx.clock.now() + fault.again), false).await,
        };
        let trace = Trace {
            posted: row.posted.filter(|_| row.state == State::Intended).map(i64::unsigned_abs),
            own: seen.own.iter().map(|comment| comment.id).collect(),
            deleted_since: seen.deleted_since,
            intended_at: row.intent_at.filter(|_| row.state == State::Intended),
            looked: row.looks,
        };
        failpoint::reach("effect_read");
        match guard::follow(&trace, &ctx.accounts.options().patience, ctx.clock.now()) {
            Next::Keep { keep, take_back } if take_back.is_empty() => {
                let address = seen.address(keep);
                finish(ctx, id, keep, address).await?;
                Ok(Progress::Rests)
            }
            Next::Keep { keep, take_back } => {
                self.stage = Stage::TakeBack { client, keep, rest: take_back };
                Ok(Progress::More)
            }
            Next::LookAgain { at } => {
                let why = Why::new("looking", "GitHub is read again before it is believed");
                self.wait(ctx, why, Some(at), true).await
            }
            Next::Removed => {
                let why = Why::new("removed", "it may have been there, and somebody deleted a comment since");
                let removed = move |tx: &WriteTx<'_>| match effects::removed(tx, id, &why)? {
                    true => want::suggest(tx, id, None),
                    false => Ok(()),
                };
                ctx.store.write(Durability::Full, removed).await?;
                Ok(Progress::Rests)
            }
            Next::Send => match decide(ctx, id, seen).await? {
                Decided::Go { permit, content } => {
                    failpoint::reach("effect_intended");
                    self.stage = Stage::Send { client, permit, content };
                    Ok(Progress::More)
                }
                Decided::Rests => Ok(Progress::Rests),
            },
        }
    }

    /// Judges by what the database knows; false when that settles it. What may have been sent is looked
    /// for whatever became of the powers, but not while everything rests.
    async fn may_look(&self, ctx: &Ctx) -> Result<bool, StoreError> {
        let (id, config, now) = (self.id, ctx.config(), ctx.clock.now());
        let (way, intended) = ctx
            .store
            .read(move |tx| {
                let Some(row) = effects::get(tx, id)? else { return Ok((None, false)) };
                let holds = known_holds(tx, &row)?;
                let way = judged(tx, &config, &row, Step::Send, &holds, now)?;
                let paused = holds.paused.map(|why| Way::Wait(Hold::Paused { why }));
                let intended = row.state == State::Intended;
                Ok::<_, StoreError>((if intended { paused.or(way) } else { way }, intended))
            })
            .await?;
        match way {
            // Only what must be read is missing.
            Some(Way::Wait(Hold::Unread { .. })) => Ok(true),
            Some(Way::Suggest | Way::Refuse(_) | Way::Obsolete(_) | Way::Go(_)) if intended => Ok(true),
            settled => {
                ctx.store.write(Durability::Full, move |tx| settle(tx, id, settled).map(drop)).await?;
                Ok(false)
            }
        }
    }

    async fn answered(&mut self, ctx: &Ctx, wrote: Wrote<Comment>) -> Result<Progress, StoreError> {
        let (id, now) = (self.id, ctx.clock.now());
        match wrote {
            Wrote::Done(comment) => {
                let address = comment.html_url.filter(|url| url.starts_with("http"));
                ctx.store
                    .write(Durability::Full, move |tx| {
                        effects::posted(tx, id, comment.id, address.as_deref())
                    })
                    .await?;
                failpoint::reach("effect_posted");
                // Another runtime of this account may have said it in the same moment.
                Ok(Progress::More)
            }
            Wrote::NotYet { until } => {
                self.give_back(ctx, Why::new("apart", "two writes are at least a second apart"), until).await
            }
            Wrote::Refused(error) => match error {
                GitHubError::Gone | GitHubError::Validation { .. } => {
                    fail(ctx, id, look::why(&error)).await?;
                    Ok(Progress::Rests)
                }
                error => {
                    let again = look::again(&error, now);
                    self.give_back(ctx, look::why(&error), now + again).await
                }
            },
            Wrote::Unclear(error) => {
                let why = Why::new("unclear", format!("GitHub may have done it: {error}"));
                ctx.store.write(Durability::Full, move |tx| effects::hold(tx, id, &why, None, false)).await?;
                // It is looked for at once.
                Ok(Progress::More)
            }
        }
    }

    async fn take_back(
        &mut self,
        ctx: &Ctx,
        client: Client,
        keep: u64,
        mut rest: Vec<u64>,
    ) -> Result<Progress, StoreError> {
        let Some(extra) = rest.pop() else { return Ok(Progress::More) };
        let (id, config, now) = (self.id, ctx.config(), ctx.clock.now());
        let judged = ctx
            .store
            .write(Durability::Full, move |tx| {
                let Some(row) = effects::get(tx, id)? else { return Ok(None) };
                let holds = Holds {
                    acting: Reading::known(row.account.clone()),
                    // The client paces it.
                    sent: Vec::new(),
                    ..known_holds(tx, &row)?
                };
                let way = judged(tx, &config, &row, Step::TakeBack, &holds, now)?;
                if let Some(Way::Go(_)) = way {
                    effects::take_back(tx, id, extra)?;
                }
                Ok::<_, StoreError>(way)
            })
            .await?;
        let permit = match judged {
            Some(Way::Go(permit)) => permit,
            Some(Way::Wait(hold)) => {
                let until = hold.until();
                return self.wait(ctx, Why::new(hold.slug(), hold.message()), until, false).await;
            }
            // Nothing may go out here any more, not even a deletion: what is there stays.
            Some(Way::Suggest | Way::Refuse(_) | Way::Obsolete(_)) | None => {
                finish(ctx, id, keep, None).await?;
                return Ok(Progress::Rests);
            }
        };
        failpoint::reach("effect_taking_back");
        let wrote = client.writer().delete_comment(permit, extra).await;
        failpoint::reach("effect_taken_back");
        match wrote {
            Wrote::Done(()) => {
                self.stage = Stage::TakeBack { client, keep, rest };
                Ok(Progress::More)
            }
            Wrote::NotYet { until } => {
                self.wait(
                    ctx,
                    Why::new("apart", "two writes are at least a second apart"),
                    Some(until),
                    false,
                )
                .await
            }
            Wrote::Refused(error) | Wrote::Unclear(error) => {
                let again = now + look::again(&error, now);
                self.wait(ctx, look::why(&error), Some(again), false).await
            }
        }
    }

    async fn give_back(&self, ctx: &Ctx, why: Why, until: DateTime<Utc>) -> Result<Progress, StoreError> {
        let (id, until) = (self.id, bounded(ctx, until));
        ctx.store.write(Durability::Full, move |tx| effects::give_back(tx, id, &why, Some(until))).await?;
        Ok(Progress::Rests)
    }

    async fn wait(
        &self,
        ctx: &Ctx,
        why: Why,
        until: Option<DateTime<Utc>>,
        looked: bool,
    ) -> Result<Progress, StoreError> {
        let (id, until) = (self.id, until.map(|until| bounded(ctx, until)));
        ctx.store.write(Durability::Full, move |tx| effects::hold(tx, id, &why, until, looked)).await?;
        Ok(Progress::Rests)
    }
}

/// Whatever GitHub asks for, nothing is put off for longer than [`guard::is_due`] believes.
fn bounded(ctx: &Ctx, until: DateTime<Utc>) -> DateTime<Utc> {
    until.min(ctx.clock.now() + guard::LONGEST_WAIT)
}

/// Judges with everything that was read, and writes the intent down in the same transaction: what the
/// database says of pause, powers and staleness at that moment is what counts.
async fn decide(ctx: &Ctx, id: i64, seen: Seen) -> Result<Decided, StoreError> {
    let (config, now) = (ctx.config(), ctx.clock.now());
    ctx.store
        .write(Durability::Full, move |tx| {
            let Some(row) = effects::get(tx, id)? else { return Ok(Decided::Rests) };
            let holds = Holds {
                subject: guard::believed(&seen.subject, &known_subject(tx, &row)?),
                acting: Reading::known(seen.acting),
                limited_until: seen.limited_until,
                ..known_holds(tx, &row)?
            };
            let way = judged(tx, &config, &row, Step::Send, &holds, now)?;
            let Some(permit) = settle(tx, id, way)? else { return Ok(Decided::Rests) };
            if row.attempt >= ATTEMPTS {
                end(
                    tx,
                    id,
                    State::Failed,
                    &Why::new("gave_up", format!("{ATTEMPTS} sendings had no clear end")),
                )?;
                return Ok(Decided::Rests);
            }
            Ok(match effects::intend(tx, id)? {
                Some(_) => Decided::Go { permit, content: row.content },
                None => Decided::Rests,
            })
        })
        .await
}

/// Writes down what the guard decided; the permit when it may go.
fn settle(tx: &WriteTx<'_>, id: i64, way: Option<Way>) -> Result<Option<EffectPermit>, StoreError> {
    match way {
        Some(Way::Go(permit)) => return Ok(Some(permit)),
        Some(Way::Suggest) => {
            if effects::suggest(tx, id)? {
                want::suggest(tx, id, None)?;
            }
        }
        Some(Way::Wait(hold)) => {
            let why = Why::new(hold.slug(), hold.message());
            let until = match &hold {
                Hold::Unread { .. } => Some(tx.now() + look::SOON),
                hold => hold.until(),
            };
            effects::hold(tx, id, &why, until, false)?;
        }
        Some(Way::Refuse(refusal)) => match refusal {
            guard::Refusal::Observed => {
                end(tx, id, State::Obsolete, &Why::new(refusal.slug(), refusal.message()))?;
            }
            guard::Refusal::Account { .. } | guard::Refusal::Frozen { .. } => {
                end(tx, id, State::Failed, &Why::new(refusal.slug(), refusal.message()))?;
            }
        },
        Some(Way::Obsolete(gone)) => {
            end(tx, id, State::Obsolete, &Why::new(gone.slug(), gone.message()))?;
        }
        None => {
            let why = Why::new("unreadable", "the journal's row names no repository");
            end(tx, id, State::Failed, &why)?;
        }
    }
    Ok(None)
}

/// Ends it; what failed stays before the person, what is of no use any more does not.
fn end(tx: &WriteTx<'_>, id: i64, state: State, why: &Why) -> Result<(), StoreError> {
    if !effects::end(tx, id, state, why)? {
        return Ok(());
    }
    match state {
        State::Failed => want::suggest(tx, id, None),
        State::Wanted
        | State::Suggested
        | State::Approved
        | State::Intended
        | State::Done
        | State::Dismissed
        | State::Obsolete => want::retire(tx, id, None),
    }
}

async fn fail(ctx: &Ctx, id: i64, why: Why) -> Result<(), StoreError> {
    ctx.store.write(Durability::Full, move |tx| end(tx, id, State::Failed, &why)).await
}

async fn finish(ctx: &Ctx, id: i64, made: u64, address: Option<String>) -> Result<(), StoreError> {
    ctx.store
        .write(Durability::Full, move |tx| {
            if effects::finish(tx, id, made, address.as_deref())? {
                want::retire(tx, id, Some("sent"))?;
            }
            failpoint::reach("effect_finishing");
            Ok::<_, StoreError>(())
        })
        .await?;
    failpoint::reach("effect_done");
    Ok(())
}

/// The guard's word on an effect; `None` for a row that names no repository.
fn judged(
    tx: &ReadTx<'_>,
    config: &Config,
    row: &EffectRow,
    step: Step,
    holds: &Holds,
    now: DateTime<Utc>,
) -> Result<Option<Way>, StoreError> {
    let Some(repo) = RepoName::parse(&row.repository) else { return Ok(None) };
    let power = powers::read(tx, config)?.in_force.of(&row.host, &repo);
    let ask = Ask {
        class: row.class,
        host: row.host.clone(),
        repo,
        number: row.number,
        head: row.head.clone(),
        account: row.account.clone(),
        approved: row.is_approved(),
        turned_down: row.turned_down,
        step,
    };
    Ok(Some(guard::judge(&ask, &power, holds, now)))
}

/// How the subject stood when the observer and the task of its review last heard of it.
fn known_subject(tx: &ReadTx<'_>, row: &EffectRow) -> Result<Vec<Sighting>, StoreError> {
    let (Some(repo), Some(number)) = (RepoName::parse(&row.repository), row.number) else {
        return Ok(Vec::new());
    };
    let observed = pulls::find(tx, &row.host, &repo, PullNumber(number))?.map(|pull| Sighting {
        head: pull.head,
        open: Some(pull.state == PullState::Open),
        updated_at: Some(pull.updated_at),
    });
    let reviewed = tasks::find_by_pull(tx, &row.host, &repo, PullNumber(number))?
        .and_then(|task| Some(Sighting { head: task.head?, open: None, updated_at: task.pull_updated_at }));
    Ok(observed.into_iter().chain(reviewed).collect())
}

/// What the database knows of what may hold an effect back.
fn known_holds(tx: &ReadTx<'_>, row: &EffectRow) -> Result<Holds, StoreError> {
    let frozen = match RepoName::parse(&row.repository) {
        Some(repo) => landings::frozen(tx, &row.host, &repo)?.map(|freeze| freeze.why),
        None => None,
    };
    Ok(Holds {
        paused: pause::current(tx)?.map(|paused| paused.why),
        frozen,
        subject: Reading::<Subject>::unread(Cause::NotReadYet, "the subject"),
        stale: row.stale,
        acting: Reading::unread(Cause::NotReadYet, "the account"),
        limited_until: None,
        sent: effects::sent_since(tx, &row.host, tx.now() - Duration::hours(1))?,
    })
}
