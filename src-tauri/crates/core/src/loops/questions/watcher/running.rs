//! One run of the watcher seat: its folder, its limits, and what it costs while it runs.

use std::time::Duration;

use steward_rules::questions::pane::PaneState;
use steward_rules::questions::watcher::{Ask, Excerpt, Judged, WatchDigest};
use steward_rules::review::lifecycle::{Spend, SpendCaps};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::standing::ROLE;
use crate::agent::{
    self, Duty, Progress, SeatEnd, SeatFolders, SeatLimits, SeatOutcome, SeatRun, TimeoutKind, check_watch,
};
use crate::config::{Role, WatcherLimits};
use crate::loops::effects::powers;
use crate::loops::seat::{self, Ready, Seat};
use crate::loops::{Ctx, pause};
use crate::store::{Durability, StoreError, spending};

/// How the folders of runs begin, beside those of reviews.
pub(super) const FOLDER: &str = "watcher-";
/// A look is two calls and an end; more is a seat that lost its way.
const TURNS: u32 = 8;
const TOKENS: u64 = 400_000;
/// How often pause and caps are looked at.
const EVERY: Duration = Duration::from_millis(250);
const PENDING: usize = 64;

/// Why there is no judgement.
pub(super) enum Ended {
    Failed(String),
    Stopped,
}

