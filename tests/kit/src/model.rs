//! A model that plays a script: the Messages API over SSE on loopback, for the real agent CLI.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

/// What the model says in one turn.
#[derive(Debug, Clone)]
pub struct Turn {
    content: Vec<Value>,
    status: u16,
    /// How many tries of this turn are answered with `status`; `None` means all.
    failing_tries: Option<u32>,
    headers: Vec<(&'static str, String)>,
    before: Duration,
    between: Duration,
    usage: Value,
}

impl Turn {
    fn new(content: Vec<Value>) -> Self {
        Self {
            content,
            status: 200,
            failing_tries: None,
            headers: Vec::new(),
            before: Duration::ZERO,
            between: Duration::ZERO,
            usage: json!({}),
        }
    }

    /// Plain words.
    pub fn text(text: &str) -> Self {
        Self::new(vec![json!({"type": "text", "text": text})])
    }

    /// One tool call.
    pub fn tool(name: &str, input: Value) -> Self {
        Self::tools(vec![(name, input)])
    }

    /// Several tool calls in one turn.
    pub fn tools(calls: Vec<(&str, Value)>) -> Self {
        let call = |(name, input): (&str, Value)| json!({"type": "tool_use", "name": name, "input": input});
        Self::new(calls.into_iter().map(call).collect())
    }

    /// An error answer to every try.
    pub fn error(status: u16) -> Self {
        Self { status, ..Self::text("never said") }
    }

    /// Answers the first `tries` with an error, then says what it says.
    pub fn after_errors(mut self, status: u16, tries: u32) -> Self {
        self.status = status;
        self.failing_tries = Some(tries);
        self
    }

    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// Waits before the first byte.
    pub fn sleeping(mut self, time: Duration) -> Self {
        self.before = time;
        self
    }

    /// Stalls in the middle of the stream.
    pub fn stalling(mut self, time: Duration) -> Self {
        self.between = time;
        self
    }

    /// Reports this usage, e.g. `{"input_tokens": 5000}`.
    pub fn usage(mut self, usage: Value) -> Self {
        self.usage = usage;
        self
    }
}

/// One request as it came.
#[derive(Debug, Clone)]
pub struct Asked {
    pub method: String,
    pub path: String,
    pub headers: HashMap<String, String>,
    /// The bytes, as text: what a canary is looked for in.
    pub raw: String,
    pub body: Value,
}

impl Asked {
    /// Names of the tools that were offered.
    pub fn tools(&self) -> Vec<String> {
        let list = self.body["tools"].as_array().cloned().unwrap_or_default();
        list.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect()
    }

    /// Texts of every tool result in the conversation so far.
    pub fn results(&self) -> Vec<String> {
        let messages = self.body["messages"].as_array().cloned().unwrap_or_default();
        let mut texts = Vec::new();
        for block in messages.iter().flat_map(|m| m["content"].as_array().cloned().unwrap_or_default()) {
            if block["type"] == "tool_result" {
                match &block["content"] {
                    Value::String(text) => texts.push(text.clone()),
                    Value::Array(parts) => {
                        texts.extend(parts.iter().filter_map(|p| p["text"].as_str().map(str::to_owned)));
                    }
                    _ => {}
                }
            }
        }
        texts
    }
}

#[derive(Debug)]
struct Shared {
    turns: Vec<Turn>,
    asked: Mutex<Vec<Asked>>,
    tries: Mutex<HashMap<usize, u32>>,
}

/// A running scripted model. It ends when dropped.
#[derive(Debug)]
pub struct ScriptedModel {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: AbortHandle,
}

impl ScriptedModel {
    /// Starts on a free loopback port. The turn is chosen by counting the assistant's messages, so
    /// that a request tried again gets the same one; past the end the last turn is repeated.
    pub async fn start(turns: Vec<Turn>) -> Self {
        assert!(!turns.is_empty(), "a script has at least one turn");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a loopback port");
        let address = listener.local_addr().expect("its address");
        let shared = Arc::new(Shared { turns, asked: Mutex::default(), tries: Mutex::default() });
        let app = axum::Router::new()
            .fallback(answer)
            .layer(axum::extract::DefaultBodyLimit::max(64 << 20))
            .with_state(shared.clone());
        let task = tokio::spawn(async move {
            let _ = axum::serve(listener, app).await;
        });
        Self { address, shared, task: task.abort_handle() }
    }

