//! The wire: connections, faults, tokens, budgets, ETags, the log and the judge.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::http::{Request, Response};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;

use crate::access::viewer;
use crate::contract;
use crate::fault::{self, Fault};
use crate::gate::{self, Held};
use crate::graphql;
use crate::price::{Resource, dress, spent};
use crate::routes::{self, Ask, Reply, refusal};
use crate::smart_http;
use crate::spoil::{after, early};
use crate::state::State;
use crate::torn::Torn;
use crate::world::{Exchange, Inner, locked};

/// The connection ends here, without an answer.
#[derive(Debug)]
pub(crate) struct Ended;

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the double ended the connection")
    }
}

impl std::error::Error for Ended {}

/// An answer as it stands before it goes out.
#[derive(Debug, Clone)]
pub(crate) struct Raw {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// A question as it came in.
pub(crate) struct Asked {
    pub method: String,
    pub path: String,
    pub query: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    fn target(&self) -> String {
        if self.query.is_empty() { self.path.clone() } else { format!("{}?{}", self.path, self.query) }
    }

    fn pairs(&self) -> Vec<(String, String)> {
        let decode = |text: &str| {
            let spaced = text.replace('+', " ");
            percent_encoding::percent_decode_str(&spaced).decode_utf8_lossy().into_owned()
        };
        let parts = self.query.split('&').filter(|part| !part.is_empty());
        parts
            .map(|part| part.split_once('=').unwrap_or((part, "")))
            .map(|(k, v)| (decode(k), decode(v)))
            .collect()
    }
}

pub(crate) async fn serve(listener: std::net::TcpListener, inner: Arc<Inner>) {
    let listener = tokio::net::TcpListener::from_std(listener).expect("BUG: the listener is non-blocking");
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let inner = Arc::clone(&inner);
        tokio::spawn(async move {
            let service = service_fn(move |request: Request<hyper::body::Incoming>| {
                let inner = Arc::clone(&inner);
                async move { exchange(inner, request.map(Body::new)).await }
            });
            // A connection ended on purpose reports an error here; there is nobody to tell.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn exchange(inner: Arc<Inner>, request: Request<Body>) -> Result<Response<Body>, Ended> {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, 256 << 20).await.map_err(|_| Ended)?.to_vec();
    let headers = head.headers.iter().map(|(name, value)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    });
    let asked = Asked {
        method: head.method.to_string(),
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        headers: headers.collect(),
        body,
    };
    if let Some(gate) = gate_of(&inner, &asked) {
        gate.pass().await;
    }
    // git and the state are asked on a thread that may block.
    let (raw, fault) =
        tokio::task::spawn_blocking(move || decide(&inner, &asked)).await.map_err(|_| Ended)?;
    send(raw, fault).await
}

/// The gate before this exchange, if a test put one there.
fn gate_of(inner: &Inner, asked: &Asked) -> Option<Held> {
    let mut held = locked(&inner.held);
    if held.is_empty() {
        return None;
    }
    let path = by_number(&locked(&inner.state), &asked.path);
    let operation = match contract::route(&asked.method, &path) {
        Some((operation, _)) => operation.id.clone(),
        None => format!("{} {path}", asked.method),
    };
    let page = asked.pairs().iter().find(|(key, _)| key == "page").and_then(|(_, page)| page.parse().ok());
    gate::take(&mut held, &operation, &asked.target(), page.unwrap_or(1))
}

async fn send(raw: Raw, fault: Option<Fault>) -> Result<Response<Body>, Ended> {
    let mut response = Response::builder().status(raw.status);
    for (name, value) in &raw.headers {
        response = response.header(name, value);
    }
    let body = match fault {
        Some(Fault::Cut | Fault::LostReply) => return Err(Ended),
        Some(Fault::Slow(by)) => {
            tokio::time::sleep(by).await;
            Body::from(raw.body)
        }
        Some(Fault::Truncated) => {
            response = response.header("content-length", raw.body.len());
            Body::from_stream(Torn::half_of(raw.body))
        }
        _ => Body::from(raw.body),
    };
    Ok(response.body(body).unwrap_or_else(|error| panic!("BUG: the double built a bad answer: {error}")))
}

/// Works an exchange out: who asks, what goes wrong, what is answered, what it costs, whether it is lawful.
fn decide(inner: &Inner, asked: &Asked) -> (Raw, Option<Fault>) {
    if let Some(git) = smart_http::wanted(asked) {
        locked(&inner.tally).git_requests += 1;
        let fault = fault::take(&mut locked(&inner.plans), git.service, &asked.target(), 1);
        let (raw, fault) = match fault {
            Some(Fault::Status(status)) => (Raw { status, headers: Vec::new(), body: Vec::new() }, None),
            Some(Fault::Cut) => (Raw { status: 500, headers: Vec::new(), body: Vec::new() }, fault),
            other => (smart_http::answer(inner, asked, &git), other),
        };
        let login = smart_http::login(inner, asked);
        let exchange = exchanged(asked, git.service.to_owned(), login, &raw, fault.is_some());
        locked(&inner.log).push(exchange);
        return (raw, fault);
    }
    if let Some(answer) = log(inner, asked) {
        return answer;
    }
    let mut state = locked(&inner.state);
    let path = by_number(&state, &asked.path);
    let graphql = asked.method == "POST" && path == "/graphql";
    let routed = contract::route(&asked.method, &path);
    let operation = match &routed {
        Some((operation, _)) => operation.id.clone(),
        None if graphql => "POST /graphql".to_owned(),
        None => format!("{} {path}", asked.method),
    };
    let query = asked.pairs();
    let page =
        query.iter().find(|(key, _)| key == "page").and_then(|(_, page)| page.parse().ok()).unwrap_or(1);
    let fault = fault::take(&mut locked(&inner.plans), &operation, &asked.target(), page);

    let mut broken = Vec::new();
    match &routed {
        Some((operation, _)) => broken.extend(operation.judge_request(&query, &asked.body)),
        None if graphql => broken.extend(graphql::judge(&asked.body)),
        None => broken.push("the operation is not one Steward may call".to_owned()),
    }
    if asked.header("user-agent").is_none() {
        broken.push("the request has no user-agent, which GitHub refuses".to_owned());
    }
    let who = viewer(&state, asked.header("authorization"));
    let login = who.as_ref().map(|who| who.login.clone()).unwrap_or_default();
    let before = early(&state, fault.as_ref(), graphql);
    let effect = before.is_none();
    let resource = if graphql { Resource::Graphql } else { Resource::Core };
    let reply = match (before, who.clone()) {
        (Some(reply), _) => reply,
        (None, Err(reply)) => reply,
        (None, Ok(who)) => match spent(&mut state, &who, resource) {
            Some(reply) => reply,
            None if graphql => graphql::answer(&mut state, &who, &asked.body),
            None => match routed.as_ref() {
                None => routes::not_found(),
                Some((_, names)) => {
                    let body = serde_json::from_slice(&asked.body).unwrap_or(Value::Null);
                    let (path, names) = (asked.path.clone(), names.clone());
                    let ask = Ask { operation: operation.clone(), path, names, query, body, viewer: who };
                    let moved = moved(&state, &ask, asked);
                    moved
                        .unwrap_or_else(|| routes::answer(&mut state, &ask).unwrap_or_else(|refusal| refusal))
                }
            },
        },
    };
    let mut raw = raw_of(reply);
    if let (true, Some((operation, _))) = (effect, &routed) {
        broken.extend(operation.judge_response(raw.status, &raw.body));
    }
    // Every query goes to one address; its text and variables tell them apart.
    let question = if graphql { String::from_utf8_lossy(&asked.body) } else { "".into() };
    let address = format!("{} {} {login} {question}", asked.method, asked.target());
    raw = after(inner, &address, raw, fault.as_ref());
    let free = dress(&mut state, &mut raw, asked, who.as_ref().ok(), resource);
    count(inner, asked, &operation, &raw, graphql, free);
    let mut violations = locked(&inner.violations);
    let place = format!("{} {} ({})", asked.method, asked.target(), raw.status);
    let allowed = locked(&inner.allowed).clone();
    broken.retain(|what| !allowed.iter().any(|text| what.contains(text.as_str())));
    violations.extend(broken.into_iter().map(|what| format!("{place}: {what}")));
    drop(violations);
    locked(&inner.log).push(exchanged(asked, operation, login, &raw, fault.is_some()));
    (raw, fault)
}

/// What a job printed lies elsewhere: no token is asked for, and no limit counts it.
fn log(inner: &Inner, asked: &Asked) -> Option<(Raw, Option<Fault>)> {
    if !asked.path.starts_with("/_logs/") {
        return None;
    }
    let fault = fault::take(&mut locked(&inner.plans), "GET log", &asked.target(), 1);
    let state = locked(&inner.state);
    let text = routes::log_text(&state, &asked.path);
    // A token that comes here went to a host that should never see one.
    let login = viewer(&state, asked.header("authorization")).map(|who| who.login).unwrap_or_default();
    drop(state);
    let status = match (&fault, &text) {
        (Some(Fault::Status(status)), _) => *status,
        (_, Some(_)) => 200,
        (_, None) => 404,
    };
    let headers = vec![("content-type".to_owned(), "text/plain; charset=utf-8".to_owned())];
    let raw = Raw { status, headers, body: text.unwrap_or_default().into_bytes() };
    locked(&inner.log).push(exchanged(asked, "GET log".to_owned(), login, &raw, fault.is_some()));
    Some((raw, fault))
}

/// `/repositories/1234/...`, as GitHub's own links say it, by the repository's name.
fn by_number(state: &State, path: &str) -> String {
    let path = path.strip_prefix("/api/v3").unwrap_or(path);
    let path = if path == "/api/graphql" { "/graphql" } else { path };
    let numbered = path.strip_prefix("/repositories/").map(|rest| rest.split_once('/').unwrap_or((rest, "")));
    let found = numbered.and_then(|(id, rest)| Some((state.by_id(id.parse().ok()?)?, rest)));
    match found {
        Some((repo, rest)) => format!("/repos/{}/{rest}", repo.name).trim_end_matches('/').to_owned(),
        None => path.to_owned(),
    }
}

/// A repository that has another name now answers where it went: 301 to readers, 307 to writers.
fn moved(state: &State, ask: &Ask, asked: &Asked) -> Option<Reply> {
    let old = format!("{}/{}", ask.name("owner"), ask.name("repo"));
    let id = state.moved.iter().find(|(name, _)| name.eq_ignore_ascii_case(&old)).map(|(_, id)| *id)?;
    if state.find(&old).is_some() {
        return None;
    }
    let rest = asked.path.trim_start_matches('/').splitn(4, '/').nth(3).map(|rest| format!("/{rest}"));
    let query = if asked.query.is_empty() { String::new() } else { format!("?{}", asked.query) };
    let url = format!("{}/repositories/{id}{}{query}", state.base, rest.unwrap_or_default());
    let (status, words) =
        if asked.method == "GET" { (301, "Moved Permanently") } else { (307, "Temporary Redirect") };
    let mut reply = refusal(status, words);
    if let Some(body) = reply.body.as_mut() {
        body["url"] = Value::String(url.clone());
    }
    reply.headers.push(("location", url));
    Some(reply)
}

pub(crate) fn raw_of(reply: Reply) -> Raw {
    let mut headers: Vec<(String, String)> =
        reply.headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let body = reply.body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
    if !body.is_empty() {
        headers.push(("content-type".to_owned(), "application/json; charset=utf-8".to_owned()));
    }
    Raw { status: reply.status, headers, body }
}

fn count(inner: &Inner, asked: &Asked, operation: &str, raw: &Raw, graphql: bool, free: bool) {
    let mut tally = locked(&inner.tally);
    tally.requests += 1;
    *tally.by_operation.entry(operation.to_owned()).or_default() += 1;
    tally.not_modified += u64::from(raw.status == 304);
    tally.writes += u64::from(!graphql && asked.method != "GET");
    if graphql {
        let cost = graphql::cost_of(&asked.body);
        tally.graphql_requests += 1;
        tally.graphql_points += cost;
        tally.points += cost;
    } else {
        tally.points += u64::from(!free);
    }
}

fn exchanged(asked: &Asked, operation: String, login: String, raw: &Raw, faulted: bool) -> Exchange {
    let parse = |bytes: &[u8]| serde_json::from_slice(bytes).unwrap_or(Value::Null);
    Exchange {
        operation,
        method: asked.method.clone(),
        target: asked.target(),
        login,
        status: raw.status,
        request: parse(&asked.body),
        response: parse(&raw.body),
        faulted,
    }
}
