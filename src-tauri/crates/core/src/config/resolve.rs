//! From the keys as written to the configuration in force: defaults, ceilings, and what is off.

use std::path::{Path, PathBuf};

use chrono::NaiveTime;
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::blocks::{RawAgent, RawConfig, RawNotifications, RawRetention, RawSpend};
use super::fields::{At, FromNode, Opaque, Problems};
use super::problem::{Problem, Severity, did_you_mean};
use super::raw::{Node, Spot, Value};
use super::types::{
    Adapter, AgentChoice, CommitIdentity, Config, Notifications, QuietHours, Retention, Role, Spend, Switch,
};
use super::{engine, forge, questions, repositories, review, workspaces};

/// Where an effective value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "from")]
pub enum Origin {
    Default,
    /// The preset of the repository.
    Preset,
    /// Less than the file asks for, until a person confirms that.
    Unconfirmed,
    File {
        line: u32,
    },
    /// The file asks for more than the ceiling.
    Clamped {
        line: u32,
    },
    /// The file's value is bad; the system it belongs to is off.
    Refused {
        line: u32,
    },
}

/// One line of `steward config check`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Effective {
    pub key: String,
    pub value: Json,
    pub origin: Origin,
}

impl Effective {
    /// The value as one would write it: text without quotes, anything else as JSON.
    pub fn shown(&self) -> String {
        match self.value.as_str() {
            Some(text) => text.to_owned(),
            None => self.value.to_string(),
        }
    }
}

/// What reading a tree gave.
pub(super) struct Resolved {
    pub config: Config,
    pub problems: Vec<Problem>,
    pub effective: Vec<Effective>,
}

/// Collects problems and effective values while the blocks are resolved.
pub(super) struct Resolving<'a> {
    pub problems: Problems,
    pub effective: Vec<Effective>,
    /// The home of the person, for `~`.
    pub person: Option<&'a Path>,
}

impl Resolving<'_> {
    /// Notes the value in force for a key.
    pub fn note(&mut self, key: impl Into<String>, value: impl Into<Json>, origin: Origin) {
        self.effective.push(Effective { key: key.into(), value: value.into(), origin });
    }

    /// The value of an optional key, or its default; both noted.
    pub fn or<T: Clone + Into<Json>>(&mut self, key: &str, read: Option<&At<T>>, default: T) -> T {
        let (value, origin) = match read {
            Some(at) => (at.value.clone(), Origin::File { line: at.spot.line }),
            None => (default, Origin::Default),
        };
        self.note(key, value.clone(), origin);
        value
    }

    pub fn error(&mut self, spot: Spot, key: &str, message: impl Into<String>) {
        self.problems.error(spot, key, message);
    }

    /// One of a fixed set of words.
    pub fn word(&mut self, read: &At<String>, words: &[&str]) -> Option<usize> {
        let found = words.iter().position(|word| *word == read.value);
        if found.is_none() {
            let mut problem =
                Problem::at(Severity::Error, read.spot, &read.key, format!("this must be {}", list(words)));
            if let Some(word) = did_you_mean(&read.value, words) {
                problem = problem.hint(format!("did you mean `{word}`?"));
            }
            self.problems.0.push(problem);
        }
        found
    }

    /// A text that must be there.
    pub fn required<'t>(&mut self, read: Option<&'t At<String>>, spot: Spot, key: &str) -> Option<&'t str> {
        match read {
            Some(at) if at.value.trim().is_empty() => {
                self.error(at.spot, &at.key, "this must not be empty");
                None
            }
            Some(at) => Some(&at.value),
            None => {
                // A key whose value is bad has said so already.
                if self.problems.error_in(key).is_none() {
                    self.error(spot, key, "this key is missing");
                }
                None
            }
        }
    }
}

