//! One run of an agent on a task: its wall is asked first, its cost is counted while it runs, and how it ended is
//! said in the words of a task.

use std::time::Duration;

use chrono::{DateTime, Utc};
use steward_rules::engine::policy::Policy;
use steward_rules::engine::retry::{TaskEnd, limit_until};
use steward_rules::review::lifecycle::{Spend, SpendCaps};
use steward_rules::wording::task as say;
use tokio::sync::mpsc;

use super::stop::{Stop, StopWhy};
use crate::agent::{
    self, BudgetKind, Duty, Progress, SeatEnd, SeatFolders, SeatLimits, SeatRun, TimeoutKind,
};
use crate::config::Role;
use crate::loops::effects::powers;
use crate::loops::seat::{self, Ready};
use crate::loops::{Ctx, failpoint};
use crate::sandbox;
use crate::store::engine_tasks::{self, Ended, Fault, TaskRow};
use crate::store::{Durability, ReadTx, StoreError, WriteTx, settings, spending, sql};

/// Tokens of one task where the seat's file says nothing: many turns read the same again.
const TOKENS: u64 = 50_000_000;
/// Silence of one task where the seat's file says nothing.
const IDLE: Duration = Duration::from_secs(600);
/// How often the figures of a run are kept.
const FIGURES: Duration = Duration::from_millis(500);
/// Progress that waits to be counted.
const PENDING: usize = 256;
/// Until when the provider of the agents takes no more.
const LIMITED: &str = "engine.limited_until";

/// What an agent came to.
pub(super) enum Ran {
    /// It handed this in, and so many of its processes could not be ended.
    Submitted {
        submission: Vec<u8>,
        survivors: u32,
    },
    Ended(Ended),
    /// The sign to stop was given.
    Stopped,
}

/// Until when agent work rests since a limit of the provider was reached.
pub(super) fn limited_until(tx: &ReadTx<'_>) -> Result<Option<DateTime<Utc>>, StoreError> {
    Ok(settings::get(tx, LIMITED)?.as_deref().and_then(sql::parse_utc))
}

fn limit(tx: &WriteTx<'_>, until: DateTime<Utc>) -> Result<(), StoreError> {
    settings::set(tx, LIMITED, &sql::utc_text(until))?;
    tx.topic("engine_tasks")
}

/// Asks the wall whether it holds; why not.
pub(super) async fn wall(ctx: &Ctx) -> Result<(), String> {
    let asked = ctx.clone();
    let boundary =
        tokio::task::spawn_blocking(move || asked.boundary()).await.map_err(|error| error.to_string())?;
    if let sandbox::Boundary::None { reason } = &boundary {
        return Err(reason.clone());
    }
    match sandbox::probe(&boundary, &ctx.home, &ctx.steward).await.failure() {
        None => Ok(()),
        Some(why) => Err(why),
    }
}

/// Whether the caps on money leave room for one more run.
pub(super) fn within_caps(
    tx: &ReadTx<'_>,
    config: &crate::config::Config,
) -> Result<Result<f64, String>, StoreError> {
    let caps = powers::spend(tx, config)?;
    let caps = SpendCaps { daily_usd: caps.daily_usd, monthly_usd: caps.monthly_usd };
    let (today, month) = spending::today_and_month(tx)?;
    let spend = Spend { today_usd: today.usd, month_usd: month.usd };
    Ok(match spend.within(&caps) {
        Ok(()) => Ok((caps.daily_usd - today.usd).min(caps.monthly_usd - month.usd)),
        Err(_) => Err(say::spend_cap().to_owned()),
    })
}

