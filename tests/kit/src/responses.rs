//! A model that plays a script: the Responses API over SSE on loopback, for the real Codex CLI.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

/// What the model says in one turn.
#[derive(Debug, Clone)]
pub struct Say {
    items: Vec<Value>,
    status: u16,
    before: Duration,
}

impl Say {
    /// Plain words.
    pub fn text(text: &str) -> Self {
        let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
        let item = json!({"type": "message", "role": "assistant", "id": "msg_0", "content": content});
        Self { items: vec![item], status: 200, before: Duration::ZERO }
    }

    /// One function call.
    pub fn call(name: &str, arguments: &Value) -> Self {
        let item = json!({"type": "function_call", "id": "fc_0", "call_id": "call_0", "name": name,
            "arguments": arguments.to_string()});
        Self { items: vec![item], status: 200, before: Duration::ZERO }
    }

    /// An error answer to every try.
    pub fn error(status: u16) -> Self {
        Self { status, ..Self::text("never said") }
    }

    /// Waits before the answer.
    pub fn sleeping(mut self, time: Duration) -> Self {
        self.before = time;
        self
    }
}

/// A running scripted model. It ends when dropped.
#[derive(Debug)]
pub struct ScriptedResponses {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: AbortHandle,
}

#[derive(Debug)]
struct Shared {
    says: Vec<Say>,
    /// Bodies of the requests that belong to the conversation.
    asked: Mutex<Vec<Value>>,
}

impl ScriptedResponses {
    /// Starts on a free loopback port. The turn is chosen by counting what the conversation holds of the
    /// model's, so that a request tried again gets the same one; past the end the last is repeated.
    pub async fn start(says: Vec<Say>) -> Self {
        assert!(!says.is_empty(), "a script has at least one turn");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a loopback port");
        let address = listener.local_addr().expect("its address");
        let shared = Arc::new(Shared { says, asked: Mutex::default() });
        let app = axum::Router::new()
            .fallback(answer)
            .layer(axum::extract::DefaultBodyLimit::max(64 << 20))
            .with_state(shared.clone());
        let task = tokio::spawn(async move {
            let _ = axum::serve(listener, app).await;
        });
        Self { address, shared, task: task.abort_handle() }
    }

    /// What the person said in the latest request of the conversation, message by message.
    pub fn heard(&self) -> Vec<String> {
        let asked = self.shared.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let input = asked.last().and_then(|body| body["input"].as_array().cloned()).unwrap_or_default();
        let said = input.iter().filter(|item| item["role"] == "user");
        said.flat_map(|item| item["content"].as_array().cloned().unwrap_or_default())
            .filter_map(|part| part["text"].as_str().map(str::to_owned))
            .collect()
    }

    /// The base URL.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }
}

impl Drop for ScriptedResponses {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(State(shared): State<Arc<Shared>>, method: Method, uri: Uri, raw: Bytes) -> Response {
    let refusal = |status: StatusCode| {
        let error = json!({"error": {"message": "scripted", "type": "scripted", "code": "scripted"}});
        (status, axum::Json(error)).into_response()
    };
    if method != Method::POST || !uri.path().ends_with("/responses") {
        return refusal(StatusCode::NOT_FOUND);
    }
    let body: Value = serde_json::from_slice(&raw).unwrap_or(Value::Null);
    let input = body["input"].as_array().cloned().unwrap_or_default();
    let said =
        input.iter().filter(|item| item["type"] == "function_call" || item["role"] == "assistant").count();
    // A request that offers no shell is the agent's own housekeeping, such as a title.
    let works =
        body["tools"].as_array().is_some_and(|tools| tools.iter().any(|t| t["name"] == "exec_command"));
    let say = if works {
        shared.asked.lock().unwrap_or_else(PoisonError::into_inner).push(body.clone());
        shared.says[said.min(shared.says.len() - 1)].clone()
    } else {
        Say::text("A title")
    };
    tokio::time::sleep(say.before).await;
    if say.status != 200 {
        return refusal(StatusCode::from_u16(say.status).expect("a status of the script"));
    }
    let usage = json!({"input_tokens": 1000, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 50,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 1050});
    let mut events = vec![json!({"type": "response.created", "response": {"id": "resp_0"}})];
    for (index, item) in say.items.iter().enumerate() {
        let mut item = item.clone();
        if item["type"] == "function_call" {
            item["call_id"] = json!(format!("call_{said}"));
        }
        events.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
    }
    events.push(json!({"type": "response.completed", "response": {"id": "resp_0", "usage": usage}}));
    let text: String = events
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default()))
        .collect();
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert("content-type", "text/event-stream".parse().expect("a media type"));
    response
}
