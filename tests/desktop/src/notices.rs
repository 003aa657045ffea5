//! The desktop's notification server, played by the test: it records what it is given and clicks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use zbus::Connection;
use zbus::object_server::SignalEmitter;
use zbus::zvariant::OwnedValue;

use crate::{PATIENCE, until};

const PATH: &str = "/org/freedesktop/Notifications";

/// One notification as the app sent it.
#[derive(Debug, Clone)]
pub struct Shown {
    pub id: u32,
    pub title: String,
    pub body: String,
    /// Keys and labels in turn.
    pub actions: Vec<String>,
}

#[derive(Clone, Default)]
struct Server {
    shown: Arc<Mutex<Vec<Shown>>>,
}

#[zbus::interface(name = "org.freedesktop.Notifications")]
impl Server {
    #[allow(clippy::too_many_arguments, reason = "the interface has them")]
    fn notify(
        &self,
        _app: String,
        replaces: u32,
        _icon: String,
        title: String,
        body: String,
        actions: Vec<String>,
        _hints: HashMap<String, OwnedValue>,
        _expires: i32,
    ) -> u32 {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let next = u32::try_from(shown.len()).expect("BUG: few notices are shown") + 1;
        let id = if replaces == 0 { next } else { replaces };
        shown.push(Shown { id, title, body, actions });
        id
    }

    fn close_notification(&self, _id: u32) {}

    fn get_capabilities(&self) -> Vec<String> {
        vec!["actions".to_owned(), "body".to_owned()]
    }

    fn get_server_information(&self) -> (String, String, String, String) {
        ("test".to_owned(), "steward".to_owned(), "1".to_owned(), "1.2".to_owned())
    }

    #[zbus(signal)]
    async fn action_invoked(emitter: &SignalEmitter<'_>, id: u32, key: &str) -> zbus::Result<()>;

    #[zbus(signal)]
    async fn notification_closed(emitter: &SignalEmitter<'_>, id: u32, reason: u32) -> zbus::Result<()>;
}

/// The server, on one bus.
pub struct Notices {
    connection: Connection,
    server: Server,
}

impl Notices {
    pub async fn serve(address: &str) -> Result<Self> {
        let server = Server::default();
        let connection = zbus::connection::Builder::address(address)?
            .name("org.freedesktop.Notifications")?
            .serve_at(PATH, server.clone())?
            .build()
            .await?;
        Ok(Self { connection, server })
    }

    pub fn shown(&self) -> Vec<Shown> {
        self.server.shown.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for the first notification whose title holds the words.
    pub async fn wait_for(&self, words: &str) -> Shown {
        until(&format!("a notification with {words:?}"), PATIENCE, async || {
            self.shown().into_iter().find(|shown| shown.title.contains(words))
        })
        .await
    }

    /// Clicks: `default` is the notification itself, other keys its buttons.
    pub async fn click(&self, id: u32, key: &str) -> Result<()> {
        let emitter = SignalEmitter::new(&self.connection, PATH)?;
        Server::action_invoked(&emitter, id, key).await?;
        Server::notification_closed(&emitter, id, 2).await?;
        Ok(())
    }
}
