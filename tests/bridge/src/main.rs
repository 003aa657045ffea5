//! The real core behind the real UI, for a browser on loopback:
//! `steward-bridge UI_DIST` prints the address it serves.
//!
//! `POST /call/<command>` is the window's `call`; `GET /topics` streams the topics that changed.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::routing::{get, post};
use axum::{Json, Router};
use steward_core::api::{Api, dispatch};
use steward_core::home::Home;
use steward_core::lock::HolderKind;
use steward_core::loops::supervisor::Nowhere;
use steward_rules::caller::Caller;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::BroadcastStream;

/// How often the outbox is looked at.
const LOOK: Duration = Duration::from_millis(100);

#[derive(Clone)]
struct Bridge {
    api: Arc<Api>,
    topics: tokio::sync::broadcast::Sender<String>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let dist = std::env::args_os().nth(1).map(PathBuf::from).context("usage: steward-bridge UI_DIST")?;
    let home = Home::from_env()?;
    home.create()?;
    let api = Arc::new(Api::open(&home, Caller::Person).await?);
    let hosted = api.host_runtime(HolderKind::Desktop, Arc::new(Nowhere)).await.ok();
    let (topics, _) = tokio::sync::broadcast::channel(256);
    tokio::spawn(tail_outbox(Arc::clone(&api), topics.clone()));
    let app = Router::new()
        .route("/call/{name}", post(call))
        .route("/topics", get(stream_topics))
        .with_state(Bridge { api, topics })
        .fallback_service(tower_http::services::ServeDir::new(dist));
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await?;
    println!("http://{}", listener.local_addr()?);
    axum::serve(listener, app)
        .with_graceful_shutdown(async {
            let _ = tokio::signal::ctrl_c().await;
        })
        .await?;
    drop(hosted);
    Ok(())
}

async fn call(
    State(bridge): State<Bridge>,
    Path(name): Path<String>,
    Json(request): Json<serde_json::Value>,
) -> impl IntoResponse {
    match dispatch(&bridge.api, &name, request).await {
        Ok(answer) => (StatusCode::OK, Json(answer)),
        Err(error) => (StatusCode::UNPROCESSABLE_ENTITY, Json(serde_json::json!(error))),
    }
}

async fn stream_topics(
    State(bridge): State<Bridge>,
) -> Sse<impl tokio_stream::Stream<Item = Result<Event, Infallible>>> {
    let topics = BroadcastStream::new(bridge.topics.subscribe())
        .filter_map(Result::ok)
        .map(|topic| Ok(Event::default().data(topic)));
    Sse::new(topics).keep_alive(KeepAlive::default())
}

async fn tail_outbox(api: Arc<Api>, topics: tokio::sync::broadcast::Sender<String>) {
    let mut tail = api.topics();
    loop {
        for topic in tail.changed().await {
            let _ = topics.send(topic);
        }
        tokio::time::sleep(LOOK).await;
    }
}
