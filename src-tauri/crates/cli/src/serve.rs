//! `steward serve`: the runtime without a window.

use std::net::SocketAddr;
use std::sync::Arc;

use steward_core::api::Api;
use steward_core::api::error::ApiError;
use steward_core::api::http::Door;
use steward_core::lock::HolderKind;

use crate::output::Output;

/// Hosts the runtime until SIGINT or SIGTERM. Notifications go to the desktop when there is one.
pub async fn run(api: Api, listen: Option<SocketAddr>, out: &Output) -> Result<(), ApiError> {
    let api = Arc::new(api);
    let runtime = api.host_runtime(HolderKind::Serve, Arc::new(crate::notices::Desktop::new())).await?;
    let door = match listen {
        Some(listen) => Some(Door::open(Arc::clone(&api), listen).await?),
        None => None,
    };
    match &door {
        Some(door) => {
            let address = format!("http://{}", door.address());
            out.note("serving; Ctrl-C stops");
            out.answer(&serde_json::json!({ "address": address }), |_| address.clone());
        }
        None => out.note("serving; Ctrl-C stops"),
    }
    stopped().await;
    out.note("stopping");
    if let Some(door) = door {
        door.shut().await;
    }
    runtime.stop().await;
    Ok(())
}

async fn stopped() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut term) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = term.recv() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}
