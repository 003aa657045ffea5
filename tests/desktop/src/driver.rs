//! WebKit's own driver, which starts the app and holds its page.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::json;

use crate::process::Running;

/// A driver on a free port.
pub struct Driver {
    _process: Running,
    port: u16,
}

impl Driver {
    pub fn start(into: impl Fn(&mut Command)) -> Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut command = Command::new("WebKitWebDriver");
        into(&mut command);
        // The variable is what lets the page be driven; the app takes no other notice of it.
        command
            .arg(format!("--port={port}"))
            .arg("--host=127.0.0.1")
            .env("TAURI_WEBVIEW_AUTOMATION", "true")
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let process = Running::start(&mut command)?;
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            ensure!(started.elapsed() < Duration::from_secs(20), "the driver does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(Self { _process: process, port })
    }

    /// Starts the app and takes hold of its window.
    pub async fn open(&self, app: &Path, words: &[&str]) -> Result<Client> {
        let mut wanted = serde_json::Map::new();
        wanted.insert("webkitgtk:browserOptions".to_owned(), json!({ "binary": app, "args": words }));
        ClientBuilder::new(HttpConnector::new())
            .capabilities(wanted)
            .connect(&format!("http://127.0.0.1:{}", self.port))
            .await
            .context("opening the app through its driver")
    }
}
