//! The second phase: the seat runs in its boundary, and what it hands in is checked again outside.

use std::time::Duration;

use steward_rules::ids::ReviewId;
use steward_rules::review::coverage::{self, LineRange, ReadLines, Side};
use steward_rules::review::findings::counted;
use steward_rules::review::lifecycle::{EndReason, Ending, SpendCaps};
use steward_rules::review::submission::Submission;
use steward_rules::untrusted::Untrusted;
use tokio::sync::mpsc;

use super::digesting::Prepared;
use super::drive::{DriveError, Ended, record_usage};
use super::stop::{Stop, StopWhy};
use super::{breaker, found, start};
use crate::agent::{
    self, DigestHead, Duty, Place, Progress, ReadSpan, SeatEnd, SeatLimits, SeatOutcome, SeatRun, Usage,
};
use crate::config::Role;
use crate::git::{Workspace, WorkspaceState, export};
use crate::loops::effects::powers;
use crate::loops::seat::{self, Ready, Seat};
use crate::loops::task::{TaskError, blocking};
use crate::loops::{Ctx, failpoint};
use crate::sandbox::Boundary;
use crate::store::reviews::{RunStart, Submitted};
use crate::store::{Durability, StoreError, findings, reviews, spending, steps};

/// How often figures of a running seat are written; its steps are written as they come.
const FIGURES_EVERY: Duration = Duration::from_millis(500);
/// Progress that waits to be written.
const PENDING: usize = 256;

/// Runs the seat of a review whose digest is written. The inner error ends the review.
pub(super) async fn run(
    ctx: &Ctx,
    id: ReviewId,
    prepared: Prepared,
    stop: &Stop,
) -> Result<Result<(), Ended>, DriveError> {
    let Ready { seat, boundary, adapter, adapter_name, credential } =
        match seat::ready(ctx, Role::Reviewer).await {
            Ok(ready) => ready,
            Err(detail) => return Ok(Err(Ended::crashed(detail))),
        };
    // The limits are read again here: this is where money begins to be spent.
    let config = ctx.config();
    let settings = start::settings(&config);
    if !settings.is_on() {
        stop.stop(StopWhy::SwitchedOff);
    }
    let limits = limits(&settings, &seat);
    let begin = RunStart {
        model: seat.model.clone(),
        adapter: adapter_name.to_owned(),
        boundary: boundary.name().to_owned(),
        budget_usd: settings.budget_usd,
    };
    if let Some(stopped) = Ended::stopped(stop) {
        return Ok(Err(stopped));
    }
    let begun = ctx
        .store
        .write(Durability::Full, move |tx| {
            let begun = reviews::begin_run(tx, id, &begin)?;
            if begun {
                steps::add(tx, id, "state", "the seat starts")?;
            }
            Ok::<_, StoreError>(begun)
        })
        .await?;
    if !begun {
        // Cancelled between the digest and the start.
        return Ok(Err(Ended {
            reason: EndReason::Cancelled,
            detail: StopWhy::Person.detail(),
            usage: None,
        }));
    }
    failpoint::reach("running");
    let before = workspace_state(ctx, &prepared).await;
    let (sender, receiver) = mpsc::channel(PENDING);
    let spend = ctx.store.read(move |tx| powers::spend(tx, &config)).await?;
    let caps = SpendCaps { daily_usd: spend.daily_usd, monthly_usd: spend.monthly_usd };
    let follower = tokio::spawn(follow(ctx.clone(), id, receiver, stop.clone(), caps));
    let outcome = agent::run(SeatRun {
        duty: Duty::Review,
        adapter,
        boundary: boundary.clone(),
        steward: ctx.steward.clone(),
        folders: prepared.folders.clone(),
        model: seat.model.clone(),
        endpoint: seat.endpoint.clone(),
        prompt: seat.prompt.clone(),
        credential,
        limits,
        cancel: stop.token().clone(),
        progress: sender,
    })
    .await;
    // The sender is gone with the run, so this ends; a fault in it loses progress and nothing else.
    let _ = follower.await;
    failpoint::reach("ran");
    let after = workspace_state(ctx, &prepared).await;
    finish(ctx, id, prepared, outcome, stop, Around { boundary, before, after }).await
}

/// The checkout of the task before and after the run, and the wall that stood between.
struct Around {
    boundary: Boundary,
    before: Option<WorkspaceState>,
    after: Option<WorkspaceState>,
}

impl Around {
    /// What a process of the seat changed in the checkout. Behind bubblewrap it sees no checkout, so
    /// a change there is the work of others.
    fn violation(&self) -> Option<&'static str> {
        let reachable = match &self.boundary {
            Boundary::Bubblewrap { .. } => false,
            Boundary::Landlock { .. } | Boundary::SandboxProfile | Boundary::None { .. } => true,
        };
        let (before, after) = (self.before.as_ref()?, self.after.as_ref()?);
        if !reachable || before == after {
            return None;
        }
        Some(if before.head != after.head {
            "the HEAD of the task's checkout changed while the seat ran"
        } else if before.refs != after.refs {
            "refs of the task's repository changed while the seat ran"
        } else {
            "files of the task's checkout changed while the seat ran"
        })
    }
}

