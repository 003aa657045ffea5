//! One effect on its way out: look, decide, write the intent down, send once, look again.
//!
//! Each call of [`Sending::step`] does one thing that others can see, so that a test can put the steps of
//! two runtimes into any order. All that must outlive this process is in the row.

use chrono::{DateTime, Utc};
use steward_rules::deed::Deed;
use steward_rules::guard::{self, Hold, Holds, Next, Step, Trace, Way};
use steward_rules::reading::Reading;
use tokio_util::sync::CancellationToken;

use super::act::{self, Answer, Going};
use super::decide::{Decided, decide, end, finish, judged, known_holds, settle};
use super::look::{self, Seen};
use super::trace::{Found, Made, Part};
use super::{gate, want};
use crate::github::{Client, Wrote};
use crate::loops::{Ctx, failpoint};
use crate::store::effects::{self, EffectRow, State, Why};
use crate::store::{Durability, StoreError, WriteTx};

/// One effect being sent.
pub struct Sending {
    id: i64,
    stage: Stage,
    /// Ends what is under way and may be ended: a push.
    stop: CancellationToken,
    /// When it was taken up, and how many steps it took since.
    taken_up: Option<(DateTime<Utc>, u32)>,
}

/// After so many steps the rest waits, whatever they were: a deed takes a handful.
const STEPS: u32 = 500;

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
    Send(Box<Going>),
    /// GitHub's answer, or none, is to be written down.
    Answered(Box<Answer>),
    /// Others of our own comments are taken back, then it is looked again.
    TakeBack { client: Client, keep: u64, rest: Vec<u64> },
}

impl Sending {
    pub fn new(id: i64) -> Self {
        Self { id, stage: Stage::Look, stop: CancellationToken::new(), taken_up: None }
    }

    /// One that a stop ends in the middle of a push. Whether that was done is read at the next start.
    pub fn until(id: i64, stop: &CancellationToken) -> Self {
        Self { stop: stop.clone(), ..Self::new(id) }
    }

    /// Does the next thing.
    pub async fn step(&mut self, ctx: &Ctx) -> Result<Progress, StoreError> {
        let (since, steps) = self.taken_up.unwrap_or((ctx.clock.now(), 0));
        self.taken_up = Some((since, steps + 1));
        let progress = self.one(ctx).await?;
        match progress {
            Progress::More if steps < STEPS => Ok(Progress::More),
            Progress::More | Progress::Rests => {
                self.taken_up = None;
                self.pause(ctx, since).await?;
                Ok(Progress::Rests)
            }
        }
    }

    /// What rests and has the time still for which it was taken up was decided without effect: it is looked at
    /// again after a pause, not at once.
    async fn pause(&self, ctx: &Ctx, since: DateTime<Utc>) -> Result<(), StoreError> {
        let id = self.id;
        let is_due_still = move |row: &EffectRow| {
            let waits = matches!(row.state, State::Wanted | State::Approved | State::Intended);
            waits && row.retry_at.is_some() && guard::is_due(row.retry_at, since)
        };
        let row = ctx.store.read(move |tx| effects::get(tx, id)).await?;
        if !row.as_ref().is_some_and(is_due_still) {
            return Ok(());
        }
        let until = ctx.clock.now() + look::SOON;
        ctx.store
            .write(Durability::Full, move |tx| match effects::get(tx, id)? {
                Some(row) if is_due_still(&row) => effects::put_off(tx, id, until),
                Some(_) | None => Ok(()),
            })
            .await
    }

