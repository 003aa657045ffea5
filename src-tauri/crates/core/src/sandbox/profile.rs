//! macOS: a sandbox profile. Weaker than on Linux, and labelled so.

use std::path::Path;
use std::process::Command;

use super::SandboxError;
use super::child::{Prepared, Wall};
use super::spec::BoundarySpec;

pub(super) const SANDBOX_EXEC: &str = "/usr/bin/sandbox-exec";

/// Builds the command: writes only in scratch and inbox, the home folder closed for reading.
pub(super) fn prepare(spec: &BoundarySpec) -> Result<Prepared, SandboxError> {
    for folder in ["home", "tmp"] {
        std::fs::create_dir_all(spec.scratch.join(folder)).map_err(SandboxError::Arguments)?;
    }
    let mut text = String::from("(version 1)(allow default)(deny file-write*)");
    text.push_str("(allow file-write* (literal \"/dev/null\"))(deny file-read* (subpath \"/Users\"))");
    let mut allow = |what: &str, path: &Path| -> Result<(), SandboxError> {
        let path = path.canonicalize().map_err(SandboxError::Arguments)?;
        let quoted = path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
        text.push_str(&format!("(allow {what} (subpath \"{quoted}\"))"));
        Ok(())
    };
    allow("file-read*", &spec.program.host)?;
    for bind in spec.read_only.iter().chain(&spec.sockets) {
        allow("file-read*", &bind.host)?;
    }
    for path in spec.writable.iter().map(|b| &b.host).chain([&spec.scratch]) {
        allow("file-read*", path)?;
        allow("file-write*", path)?;
    }
    let mut command = Command::new(SANDBOX_EXEC);
    command.env_clear().envs(spec.env.iter().map(|(k, v)| (k, v))).current_dir(&spec.cwd);
    command.args(["-p", &text]).arg(&spec.program.host).args(&spec.args);
    Ok(Prepared { command, wall: Wall::Group, inherit: Vec::new(), about: None })
}