async fn workspace_state(ctx: &Ctx, prepared: &Prepared) -> Option<WorkspaceState> {
    let git = ctx.git().ok()?;
    // The task of a pull request has no checkout that a seat could change.
    let (hosts, path) = (ctx.hosts(), prepared.observed.checkout.clone()?);
    let read = blocking(move || Ok::<_, TaskError>(Workspace::open(&git, &path, &hosts)?.state()?)).await;
    read.map_err(|error| tracing::warn!(%error, "the checkout's state cannot be read")).ok()
}

/// Judges how the run ended.
async fn finish(
    ctx: &Ctx,
    id: ReviewId,
    prepared: Prepared,
    outcome: SeatOutcome,
    stop: &Stop,
    around: Around,
) -> Result<Result<(), Ended>, DriveError> {
    let usage = outcome.usage;
    let ended = |reason, detail: String| Ended { reason, detail, usage: Some(usage) };
    if !outcome.kill.is_clean() {
        let survivors = outcome.kill.survivors.len();
        let text = format!("{survivors} processes of the seat could not be ended; restart the machine");
        ctx.store.write(Durability::Normal, move |tx| steps::add(tx, id, "error", &text)).await?;
    }
    let submission = match outcome.end {
        SeatEnd::Submitted { submission } => submission,
        SeatEnd::Timeout { which } => {
            let text = match which {
                agent::TimeoutKind::Wall => "it ran longer than maxMinutes",
                agent::TimeoutKind::Idle => "it was silent for too long",
            };
            return Ok(Err(ended(EndReason::Timeout, text.to_owned())));
        }
        SeatEnd::Budget { which } => {
            let text = match which {
                agent::BudgetKind::Usd => "its cost reached budgetUsd",
                agent::BudgetKind::Tokens => "it used maxTokens",
                agent::BudgetKind::Turns => "it used maxTurns",
            };
            return Ok(Err(ended(EndReason::Budget, text.to_owned())));
        }
        SeatEnd::Cancelled => {
            let why = stop.why().unwrap_or(StopWhy::Person);
            return Ok(Err(ended(why.reason(), why.detail())));
        }
        SeatEnd::ScopeViolation { detail } => return Ok(Err(ended(EndReason::ScopeViolation, detail))),
        SeatEnd::Limited { detail, .. } => {
            return Ok(Err(ended(EndReason::Crashed, format!("the model's provider: {detail}"))));
        }
        SeatEnd::Crashed { reason, stderr } => {
            let said = stderr.lines().last().unwrap_or_default().trim();
            let detail = if said.is_empty() { reason } else { format!("{reason}; it said: {said}") };
            return Ok(Err(ended(EndReason::Crashed, detail)));
        }
    };
    if let Some(text) = around.violation() {
        return Ok(Err(ended(EndReason::ScopeViolation, text.to_owned())));
    }
    let (digest, manifest) = (prepared.digest.clone(), prepared.export.clone());
    let review_folder = prepared.folders.review.clone();
    let checked = blocking(move || {
        let verified = export::verify(&manifest)?;
        if !verified.is_empty() {
            return Ok(Err(format!("{} files of the export changed", verified.len())));
        }
        let head: DigestHead = serde_json::from_slice(&digest).unwrap_or_default();
        Ok::<_, TaskError>(Ok(agent::check(&submission, &head, &review_folder)))
    })
    .await;
    let submission = match checked {
        Ok(Ok(Ok(submission))) => submission,
        Ok(Ok(Err(error))) => {
            return Ok(Err(ended(EndReason::Crashed, format!("its submission does not fit: {error}"))));
        }
        Ok(Err(changed)) => return Ok(Err(ended(EndReason::ScopeViolation, changed))),
        Err(error) => return Ok(Err(ended(EndReason::Crashed, error.to_string()))),
    };
    let submission = found::without_secrets(submission);
    record(ctx, id, prepared, submission, &outcome.reads, usage).await
}

/// Records what the seat said, with the life of its findings, in one transaction.
async fn record(
    ctx: &Ctx,
    id: ReviewId,
    prepared: Prepared,
    submission: Submission,
    reads: &[ReadSpan],
    usage: Usage,
) -> Result<Result<(), Ended>, DriveError> {
    let seen = coverage::cover(&prepared.manifest, &read_lines(reads, &prepared));
    let trigger = prepared.review.trigger;
    let (said, frames) = (submission.clone(), submission.frames.clone());
    let carried = blocking(move || Ok::<_, TaskError>(found::carry(id, &prepared, &said))).await?;
    let seat_verdict = counted(submission.verdict, &carried);
    let (_, not_read) = coverage::lower(seat_verdict, &seen);
    let said = Submitted {
        seat_verdict,
        summary: submission.summary.as_data().to_owned(),
        coverage: seen,
        lowered_because: not_read.into_iter().collect(),
    };
    failpoint::reach("submitting");
    let recorded = ctx
        .store
        .write(Durability::Full, move |tx| {
            record_usage(tx, id, &usage)?;
            if !reviews::submit(tx, id, &said)? {
                return Ok(false);
            }
            findings::record(tx, id, &carried)?;
            for frame in &frames {
                findings::observe(tx, id, frame.frame_id, frame.observation.as_data())?;
            }
            breaker::count(tx, Ending::Completed(trigger))?;
            steps::add(tx, id, "state", &format!("the seat says {}", said.seat_verdict.as_str()))?;
            Ok::<_, StoreError>(true)
        })
        .await?;
    failpoint::reach("submitted");
    if recorded { Ok(Ok(())) } else { Ok(Err(Ended::crashed("the review ended while its seat ran"))) }
}

