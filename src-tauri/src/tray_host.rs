//! Whether a tray is there to hold the app when its window is closed.

/// True when somebody shows tray icons in this session.
#[cfg(target_os = "linux")]
pub async fn answers() -> bool {
    const WATCHER: &str = "org.kde.StatusNotifierWatcher";
    let asked = async {
        let bus = zbus::Connection::session().await?;
        let watcher = zbus::Proxy::new(&bus, WATCHER, "/StatusNotifierWatcher", WATCHER).await?;
        watcher.get_property::<bool>("IsStatusNotifierHostRegistered").await
    };
    matches!(tokio::time::timeout(std::time::Duration::from_secs(2), asked).await, Ok(Ok(true)))
}

/// These systems always have one.
#[cfg(not(target_os = "linux"))]
pub async fn answers() -> bool {
    true
}
