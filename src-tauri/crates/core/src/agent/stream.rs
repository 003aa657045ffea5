//! What an agent prints, line by line, read with patience: types are unknown, keys come in any
//! order, values have the wrong shape, and none of it may end the run.

use super::reads::Place;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny};

/// Longest text of a result that is looked at.
const RESULT_TEXT_CAP: usize = 2 << 20;

/// One thing an agent said it did.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Init {
        tools: Vec<String>,
        /// Name and state of each tools server.
        servers: Vec<(String, String)>,
        model: Option<String>,
        version: Option<String>,
    },
    ToolUse {
        id: String,
        name: String,
        input: ToolInput,
    },
    ToolResult {
        id: String,
        failed: bool,
        text: String,
        /// Path, first line and number of lines, where the agent says so.
        file: Option<(String, u32, u32)>,
    },
    /// Tokens of one message; several lines may name the same message.
    Usage {
        message: String,
        tokens: u64,
    },
    Retry {
        attempt: u32,
        of: u32,
        status: Option<u32>,
    },
    Denied {
        tool: String,
    },
    /// What the provider says of the account's limit.
    Limit {
        is_reached: bool,
        /// Seconds since 1970.
        resets_at: Option<i64>,
    },
    Result {
        subtype: String,
        is_error: bool,
        turns: Option<u32>,
        usd: Option<f64>,
        tokens: Option<u64>,
        api_status: Option<u32>,
        errors: Vec<String>,
    },
    /// A command's own words.
    Note {
        text: String,
    },
    OwnTool {
        name: String,
        subject: Option<String>,
    },
    OwnRead {
        place: Place,
        path: String,
        first: u32,
        last: u32,
    },
    Total {
        usd: Option<f64>,
        tokens: u64,
        turns: u32,
    },
    Failed {
        text: String,
    },
    /// Well-formed, and nothing that matters here.
    Unknown,
    /// Not JSON, or JSON of no known shape.
    Unreadable,
}

/// The parts of a tool's input that say what is looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolInput {
    pub path: Option<String>,
    pub pattern: Option<String>,
}

/// A value, or nothing when it has another shape than expected.
#[derive(Debug)]
struct Maybe<T>(Option<T>);