/// Runs the agent of a role on what its folders hold.
pub(super) async fn run(
    ctx: &Ctx,
    row: &TaskRow,
    policy: &Policy,
    duty: Duty,
    folders: SeatFolders,
    stop: &Stop,
) -> Result<Ran, StoreError> {
    let role = match duty {
        Duty::Triage { .. } => Role::Triager,
        Duty::Fix | Duty::Review | Duty::Watch => Role::Fixer,
    };
    let ended = |end, fault, detail: String| Ok(Ran::Ended(Ended { end, fault, detail, result: None }));
    let Some(ready) = stop.unless(seat::ready(ctx, role)).await else { return Ok(Ran::Stopped) };
    let Ready { seat, boundary, adapter, credential, .. } = match ready {
        Ok(ready) => ready,
        Err(why) => return ended(TaskEnd::NotStarted, Some(Fault::NoSeat), why),
    };
    let config = ctx.config();
    let left = match ctx.store.read(move |tx| within_caps(tx, &config)).await? {
        Ok(left) => left,
        Err(why) => return ended(TaskEnd::NotStarted, None, why),
    };
    let usual = SeatLimits::default();
    let limits = SeatLimits {
        wall: Duration::from_secs(u64::from(policy.agent.timeout_minutes.max(1)) * 60),
        idle: seat.idle.unwrap_or(IDLE),
        turns: policy.agent.max_turns.min(seat.max_turns.unwrap_or(u32::MAX)).max(1),
        usd: left.max(0.01),
        tokens: seat.max_tokens.unwrap_or(TOKENS).max(1),
        ..usual
    };
    if stop.token().is_cancelled() {
        return Ok(Ran::Stopped);
    }
    let id = row.id;
    let run = ctx
        .store
        .write(Durability::Full, move |tx| {
            engine_tasks::agent_starts(tx, id)?;
            spending::begin(tx, role.as_str())
        })
        .await?;
    failpoint::reach("task_running");
    let (progress, heard) = mpsc::channel(PENDING);
    let follower = tokio::spawn(follow(ctx.clone(), run, heard, stop.clone()));
    let outcome = agent::run(SeatRun {
        duty,
        adapter,
        boundary,
        steward: ctx.steward.clone(),
        folders,
        model: seat.model,
        endpoint: seat.endpoint,
        prompt: seat.prompt,
        credential,
        limits,
        cancel: stop.token().clone(),
        progress,
    })
    .await;
    // The sender is gone with the run, so this ends; a fault in it loses figures and nothing else.
    let _ = follower.await;
    failpoint::reach("task_ran");
    let usage = outcome.usage;
    ctx.store.write(Durability::Normal, move |tx| spending::set(tx, run, usage.usd, usage.tokens)).await?;
    let survivors = u32::try_from(outcome.kill.survivors.len()).unwrap_or(u32::MAX);
    let (end, detail) = match outcome.end {
        SeatEnd::Submitted { submission } => return Ok(Ran::Submitted { submission, survivors }),
        SeatEnd::Cancelled => return Ok(Ran::Stopped),
        SeatEnd::Timeout { which: TimeoutKind::Wall } => {
            (TaskEnd::Timeout, "it ran longer than policy.engine.agent.timeoutMinutes".to_owned())
        }
        SeatEnd::Timeout { which: TimeoutKind::Idle } => {
            (TaskEnd::Timeout, "it was silent for too long".to_owned())
        }
        SeatEnd::Budget { which: BudgetKind::Turns } => {
            (TaskEnd::TurnLimit, "it used policy.engine.agent.maxTurns".to_owned())
        }
        SeatEnd::Budget { which: BudgetKind::Usd } => {
            (TaskEnd::TurnLimit, "its cost reached what the caps left".to_owned())
        }
        SeatEnd::Budget { which: BudgetKind::Tokens } => (TaskEnd::TurnLimit, "it used maxTokens".to_owned()),
        SeatEnd::ScopeViolation { detail } => (TaskEnd::Refused, detail),
        SeatEnd::Limited { until, detail } => {
            let until = limit_until(until, ctx.clock.now());
            ctx.store.write(Durability::Full, move |tx| limit(tx, until)).await?;
            (TaskEnd::UsageLimit, format!("{}: {detail}", say::limited()))
        }
        SeatEnd::Crashed { reason, stderr } => match stderr.lines().last().map(str::trim) {
            None | Some("") => (TaskEnd::Crashed, reason),
            Some(said) => (TaskEnd::Crashed, format!("{reason}; it said: {said}")),
        },
    };
    ended(end, None, detail)
}

/// Counts what a run costs as it grows; the caps over all agents end it.
async fn follow(ctx: Ctx, run: i64, mut heard: mpsc::Receiver<Progress>, stop: Stop) {
    let mut tick = tokio::time::interval(FIGURES);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut usage = None;
    loop {
        tokio::select! {
            said = heard.recv() => match said {
                None => return,
                Some(Progress::Usage(now)) => usage = Some(now),
                Some(_) => {}
            },
            _ = tick.tick() => {
                let Some(usage) = usage.take() else { continue };
                let config = ctx.config.current().config.clone();
                let kept = ctx.store.write(Durability::Normal, move |tx| {
                    spending::set(tx, run, usage.usd, usage.tokens)?;
                    within_caps(tx, &config)
                });
                match kept.await {
                    Ok(Ok(_)) => {}
                    Ok(Err(_)) => stop.stop(StopWhy::SpendCap),
                    Err(error) => tracing::warn!(%error, "the figures of a task are not kept"),
                }
            }
        }
    }
}
