//! A screen of its own, and what a window manager or a person's hand would do to the window.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use x11rb::connection::Connection;
use x11rb::protocol::xproto::{AtomEnum, ClientMessageEvent, ConnectionExt, EventMask, MapState, Window};
use x11rb::rust_connection::RustConnection;

use crate::process::Running;

/// A virtual screen on a free number.
pub struct Display {
    _server: Running,
    name: String,
}

impl Display {
    pub fn start() -> Result<Self> {
        let mut command = Command::new("Xvfb");
        command
            .args(["-displayfd", "1", "-screen", "0", "1400x1000x24", "-nolisten", "tcp"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut server = Running::start(&mut command)?;
        let out = server.child().stdout.take().context("BUG: stdout is piped")?;
        let mut number = String::new();
        BufReader::new(out).read_line(&mut number).context("reading the number of the display")?;
        let number = number.trim();
        ensure!(!number.is_empty(), "the virtual screen did not start");
        Ok(Self { _server: server, name: format!(":{number}") })
    }

    /// `:7`, as `DISPLAY` wants it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Closes the app's window as its close button would.
    pub fn close_window(&self) -> Result<()> {
        let (connection, window) = self.app_window()?;
        let protocols = atom(&connection, b"WM_PROTOCOLS")?;
        let delete = atom(&connection, b"WM_DELETE_WINDOW")?;
        let event = ClientMessageEvent::new(32, window, protocols, [delete, 0, 0, 0, 0]);
        connection.send_event(false, window, EventMask::NO_EVENT, event)?;
        // An answer after it says that the server has read it before this connection goes.
        connection.get_input_focus()?.reply()?;
        Ok(())
    }

    /// Whether the app's window is on the screen.
    pub fn shows_window(&self) -> Result<bool> {
        let (connection, window) = self.app_window()?;
        Ok(connection.get_window_attributes(window)?.reply()?.map_state == MapState::VIEWABLE)
    }

    /// The titles of all windows that are on the screen.
    pub fn titles(&self) -> Result<Vec<String>> {
        let (connection, root) = self.connect()?;
        let mut titles = Vec::new();
        for window in connection.query_tree(root)?.reply()?.children {
            if connection.get_window_attributes(window)?.reply()?.map_state == MapState::VIEWABLE {
                titles.push(title(&connection, window)?);
            }
        }
        Ok(titles)
    }

    fn connect(&self) -> Result<(RustConnection, Window)> {
        let (connection, screen) = x11rb::connect(Some(&self.name)).context("reaching the display")?;
        let root = connection.setup().roots[screen].root;
        Ok((connection, root))
    }

    fn app_window(&self) -> Result<(RustConnection, Window)> {
        let (connection, root) = self.connect()?;
        let windows = connection.query_tree(root)?.reply()?.children;
        for window in windows {
            let has_page = connection.get_geometry(window)?.reply()?.width > 200;
            if has_page && title(&connection, window)? == "Steward" {
                return Ok((connection, window));
            }
        }
        bail!("no window is called Steward")
    }
}

fn title(connection: &RustConnection, window: Window) -> Result<String> {
    let name = connection.get_property(false, window, AtomEnum::WM_NAME, AtomEnum::ANY, 0, 256)?.reply()?;
    Ok(String::from_utf8_lossy(&name.value).into_owned())
}

fn atom(connection: &RustConnection, name: &[u8]) -> Result<u32> {
    Ok(connection.intern_atom(false, name)?.reply()?.atom)
}
