//! Events of an agent's own hooks: what each says to the owner (questions.md 2).

use serde::Deserialize;

use super::need::{self, Need, QUESTION};

/// The topic of everything that asks for a permission.
pub const PERMISSION: &str = "permission";
/// The topic of an agent that waits for words.
pub const INPUT: &str = "input";
/// The most characters of a tool's input that are shown.
const SHOWN: usize = 1_500;

/// What Claude Code hands to a hook on standard input, as far as it is read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct HookEvent {
    #[serde(default)]
    pub hook_event_name: String,
    #[serde(default)]
    pub session_id: String,
    #[serde(default)]
    pub cwd: String,
    /// Notification: its text.
    #[serde(default)]
    pub message: Option<String>,
    /// Notification: `permission_prompt`, `idle_prompt`, …
    #[serde(default)]
    pub notification_type: Option<String>,
    /// PermissionRequest: the tool.
    #[serde(default)]
    pub tool_name: Option<String>,
    #[serde(default)]
    pub tool_input: ToolInput,
    /// Stop: what the agent said last.
    #[serde(default)]
    pub last_assistant_message: Option<String>,
}

/// The parts of a tool's input that say what it would do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct ToolInput {
    #[serde(default)]
    pub command: Option<String>,
    #[serde(default)]
    pub file_path: Option<String>,
    #[serde(default)]
    pub url: Option<String>,
    #[serde(default)]
    pub description: Option<String>,
}

/// What an event means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// The agent asks; a prompt is open in its terminal.
    Prompt(Need),
    /// The agent says that something waits, without what: an open question of the topic says more.
    Reminder(Need),
    /// The agent asks in the form of a NEED.
    Need(Need),
    /// Its turn ended: what its hooks asked before is over.
    Over,
    /// Nothing for the owner.
    Nothing,
}

/// Reads an event. A turn that ends is no question by itself; a NEED in its last words is one.
pub fn hear(event: &HookEvent) -> Heard {
    let need = |topic: &str, text: &str| Need::new(topic, &cut(text, QUESTION), &[], None).ok();
    match event.hook_event_name.as_str() {
        "PermissionRequest" => {
            let tool = event.tool_name.as_deref().unwrap_or("a tool");
            let what = &event.tool_input;
            let shown = [&what.command, &what.file_path, &what.url].into_iter().flatten().next();
            let text = match shown {
                Some(shown) => format!("May {tool} run?\n{}", cut(shown, SHOWN)),
                None => format!("May {tool} run?"),
            };
            need(PERMISSION, &text).map_or(Heard::Nothing, Heard::Prompt)
        }
        "Notification" => {
            let text = event.message.as_deref().unwrap_or_default();
            match event.notification_type.as_deref() {
                Some("permission_prompt") => need(PERMISSION, text).map_or(Heard::Nothing, Heard::Reminder),
                Some("idle_prompt" | "elicitation_dialog") | None => {
                    need(INPUT, text).map_or(Heard::Nothing, Heard::Reminder)
                }
                Some(_) => Heard::Nothing,
            }
        }
        "Stop" => {
            let said = event.last_assistant_message.as_deref().unwrap_or_default();
            asked(said).map_or(Heard::Over, Heard::Need)
        }
        _ => Heard::Nothing,
    }
}

/// The NEED in an agent's last words: from the first line that begins one.
fn asked(said: &str) -> Option<Need> {
    let mut start = 0;
    for line in said.split_inclusive('\n') {
        if line.starts_with("NEED")
            && let Ok(need) = need::parse(&said[start..])
        {
            return Some(need);
        }
        start += line.len();
    }
    None
}

fn cut(text: &str, most: usize) -> String {
    let mut kept: String = text.chars().take(most).collect();
    if kept.len() < text.len() {
        kept.pop();
        kept.push('…');
    }
    kept
}

/// Under what name the agent of a session is known when no roster names it.
pub fn session_name(adapter: &str, session: &str) -> String {
    let id: String = session.chars().filter(char::is_ascii_alphanumeric).take(8).collect();
    if id.is_empty() { adapter.to_owned() } else { format!("{adapter}-{id}") }
}
