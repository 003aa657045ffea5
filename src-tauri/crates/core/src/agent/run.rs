//! One run of a seat, from its start to a verified end.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use chrono::DateTime;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::claude::{self, SERVER};
use super::command;
use super::duty::Duty;
use super::endpoint::Endpoint;
use super::folders::{FrozenTree, SeatFolders};
use super::invocation::{Credential, Invocation};
use super::limits::SeatLimits;
use super::outcome::{BudgetKind, Progress, SeatEnd, SeatOutcome, TimeoutKind, Usage};
use super::probe::{Adapter, Kind};
use super::reads::Reads;
use super::relay::Relay;
use super::settle::{self, Claimed};
use super::stream::{self, Event};
use super::submission::REFUSED_FILE;
use crate::sandbox::{self, Boundary, BoundarySpec, Contained, KillReport, Limits, Line};

/// How often the inbox is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// Most entries a seat may make in its inbox.
const INBOX_ENTRIES: usize = 64;
/// Most names it may add to the tree it works in.
const TREE_ENTRIES: usize = 20_000;
/// How often that tree is looked at.
const GROWTH: Duration = Duration::from_secs(1);
/// From the end of the output to the end of the process.
const EXIT_PATIENCE: Duration = Duration::from_secs(10);

/// Everything one run needs.
#[derive(Debug)]
pub struct SeatRun {
    /// What it is started for.
    pub duty: Duty,
    pub adapter: Adapter,
    pub boundary: Boundary,
    /// The command-line binary: the tools server inside the boundary.
    pub steward: std::path::PathBuf,
    pub folders: SeatFolders,
    pub model: Option<String>,
    pub endpoint: Endpoint,
    /// Fixed text. Nothing that anybody else wrote belongs in it.
    pub prompt: String,
    pub credential: Option<Credential>,
    pub limits: SeatLimits,
    pub cancel: CancellationToken,
    /// Progress is dropped, not waited for, when nobody reads.
    pub progress: mpsc::Sender<Progress>,
}

/// A run ready to start: what will be started, and the relay it will speak through.
#[derive(Debug)]
pub struct Prepared {
    pub invocation: Invocation,
    /// Lives as long as the run.
    relay: Option<Relay>,
}

/// Runs a seat to its end. Whatever happens, nothing of it is left running, or the outcome says so.
pub async fn run(seat: SeatRun) -> SeatOutcome {
    match prepare(&seat) {
        Ok(prepared) => drive(seat, prepared).await,
        Err(reason) => never_started(reason),
    }
}

fn never_started(reason: String) -> SeatOutcome {
    SeatOutcome {
        end: SeatEnd::Crashed { reason, stderr: String::new() },
        usage: Usage::default(),
        reads: Vec::new(),
        kill: KillReport::default(),
    }
}

/// Builds the invocation and starts its relay.
pub fn prepare(seat: &SeatRun) -> Result<Prepared, String> {
    seat.limits.check()?;
    match &seat.adapter.0 {
        Kind::Claude { program, features } => {
            let relay = if features.unix_socket {
                let relay = Relay::start(seat.endpoint.address());
                Some(relay.map_err(|error| format!("could not open the relay to the model: {error}"))?)
            } else {
                None
            };
            let socket = relay.as_ref().map(Relay::socket);
            let invocation = claude::invocation(seat, program, *features, socket.as_deref())
                .map_err(|error| format!("could not write the seat's configuration: {error}"))?;
            Ok(Prepared { invocation, relay })
        }
        Kind::Command { program, args, network } => {
            Ok(Prepared { invocation: command::invocation(seat, program, args, *network), relay: None })
        }
    }
}