    /// The base URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Every request so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.shared.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Requests of the conversation itself: those that offered tools.
    pub fn turns_asked(&self) -> Vec<Asked> {
        self.asked().into_iter().filter(|asked| !asked.tools().is_empty()).collect()
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(
    State(shared): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    raw: Bytes,
) -> Response {
    let body: Value = serde_json::from_slice(&raw).unwrap_or(Value::Null);
    let asked = Asked {
        method: method.to_string(),
        path: uri.path().to_owned(),
        headers: headers
            .iter()
            .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
            .collect(),
        raw: String::from_utf8_lossy(&raw).into_owned(),
        body: body.clone(),
    };
    let offers_tools = !asked.tools().is_empty();
    shared.asked.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
    match (method, uri.path()) {
        (Method::HEAD, _) => StatusCode::OK.into_response(),
        (Method::POST, path) if path.ends_with("/count_tokens") => {
            axum::Json(json!({"input_tokens": 100})).into_response()
        }
        (Method::POST, path) if path.ends_with("/v1/messages") => message(&shared, &body, offers_tools).await,
        _ => refusal(404, &[]),
    }
}

fn refusal(status: u16, headers: &[(&'static str, String)]) -> Response {
    let kind = match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    let error = json!({"type": "error", "error": {"type": kind, "message": format!("scripted {status}")}});
    let mut response = axum::Json(error).into_response();
    *response.status_mut() = StatusCode::from_u16(status).expect("a status of the script");
    for (name, value) in headers {
        response.headers_mut().insert(*name, value.parse().expect("a header of the script"));
    }
    response
}

async fn message(shared: &Shared, body: &Value, offers_tools: bool) -> Response {
    let said =
        body["messages"].as_array().map_or(0, |all| all.iter().filter(|m| m["role"] == "assistant").count());
    // A request without tools is the agent's own housekeeping, such as a title.
    let turn =
        if offers_tools { shared.turns[said.min(shared.turns.len() - 1)].clone() } else { Turn::text("ok") };
    if turn.status != 200 {
        let mut tries = shared.tries.lock().unwrap_or_else(PoisonError::into_inner);
        let count = tries.entry(said).or_default();
        *count += 1;
        if turn.failing_tries.is_none_or(|most| *count <= most) {
            return refusal(turn.status, &turn.headers);
        }
    }
    tokio::time::sleep(turn.before).await;
    let mut usage = json!({"input_tokens": 1000, "output_tokens": 50, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0});
    for (name, value) in turn.usage.as_object().into_iter().flatten() {
        usage[name] = value.clone();
    }
    let number = shared.asked.lock().unwrap_or_else(PoisonError::into_inner).len();
    let blocks: Vec<Value> = turn
        .content
        .iter()
        .enumerate()
        .map(|(at, block)| {
            let mut block = block.clone();
            if block["type"] == "tool_use" {
                block["id"] = json!(format!("toolu_{number:08}_{at:04}"));
            }
            block
        })
        .collect();
    let stop = if blocks.iter().any(|b| b["type"] == "tool_use") { "tool_use" } else { "end_turn" };
    let envelope = |content: Value, stop: Value, usage: Value| {
        json!({"id": format!("msg_{number:010}"), "type": "message", "role": "assistant", "model": body["model"],
            "content": content, "stop_reason": stop, "stop_sequence": null, "usage": usage})
    };
    if body["stream"] != json!(true) {
        return axum::Json(envelope(json!(blocks), json!(stop), usage)).into_response();
    }
    let mut start = usage.clone();
    start["output_tokens"] = json!(1);
    let mut events =
        vec![json!({"type": "message_start", "message": envelope(json!([]), Value::Null, start)})];
    for (index, block) in blocks.iter().enumerate() {
        let (empty, delta) = if block["type"] == "tool_use" {
            let mut empty = block.clone();
            empty["input"] = json!({});
            (empty, json!({"type": "input_json_delta", "partial_json": block["input"].to_string()}))
        } else {
            (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": block["text"]}))
        };
        events.push(json!({"type": "content_block_start", "index": index, "content_block": empty}));
        events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let delta = json!({"stop_reason": stop, "stop_sequence": null});
    events.push(json!({"type": "message_delta", "delta": delta, "usage": usage}));
    events.push(json!({"type": "message_stop"}));
    stream(events, turn.between)
}

fn stream(events: Vec<Value>, stall: Duration) -> Response {
    let (send, receive) = mpsc::channel::<Result<Bytes, std::convert::Infallible>>(4);
    tokio::spawn(async move {
        for (at, event) in events.into_iter().enumerate() {
            // The stall comes after the stream has begun.
            if at == 1 {
                tokio::time::sleep(stall).await;
            }
            let name = event["type"].as_str().unwrap_or_default();
            let chunk = Bytes::from(format!("event: {name}\ndata: {event}\n\n"));
            if send.send(Ok(chunk)).await.is_err() {
                return;
            }
        }
    });
    let mut response = Response::new(Body::from_stream(Chunks(receive)));
    response.headers_mut().insert("content-type", "text/event-stream".parse().expect("a media type"));
    response
}

struct Chunks(mpsc::Receiver<Result<Bytes, std::convert::Infallible>>);

impl futures_core::Stream for Chunks {
    type Item = Result<Bytes, std::convert::Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx)
    }
}
