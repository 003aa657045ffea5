//! The switch of the app's HTTP door: whether it listens is the person's to say, and what was said holds over a
//! restart (product.md, *Local HTTP*).

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::error::ApiError;
use super::http::{self, Door};
use super::requests::{ListenSet, Nothing};
use super::{Api, views as v};
use crate::store::{Durability, ReadTx, StoreError, settings};

/// What tells that the switch was turned, or that the door opened or shut.
pub const TOPIC: &str = "listen";
const KEY: &str = "listen";
/// Where it listens when nobody named another port.
const PORT: u16 = 7437;

/// What the person wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Wish {
    on: bool,
    /// 0 takes a free one.
    port: u16,
}

impl Wish {
    const NONE: Self = Self { on: false, port: PORT };

    /// What cannot be read opens nothing.
    fn read(tx: &ReadTx<'_>) -> Result<Self, StoreError> {
        let text = settings::get(tx, KEY)?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(Self::NONE))
    }
}

/// How the door of this process stands: where it listens, or why it does not; nothing while it is shut.
#[derive(Default)]
pub(super) struct Standing(Mutex<Option<Result<SocketAddr, ApiError>>>);

impl Standing {
    fn now(&self) -> Option<Result<SocketAddr, ApiError>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn is(&self, standing: Option<Result<SocketAddr, ApiError>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = standing;
    }
}

/// The door of a process that holds the runtime, opened and shut as the switch says.
#[derive(Default)]
pub struct Switch {
    door: tokio::sync::Mutex<Option<(Wish, Door)>>,
}

impl Switch {
    /// Makes the door stand as the switch says now.
    pub async fn settle(&self, api: &Arc<Api>) {
        let wish = match api.store().read(Wish::read).await {
            Ok(wish) => wish,
            Err(error) => return tracing::warn!(%error, "whether to listen could not be read"),
        };
        let mut held = self.door.lock().await;
        if held.as_ref().is_some_and(|(known, _)| *known == wish) {
            return;
        }
        if let Some((_, door)) = held.take() {
            door.shut().await;
        }
        if !wish.on {
            return api.listening.is(None);
        }
        let opened = Door::open(Arc::clone(api), (Ipv4Addr::LOCALHOST, wish.port).into()).await;
        api.listening.is(Some(opened.as_ref().map(Door::address).map_err(Clone::clone)));
        match opened {
            Ok(door) => *held = Some((wish, door)),
            Err(error) => tracing::warn!(message = error.message, "the app does not listen"),
        }
    }

    /// Shuts the door, whatever the switch says.
    pub async fn shut(&self, api: &Api) {
        if let Some((_, door)) = self.door.lock().await.take() {
            door.shut().await;
        }
        api.listening.is(None);
    }
}

pub async fn show(api: &Api, _: Nothing) -> Result<v::ListenView, ApiError> {
    let wish = api.store().read(Wish::read).await?;
    let (address, problem) = match api.listening.now() {
        None => (None, None),
        Some(Ok(address)) => (Some(format!("http://{address}")), None),
        Some(Err(error)) => {
            let reason =
                v::StatusReason { code: "listen".to_owned(), message: error.message, hint: error.hint };
            (None, Some(reason))
        }
    };
    Ok(v::ListenView {
        on: wish.on,
        port: wish.port,
        address,
        problem,
        token_file: api.home().http_token().display().to_string(),
    })
}

/// Turns the switch. The process that holds the runtime opens or shuts the door.
pub async fn set(api: &Api, request: ListenSet) -> Result<v::ListenView, ApiError> {
    api.person("let the app answer other programs")?;
    let wish = Wish { on: request.on, port: request.port };
    let text = serde_json::to_string(&wish).map_err(|error| StoreError::Value(error.to_string()))?;
    api.store()
        .write(Durability::Full, move |tx| {
            settings::set(tx, KEY, &text)?;
            tx.topic(TOPIC)
        })
        .await?;
    show(api, Nothing {}).await
}

/// Puts a new token in the place of the old one, which is worth nothing from then on.
pub async fn renew_token(api: &Api, _: Nothing) -> Result<v::Done, ApiError> {
    api.person("make a new token")?;
    http::renew_token(api.home())?;
    Ok(v::Done { message: "a new token stands in the file; the old one is worth nothing".to_owned() })
}