/// Starts what was prepared and follows it to its end.
pub async fn drive(seat: SeatRun, prepared: Prepared) -> SeatOutcome {
    let review = seat.folders.review.clone();
    let before = match frozen(&seat).await {
        Ok(before) => before,
        Err(error) => return never_started(format!("could not read the export: {error}")),
    };
    let Prepared { invocation, relay } = prepared;
    let inside = invocation.cwd.clone();
    let mut contained = match sandbox::spawn(&seat.boundary, spec(&seat, invocation)) {
        Ok(contained) => contained,
        Err(error) => return never_started(error.to_string()),
    };
    let _ = seat.progress.try_send(Progress::Started { pid: contained.pid() });
    let mut follow = Follow {
        reads: Reads::new(&inside, &review),
        usage: Usage::default(),
        messages: BTreeSet::new(),
        claimed: Claimed::default(),
        growth: Growth::of(&seat).await,
        seat: &seat,
    };
    let stopped = follow.until_end(&mut contained).await;
    let exit = contained.exited();
    let exit = if stopped.is_none() { tokio::time::timeout(EXIT_PATIENCE, exit).await.ok() } else { None };
    let kill = contained.kill().await;
    drop(relay);
    let stderr = settle::scrubbed(&contained.stderr_tail(), seat.credential.as_ref());
    let Follow { reads, usage, claimed, .. } = follow;
    let changed = match frozen(&seat).await {
        Ok(after) => after.zip(before).and_then(|(after, before)| after.first_change(&before)).map(|path| {
            let path = path.strip_prefix(&seat.folders.review).unwrap_or(&path).to_owned();
            format!("a file of the export changed: {}", settle::shown(&path.to_string_lossy()))
        }),
        Err(error) => Some(format!("the export cannot be read any more: {error}")),
    };
    let end = settle::settle(&seat, settle::Ended { stopped, exit, claimed, changed, kill: &kill, stderr });
    SeatOutcome { end, usage, reads: reads.finish(), kill }
}

/// What the export looks like; of a tree that is worked in, others tell what changed.
async fn frozen(seat: &SeatRun) -> std::io::Result<Option<FrozenTree>> {
    if seat.duty.writes() {
        return Ok(None);
    }
    let review = seat.folders.review.clone();
    let look = tokio::task::spawn_blocking(move || FrozenTree::of(&review));
    look.await.map_err(std::io::Error::other)?.map(Some)
}

/// How much what it may write has grown; looked at beside everything else.
struct Growth {
    folders: SeatFolders,
    at_first: (u64, usize),
    looking: Option<tokio::task::JoinHandle<(u64, usize)>>,
    next: Instant,
}

impl Growth {
    async fn of(seat: &SeatRun) -> Self {
        let folders = seat.folders.clone();
        let first = tokio::task::spawn_blocking(move || folders.written_size());
        let at_first = first.await.unwrap_or_default();
        Self { folders: seat.folders.clone(), at_first, looking: None, next: Instant::now() }
    }

    /// Ends the run when the tree is used as a store.
    async fn end(&mut self, most: u64) -> Option<SeatEnd> {
        if self.folders.writable.is_empty() {
            return None;
        }
        match self.looking.take() {
            None if Instant::now() >= self.next => {
                let folders = self.folders.clone();
                self.looking = Some(tokio::task::spawn_blocking(move || folders.written_size()));
                None
            }
            Some(looking) if looking.is_finished() => {
                self.next = Instant::now() + GROWTH;
                let (bytes, names) = looking.await.unwrap_or_default();
                let is_over = bytes.saturating_sub(self.at_first.0) > most
                    || names.saturating_sub(self.at_first.1) > TREE_ENTRIES;
                is_over.then(|| SeatEnd::ScopeViolation { detail: "it filled the tree".to_owned() })
            }
            running => {
                self.looking = running;
                None
            }
        }
    }
}

fn spec(seat: &SeatRun, invocation: Invocation) -> BoundarySpec {
    let mut env = invocation.env;
    if let Some(credential) = &seat.credential {
        let name = match &seat.adapter.0 {
            Kind::Claude { .. } => claude::credential_variable(credential),
            Kind::Command { .. } => "STEWARD_CREDENTIAL",
        };
        env.push((name.to_owned(), credential.expose().into()));
    }
    BoundarySpec {
        program: invocation.program,
        args: invocation.args,
        env,
        read_only: invocation.read_only,
        writable: invocation.writable,
        sockets: invocation.sockets,
        cwd: invocation.cwd,
        network: invocation.network,
        stdin: invocation.stdin.into_bytes(),
        scratch: seat.folders.scratch.clone(),
        limits: Limits::default(),
    }
}

