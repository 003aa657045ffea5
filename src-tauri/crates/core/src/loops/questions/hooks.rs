//! Agents' own hooks: what an event raises, and the entry that makes Claude Code call Steward.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use steward_rules::questions::hook::{Heard, HookEvent, INPUT, PERMISSION, hear, session_name};
use steward_rules::questions::need::{Need, Origin, agent_key};
use steward_rules::questions::pane::{Agent, PaneId, PaneState, Seen, judge};

use super::raising::{Asking, Raised, close, raise};
use super::{Asker, Known};
use crate::loops::Ctx;
use crate::store::needs::{self, NeedRow, NeedState, Place};
use crate::store::{Durability, StoreError};

/// The events that Steward asks to be told of.
const EVENTS: [&str; 3] = ["Notification", "PermissionRequest", "Stop"];
/// Seconds after which Claude Code gives a hook up.
const TIMEOUT: u64 = 10;
/// The largest settings file that is read.
const FILE: u64 = 1 << 20;

/// Takes an event of Claude Code in; gives the question it raised, if it raised one.
pub async fn claude_event(ctx: &Ctx, event: &HookEvent, who: Known) -> Result<Option<Raised>, StoreError> {
    let who = Known {
        agent: who.agent,
        folder: Some(PathBuf::from(&event.cwd)).filter(|folder| folder.is_absolute()).or(who.folder),
        ..who
    };
    let named = who.agent.is_some();
    let mut asker = Asker::find(ctx, &who).await?;
    let is_member = asker.is_member;
    if !named && !is_member {
        // Two sessions of one login are two askers.
        asker.agent = session_name("claude", &event.session_id);
        asker.host = super::here();
    }
    match hear(event) {
        Heard::Nothing => Ok(None),
        Heard::Over => over(ctx, &asker).await.map(|()| None),
        Heard::Need(need) => {
            over(ctx, &asker).await?;
            let place = asker.place.clone();
            take(ctx, &asker, need, place).await.map(Some)
        }
        Heard::Prompt(need) => {
            let place = unseen(&asker.place);
            take(ctx, &asker, need, place).await.map(Some)
        }
        Heard::Reminder(need) => {
            let (key, topic) = (agent_key(&asker.agent, &asker.host), need.topic.clone());
            let standing = ctx.store.read(move |tx| needs::standing(tx, &key, &topic)).await?;
            // By the time of the reminder the prompt is drawn: it is read off the pane, so that it can
            // be answered by key.
            let place = drawn(ctx, &asker.place).await;
            match standing {
                Some(row) => {
                    if row.place.seen.is_none() && place.seen.is_some() {
                        let id = row.id;
                        ctx.store.write(Durability::Full, move |tx| needs::set_place(tx, id, &place)).await?;
                    }
                    Ok(None)
                }
                None if need.topic == PERMISSION && place.prompt.is_none() => {
                    let place = unseen(&asker.place);
                    take(ctx, &asker, need, place).await.map(Some)
                }
                None => take(ctx, &asker, need, place).await.map(Some),
            }
        }
    }
}

/// A prompt whose screen nobody read: it is known to be there, and no key answers it.
fn unseen(place: &Place) -> Place {
    Place { pane: place.pane.clone(), prompt: Some("null".to_owned()), ..Place::default() }
}

/// The prompt that the asker's pane shows now, if it shows one.
async fn drawn(ctx: &Ctx, place: &Place) -> Place {
    let plain = Place { pane: place.pane.clone(), ..Place::default() };
    let Some(pane) = place.pane.as_deref().and_then(|pane| PaneId::new(pane).ok()) else { return plain };
    let Ok(tmux) = ctx.tmux() else { return plain };
    let Ok(capture) = tmux.capture(&pane).await else { return plain };
    let identity = &capture.pane.identity;
    let agent = Agent::of_program(&identity.foreground).unwrap_or(Agent::Claude);
    let seen = Seen::Looked { first: capture.screen, second: None };
    let PaneState::Waiting { prompt } = judge(agent, &identity.foreground, &seen).state else {
        return plain;
    };
    Place {
        identity: serde_json::to_string(identity).ok(),
        seen: Some(prompt.hash.clone()),
        prompt: serde_json::to_string(&prompt).ok(),
        ..plain
    }
}

async fn take(ctx: &Ctx, asker: &Asker, mut need: Need, place: Place) -> Result<Raised, StoreError> {
    need.project = need.project.or_else(|| asker.project.clone());
    let asking = Asking {
        agent: asker.agent.clone(),
        host: asker.host.clone(),
        need,
        origin: Origin::Hook,
        message: None,
        folder: None,
        place,
    };
    ctx.store.write(Durability::Full, move |tx| raise(tx, &asking)).await
}

