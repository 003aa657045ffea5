//! The core as this app has it: open or not, and the runtime where this process may hold it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use steward_core::api::error::{ApiError, ErrorCode};
use steward_core::api::{Api, Hosted, dispatch, listen};
use steward_core::home::Home;
use steward_core::lock::HolderKind;
use steward_rules::caller::Caller;
use tauri::{AppHandle, Manager};
use tokio::time::MissedTickBehavior;

use crate::{notices, tray, window};

/// How often the outbox is asked what changed.
const LISTEN: Duration = Duration::from_millis(300);
/// How long to wait before trying again what did not work.
const AGAIN: Duration = Duration::from_secs(2);

/// What the window's commands go to.
#[derive(Default)]
pub struct Host {
    held: Mutex<Held>,
    /// Open while this process holds the runtime and the person wants it.
    door: listen::Switch,
}

#[derive(Default)]
struct Held {
    api: Option<Arc<Api>>,
    runtime: Option<Hosted>,
    /// Why the core could not be opened, the last time it was tried.
    problem: Option<ApiError>,
}

impl Host {
    fn held(&self) -> std::sync::MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The open core, or why there is none.
    pub fn api(&self) -> Result<Arc<Api>, ApiError> {
        let held = self.held();
        held.api.clone().ok_or_else(|| {
            held.problem
                .clone()
                .unwrap_or_else(|| ApiError::new(ErrorCode::Store, "the database is being opened"))
        })
    }

    /// One command, as the window and the command line know it.
    pub async fn call(&self, name: &str, request: Value) -> Result<Value, ApiError> {
        let api = self.api()?;
        dispatch(&api, name, request).await
    }

    /// A command whose answer this shell reads itself.
    pub async fn ask<T: DeserializeOwned>(&self, name: &str, request: Value) -> Result<T, ApiError> {
        let answer = self.call(name, request).await?;
        serde_json::from_value(answer)
            .map_err(|error| ApiError::new(ErrorCode::Internal, format!("the answer of {name}: {error}")))
    }

    /// Lets the runtime go; seats end, what they did is kept.
    pub async fn stop(&self) {
        let runtime = self.held().runtime.take();
        if let Ok(api) = self.api() {
            self.door.shut(&api).await;
        }
        if let Some(runtime) = runtime {
            runtime.stop().await;
        }
    }
}

/// Opens the core, hosts the runtime and passes on what changes, for as long as the app lives.
pub async fn keep(app: AppHandle) {
    let host = app.state::<Host>();
    let api = loop {
        match open().await {
            Ok(api) => break Arc::new(api),
            Err(problem) => {
                let known = host.held().problem.replace(problem.clone());
                if known.is_none_or(|known| known.message != problem.message) {
                    tracing::error!(code = ?problem.code, message = problem.message, "the core did not open");
                    tray::refresh(&app).await;
                }
                tokio::time::sleep(AGAIN).await;
            }
        }
    };
    host.held().api = Some(Arc::clone(&api));
    tray::refresh(&app).await;
    tokio::join!(hold_runtime(&app, &api), pass_on_topics(&app, &api));
}

async fn open() -> Result<Api, ApiError> {
    let home = Home::from_env()
        .and_then(|home| home.create().map(|()| home))
        .map_err(|error| ApiError::new(ErrorCode::Store, error.to_string()))?;
    // Who clicks in a window is a person.
    Api::open(&home, Caller::Person).await
}

/// Holds the runtime as soon as nobody else does.
async fn hold_runtime(app: &AppHandle, api: &Arc<Api>) {
    let sink = Arc::new(notices::start(app));
    let mut known = String::new();
    loop {
        match api.host_runtime(HolderKind::Desktop, sink.clone()).await {
            Ok(runtime) => {
                let host = app.state::<Host>();
                host.held().runtime = Some(runtime);
                host.door.settle(api).await;
                window::topic(app, listen::TOPIC);
                window::topic(app, "status");
                tray::refresh(app).await;
                return;
            }
            Err(error) => {
                if error.message != known {
                    tracing::info!(message = error.message, "the runtime is not ours");
                    known = error.message;
                }
                tokio::time::sleep(AGAIN).await;
            }
        }
    }
}

async fn pass_on_topics(app: &AppHandle, api: &Arc<Api>) {
    let host = app.state::<Host>();
    let mut topics = api.topics();
    let mut turn = tokio::time::interval(LISTEN);
    turn.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        turn.tick().await;
        let changed = topics.changed().await;
        for name in &changed {
            let is_holder = host.held().runtime.is_some();
            if name == listen::TOPIC && is_holder {
                host.door.settle(api).await;
            }
            window::topic(app, name);
        }
        if !changed.is_empty() {
            tray::refresh(app).await;
        }
    }
}

/// A request that takes nothing.
pub fn nothing() -> Value {
    json!({})
}