impl<T> Default for Maybe<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Maybe<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either<T> {
            Is(T),
            Not(IgnoredAny),
        }
        Ok(match Either::deserialize(deserializer)? {
            Either::Is(value) => Self(Some(value)),
            Either::Not(IgnoredAny) => Self(None),
        })
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Row {
    #[serde(rename = "type")]
    kind: Maybe<String>,
    subtype: Maybe<String>,
    // init
    tools: Maybe<Vec<Maybe<String>>>,
    mcp_servers: Maybe<Vec<Maybe<Server>>>,
    model: Maybe<String>,
    claude_code_version: Maybe<String>,
    // assistant and user
    message: Maybe<Message>,
    tool_use_result: Maybe<ToolUseResult>,
    // api_retry
    attempt: Maybe<u32>,
    max_retries: Maybe<u32>,
    error_status: Maybe<u32>,
    // permission_denied
    tool_name: Maybe<String>,
    // rate_limit_event
    rate_limit_info: Maybe<LimitInfo>,
    // result
    is_error: Maybe<bool>,
    num_turns: Maybe<u32>,
    total_cost_usd: Maybe<f64>,
    usage: Maybe<Tokens>,
    #[serde(rename = "modelUsage")]
    model_usage: Maybe<std::collections::BTreeMap<String, Maybe<ModelTokens>>>,
    api_error_status: Maybe<u32>,
    errors: Maybe<Vec<Maybe<String>>>,
    result: Maybe<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct LimitInfo {
    status: Maybe<String>,
    #[serde(rename = "resetsAt")]
    resets_at: Maybe<i64>,
}

#[derive(Deserialize)]
struct Server {
    name: String,
    status: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Message {
    id: Maybe<String>,
    content: Maybe<Vec<Maybe<Block>>>,
    usage: Maybe<Tokens>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Block {
    #[serde(rename = "type")]
    kind: Maybe<String>,
    id: Maybe<String>,
    name: Maybe<String>,
    input: Maybe<Input>,
    tool_use_id: Maybe<String>,
    is_error: Maybe<bool>,
    content: Maybe<Content>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Maybe<Part>>),
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Part {
    text: Maybe<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Input {
    file_path: Maybe<String>,
    path: Maybe<String>,
    pattern: Maybe<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ToolUseResult {
    file: Maybe<FileResult>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct FileResult {
    #[serde(rename = "filePath")]
    file_path: Maybe<String>,
    #[serde(rename = "startLine")]
    start_line: Maybe<u32>,
    #[serde(rename = "numLines")]
    num_lines: Maybe<u32>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Tokens {
    input_tokens: Maybe<u64>,
    output_tokens: Maybe<u64>,
    cache_creation_input_tokens: Maybe<u64>,
    cache_read_input_tokens: Maybe<u64>,
}

impl Tokens {
    fn sum(&self) -> u64 {
        total([
            &self.input_tokens,
            &self.output_tokens,
            &self.cache_creation_input_tokens,
            &self.cache_read_input_tokens,
        ])
    }
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct ModelTokens {
    input_tokens: Maybe<u64>,
    output_tokens: Maybe<u64>,
    cache_read_input_tokens: Maybe<u64>,
    cache_creation_input_tokens: Maybe<u64>,
}

impl ModelTokens {
    fn sum(&self) -> u64 {
        total([
            &self.input_tokens,
            &self.output_tokens,
            &self.cache_creation_input_tokens,
            &self.cache_read_input_tokens,
        ])
    }
}

fn total(parts: [&Maybe<u64>; 4]) -> u64 {
    parts.into_iter().fold(0, |sum, part| sum.saturating_add(part.0.unwrap_or(0)))
}

/// Reads one line of Claude Code's `stream-json`.
pub fn parse_line(line: &[u8]) -> Vec<Event> {
    let text = String::from_utf8_lossy(line);
    let text = text.trim();
    if text.is_empty() {
        return Vec::new();
    }
    // An array would be taken for a row without names.
    if !text.starts_with('{') {
        return vec![Event::Unreadable];
    }
    let Ok(row) = serde_json::from_str::<Row>(text) else { return vec![Event::Unreadable] };
    let Some(kind) = row.kind.0.as_deref() else { return vec![Event::Unknown] };
    match (kind, row.subtype.0.as_deref()) {
        ("system", Some("init")) => vec![init(row)],
        ("system", Some("api_retry")) => vec![Event::Retry {
            attempt: row.attempt.0.unwrap_or(0),
            of: row.max_retries.0.unwrap_or(0),
            status: row.error_status.0,
        }],
        ("system", Some("permission_denied")) => {
            vec![Event::Denied { tool: row.tool_name.0.unwrap_or_default() }]
        }
        ("rate_limit_event", _) => {
            let info = row.rate_limit_info.0.unwrap_or_default();
            let is_reached = info.status.0.as_deref() == Some("rejected");
            vec![Event::Limit { is_reached, resets_at: info.resets_at.0 }]
        }
        ("assistant", _) => assistant(row),
        ("user", _) => user(row),
        ("result", _) => vec![result(row)],
        _ => vec![Event::Unknown],
    }
}

fn kept<T>(list: Maybe<Vec<Maybe<T>>>) -> Vec<T> {
    list.0.unwrap_or_default().into_iter().filter_map(|item| item.0).collect()
}

fn init(row: Row) -> Event {
    Event::Init {
        tools: kept(row.tools),
        servers: kept(row.mcp_servers).into_iter().map(|s: Server| (s.name, s.status)).collect(),
        model: row.model.0,
        version: row.claude_code_version.0,
    }
}

fn assistant(row: Row) -> Vec<Event> {
    let Some(message) = row.message.0 else { return vec![Event::Unknown] };
    let mut events = Vec::new();
    if let (Some(id), Some(usage)) = (message.id.0, message.usage.0) {
        events.push(Event::Usage { message: id, tokens: usage.sum() });
    }
    for block in kept(message.content) {
        if matches!(block.kind.0.as_deref(), Some("tool_use" | "server_tool_use" | "mcp_tool_use")) {
            let input = block.input.0.unwrap_or_default();
            events.push(Event::ToolUse {
                id: block.id.0.unwrap_or_default(),
                name: block.name.0.unwrap_or_default(),
                input: ToolInput { path: input.file_path.0.or(input.path.0), pattern: input.pattern.0 },
            });
        }
    }
    events
}

fn user(row: Row) -> Vec<Event> {
    let Some(message) = row.message.0 else { return vec![Event::Unknown] };
    let file = row
        .tool_use_result
        .0
        .and_then(|result| result.file.0)
        .and_then(|file| Some((file.file_path.0?, file.start_line.0.unwrap_or(1), file.num_lines.0?)));
    kept(message.content)
        .into_iter()
        .filter(|block: &Block| block.kind.0.as_deref() == Some("tool_result"))
        .map(|block| Event::ToolResult {
            id: block.tool_use_id.0.unwrap_or_default(),
            failed: block.is_error.0.unwrap_or(false),
            text: result_text(block.content.0),
            file: file.clone(),
        })
        .collect()
}

fn result_text(content: Option<Content>) -> String {
    let mut text = match content {
        Some(Content::Text(text)) => text,
        Some(Content::Parts(parts)) => {
            parts.into_iter().filter_map(|part| part.0?.text.0).collect::<Vec<_>>().join("\n")
        }
        None => String::new(),
    };
    if text.len() > RESULT_TEXT_CAP {
        let end = (0..=RESULT_TEXT_CAP).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        text.truncate(end);
    }
    text
}

fn result(row: Row) -> Event {
    let by_model = row.model_usage.0.map(|models| {
        models.values().filter_map(|m| m.0.as_ref()).fold(0u64, |sum, m| sum.saturating_add(m.sum()))
    });
    let total = row.usage.0.map(|usage| usage.sum());
    // An unreadable flag is an error: only a clear "no" counts as well.
    let is_error = row.is_error.0.unwrap_or(true);
    let mut errors: Vec<String> = kept(row.errors);
    if is_error && errors.is_empty() {
        errors.extend(row.result.0);
    }
    Event::Result {
        subtype: row.subtype.0.unwrap_or_default(),
        is_error,
        turns: row.num_turns.0,
        usd: row.total_cost_usd.0.filter(|usd| usd.is_finite() && *usd >= 0.0),
        tokens: by_model.into_iter().chain(total).max(),
        api_status: row.api_error_status.0,
        errors,
    }
}
