//! A session bus of its own, with nobody else's services on it.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::process::Running;

/// A private bus; it ends with this value.
pub struct Bus {
    _daemon: Running,
    address: String,
}

impl Bus {
    /// Starts one whose services would live in the environment of `into`.
    pub fn start(into: impl Fn(&mut Command)) -> Result<Self> {
        let mut command = Command::new("dbus-daemon");
        into(&mut command);
        command
            .args(["--session", "--nofork", "--nopidfile", "--print-address=1"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut daemon = Running::start(&mut command)?;
        let out = daemon.child().stdout.take().context("BUG: stdout is piped")?;
        let mut address = String::new();
        BufReader::new(out).read_line(&mut address).context("reading the address of the bus")?;
        let address = address.trim().to_owned();
        ensure!(!address.is_empty(), "the private bus did not start");
        Ok(Self { _daemon: daemon, address })
    }

    /// As `DBUS_SESSION_BUS_ADDRESS` wants it.
    pub fn address(&self) -> &str {
        &self.address
    }
}