/// Asks the seat once. Everything it sees is in the digest.
pub(super) async fn ask(
    ctx: &Ctx,
    ask: Ask,
    facts: &PaneState,
    excerpt: &Excerpt,
    open_topics: &[String],
    stop: &CancellationToken,
) -> Result<Result<Judged, Ended>, StoreError> {
    let ready = match seat::ready(ctx, Role::Watcher).await {
        Ok(ready) => ready,
        Err(why) => return Ok(Err(Ended::Failed(why))),
    };
    let digest = WatchDigest::new(ask, facts, excerpt, open_topics);
    let run = ctx.store.write(Durability::Full, |tx| spending::begin(tx, ROLE)).await?;
    let folder = ctx.home.seat_runs().join(format!("{FOLDER}{run}"));
    let folders = SeatFolders::under(&folder);
    let made = {
        let (folders, digest) = (folders.clone(), digest.clone());
        tokio::task::spawn_blocking(move || {
            folders.create()?;
            std::fs::write(&folders.digest, serde_json::to_vec_pretty(&digest)?)
        })
        .await
    };
    let outcome = match made {
        Ok(Ok(())) => Ok(started(ctx, run, ready, folders, stop).await?),
        Ok(Err(error)) => Err(error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    let cleared = tokio::task::spawn_blocking(move || crate::git::export::remove(&folder)).await;
    if let Ok(Err(error)) = cleared {
        tracing::warn!(%error, "a watcher's folder is left over");
    }
    Ok(outcome.map_err(Ended::Failed).and_then(|outcome| judgement(outcome, &digest)))
}

async fn started(
    ctx: &Ctx,
    run: i64,
    ready: Ready,
    folders: SeatFolders,
    stop: &CancellationToken,
) -> Result<SeatOutcome, StoreError> {
    let config = ctx.config();
    let limits = limits(&config.questions.watcher, &ready.seat);
    let caps = ctx.store.read(move |tx| powers::spend(tx, &config)).await?;
    let caps = SpendCaps { daily_usd: caps.daily_usd, monthly_usd: caps.monthly_usd };
    let cancel = stop.child_token();
    let (progress, heard) = mpsc::channel(PENDING);
    let follower = tokio::spawn(follow(ctx.clone(), run, heard, cancel.clone(), caps));
    let outcome = agent::run(SeatRun {
        duty: Duty::Watch,
        adapter: ready.adapter,
        boundary: ready.boundary,
        steward: ctx.steward.clone(),
        folders,
        model: ready.seat.model,
        endpoint: ready.seat.endpoint,
        prompt: ready.seat.prompt,
        credential: ready.credential,
        limits,
        cancel,
        progress,
    })
    .await;
    // The sender is gone with the run, so this ends; a fault in it loses figures and nothing else.
    let _ = follower.await;
    let usage = outcome.usage;
    ctx.store.write(Durability::Normal, move |tx| spending::set(tx, run, usage.usd, usage.tokens)).await?;
    Ok(outcome)
}

/// The limits of `questions.watcher`, lowered by the seat's own.
fn limits(watcher: &WatcherLimits, seat: &Seat) -> SeatLimits {
    let usual = SeatLimits::default();
    let wall = Duration::from_secs(u64::from(watcher.max_minutes) * 60);
    SeatLimits {
        wall,
        idle: seat.idle.unwrap_or(usual.idle).min(wall),
        turns: seat.max_turns.unwrap_or(TURNS).clamp(1, TURNS),
        usd: watcher.budget_usd,
        tokens: seat.max_tokens.unwrap_or(TOKENS).clamp(1, TOKENS),
        ..usual
    }
}

/// Counts what a run costs as it grows; a pause, a cap and the switch end it.
async fn follow(
    ctx: Ctx,
    run: i64,
    mut heard: mpsc::Receiver<Progress>,
    cancel: CancellationToken,
    caps: SpendCaps,
) {
    let mut tick = tokio::time::interval(EVERY);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut usage = None;
    loop {
        tokio::select! {
            said = heard.recv() => match said {
                None => return,
                Some(Progress::Usage(now)) => usage = Some(now),
                Some(_) => {}
            },
            _ = tick.tick() => match look(&ctx, run, usage.take(), &caps).await {
                Ok(true) => {}
                Ok(false) => cancel.cancel(),
                Err(error) => tracing::warn!(%error, "the figures of a watcher are not kept"),
            },
        }
    }
}

/// Whether a run may go on.
async fn look(
    ctx: &Ctx,
    run: i64,
    usage: Option<agent::Usage>,
    caps: &SpendCaps,
) -> Result<bool, StoreError> {
    if !ctx.config.current().config.questions.enabled {
        return Ok(false);
    }
    if ctx.store.read(pause::current).await?.is_some() {
        return Ok(false);
    }
    let Some(usage) = usage else { return Ok(true) };
    let (today, month) = ctx
        .store
        .write(Durability::Normal, move |tx| {
            spending::set(tx, run, usage.usd, usage.tokens)?;
            spending::today_and_month(tx)
        })
        .await?;
    Ok(Spend { today_usd: today.usd, month_usd: month.usd }.within(caps).is_ok())
}

/// What a run came to; what it handed in is checked once more, outside.
fn judgement(outcome: SeatOutcome, digest: &WatchDigest) -> Result<Judged, Ended> {
    let failed = |why: String| Err(Ended::Failed(why));
    if let Some(survivor) = outcome.kill.survivors.first() {
        return failed(format!("process {} of the seat could not be ended", survivor.pid));
    }
    match outcome.end {
        SeatEnd::Submitted { submission } => {
            check_watch(&submission, digest).map_err(|error| Ended::Failed(error.to_string()))
        }
        SeatEnd::Cancelled => Err(Ended::Stopped),
        SeatEnd::Timeout { which: TimeoutKind::Wall } => {
            failed("it ran longer than `questions.watcher.maxMinutes`".to_owned())
        }
        SeatEnd::Timeout { which: TimeoutKind::Idle } => failed("it was silent for too long".to_owned()),
        SeatEnd::Budget { .. } => failed("it used up what one run may cost".to_owned()),
        SeatEnd::ScopeViolation { detail } | SeatEnd::Limited { detail, .. } => failed(detail),
        SeatEnd::Crashed { reason, stderr } => match stderr.lines().last().map(str::trim) {
            None | Some("") => failed(reason),
            Some(said) => failed(format!("{reason}; it said: {said}")),
        },
    }
}