/// What was read, in the words of the manifest: base files under the name they have at the head.
fn read_lines(reads: &[ReadSpan], prepared: &Prepared) -> Vec<ReadLines> {
    let renamed: std::collections::HashMap<String, String> = prepared
        .observed
        .diff()
        .map(|diff| {
            diff.files
                .iter()
                .filter_map(|file| Some((file.old_path.as_ref()?.shown(), file.path.shown())))
                .collect()
        })
        .unwrap_or_default();
    reads
        .iter()
        .filter_map(|span| {
            let (side, file) = match span.place {
                Place::Tree => (Side::Head, span.path.clone()),
                Place::Base => (Side::Base, renamed.get(&span.path).unwrap_or(&span.path).clone()),
                Place::Frames => return None,
            };
            Some(ReadLines { file, side, lines: LineRange::new(span.first, span.last) })
        })
        .collect()
}

/// The limits of the `review:` block, lowered by the seat's own.
fn limits(settings: &steward_rules::review::settings::ReviewSettings, seat: &Seat) -> SeatLimits {
    let usual = SeatLimits::default();
    SeatLimits {
        wall: Duration::from_secs(u64::from(settings.max_minutes) * 60),
        idle: seat.idle.unwrap_or(usual.idle),
        turns: settings.max_turns.min(seat.max_turns.unwrap_or(u32::MAX)).max(1),
        usd: settings.budget_usd,
        tokens: settings.max_tokens.min(seat.max_tokens.unwrap_or(u64::MAX)).max(1),
        ..usual
    }
}

/// Writes a seat's progress as it comes, and stops it when the caps over all agents are reached.
async fn follow(ctx: Ctx, id: ReviewId, mut receiver: mpsc::Receiver<Progress>, stop: Stop, caps: SpendCaps) {
    let mut figures: Option<Usage> = None;
    let mut tick = tokio::time::interval(FIGURES_EVERY);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            said = receiver.recv() => match said {
                None => break,
                Some(Progress::Usage(usage)) => figures = Some(usage),
                Some(other) => {
                    if let Some((kind, text)) = step(&other) {
                        note(&ctx, id, kind, text).await;
                    }
                }
            },
            _ = tick.tick() => if let Some(usage) = figures.take() {
                count(&ctx, id, usage, &stop, &caps).await;
            }
        }
    }
    if let Some(usage) = figures {
        count(&ctx, id, usage, &stop, &caps).await;
    }
}

/// A step's words: an agent's names and paths are made inert.
fn step(progress: &Progress) -> Option<(&'static str, String)> {
    let inert = |text: &str| Untrusted::new(text).one_line(200);
    match progress {
        Progress::Started { .. } => Some(("state", "the seat runs".to_owned())),
        Progress::Ready { model } => {
            let model = model.as_deref().map(|model| format!(" with {}", inert(model))).unwrap_or_default();
            Some(("state", format!("the agent is ready{model}")))
        }
        Progress::Tool { name, subject } => {
            let subject =
                subject.as_deref().map(|subject| format!(" {}", inert(subject))).unwrap_or_default();
            Some(("tool", format!("{}{subject}", inert(name))))
        }
        Progress::Note { text } => Some(("note", inert(text))),
        Progress::Retry { attempt, of, status } => {
            let status = status.map(|status| format!(" (the model answered {status})")).unwrap_or_default();
            Some(("note", format!("retry {attempt} of {of}{status}")))
        }
        Progress::Usage(_) => None,
    }
}

async fn note(ctx: &Ctx, id: ReviewId, kind: &'static str, text: String) {
    let written = ctx
        .store
        .write(Durability::Normal, move |tx| {
            reviews::set_phase(tx, id, &text)?;
            steps::add(tx, id, kind, &text)
        })
        .await;
    if let Err(error) = written {
        tracing::warn!(review = %id, %error, "a step is not kept");
    }
}

async fn count(ctx: &Ctx, id: ReviewId, usage: Usage, stop: &Stop, caps: &SpendCaps) {
    let read = ctx
        .store
        .write(Durability::Normal, move |tx| {
            record_usage(tx, id, &usage)?;
            spending::today_and_month(tx)
        })
        .await;
    match read {
        Ok((today, month)) => {
            let spent =
                steward_rules::review::lifecycle::Spend { today_usd: today.usd, month_usd: month.usd };
            if spent.within(caps).is_err() {
                stop.stop(StopWhy::SpendCap);
            }
        }
        Err(error) => tracing::warn!(review = %id, %error, "the figures of a seat are not kept"),
    }
}