/// A turn that ended leaves no prompt open and waits for no words. What the agent asked in the form of a NEED
/// stands until it is answered.
async fn over(ctx: &Ctx, asker: &Asker) -> Result<(), StoreError> {
    let key = agent_key(&asker.agent, &asker.host);
    ctx.store
        .write(Durability::Full, move |tx| {
            let open = needs::open(tx)?;
            let passing = |row: &&NeedRow| {
                row.agent_key == key
                    && row.origin == Origin::Hook
                    && matches!(row.need.topic.as_str(), PERMISSION | INPUT)
            };
            for row in open.iter().filter(passing) {
                close(tx, row, NeedState::Gone)?;
            }
            Ok(())
        })
        .await
}

/// Why a hook cannot be installed.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    #[error("{path}: {why}", path = .path.display())]
    File { path: PathBuf, why: String },
    #[error("{0} is a link, so it is not written")]
    Link(PathBuf),
}

/// What installing the hook makes of a workspace's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookPlan {
    pub path: PathBuf,
    /// The file as it is; empty when there is none.
    pub before: String,
    pub after: String,
}

impl HookPlan {
    /// True when the hook stands there already.
    pub fn is_installed(&self) -> bool {
        self.before == self.after
    }

    /// The lines that go and come.
    pub fn diff(&self) -> String {
        let (old, new): (Vec<&str>, Vec<&str>) =
            (self.before.lines().collect(), self.after.lines().collect());
        let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let rest = old.len().min(new.len()) - head;
        let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
        let gone = old[head..old.len() - tail].iter().map(|line| format!("- {line}\n"));
        let come = new[head..new.len() - tail].iter().map(|line| format!("+ {line}\n"));
        gone.chain(come).collect()
    }
}

/// Reads the personal settings of Claude Code in a workspace and adds the hook to them. Nothing is
/// written.
pub fn plan(workspace: &Path, steward: &Path) -> Result<HookPlan, HookError> {
    let folder = workspace.join(".claude");
    // Personal, and by Claude Code's own convention not committed.
    let path = folder.join("settings.local.json");
    for place in [&folder, &path] {
        if place.symlink_metadata().is_ok_and(|meta| meta.file_type().is_symlink()) {
            return Err(HookError::Link(place.clone()));
        }
    }
    let fault = |why: String| HookError::File { path: path.clone(), why };
    let mut before = String::new();
    match std::fs::File::open(&path) {
        Ok(file) => {
            file.take(FILE + 1).read_to_string(&mut before).map_err(|error| fault(error.to_string()))?;
            if before.len() as u64 > FILE {
                return Err(fault("it is larger than 1 MB".to_owned()));
            }
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(fault(error.to_string())),
    }
    let root: Value = match before.trim() {
        "" => Value::Object(Map::new()),
        text => serde_json::from_str(text).map_err(|error| fault(format!("it is no JSON: {error}")))?,
    };
    let Value::Object(root) = root else { return Err(fault("it is no JSON object".to_owned())) };
    let command = format!("{} hook claude", quoted(&steward.to_string_lossy()));
    let after = match added(root.clone(), &command).map_err(&fault)? {
        Some(changed) => {
            let mut text = serde_json::to_string_pretty(&Value::Object(changed))
                .map_err(|error| fault(error.to_string()))?;
            text.push('\n');
            text
        }
        None => before.clone(),
    };
    Ok(HookPlan { path, before, after })
}

/// The settings with the hook under each event; `None` when it stands under all of them.
fn added(mut root: Map<String, Value>, command: &str) -> Result<Option<Map<String, Value>>, String> {
    let mut changed = false;
    let hooks = root.entry("hooks").or_insert_with(|| json!({}));
    let Value::Object(hooks) = hooks else { return Err("its `hooks` is no object".to_owned()) };
    for event in EVENTS {
        let list = hooks.entry(event).or_insert_with(|| json!([]));
        let Value::Array(list) = list else { return Err(format!("its `hooks.{event}` is no list")) };
        let stands = list.iter().any(|group| {
            let inner = group.get("hooks").and_then(Value::as_array);
            inner.is_some_and(|inner| inner.iter().any(|hook| hook["command"] == command))
        });
        if !stands {
            changed = true;
            list.push(json!({ "hooks": [{ "type": "command", "command": command, "timeout": TIMEOUT }] }));
        }
    }
    Ok(changed.then_some(root))
}

/// A word of a shell's command line.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-' | '_');
    if text.chars().all(plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// Writes a plan, when the file still is what the plan was made from.
pub fn install(workspace: &Path, steward: &Path, shown: &str) -> Result<HookPlan, HookError> {
    let plan = plan(workspace, steward)?;
    let fault = |error: std::io::Error| HookError::File { path: plan.path.clone(), why: error.to_string() };
    if plan.after != shown {
        return Err(HookError::File {
            path: plan.path.clone(),
            why: "it changed since it was shown; look again".to_owned(),
        });
    }
    if plan.is_installed() {
        return Ok(plan);
    }
    let folder = plan.path.parent().unwrap_or(workspace);
    std::fs::create_dir_all(folder).map_err(fault)?;
    crate::config::write_private(&plan.path, plan.after.as_bytes()).map_err(fault)?;
    Ok(plan)
}
