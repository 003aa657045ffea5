//! A person's desk for one test: home, screen, bus, tray and notification server, and the app on it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::bus::Bus;
use crate::display::Display;
use crate::driver::Driver;
use crate::notices::Notices;
use crate::page::Page;
use crate::process::{Running, built};
use crate::tray::Tray;

/// What stands on the desk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Furniture {
    /// Notification server and tray.
    All,
    /// A bus with a notification server, and no tray.
    NoTray,
    /// No bus at all.
    NoBus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    Light,
    Dark,
}

/// One person's desk. Parts end in the order in which they stand here.
pub struct Desk {
    pub notices: Option<Notices>,
    pub tray: Option<Tray>,
    bus: Option<Bus>,
    pub display: Display,
    theme: Theme,
    more: Vec<(String, String)>,
    home: tempfile::TempDir,
}

impl Desk {
    pub async fn new(furniture: Furniture) -> Result<Self> {
        let home = tempfile::Builder::new().prefix("desk-").tempdir()?;
        for folder in ["run", "config", "data", "state", "cache", "steward"] {
            std::fs::create_dir(home.path().join(folder))?;
        }
        private(&home.path().join("run"))?;
        let display = Display::start()?;
        let mut desk = Self {
            notices: None,
            tray: None,
            bus: None,
            display,
            theme: Theme::Light,
            more: Vec::new(),
            home,
        };
        if furniture != Furniture::NoBus {
            let bus = Bus::start(|command| desk.dress(command))?;
            desk.notices = Some(Notices::serve(bus.address()).await?);
            if furniture == Furniture::All {
                desk.tray = Some(Tray::serve(bus.address()).await?);
            }
            desk.bus = Some(bus);
        }
        Ok(desk)
    }

    /// The desktop's own theme.
    pub fn theme(mut self, theme: Theme) -> Self {
        self.theme = theme;
        self
    }

    /// One more variable for everything started on this desk.
    pub fn set(&mut self, name: &str, value: &str) {
        self.more.push((name.to_owned(), value.to_owned()));
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Where Steward keeps its files here.
    pub fn steward_home(&self) -> PathBuf {
        self.home.path().join("steward")
    }

    pub fn notices(&self) -> &Notices {
        self.notices.as_ref().expect("BUG: this desk has a notification server")
    }

    pub fn tray(&self) -> &Tray {
        self.tray.as_ref().expect("BUG: this desk has a tray")
    }

    /// Gives a command the environment of this desk and nothing of the machine's.
    pub fn dress(&self, command: &mut Command) {
        let home = self.home.path();
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("LANG", "C.UTF-8")
            .env("HOME", home)
            .env("XDG_RUNTIME_DIR", home.join("run"))
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("XDG_DATA_HOME", home.join("data"))
            .env("XDG_STATE_HOME", home.join("state"))
            .env("XDG_CACHE_HOME", home.join("cache"))
            .env("STEWARD_HOME", self.steward_home())
            .env("DISPLAY", self.display.name())
            .env(
                "GTK_THEME",
                match self.theme {
                    Theme::Light => "Adwaita",
                    Theme::Dark => "Adwaita:dark",
                },
            );
        match &self.bus {
            Some(bus) => command.env("DBUS_SESSION_BUS_ADDRESS", bus.address()),
            // An address nobody listens at: without one, libraries look for the machine's own bus.
            None => command.env("DBUS_SESSION_BUS_ADDRESS", format!("unix:path={}/none", home.display())),
        };
        if let Some(level) = std::env::var_os("STEWARD_LOG") {
            command.env("STEWARD_LOG", level);
        }
        for (name, value) in &self.more {
            command.env(name, value);
        }
    }

    /// Unlocks a keyring on this desk's bus, with an empty password.
    pub fn unlock_keyring(&self) -> Result<Running> {
        use std::io::Write;
        let mut command = Command::new("gnome-keyring-daemon");
        self.dress(&mut command);
        command
            .args(["--foreground", "--unlock", "--components=secrets"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut keyring = Running::start(&mut command)?;
        let mut input = keyring.child().stdin.take().context("BUG: stdin is piped")?;
        input.write_all(b"\n")?;
        Ok(keyring)
    }

    /// Runs the command line on this desk and returns what it printed.
    pub fn steward(&self, words: &[&str]) -> Result<String> {
        let mut command = Command::new(built("steward"));
        self.dress(&mut command);
        let output = command.args(words).stdin(Stdio::null()).output().context("starting steward")?;
        ensure!(
            output.status.success(),
            "steward {words:?}: {} {}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Starts the app without holding its page.
    pub fn start_app(&self, words: &[&str]) -> Result<Running> {
        let mut command = Command::new(built("steward-desktop"));
        self.dress(&mut command);
        command.args(words).stdin(Stdio::null());
        Running::start(&mut command)
    }

    /// Starts the app and holds its page.
    pub async fn open(&self, words: &[&str]) -> Result<Open> {
        let driver = Driver::start(|command| self.dress(command))?;
        let client = driver.open(&built("steward-desktop"), words).await?;
        // As wide as the pictures are compared at.
        client.set_window_size(1280, 900).await?;
        Ok(Open { page: Page::new(client), _driver: driver })
    }

    /// What the clipboard of this screen holds.
    pub fn clipboard(&self) -> Result<String> {
        let mut command = Command::new("timeout");
        self.dress(&mut command);
        let output = command.args(["5", "xclip", "-selection", "clipboard", "-o"]).output()?;
        ensure!(output.status.success(), "the clipboard: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl Drop for Desk {
    /// Shows what the app logged when its test fails.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        if let Ok(titles) = self.display.titles() {
            eprintln!("windows on the screen: {titles:?}");
        }
        let Ok(logs) = std::fs::read_dir(self.steward_home().join("logs")) else { return };
        for log in logs.flatten() {
            let text = std::fs::read_to_string(log.path()).unwrap_or_default();
            eprintln!("--- {}\n{text}", log.file_name().to_string_lossy());
        }
    }
}

/// The app with its page held.
pub struct Open {
    pub page: Page,
    _driver: Driver,
}

impl Open {
    /// Ends the session, and the app with it.
    pub async fn close(self) -> Result<()> {
        self.page.client().clone().close().await.context("closing the session")
    }
}

fn private(folder: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))
        .context("making a folder private")
}