struct Follow<'a> {
    reads: Reads,
    usage: Usage,
    /// Messages whose tokens are counted.
    messages: BTreeSet<String>,
    claimed: Claimed,
    growth: Growth,
    seat: &'a SeatRun,
}

impl Follow<'_> {
    /// Follows the output until it ends (`None`) or the run must be stopped.
    async fn until_end(&mut self, contained: &mut Contained) -> Option<SeatEnd> {
        let limits = self.seat.limits;
        let wall = Instant::now() + limits.wall;
        let mut idle = Instant::now() + limits.idle;
        let mut tick = tokio::time::interval(LOOK);
        let mut exit_seen: Option<Instant> = None;
        let exited = contained.exited();
        tokio::pin!(exited);
        loop {
            // After the exit, output held open by an orphan is not waited for.
            let orphaned = exit_seen.map(|at| at + Duration::from_millis(500));
            tokio::select! {
                biased;
                () = self.seat.cancel.cancelled() => return Some(SeatEnd::Cancelled),
                () = tokio::time::sleep_until(wall) => return Some(SeatEnd::Timeout { which: TimeoutKind::Wall }),
                _ = tick.tick() => {
                    if let Some(end) = inbox_end(&self.seat.folders.inbox, limits.inbox_bytes) {
                        return Some(end);
                    }
                    if let Some(end) = self.growth.end(limits.tree_bytes).await {
                        return Some(end);
                    }
                    if contained.output_bytes() > limits.output_bytes {
                        return Some(crash("it printed more than it may"));
                    }
                }
                _ = &mut exited, if exit_seen.is_none() => exit_seen = Some(Instant::now()),
                line = contained.stdout().next() => {
                    idle = Instant::now() + limits.idle;
                    let end = match line {
                        None => return self.silent_until_exit(contained, wall, idle).await,
                        Some(Line::TooLong { .. }) => None,
                        Some(Line::Whole(line)) => self.line(&line),
                    };
                    if end.is_some() {
                        return end;
                    }
                }
                () = tokio::time::sleep_until(orphaned.unwrap_or(wall)), if orphaned.is_some() => return None,
                () = tokio::time::sleep_until(idle) => return Some(SeatEnd::Timeout { which: TimeoutKind::Idle }),
            }
        }
    }

    /// A process that closed its output and goes on is as silent as a stalled one.
    async fn silent_until_exit(
        &self,
        contained: &Contained,
        wall: Instant,
        idle: Instant,
    ) -> Option<SeatEnd> {
        tokio::select! {
            _ = contained.exited() => None,
            () = self.seat.cancel.cancelled() => Some(SeatEnd::Cancelled),
            () = tokio::time::sleep_until(wall) => Some(SeatEnd::Timeout { which: TimeoutKind::Wall }),
            () = tokio::time::sleep_until(idle) => Some(SeatEnd::Timeout { which: TimeoutKind::Idle }),
        }
    }

    fn line(&mut self, line: &[u8]) -> Option<SeatEnd> {
        let events = match &self.seat.adapter.0 {
            Kind::Claude { .. } => stream::parse_line(line),
            Kind::Command { .. } => vec![command::parse_line(line)],
        };
        events.into_iter().find_map(|event| self.event(event))
    }

    fn say(&self, progress: Progress) {
        let _ = self.seat.progress.try_send(progress);
    }

    fn event(&mut self, event: Event) -> Option<SeatEnd> {
        match event {
            Event::Init { tools, servers, model, .. } => {
                self.claimed.started = true;
                if let Some(end) = strangers(self.seat.duty, &tools, &servers) {
                    return Some(end);
                }
                self.claimed.connected = true;
                self.say(Progress::Ready { model });
                None
            }
            Event::ToolUse { id, name, input } => {
                if !self.seat.duty.tools().contains(&name.as_str()) {
                    return Some(SeatEnd::ScopeViolation {
                        detail: format!("it called {}, which it does not have", settle::shown(&name)),
                    });
                }
                let subject = input.path.clone().or(input.pattern.clone());
                self.say(Progress::Tool { name: name.clone(), subject });
                self.reads.asked(id, name, input);
                None
            }
            Event::ToolResult { id, failed, text, file } => {
                self.reads.answered(&id, failed, &text, file);
                None
            }
            Event::Usage { message, tokens } => {
                // Bounded by the turns; a stream that makes up messages runs into the token ceiling.
                if self.messages.insert(message) {
                    self.usage.tokens = self.usage.tokens.saturating_add(tokens.max(1));
                    self.usage.turns = self.usage.turns.saturating_add(1);
                    self.say(Progress::Usage(self.usage));
                }
                self.over()
            }
            Event::Total { usd, tokens, turns } => {
                self.usage.usd = usd.or(self.usage.usd);
                self.usage.tokens = self.usage.tokens.max(tokens);
                self.usage.turns = self.usage.turns.max(turns);
                self.say(Progress::Usage(self.usage));
                self.over()
            }
            Event::Retry { attempt, of, status } => {
                self.say(Progress::Retry { attempt, of, status });
                None
            }
            Event::Result { subtype, is_error, turns, usd, tokens, api_status, errors } => {
                self.usage.usd = usd.or(self.usage.usd);
                self.usage.tokens = tokens.unwrap_or(0).max(self.usage.tokens);
                self.usage.turns = turns.unwrap_or(self.usage.turns);
                self.say(Progress::Usage(self.usage));
                self.claimed.result = Some(settle::OwnResult { subtype, is_error, api_status, errors });
                None
            }
            Event::Note { text } => {
                self.say(Progress::Note { text });
                None
            }
            Event::OwnTool { name, subject } => {
                self.say(Progress::Tool { name, subject });
                None
            }
            Event::OwnRead { place, path, first, last } => {
                self.reads.add(place, path, first, last);
                None
            }
            Event::Failed { text } => {
                self.claimed.failed = Some(text);
                None
            }
            Event::Limit { is_reached, resets_at } => {
                let until = resets_at.and_then(|at| DateTime::from_timestamp(at, 0));
                self.claimed.limited = is_reached.then_some(until);
                None
            }
            Event::Denied { .. } | Event::Unknown | Event::Unreadable => None,
        }
    }

    fn over(&self) -> Option<SeatEnd> {
        let (used, limits) = (&self.usage, &self.seat.limits);
        let which = if used.tokens > limits.tokens {
            BudgetKind::Tokens
        } else if used.turns > limits.turns.saturating_add(1) {
            BudgetKind::Turns
        } else if used.usd.is_some_and(|usd| usd > limits.usd) {
            BudgetKind::Usd
        } else {
            return None;
        };
        Some(SeatEnd::Budget { which })
    }
}

