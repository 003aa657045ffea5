//! `seats/<role>.yaml`: which agent a role is started as, with what words and within what limits.

mod prompts;
mod seed;

use std::fs;
use std::io::Read;
use std::path::PathBuf;

use super::blocks::{RawSeat, RawSeatLimits};
use super::fields::{At, FromNode, Problems};
use super::problem::{Problem, Severity};
use super::raw::{Node, Spot, parse};
use super::resolve::Resolving;
use super::types::{Adapter, AgentChoice, Role};
use crate::home::Home;
pub use seed::{Seeded, seed, template};

/// A seat file longer than this is refused.
const MAX_BYTES: u64 = 64 * 1024;
const MAX_PROMPT: usize = 20_000;

/// One role's seat.
#[derive(Debug, Clone, PartialEq)]
pub struct Seat {
    pub role: Role,
    pub adapter: Adapter,
    /// The adapter's own default when absent.
    pub model: Option<String>,
    /// Program and arguments; the adapter `command` always has one, at least of one word.
    pub command: Option<Vec<String>>,
    pub network: Network,
    /// Base URL of the model; the agent's own when absent.
    pub endpoint: Option<String>,
    /// Fixed text. Nothing of a task is ever put into it.
    pub prompt: String,
    pub limits: SeatLimits,
}

/// What a command may reach of the network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Network {
    #[default]
    None,
    Host,
}

/// Limits of one run; what is absent, the configuration of the system decides.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeatLimits {
    /// Seconds without a sign of life.
    pub idle_seconds: Option<u32>,
    pub max_turns: Option<u32>,
    pub max_tokens: Option<u64>,
}

#[derive(Debug, thiserror::Error)]
pub enum SeatError {
    #[error("{path}: {problems}", path = path.display(), problems = joined(problems))]
    Bad { path: PathBuf, problems: Vec<Problem> },
    #[error("{path}: it is longer than {MAX_BYTES} bytes", path = .0.display())]
    TooLong(PathBuf),
    #[error("could not {doing} {path}: {source}", path = path.display())]
    Io { doing: &'static str, path: PathBuf, source: std::io::Error },
}

/// How many problems a message tells in full.
const TOLD: usize = 3;

fn joined(problems: &[Problem]) -> String {
    let mut told: Vec<String> = problems.iter().take(TOLD).map(Problem::to_string).collect();
    if problems.len() > TOLD {
        told.push(format!("and {} more", problems.len() - TOLD));
    }
    told.join("; ")
}

/// Reads a role's seat as it stands in the file now, under `agents.<role>` of the configuration;
/// `None` when it has no file.
pub fn read(home: &Home, role: Role, over: Option<&AgentChoice>) -> Result<Option<Seat>, SeatError> {
    let path = home.seat_file(role.as_str());
    let mut text = String::new();
    let read = fs::File::open(&path).and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text));
    match read {
        Ok(_) if text.len() as u64 > MAX_BYTES => Err(SeatError::TooLong(path)),
        Ok(_) => {
            parse_seat(&text, role, over).map(Some).map_err(|problems| SeatError::Bad { path, problems })
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(SeatError::Io { doing: "read", path, source }),
    }
}

/// Reads a text as a seat. Unlike the configuration, a seat with an error is no seat, and a key that
/// is not known is an error: it may be a limit.
pub fn parse_seat(text: &str, role: Role, over: Option<&AgentChoice>) -> Result<Seat, Vec<Problem>> {
    let root = parse(text).map_err(|broken| {
        let spot = Spot { line: broken.line, column: broken.column, ..Spot::default() };
        vec![Problem::at(Severity::Fatal, spot, "", broken.message).with_snippet(text)]
    })?;
    let mut problems = Problems::default();
    let raw = RawSeat::from_node(&root, "", &mut problems).unwrap_or_default();
    let mut cx = Resolving { problems, effective: Vec::new(), person: None };
    match resolve(&root, raw, role, over, &mut cx) {
        Some(seat) if cx.problems.0.is_empty() => Ok(seat),
        Some(_) | None => Err(cx.problems.0.into_iter().map(|problem| problem.with_snippet(text)).collect()),
    }
}

