//! The shadow run: what the gate says of pull requests that were merged already (engine.md 16).
//! It takes some hundred requests, so it tells how far it is and can be stopped.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::Duration;
use steward_rules::engine::classify::{Class, classify};
use steward_rules::engine::decision::Decision;
use steward_rules::engine::memory::{HeadSeen, Memory};
use steward_rules::engine::merge::assess;
use tokio::sync::mpsc::unbounded_channel;
use tokio_util::sync::CancellationToken;

use super::checks::{Proposed, on_base, proposed};
use super::error::{ApiError, ErrorCode};
use super::repositories::watched;
use super::requests::RepositoryByName;
use super::{Api, convert, views as v};
use crate::loops::engine::reading::{self, Past, Place, ReadFault, Seen};
use crate::store::{Durability, repositories};

/// Merged pull requests that are judged.
const MERGED: usize = 50;

/// The shadow runs under way in this process, by repository.
#[derive(Default)]
pub(super) struct Runs {
    by_name: Mutex<BTreeMap<String, Run>>,
}

#[derive(Clone)]
struct Run {
    read: usize,
    of: usize,
    stop: CancellationToken,
}

impl Runs {
    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Run>> {
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins one; an older one of the same repository is stopped.
    fn begin(&self, name: &str) -> UnderWay<'_> {
        let stop = CancellationToken::new();
        let run = Run { read: 0, of: 0, stop: stop.clone() };
        if let Some(older) = self.all().insert(name.to_owned(), run) {
            older.stop.cancel();
        }
        UnderWay { runs: self, name: name.to_owned(), stop }
    }
}

/// A run for as long as it lasts, however it ends.
struct UnderWay<'r> {
    runs: &'r Runs,
    name: String,
    stop: CancellationToken,
}

impl UnderWay<'_> {
    fn is_at(&self, read: usize, of: usize) {
        if let Some(run) = self.runs.all().get_mut(&self.name).filter(|run| !run.stop.is_cancelled()) {
            (run.read, run.of) = (read, of);
        }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        // One that was begun anew is another's, and not stopped.
        if self.stop.is_cancelled() {
            self.runs.all().retain(|name, run| *name != self.name || !run.stop.is_cancelled());
        } else {
            self.runs.all().remove(&self.name);
        }
    }
}

/// The topic that tells of a run's progress.
fn topic(name: &str) -> String {
    format!("shadow:{name}")
}

/// Reads the last merged pull requests and judges each as it stood before, and proposes which checks to
/// require. Nothing is stored, and nothing goes out but reads. What was read stays when the run is stopped,
/// or when GitHub answers no more on the way.
pub async fn run(api: &Api, request: RepositoryByName) -> Result<v::ShadowView, ApiError> {
    run_telling(api, request, |_, _| {}).await
}

/// [`run`], which says how many of how many were read.
pub async fn run_telling(
    api: &Api,
    request: RepositoryByName,
    mut told: impl FnMut(usize, usize) + Send,
) -> Result<v::ShadowView, ApiError> {
    let config = api.context().config();
    let repository = watched(&config, &request.name)?.clone();
    let host = config.host_of(&repository).to_owned();
    let (name, of) = (repository.name.clone(), host.clone());
    let row = api.store().read(move |tx| repositories::find(tx, &of, &name)).await?;
    let Some(row) = row else {
        return Err(ApiError::new(ErrorCode::Refused, format!("{} was not looked at yet", request.name))
            .hint("`steward repo look` looks now"));
    };
    // By the file as it is written: what of it waits for a confirmation is what the person wants to see.
    let policy = on_base(api, &host, &repository, row.seen).await?;
    let place = Place { host, repo: repository.name, repository_id: row.id, policy };
    let under_way = api.shadows.begin(&place.repo.to_string());
    let (tell, mut heard) = unbounded_channel();
    let mut found = Found::default();
    let ended = {
        let reading = read(api, &place, |step| {
            // The receiver stands below for as long as this runs.
            let _ = tell.send(step);
        });
        tokio::pin!(reading);
        loop {
            tokio::select! {
                ended = &mut reading => break ended.map_err(Halt::Fault),
                () = under_way.stop.cancelled() => break Err(Halt::Stopped),
                Some(step) = heard.recv() => {
                    found.take(step, &place);
                    under_way.is_at(found.read, found.of);
                    told(found.read, found.of);
                    let topic = topic(&under_way.name);
                    api.store().write(Durability::Normal, move |tx| tx.topic(&topic)).await?;
                }
            }
        }
    };
    drop(under_way);
    // What was told before the end and not heard yet.
    while let Ok(step) = heard.try_recv() {
        found.take(step, &place);
        told(found.read, found.of);
    }
    found.view(&place, ended)
}

/// Why a run ended early.
enum Halt {
    Stopped,
    Fault(ReadFault),
}

