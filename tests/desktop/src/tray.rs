//! The desktop's tray, played by the test: it takes icons, reads their menus and chooses from them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use zbus::zvariant::{OwnedObjectPath, OwnedValue, Value};
use zbus::{Connection, Proxy};

use crate::{PATIENCE, until};

#[derive(Clone, Default)]
struct Watcher {
    items: Arc<Mutex<Vec<(String, String)>>>,
}

#[zbus::interface(name = "org.kde.StatusNotifierWatcher")]
impl Watcher {
    fn register_status_notifier_item(
        &self,
        #[zbus(header)] header: zbus::message::Header<'_>,
        service: String,
    ) {
        let sender = header.sender().map(ToString::to_string).unwrap_or_default();
        self.items.lock().unwrap_or_else(PoisonError::into_inner).push((sender, service));
    }

    fn register_status_notifier_host(&self, _service: String) {}

    #[zbus(property)]
    fn is_status_notifier_host_registered(&self) -> bool {
        true
    }

    #[zbus(property)]
    fn protocol_version(&self) -> i32 {
        0
    }

    #[zbus(property)]
    fn registered_status_notifier_items(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A tray host on one bus.
pub struct Tray {
    connection: Connection,
    watcher: Watcher,
}

type Node = (i32, HashMap<String, OwnedValue>, Vec<OwnedValue>);

impl Tray {
    pub async fn serve(address: &str) -> Result<Self> {
        let watcher = Watcher::default();
        let connection = zbus::connection::Builder::address(address)?
            .name("org.kde.StatusNotifierWatcher")?
            .serve_at("/StatusNotifierWatcher", watcher.clone())?
            .build()
            .await?;
        Ok(Self { connection, watcher })
    }

    /// The bus name of the app that put an icon up, and the icon's path.
    pub async fn item(&self) -> (String, String) {
        until("a tray icon", PATIENCE, async || {
            self.watcher.items.lock().unwrap_or_else(PoisonError::into_inner).first().cloned()
        })
        .await
    }

    /// The labels of the menu.
    pub async fn labels(&self) -> Result<Vec<String>> {
        Ok(self.entries().await?.into_iter().map(|(_, label)| label).collect())
    }

    /// Chooses the entry with this label.
    pub async fn choose(&self, label: &str) -> Result<()> {
        let id = until(&format!("{label} in the tray's menu"), PATIENCE, async || {
            let entries = self.entries().await.ok()?;
            entries.into_iter().find_map(|(id, known)| (known == label).then_some(id))
        })
        .await;
        let menu = self.menu().await?;
        menu.call::<_, _, ()>("Event", &(id, "clicked", Value::from(0i32), 0u32)).await?;
        Ok(())
    }

    async fn menu(&self) -> Result<Proxy<'static>> {
        let (app, path) = self.item().await;
        let item = Proxy::new(&self.connection, app.clone(), path, "org.kde.StatusNotifierItem").await?;
        let menu: OwnedObjectPath = item.get_property("Menu").await.context("the icon's menu")?;
        Ok(Proxy::new_owned(self.connection.clone(), app, menu, "com.canonical.dbusmenu").await?)
    }

    async fn entries(&self) -> Result<Vec<(i32, String)>> {
        let menu = self.menu().await?;
        let (_, root): (u32, Node) = menu.call("GetLayout", &(0i32, -1i32, Vec::<String>::new())).await?;
        let mut entries = Vec::new();
        for child in root.2 {
            let (id, properties, _): Node = child.try_into()?;
            if let Some(label) = properties.get("label") {
                entries.push((id, String::try_from(label.try_clone()?)?));
            }
        }
        Ok(entries)
    }
}