fn list(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

/// Resolves a whole file. Only a top level that is not a block of keys refuses it as a whole.
pub(super) fn resolve(root: &Node, person: Option<&Path>) -> Result<Resolved, Problem> {
    if !matches!(root.value, Value::Map(_) | Value::Null) {
        return Err(Problem::at(
            Severity::Fatal,
            root.spot,
            "",
            "the file must be a block of keys, such as `workspaces:` and `review:`",
        ));
    }
    let mut problems = Problems::default();
    let raw = RawConfig::from_node(root, "", &mut problems).unwrap_or_default();
    let mut cx = Resolving { problems, effective: Vec::new(), person };
    let workspaces = workspaces::resolve(&raw, &mut cx);
    let review = review::resolve(raw.review.as_ref(), &workspaces, &mut cx);
    let accounts = forge::accounts(&raw, &mut cx);
    let config = Config {
        network: forge::network(raw.network.as_ref(), &mut cx),
        review,
        agents: agents(&raw, &mut cx),
        spend: spend(raw.spend.as_ref(), &mut cx),
        commit: commit(&raw, &mut cx),
        repositories: repositories::resolve(&raw, &accounts, &mut cx),
        notifications: notifications(raw.notifications.as_ref(), &mut cx),
        retention: retention(raw.retention.as_ref(), &mut cx),
        editor: editor(&raw, &mut cx),
        engine: engine::resolve(raw.engine.as_ref(), &mut cx),
        memory: switch("memory", raw.memory.as_ref(), &mut cx),
        questions: questions::resolve(raw.questions.as_ref(), &mut cx),
        pipelines: pipelines(raw.pipelines.as_ref(), &mut cx),
        accounts,
        workspaces,
    };
    let mut problems = cx.problems.0;
    problems.sort_by_key(|problem| (problem.line, problem.column));
    Ok(Resolved { config, problems, effective: cx.effective })
}

fn agents(raw: &RawConfig, cx: &mut Resolving<'_>) -> Vec<(Role, AgentChoice)> {
    let Some(agents) = raw.agents.as_ref().map(|at| &at.value) else { return Vec::new() };
    let of = |role: Role| -> Option<&At<RawAgent>> {
        match role {
            Role::Reviewer => agents.reviewer.as_ref(),
            Role::Fixer => agents.fixer.as_ref(),
            Role::Triager => agents.triager.as_ref(),
            Role::Responder => agents.responder.as_ref(),
            Role::Safety => agents.safety.as_ref(),
            Role::Watcher => agents.watcher.as_ref(),
            Role::Inspector => agents.inspector.as_ref(),
            Role::Conductor => agents.conductor.as_ref(),
        }
    };
    let mut choices = Vec::new();
    for role in Role::ALL {
        let Some(agent) = of(role) else { continue };
        let choice = AgentChoice {
            adapter: adapter(agent.value.adapter.as_ref(), cx),
            model: agent.value.model.as_ref().map(|at| at.value.clone()),
            command: agent.value.command.as_ref().map(|at| at.value.clone()),
        };
        if choice.command.as_ref().is_some_and(Vec::is_empty) {
            cx.error(agent.spot, &agent.key, "`command` must name a program");
        }
        let shown = json!({
            "adapter": choice.adapter.map(Adapter::as_str), "model": choice.model, "command": choice.command,
        });
        cx.note(agent.key.clone(), shown, Origin::File { line: agent.spot.line });
        choices.push((role, choice));
    }
    choices
}

pub(super) fn adapter(read: Option<&At<String>>, cx: &mut Resolving<'_>) -> Option<Adapter> {
    let at = read?;
    cx.word(at, &Adapter::WORDS)?;
    Adapter::parse(&at.value)
}

fn spend(read: Option<&At<RawSpend>>, cx: &mut Resolving<'_>) -> Spend {
    let raw = read.map(|at| at.value.clone()).unwrap_or_default();
    for at in [&raw.daily_usd, &raw.monthly_usd].into_iter().flatten() {
        if at.value < 0.0 {
            cx.error(at.spot, &at.key, "this must not be negative");
        }
    }
    let broken = cx.problems.error_in("spend").map(|problem| problem.line);
    if let Some(line) = broken {
        // Money fails closed: a cap that cannot be read is a cap of nothing.
        for key in ["spend.dailyUsd", "spend.monthlyUsd"] {
            cx.note(key, 0.0, Origin::Refused { line });
        }
        return Spend { daily_usd: 0.0, monthly_usd: 0.0 };
    }
    Spend {
        daily_usd: cx.or("spend.dailyUsd", raw.daily_usd.as_ref(), 10.0),
        monthly_usd: cx.or("spend.monthlyUsd", raw.monthly_usd.as_ref(), 100.0),
    }
}

fn commit(raw: &RawConfig, cx: &mut Resolving<'_>) -> CommitIdentity {
    let raw = raw.commit.as_ref().map(|at| at.value.clone()).unwrap_or_default();
    for at in [&raw.name, &raw.email].into_iter().flatten() {
        if at.value.contains(['\n', '<', '>']) {
            cx.error(at.spot, &at.key, "this must be one line without `<` and `>`");
        }
    }
    let signoff = cx.or("commit.signoff", raw.signoff.as_ref(), false);
    if cx.problems.error_in("commit").is_some() {
        return CommitIdentity::default();
    }
    CommitIdentity { name: raw.name.map(|at| at.value), email: raw.email.map(|at| at.value), signoff }
}

fn notifications(read: Option<&At<RawNotifications>>, cx: &mut Resolving<'_>) -> Notifications {
    let Some(at) = read.and_then(|at| at.value.quiet_hours.as_ref()) else {
        return Notifications::default();
    };
    let time = |text: &str| NaiveTime::parse_from_str(text.trim(), "%H:%M").ok();
    let hours =
        at.value.split_once('-').and_then(|(from, to)| Some(QuietHours { from: time(from)?, to: time(to)? }));
    match hours {
        Some(_) => {
            cx.note("notifications.quietHours", at.value.clone(), Origin::File { line: at.spot.line });
        }
        None => cx.error(at.spot, &at.key, "this must be two times of day, such as `22:00-07:00`"),
    }
    Notifications { quiet_hours: hours }
}

fn retention(read: Option<&At<RawRetention>>, cx: &mut Resolving<'_>) -> Retention {
    let raw = read.map(|at| at.value.clone()).unwrap_or_default();
    let fallback = Retention::default();
    let mut days = |name: &str, read: Option<&At<i64>>, default: u32| -> u32 {
        let key = format!("retention.{name}");
        match read {
            // Keeping is what a bad value must never end.
            Some(at) if !(1..=36_500).contains(&at.value) => {
                cx.error(at.spot, &key, "this must be between 1 and 36500");
                cx.note(key, default, Origin::Refused { line: at.spot.line });
                default
            }
            Some(at) => {
                cx.note(key, at.value, Origin::File { line: at.spot.line });
                at.value as u32
            }
            None => {
                cx.note(key, default, Origin::Default);
                default
            }
        }
    };
    Retention {
        logs_days: days("logsDays", raw.logs_days.as_ref(), fallback.logs_days),
        seat_days: days("seatDays", raw.seat_days.as_ref(), fallback.seat_days),
        observation_days: days("observationDays", raw.observation_days.as_ref(), fallback.observation_days),
        observation_mb: days("observationMb", raw.observation_mb.as_ref(), fallback.observation_mb),
        frame_days: days("frameDays", raw.frame_days.as_ref(), fallback.frame_days),
        done_days: days("doneDays", raw.done_days.as_ref(), fallback.done_days),
    }
}

fn editor(raw: &RawConfig, cx: &mut Resolving<'_>) -> Option<Vec<String>> {
    let at = raw.editor.as_ref()?;
    match split_words(&at.value) {
        Some(words) if !words.is_empty() => {
            cx.note("editor", at.value.clone(), Origin::File { line: at.spot.line });
            Some(words)
        }
        _ => {
            cx.error(
                at.spot,
                "editor",
                "this must be a command; a quote in it is not closed, or it is empty",
            );
            None
        }
    }
}

/// Splits a command at spaces, with `'…'` and `"…"` kept together. It is never given to a shell.
fn split_words(text: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in text.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

fn switch(name: &str, read: Option<&At<Opaque>>, cx: &mut Resolving<'_>) -> Switch {
    let key = format!("{name}.enabled");
    let Some(block) = read else {
        cx.note(key, false, Origin::Default);
        return Switch::default();
    };
    if !matches!(block.value.0.value, Value::Map(_)) {
        cx.error(block.spot, name, "this must be a block of keys");
    }
    let enabled = match block.value.0.get("enabled") {
        Some(node) => bool::from_node(node, &key, &mut cx.problems).map(|on| (on, node.spot.line)),
        None => None,
    };
    let disabled_by = cx.problems.error_in(name).map(Problem::to_string);
    let (enabled, origin) = match (&disabled_by, enabled) {
        (Some(_), _) => (false, Origin::Refused { line: block.spot.line }),
        (None, Some((on, line))) => (on, Origin::File { line }),
        (None, None) => (false, Origin::Default),
    };
    cx.note(key, enabled, origin);
    Switch { enabled, disabled_by }
}

/// A list of pipelines; there is one, so the system is on.
fn pipelines(read: Option<&At<Opaque>>, cx: &mut Resolving<'_>) -> Switch {
    let Some(block) = read else { return Switch::default() };
    let Value::List(items) = &block.value.0.value else {
        cx.error(block.spot, "pipelines", "this must be a list");
        let disabled_by = cx.problems.error_in("pipelines").map(Problem::to_string);
        return Switch { enabled: false, disabled_by };
    };
    Switch { enabled: !items.is_empty(), disabled_by: None }
}

/// `~` and `~/…` become the person's home; anything else must be absolute.
pub(super) fn expand(text: &str, person: Option<&Path>) -> Result<PathBuf, &'static str> {
    let path = match text.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            let home = person.ok_or("`~` has no meaning here, since HOME is not set")?;
            home.join(rest.trim_start_matches('/'))
        }
        _ => PathBuf::from(text),
    };
    if path.is_relative() {
        return Err("this must be an absolute path, or begin with `~/`");
    }
    Ok(path)
}