    async fn one(&mut self, ctx: &Ctx) -> Result<Progress, StoreError> {
        match std::mem::replace(&mut self.stage, Stage::Look) {
            Stage::Look => self.look(ctx).await,
            Stage::Send(going) => {
                let answer = act::act(ctx, self.id, *going, &self.stop).await?;
                failpoint::reach("effect_sent");
                self.stage = Stage::Answered(Box::new(answer));
                Ok(Progress::More)
            }
            Stage::Answered(answer) => self.answered(ctx, *answer).await,
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
        failpoint::reach("effect_read");
        let intended_at = row.intent_at.filter(|_| row.state == State::Intended);
        let posted = row.posted.filter(|_| row.state == State::Intended).map(i64::unsigned_abs);
        let blank =
            Trace { posted: None, own: Vec::new(), deleted_since: false, intended_at, looked: row.looks };
        let (trace, part) = match &seen.found {
            Found::Comments { own, deleted_since } => {
                let own = own.iter().map(|comment| comment.id).collect();
                (Trace { posted, own, deleted_since: *deleted_since, ..blank }, None)
            }
            Found::Not => (blank, None),
            // The part that is left was not sent yet, or is not shown yet: the next reading tells.
            Found::Part(part) => {
                (Trace { intended_at: row.part_sent(&part.name()), ..blank }, Some(part.clone()))
            }
            Found::Done(made) => {
                finish(ctx, id, made.clone()).await?;
                return Ok(Progress::Rests);
            }
            Found::Undone(why) => return self.removed(ctx, Why::new("removed", why.clone())).await,
            Found::Against(why) => {
                let why = why.clone();
                let state = if why.slug == "cannot_rerun" { State::Failed } else { State::Obsolete };
                ctx.store.write(Durability::Full, move |tx| end(tx, id, state, &why)).await?;
                return Ok(Progress::Rests);
            }
        };
        match guard::follow(&trace, &ctx.accounts.options().patience, ctx.clock.now()) {
            Next::Keep { keep, take_back } if take_back.is_empty() => {
                let address = seen.found.address(keep);
                finish(ctx, id, Made { id: Some(keep), address }).await?;
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
                self.removed(ctx, why).await
            }
            Next::Send => self.decided(ctx, &row, client, seen, part).await,
        }
    }

    /// Nothing under way can bring it there any more: it is judged, and goes out.
    async fn decided(
        &mut self,
        ctx: &Ctx,
        row: &EffectRow,
        client: Client,
        seen: Seen,
        part: Option<Part>,
    ) -> Result<Progress, StoreError> {
        let (id, deed) = (self.id, row.to_do());
        // The gate's word is read last, so that it is as fresh as can be when the merge goes out.
        let gate = match &deed {
            Deed::Merge { .. } => match gate::pass(ctx, row).await? {
                gate::Pass::Permit(permit) => Some(permit),
                gate::Pass::Not(state, why) => {
                    ctx.store.write(Durability::Full, move |tx| end(tx, id, state, &why)).await?;
                    return Ok(Progress::Rests);
                }
                gate::Pass::Later(why, until) => return self.wait(ctx, why, Some(until), false).await,
            },
            Deed::Comment { .. }
            | Deed::Rerun { .. }
            | Deed::RetryVerdict { .. }
            | Deed::DeleteBranch { .. }
            | Deed::Label { .. }
            | Deed::Close { .. }
            | Deed::OpenPull { .. }
            | Deed::Push { .. }
            | Deed::Report { .. } => None,
        };
        match decide(ctx, row, seen, part.as_ref()).await? {
            Decided::Go(permit) => {
                failpoint::reach("effect_intended");
                self.stage = Stage::Send(Box::new(Going { client, permit, part, gate }));
                Ok(Progress::More)
            }
            Decided::Again => Ok(Progress::More),
            Decided::Rests => Ok(Progress::Rests),
        }
    }

    async fn removed(&self, ctx: &Ctx, why: Why) -> Result<Progress, StoreError> {
        let id = self.id;
        let removed = move |tx: &WriteTx<'_>| match effects::removed(tx, id, &why)? {
            true => want::suggest(tx, id, None),
            false => Ok(()),
        };
        ctx.store.write(Durability::Full, removed).await?;
        Ok(Progress::Rests)
    }

    /// Judges by what the database knows; false when that settles it. What may have been sent is looked
    /// for whatever became of the powers, but not while everything rests.
    async fn may_look(&self, ctx: &Ctx) -> Result<bool, StoreError> {
        let (id, config, now) = (self.id, ctx.config(), ctx.clock.now());
        let judged = ctx
            .store
            .read(move |tx| {
                let Some(row) = effects::get(tx, id)? else { return Ok(None) };
                let holds = known_holds(tx, &config, &row)?;
                let way = judged(tx, &config, &row, Step::Send, &holds, now)?;
                let paused = holds.paused.map(|why| Way::Wait(Hold::Paused { why }));
                let intended = row.state == State::Intended;
                let way = if intended { paused.or(way) } else { way };
                Ok::<_, StoreError>(Some((row, way, intended)))
            })
            .await?;
        let Some((row, way, intended)) = judged else { return Ok(false) };
        match way {
            // Only what must be read is missing.
            Some(Way::Wait(Hold::Unread { .. })) => Ok(true),
            Some(Way::Suggest | Way::Refuse(_) | Way::Obsolete(_) | Way::Go(_)) if intended => Ok(true),
            settled => {
                ctx.store.write(Durability::Full, move |tx| settle(tx, &row, settled).map(drop)).await?;
                Ok(false)
            }
        }
    }

    async fn answered(&mut self, ctx: &Ctx, answer: Answer) -> Result<Progress, StoreError> {
        let id = self.id;
        match answer {
            Answer::Posted { id: made, address } => {
                ctx.store
                    .write(Durability::Full, move |tx| effects::posted(tx, id, made, address.as_deref()))
                    .await?;
                failpoint::reach("effect_posted");
                // Another runtime of this account may have said it in the same moment.
                Ok(Progress::More)
            }
            Answer::Done(made) => {
                failpoint::reach("effect_posted");
                finish(ctx, id, made).await?;
                Ok(Progress::Rests)
            }
            Answer::More => {
                failpoint::reach("effect_posted");
                Ok(Progress::More)
            }
            Answer::NotYet { until } => {
                self.give_back(ctx, Why::new("apart", "two writes are at least a second apart"), until).await
            }
            Answer::Later { why, until } => self.give_back(ctx, why, until).await,
            Answer::End { state, why } => {
                ctx.store.write(Durability::Full, move |tx| end(tx, id, state, &why)).await?;
                Ok(Progress::Rests)
            }
            Answer::Unclear(said) => {
                let why = Why::new("unclear", format!("GitHub may have done it: {said}"));
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
                    ..known_holds(tx, &config, &row)?
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
                finish(ctx, id, Made { id: Some(keep), address: None }).await?;
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