enum Step {
    Proposed(Proposed),
    Seen(Seen),
}

async fn read(api: &Api, place: &Place, told: impl Fn(Step) + Send + Sync) -> Result<(), ReadFault> {
    let practice = reading::practice(api.context(), place).await?;
    told(Step::Proposed(proposed(&practice, &place.policy.required_app)));
    reading::each_merged(api.context(), place, MERGED, |seen| told(Step::Seen(seen))).await
}

/// What a run has read so far.
#[derive(Default)]
struct Found {
    rows: Vec<v::ShadowRow>,
    read: usize,
    of: usize,
    proposed: Option<Proposed>,
}

impl Found {
    fn take(&mut self, step: Step, place: &Place) {
        match step {
            Step::Proposed(proposed) => self.proposed = Some(proposed),
            Step::Seen(Seen::Listed(of)) => self.of = of,
            Step::Seen(Seen::Read(past)) => {
                self.read += 1;
                self.rows.extend(past.map(|past| judged(&past, place)));
            }
        }
    }

    fn view(self, place: &Place, ended: Result<(), Halt>) -> Result<v::ShadowView, ApiError> {
        let ended = match ended {
            Ok(()) => None,
            Err(Halt::Stopped) => Some(v::StatusReason {
                code: "stopped".to_owned(),
                message: format!("stopped: {}", so_far(self.read, self.of)),
                hint: None,
            }),
            // Of a run that read nothing its fault is all there is to tell.
            Err(Halt::Fault(fault)) if self.read == 0 => return Err(fault.into()),
            Err(Halt::Fault(fault)) => {
                let code = fault.slug().to_owned();
                let error = ApiError::from(fault);
                Some(v::StatusReason {
                    code,
                    message: format!("{}; {}", error.message, so_far(self.read, self.of)),
                    hint: error.hint,
                })
            }
        };
        let (proposed_checks, proposal) = match self.proposed {
            Some(proposed) => (proposed.names, proposed.says),
            None => (Vec::new(), "Which checks are usual was not read.".to_owned()),
        };
        Ok(v::ShadowView {
            repository: place.repo.to_string(),
            rows: self.rows,
            proposed_checks,
            proposal,
            read: count(self.read),
            of: count(self.of),
            ended,
        })
    }
}

fn so_far(read: usize, of: usize) -> String {
    match of {
        0 => "no merge was read".to_owned(),
        of => format!("{read} of {of} merges were read"),
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// How far the run of a repository is in this process.
pub async fn state(api: &Api, request: RepositoryByName) -> Result<v::ShadowStateView, ApiError> {
    let config = api.config().config.clone();
    let name = watched(&config, &request.name)?.name.to_string();
    let run = api.shadows.all().get(&name).cloned();
    Ok(v::ShadowStateView {
        running: run.is_some(),
        read: run.as_ref().map_or(0, |run| count(run.read)),
        of: run.as_ref().map_or(0, |run| count(run.of)),
    })
}

/// Stops the run of a repository; it answers with what it has read.
pub async fn stop(api: &Api, request: RepositoryByName) -> Result<v::Done, ApiError> {
    let config = api.config().config.clone();
    let name = watched(&config, &request.name)?.name.to_string();
    let run = api.shadows.all().get(&name).cloned();
    match run {
        Some(run) => {
            run.stop.cancel();
            Ok(v::Done { message: format!("the shadow run of {name} is stopped") })
        }
        None => Err(ApiError::new(ErrorCode::Refused, format!("no shadow run of {name} is under way"))),
    }
}

/// The gate's word on one, as if its head had been there for long.
fn judged(past: &Past, place: &Place) -> v::ShadowRow {
    let (pull, now) = (&past.before, past.before.read_at);
    let head =
        HeadSeen { sha: pull.head.sha.clone(), first_seen_at: now - Duration::days(1), last_seen_at: now };
    let memory = Memory { head: Some(head), ..Memory::default() };
    let decision = assess(pull, &memory, &place.policy, now);
    let class = classify(pull, &place.policy);
    // What is not data is told by what makes it so.
    let message = if matches!(class, Class::Data { .. }) { decision.message() } else { class.message() };
    v::ShadowRow {
        number: pull.number.0,
        title: past.title.one_line(200),
        merged_at: past.merged_at,
        class: class.slug().to_owned(),
        would_merge: matches!(decision, Decision::Merge(_)),
        decision: decision.slug().to_owned(),
        message: convert::line(&message),
    }
}

impl From<ReadFault> for ApiError {
    fn from(fault: ReadFault) -> Self {
        match fault {
            ReadFault::NoAccount(error) => error.into(),
            ReadFault::GitHub(error) => error.into(),
            ReadFault::Store(error) => error.into(),
            ReadFault::Defect(why) => Self::new(ErrorCode::Internal, why),
        }
    }
}