/// `None` has left a problem.
fn resolve(
    root: &Node,
    raw: RawSeat,
    role: Role,
    over: Option<&AgentChoice>,
    cx: &mut Resolving<'_>,
) -> Option<Seat> {
    let written = super::resolve::adapter(raw.adapter.as_ref(), cx);
    if raw.adapter.is_none() && cx.problems.error_in("adapter").is_none() {
        cx.error(root.spot, "adapter", "this key is missing");
    }
    let network = match raw.network.as_ref().map(|at| cx.word(at, &["none", "host"])) {
        None | Some(Some(0)) => Network::None,
        Some(Some(_)) => Network::Host,
        Some(None) => Network::None,
    };
    let prompt = match &raw.prompt {
        Some(at) => prompt(at, cx),
        None => prompts::prompt(role).to_owned(),
    };
    let limits = limits(raw.limits.as_ref(), cx);
    if let Some(at) = raw.command.as_ref().filter(|at| at.value.is_empty()) {
        cx.error(at.spot, &at.key, "this must name a program");
    }
    let mut seat = Seat {
        role,
        adapter: written?,
        model: raw.model.map(|at| at.value),
        command: raw.command.map(|at| at.value),
        network,
        endpoint: raw.endpoint.map(|at| at.value),
        prompt,
        limits,
    };
    if let Some(choice) = over {
        put_before(&mut seat, choice);
    }
    if seat.adapter == Adapter::Command && seat.command.as_ref().is_none_or(Vec::is_empty) {
        cx.error(root.spot, "command", "the adapter `command` needs a program");
    }
    Some(seat)
}

/// What `agents.<role>` of the configuration says goes before the file.
fn put_before(seat: &mut Seat, choice: &AgentChoice) {
    // A model and a program belong to their adapter; to another one they mean nothing.
    if choice.adapter.is_some_and(|adapter| adapter != seat.adapter) {
        (seat.model, seat.command) = (None, None);
    }
    seat.adapter = choice.adapter.unwrap_or(seat.adapter);
    seat.model = choice.model.clone().or(seat.model.take());
    seat.command = choice.command.clone().or(seat.command.take());
}

fn prompt(at: &At<String>, cx: &mut Resolving<'_>) -> String {
    if at.value.trim().is_empty() || at.value.chars().count() > MAX_PROMPT {
        cx.error(at.spot, &at.key, format!("this must have 1 to {MAX_PROMPT} characters"));
    }
    if holds_reference(&at.value) {
        cx.error(at.spot, &at.key, "a word that begins with `@` is read as a file by some agents; reword it");
    }
    at.value.clone()
}

fn limits(read: Option<&At<RawSeatLimits>>, cx: &mut Resolving<'_>) -> SeatLimits {
    let raw = read.map(|at| at.value.clone()).unwrap_or_default();
    SeatLimits {
        idle_seconds: limit(raw.idle_seconds.as_ref(), cx),
        max_turns: limit(raw.max_turns.as_ref(), cx),
        max_tokens: limit(raw.max_tokens.as_ref(), cx),
    }
}

fn limit<T: TryFrom<i64>>(read: Option<&At<i64>>, cx: &mut Resolving<'_>) -> Option<T> {
    let at = read?;
    let wrong = match (at.value, T::try_from(at.value)) {
        (0, _) => "0 would mean no limit; leave the key out for the default",
        (1.., Ok(value)) => return Some(value),
        (1.., Err(_)) => "this is too large for a limit",
        (..0, _) => "a limit is a whole number of at least 1",
    };
    cx.error(at.spot, &at.key, wrong);
    None
}

fn holds_reference(prompt: &str) -> bool {
    prompt.split_whitespace().any(|word| {
        word.trim_start_matches(['(', '[', '{', '"', '\'', '`', ',', '-'])
            .strip_prefix('@')
            .is_some_and(|rest| !rest.is_empty())
    })
}

/// The text of `docs/schemas/seat.schema.json`, for editors.
pub fn schema_text() -> String {
    super::written(super::titled(schemars::schema_for!(RawSeat), "Steward seat"))
}
