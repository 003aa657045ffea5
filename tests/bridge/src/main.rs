//! Lets a browser drive the real window pages on the real core: commands over HTTP on loopback.
//! For tests only; the shipped binaries hold nothing of it. Says its address on one line and ends
//! when its input does.

mod world;

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, post};
use futures_core::Stream;
use serde_json::Value;
use steward_core::api::{Api, dispatch};
use steward_core::home::Home;
use steward_core::keychain::GITHUB_VARIABLE;
use steward_core::lock::HolderKind;
use steward_core::loops::supervisor::Nowhere;
use steward_github_double::World;
use steward_rules::caller::Caller;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};

/// How soon a changed topic is told.
const LOOK_EVERY: Duration = Duration::from_millis(100);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let home = Home::from_env()?;
    home.create()?;
    let github = github(&home)?;
    let api = Arc::new(Api::open(&home, Caller::Person).await?);
    let hosted = api.host_runtime(HolderKind::Serve, Arc::new(Nowhere)).await?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    println!("http://{}", listener.local_addr()?);
    let router = Router::new()
        .route("/call/{name}", post(call))
        .route("/topics", get(topics))
        .with_state(Arc::clone(&api))
        .route("/world/{verb}", post(world::verb).with_state(github));
    tokio::select! {
        served = axum::serve(listener, router) => served?,
        () = input_ended() => {}
    }
    hosted.stop().await;
    Ok(())
}

/// The GitHub of this bridge, when it is asked for one: a seeded world in which the home is signed in.
fn github(home: &Home) -> anyhow::Result<Option<Arc<World>>> {
    if std::env::var_os("STEWARD_BRIDGE_WORLD").is_none() {
        return Ok(None);
    }
    let token = std::env::var(GITHUB_VARIABLE).context("the world needs the token that the home has")?;
    let world = world::start(&token);
    world::configure(home, &world)?;
    Ok(Some(Arc::new(world)))
}

/// Resolves when whoever started the bridge is gone. A thread of its own waits: a read of the
/// terminal cannot be cancelled.
async fn input_ended() {
    let (ended, heard) = oneshot::channel::<()>();
    std::thread::spawn(move || {
        let _end = ended;
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
    });
    let _ = heard.await;
}

async fn call(State(api): State<Arc<Api>>, Path(name): Path<String>, Json(request): Json<Value>) -> Response {
    match dispatch(&api, &name, request).await {
        Ok(answer) => Json(answer).into_response(),
        Err(error) => (StatusCode::UNPROCESSABLE_ENTITY, Json(error)).into_response(),
    }
}

async fn topics(State(api): State<Arc<Api>>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let (told, heard) = mpsc::channel(64);
    tokio::spawn(async move {
        let mut tail = api.topics();
        let mut turn = tokio::time::interval(LOOK_EVERY);
        loop {
            turn.tick().await;
            for topic in tail.changed().await {
                if told.send(topic).await.is_err() {
                    return;
                }
            }
            if told.is_closed() {
                return;
            }
        }
    });
    Sse::new(Heard(heard)).keep_alive(KeepAlive::default())
}

/// Topics as events of a stream.
struct Heard(mpsc::Receiver<String>);

impl Stream for Heard {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|topic| topic.map(|topic| Ok(Event::default().data(topic))))
    }
}