fn crash(reason: &str) -> SeatEnd {
    SeatEnd::Crashed { reason: reason.to_owned(), stderr: String::new() }
}

/// The first line must show our server connected, and no tool or server beyond ours.
fn strangers(duty: Duty, tools: &[String], servers: &[(String, String)]) -> Option<SeatEnd> {
    let violation = |what: &str, name: &str| {
        Some(SeatEnd::ScopeViolation { detail: format!("it started with {what} {}", settle::shown(name)) })
    };
    if let Some(tool) = tools.iter().find(|tool| !duty.tools().contains(&tool.as_str())) {
        return violation("the tool", tool);
    }
    if let Some((name, _)) = servers.iter().find(|(name, _)| name != SERVER) {
        return violation("the tools server", name);
    }
    match servers.iter().find(|(name, _)| name == SERVER) {
        Some((_, state)) if state == "connected" => None,
        Some((_, state)) => Some(crash(&format!("the tools server is {}", settle::shown(state)))),
        None => Some(crash("the tools server is missing")),
    }
}

/// Ends the run when three submissions were refused, or when the inbox is used as a store.
fn inbox_end(inbox: &Path, cap: u64) -> Option<SeatEnd> {
    let entries = std::fs::read_dir(inbox).ok()?;
    let (mut bytes, mut count) = (0u64, 0usize);
    for entry in entries.flatten() {
        count += 1;
        if entry.file_name() == REFUSED_FILE {
            return Some(crash("three submissions were refused"));
        }
        bytes = bytes.saturating_add(entry.metadata().map_or(0, |meta| meta.len()));
        if bytes > cap || count > INBOX_ENTRIES {
            return Some(SeatEnd::ScopeViolation { detail: "it filled the inbox folder".to_owned() });
        }
    }
    None
}
